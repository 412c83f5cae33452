// Requests to the peer of a connection: messages, and what works on its memory.
#include "shm.h"
#include "../core/recorder.h"

static bool is_atomic(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static uint32_t remote_access(const struct ibv_send_wr *wr)
{
	return is_atomic(wr) ? IBV_ACCESS_REMOTE_ATOMIC :
	       wr->opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
}

bool brings_back(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_RDMA_READ || is_atomic(wr);
}

static enum ibv_wc_status do_atomic(const struct message *message, uint64_t domain, uint64_t address)
{
	const struct ibv_send_wr *wr = message->wr;
	uint64_t before;

	if (!change_word(wr, domain, address, &before))
		return IBV_WC_REM_OP_ERR;
	scatter(message->from->shared->domain, wr->sg_list, wr->num_sge, (char *)&before, sizeof before);
	return IBV_WC_SUCCESS;
}

// Works on the memory of a peer whose lock is held.
static enum ibv_wc_status operate(const struct message *message, const struct shared_qp *peer)
{
	const struct ibv_send_wr *wr = message->wr;
	uint64_t there = is_atomic(wr) ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr;
	uint32_t access = remote_access(wr), key = is_atomic(wr) ? wr->wr.atomic.rkey : wr->wr.rdma.rkey;
	uint64_t length = is_atomic(wr) ? sizeof(uint64_t) : message->length;

	if (is_atomic(wr) && there % sizeof(uint64_t))
		return IBV_WC_REM_INV_REQ_ERR;
	if (length == 0)
		return IBV_WC_SUCCESS;
	uint64_t address = peer->access & access ? reach(key, peer->domain, there, length, access) : 0;
	if (!address)
		return IBV_WC_REM_ACCESS_ERR;
	if (is_atomic(wr))
		return do_atomic(message, peer->domain, address);
	return copy_remote(message, peer->domain, address) ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR;
}

// Does a request at a peer whose lock is held.
static enum outcome reach_peer(const struct message *message, struct shared_qp *peer, enum ibv_wc_status *status)
{
	enum ibv_wr_opcode opcode = message->wr->opcode;
	const struct receive_queue *queue = place(peer->receives);

	if (opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM)
		return deliver(message, peer, status);
	if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM && queue->head == queue->tail)
		return NOT_READY;
	*status = operate(message, peer);
	if (*status == IBV_WC_SUCCESS && opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		return deliver(message, peer, status);
	if (*status != IBV_WC_SUCCESS && peer->type == IBV_QPT_RC)
		break_peer(peer, *status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR);
	return ENDED;
}

// Whether two queue pairs whose numbers are right are connected with each other. The recorder has one port only.
static bool are_connected(const struct shared_qp *own, const struct shared_qp *peer)
{
	return peer->dest == own->number && (!IS_PLAIN || own->to == peer->route);
}

static enum outcome try_peer(const struct message *message, struct shared_qp *peer, enum ibv_wc_status *status)
{
	const struct shared_qp *own = message->from->shared;

	if (peer->number != own->dest || peer->type != own->type || peer->state == IBV_QPS_ERR)
		return UNKNOWN;
	if (!may_receive(peer))
		return SILENT;
	return are_connected(own, peer) ? reach_peer(message, peer, status) : UNKNOWN;
}

enum outcome send_connected(const struct message *message, enum ibv_wc_status *status)
{
	const struct shared_qp *own = message->from->shared;
	struct shared_qp *peer = qp_of(own->dest);
	enum outcome outcome = UNKNOWN;

	if (peer && !has_ended(peer->process)) {
		hold(message->from, peer);
		outcome = try_peer(message, peer, status);
	}
	// The recorder loses nothing.
	if (own->type != IBV_QPT_UC || !IS_PLAIN)
		return outcome;
	// Nobody acknowledges what an unreliable connection sends.
	*status = IBV_WC_SUCCESS;
	return ENDED;
}

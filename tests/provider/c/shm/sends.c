// Sends: what is refused, what a request does at once, and its completion.
#include <errno.h>
#include <string.h>
#include "shm.h"
#include "../core/recorder.h"

struct shm_qp *own_qps[MOST_QPS];

struct shared_qp *qp_of(uint32_t number)
{
	uint32_t index = number - FIRST_QP_NUM;

	if (index >= MOST_QPS || segment->qps[index].number != number)
		return NULL;
	return &segment->qps[index];
}

bool may_receive(const struct shared_qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD;
}

static enum outcome execute(struct shm_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status *status)
{
	struct message message = { .from = qp, .wr = wr, .length = length_of(wr->sg_list, wr->num_sge) };
	uint32_t access = brings_back(wr) ? IBV_ACCESS_LOCAL_WRITE : 0;
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;

	*status = IBV_WC_SUCCESS;
	if (!is_inline && !may_use(qp->shared->domain, wr->sg_list, wr->num_sge, message.length, access))
		*status = IBV_WC_LOC_PROT_ERR;
	else if (qp->shared->type == IBV_QPT_UD)
		*status = send_datagram(&message);
	else
		return send_connected(&message, status);
	return ENDED;
}

static const uint8_t opcodes[] = {
	[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,	[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND] = IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP, [IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
};

void end_send(struct shm_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	qp->unsignaled++;
	if (status == IBV_WC_SUCCESS && !qp->all_signaled && !(wr->send_flags & IBV_SEND_SIGNALED))
		return;
	struct entry *entry = open_entry(qp->sent);
	if (!entry)
		return;
	memset(entry, 0, offsetof(struct entry, bytes));
	entry->wr_id = wr->wr_id;
	entry->status = status;
	entry->opcode = opcodes[wr->opcode];
	entry->byte_len = length_of(wr->sg_list, wr->num_sge);
	entry->qp_num = qp->shared->number;
	entry->sends = qp->unsignaled;
	qp->unsignaled = 0;
	close_entry(qp->sent, entry, status != IBV_WC_SUCCESS);
	fire(qp->sent, status != IBV_WC_SUCCESS);
}

// Ends a send that failed, and those behind it.
static void fail(struct shm_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	end_send(qp, wr, status);
	// A queue pair may be its own peer.
	let_go(qp);
	take_lock(&qp->shared->lock);
	break_down(qp->shared);
	give_lock(&qp->shared->lock);
}

bool attempt(struct shm_qp *qp, const struct ibv_send_wr *wr)
{
	enum ibv_wc_status status;
	enum outcome outcome = execute(qp, wr, &status);

	if (outcome != ENDED && !give_up(qp, outcome))
		return false;
	if (outcome != ENDED)
		status = outcome == NOT_READY ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR;
	if (status == IBV_WC_SUCCESS)
		end_send(qp, wr, status);
	else
		fail(qp, wr, status);
	return true;
}

enum { SENDS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM, WRITES = 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM };

// What the types of queue pairs can do.
static const uint32_t abilities[] = { [IBV_QPT_RC] = UINT32_MAX, [IBV_QPT_UC] = SENDS | WRITES, [IBV_QPT_UD] = SENDS };

static bool is_valid(const struct shm_qp *qp, const struct ibv_send_wr *wr)
{
	if (wr->opcode >= sizeof opcodes || !(abilities[qp->shared->type] & 1u << wr->opcode) || (uint32_t)wr->num_sge > qp->max_sge)
		return false;
	return !(wr->send_flags & IBV_SEND_INLINE) || length_of(wr->sg_list, wr->num_sge) <= qp->max_inline;
}

int send_one(struct shm_qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t state = qp->shared->state;

	if ((state != IBV_QPS_RTS && state != IBV_QPS_ERR && state != IBV_QPS_SQD) || !is_valid(qp, wr))
		return EINVAL;
	// The recorder's queues have no end: tests post what never ends.
	if (IS_PLAIN && qp->in_flight >= qp->max_send)
		return ENOMEM;
	atomic_fetch_add(&qp->in_flight, 1);
	if (state == IBV_QPS_ERR) {
		flush_sends(qp);
		end_send(qp, wr, IBV_WC_WR_FLUSH_ERR);
	} else if (qp->oldest || !attempt(qp, wr))
		keep_send(qp, wr);
	return 0;
}


// What becomes of receives: a message takes one and completes it, and a queue pair that fails flushes them.
#include <string.h>
#include "shm.h"
#include "../core/recorder.h"

void drop_receives(struct shared_qp *qp)
{
	struct receive_queue *receives = place(qp->receives);

	if (!qp->has_srq)
		receives->head = receives->known_tail = receives->tail;
}

static void flush_receives(struct shared_qp *qp)
{
	struct receive_queue *receives = place(qp->receives);
	struct completions *completions = place(qp->completions);

	while (receives->head != receives->tail) {
		uint64_t wr_id = receives->receives[receives->head++ & receives->mask].wr_id;
		struct entry *entry = open_entry(completions);
		if (!entry)
			continue;
		memset(entry, 0, offsetof(struct entry, bytes));
		entry->wr_id = wr_id;
		entry->is_receive = true;
		entry->taken = receives->head;
		entry->status = IBV_WC_WR_FLUSH_ERR;
		entry->qp_num = qp->number;
		close_entry(completions, entry, true);
	}
	receives->known_tail = receives->head;
	fire(completions, true);
}

void break_down(struct shared_qp *qp)
{
	bool was_broken = qp->state == IBV_QPS_ERR;

	qp->state = IBV_QPS_ERR;
	// Who posts adds its receives, and then looks at the state.
	atomic_thread_fence(memory_order_seq_cst);
	if (!qp->has_srq)
		flush_receives(qp);
	else if (!was_broken)
		send_async_event(&qp->events, IBV_EVENT_QP_LAST_WQE_REACHED, qp->qp);
}

void break_peer(struct shared_qp *peer, enum ibv_event_type type)
{
	send_async_event(&peer->events, type, peer->qp);
	break_down(peer);
}

// Takes the oldest receive of a queue pair whose lock is held. Its place is free before the owner sees the completion.
static bool take_receive(struct shared_qp *peer, struct receive *receive, uint32_t *taken)
{
	struct receive_queue *queue = place(peer->receives);
	bool is_low = false;

	if (peer->has_srq)
		take_lock(&queue->lock);
	uint32_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
	if (head == queue->known_tail)
		queue->known_tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
	bool is_there = head != queue->known_tail;
	if (is_there) {
		const struct receive *oldest = &queue->receives[head & queue->mask];
		memcpy(receive, oldest, offsetof(struct receive, sges) + oldest->num_sge * sizeof *oldest->sges);
		*taken = head + 1;
		atomic_store_explicit(&queue->head, ++head, memory_order_release);
		__builtin_prefetch(&queue->receives[head & queue->mask]);
		is_low = queue->limit && queue->tail - head < queue->limit && atomic_exchange(&queue->limit, 0);
	}
	if (peer->has_srq)
		give_lock(&queue->lock);
	if (is_low)
		send_async_event(&queue->events, IBV_EVENT_SRQ_LIMIT_REACHED, queue->srq);
	return is_there;
}

// The owner copies the bytes of a message to its memory when it polls.
static void put_bytes(struct entry *entry, const struct receive_queue *queue, const struct receive *receive, uint64_t length)
{
	entry->pd = queue->domain;
	entry->length = length;
	entry->num_sge = receive->num_sge;
	entry->first = receive->sges[0];
	for (unsigned i = 1; i < receive->num_sge; i++)
		entry->others[i - 1] = receive->sges[i];
}

// Writes the completion of a receive, with the bytes of its message if these travel with it.
static void complete_receive(const struct message *message, struct shared_qp *peer, const struct receive *receive,
			     uint32_t taken, enum ibv_wc_status status)
{
	struct completions *completions = place(peer->completions);
	struct entry *entry = open_entry(completions);
	const struct ibv_send_wr *wr = message->wr;
	bool is_write = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM, has_imm = is_write || wr->opcode == IBV_WR_SEND_WITH_IMM;
	uint64_t header = message->route ? GRH_SIZE : 0, whole = header + message->length;

	if (!entry)
		return;
	entry->wr_id = receive->wr_id;
	entry->status = status;
	entry->opcode = is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	entry->wc_flags = (header ? IBV_WC_GRH : 0) | (has_imm ? IBV_WC_WITH_IMM : 0);
	entry->byte_len = whole;
	entry->imm = wr->imm_data;
	entry->qp_num = peer->number;
	entry->src_qp = message->from->shared->number;
	entry->sends = entry->length = 0;
	entry->is_receive = true;
	entry->taken = taken;
	if (!is_write && status == IBV_WC_SUCCESS && message->length <= MTU && whole) {
		put_bytes(entry, place(peer->receives), receive, whole);
		char *to = bytes_of(completions, entry);
		if (header)
			put_header(to, message->route, message->length);
		gather(message->from->shared->domain, wr, to + header);
	}
	bool is_solicited = status != IBV_WC_SUCCESS || wr->send_flags & IBV_SEND_SOLICITED;
	entry->when = message->from->when;
	close_entry(completions, entry, is_solicited);
	message->from->has_delivered = true;
	message->from->is_solicited |= is_solicited;
}

// How a receive ends, after a message that is too long for the queue is where it should be.
static enum ibv_wc_status land(const struct message *message, const struct shared_qp *peer, const struct receive *receive)
{
	uint64_t whole = message->length + (message->route ? GRH_SIZE : 0);
	uint64_t domain = ((struct receive_queue *)place(peer->receives))->domain;

	if (message->wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		return IBV_WC_SUCCESS;
	if (whole > receive->length)
		return IBV_WC_LOC_LEN_ERR;
	if (!may_use(domain, receive->sges, receive->num_sge, whole, IBV_ACCESS_LOCAL_WRITE))
		return IBV_WC_LOC_PROT_ERR;
	if (message->length > MTU && !copy_message(message, domain, receive))
		return IBV_WC_LOC_PROT_ERR;
	return IBV_WC_SUCCESS;
}

enum outcome deliver(const struct message *message, struct shared_qp *peer, enum ibv_wc_status *status)
{
	struct receive receive;
	uint32_t taken;

	if (!take_receive(peer, &receive, &taken))
		return NOT_READY;
	enum ibv_wc_status received = land(message, peer, &receive);
	complete_receive(message, peer, &receive, taken, received);
	if (received != IBV_WC_SUCCESS) {
		*status = received == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
		break_peer(peer, IBV_EVENT_QP_REQ_ERR);
	}
	return ENDED;
}

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
static bool take_receive(struct shared_qp *peer, struct receive *receive)
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
		receive->taken = ++head;
		atomic_store_explicit(&queue->head, head, memory_order_release);
		__builtin_prefetch(&queue->receives[head & queue->mask]);
		is_low = queue->limit && queue->tail - head < queue->limit && atomic_exchange(&queue->limit, 0);
	}
	if (peer->has_srq)
		give_lock(&queue->lock);
	if (is_low)
		send_async_event(&queue->events, IBV_EVENT_SRQ_LIMIT_REACHED, queue->srq);
	return is_there;
}

static bool is_write(const struct message *message)
{
	return message->wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static uint64_t whole_length(const struct message *message)
{
	return message->length + (message->route ? GRH_SIZE : 0);
}

// How a receive ends. A message that is too long for the queue is in its memory afterwards.
static enum ibv_wc_status land(const struct message *message, const struct receive_queue *queue, const struct receive *receive)
{
	uint64_t whole = whole_length(message);

	if (is_write(message))
		return IBV_WC_SUCCESS;
	if (whole > receive->length)
		return IBV_WC_LOC_LEN_ERR;
	if (!may_use(queue->domain, receive->sges, receive->num_sge, whole, IBV_ACCESS_LOCAL_WRITE))
		return IBV_WC_LOC_PROT_ERR;
	if (message->length > MTU && !copy_message(message, queue->domain, receive))
		return IBV_WC_LOC_PROT_ERR;
	return IBV_WC_SUCCESS;
}

static void describe(struct entry *entry, const struct message *message)
{
	const struct ibv_send_wr *wr = message->wr;
	bool has_imm = is_write(message) || wr->opcode == IBV_WR_SEND_WITH_IMM;

	entry->opcode = is_write(message) ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	entry->wc_flags = (message->route ? IBV_WC_GRH : 0) | (has_imm ? IBV_WC_WITH_IMM : 0);
	entry->byte_len = whole_length(message);
	entry->imm = wr->imm_data;
	entry->src_qp = message->from->shared->number;
	entry->when = message->from->when;
}

// The bytes travel with the completion: the owner copies them to its memory when it polls.
static void put_bytes(struct completions *completions, struct entry *entry, const struct message *message)
{
	char *to = bytes_of(completions, entry);

	if (message->route) {
		put_header(to, message->route, message->length);
		to += GRH_SIZE;
	}
	gather(message->from->shared->domain, message->wr, to);
}

static void put_receive(struct entry *entry, const struct receive *receive)
{
	entry->wr_id = receive->wr_id;
	entry->is_receive = true;
	entry->taken = receive->taken;
	entry->num_sge = receive->num_sge;
	entry->first = receive->sges[0];
	for (unsigned i = 1; i < receive->num_sge; i++)
		entry->others[i - 1] = receive->sges[i];
}

static void complete_receive(const struct message *message, struct shared_qp *peer, const struct receive_queue *queue,
			     const struct receive *receive, enum ibv_wc_status status)
{
	struct completions *completions = place(peer->completions);
	struct entry *entry = open_entry(completions);
	bool carries = !is_write(message) && status == IBV_WC_SUCCESS && message->length <= MTU;
	bool is_solicited = status != IBV_WC_SUCCESS || message->wr->send_flags & IBV_SEND_SOLICITED;

	if (!entry)
		return;
	put_receive(entry, receive);
	describe(entry, message);
	entry->status = status;
	entry->qp_num = peer->number;
	entry->pd = queue->domain;
	entry->sends = 0;
	entry->length = carries ? whole_length(message) : 0;
	if (entry->length)
		put_bytes(completions, entry, message);
	close_entry(completions, entry, is_solicited);
	message->from->has_delivered = true;
	message->from->is_solicited |= is_solicited;
}

enum outcome deliver(const struct message *message, struct shared_qp *peer, enum ibv_wc_status *status)
{
	const struct receive_queue *queue = place(peer->receives);
	struct receive receive;

	if (!take_receive(peer, &receive))
		return NOT_READY;
	enum ibv_wc_status received = land(message, queue, &receive);
	complete_receive(message, peer, queue, &receive, received);
	if (received != IBV_WC_SUCCESS) {
		*status = received == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
		break_peer(peer, IBV_EVENT_QP_REQ_ERR);
	}
	return ENDED;
}

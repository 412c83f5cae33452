// The verbs that programs call for each message, as the ops of a context.
#include <errno.h>
#include <string.h>
#include "../core/recorder.h"

int shm_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct shm_qp *shm = &((struct qp_object *)qp)->shm;
	int error = 0;

	if (!shm->shared)
		return 0;
	take_lock(&shm->lock);
	for (; wr && !error; wr = error ? wr : wr->next)
		error = send_one(shm, wr);
	let_go(shm);
	give_lock(&shm->lock);
	if (error)
		*bad_wr = wr;
	if (!IS_PLAIN)
		try_again();
	return error;
}

void know_head(struct shm_rq *rq, uint32_t head)
{
	if ((int32_t)(head - atomic_load_explicit(&rq->known_head, memory_order_relaxed)) > 0)
		atomic_store_explicit(&rq->known_head, head, memory_order_relaxed);
}

static bool seems_full(const struct shm_rq *rq, uint32_t tail)
{
	return tail - atomic_load_explicit(&rq->known_head, memory_order_relaxed) >= rq->size;
}

// Only if completions have not told that there is room, it reads a line that others write.
static bool is_full(struct shm_rq *rq, uint32_t tail)
{
	if (seems_full(rq, tail))
		know_head(rq, atomic_load_explicit(&rq->shared->head, memory_order_acquire));
	return seems_full(rq, tail);
}

static int post_receives(struct shm_rq *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct receive_queue *queue = rq->shared;
	int error = 0;

	take_lock(&rq->lock);
	uint32_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
	for (; wr; wr = wr->next, tail++) {
		struct receive *receive = &queue->receives[tail & queue->mask];
		if ((uint32_t)wr->num_sge > queue->max_sge)
			error = EINVAL;
		else if (is_full(rq, tail))
			error = ENOMEM;
		if (error)
			break;
		receive->wr_id = wr->wr_id;
		receive->num_sge = wr->num_sge;
		receive->length = length_of(wr->sg_list, wr->num_sge);
		memcpy(receive->sges, wr->sg_list, wr->num_sge * sizeof *receive->sges);
	}
	atomic_store_explicit(&queue->tail, tail, memory_order_release);
	give_lock(&rq->lock);
	if (error)
		*bad_wr = wr;
	return error;
}

int shm_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct shm_qp *shm = &((struct qp_object *)qp)->shm;

	if (!shm->shared)
		return 0;
	if (shm->shared->state == IBV_QPS_RESET || shm->shared->has_srq) {
		*bad_wr = wr;
		return EINVAL;
	}
	int error = post_receives(shm->receives, wr, bad_wr);
	// Who breaks a queue pair sets its state, and then flushes what is posted.
	atomic_thread_fence(memory_order_seq_cst);
	if (shm->shared->state == IBV_QPS_ERR) {
		take_lock(&shm->shared->lock);
		break_down(shm->shared);
		give_lock(&shm->shared->lock);
	}
	if (!IS_PLAIN)
		try_again();
	return error;
}

int shm_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct srq_object *object = (void *)srq;
	int error = object->shm.shared ? post_receives(&object->shm, wr, bad_wr) : 0;

	if (!IS_PLAIN)
		try_again();
	return error;
}

int shm_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	return take_completions(&((struct cq_object *)cq)->shm, num_entries, wc);
}

int shm_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	arm(&((struct cq_object *)cq)->shm, solicited_only);
	return 0;
}

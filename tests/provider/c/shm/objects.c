// Queues and queue pairs of the device, within the objects of the recorder.
#include <string.h>
#include "../core/recorder.h"

static uint64_t power_of_two(unsigned least)
{
	uint64_t power = 1;

	while (power < least)
		power *= 2;
	return power;
}

static size_t size_of_completions(uint64_t mask)
{
	return sizeof(struct completions) + (mask + 1) * (sizeof(struct entry) + GRH_SIZE + MTU);
}

static struct pipe_end async_events(struct ibv_context *context)
{
	return pipe_of(((struct context_object *)((char *)context - offsetof(struct verbs_context, context)))->async_write_fd);
}

bool shm_make_cq(struct cq_object *cq)
{
	const struct channel_object *channel = (void *)cq->cq.channel;
	uint64_t mask = power_of_two(cq->cq.cqe) - 1;
	struct completions *completions = allocate(size_of_completions(mask));

	if (!completions)
		return false;
	completions->mask = mask;
	completions->cq = (uintptr_t)cq;
	completions->channel = pipe_of(channel ? channel->write_fd : -1);
	completions->events = async_events(cq->cq.context);
	completions->bytes = offset_of(&completions->entries[mask + 1]);
	cq->shm.shared = completions;
	return true;
}

void shm_end_cq(struct cq_object *cq)
{
	struct completions *completions = cq->shm.shared;

	if (!completions)
		return;
	cq->shm.shared = NULL;
	release(completions, size_of_completions(completions->mask));
}

static size_t size_of_receives(uint32_t mask)
{
	return sizeof(struct receive_queue) + (mask + (size_t)1) * sizeof(struct receive);
}

static bool make_receives(struct shm_rq *rq, const struct ibv_pd *pd, uint32_t most, uint32_t max_sge)
{
	uint32_t mask = power_of_two(most) - 1;
	struct receive_queue *queue = allocate(size_of_receives(mask));

	if (!queue)
		return false;
	queue->mask = mask;
	queue->max_sge = max_sge < MOST_SGES ? max_sge : MOST_SGES;
	queue->domain = memory_domain(pd);
	rq->size = most;
	rq->shared = queue;
	return true;
}

bool shm_make_srq(struct srq_object *srq)
{
	if (!make_receives(&srq->shm, srq->srq.pd, srq->attr.max_wr, srq->attr.max_sge))
		return false;
	srq->shm.shared->srq = (uintptr_t)srq;
	srq->shm.shared->events = async_events(srq->srq.context);
	return true;
}

void shm_end_srq(struct srq_object *srq)
{
	struct receive_queue *queue = srq->shm.shared;

	srq->shm.shared = NULL;
	if (queue)
		release(queue, size_of_receives(queue->mask));
}

void shm_limit_srq(struct srq_object *srq)
{
	if (srq->shm.shared)
		srq->shm.shared->limit = srq->attr.srq_limit;
}

static struct shared_qp *claim_number(void)
{
	struct shared_qp *found = NULL;

	take_lock(&segment->lock);
	for (unsigned tries = 0; tries < MOST_QPS && !found; tries++) {
		uint32_t index = segment->next_qp++ % MOST_QPS;
		struct shared_qp *qp = &segment->qps[index];
		if (qp->number)
			continue;
		// Somebody may hold its lock to find that it is not there.
		memset(qp, 0, offsetof(struct shared_qp, lock));
		qp->process = own_process;
		qp->number = FIRST_QP_NUM + index;
		found = qp;
	}
	give_lock(&segment->lock);
	return found;
}

// Queue pairs of other types move nothing.
static bool moves(const struct qp_object *qp)
{
	enum ibv_qp_type type = qp->init.qp_type;
	const struct cq_object *send_cq = (void *)qp->init.send_cq, *recv_cq = (void *)qp->init.recv_cq;

	if (type != IBV_QPT_RC && type != IBV_QPT_UC && type != IBV_QPT_UD)
		return false;
	return send_cq && recv_cq && send_cq->shm.shared && recv_cq->shm.shared;
}

static bool make_queues(struct qp_object *qp)
{
	const struct ibv_qp_init_attr *init = &qp->init;
	struct shm_qp *shm = &qp->shm;

	shm->receives = init->srq ? &((struct srq_object *)init->srq)->shm : &shm->own_receives;
	shm->sent = ((struct cq_object *)init->send_cq)->shm.shared;
	shm->max_send = init->cap.max_send_wr;
	shm->max_sge = init->cap.max_send_sge < MOST_SGES ? init->cap.max_send_sge : MOST_SGES;
	shm->max_inline = init->cap.max_inline_data;
	shm->all_signaled = init->sq_sig_all;
	return init->srq || make_receives(&shm->own_receives, qp->qp.qp_base.pd, init->cap.max_recv_wr, init->cap.max_recv_sge);
}

bool shm_make_qp(struct qp_object *qp)
{
	const struct ibv_qp_init_attr *init = &qp->init;
	struct shm_qp *shm = &qp->shm;
	struct shared_qp *shared;

	if (!moves(qp))
		return true;
	if (!(shared = claim_number()))
		return false;
	if (!make_queues(qp)) {
		shared->number = 0;
		return false;
	}
	shared->type = init->qp_type;
	shared->domain = memory_domain(qp->qp.qp_base.pd);
	shared->has_srq = init->srq != NULL;
	shared->receives = offset_of(shm->receives->shared);
	shared->completions = offset_of(((struct cq_object *)init->recv_cq)->shm.shared);
	shared->qp = (uintptr_t)qp;
	shared->events = async_events(qp->qp.qp_base.context);
	shm->shared = shared;
	own_qps[shared - segment->qps] = shm;
	qp->qp.qp_base.qp_num = shared->number;
	return true;
}

void shm_end_qp(struct qp_object *qp)
{
	struct shm_qp *shm = &qp->shm;
	struct shared_qp *shared = shm->shared;
	struct receive_queue *receives = shm->own_receives.shared;

	if (!shared)
		return;
	take_lock(&shm->lock);
	forget_sends(shm);
	take_lock(&shared->lock);
	own_qps[shared - segment->qps] = NULL;
	shared->number = 0;
	shm->shared = NULL;
	give_lock(&shared->lock);
	give_lock(&shm->lock);
	// Its memory may be that of another object soon.
	await_attempts();
	shm->own_receives.shared = NULL;
	if (receives)
		release(receives, size_of_receives(receives->mask));
	if (!IS_PLAIN)
		try_again();
}

// Does what a new state asks for. The locks of the queue pair are held.
static void enter(struct shm_qp *shm, enum ibv_qp_state state)
{
	if (state == IBV_QPS_ERR) {
		break_down(shm->shared);
		flush_sends(shm);
	}
	shm->shared->state = state;
	if (state == IBV_QPS_RESET) {
		drop_receives(shm->shared);
		forget_sends(shm);
	}
}

void shm_change_qp(struct qp_object *qp, int mask)
{
	const struct ibv_qp_attr *attr = &qp->attr;
	struct shm_qp *shm = &qp->shm;
	struct shared_qp *shared = shm->shared;

	if (!shared)
		return;
	take_lock(&shm->lock);
	take_lock(&shared->lock);
	shared->qkey = attr->qkey;
	shared->dest = attr->dest_qp_num;
	shared->access = attr->qp_access_flags;
	shared->min_rnr_timer = attr->min_rnr_timer;
	shared->route = route_of(own_host, attr->port_num);
	shared->to = route_to(&attr->ah_attr.grh.dgid);
	if (mask & IBV_QP_STATE)
		enter(shm, attr->qp_state);
	give_lock(&shared->lock);
	give_lock(&shm->lock);
	if (!IS_PLAIN)
		try_again();
}

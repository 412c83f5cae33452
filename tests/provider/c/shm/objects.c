// Queues, queue pairs and groups of the device, within the objects of the recorder.
#include <errno.h>
#include <string.h>
#include "../core/recorder.h"

static unsigned power_of_two(unsigned least)
{
	unsigned power = 1;

	while (power < least)
		power *= 2;
	return power;
}

static size_t size_of_completions(uint64_t mask)
{
	return sizeof(struct completions) + (mask + 1) * sizeof(struct entry);
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
	void *bytes = allocate((mask + 1) * (GRH_SIZE + MTU));

	if (!completions || !bytes)
		return false;
	completions->mask = mask;
	completions->cq = (uintptr_t)cq;
	completions->channel = pipe_of(channel ? channel->write_fd : -1);
	completions->events = async_events(cq->cq.context);
	completions->bytes = offset_of(bytes);
	cq->shm.shared = completions;
	return true;
}

void shm_end_cq(struct cq_object *cq)
{
	struct completions *completions = cq->shm.shared;

	if (!completions)
		return;
	cq->shm.shared = NULL;
	release(place(completions->bytes), (completions->mask + 1) * (GRH_SIZE + MTU));
	release(completions, size_of_completions(completions->mask));
}

static size_t size_of_receives(uint32_t mask)
{
	return sizeof(struct receive_queue) + (mask + (size_t)1) * sizeof(struct receive);
}

static bool make_receives(struct shm_rq *rq, uint32_t most, uint32_t max_sge)
{
	uint32_t mask = power_of_two(most) - 1;
	struct receive_queue *queue = allocate(size_of_receives(mask));

	if (!queue)
		return false;
	queue->mask = mask;
	queue->max_sge = max_sge < MOST_SGES ? max_sge : MOST_SGES;
	queue->rq = (uintptr_t)rq;
	rq->size = most;
	rq->shared = queue;
	return true;
}

bool shm_make_srq(struct srq_object *srq)
{
	if (!make_receives(&srq->shm, srq->attr.max_wr, srq->attr.max_sge))
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
		qp->pid = own_pid;
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

bool shm_make_qp(struct qp_object *qp)
{
	const struct ibv_qp_init_attr *init = &qp->init;
	struct srq_object *srq = (void *)init->srq;
	struct shm_qp *shm = &qp->shm;

	if (!moves(qp))
		return true;
	struct shared_qp *shared = claim_number();
	shm->receives = srq ? &srq->shm : &shm->own_receives;
	if (!shared || (!srq && !make_receives(&shm->own_receives, init->cap.max_recv_wr, init->cap.max_recv_sge)))
		return false;
	shm->sent = ((struct cq_object *)init->send_cq)->shm.shared;
	shm->max_send = init->cap.max_send_wr;
	shm->max_sge = init->cap.max_send_sge < MOST_SGES ? init->cap.max_send_sge : MOST_SGES;
	shm->max_inline = init->cap.max_inline_data;
	shm->all_signaled = init->sq_sig_all;
	shared->type = init->qp_type;
	shared->has_srq = srq != NULL;
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
	shm->own_receives.shared = NULL;
	if (receives)
		release(receives, size_of_receives(receives->mask));
	if (!IS_PLAIN)
		try_again();
}

// Does what a new state asks for. The locks of the queue pair are held.
static void enter(struct shm_qp *shm, enum ibv_qp_state state)
{
	shm->shared->state = state;
	if (state == IBV_QPS_RESET) {
		drop_receives(shm->shared);
		shm->own_receives.in_flight = 0;
		forget_sends(shm);
	}
	if (state == IBV_QPS_ERR) {
		break_down(shm->shared);
		flush_sends(shm);
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
	if (mask & IBV_QP_STATE)
		enter(shm, attr->qp_state);
	give_lock(&shared->lock);
	give_lock(&shm->lock);
	if (!IS_PLAIN)
		try_again();
}

static struct group *group_of(const union ibv_gid *gid, bool makes)
{
	struct group *free = NULL;

	for (unsigned i = 0; i < MOST_GROUPS; i++) {
		struct group *group = &segment->groups[i];
		if (memcmp(&group->gid, gid, sizeof *gid) == 0)
			return group;
		if (!free && !group->gid.raw[0] && !group->gid.raw[10])
			free = group;
	}
	if (makes && free)
		free->gid = *gid;
	return makes ? free : NULL;
}

bool shm_change_group(uint32_t number, const union ibv_gid *gid, bool joins)
{
	bool is_done = false;

	take_lock(&segment->lock);
	struct group *group = group_of(gid, joins);
	for (unsigned i = 0; group && i < MEMBERS && !is_done; i++) {
		is_done = group->numbers[i] == (joins ? 0 : number);
		if (is_done)
			group->numbers[i] = joins ? number : 0;
	}
	give_lock(&segment->lock);
	return is_done;
}

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
		else if (rq->in_flight >= rq->size)
			error = ENOMEM;
		if (error)
			break;
		receive->wr_id = wr->wr_id;
		receive->num_sge = wr->num_sge;
		receive->length = length_of(wr->sg_list, wr->num_sge);
		memcpy(receive->sges, wr->sg_list, wr->num_sge * sizeof *receive->sges);
		atomic_fetch_add_explicit(&rq->in_flight, 1, memory_order_relaxed);
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

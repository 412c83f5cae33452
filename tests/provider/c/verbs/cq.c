// Completion channels and queues. Completions come from the test, events travel through the pipe that is the channel's fd.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "ops.h"

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	int ends[2];

	MAKE(OBJECT(CONTEXT, context));
	if (pipe2(ends, O_CLOEXEC) != 0)
		return (void *)fails_with(errno);
	struct channel_object *channel = create(CHANNEL, sizeof *channel);
	channel->channel.context = context;
	channel->channel.fd = ends[0];
	channel->write_fd = ends[1];
	depend(channel, context);
	return made(channel);
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	CALL(ERRNO, OBJECT(CHANNEL, channel));
	int error = destroy(channel);
	if (error)
		return done(error);
	close(channel->fd);
	close(((struct channel_object *)channel)->write_fd);
	return done(0);
}

static struct cq_object *make_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel)
{
	struct cq_object *cq = create(CQ, sizeof *cq);

	cq->cq.context = context;
	cq->cq.channel = channel;
	cq->cq.cq_context = cq_context;
	cq->cq.handle = object_of(cq)->handle;
	cq->cq.cqe = cqe;
	depend(cq, context);
	depend(cq, channel);
	if (!moves_data || shm_make_cq(cq))
		return cq;
	destroy(cq);
	return NULL;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
			     int comp_vector)
{
	MAKE(OBJECT(CONTEXT, context), NUMBER(cqe), ADDRESS(cq_context), OPTIONAL(CHANNEL, channel), NUMBER(comp_vector));
	return made(make_cq(context, cqe, cq_context, channel));
}

struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init_attr)
{
	struct ibv_pd *domain;

	MAKE(OBJECT(CONTEXT, context), STRUCT(ibv_cq_init_attr_ex, init_attr),
	     put_object("init_attr.channel", CHANNEL, init_attr->channel, true),
	     domain = put_given(init_attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD, "init_attr.parent_domain", PD,
				init_attr->parent_domain));
	struct cq_object *cq = make_cq(context, init_attr->cqe, init_attr->cq_context, init_attr->channel);
	if (!cq)
		return made(NULL);
	depend(cq, domain);
	cq->wc_flags = init_attr->wc_flags;
	set_cq_readers(&cq->cq);
	return made(cq);
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	CALL(ERRNO, OBJECT(CQ, cq), NUMBER(cqe));
	cq->cqe = cqe;
	return done(0);
}

int modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	CALL(ERRNO, OBJECT(CQ, cq), STRUCT(ibv_modify_cq_attr, attr));
	return done(0);
}

static void add(struct cq_object *object, const struct completion *completion)
{
	// Whoever has read all of them starts again.
	if (object->taken == object->queued)
		object->taken = object->queued = 0;
	object->queue = realloc(object->queue, (object->queued + 1) * sizeof *object->queue);
	object->queue[object->queued++] = *completion;
}

// Sends an event of a queue, whether it is armed or not.
void recorder_cq_event(struct ibv_cq *cq)
{
	const struct channel_object *channel = (void *)cq->channel;

	if (!channel || write(channel->write_fd, &cq, sizeof cq) != sizeof cq)
		abort();
}

// The kernel forgets the events of a queue that ends.
static void drop_events(const struct ibv_cq *cq)
{
	const struct channel_object *channel = (void *)cq->channel;
	struct ibv_cq *of;
	int size = 0;

	if (!channel || ioctl(channel->channel.fd, FIONREAD, &size) != 0)
		return;
	for (int left = size / (int)sizeof of; left > 0; left--)
		if (read(channel->channel.fd, &of, sizeof of) == sizeof of && of != cq)
			recorder_cq_event(of);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct cq_object *object = (void *)cq;

	CALL(ERRNO, OBJECT(CQ, cq));
	if (object->polling)
		violation("ibv_destroy_cq: the queue is between ibv_start_poll and ibv_end_poll");
	int error = destroy(cq);
	if (error)
		return done(error);
	shm_end_cq(object);
	drop_events(cq);
	return done(0);
}

bool take_moved(struct cq_object *object)
{
	struct completion moved = { 0 };

	while (object->shm.shared && take_completions(&object->shm, 1, &moved.wc))
		add(object, &moved);
	return object->taken < object->queued;
}

int poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct cq_object *object = (void *)cq;
	int count = 0;

	// Those who wait for data poll without end: a poll that finds nothing leaves no record.
	if (moves_data && object_of(cq)->live && !take_moved(object) && !may_fail("ibv_poll_cq"))
		return 0;
	CALL(MINUS_ONE, OBJECT(CQ, cq), NUMBER(num_entries));
	while (count < num_entries && object->taken < object->queued)
		wc[count++] = object->queue[object->taken++].wc;
	return done(count);
}

int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct cq_object *object = (void *)cq;

	CALL(ERRNO, OBJECT(CQ, cq), NUMBER(solicited_only));
	object->solicited_only = solicited_only && (object->solicited_only || !object->armed);
	object->armed = true;
	if (object->shm.shared)
		arm(&object->shm, object->solicited_only);
	return done(0);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	CALL(MINUS_ONE, OBJECT(CHANNEL, channel));
	if (read(channel->fd, cq, sizeof *cq) != sizeof *cq)
		return fails_with(errno);
	put_object("*cq", CQ, *cq, false);
	*cq_context = (*cq)->cq_context;
	object_of(*cq)->unacknowledged++;
	return done(0);
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	TELL(OBJECT(CQ, cq), NUMBER(nevents));
	struct object *object = object_of(cq);
	if (nevents > object->unacknowledged)
		violation("ibv_ack_cq_events: cq%u has %u events to acknowledge, not %u", object->number, object->unacknowledged, nevents);
	object->unacknowledged -= nevents < object->unacknowledged ? nevents : object->unacknowledged;
	done(0);
}

// Queues a completion. An armed queue with a channel sends an event, unless it waits for solicited ones only.
void recorder_complete(struct ibv_cq *cq, const struct ibv_wc *wc, bool solicited, uint64_t timestamp, uint64_t wallclock_ns,
		       uint32_t flow_tag, uint16_t cvlan, uint64_t tag, uint32_t priv)
{
	struct cq_object *object = (void *)cq;
	bool awaited = !object->solicited_only || solicited || wc->status != IBV_WC_SUCCESS;

	add(object, &(struct completion){
		.wc = *wc,
		.timestamp = timestamp,
		.wallclock_ns = wallclock_ns,
		.flow_tag = flow_tag,
		.cvlan = cvlan,
		.tm_info = { .tag = tag, .priv = priv },
	});
	if (!object->armed || !cq->channel || !awaited)
		return;
	object->armed = false;
	recorder_cq_event(cq);
}

// SPDX-License-Identifier: Dual MIT/GPL
// Raises asynchronous events. Each line is EVENT [NUMBER [VALUES]], or "reset".
#include <linux/string.h>
#include "stub.h"

void stub_qp_event(struct stub_qp *qp, enum ib_event_type type)
{
	struct ib_event event = { .device = qp->ib.device, .event = type, .element.qp = &qp->ib };

	if (qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
}

void stub_srq_event(struct stub_srq *srq, enum ib_event_type type)
{
	struct ib_event event = {
		.device = srq->ib.device, .event = type, .element.srq = &srq->ib
	};

	srq->ib.event_handler(&event, srq->ib.srq_context);
}

static int to_cq(u32 number, enum ib_event_type type, const char *values)
{
	struct stub_cq *cq = xa_load(&stub_hca->cqs.objects, number);
	struct ib_event event = { .device = &stub_hca->ib, .event = type };

	if (!cq)
		return -ENOENT;
	event.element.cq = &cq->ib;
	cq->ib.event_handler(&event, cq->ib.cq_context);
	return 0;
}

static int to_srq(u32 number, enum ib_event_type type, const char *values)
{
	struct stub_srq *srq = xa_load(&stub_hca->srqs.objects, number);

	if (!srq)
		return -ENOENT;
	stub_srq_event(srq, type);
	return 0;
}

/* The queue pair changes first, then the event is raised. */
static int to_qp(u32 number, enum ib_event_type type, const char *values)
{
	struct stub_qp *qp = stub_qp_of(number);

	if (!qp)
		return -ENOENT;
	switch (type) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		stub_qp_fail(qp);
		break;
	case IB_EVENT_PATH_MIG:
		qp->attr.path_mig_state = IB_MIG_MIGRATED;
		break;
	default:
		break;
	}
	stub_qp_event(qp, type);
	return 0;
}

static int to_wq(u32 number, enum ib_event_type type, const char *values)
{
	struct stub_queue *queue = xa_load(&stub_hca->queues.objects, number);
	struct ib_event event = { .device = &stub_hca->ib, .event = type };
	struct stub_wq *wq;

	if (!queue || !queue->of_wq)
		return -ENOENT;
	wq = container_of(queue, struct stub_wq, queue);
	/* the core sets it last: before that the WQ is not complete */
	if (!wq->ib.uobject)
		return -ENOENT;
	stub_wq_fail(wq);
	event.element.wq = &wq->ib;
	wq->ib.event_handler(&event, wq->ib.wq_context);
	return 0;
}

static void tell_everyone(struct ib_event *event)
{
	struct ib_event_handler *handler;

	down_read(&event->device->event_handler_rwsem);
	list_for_each_entry(handler, &event->device->event_handler_list, list)
		handler->handler(handler, event);
	up_read(&event->device->event_handler_rwsem);
}

/*
 * ib_core updates its caches on a work queue, then passes the event on. Once the queue is flushed,
 * the event is readable. ib_core passes on GID_CHANGE of RoCE ports only.
 */
void stub_dispatch(struct ib_event *event)
{
	ib_dispatch_event(event);
	flush_workqueue(ib_wq);
	if (event->event == IB_EVENT_GID_CHANGE)
		tell_everyone(event);
}

static int to_port(u32 number, enum ib_event_type type, const char *values)
{
	struct ib_event event = {
		.device = &stub_hca->ib, .event = type, .element.port_num = number
	};
	int err;

	if (number < 1 || number > STUB_PORTS)
		return -ENOENT;
	err = stub_port_change(number, type, values);
	if (!err)
		stub_dispatch(&event);
	return err;
}

static int to_device(u32 number, enum ib_event_type type, const char *values)
{
	struct ib_event event = { .device = &stub_hca->ib, .event = type };

	stub_dispatch(&event);
	return 0;
}

#define EVENT(name, raise) { #name, IB_EVENT_##name, raise }
static const struct known_event {
	const char *name;
	enum ib_event_type type;
	int (*raise)(u32 number, enum ib_event_type type, const char *values);
} events[] = {
	EVENT(CQ_ERR, to_cq),
	EVENT(QP_FATAL, to_qp),
	EVENT(QP_REQ_ERR, to_qp),
	EVENT(QP_ACCESS_ERR, to_qp),
	EVENT(COMM_EST, to_qp),
	EVENT(SQ_DRAINED, to_qp),
	EVENT(PATH_MIG, to_qp),
	EVENT(PATH_MIG_ERR, to_qp),
	EVENT(QP_LAST_WQE_REACHED, to_qp),
	EVENT(SRQ_ERR, to_srq),
	EVENT(SRQ_LIMIT_REACHED, to_srq),
	EVENT(WQ_FATAL, to_wq),
	EVENT(PORT_ACTIVE, to_port),
	EVENT(PORT_ERR, to_port),
	EVENT(LID_CHANGE, to_port),
	EVENT(PKEY_CHANGE, to_port),
	EVENT(SM_CHANGE, to_port),
	EVENT(CLIENT_REREGISTER, to_port),
	EVENT(GID_CHANGE, to_port),
	EVENT(DEVICE_FATAL, to_device),
};

static const struct known_event *find(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(events[i].name, name))
			return &events[i];
	return NULL;
}

int stub_event_line(char *line)
{
	const char *name = strsep(&line, " ");
	const char *number = strsep(&line, " ");
	const struct known_event *known = find(name);
	u32 of = 0;
	int err;

	if (!strcmp(name, "reset")) {
		stub_ports_reset();
		stub_grh_reset();
		return 0;
	}
	if (!known || (known->raise == to_device) != !number || (line && known->raise != to_port))
		return -EINVAL;
	if (number && kstrtou32(number, 0, &of))
		return -EINVAL;
	mutex_lock(&stub_hca->lock);
	err = known->raise(of, known->type, line);
	mutex_unlock(&stub_hca->lock);
	return err;
}

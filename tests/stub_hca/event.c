// SPDX-License-Identifier: Dual MIT/GPL
// Asynchronous events on demand, by lines of: EVENT NUMBER (of the queue or port it concerns).
#include "stub.h"

enum target { OF_CQ, OF_QP, OF_SRQ, OF_WQ, OF_PORT, OF_DEVICE };

#define EVENT(name, target) { #name, IB_EVENT_##name, target }
static const struct {
	const char *name;
	enum ib_event_type type;
	enum target target;
} events[] = {
	EVENT(CQ_ERR, OF_CQ),
	EVENT(QP_FATAL, OF_QP),
	EVENT(QP_REQ_ERR, OF_QP),
	EVENT(QP_ACCESS_ERR, OF_QP),
	EVENT(COMM_EST, OF_QP),
	EVENT(SQ_DRAINED, OF_QP),
	EVENT(PATH_MIG, OF_QP),
	EVENT(PATH_MIG_ERR, OF_QP),
	EVENT(QP_LAST_WQE_REACHED, OF_QP),
	EVENT(SRQ_ERR, OF_SRQ),
	EVENT(SRQ_LIMIT_REACHED, OF_SRQ),
	EVENT(WQ_FATAL, OF_WQ),
	EVENT(PORT_ACTIVE, OF_PORT),
	EVENT(PORT_ERR, OF_PORT),
	EVENT(LID_CHANGE, OF_PORT),
	EVENT(PKEY_CHANGE, OF_PORT),
	EVENT(SM_CHANGE, OF_PORT),
	EVENT(CLIENT_REREGISTER, OF_PORT),
	EVENT(GID_CHANGE, OF_PORT),
	EVENT(DEVICE_FATAL, OF_DEVICE),
};

static int to_cq(struct ib_event *event, u32 number)
{
	struct stub_cq *cq = xa_load(&stub_hca->cqs.objects, number);

	if (!cq)
		return -ENOENT;
	event->element.cq = &cq->ib;
	cq->ib.event_handler(event, cq->ib.cq_context);
	return 0;
}

static int to_srq(struct ib_event *event, u32 number)
{
	struct stub_srq *srq = xa_load(&stub_hca->srqs.objects, number);

	if (!srq)
		return -ENOENT;
	event->element.srq = &srq->ib;
	srq->ib.event_handler(event, srq->ib.srq_context);
	return 0;
}

static int to_queue(struct ib_event *event, u32 number, bool wanted_wq)
{
	struct stub_queue *queue = xa_load(&stub_hca->queues.objects, number);

	if (!queue || queue->of_wq != wanted_wq)
		return -ENOENT;
	if (queue->of_wq) {
		struct ib_wq *wq = &container_of(queue, struct stub_wq, queue)->ib;

		/* the core sets it once the WQ is complete, which is after it has a number */
		if (!wq->uobject)
			return -ENOENT;
		event->element.wq = wq;
		wq->event_handler(event, wq->wq_context);
	} else {
		struct ib_qp *qp = &container_of(queue, struct stub_qp, queue)->ib;

		event->element.qp = qp;
		qp->event_handler(event, qp->qp_context);
	}
	return 0;
}

static int to_port(struct ib_event *event, u32 port)
{
	if (port < 1 || port > STUB_PORTS)
		return -ENOENT;
	if (event->event == IB_EVENT_PORT_ACTIVE)
		stub_hca->port_state[port - 1] = IB_PORT_ACTIVE;
	if (event->event == IB_EVENT_PORT_ERR)
		stub_hca->port_state[port - 1] = IB_PORT_DOWN;
	event->element.port_num = port;
	ib_dispatch_event(event);
	return 0;
}

static int dispatch(struct ib_event *event, enum target target, u32 number)
{
	switch (target) {
	case OF_CQ:
		return to_cq(event, number);
	case OF_SRQ:
		return to_srq(event, number);
	case OF_QP:
		return to_queue(event, number, false);
	case OF_WQ:
		return to_queue(event, number, true);
	case OF_PORT:
		return to_port(event, number);
	case OF_DEVICE:
		ib_dispatch_event(event);
		return 0;
	}
	return -EINVAL;
}

static int event_line(char *line)
{
	struct ib_event event = { .device = &stub_hca->ib };
	char name[32];
	u32 number = 0;
	int i, err = -EINVAL;

	if (sscanf(line, "%31s %u", name, &number) < 1)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		if (strcmp(events[i].name, name))
			continue;
		event.event = events[i].type;
		mutex_lock(&stub_hca->lock);
		err = dispatch(&event, events[i].target, number);
		mutex_unlock(&stub_hca->lock);
	}
	return err;
}

int stub_event_write(char *text)
{
	return stub_each_line(text, event_line);
}

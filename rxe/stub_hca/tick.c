// SPDX-License-Identifier: Dual MIT/GPL
// Looks for posted requests every few milliseconds.
#include "stub.h"

/* Serves a queue. Returns false if the queue needs no service before it changes state. */
static bool serve(struct stub_queue *queue)
{
	struct stub_qp *qp;

	if (queue->of_wq) {
		if (container_of(queue, struct stub_wq, queue)->ib.state != IB_WQS_ERR)
			return false;
		stub_queue_flush(queue);
		return true;
	}
	qp = container_of(queue, struct stub_qp, queue);
	if (qp->attr.qp_state == IB_QPS_ERR) {
		stub_queue_flush(queue);
		stub_sends_flush(qp);
		return true;
	}
	if (qp->attr.qp_state != IB_QPS_RTS || qp->ib.qp_type != IB_QPT_UD)
		return false;
	stub_send_all(qp);
	return true;
}

/*
 * No register is watched, so the module looks for posted requests by a timer. It serves UD QPs
 * that may send, and queues in the error state, whose requests it flushes.
 */
void stub_tick(struct work_struct *work)
{
	struct stub_queue *queue;
	unsigned long number;
	bool again = false;

	mutex_lock(&stub_hca->lock);
	xa_for_each(&stub_hca->queues.objects, number, queue)
		again |= serve(queue);
	if (again)
		schedule_delayed_work(&stub_hca->tick, 1);
	mutex_unlock(&stub_hca->lock);
}

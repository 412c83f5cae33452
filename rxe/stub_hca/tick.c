// SPDX-License-Identifier: Dual MIT/GPL
// Looks for posted requests every few milliseconds.
#include "stub.h"

/*
 * Connected QPs serve requests that need no peer. Any other one waits for ever, and all behind it.
 * Returns false if the request needs a peer. The syndrome is 0 for success.
 */
static bool do_request(struct stub_qp *qp, const struct mlx4_wqe_ctrl_seg *ctrl, u8 *syndrome)
{
	const struct mlx4_wqe_local_inval_seg *invalidate = (const void *)(ctrl + 1);

	switch (be32_to_cpu(ctrl->owner_opcode) & MLX4_CQE_OPCODE_MASK) {
	case MLX4_OPCODE_BIND_MW:
		*syndrome = stub_bind_mw(qp, (const void *)(ctrl + 1));
		return true;
	case MLX4_OPCODE_LOCAL_INVAL:
		*syndrome = stub_invalidate(qp, be32_to_cpu(invalidate->mem_key));
		return true;
	default:
		return false;
	}
}

static void local_work(struct stub_qp *qp)
{
	const struct mlx4_wqe_ctrl_seg *ctrl;
	u8 syndrome;

	while (qp->attr.qp_state == IB_QPS_RTS && (ctrl = stub_next_send(qp))) {
		if (stub_cq_full(qp->sends.cq) || !do_request(qp, ctrl, &syndrome))
			return;
		stub_complete_send(qp, syndrome);
		if (syndrome)
			stub_qp_fail(qp);
	}
}

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
	if (qp->attr.qp_state != IB_QPS_RTS)
		return false;
	if (qp->ib.qp_type == IB_QPT_UD)
		stub_send_all(qp);
	else
		local_work(qp);
	return true;
}

/*
 * No register is watched, so the module looks for posted requests by a timer. It serves QPs that
 * may send, and queues in the error state, whose requests it flushes.
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

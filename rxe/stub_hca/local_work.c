// SPDX-License-Identifier: Dual MIT/GPL
// Requests of connected QPs that need no peer. Any other request waits for ever, and all behind it.
#include "stub.h"

/* Returns false if the request needs a peer. The syndrome is 0 for success. */
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

void stub_local_work(struct stub_qp *qp)
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

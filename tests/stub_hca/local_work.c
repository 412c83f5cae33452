// SPDX-License-Identifier: Dual MIT/GPL
// Requests of a connected QP that concern the adapter alone. A request that would need a peer, and
// all behind it, waits for ever, as there is no peer.
#include "stub.h"

/* Whether the request was done, and if so with which syndrome, 0 if all is well. */
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

// SPDX-License-Identifier: Dual MIT/GPL
// Resizing a CQ. A completion with opcode RESIZE ends the old ring. libmlx4 copies the completions
// before it to the new ring, each to the next index, because the last one used an index too.
#include <linux/log2.h>
#include "stub.h"

static void swap_rings(struct stub_cq *cq, struct ib_umem *ring, u32 entries)
{
	const struct mlx4_cqe last = { .owner_sr_opcode = MLX4_CQE_OPCODE_RESIZE };

	stub_cq_write(cq, &last);
	stub_unpin(cq->ring);
	cq->ring = ring;
	cq->entries = entries;
	cq->ib.cqe = entries - 1;
	stub_cq_give_to_device(cq);
}

static int cq_resize(struct stub_cq *cq, int cqe, struct ib_udata *udata,
		     struct mlx4_ib_resize_cq *request)
{
	struct stub_device *stub = stub_of(cq->ib.device);
	struct ib_umem *ring;
	u32 entries;
	int err;

	if (cqe < 1 || cqe > STUB_MAX_CQE)
		return -EINVAL;
	err = ib_copy_from_udata(request, udata, min(sizeof(*request), udata->inlen));
	if (err)
		return err;
	entries = roundup_pow_of_two(cqe + 1);
	ring = stub_cq_pin_ring(cq, request->buf_addr, entries);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	mutex_lock(&stub->lock);
	if (stub_cq_used(cq) < entries)
		swap_rings(cq, ring, entries);
	else
		err = -EINVAL;
	mutex_unlock(&stub->lock);
	if (err)
		stub_unpin(ring);
	return err;
}

int stub_resize_cq(struct ib_cq *ib, int cqe, struct ib_udata *udata)
{
	struct stub_cq *cq = to_stub(ib, cq);
	struct mlx4_ib_resize_cq request = {};
	int err = stub_fail("resize_cq") ?: cq_resize(cq, cqe, udata, &request);

	stub_record("resize_cq", err, "'cq':%u,'cqe':%d,'buf_addr':'0x%llx','cqe_given':%d",
		    cq->number, cqe, request.buf_addr, ib->cqe);
	return err;
}

// SPDX-License-Identifier: Dual MIT/GPL
// Changes a memory region in place. It keeps its keys.
#include "stub.h"

struct change {
	u64 start;
	u64 length;
	u64 iova;
	int access;
	struct ib_pd *pd;
	struct ib_umem *memory; /* NULL if the pinned memory stays */
};

static int pin(struct stub_mr *mr, int flags, struct change *to)
{
	if (!(flags & (IB_MR_REREG_TRANS | IB_MR_REREG_ACCESS)))
		return 0;
	to->memory = stub_pin(mr->ib.device, to->start, to->length, to->access);
	return PTR_ERR_OR_ZERO(to->memory);
}

static int mr_rereg(struct stub_mr *mr, int flags, const struct change *asked)
{
	struct stub_device *stub = stub_of(mr->ib.device);
	struct change to = {
		mr->memory->address, mr->ib.length, mr->ib.iova, mr->access, mr->ib.pd, NULL
	};
	struct ib_umem *old = mr->memory;
	int err;

	if (flags & IB_MR_REREG_TRANS) {
		to.start = asked->start;
		to.length = asked->length;
		to.iova = asked->iova;
	}
	if (flags & IB_MR_REREG_ACCESS)
		to.access = asked->access;
	if (flags & IB_MR_REREG_PD)
		to.pd = asked->pd;
	err = pin(mr, flags, &to);
	if (err)
		return err;
	mutex_lock(&stub->lock);
	mr->ib.length = to.length;
	mr->ib.iova = to.iova;
	mr->ib.pd = to.pd;
	mr->access = to.access;
	if (to.memory)
		mr->memory = to.memory;
	mutex_unlock(&stub->lock);
	if (to.memory)
		stub_unpin(old);
	return 0;
}

struct ib_mr *stub_rereg_mr(struct ib_mr *ib, int flags, u64 start, u64 length, u64 iova,
			    int access, struct ib_pd *pd, struct ib_udata *udata)
{
	const struct change asked = { start, length, iova, access, pd, NULL };
	int err = stub_fail("rereg_mr") ?: mr_rereg(to_stub(ib, mr), flags, &asked);

	stub_record("rereg_mr", err,
		    "'lkey':%u,'flags':%d,'addr':'0x%llx','length':%llu,'iova':'0x%llx',"
		    "'access':%d,'pd':%u",
		    ib->lkey, flags, start, length, iova, access,
		    flags & IB_MR_REREG_PD ? to_stub(pd, pd)->number : 0);
	return ERR_PTR(err);
}

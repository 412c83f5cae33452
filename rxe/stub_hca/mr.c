// SPDX-License-Identifier: Dual MIT/GPL
// Memory regions. Their memory is pinned.
#include <linux/slab.h>
#include "stub.h"

/* libmlx4 marks the end of a scatter list by key 0x100. No region may have that key. */
#define FIRST_MR 2
#define LAST_MR 0xffffff

static int mr_open(struct stub_mr *mr, u64 start, u64 length, u64 iova)
{
	struct stub_device *stub = stub_of(mr->ib.device);
	int err;

	mr->memory = stub_pin(mr->ib.device, start, length, mr->access);
	if (IS_ERR(mr->memory))
		return PTR_ERR(mr->memory);
	mr->ib.iova = iova;
	mr->ib.length = length;
	mutex_lock(&stub->lock);
	err = stub_number_new(&stub->mrs, FIRST_MR, LAST_MR, mr, &mr->number);
	mutex_unlock(&stub->lock);
	if (err) {
		stub_unpin(mr->memory);
		return err;
	}
	mr->ib.lkey = mr->number << 8;
	mr->ib.rkey = mr->ib.lkey;
	stub_count(mr->ib.device, STUB_MR, 1);
	return 0;
}

struct ib_mr *stub_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata)
{
	struct stub_mr *mr;
	u32 lkey;
	int err;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->ib.device = pd->device;
	mr->ib.pd = pd;
	mr->access = access;
	err = stub_fail("reg_mr") ?: mr_open(mr, start, length, iova);
	lkey = mr->ib.lkey;
	stub_record("reg_mr", err,
		    "'ctx':%u,'pd':%u,'addr':'0x%llx','length':%llu,'iova':'0x%llx','access':%d,"
		    "'lkey':%u,'rkey':%u",
		    stub_context_number(udata), to_stub(pd, pd)->number, start, length, iova,
		    access, lkey, lkey);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	return &mr->ib;
}

int stub_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct stub_mr *mr = to_stub(ib, mr);
	struct stub_device *stub = stub_of(ib->device);
	int err = stub_fail("dereg_mr");

	stub_record("dereg_mr", err, "'lkey':%u", ib->lkey);
	if (err)
		return err;
	mutex_lock(&stub->lock);
	xa_erase(&stub->mrs.objects, mr->number);
	mutex_unlock(&stub->lock);
	stub_unpin(mr->memory);
	stub_count(ib->device, STUB_MR, -1);
	kfree(mr);
	return 0;
}

/* Returns the region if key, protection domain and range allow the access. */
static struct stub_mr *find_mr(struct ib_pd *pd, u32 lkey, u64 addr, size_t size)
{
	struct stub_mr *mr = xa_load(&stub_of(pd->device)->mrs.objects, lkey >> 8);

	if (!mr || mr->ib.lkey != lkey || mr->ib.pd != pd)
		return NULL;
	if (addr < mr->ib.iova || addr - mr->ib.iova > mr->ib.length ||
	    size > mr->ib.length - (addr - mr->ib.iova))
		return NULL;
	return mr;
}

bool stub_mr_allows(struct ib_pd *pd, u32 lkey, u64 addr, size_t size, int access)
{
	struct stub_mr *mr = find_mr(pd, lkey, addr, size);

	return mr && (mr->access & access) == access;
}

bool stub_gather(struct ib_pd *pd, u32 lkey, u64 addr, void *to, size_t size)
{
	struct stub_mr *mr = find_mr(pd, lkey, addr, size);

	return mr && stub_pinned_read(mr->memory, addr - mr->ib.iova, to, size);
}

bool stub_scatter(struct ib_pd *pd, u32 lkey, u64 addr, const void *from, size_t size)
{
	struct stub_mr *mr = find_mr(pd, lkey, addr, size);

	return mr && mr->access & IB_ACCESS_LOCAL_WRITE &&
	       stub_pinned_write(mr->memory, addr - mr->ib.iova, from, size);
}

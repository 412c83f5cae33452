// SPDX-License-Identifier: Dual MIT/GPL
// User memory, pinned while its object exists, and memory regions.
#include <linux/mm.h>
#include <linux/slab.h>
#include "stub.h"

struct ib_umem *stub_pin(u64 addr, size_t size, int access)
{
	struct ib_umem *umem = stub_umem_get(&stub_hca->ib, addr, size, access);

	if (!IS_ERR(umem))
		stub_count(STUB_PINNED_PAGE, ib_umem_num_pages(umem));
	return umem;
}

void stub_unpin(struct ib_umem *umem)
{
	if (IS_ERR_OR_NULL(umem))
		return;
	stub_count(STUB_PINNED_PAGE, -(int)ib_umem_num_pages(umem));
	ib_umem_release(umem);
}

/*
 * Returns the kernel's address of a byte, valid up to the end of its page. The kernel maps all
 * pinned pages: this module is not built for kernels with high memory.
 */
void *stub_pinned_at(struct ib_umem *umem, size_t offset)
{
	struct scatterlist *sg;
	int i;

	offset += ib_umem_offset(umem);
	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i) {
		if (offset < sg->length)
			return sg_virt(sg) + offset;
		offset -= sg->length;
	}
	return NULL;
}

bool stub_pinned_read(struct ib_umem *umem, size_t offset, void *to, size_t size)
{
	struct sg_table *table = &umem->sgt_append.sgt;

	return offset + size <= umem->length &&
	       sg_pcopy_to_buffer(table->sgl, table->orig_nents, to, size,
				  offset + ib_umem_offset(umem)) == size;
}

bool stub_pinned_write(struct ib_umem *umem, size_t offset, const void *from, size_t size)
{
	struct sg_table *table = &umem->sgt_append.sgt;

	return offset + size <= umem->length &&
	       sg_pcopy_from_buffer(table->sgl, table->orig_nents, from, size,
				    offset + ib_umem_offset(umem)) == size;
}

/*
 * User space writes the doorbell record at any time. It is read by one access, not copied. Without a
 * size there is none.
 */
int stub_ring_pin(struct stub_ring *ring, u64 addr, size_t size, u64 doorbell, size_t doorbell_size)
{
	if (doorbell_size && doorbell % doorbell_size)
		return -EINVAL;
	ring->memory = stub_pin(addr, size, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(ring->memory) || !doorbell_size)
		return PTR_ERR_OR_ZERO(ring->memory);
	ring->doorbell_page = stub_pin(doorbell, doorbell_size, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(ring->doorbell_page)) {
		stub_unpin(ring->memory);
		return PTR_ERR(ring->doorbell_page);
	}
	ring->doorbell = stub_pinned_at(ring->doorbell_page, 0);
	return 0;
}

void stub_ring_unpin(struct stub_ring *ring)
{
	stub_unpin(ring->doorbell_page);
	stub_unpin(ring->memory);
}

/*
 * libmlx4 marks the end of a scatter list by key 0x100: no region may have that key. Keys of EFA
 * have 24 bits.
 */
#define FIRST_MR 2
#define LAST_MR 0xffff

static int mr_open(struct stub_mr *mr, u64 start, u64 length, u64 iova)
{
	int err;

	mr->memory = stub_pin(start, length, mr->access);
	if (IS_ERR(mr->memory))
		return PTR_ERR(mr->memory);
	mr->ib.iova = iova;
	mr->ib.length = length;
	err = stub_number_new(&stub_hca->mrs, 1, XA_LIMIT(FIRST_MR, LAST_MR), mr, &mr->number);
	if (err) {
		stub_unpin(mr->memory);
		return err;
	}
	mr->ib.lkey = mr->number << 8;
	mr->ib.rkey = mr->ib.lkey;
	stub_count(STUB_MR, 1);
	return 0;
}

struct ib_mr *stub_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			       STUB_DMAH struct ib_udata *udata)
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
	int err = stub_fail_on("dereg_mr", "lkey", ib->lkey);

	if (err)
		return err;
	stub_number_free(&stub_hca->mrs, mr->number);
	stub_unpin(mr->memory);
	stub_count(STUB_MR, -1);
	kfree(mr);
	return 0;
}

/* Returns the region if key, protection domain and range allow the access. */
static struct stub_mr *find_mr(struct ib_pd *pd, u32 lkey, u64 addr, size_t size)
{
	struct stub_mr *mr = xa_load(&stub_hca->mrs.objects, lkey >> 8);

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

struct change {
	u64 start;
	u64 length;
	u64 iova;
	int access;
	struct ib_pd *pd;
	struct ib_umem *memory; /* NULL if the pinned memory stays */
};

/* A region that changes in place keeps its keys. */
static int pin(struct stub_mr *mr, int flags, struct change *to)
{
	if (!(flags & (IB_MR_REREG_TRANS | IB_MR_REREG_ACCESS)))
		return 0;
	to->memory = stub_pin(to->start, to->length, to->access);
	return PTR_ERR_OR_ZERO(to->memory);
}

static int mr_rereg(struct stub_mr *mr, int flags, const struct change *asked)
{
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
	mutex_lock(&stub_hca->lock);
	mr->ib.length = to.length;
	mr->ib.iova = to.iova;
	mr->ib.pd = to.pd;
	mr->access = to.access;
	if (to.memory)
		mr->memory = to.memory;
	mutex_unlock(&stub_hca->lock);
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

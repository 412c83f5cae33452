// SPDX-License-Identifier: Dual MIT/GPL
// User memory, pinned while its object exists.
#include <linux/mm.h>
#include "stub.h"

struct ib_umem *stub_pin(struct ib_device *device, u64 addr, size_t size, int access)
{
	struct ib_umem *umem = ib_umem_get(device, addr, size, access);

	if (!IS_ERR(umem))
		stub_count(device, STUB_PINNED_PAGE, ib_umem_num_pages(umem));
	return umem;
}

void stub_unpin(struct ib_umem *umem)
{
	if (IS_ERR_OR_NULL(umem))
		return;
	stub_count(umem->ibdev, STUB_PINNED_PAGE, -(int)ib_umem_num_pages(umem));
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

/* User space writes doorbell records at any time. They are read by one access, not copied. */
struct ib_umem *stub_pin_doorbell(struct ib_device *device, u64 addr, size_t size,
				  __be32 **doorbell)
{
	struct ib_umem *umem;

	if (addr % size)
		return ERR_PTR(-EINVAL);
	umem = stub_pin(device, addr, size, IB_ACCESS_LOCAL_WRITE);
	if (!IS_ERR(umem))
		*doorbell = stub_pinned_at(umem, 0);
	return umem;
}

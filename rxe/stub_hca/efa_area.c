// SPDX-License-Identifier: Dual MIT/GPL
// What user space maps of EFA's objects: rings, and doorbells that trap.
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "efa.h"

#define PAGES_OF_AN_AREA 0xffff /* the lower bits of a key, in pages */
#define LAST_AREA 0xffffff

static struct stub_numbers areas = { .objects = XARRAY_INIT(areas.objects, XA_FLAGS_ALLOC) };

int efa_area_new(struct efa_area *area, struct ib_udata *udata, size_t size,
		 void (*ring)(struct efa_area *area, u32 offset, u32 value))
{
	int err;

	area->context = &rdma_udata_to_drv_context(udata, struct stub_context, ib)->ib;
	area->size = PAGE_ALIGN(size);
	area->ring = ring;
	area->memory = vmalloc_user(area->size);
	if (!area->memory)
		return -ENOMEM;
	err = stub_number_new(&areas, 1, XA_LIMIT(1, LAST_AREA), area, &area->number);
	if (err)
		vfree(area->memory);
	return err;
}

/* Pages that are still mapped stay until they are not. */
void efa_area_free(struct efa_area *area)
{
	stub_number_free(&areas, area->number);
	vfree(area->memory);
}

u64 efa_area_key(const struct efa_area *area, u32 page)
{
	return ((u64)area->number << 16 | page) << PAGE_SHIFT;
}

/*
 * Decodes a store of 32 bits from a register, which is how libefa writes a doorbell. Returns its
 * length, 0 for any other instruction.
 */
static int decode_store(const u8 *code, struct pt_regs *regs, u32 *value)
{
	static const u8 places[16] = {
		offsetof(struct pt_regs, ax) / 8,  offsetof(struct pt_regs, cx) / 8,
		offsetof(struct pt_regs, dx) / 8,  offsetof(struct pt_regs, bx) / 8,
		offsetof(struct pt_regs, sp) / 8,  offsetof(struct pt_regs, bp) / 8,
		offsetof(struct pt_regs, si) / 8,  offsetof(struct pt_regs, di) / 8,
		offsetof(struct pt_regs, r8) / 8,  offsetof(struct pt_regs, r9) / 8,
		offsetof(struct pt_regs, r10) / 8, offsetof(struct pt_regs, r11) / 8,
		offsetof(struct pt_regs, r12) / 8, offsetof(struct pt_regs, r13) / 8,
		offsetof(struct pt_regs, r14) / 8, offsetof(struct pt_regs, r15) / 8,
	};
	const u8 *at = code;
	u8 rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
	u8 mode, base;

	if ((rex & 0x08) || *at++ != 0x89)
		return 0;
	mode = *at >> 6;
	base = *at & 7;
	*value = ((unsigned long *)regs)[places[(*at++ >> 3 & 7) | (rex & 0x04) << 1]];
	if (mode == 3)
		return 0;
	if (base == 4)
		base = *at++ & 7;
	if (mode == 1)
		at += 1;
	else if (mode == 2 || base == 5)
		at += 4;
	return at - code;
}

static void ring(u32 number, u32 offset, u32 value)
{
	struct efa_area *area;

	mutex_lock(&stub_hca->lock);
	area = xa_load(&areas.objects, number);
	if (area)
		area->ring(area, offset, value);
	mutex_unlock(&stub_hca->lock);
}

/*
 * A page of doorbells is never there: each store to it comes here, is carried out and skipped. So
 * no doorbell gets lost, and each has its effect at once.
 */
static vm_fault_t doorbell_fault(struct vm_fault *fault)
{
	struct pt_regs *regs = current_pt_regs();
	u8 code[15] = {};
	u32 value;
	int length;

	if (!(fault->flags & FAULT_FLAG_USER) || !(fault->flags & FAULT_FLAG_WRITE) ||
	    copy_from_user_nofault(code, (void __user *)regs->ip, sizeof(code)))
		return VM_FAULT_SIGBUS;
	length = decode_store(code, regs, &value);
	if (!length)
		return VM_FAULT_SIGBUS;
	ring(fault->vma->vm_pgoff >> 16, offset_in_page(fault->real_address), value);
	regs->ip += length;
	return VM_FAULT_NOPAGE;
}

static const struct vm_operations_struct doorbell_operations = { .fault = doorbell_fault };

int efa_mmap(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	unsigned long page = vma->vm_pgoff & PAGES_OF_AN_AREA;
	struct efa_area *area;
	int err = stub_fail("mmap");

	if (err)
		return err;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	mutex_lock(&stub_hca->lock);
	area = xa_load(&areas.objects, vma->vm_pgoff >> 16);
	if (!area || area->context != context) {
		err = -EINVAL;
	} else if (page) {
		err = remap_vmalloc_range(vma, area->memory, page - 1);
	} else if (vma_pages(vma) != 1) {
		err = -EINVAL;
	} else {
		stub_vm_flags_set(vma, VM_IO | VM_DONTEXPAND | VM_DONTCOPY);
		vma->vm_ops = &doorbell_operations;
	}
	mutex_unlock(&stub_hca->lock);
	return err;
}

// SPDX-License-Identifier: Dual MIT/GPL
// Contexts, their doorbell page, protection domains, and XRC domains.
#include <linux/mm.h>
#include "stub.h"

/* Pages that libmlx4 maps, by their offset. */
enum { DOORBELLS = 0, CLOCK = 3 };

u32 stub_context_number(struct ib_udata *udata)
{
	struct stub_context *context = rdma_udata_to_drv_context(udata, struct stub_context, ib);

	return context ? context->number : 0;
}

static int context_open(struct stub_context *context, struct ib_udata *udata)
{
	/* bf_reg_size 0 tells libmlx4 not to ask for a second page; 32 bytes are its default CQE */
	struct mlx4_ib_alloc_ucontext_resp reply = {
		.qp_tab_size = STUB_QUEUE_NUMBERS,
		.cqe_size = sizeof(struct mlx4_cqe),
	};
	int err = stub_ident_new(STUB_CONTEXT, &context->number);

	if (err)
		return err;
	context->doorbells = alloc_page(GFP_KERNEL | __GFP_ZERO);
	err = context->doorbells ? ib_copy_to_udata(udata, &reply, min(sizeof(reply), udata->outlen)) :
				   -ENOMEM;
	if (err) {
		if (context->doorbells)
			__free_page(context->doorbells);
		stub_ident_free(STUB_CONTEXT, context->number);
	}
	return err;
}

int stub_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct stub_context *context = to_stub(ib, context);
	int err = stub_fail("alloc_ucontext") ?: context_open(context, udata);

	stub_record("alloc_ucontext", err, "'ctx':%u", context->number);
	return err;
}

/* A mapping that outlives the context keeps its own reference on the page. */
void stub_dealloc_ucontext(struct ib_ucontext *ib)
{
	struct stub_context *context = to_stub(ib, context);

	stub_record("dealloc_ucontext", 0, "'ctx':%u", context->number);
	if (context->doorbells)
		__free_page(context->doorbells);
	stub_ident_free(STUB_CONTEXT, context->number);
}

int stub_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma)
{
	int err = stub_fail("mmap");

	if (err)
		return err;
	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	switch (vma->vm_pgoff) {
	case DOORBELLS:
		return vm_insert_page(vma, vma->vm_start, to_stub(ib, context)->doorbells);
	case CLOCK:
		return stub_clock_map(vma);
	default:
		return -EINVAL;
	}
}

static int pd_open(struct stub_pd *pd, struct ib_udata *udata)
{
	struct mlx4_ib_alloc_pd_resp reply = {};
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	err = stub_ident_new(STUB_PD, &pd->number);
	if (err)
		return err;
	reply.pdn = pd->number;
	err = ib_copy_to_udata(udata, &reply, min(sizeof(reply), udata->outlen));
	if (err)
		stub_ident_free(STUB_PD, pd->number);
	return err;
}

int stub_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct stub_pd *pd = to_stub(ib, pd);
	int err = stub_fail("alloc_pd") ?: pd_open(pd, udata);

	stub_record("alloc_pd", err, "'ctx':%u,'pd':%u", stub_context_number(udata), pd->number);
	return err;
}

int stub_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct stub_pd *pd = to_stub(ib, pd);
	int err = stub_fail_on("dealloc_pd", "pd", pd->number);

	if (err)
		return err;
	stub_ident_free(STUB_PD, pd->number);
	return 0;
}

/* The core makes one per file: opening the same file again does not reach the module. */
int stub_open_xrcd(struct ib_xrcd *ib, struct ib_udata *udata)
{
	struct stub_xrcd *xrcd = to_stub(ib, xrcd);
	int err = stub_fail("open_xrcd") ?: stub_ident_new(STUB_XRCD, &xrcd->number);

	stub_record("open_xrcd", err, "'ctx':%u,'xrcd':%u", stub_context_number(udata),
		    xrcd->number);
	return err;
}

/*
 * Fails for domains of a file only. After a failure the core counts one more user of the domain. It
 * takes that back at the next attempt, but not for a domain without a file.
 */
int stub_close_xrcd(struct ib_xrcd *ib, struct ib_udata *udata)
{
	struct stub_xrcd *xrcd = to_stub(ib, xrcd);
	int err = ib->inode ? stub_fail("close_xrcd") : 0;

	stub_record("close_xrcd", err, "'xrcd':%u", xrcd->number);
	if (err)
		return err;
	stub_ident_free(STUB_XRCD, xrcd->number);
	return 0;
}

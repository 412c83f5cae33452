// SPDX-License-Identifier: Dual MIT/GPL
// XRC domains. The core makes one per file: opening the same file again does not reach the module.
#include "stub.h"

static int xrcd_open(struct stub_xrcd *xrcd)
{
	int number = ida_alloc_min(&stub_of(xrcd->ib.device)->idents, 1, GFP_KERNEL);

	if (number < 0)
		return number;
	xrcd->number = number;
	stub_count(xrcd->ib.device, STUB_XRCD, 1);
	return 0;
}

int stub_open_xrcd(struct ib_xrcd *ib, struct ib_udata *udata)
{
	struct stub_xrcd *xrcd = to_stub(ib, xrcd);
	int err = stub_fail("open_xrcd") ?: xrcd_open(xrcd);

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
	ida_free(&stub_of(ib->device)->idents, xrcd->number);
	stub_count(ib->device, STUB_XRCD, -1);
	return 0;
}

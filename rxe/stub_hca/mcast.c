// SPDX-License-Identifier: Dual MIT/GPL
// Multicast groups. Memberships are counted and recorded. No message reaches a group.
#include "stub.h"

int stub_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	int err = stub_fail("attach_mcast");

	stub_record("attach_mcast", err, "'qp':%u,'gid':'%pI6','lid':%u", qp->qp_num, gid, lid);
	if (!err)
		stub_count(qp->device, STUB_MCAST, 1);
	return err;
}

/*
 * Never fails. The core forgets the membership before this call. If the call failed, the core would
 * still count it, and nobody could destroy the queue pair, not even when its process ends.
 */
int stub_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	stub_record("detach_mcast", 0, "'qp':%u,'gid':'%pI6','lid':%u", qp->qp_num, gid, lid);
	stub_count(qp->device, STUB_MCAST, -1);
	return 0;
}

// SPDX-License-Identifier: Dual MIT/GPL
// Multicast groups: who is a member is counted and recorded. No message is sent to a group.
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
 * Never fails: the core forgets the membership before it asks, but keeps counting it, so that the
 * queue pair could not be destroyed any more, not even with its process.
 */
int stub_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	stub_record("detach_mcast", 0, "'qp':%u,'gid':'%pI6','lid':%u", qp->qp_num, gid, lid);
	stub_count(qp->device, STUB_MCAST, -1);
	return 0;
}

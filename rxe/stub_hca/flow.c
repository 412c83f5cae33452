// SPDX-License-Identifier: Dual MIT/GPL
// Flow steering rules and multicast groups. They are recorded, and steer nothing.
#include <linux/slab.h>
#include "stub.h"

struct stub_flow {
	struct ib_flow ib;
	u32 number;
};

static int flow_open(struct stub_flow *flow, struct ib_qp *qp, const struct ib_flow_attr *attr)
{
	if (attr->port < 1 || attr->port > STUB_PORTS ||
	    attr->flags & ~(IB_FLOW_ATTR_FLAGS_DONT_TRAP | IB_FLOW_ATTR_FLAGS_EGRESS))
		return -EINVAL;
	return stub_ident_new(STUB_FLOW, &flow->number);
}

struct ib_flow *stub_create_flow(struct ib_qp *qp, struct ib_flow_attr *attr,
				 struct ib_udata *udata)
{
	struct stub_flow *flow = kzalloc(sizeof(*flow), GFP_KERNEL);
	int err;

	if (!flow)
		return ERR_PTR(-ENOMEM);
	err = stub_fail("create_flow") ?: flow_open(flow, qp, attr);
	stub_record("create_flow", err,
		    "'qp':%u,'type':%d,'priority':%u,'port':%u,'flags':%u,'specs':%u,'flow':%u",
		    qp->qp_num, attr->type, attr->priority, attr->port, attr->flags,
		    attr->num_of_specs, flow->number);
	if (err) {
		kfree(flow);
		return ERR_PTR(err);
	}
	return &flow->ib;
}

int stub_destroy_flow(struct ib_flow *ib)
{
	struct stub_flow *flow = to_stub(ib, flow);
	int err = stub_fail_on("destroy_flow", "flow", flow->number);

	if (err)
		return err;
	stub_ident_free(STUB_FLOW, flow->number);
	kfree(flow);
	return 0;
}

int stub_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	int err = stub_fail("attach_mcast");

	stub_record("attach_mcast", err, "'qp':%u,'gid':'%pI6','lid':%u", qp->qp_num, gid, lid);
	if (!err)
		stub_count(STUB_MCAST, 1);
	return err;
}

/*
 * Never fails. The core forgets the membership before this call. If the call failed, the core would
 * still count it, and nobody could destroy the queue pair, not even when its process ends.
 */
int stub_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	stub_record("detach_mcast", 0, "'qp':%u,'gid':'%pI6','lid':%u", qp->qp_num, gid, lid);
	stub_count(STUB_MCAST, -1);
	return 0;
}

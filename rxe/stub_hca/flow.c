// SPDX-License-Identifier: Dual MIT/GPL
// Flow steering rules and multicast groups. They are recorded, and steer nothing.
#include <linux/slab.h>
#include "stub.h"

struct stub_flow {
	struct ib_flow ib;
	u32 number;
};

#define SPEC_TEXT 256 /* of one spec; the longest, IPv6, has 160 digits */

/* Offsets of the filter and the mask in the spec of each header. */
#define HEADER(type, name) \
	{ IB_FLOW_SPEC_##type, offsetof(struct ib_flow_spec_##name, val), \
	  offsetof(struct ib_flow_spec_##name, mask), \
	  sizeof_field(struct ib_flow_spec_##name, val) }
static const struct header {
	u32 type;
	size_t val;
	size_t mask;
	size_t size;
} headers[] = {
	HEADER(ETH, eth),
	HEADER(IPV4, ipv4),
	HEADER(IPV6, ipv6),
	HEADER(ESP, esp),
	HEADER(TCP, tcp_udp),
	HEADER(UDP, tcp_udp),
	HEADER(VXLAN_TUNNEL, tunnel),
	HEADER(GRE, gre),
	HEADER(MPLS, mpls),
};

static const struct header *header_of(u32 type)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(headers); i++)
		if (headers[i].type == (type & ~IB_FLOW_SPEC_INNER))
			return &headers[i];
	return NULL;
}

/* %*ph prints up to 64 bytes. The longest filter has 40. */
static size_t show_spec(char *text, size_t size, const union ib_flow_spec *spec)
{
	const struct header *header = header_of(spec->type);
	const u8 *bytes = (const u8 *)spec;

	if (header)
		return scnprintf(text, size, "{'type':%u,'val':'%*phN','mask':'%*phN'}",
				 spec->type, (int)header->size, bytes + header->val,
				 (int)header->size, bytes + header->mask);
	if (spec->type == IB_FLOW_SPEC_ACTION_TAG)
		return scnprintf(text, size, "{'type':%u,'tag_id':%u}", spec->type,
				 spec->flow_tag.tag_id);
	return scnprintf(text, size, "{'type':%u}", spec->type);
}

static char *show_specs(const struct ib_flow_attr *attr)
{
	size_t size = attr->num_of_specs * SPEC_TEXT + 1;
	const u8 *spec = (const u8 *)attr->flows;
	char *text = kzalloc(size, GFP_KERNEL);
	size_t used = 0;
	int i;

	for (i = 0; text && i < attr->num_of_specs; i++) {
		used += scnprintf(text + used, size - used, "%s", i ? "," : "");
		used += show_spec(text + used, size - used, (const union ib_flow_spec *)spec);
		spec += ((const union ib_flow_spec *)spec)->size;
	}
	return text;
}

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
	char *specs;
	int err;

	if (!flow)
		return ERR_PTR(-ENOMEM);
	err = stub_fail("create_flow") ?: flow_open(flow, qp, attr);
	specs = show_specs(attr);
	stub_record("create_flow", err,
		    "'qp':%u,'type':%d,'priority':%u,'port':%u,'flags':%u,'specs':[%s],'flow':%u",
		    qp->qp_num, attr->type, attr->priority, attr->port, attr->flags, specs ?: "",
		    flow->number);
	kfree(specs);
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

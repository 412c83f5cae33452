// Flow steering with its specs, flow actions, and counters.
#include "ops.h"

#define SPEC(type, tag) { type, #tag, sizeof(struct tag) }

static const struct {
	enum ibv_flow_spec_type type;
	const char *tag;
	size_t size;
} specs[] = {
	SPEC(IBV_FLOW_SPEC_ETH, ibv_flow_spec_eth), SPEC(IBV_FLOW_SPEC_IPV4, ibv_flow_spec_ipv4),
	SPEC(IBV_FLOW_SPEC_IPV6, ibv_flow_spec_ipv6), SPEC(IBV_FLOW_SPEC_IPV4_EXT, ibv_flow_spec_ipv4_ext),
	SPEC(IBV_FLOW_SPEC_ESP, ibv_flow_spec_esp), SPEC(IBV_FLOW_SPEC_TCP, ibv_flow_spec_tcp_udp),
	SPEC(IBV_FLOW_SPEC_UDP, ibv_flow_spec_tcp_udp), SPEC(IBV_FLOW_SPEC_VXLAN_TUNNEL, ibv_flow_spec_tunnel),
	SPEC(IBV_FLOW_SPEC_GRE, ibv_flow_spec_gre), SPEC(IBV_FLOW_SPEC_MPLS, ibv_flow_spec_mpls),
	SPEC(IBV_FLOW_SPEC_ACTION_TAG, ibv_flow_spec_action_tag), SPEC(IBV_FLOW_SPEC_ACTION_DROP, ibv_flow_spec_action_drop),
	SPEC(IBV_FLOW_SPEC_ACTION_HANDLE, ibv_flow_spec_action_handle),
	SPEC(IBV_FLOW_SPEC_ACTION_COUNT, ibv_flow_spec_counter_action),
};

static const char *tag_of(uint32_t type, uint16_t size)
{
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
		if (specs[i].type == (type & ~IBV_FLOW_SPEC_INNER) && specs[i].size == size)
			return specs[i].tag;
	return "bytes";
}

static void put_specs(const struct ibv_flow_attr *attr)
{
	const char *at = (const char *)(attr + 1);
	const char *end = (const char *)attr + attr->size;

	for (unsigned i = 0; i < attr->num_of_specs; i++) {
		uint32_t type;
		uint16_t size;
		memcpy(&type, at, sizeof type);
		memcpy(&size, at + sizeof type, sizeof size);
		if (size < 8 || at + size > end) {
			violation("ibv_create_flow: spec %u does not fit the attributes", i);
			return;
		}
		put_struct(named("spec[%u]", i), tag_of(type, size), at, size, 1);
		at += size;
	}
	if (at != end)
		violation("ibv_create_flow: the size is not that of the attributes and their specs");
}

static void depend_on_specs(struct ibv_flow *made_flow, const struct ibv_flow_attr *attr)
{
	const char *at = (const char *)(attr + 1);

	for (unsigned i = 0; i < attr->num_of_specs; i++) {
		struct ibv_flow_spec_action_handle spec;
		memcpy(&spec, at, 8);
		if (spec.type == IBV_FLOW_SPEC_ACTION_HANDLE || spec.type == IBV_FLOW_SPEC_ACTION_COUNT) {
			memcpy(&spec, at, sizeof spec);
			depend(made_flow, spec.action);
		}
		at += spec.size;
	}
}

struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	MAKE(OBJECT(QP, qp), STRUCT(ibv_flow_attr, attr), put_specs(attr));
	struct ibv_flow *flow = create(FLOW, sizeof *flow);
	flow->context = qp->context;
	flow->handle = object_of(flow)->handle;
	depend(flow, qp);
	depend_on_specs(flow, attr);
	return made(flow);
}

DESTROYER(destroy_flow, FLOW, struct ibv_flow, flow)

static void put_esp(const struct ibv_flow_action_esp_attr *attr)
{
	STRUCT(ibv_flow_action_esp_attr, attr);
	if (attr->esp_attr)
		put_struct("attr.esp_attr", "ibv_flow_action_esp", attr->esp_attr, sizeof *attr->esp_attr, 1);
	if (attr->keymat_ptr)
		put_struct("attr.keymat_ptr", "ibv_flow_action_esp_keymat_aes_gcm", attr->keymat_ptr, attr->keymat_len, 1);
	if (attr->replay_ptr)
		put_struct("attr.replay_ptr", "ibv_flow_action_esp_replay_bmp", attr->replay_ptr, attr->replay_len, 1);
	unsigned at = 0;
	for (const struct ibv_flow_action_esp_encap *encap = attr->esp_encap; encap; encap = encap->next_ptr, at++) {
		put_struct(named("attr.esp_encap[%u]", at), "ibv_flow_action_esp_encap", encap, sizeof *encap, 1);
		put_struct(named("attr.esp_encap[%u].val_ptr", at), "bytes", encap->val_ptr, encap->len, 1);
	}
}

struct ibv_flow_action *create_flow_action_esp(struct ibv_context *context, struct ibv_flow_action_esp_attr *attr)
{
	MAKE(OBJECT(CONTEXT, context), put_esp(attr));
	struct ibv_flow_action *action = create(ACTION, sizeof *action);
	action->context = context;
	depend(action, context);
	return made(action);
}

int modify_flow_action_esp(struct ibv_flow_action *action, struct ibv_flow_action_esp_attr *attr)
{
	CALL(ERRNO, OBJECT(ACTION, action), put_esp(attr));
	return done(0);
}

DESTROYER(destroy_flow_action, ACTION, struct ibv_flow_action, action)

CREATOR(create_counters, COUNTERS, struct ibv_counters, ibv_counters_init_attr, init_attr)
DESTROYER(destroy_counters, COUNTERS, struct ibv_counters, counters)

int attach_counters_point_flow(struct ibv_counters *counters, struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	CALL(ERRNO, OBJECT(COUNTERS, counters), STRUCT(ibv_counter_attach_attr, attr), OPTIONAL(FLOW, flow));
	return done(0);
}

int read_counters(struct ibv_counters *counters, uint64_t *counters_value, uint32_t ncounters, uint32_t flags)
{
	CALL(ERRNO, OBJECT(COUNTERS, counters), NUMBER(ncounters), NUMBER(flags));
	for (uint32_t i = 0; i < ncounters; i++)
		counters_value[i] = 1000 + i;
	return answered(counters_value, ncounters * sizeof *counters_value);
}

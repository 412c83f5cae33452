// Flow steering: every spec, actions, and counters.
#include "requests.h"

// Specs follow the attributes without a gap, which their pointers are not aligned for.
struct flow {
	struct ibv_flow_attr attr;
	unsigned char specs[512];
};

// Static, so that its padding is zero.
static struct flow flow = {
	.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(struct ibv_flow_attr), .priority = 7, .port = 1 },
};

static void add(const void *spec, size_t size)
{
	memcpy((char *)&flow + flow.attr.size, spec, size);
	flow.attr.size += size;
	flow.attr.num_of_specs++;
}

#define ADD(tag, ...) \
	do { \
		struct tag spec; \
		memset(&spec, 0, sizeof spec); \
		spec = (struct tag){ .size = sizeof spec, __VA_ARGS__ }; \
		add(&spec, sizeof spec); \
	} while (0)

static struct ibv_flow *create(void)
{
	struct ibv_qp *raw = qp(IBV_QPT_RAW_PACKET);

	begin_request();
	return ibv_create_flow(raw, &flow.attr);
}

#define BOTH(...) .val = __VA_ARGS__, .mask = __VA_ARGS__

// A condition of each kind.
static void add_filters(void)
{
	ADD(ibv_flow_spec_eth, .type = IBV_FLOW_SPEC_ETH,
	    BOTH({ { 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 2 }, htons(0x0800), htons(5) }));
	ADD(ibv_flow_spec_ipv4, .type = IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_IPV4, BOTH({ htonl(0x0a000001), htonl(0x0a000002) }));
	ADD(ibv_flow_spec_ipv4_ext, .type = IBV_FLOW_SPEC_IPV4_EXT,
	    BOTH({ htonl(0x0a000001), htonl(0x0a000002), .proto = 17, .tos = 4, .ttl = 64, .flags = 2 }));
	ADD(ibv_flow_spec_ipv6, .type = IBV_FLOW_SPEC_IPV6,
	    BOTH({ { 0xfe, 0x80, [15] = 1 }, { 0xfe, 0x80, [15] = 2 }, .flow_label = htonl(0x12345), .next_hdr = 50,
		   .traffic_class = 8, .hop_limit = 64 }));
	ADD(ibv_flow_spec_esp, .type = IBV_FLOW_SPEC_ESP, BOTH({ .spi = htonl(7), .seq = htonl(9) }));
	ADD(ibv_flow_spec_tcp_udp, .type = IBV_FLOW_SPEC_TCP, BOTH({ .dst_port = htons(80), .src_port = htons(81) }));
	ADD(ibv_flow_spec_tcp_udp, .type = IBV_FLOW_SPEC_UDP, BOTH({ .dst_port = htons(4791), .src_port = htons(4792) }));
	ADD(ibv_flow_spec_tunnel, .type = IBV_FLOW_SPEC_VXLAN_TUNNEL, BOTH({ .tunnel_id = htonl(0x1234) }));
	ADD(ibv_flow_spec_gre, .type = IBV_FLOW_SPEC_GRE,
	    BOTH({ .c_ks_res0_ver = htons(0x2000), .protocol = htons(0x0800), .key = htonl(3) }));
	ADD(ibv_flow_spec_mpls, .type = IBV_FLOW_SPEC_MPLS, BOTH({ .label = htonl(0x12345000) }));
}

static struct ibv_counters *make_counters(void)
{
	struct ibv_counters_init_attr init = { 0 };

	return ibv_create_counters(context, &init);
}

static struct ibv_flow_action *make_esp(void)
{
	struct ibv_flow_action_esp esp = {
		.spi = 0x11,
		.seq = 8,
		.tfc_pad = 3,
		.hard_limit_pkts = 1ull << 40,
		.flags = IBV_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD | IBV_FLOW_ACTION_ESP_FLAGS_ENCRYPT,
	};
	struct ibv_flow_action_esp_keymat_aes_gcm key = {
		.iv = 0x0102030405060708,
		.iv_algo = IBV_FLOW_ACTION_IV_ALGO_SEQ,
		.salt = 0x99,
		.icv_len = 16,
		.key_len = 16,
	};
	struct ibv_flow_action_esp_replay_bmp replay = { .size = 64 };
	struct ibv_flow_action_esp_attr attr = {
		.esp_attr = &esp,
		.keymat_proto = IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM,
		.keymat_len = sizeof key,
		.keymat_ptr = &key,
		.replay_proto = IBV_FLOW_ACTION_ESP_REPLAY_BMP,
		.replay_len = sizeof replay,
		.replay_ptr = &replay,
		.comp_mask = IBV_FLOW_ACTION_ESP_MASK_ESN,
		.esn = 5,
	};

	memcpy(key.aes_key, memory, 16);
	return ibv_create_flow_action_esp(context, &attr);
}

TWIN(create_flow, "new Flow")
{
	flow.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	add_filters();
	ADD(ibv_flow_spec_action_tag, .type = IBV_FLOW_SPEC_ACTION_TAG, .tag_id = 0x123456);
	ADD(ibv_flow_spec_counter_action, .type = IBV_FLOW_SPEC_ACTION_COUNT, .counters = make_counters());
	ADD(ibv_flow_spec_action_handle, .type = IBV_FLOW_SPEC_ACTION_HANDLE, .action = make_esp());
	create();
}

TWIN(create_flow_drop, "new Flow (drop)")
{
	flow.attr.priority = 0;
	ADD(ibv_flow_spec_action_drop, .type = IBV_FLOW_SPEC_ACTION_DROP);
	create();
}

TWIN(create_flow_sniffer, "new Flow (sniffer)")
{
	flow.attr.type = IBV_FLOW_ATTR_SNIFFER;
	flow.attr.priority = 0;
	create();
}

TWIN(create_flow_action_esp, "new FlowActionEsp")
{
	make_esp();
}

TWIN(modify_flow_action_esp, "FlowActionEsp#modify")
{
	struct ibv_flow_ipv4_filter outer = { .src_ip = htonl(0x0a000001), .dst_ip = htonl(0x0a000002) };
	struct ibv_flow_tcp_udp_filter ports = { .dst_port = htons(4791), .src_port = htons(4792) };
	// Static, so that their padding is zero.
	static struct ibv_flow_action_esp_encap udp = { .len = sizeof ports, .type = IBV_FLOW_SPEC_UDP };
	static struct ibv_flow_action_esp_encap ip = { .next_ptr = &udp, .len = sizeof outer, .type = IBV_FLOW_SPEC_IPV4 };
	struct ibv_flow_action_esp_attr attr = { .comp_mask = IBV_FLOW_ACTION_ESP_MASK_ESN, .esn = 6, .esp_encap = &ip };
	struct ibv_flow_action *action = make_esp();

	udp.val_ptr = &ports;
	ip.val_ptr = &outer;
	begin_request();
	ibv_modify_flow_action_esp(action, &attr);
}

TWIN(create_counters, "new Counters")
{
	make_counters();
}

TWIN(attach_counters, "Counters#attach")
{
	struct ibv_counter_attach_attr attr = { .counter_desc = IBV_COUNTER_BYTES, .index = 3 };
	struct ibv_counters *counters = make_counters();
	struct ibv_flow *rule = create();

	begin_request();
	ibv_attach_counters_point_flow(counters, &attr, rule);
}

TWIN(read_counters, "Counters#read")
{
	struct ibv_counters *counters = make_counters();
	uint64_t values[2];

	begin_request();
	ibv_read_counters(counters, values, 2, IBV_READ_COUNTERS_ATTR_PREFER_CACHED);
}

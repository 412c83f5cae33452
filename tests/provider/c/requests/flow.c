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

REQUEST(flow_ipv4_udp)
{
	flow.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	ADD(ibv_flow_spec_eth, .type = IBV_FLOW_SPEC_ETH,
	    .val = { .dst_mac = { 2, 0, 0, 0, 0, 1 }, .src_mac = { 2, 0, 0, 0, 0, 2 }, .ether_type = htons(0x0800), .vlan_tag = htons(5) },
	    .mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 }, .ether_type = 0xffff, .vlan_tag = htons(0xfff) });
	ADD(ibv_flow_spec_ipv4, .type = IBV_FLOW_SPEC_IPV4, .val = { .src_ip = htonl(0x0a000001) },
	    .mask = { .src_ip = 0xffffffff });
	ADD(ibv_flow_spec_tcp_udp, .type = IBV_FLOW_SPEC_UDP, .val = { .dst_port = htons(4791) },
	    .mask = { .dst_port = 0xffff });
	ADD(ibv_flow_spec_action_tag, .type = IBV_FLOW_SPEC_ACTION_TAG, .tag_id = 0x123456);
	ibv_destroy_flow(create());
}

REQUEST(flow_ipv4_ext_tcp)
{
	ADD(ibv_flow_spec_ipv4_ext, .type = IBV_FLOW_SPEC_IPV4_EXT,
	    .val = { .dst_ip = htonl(0x0a000002), .proto = 6, .tos = 4, .ttl = 64, .flags = 2 },
	    .mask = { .dst_ip = 0xffffffff, .proto = 255, .tos = 252, .ttl = 255, .flags = 7 });
	ADD(ibv_flow_spec_tcp_udp, .type = IBV_FLOW_SPEC_TCP, .val = { .src_port = htons(80) },
	    .mask = { .src_port = 0xffff });
	ADD(ibv_flow_spec_action_drop, .type = IBV_FLOW_SPEC_ACTION_DROP);
	create();
}

REQUEST(flow_ipv6_esp)
{
	ADD(ibv_flow_spec_ipv6, .type = IBV_FLOW_SPEC_IPV6,
	    .val = { .src_ip = { 0xfe, 0x80, [15] = 1 }, .flow_label = htonl(0x12345), .next_hdr = 50, .traffic_class = 8,
		     .hop_limit = 64 },
	    .mask = { .src_ip = { 0xff, 0xff, [15] = 0xff }, .flow_label = htonl(0xfffff), .next_hdr = 255,
		      .traffic_class = 255, .hop_limit = 255 });
	ADD(ibv_flow_spec_esp, .type = IBV_FLOW_SPEC_ESP, .val = { .spi = htonl(7), .seq = htonl(9) },
	    .mask = { .spi = 0xffffffff, .seq = 0xffffffff });
	create();
}

REQUEST(flow_tunnels)
{
	ADD(ibv_flow_spec_tunnel, .type = IBV_FLOW_SPEC_VXLAN_TUNNEL, .val = { .tunnel_id = htonl(0x1234) },
	    .mask = { .tunnel_id = htonl(0xffffff) });
	ADD(ibv_flow_spec_gre, .type = IBV_FLOW_SPEC_GRE,
	    .val = { .c_ks_res0_ver = htons(0x2000), .protocol = htons(0x0800), .key = htonl(3) },
	    .mask = { .c_ks_res0_ver = htons(0xb007), .protocol = 0xffff, .key = 0xffffffff });
	ADD(ibv_flow_spec_mpls, .type = IBV_FLOW_SPEC_MPLS, .val = { .label = htonl(0x12345000) },
	    .mask = { .label = htonl(0xfffff000) });
	ADD(ibv_flow_spec_ipv4, .type = IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_IPV4,
	    .val = { .dst_ip = htonl(0x0a000003) }, .mask = { .dst_ip = htonl(0xffffff00) });
	create();
}

REQUEST(flow_sniffer)
{
	flow.attr.type = IBV_FLOW_ATTR_SNIFFER;
	flow.attr.priority = 0;
	create();
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

REQUEST(flow_action_esp)
{
	struct ibv_flow_action_esp_attr attr = { .comp_mask = IBV_FLOW_ACTION_ESP_MASK_ESN, .esn = 6 };

	struct ibv_flow_action *action = make_esp();
	ibv_modify_flow_action_esp(action, &attr);
	ibv_destroy_flow_action(action);
}

REQUEST(flow_action_esp_encap)
{
	struct ibv_flow_ipv4_filter outer = { .src_ip = htonl(0x0a000001), .dst_ip = htonl(0x0a000002) };
	struct ibv_flow_tcp_udp_filter ports = { .dst_port = htons(4500), .src_port = htons(4500) };
	struct ibv_flow_action_esp_encap udp = { .val_ptr = &ports, .len = sizeof ports, .type = IBV_FLOW_SPEC_UDP };
	struct ibv_flow_action_esp_encap ip = { .val_ptr = &outer, .next_ptr = &udp, .len = sizeof outer, .type = IBV_FLOW_SPEC_IPV4 };
	struct ibv_flow_action_esp_attr attr = { .esp_encap = &ip };
	struct ibv_flow_action *action = make_esp();

	begin_request();
	ibv_modify_flow_action_esp(action, &attr);
}

REQUEST(flow_with_action)
{
	ADD(ibv_flow_spec_action_handle, .type = IBV_FLOW_SPEC_ACTION_HANDLE, .action = make_esp());
	create();
}

REQUEST(counters)
{
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr packets = { .counter_desc = IBV_COUNTER_PACKETS, .index = 0 };
	struct ibv_counter_attach_attr bytes = { .counter_desc = IBV_COUNTER_BYTES, .index = 1 };
	struct ibv_qp *raw = qp(IBV_QPT_RAW_PACKET);
	uint64_t values[2];

	begin_request();
	struct ibv_counters *counters = ibv_create_counters(context, &init);
	ibv_attach_counters_point_flow(counters, &packets, NULL);
	ibv_attach_counters_point_flow(counters, &bytes, NULL);
	ADD(ibv_flow_spec_counter_action, .type = IBV_FLOW_SPEC_ACTION_COUNT, .counters = counters);
	struct ibv_flow *rule = ibv_create_flow(raw, &flow.attr);
	ibv_read_counters(counters, values, 2, IBV_READ_COUNTERS_ATTR_PREFER_CACHED);
	ibv_destroy_flow(rule);
	ibv_destroy_counters(counters);
}

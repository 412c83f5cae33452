// What a device says about itself.
#include <time.h>
#include "ops.h"

enum { PORTS = 1, PLAIN_PORTS = 2, GIDS = 4, PKEYS = 1, SIZE = 1 << 15, MOST_CQES = 1 << 20 };

static const struct ibv_device_attr recorder_attr = {
	.fw_ver = "1.2.3",
	.max_mr_size = UINT64_MAX,
	.page_size_cap = 0xfffff000,
	.vendor_id = 0x1234,
	.vendor_part_id = 1,
	.max_qp = SIZE, .max_qp_wr = SIZE, .max_sge = 32, .max_sge_rd = 32,
	.max_cq = SIZE, .max_cqe = SIZE, .max_mr = SIZE, .max_pd = SIZE,
	.max_qp_rd_atom = 16, .max_res_rd_atom = SIZE, .max_qp_init_rd_atom = 16,
	.device_cap_flags = ~0u >> 2,
	.atomic_cap = IBV_ATOMIC_HCA,
	.max_mw = SIZE, .max_mcast_grp = SIZE, .max_mcast_qp_attach = 64, .max_total_mcast_qp_attach = SIZE,
	.max_ah = SIZE, .max_srq = SIZE, .max_srq_wr = SIZE, .max_srq_sge = 32,
	.max_pkeys = PKEYS,
	.phys_port_cnt = PORTS,
};

static const struct ibv_device_attr_ex ex_attr = {
	.odp_caps = { .general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT, .per_transport_caps = { 31, 3, 3 } },
	.completion_timestamp_mask = UINT64_MAX,
	.hca_core_clock = 156250,
	.device_cap_flags_ex = ~0u >> 2,
	.tso_caps = { .max_tso = 1 << 18, .supported_qpts = 1 << IBV_QPT_RAW_PACKET },
	.rss_caps = { .supported_qpts = 1 << IBV_QPT_RAW_PACKET, .max_rwq_indirection_tables = 64,
		      .max_rwq_indirection_table_size = 1024, .rx_hash_fields_mask = 0xff,
		      .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ },
	.max_wq_type_rq = SIZE,
	.packet_pacing_caps = { .qp_rate_limit_min = 1, .qp_rate_limit_max = 1000000, .supported_qpts = 1 << IBV_QPT_RAW_PACKET },
	.raw_packet_caps = 0xf,
	.tm_caps = { .max_rndv_hdr_size = 64, .max_num_tags = 127, .flags = IBV_TM_CAP_RC, .max_ops = 256, .max_sge = 1 },
	.cq_mod_caps = { .max_cq_count = UINT16_MAX, .max_cq_period = UINT16_MAX },
	.max_dm_size = 1 << 17,
	.pci_atomic_caps = { .fetch_add = 7, .swap = 7, .compare_swap = 7 },
	.xrc_odp_caps = 63,
};

static const struct ibv_port_attr port = {
	.state = IBV_PORT_ACTIVE,
	.max_mtu = IBV_MTU_4096,
	.active_mtu = IBV_MTU_4096,
	.gid_tbl_len = GIDS,
	.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
	.max_msg_sz = 1 << 30,
	.pkey_tbl_len = PKEYS,
	.lid = 1,
	.active_width = 2,
	.active_speed = 32,
	.phys_state = 5,
	.link_layer = IBV_LINK_LAYER_ETHERNET,
};

static unsigned ports(void)
{
	return IS_PLAIN ? PLAIN_PORTS : PORTS;
}

static struct ibv_device_attr device_attr(void)
{
	struct ibv_device_attr attr = recorder_attr;

	if (IS_PLAIN) {
		attr.phys_port_cnt = PLAIN_PORTS;
		attr.max_sge = attr.max_srq_sge = MOST_SGES;
		attr.max_qp = MOST_QPS;
		attr.max_mr = MOST_MRS;
		attr.max_cqe = MOST_CQES;
		attr.max_mcast_grp = MOST_GROUPS;
	}
	return attr;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	CALL(ERRNO, OBJECT(CONTEXT, context));
	*attr = device_attr();
	return answered(attr, sizeof *attr);
}

int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		    struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex whole = ex_attr;

	CALL(ERRNO, OBJECT(CONTEXT, context), STRUCT(ibv_query_device_ex_input, input), NUMBER(attr_size));
	whole.orig_attr = device_attr();
	AT(uint32_t, &whole, ibv_device_attr_ex, phys_port_cnt_ex) = ports();
	answer("ibv_query_device", &whole.orig_attr, sizeof whole.orig_attr);
	answer("ibv_query_device_ex", &whole, sizeof whole);
	memcpy(attr, &whole, attr_size < sizeof whole ? attr_size : sizeof whole);
	return done(0);
}

int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t attr_size)
{
	union {
		struct ibv_port_attr attr;
		char room[SIZE_ibv_port_attr];
	} whole = { port };

	CALL_AS("___ibv_query_port", ERRNO, OBJECT(CONTEXT, context), NUMBER(port_num), NUMBER(attr_size));
	answer("ibv_query_port", &whole, sizeof whole);
	memcpy(attr, &whole, attr_size < sizeof whole ? attr_size : sizeof whole);
	return done(0);
}

// The symbol fills what the struct held in the first release.
int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr)
{
	CALL(ERRNO, OBJECT(CONTEXT, context), NUMBER(port_num));
	memcpy(attr, &port, offsetof(struct ibv_port_attr, port_cap_flags2));
	answer("ibv_query_port", attr, offsetof(struct ibv_port_attr, port_cap_flags2));
	return done(0);
}

int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed)
{
	CALL(ERRNO, OBJECT(CONTEXT, context), NUMBER(port_num));
	*port_speed = 1000;
	return answered(port_speed, sizeof *port_speed);
}

// The recorder's first address is link-local, the second one IPv4. The plain device has a global IPv6 address as well.
static unsigned addresses(void)
{
	return IS_PLAIN ? 3 : 2;
}

bool fill_gid(union ibv_gid *gid, unsigned host, unsigned port, unsigned index)
{
	static const char *const starts[] = {
		"\xfe\x80\0\0\0\0\0\0\0\0\0\xff\xfe\0", "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0",
		"\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0",
	};

	memset(gid, 0, sizeof *gid);
	if (index >= addresses())
		return false;
	memcpy(gid->raw, starts[index], 14);
	gid->raw[14] = port - 1;
	gid->raw[15] = host;
	return port >= 1 && port <= ports();
}

// The recorder has the addresses of its first port at any port.
static void own_gid(union ibv_gid *gid, unsigned port, unsigned index)
{
	fill_gid(gid, own_host, IS_PLAIN ? port : 1, index);
}

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	CALL(MINUS_ONE, OBJECT(CONTEXT, context), NUMBER(port_num), NUMBER(index));
	if (index < 0 || index >= GIDS)
		return fails_with(EINVAL);
	own_gid(gid, port_num, index);
	return answered(gid, sizeof *gid);
}

static void fill_entry(struct ibv_gid_entry *entry, unsigned port_num, unsigned index)
{
	own_gid(&entry->gid, port_num, index);
	entry->gid_index = index;
	entry->port_num = port_num;
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	entry->ndev_ifindex = 2;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index, struct ibv_gid_entry *entry,
		      uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry whole;

	CALL(ERRNO, OBJECT(CONTEXT, context), NUMBER(port_num), NUMBER(gid_index), NUMBER(flags), NUMBER(entry_size));
	if (gid_index >= addresses())
		return fails_with(gid_index < GIDS ? ENODATA : EINVAL);
	fill_entry(&whole, port_num, gid_index);
	answer("_ibv_query_gid_ex", &whole, sizeof whole);
	memcpy(entry, &whole, entry_size < sizeof whole ? entry_size : sizeof whole);
	return done(0);
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries, uint32_t flags,
			     size_t entry_size)
{
	begin("_ibv_query_gid_table", RETURNS_ERRNO);
	OBJECT(CONTEXT, context);
	NUMBER(max_entries);
	NUMBER(flags);
	NUMBER(entry_size);
	if (failing())
		return -failed();
	if (max_entries < ports() * addresses() || entry_size != sizeof *entries)
		return -fails_with(EINVAL);
	for (unsigned i = 0; i < ports() * addresses(); i++)
		fill_entry(&entries[i], 1 + i / addresses(), i % addresses());
	answer("_ibv_query_gid_table", entries, max_entries * sizeof *entries);
	return done(ports() * addresses());
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	CALL(MINUS_ONE, OBJECT(CONTEXT, context), NUMBER(port_num), NUMBER(index));
	*pkey = 0xffff;
	return answered(pkey, sizeof *pkey);
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	int index = 0;

	CALL(MINUS_ONE, OBJECT(CONTEXT, context), NUMBER(port_num), NUMBER(pkey));
	answer("ibv_get_pkey_index", &index, sizeof index);
	return done(index);
}

int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	CALL_AS("ibv_query_rt_values_ex", ERRNO, OBJECT(CONTEXT, context), STRUCT(ibv_values_ex, values));
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	values->raw_clock = (struct timespec){ .tv_sec = 12, .tv_nsec = 345 };
	return answered(values, sizeof *values);
}

static bool forks;

int ibv_fork_init(void)
{
	CALL(ERRNO);
	forks = true;
	return done(0);
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	uint32_t status = forks ? IBV_FORK_ENABLED : IBV_FORK_DISABLED;

	begin("ibv_is_fork_initialized", RETURNS_NOTHING);
	answer("ibv_is_fork_initialized", &status, sizeof status);
	done(0);
	return status;
}

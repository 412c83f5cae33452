// SPDX-License-Identifier: Dual MIT/GPL
// Indirection tables, the hash configuration of RSS QPs, and the hash: Toeplitz over those of the
// chosen fields that a frame has.
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include "stub.h"

static char *wq_list(const struct ib_rwq_ind_table_init_attr *attr)
{
	size_t count = 1UL << attr->log_ind_tbl_size;
	size_t size = count * sizeof("4294967295") + 1;
	char *text = kmalloc(size, GFP_KERNEL);
	size_t used = 0;
	size_t i;

	if (!text)
		return NULL;
	for (i = 0; i < count; i++)
		used += scnprintf(text + used, size - used, "%s%u", i ? "," : "",
				  attr->ind_tbl[i]->wq_num);
	return text;
}

static bool aligned_and_consecutive(const struct ib_rwq_ind_table_init_attr *attr)
{
	u32 base = attr->ind_tbl[0]->wq_num;
	u32 i;

	for (i = 0; i < 1U << attr->log_ind_tbl_size; i++)
		if (attr->ind_tbl[i]->wq_num != base + i)
			return false;
	return base % (1U << attr->log_ind_tbl_size) == 0;
}

static int table_open(struct ib_rwq_ind_table *table, struct ib_rwq_ind_table_init_attr *attr)
{
	if (1U << attr->log_ind_tbl_size > STUB_MAX_TABLE_SIZE)
		return -EINVAL;
	if (stub_mlx4_rules && !aligned_and_consecutive(attr))
		return -EINVAL;
	if (atomic_read(&stub_hca->alive[STUB_TABLE]) >= STUB_MAX_TABLES)
		return -ENOMEM;
	return stub_ident_new(STUB_TABLE, &table->ind_tbl_num);
}

int stub_create_table(struct ib_rwq_ind_table *table, struct ib_rwq_ind_table_init_attr *attr,
		      struct ib_udata *udata)
{
	int err = stub_fail("create_rwq_ind_table") ?: table_open(table, attr);
	char *wqs = wq_list(attr);

	stub_record("create_rwq_ind_table", err,
		    "'ctx':%u,'log_ind_tbl_size':%u,'wqs':[%s],'table':%u",
		    stub_context_number(udata), attr->log_ind_tbl_size, wqs ?: "",
		    table->ind_tbl_num);
	kfree(wqs);
	return err;
}

int stub_destroy_table(struct ib_rwq_ind_table *table)
{
	int err = stub_fail_on("destroy_rwq_ind_table", "table", table->ind_tbl_num);

	if (err)
		return err;
	stub_ident_free(STUB_TABLE, table->ind_tbl_num);
	return 0;
}

static bool in_pairs(u64 fields)
{
	const u64 sources = MLX4_IB_RX_HASH_SRC_IPV4 | MLX4_IB_RX_HASH_SRC_IPV6 |
			    MLX4_IB_RX_HASH_SRC_PORT_TCP | MLX4_IB_RX_HASH_SRC_PORT_UDP;

	/* the bit of each destination is the one above that of its source */
	return ((fields & sources) << 1) == (fields & (sources << 1));
}

static int rss_check(const struct stub_rss *rss, const struct ib_qp_init_attr *attr,
		     const struct mlx4_ib_create_qp_rss *request)
{
	if (attr->qp_type != IB_QPT_RAW_PACKET || attr->create_flags || attr->send_cq ||
	    attr->cap.max_send_wr)
		return -EOPNOTSUPP;
	if (request->comp_mask || request->reserved1)
		return -EOPNOTSUPP;
	if (rss->function != MLX4_IB_RX_HASH_FUNC_TOEPLITZ || rss->fields & ~STUB_HASH_FIELDS)
		return -EOPNOTSUPP;
	if (stub_mlx4_rules && !in_pairs(rss->fields))
		return -EOPNOTSUPP;
	return 0;
}

int stub_rss_init(struct stub_rss *rss, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct mlx4_ib_create_qp_rss request = {};
	int err = ib_copy_from_udata(&request, udata, min(sizeof(request), udata->inlen));

	if (err)
		return err;
	rss->table = attr->rwq_ind_tbl;
	rss->fields = request.rx_hash_fields_mask;
	rss->function = request.rx_hash_function;
	BUILD_BUG_ON(sizeof(rss->key) != sizeof(request.rx_hash_key));
	memcpy(rss->key, request.rx_hash_key, sizeof(rss->key));
	return rss_check(rss, attr, &request);
}

/* The hash's input: at most two IPv6 addresses and two ports. */
struct input {
	u8 bytes[2 * sizeof(struct in6_addr) + 2 * sizeof(__be16)];
	size_t size;
	u64 wanted;
	u64 used;
};

static void add(struct input *input, u64 field, const u8 *bytes, size_t size)
{
	if (!(input->wanted & field))
		return;
	memcpy(input->bytes + input->size, bytes, size);
	input->size += size;
	input->used |= field;
}

/* Each set bit of the input adds 32 bits of the key, from the same position on. */
static u32 toeplitz(const u8 *key, const struct input *input)
{
	u32 window = get_unaligned_be32(key);
	u32 hash = 0;
	size_t bit;

	BUILD_BUG_ON(sizeof(input->bytes) + sizeof(window) > STUB_HASH_KEY_SIZE);
	for (bit = 0; bit < input->size * 8; bit++) {
		size_t next = bit + 32;

		if (input->bytes[bit / 8] & (0x80 >> (bit % 8)))
			hash ^= window;
		window = window << 1 | ((key[next / 8] >> (7 - next % 8)) & 1);
	}
	return hash;
}

static void add_ports(struct input *input, u8 protocol, const u8 *segment, size_t length)
{
	if (length < 2 * sizeof(__be16))
		return;
	if (protocol == IPPROTO_TCP) {
		add(input, MLX4_IB_RX_HASH_SRC_PORT_TCP, segment, sizeof(__be16));
		add(input, MLX4_IB_RX_HASH_DST_PORT_TCP, segment + 2, sizeof(__be16));
	} else if (protocol == IPPROTO_UDP) {
		add(input, MLX4_IB_RX_HASH_SRC_PORT_UDP, segment, sizeof(__be16));
		add(input, MLX4_IB_RX_HASH_DST_PORT_UDP, segment + 2, sizeof(__be16));
	}
}

/* Only the first fragment has ports. No fragment's are used, so that a flow stays together. */
static void add_ipv4(struct input *input, const u8 *packet, size_t length)
{
	const struct iphdr *ip = (const struct iphdr *)packet;
	size_t header;

	if (length < sizeof(*ip))
		return;
	add(input, MLX4_IB_RX_HASH_SRC_IPV4, (const u8 *)&ip->saddr, sizeof(ip->saddr));
	add(input, MLX4_IB_RX_HASH_DST_IPV4, (const u8 *)&ip->daddr, sizeof(ip->daddr));
	header = ip->ihl * 4;
	if (header <= length && !(get_unaligned_be16(&ip->frag_off) & 0x3fff))
		add_ports(input, ip->protocol, packet + header, length - header);
}

/* Ports behind extension headers are ignored. */
static void add_ipv6(struct input *input, const u8 *packet, size_t length)
{
	const struct ipv6hdr *ip = (const struct ipv6hdr *)packet;

	if (length < sizeof(*ip))
		return;
	add(input, MLX4_IB_RX_HASH_SRC_IPV6, ip->saddr.s6_addr, sizeof(ip->saddr));
	add(input, MLX4_IB_RX_HASH_DST_IPV6, ip->daddr.s6_addr, sizeof(ip->daddr));
	add_ports(input, ip->nexthdr, packet + sizeof(*ip), length - sizeof(*ip));
}

/* A frame without any of the chosen fields hashes to 0 and goes to the table's first queue. */
u32 stub_hash(const struct stub_rss *rss, const u8 *frame, size_t length, u64 *used)
{
	struct input input = { .wanted = rss->fields };
	size_t header = ETH_HLEN;
	u16 type = 0;

	while (length >= header) {
		type = get_unaligned_be16(frame + header - sizeof(type));
		if (type != ETH_P_8021Q && type != ETH_P_8021AD)
			break;
		header += VLAN_HLEN;
	}
	if (length >= header && type == ETH_P_IP)
		add_ipv4(&input, frame + header, length - header);
	if (length >= header && type == ETH_P_IPV6)
		add_ipv6(&input, frame + header, length - header);
	*used = input.used;
	return input.size ? toeplitz(rss->key, &input) : 0;
}

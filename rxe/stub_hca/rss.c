// SPDX-License-Identifier: Dual MIT/GPL
// Indirection tables, and the hash configuration of RSS QPs.
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
	struct stub_device *stub = stub_of(table->device);
	int number;

	if (1U << attr->log_ind_tbl_size > STUB_MAX_TABLE_SIZE)
		return -EINVAL;
	if (stub_mlx4_rules && !aligned_and_consecutive(attr))
		return -EINVAL;
	if (atomic_read(&stub->alive[STUB_TABLE]) >= STUB_MAX_TABLES)
		return -ENOMEM;
	number = ida_alloc_min(&stub->idents, 1, GFP_KERNEL);
	if (number < 0)
		return number;
	table->ind_tbl_num = number;
	stub_count(table->device, STUB_TABLE, 1);
	return 0;
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
	int err = stub_fail("destroy_rwq_ind_table");

	stub_record("destroy_rwq_ind_table", err, "'table':%u", table->ind_tbl_num);
	if (err)
		return err;
	ida_free(&stub_of(table->device)->idents, table->ind_tbl_num);
	stub_count(table->device, STUB_TABLE, -1);
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

// SPDX-License-Identifier: Dual MIT/GPL
// Attributes of the device, and counts of existing objects.
#include "stub.h"

#define CLOCK_KHZ 427000
#define FIRMWARE ((2ULL << 32) | (42 << 16) | 5000)

const char *const stub_kind_names[STUB_KINDS] = {
	[STUB_CONTEXT] = "contexts", [STUB_PD] = "pds",   [STUB_AH] = "ahs",
	[STUB_MR] = "mrs",
	[STUB_MW] = "mws",           [STUB_CQ] = "cqs",   [STUB_SRQ] = "srqs",
	[STUB_XRCD] = "xrcds", [STUB_QP] = "qps",           [STUB_WQ] = "wqs",   [STUB_TABLE] = "tables",
	[STUB_FLOW] = "flows",       [STUB_MCAST] = "mcasts",
	[STUB_PINNED_PAGE] = "pinned_pages",
};

void stub_count(enum stub_kind kind, int by)
{
	atomic_add(by, &stub_hca->alive[kind]);
}

void stub_numbers_init(struct stub_numbers *numbers)
{
	xa_init_flags(&numbers->objects, XA_FLAGS_ALLOC);
	numbers->cursor = 0;
}

/* The first number is a multiple of "align". */
int stub_number_new(struct stub_numbers *numbers, u32 align, struct xa_limit limit, void *object,
		    u32 *number)
{
	int err;

	mutex_lock(&stub_hca->lock);
	numbers->cursor = ALIGN(numbers->cursor, align);
	err = xa_alloc_cyclic(&numbers->objects, number, object, limit, &numbers->cursor, GFP_KERNEL);
	mutex_unlock(&stub_hca->lock);
	/* 1 means that the cursor wrapped around */
	return err < 0 ? err : 0;
}

void stub_number_free(struct stub_numbers *numbers, u32 number)
{
	mutex_lock(&stub_hca->lock);
	xa_erase(&numbers->objects, number);
	mutex_unlock(&stub_hca->lock);
}

/* Gives the number to user space too, as the first word of the reply for a CQ or an SRQ. */
int stub_number_told(struct stub_numbers *numbers, u32 max, void *object, u32 *number,
		     struct ib_udata *udata)
{
	struct mlx4_ib_create_cq_resp reply = {};
	int err = stub_number_new(numbers, 1, XA_LIMIT(1, max), object, number);

	BUILD_BUG_ON(sizeof(reply) != sizeof(struct mlx4_ib_create_srq_resp));
	if (err)
		return err;
	reply.cqn = *number;
	err = ib_copy_to_udata(udata, &reply, min(sizeof(reply), udata->outlen));
	if (err)
		stub_number_free(numbers, *number);
	return err;
}

int stub_ident_new(enum stub_kind kind, u32 *ident)
{
	int number = ida_alloc_min(&stub_hca->idents, 1, GFP_KERNEL);

	if (number < 0)
		return number;
	*ident = number;
	stub_count(kind, 1);
	return 0;
}

void stub_ident_free(enum stub_kind kind, u32 ident)
{
	ida_free(&stub_hca->idents, ident);
	stub_count(kind, -1);
}

static void device_limits(struct ib_device_attr *attr)
{
	attr->max_mr_size = ~0ULL;
	attr->page_size_cap = 0xfffffe00;
	attr->max_qp = STUB_MAX_QUEUES;
	attr->max_qp_wr = STUB_MAX_WR;
	attr->max_send_sge = STUB_MAX_SGE;
	attr->max_recv_sge = STUB_MAX_SGE;
	attr->max_sge_rd = STUB_MAX_SGE;
	attr->max_cq = 65408;
	attr->max_cqe = STUB_MAX_CQE;
	attr->max_mr = 524032;
	attr->max_mw = 524032;
	attr->max_pd = 32764;
	attr->max_qp_rd_atom = 16;
	attr->max_qp_init_rd_atom = 128;
	attr->max_res_rd_atom = attr->max_qp_rd_atom * attr->max_qp;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_srq = 65472;
	attr->max_srq_wr = STUB_MAX_WR;
	attr->max_srq_sge = STUB_MAX_SGE - 1;
	attr->max_pkeys = STUB_PKEYS;
	attr->local_ca_ack_delay = 15;
	attr->max_raw_ethy_qp = 1;
	attr->max_mcast_grp = 8192;
	attr->max_mcast_qp_attach = 248;
	attr->max_total_mcast_qp_attach = 8192 * 248;
	attr->max_ah = INT_MAX;
	attr->cq_caps.max_cq_moderation_count = MLX4_MAX_CQ_COUNT;
	attr->cq_caps.max_cq_moderation_period = MLX4_MAX_CQ_PERIOD;
}

static void device_rss(struct ib_device_attr *attr)
{
	attr->max_wq_type_rq = STUB_MAX_QUEUES;
	attr->rss_caps.max_rwq_indirection_tables = STUB_MAX_TABLES;
	attr->rss_caps.max_rwq_indirection_table_size = STUB_MAX_TABLE_SIZE;
	attr->rss_caps.supported_qpts = BIT(IB_QPT_RAW_PACKET);
}

/* Claims without function. All values differ, so that tests notice a field read elsewhere. */
static void device_claims(struct ib_device_attr *attr)
{
	attr->odp_caps.general_caps = 3;
	attr->odp_caps.per_transport_caps.rc_odp_caps = 0x1f;
	attr->odp_caps.per_transport_caps.uc_odp_caps = 0x05;
	attr->odp_caps.per_transport_caps.ud_odp_caps = 0x03;
	attr->odp_caps.per_transport_caps.xrc_odp_caps = 0x2b;
	attr->tm_caps.max_rndv_hdr_size = 64;
	attr->tm_caps.max_num_tags = 127;
	attr->tm_caps.flags = 1;
	attr->tm_caps.max_ops = 8191;
	attr->tm_caps.max_sge = 30;
	attr->max_dm_size = 0x1234000;
}

/* The core passes on the RSS limits. The hash function and fields are in mlx4's own reply. */
static int device_reply(struct ib_udata *udata)
{
	struct mlx4_uverbs_ex_query_device_resp reply = {
		.response_length = sizeof(reply),
		.comp_mask = MLX4_IB_QUERY_DEV_RESP_MASK_CORE_CLOCK_OFFSET,
		.hca_core_clock_offset = STUB_CLOCK_OFFSET,
		.tso_caps.max_tso = 0x20000,
		.tso_caps.supported_qpts = BIT(IB_QPT_RAW_PACKET),
		.rss_caps.rx_hash_function = MLX4_IB_RX_HASH_FUNC_TOEPLITZ,
		.rss_caps.rx_hash_fields_mask = STUB_HASH_FIELDS,
	};

	if (!udata || !udata->outlen)
		return 0;
	return ib_copy_to_udata(udata, &reply, min(sizeof(reply), udata->outlen));
}

int stub_query_device(struct ib_device *device, struct ib_device_attr *attr,
		      struct ib_udata *udata)
{
	int err = stub_fail("query_device");

	if (err)
		return err;
	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = FIRMWARE;
	attr->sys_image_guid = device->node_guid;
	attr->vendor_id = 0x15b3;
	attr->vendor_part_id = 4103;
	attr->device_cap_flags = IB_DEVICE_CHANGE_PHY_PORT | IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_MEM_WINDOW | IB_DEVICE_RAW_SCATTER_FCS |
				 IB_DEVICE_XRC | IB_DEVICE_AUTO_PATH_MIG |
				 IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 IB_DEVICE_MANAGED_FLOW_STEERING;
	attr->raw_packet_caps = IB_RAW_PACKET_CAP_SCATTER_FCS;
	attr->timestamp_mask = GENMASK_ULL(47, 0);
	attr->hca_core_clock = CLOCK_KHZ;
	device_limits(attr);
	device_claims(attr);
	device_rss(attr);
	return device_reply(udata);
}

void stub_fw_str(struct ib_device *device, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u.%u", (u32)(FIRMWARE >> 32),
		 (u32)(FIRMWARE >> 16) & 0xffff, (u32)FIRMWARE & 0xffff);
}

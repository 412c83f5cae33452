// SPDX-License-Identifier: Dual MIT/GPL
// Elastic Fabric Adapters: their attributes, protection domains and address handles.
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "efa.h"

#define VENDOR_AMAZON 0x1d0f
#define PART 0xefa2
#define LAST_PEER 0xfffe
#define DEFAULT_PKEY 0xffff

struct efa_device *efa_devices[EFA_DEVICES];
bool efa_reversed;

static int query_device(struct ib_device *device, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	struct efa_ibv_ex_query_device_resp reply = {
		.max_sq_wr = EFA_MAX_WR,
		.max_rq_wr = EFA_MAX_WR,
		.max_sq_sge = EFA_PIECES,
		.max_rq_sge = EFA_PIECES,
		.max_rdma_size = EFA_MAX_RDMA,
		.device_caps = EFA_QUERY_DEVICE_CAPS_RDMA_READ | EFA_QUERY_DEVICE_CAPS_RNR_RETRY |
			       EFA_QUERY_DEVICE_CAPS_CQ_NOTIFICATIONS |
			       EFA_QUERY_DEVICE_CAPS_CQ_WITH_SGID | EFA_CAP_RDMA_WRITE,
	};
	int err = stub_fail("query_device");

	if (err)
		return err;
	memset(attr, 0, sizeof(*attr));
	attr->vendor_id = VENDOR_AMAZON;
	attr->vendor_part_id = PART;
	attr->sys_image_guid = device->node_guid;
	attr->max_mr_size = EFA_MAX_RDMA;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = EFA_MAX_QPS;
	attr->max_qp_wr = EFA_MAX_WR;
	attr->max_send_sge = EFA_PIECES;
	attr->max_recv_sge = EFA_PIECES;
	attr->max_sge_rd = 1;
	attr->max_cq = EFA_MAX_QPS;
	attr->max_cqe = EFA_MAX_CQE;
	attr->max_mr = 65534;
	attr->max_pd = EFA_MAX_QPS;
	attr->max_ah = LAST_PEER;
	attr->max_pkeys = 1;
	if (!udata || !udata->outlen)
		return 0;
	return ib_copy_to_udata(udata, &reply, min(sizeof(reply), udata->outlen));
}

static int query_port(struct ib_device *device, u32 port, struct ib_port_attr *attr)
{
	int err = stub_fail("query_port");

	if (err)
		return err;
	attr->lmc = 1;
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->active_speed = IB_SPEED_EDR;
	attr->active_width = IB_WIDTH_4X;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->max_msg_sz = EFA_MTU;
	attr->max_vl_num = 1;
	return 0;
}

static int query_gid(struct ib_device *device, u32 port, int index, union ib_gid *gid)
{
	*gid = to_efa(device, device)->gid;
	return 0;
}

static int query_pkey(struct ib_device *device, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = DEFAULT_PKEY;
	return 0;
}

static enum rdma_link_layer link_layer(struct ib_device *device, u32 port)
{
	return IB_LINK_LAYER_UNSPECIFIED;
}

static int port_immutable(struct ib_device *device, u32 port, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	return 0;
}

static int alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct stub_context *context = to_stub(ib, context);
	const struct efa_ibv_alloc_ucontext_resp reply = {
		.cmds_supp_udata_mask = EFA_USER_CMDS_SUPP_UDATA_QUERY_DEVICE |
					EFA_USER_CMDS_SUPP_UDATA_CREATE_AH,
		.sub_cqs_per_cq = 1,
		.inline_buf_size = EFA_INLINE_SIZE,
		.max_llq_size = EFA_MAX_WR * sizeof(struct efa_send),
	};
	int err = stub_fail("alloc_ucontext") ?: stub_ident_new(STUB_CONTEXT, &context->number);

	if (!err) {
		err = ib_copy_to_udata(udata, (void *)&reply, min(sizeof(reply), udata->outlen));
		if (err)
			stub_ident_free(STUB_CONTEXT, context->number);
	}
	if (!err)
		atomic_inc(&to_efa(ib->device, device)->contexts);
	stub_record("alloc_ucontext", err, "'ctx':%u", context->number);
	return err;
}

static void dealloc_ucontext(struct ib_ucontext *ib)
{
	stub_dealloc_ucontext(ib);
	atomic_dec(&to_efa(ib->device, device)->contexts);
}

static int alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct stub_pd *pd = to_stub(ib, pd);
	struct efa_ibv_alloc_pd_resp reply = {};
	int err = stub_fail("alloc_pd") ?: stub_ident_new(STUB_PD, &pd->number);

	if (!err && udata) {
		reply.pdn = pd->number;
		err = ib_copy_to_udata(udata, &reply, min(sizeof(reply), udata->outlen));
		if (err)
			stub_ident_free(STUB_PD, pd->number);
	}
	stub_record("alloc_pd", err, "'ctx':%u,'pd':%u", stub_context_number(udata), pd->number);
	return err;
}

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				 STUB_DMAH struct ib_udata *udata)
{
	const int known = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_OPTIONAL;

	if (access & ~known)
		return ERR_PTR(-EOPNOTSUPP);
	return stub_reg_user_mr(pd, start, length, iova, access, STUB_DMAH_PASSED udata);
}

/* Under the lock. */
static int peer_get(struct ib_pd *pd, const union ib_gid *gid, struct efa_peer **found)
{
	struct efa_peer *peer = efa_peer_of(pd, gid);
	struct stub_numbers *peers = &to_efa(pd->device, device)->peers;
	int err;

	if (!peer) {
		peer = kzalloc(sizeof(*peer), GFP_KERNEL);
		if (!peer)
			return -ENOMEM;
		peer->pd = pd;
		peer->gid = *gid;
		err = xa_alloc_cyclic(&peers->objects, &peer->number, peer,
				      XA_LIMIT(0, LAST_PEER), &peers->cursor, GFP_KERNEL);
		if (err < 0) {
			kfree(peer);
			return err;
		}
	}
	peer->handles++;
	*found = peer;
	return 0;
}

static void peer_put(struct efa_ah *ah)
{
	struct efa_peer *peer = ah->peer;

	mutex_lock(&stub_hca->lock);
	if (--peer->handles == 0) {
		xa_erase(&to_efa(ah->ib.device, device)->peers.objects, peer->number);
		kfree(peer);
	}
	mutex_unlock(&stub_hca->lock);
}

static int ah_open(struct efa_ah *ah, const struct rdma_ah_attr *attr, struct ib_udata *udata)
{
	struct efa_ibv_create_ah_resp reply = {};
	int err;

	if (!udata || !(attr->ah_flags & IB_AH_GRH))
		return -EINVAL;
	mutex_lock(&stub_hca->lock);
	err = peer_get(ah->ib.pd, &attr->grh.dgid, &ah->peer);
	mutex_unlock(&stub_hca->lock);
	if (err)
		return err;
	reply.efa_address_handle = ah->peer->number;
	err = ib_copy_to_udata(udata, &reply, min(sizeof(reply), udata->outlen));
	if (err)
		peer_put(ah);
	else
		stub_count(STUB_AH, 1);
	return err;
}

static int create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	struct efa_ah *ah = to_efa(ib, ah);
	int err = ah_open(ah, attr->ah_attr, udata);

	stub_record("create_ah", err, "'pd':%u,'dgid':'%pI6','ah':%u",
		    to_stub(ib->pd, pd)->number, &attr->ah_attr->grh.dgid,
		    err ? EFA_UNKNOWN : ah->peer->number);
	return err;
}

static int destroy_ah(struct ib_ah *ib, u32 flags)
{
	struct efa_ah *ah = to_efa(ib, ah);

	stub_record("destroy_ah", 0, "'ah':%u", ah->peer->number);
	peer_put(ah);
	stub_count(STUB_AH, -1);
	return 0;
}

static const struct ib_device_ops operations = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_EFA,
	.uverbs_abi_ver = EFA_UVERBS_ABI_VERSION,

	.query_device = query_device,
	.query_port = query_port,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.get_link_layer = link_layer,
	.get_port_immutable = port_immutable,

	.alloc_ucontext = alloc_ucontext,
	.dealloc_ucontext = dealloc_ucontext,
	.mmap = efa_mmap,
	.alloc_pd = alloc_pd,
	.dealloc_pd = stub_dealloc_pd,
	.reg_user_mr = reg_user_mr,
	.dereg_mr = stub_dereg_mr,
	.create_user_ah = create_ah,
	.destroy_ah = destroy_ah,

#ifdef STUB_USER_CQ
	.create_user_cq = efa_create_cq,
#else
	.create_cq = efa_create_cq,
#endif
	.destroy_cq = efa_destroy_cq,
	.create_qp = efa_create_qp,
	.modify_qp = efa_modify_qp,
	.query_qp = efa_query_qp,
	.destroy_qp = efa_destroy_qp,

	INIT_RDMA_OBJ_SIZE(ib_ucontext, stub_context, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, stub_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_ah, efa_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, efa_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, efa_qp, ib),
};

static int start(u32 index)
{
	struct efa_device *device = ib_alloc_device(efa_device, ib);
	int err;

	if (!device)
		return -ENOMEM;
	device->gid.global.subnet_prefix = cpu_to_be64(0xfe80000000000000ULL);
	device->gid.global.interface_id = cpu_to_be64(0x0000eefffe000001ULL + index);
	stub_numbers_init(&device->qps);
	stub_numbers_init(&device->peers);
	device->ib.phys_port_cnt = 1;
	device->ib.num_comp_vectors = 1;
	device->ib.node_type = RDMA_NODE_UNSPECIFIED;
	device->ib.node_guid = cpu_to_be64(0x0200000000000010ULL + index);
	ib_set_device_ops(&device->ib, &operations);
	err = ib_register_device(&device->ib, "efa_%d", NULL);
	if (err)
		ib_dealloc_device(&device->ib);
	else
		efa_devices[index] = device;
	return err;
}

void efa_stop(void)
{
	struct efa_device *device;
	u32 i;

	for (i = 0; i < EFA_DEVICES; i++) {
		device = efa_devices[i];
		if (!device)
			continue;
		ib_unregister_device(&device->ib);
		mutex_lock(&stub_hca->lock);
		efa_devices[i] = NULL;
		mutex_unlock(&stub_hca->lock);
		ib_dealloc_device(&device->ib);
	}
	efa_reversed = false;
}

/* To unregister a device waits until nobody has it open. */
static bool open_by_somebody(void)
{
	int i;

	for (i = 0; i < EFA_DEVICES; i++)
		if (efa_devices[i] && atomic_read(&efa_devices[i]->contexts))
			return true;
	return false;
}

static int start_all(void)
{
	int err = 0;
	u32 i;

	for (i = 0; i < EFA_DEVICES && !err; i++)
		if (!efa_devices[i])
			err = start(i);
	return err;
}

int efa_show(struct seq_file *out)
{
	seq_printf(out, "%s\n%s\n", efa_devices[0] ? "on" : "off",
		   efa_reversed ? "reversed" : "ordered");
	return 0;
}

int efa_line(char *line)
{
	if (!strcmp(line, "on"))
		return start_all();
	if (!strcmp(line, "off")) {
		if (open_by_somebody())
			return -EBUSY;
		efa_stop();
		return 0;
	}
	if (strcmp(line, "reversed") && strcmp(line, "ordered"))
		return -EINVAL;
	efa_reversed = !strcmp(line, "reversed");
	return 0;
}

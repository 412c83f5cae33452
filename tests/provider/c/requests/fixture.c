// The objects that requests are made on.
#include "requests.h"

struct ibv_context *context;
struct ibv_pd *pd;
struct ibv_mr *mr;
struct ibv_cq *cq;
unsigned char memory[MEMORY] __attribute__((aligned(MEMORY)));
static unsigned char region[MEMORY] __attribute__((aligned(MEMORY)));

void make_objects(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (unsigned i = 0; i < MEMORY; i++)
		memory[i] = region[i] = i;
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(context);
	mr = ibv_reg_mr(pd, region, MEMORY,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	cq = ibv_create_cq(context, 16, NULL, NULL, 0);
}

struct ibv_sge sge(unsigned offset, unsigned length)
{
	return (struct ibv_sge){ .addr = (uintptr_t)mr->addr + offset, .length = length, .lkey = mr->lkey };
}

// The header makes this an ibv_create_qp.
struct ibv_qp *qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};

	return ibv_create_qp_ex(context, &init);
}

const struct ibv_mw_bind_info *bind_info(void)
{
	// Static, so that its padding is zero.
	static struct ibv_mw_bind_info info = { .length = 256, .mw_access_flags = IBV_ACCESS_REMOTE_READ };

	info.mr = ibv_reg_mr(pd, memory, MEMORY, IBV_ACCESS_MW_BIND);
	info.addr = (uintptr_t)memory + 128;
	return &info;
}

struct ibv_xrcd *xrcd(void)
{
	static struct ibv_xrcd *xrcd;
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	if (!xrcd)
		xrcd = ibv_open_xrcd(context, &attr);
	return xrcd;
}

struct ibv_wq *wq(void)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 4,
		.max_sge = 1,
		.pd = pd,
		.cq = cq,
		.comp_mask = IBV_WQ_INIT_ATTR_FLAGS,
		.create_flags = IBV_WQ_FLAGS_SCATTER_FCS,
	};

	return ibv_create_wq(context, &attr);
}

struct ibv_rwq_ind_table *table(void)
{
	struct ibv_wq *queues[] = { wq() };
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = queues };

	return ibv_create_rwq_ind_table(context, &attr);
}

struct ibv_srq *srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return ibv_create_srq(pd, &init);
}

union ibv_gid gid(const char *text)
{
	union ibv_gid gid;

	if (inet_pton(AF_INET6, text, gid.raw) != 1)
		abort();
	return gid;
}

struct ibv_ah_attr path(void)
{
	return (struct ibv_ah_attr){
		.grh = { .dgid = gid("ff0e::1"), .flow_label = 0x12345, .sgid_index = 1, .hop_limit = 64, .traffic_class = 8 },
		.dlid = 0x1234,
		.sl = 3,
		.src_path_bits = 5,
		.static_rate = IBV_RATE_10_GBPS,
		.is_global = 1,
		.port_num = 1,
	};
}

struct ibv_ah *ah(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

	attr.grh.dgid = gid("::ffff:10.0.0.2");
	attr.grh.sgid_index = 1;
	attr.grh.hop_limit = 64;
	return ibv_create_ah(pd, &attr);
}

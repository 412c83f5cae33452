// Creating queue pairs, and what is set on them by calls of their own.
#include "requests.h"

static struct ibv_qp_init_attr_ex attr_ex(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 3, .max_inline_data = 32 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
}

REQUEST(create_qp)
{
	ibv_destroy_qp(qp(IBV_QPT_RC));
}

REQUEST(create_qp_with_srq)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};

	init.srq = srq();
	begin_request();
	ibv_create_qp_ex(context, &init);
}

REQUEST(create_qp_ex_send_ops)
{
	struct ibv_qp_init_attr_ex attr = attr_ex(IBV_QPT_RC);

	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;
	ibv_qp_to_qp_ex(ibv_create_qp_ex(context, &attr));
}

REQUEST(create_qp_ex_flags)
{
	struct ibv_qp_init_attr_ex attr = attr_ex(IBV_QPT_UD);

	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_SOURCE_QPN;
	attr.source_qpn = 77;
	attr.max_tso_header = 54;
	ibv_create_qp_ex(context, &attr);
}

REQUEST(create_qp_xrc)
{
	struct ibv_qp_init_attr_ex receive = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd(),
	};

	begin_request();
	struct ibv_qp *receiver = ibv_create_qp_ex(context, &receive);
	xrc_sender();
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = receiver->qp_num,
		.xrcd = xrcd(),
		.qp_type = IBV_QPT_XRC_RECV,
	};
	ibv_open_qp(context, &open);
}

REQUEST(qp_settings)
{
	struct ibv_qp *ud = qp(IBV_QPT_UD);
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 100000, .max_burst_sz = 4096, .typical_pkt_sz = 512 };
	struct ibv_ece ece = { .vendor_id = 0x2c9, .options = 0x10000001 };
	union ibv_gid group = gid("ff0e::1234");

	begin_request();
	ibv_modify_qp_rate_limit(ud, &limit);
	ibv_set_ece(ud, &ece);
	ibv_query_qp_data_in_order(ud, IBV_WR_RDMA_WRITE, 0);
	ibv_attach_mcast(ud, &group, 0xc001);
	ibv_detach_mcast(ud, &group, 0xc001);
}

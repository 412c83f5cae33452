// Queue pairs: making, changing, and what is set on them by calls of their own.
#include "requests.h"

TWIN(create_qp, "new QueuePair (plain)")
{
	qp(IBV_QPT_RC);
}

TWIN(create_qp_of_srq, "new QueuePairEx (srq)")
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	init.srq = srq();
	begin_request();
	ibv_qp_to_qp_ex(ibv_create_qp_ex(context, &init));
}

TWIN(create_qp_ex, "new QueuePair (datagram)")
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 3, .max_inline_data = 32 },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_MAX_TSO_HEADER |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | IBV_QP_CREATE_SOURCE_QPN,
		.max_tso_header = 54,
		.source_qpn = 77,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	ibv_create_qp_ex(context, &init);
}

TWIN(create_rss_qp, "new QueuePair (rss)")
{
	static unsigned char key[40];
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof key,
			.rx_hash_key = key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_PORT_TCP |
					       IBV_RX_HASH_DST_PORT_TCP,
		},
	};

	memset(key, 7, sizeof key);
	init.rwq_ind_tbl = table();
	begin_request();
	ibv_create_qp_ex(context, &init);
}

TWIN(create_qp_xrc, "new QueuePair (xrc)")
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.xrcd = xrcd(),
	};

	begin_request();
	ibv_create_qp_ex(context, &init);
}

TWIN(open_qp, "new OpenedQueuePair")
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = 5,
		.xrcd = xrcd(),
		.qp_type = IBV_QPT_XRC_RECV,
	};

	begin_request();
	ibv_open_qp(context, &attr);
}

// A queue pair that the request changes.
static struct ibv_qp *changing(enum ibv_qp_type type)
{
	struct ibv_qp *changed = qp(type);

	begin_request();
	return changed;
}

TWIN(modify_qp, "QueuePairStates#modify")
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.cur_qp_state = IBV_QPS_INIT,
		.path_mtu = IBV_MTU_1024,
		.path_mig_state = IBV_MIG_REARM,
		.qkey = 0x11111111,
		.rq_psn = 0x123456,
		.sq_psn = 0x0abcde,
		.dest_qp_num = 0x654321,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.cap = { .max_send_wr = 8, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 3, .max_inline_data = 32 },
		.ah_attr = path(),
		.alt_ah_attr = path(),
		.pkey_index = 3,
		.alt_pkey_index = 4,
		.en_sqd_async_notify = 1,
		.max_rd_atomic = 8,
		.max_dest_rd_atomic = 9,
		.min_rnr_timer = 12,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 6,
		.alt_port_num = 1,
		.alt_timeout = 15,
		.rate_limit = 100000,
	};
	int all = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX |
		  IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_RQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_ALT_PATH | IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE | IBV_QP_CAP | IBV_QP_DEST_QPN | IBV_QP_RATE_LIMIT;

	attr.alt_ah_attr.grh.dgid = gid("fe80::99");
	ibv_modify_qp(changing(IBV_QPT_RC), &attr, all);
}

TWIN(modify_qp_ud, "QueuePairStates#modify (ud)")
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .qkey = 0x11111111, .pkey_index = 3, .port_num = 1 };

	ibv_modify_qp(changing(IBV_QPT_UD), &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
}

TWIN(modify_qp_rate_limit, "QueuePairStates#modifyRateLimit")
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 100000, .max_burst_sz = 4096, .typical_pkt_sz = 512 };

	ibv_modify_qp_rate_limit(changing(IBV_QPT_RC), &limit);
}

TWIN(set_ece, "QueuePairStates#setEce")
{
	struct ibv_ece ece = { .vendor_id = 0x2c9, .options = 0x10000001 };

	ibv_set_ece(changing(IBV_QPT_RC), &ece);
}

TWIN(query_qp_data_in_order, "QueuePairStates#queryDataInOrder")
{
	ibv_query_qp_data_in_order(changing(IBV_QPT_RC), IBV_WR_RDMA_WRITE, 0);
}

TWIN(attach_mcast, "QueuePair#attachMcast")
{
	union ibv_gid group = gid("ff0e::1");

	ibv_attach_mcast(changing(IBV_QPT_UD), &group, 0xc001);
}

TWIN(detach_mcast, "QueuePair#detachMcast")
{
	struct ibv_qp *ud = qp(IBV_QPT_UD);
	union ibv_gid group = gid("ff0e::1");

	ibv_attach_mcast(ud, &group, 0xc001);
	begin_request();
	ibv_detach_mcast(ud, &group, 0xc001);
}

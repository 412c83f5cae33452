// Changing the attributes of queue pairs.
#include "requests.h"

static struct ibv_ah_attr path(const char *dgid)
{
	return (struct ibv_ah_attr){
		.grh = { .dgid = gid(dgid), .flow_label = 0xabcde, .sgid_index = 1, .hop_limit = 64, .traffic_class = 4 },
		.sl = 2,
		.static_rate = IBV_RATE_10_GBPS,
		.is_global = 1,
		.port_num = 1,
	};
}

REQUEST(modify_rc)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
		.port_num = 1,
	};
	struct ibv_qp_attr ready = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.rq_psn = 0x123456,
		.dest_qp_num = 0x654321,
		.ah_attr = path("::ffff:10.0.0.2"),
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
	};
	struct ibv_qp_attr send = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 0x0abcde,
		.max_rd_atomic = 8,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 6,
	};

	begin_request();
	ibv_modify_qp(rc, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	ibv_modify_qp(rc, &ready, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	ibv_modify_qp(rc, &send, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				 IBV_QP_MAX_QP_RD_ATOMIC);
}

REQUEST(modify_alternate_path)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_qp_attr attr = {
		.alt_ah_attr = path("fe80::99"),
		.alt_pkey_index = 1,
		.alt_port_num = 1,
		.alt_timeout = 15,
		.path_mig_state = IBV_MIG_REARM,
	};

	begin_request();
	ibv_modify_qp(rc, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
}

REQUEST(modify_ud)
{
	struct ibv_qp *ud = qp(IBV_QPT_UD);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .qkey = 0x11111111, .pkey_index = 3, .port_num = 1 };

	begin_request();
	ibv_modify_qp(ud, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
}

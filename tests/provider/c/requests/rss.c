// Work queues, indirection tables, and the queue pair that spreads packets over them.
#include "requests.h"

enum { QUEUES = 4, KEY = 40 };

static struct ibv_wq *make_wq(void)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 64,
		.max_sge = 2,
		.pd = pd,
		.cq = cq,
		.comp_mask = IBV_WQ_INIT_ATTR_FLAGS,
		.create_flags = IBV_WQ_FLAGS_SCATTER_FCS,
	};

	return ibv_create_wq(context, &attr);
}

REQUEST(work_queue)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_sge one = sge(0, 64);
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &one, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	struct ibv_wq *wq = make_wq();
	ibv_modify_wq(wq, &attr);
	ibv_post_wq_recv(wq, &wr, &bad);
	ibv_destroy_wq(wq);
}

static struct ibv_rwq_ind_table *make_table(struct ibv_wq **queues)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = 2, .ind_tbl = queues };

	return ibv_create_rwq_ind_table(context, &attr);
}

REQUEST(indirection_table)
{
	struct ibv_wq *queues[QUEUES] = { make_wq(), make_wq() };

	queues[2] = queues[0];
	queues[3] = queues[1];
	begin_request();
	ibv_destroy_rwq_ind_table(make_table(queues));
}

REQUEST(rss_qp)
{
	struct ibv_wq *queues[QUEUES] = { make_wq(), make_wq(), make_wq(), make_wq() };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = pd,
		.rwq_ind_tbl = make_table(queues),
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = KEY,
			.rx_hash_key = memory,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4,
		},
	};

	begin_request();
	ibv_create_qp_ex(context, &attr);
}

// Work queues and indirection tables.
#include "requests.h"

TWIN(create_wq, "new WorkQueue")
{
	wq();
}

TWIN(modify_wq, "WorkQueue#modify")
{
	struct ibv_wq *queue = wq();
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_FLAGS,
		.wq_state = IBV_WQS_ERR,
		.curr_wq_state = IBV_WQS_RDY,
		.flags = IBV_WQ_FLAGS_CVLAN_STRIPPING,
		.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING | IBV_WQ_FLAGS_SCATTER_FCS,
	};

	begin_request();
	ibv_modify_wq(queue, &attr);
}

TWIN(post_wq_recv, "WorkQueue#postRecv")
{
	struct ibv_wq *queue = wq();
	struct ibv_recv_wr wr = { .wr_id = 1, SGES(1, sge(0, 64)) };
	struct ibv_recv_wr *bad;

	begin_request();
	ibv_post_wq_recv(queue, &wr, &bad);
}

TWIN(create_rwq_ind_table, "new RwqIndirectionTable")
{
	struct ibv_wq *queues[2] = { wq() };
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = 1, .ind_tbl = queues };

	queues[1] = queues[0];
	begin_request();
	ibv_create_rwq_ind_table(context, &attr);
}

// Fills a context with every op of the extended ABI.
#include "ops.h"

void set_context_ops(struct verbs_context *verbs)
{
	struct ibv_context_ops *ops = &verbs->context.ops;

	ops->alloc_mw = alloc_mw;
	ops->bind_mw = bind_mw;
	ops->dealloc_mw = dealloc_mw;
	ops->poll_cq = poll_cq;
	ops->req_notify_cq = req_notify_cq;
	ops->post_srq_recv = post_srq_recv;
	ops->post_send = post_send;
	ops->post_recv = post_recv;
	verbs->query_port = query_port;
	verbs->advise_mr = advise_mr;
	verbs->alloc_null_mr = alloc_null_mr;
	verbs->read_counters = read_counters;
	verbs->attach_counters_point_flow = attach_counters_point_flow;
	verbs->create_counters = create_counters;
	verbs->destroy_counters = destroy_counters;
	verbs->reg_dm_mr = reg_dm_mr;
	verbs->alloc_dm = alloc_dm;
	verbs->free_dm = free_dm;
	verbs->modify_flow_action_esp = modify_flow_action_esp;
	verbs->destroy_flow_action = destroy_flow_action;
	verbs->create_flow_action_esp = create_flow_action_esp;
	verbs->modify_qp_rate_limit = modify_qp_rate_limit;
	verbs->alloc_parent_domain = alloc_parent_domain;
	verbs->dealloc_td = dealloc_td;
	verbs->alloc_td = alloc_td;
	verbs->modify_cq = modify_cq;
	verbs->post_srq_ops = post_srq_ops;
	verbs->destroy_rwq_ind_table = destroy_rwq_ind_table;
	verbs->create_rwq_ind_table = create_rwq_ind_table;
	verbs->destroy_wq = destroy_wq;
	verbs->modify_wq = modify_wq;
	verbs->create_wq = create_wq;
	verbs->query_rt_values = query_rt_values;
	verbs->create_cq_ex = create_cq_ex;
	verbs->query_device_ex = query_device_ex;
	verbs->ibv_destroy_flow = destroy_flow;
	verbs->ibv_create_flow = create_flow;
	verbs->open_qp = open_qp;
	verbs->create_qp_ex = create_qp_ex;
	verbs->get_srq_num = get_srq_num;
	verbs->create_srq_ex = create_srq_ex;
	verbs->open_xrcd = open_xrcd;
	verbs->close_xrcd = close_xrcd;
}

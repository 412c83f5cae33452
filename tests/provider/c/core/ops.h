// The ops of a context, each in the file of its object.
#pragma once
#include "recorder.h"

#define CONTEXT_OPS(OP) \
	OP(alloc_mw) OP(bind_mw) OP(dealloc_mw) OP(poll_cq) OP(req_notify_cq) OP(post_srq_recv) OP(post_send) OP(post_recv)

#define EXTENDED_OPS(OP) \
	OP(query_port) OP(query_device_ex) OP(query_rt_values) \
	OP(alloc_parent_domain) OP(alloc_td) OP(dealloc_td) OP(open_xrcd) OP(close_xrcd) \
	OP(advise_mr) OP(alloc_null_mr) OP(reg_dm_mr) OP(alloc_dm) OP(free_dm) \
	OP(create_cq_ex) OP(modify_cq) \
	OP(create_srq_ex) OP(get_srq_num) OP(post_srq_ops) \
	OP(create_qp_ex) OP(open_qp) OP(modify_qp_rate_limit) \
	OP(create_wq) OP(modify_wq) OP(destroy_wq) OP(create_rwq_ind_table) OP(destroy_rwq_ind_table) \
	OP(create_flow_action_esp) OP(modify_flow_action_esp) OP(destroy_flow_action) \
	OP(create_counters) OP(destroy_counters) OP(attach_counters_point_flow) OP(read_counters)

// Queues what has come to a queue that moves data. Returns whether any completion is there.
bool take_moved(struct cq_object *object);

#define DECLARE_CONTEXT_OP(op) typeof(*((struct ibv_context_ops *)0)->op) op;
#define DECLARE_EXTENDED_OP(op) typeof(*((struct verbs_context *)0)->op) op;
CONTEXT_OPS(DECLARE_CONTEXT_OP)
EXTENDED_OPS(DECLARE_EXTENDED_OP)
typeof(*((struct verbs_context *)0)->ibv_create_flow) create_flow;
typeof(*((struct verbs_context *)0)->ibv_destroy_flow) destroy_flow;

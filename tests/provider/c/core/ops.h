// The ops of a context, each in the file of its object.
#pragma once
#include "recorder.h"

int query_device_ex(struct ibv_context *, const struct ibv_query_device_ex_input *, struct ibv_device_attr_ex *, size_t);
int query_port(struct ibv_context *, uint8_t, struct ibv_port_attr *, size_t);
int query_rt_values(struct ibv_context *, struct ibv_values_ex *);
struct ibv_pd *alloc_parent_domain(struct ibv_context *, struct ibv_parent_domain_init_attr *);
struct ibv_td *alloc_td(struct ibv_context *, struct ibv_td_init_attr *);
int dealloc_td(struct ibv_td *);
struct ibv_xrcd *open_xrcd(struct ibv_context *, struct ibv_xrcd_init_attr *);
int close_xrcd(struct ibv_xrcd *);
struct ibv_mr *reg_dm_mr(struct ibv_pd *, struct ibv_dm *, uint64_t, size_t, unsigned int);
struct ibv_mr *alloc_null_mr(struct ibv_pd *);
int advise_mr(struct ibv_pd *, enum ibv_advise_mr_advice, uint32_t, struct ibv_sge *, uint32_t);
struct ibv_mw *alloc_mw(struct ibv_pd *, enum ibv_mw_type);
int dealloc_mw(struct ibv_mw *);
int bind_mw(struct ibv_qp *, struct ibv_mw *, struct ibv_mw_bind *);
struct ibv_dm *alloc_dm(struct ibv_context *, struct ibv_alloc_dm_attr *);
int free_dm(struct ibv_dm *);
struct ibv_cq_ex *create_cq_ex(struct ibv_context *, struct ibv_cq_init_attr_ex *);
int modify_cq(struct ibv_cq *, struct ibv_modify_cq_attr *);
int poll_cq(struct ibv_cq *, int, struct ibv_wc *);
int req_notify_cq(struct ibv_cq *, int);
struct ibv_srq *create_srq_ex(struct ibv_context *, struct ibv_srq_init_attr_ex *);
int get_srq_num(struct ibv_srq *, uint32_t *);
int post_srq_recv(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **);
int post_srq_ops(struct ibv_srq *, struct ibv_ops_wr *, struct ibv_ops_wr **);
struct ibv_qp *create_qp_ex(struct ibv_context *, struct ibv_qp_init_attr_ex *);
struct ibv_qp *open_qp(struct ibv_context *, struct ibv_qp_open_attr *);
int modify_qp_rate_limit(struct ibv_qp *, struct ibv_qp_rate_limit_attr *);
int post_send(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
int post_recv(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
struct ibv_wq *create_wq(struct ibv_context *, struct ibv_wq_init_attr *);
int modify_wq(struct ibv_wq *, struct ibv_wq_attr *);
int destroy_wq(struct ibv_wq *);
struct ibv_rwq_ind_table *create_rwq_ind_table(struct ibv_context *, struct ibv_rwq_ind_table_init_attr *);
int destroy_rwq_ind_table(struct ibv_rwq_ind_table *);
struct ibv_flow *create_flow(struct ibv_qp *, struct ibv_flow_attr *);
int destroy_flow(struct ibv_flow *);
struct ibv_flow_action *create_flow_action_esp(struct ibv_context *, struct ibv_flow_action_esp_attr *);
int modify_flow_action_esp(struct ibv_flow_action *, struct ibv_flow_action_esp_attr *);
int destroy_flow_action(struct ibv_flow_action *);
struct ibv_counters *create_counters(struct ibv_context *, struct ibv_counters_init_attr *);
int destroy_counters(struct ibv_counters *);
int attach_counters_point_flow(struct ibv_counters *, struct ibv_counter_attach_attr *, struct ibv_flow *);
int read_counters(struct ibv_counters *, uint64_t *, uint32_t, uint32_t);

/* SPDX-License-Identifier: Dual MIT/GPL */
/* The functions that the files of the stub HCA call of each other. */
#ifndef STUB_CALLS_H
#define STUB_CALLS_H

/* main.c */
extern struct stub_device *stub_hca;
extern bool stub_mlx4_rules;

/* device.c */
extern const char *const stub_kind_names[STUB_KINDS];
void stub_count(struct ib_device *device, enum stub_kind kind, int by);
int stub_number_new(struct stub_numbers *numbers, u32 min, u32 max, void *object, u32 *number);
int stub_query_device(struct ib_device *device, struct ib_device_attr *attr,
		      struct ib_udata *udata);
void stub_fw_str(struct ib_device *device, char *str);

/* port.c */
void stub_ports_init(struct stub_device *stub);
void stub_ports_reset(struct stub_device *stub);
struct stub_port stub_port_of(struct ib_device *device, u32 number);
int stub_port_change(struct stub_device *stub, u32 number, enum ib_event_type event,
		     const char *values);
int stub_query_port(struct ib_device *device, u32 number, struct ib_port_attr *attr);
int stub_query_gid(struct ib_device *device, u32 number, int index, union ib_gid *gid);
int stub_query_pkey(struct ib_device *device, u32 number, u16 index, u16 *pkey);
enum rdma_link_layer stub_link_layer(struct ib_device *device, u32 number);
int stub_port_immutable(struct ib_device *device, u32 number, struct ib_port_immutable *immutable);

/* grh.c */
void stub_grh_reset(void);
int stub_grh_show(struct seq_file *out);
int stub_grh_write(char *text);

/* context.c */
u32 stub_context_number(struct ib_udata *udata);
int stub_alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata);
void stub_dealloc_ucontext(struct ib_ucontext *context);
int stub_mmap(struct ib_ucontext *context, struct vm_area_struct *vma);
int stub_alloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int stub_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata);

/* pin.c */
struct ib_umem *stub_pin(struct ib_device *device, u64 addr, size_t size, int access);
struct ib_umem *stub_pin_doorbell(struct ib_device *device, u64 addr, size_t size,
				  __be32 **doorbell);
void stub_unpin(struct ib_umem *umem);
void *stub_pinned_at(struct ib_umem *umem, size_t offset);
bool stub_pinned_read(struct ib_umem *umem, size_t offset, void *to, size_t size);
bool stub_pinned_write(struct ib_umem *umem, size_t offset, const void *from, size_t size);

/* mr.c */
struct ib_mr *stub_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			       struct ib_udata *udata);
int stub_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);
bool stub_gather(struct ib_pd *pd, u32 lkey, u64 addr, void *to, size_t size);
bool stub_scatter(struct ib_pd *pd, u32 lkey, u64 addr, const void *from, size_t size);
bool stub_mr_allows(struct ib_pd *pd, u32 lkey, u64 addr, size_t size, int access);

/* mr_rereg.c */
struct ib_mr *stub_rereg_mr(struct ib_mr *mr, int flags, u64 start, u64 length, u64 iova,
			    int access, struct ib_pd *pd, struct ib_udata *udata);

/* mw.c: the last two return a syndrome, 0 for success */
int stub_alloc_mw(struct ib_mw *mw, struct ib_udata *udata);
int stub_dealloc_mw(struct ib_mw *mw);
u8 stub_bind_mw(struct stub_qp *qp, const struct mlx4_wqe_bind_seg *bind);
u8 stub_invalidate(struct stub_qp *qp, u32 rkey);

/* clock.c */
int stub_clock_start(void);
void stub_clock_stop(void);
u64 stub_clock_now(void);
int stub_clock_map(struct vm_area_struct *vma);
int stub_clock_show(struct seq_file *out);
int stub_clock_write(char *text);

/* cq.c */
int stub_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr, struct ib_udata *udata);
int stub_modify_cq(struct ib_cq *cq, u16 count, u16 period);
int stub_destroy_cq(struct ib_cq *cq, struct ib_udata *udata);
struct ib_umem *stub_cq_pin_ring(struct stub_cq *cq, u64 addr, u32 entries);
void stub_cq_give_to_device(struct stub_cq *cq);
u32 stub_cq_used(struct stub_cq *cq);
bool stub_cq_full(struct stub_cq *cq);
void stub_cq_write(struct stub_cq *cq, const struct mlx4_cqe *cqe);
void stub_complete(struct stub_cq *cq, const struct mlx4_cqe *cqe, bool solicited);

/* cq_resize.c */
int stub_resize_cq(struct ib_cq *cq, int cqe, struct ib_udata *udata);

/* queue.c */
int stub_queue_map(struct ib_device *device, struct stub_queue *queue, u64 ring, size_t size,
		   u64 doorbell);
void stub_queue_unmap(struct stub_queue *queue);
int stub_queue_number(struct ib_device *device, struct stub_queue *queue, u8 log_range);
void stub_queue_forget(struct ib_device *device, struct stub_queue *queue);
u32 stub_queue_qpn(const struct stub_queue *queue);

/* request.c */
bool stub_next_request(struct stub_queue *queue, struct stub_srq *srq,
		       struct stub_request *request);
void stub_request_taken(struct stub_queue *queue, const struct stub_request *request);
void stub_srq_check_limit(struct stub_srq *srq);

/* receive.c */
void stub_queue_flush(struct stub_queue *queue);
enum stub_outcome stub_receive(struct stub_queue *queue, struct stub_srq *srq,
			       const struct stub_message *message);

/* xrcd.c */
int stub_open_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata);
int stub_close_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata);

/* qp.c */
int stub_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int stub_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int stub_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init_attr);
int stub_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);

/* mcast.c */
int stub_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid);
int stub_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid);

/* qp_modify.c */
void stub_qp_fail(struct stub_qp *qp);
void stub_qp_fail_receive(struct stub_qp *qp);

/* flow.c */
struct ib_flow *stub_create_flow(struct ib_qp *qp, struct ib_flow_attr *attr,
				 struct ib_udata *udata);
int stub_destroy_flow(struct ib_flow *flow);

/* send.c */
struct mlx4_wqe_ctrl_seg *stub_next_send(struct stub_qp *qp);
void stub_complete_send(struct stub_qp *qp, u8 syndrome);
void stub_sends_flush(struct stub_qp *qp);
void stub_send_all(struct stub_qp *qp);

/* local_work.c */
void stub_local_work(struct stub_qp *qp);

/* tick.c */
void stub_tick(struct work_struct *work);

/* rss.c */
int stub_rss_init(struct stub_rss *rss, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int stub_create_table(struct ib_rwq_ind_table *table, struct ib_rwq_ind_table_init_attr *attr,
		      struct ib_udata *udata);
int stub_destroy_table(struct ib_rwq_ind_table *table);

/* wq.c */
struct ib_wq *stub_create_wq(struct ib_pd *pd, struct ib_wq_init_attr *attr,
			     struct ib_udata *udata);
int stub_modify_wq(struct ib_wq *wq, struct ib_wq_attr *attr, u32 mask, struct ib_udata *udata);
int stub_destroy_wq(struct ib_wq *wq, struct ib_udata *udata);
void stub_wq_fail(struct stub_wq *wq);

/* srq.c */
int stub_create_srq(struct ib_srq *srq, struct ib_srq_init_attr *attr, struct ib_udata *udata);
int stub_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata);
int stub_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr);
int stub_destroy_srq(struct ib_srq *srq, struct ib_udata *udata);

/* hash.c */
u32 stub_hash(const struct stub_rss *rss, const u8 *frame, size_t length, u64 *used);

/* traffic.c */
extern const char *const stub_outcome_names[STUB_OUTCOMES];
ssize_t stub_unhex(char *text);
struct stub_qp *stub_qp_of(u32 number);
struct stub_srq *stub_srq_of(const struct stub_qp *qp);
struct stub_qp *stub_find_qp(u32 number, enum ib_qp_type type);
bool stub_qp_ready(const struct stub_qp *qp);
enum stub_outcome stub_deliver(struct stub_qp *qp, struct stub_srq *srq,
			       const struct stub_message *message);
void stub_deliver_recorded(struct stub_qp *qp, struct stub_srq *srq,
			   const struct stub_message *message, const char *verb);
u64 stub_outcome_count(enum stub_outcome outcome);
void stub_outcome_add(enum stub_outcome outcome);

/* packet.c */
int stub_packet_write(char *text);

/* datagram.c */
int stub_datagram_write(char *text);
int stub_xrc_write(char *text);

/* record.c: the format has single quotes, to be readable; they become double quotes */
__printf(3, 4) void stub_record(const char *verb, int err, const char *format, ...);
int stub_record_show(struct seq_file *out);
int stub_record_write(char *text);
void stub_record_clear(void);

/* fail.c */
int stub_fail(const char *verb);
int stub_fail_show(struct seq_file *out);
int stub_fail_write(char *text);
void stub_fail_clear(void);

/* event.c */
void stub_dispatch(struct ib_event *event);
void stub_qp_event(struct stub_qp *qp, enum ib_event_type type);
void stub_srq_event(struct stub_srq *srq, enum ib_event_type type);
int stub_event_write(char *text);

/* debugfs.c */
int stub_each_line(char *text, int (*line)(char *line));
void stub_debugfs_start(void);
void stub_debugfs_stop(void);

#endif

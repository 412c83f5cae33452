/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The stub HCA: an ib_device without hardware. It has mlx4's user ABI, so that the stock libibverbs
 * and libmlx4 drive it through the real ib_uverbs.
 */
#ifndef STUB_H
#define STUB_H

#include <linux/idr.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <linux/mlx4/cq.h>
#include <linux/mlx4/device.h>
#include <linux/mlx4/qp.h>
#include <linux/mlx4/srq.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx4-abi.h>
#include <rdma/uverbs_ioctl.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/hex.h>
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define stub_vm_flags_clear vm_flags_clear
#define stub_vm_flags_set vm_flags_set
#else
#define stub_vm_flags_set(vma, flags) ((vma)->vm_flags |= (flags))
#define stub_vm_flags_clear(vma, flags) ((vma)->vm_flags &= ~(flags))
#endif

/* What the kernel passes to create_cq: since 6.11 the caller's data in a bundle. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
typedef struct uverbs_attr_bundle stub_cq_data;
#define STUB_CQ_UDATA(data) ((data) ? &(data)->driver_udata : NULL)
#else
typedef struct ib_udata stub_cq_data;
#define STUB_CQ_UDATA(data) (data)
#endif

/* A region's DMA handle, which only adapters have. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define STUB_DMAH struct ib_dmah *dmah,
#define STUB_DMAH_PASSED dmah,
#else
#define STUB_DMAH
#define STUB_DMAH_PASSED
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#define STUB_USER_CQ
typedef unsigned int stub_cqe_count;
#define stub_umem_get ib_umem_get_va
#else
typedef int stub_cqe_count;
#define stub_umem_get ib_umem_get
#endif

#define STUB_PORTS 2
#define STUB_IB_PORT 1
#define STUB_ETHERNET_PORT 2
#define STUB_LID 0x12
#define STUB_SM_LID 1
#define STUB_GIDS 4
#define STUB_PKEYS 4
#define STUB_GRH_SIZE 40
/* libmlx4 subtracts this from an address to unmap the page: it must be within the page. */
#define STUB_CLOCK_OFFSET 0x40

#define STUB_MAX_QUEUES 16384
#define STUB_MAX_WR 16384
#define STUB_MAX_SGE 32
#define STUB_MAX_CQE 65535
#define STUB_MAX_TABLES 16384
#define STUB_MAX_TABLE_SIZE 128
#define STUB_HASH_FIELDS 0xff /* each IPv4, IPv6, TCP and UDP field of mlx4_ib_rx_hash_fields */
#define STUB_HASH_KEY_SIZE 40
/* libmlx4 finds a queue by its number modulo this, so numbers in use must differ modulo this. */
#define STUB_QUEUE_NUMBERS 65536
/* libmlx4 recognizes an XRC target QP by this bit of its number. */
#define STUB_XRC_TARGET BIT(23)

/* Kinds of objects that are counted, for the stats file and the leak report at unload. */
enum stub_kind {
	STUB_CONTEXT,
	STUB_PD,
	STUB_AH,
	STUB_MR,
	STUB_MW,
	STUB_CQ,
	STUB_SRQ,
	STUB_XRCD,
	STUB_QP,
	STUB_WQ,
	STUB_TABLE,
	STUB_FLOW,
	STUB_MCAST,
	STUB_PINNED_PAGE,
	STUB_KINDS,
};

/* Numbers of objects. The cursor wraps around, so that a freed number is not reused soon. */
struct stub_numbers {
	struct xarray objects;
	u32 cursor;
};

/* The attributes of a port that events change. */
struct stub_port {
	enum ib_port_state state;
	u16 lid;
	u16 sm_lid;
	u16 pkeys[STUB_PKEYS];
	union ib_gid gids[STUB_GIDS];
};

struct stub_device {
	struct ib_device ib;
	/* Held while messages are delivered, and while what they look up changes. */
	struct mutex lock;
	struct stub_numbers queues; /* QPs and WQs share one number space, as in mlx4 */
	struct stub_numbers cqs;
	struct stub_numbers srqs;
	struct stub_numbers mrs; /* the upper 24 bits of an lkey */
	struct stub_numbers mws; /* the upper 24 bits of an rkey */
	struct delayed_work tick;
	struct ida idents; /* of contexts, PDs and tables, which nobody looks up */
	struct stub_port ports[STUB_PORTS];
	atomic_t alive[STUB_KINDS];
};

struct stub_context {
	struct ib_ucontext ib;
	u32 number;
	struct page *doorbells; /* stands where libmlx4 expects device registers */
};

struct stub_pd {
	struct ib_pd ib;
	u32 number;
};

struct stub_mr {
	struct ib_mr ib;
	u32 number;
	int access;
	struct ib_umem *memory;
};

struct stub_mw {
	struct ib_mw ib;
	u32 rkey; /* of the last binding */
	bool bound;
};

/* A ring in user memory, and the record beside it that user space writes. */
struct stub_ring {
	struct ib_umem *memory;
	struct ib_umem *doorbell_page;
	__be32 *doorbell;
};

struct stub_cq {
	struct ib_cq ib;
	u32 number;
	u32 entries; /* a power of two */
	bool timestamps;
	u32 producer;
	u32 notified; /* sequence number of the arming that was last answered */
	struct stub_ring ring; /* doorbell: [0] consumer index, [1] arming */
};

/* The receive side of a QP or a WQ. An RSS or XRC QP, or one with an SRQ, has no receive ring. */
struct stub_queue {
	u32 number;
	bool of_wq;
	bool scatter_fcs; /* deliver the frame's check sequence too */
	struct ib_pd *pd;
	struct stub_cq *cq;
	struct stub_ring ring; /* doorbell: requests posted in all, modulo 65536 */
	size_t offset; /* of the first request in the ring */
	size_t stride;
	u32 count; /* a power of two */
	u32 max_sge;
	u16 taken;
};

/* The send side of a QP. Each request has a bit that tells whether it is new. */
struct stub_sends {
	struct stub_cq *cq;
	size_t offset;
	size_t stride;
	u32 count; /* a power of two */
	u32 taken;
};

struct stub_rss {
	struct ib_rwq_ind_table *table; /* NULL unless this is an RSS QP */
	u64 fields;
	u8 function;
	u8 key[STUB_HASH_KEY_SIZE];
};

struct stub_qp {
	struct ib_qp ib;
	struct stub_queue queue;
	struct stub_sends sends;
	struct stub_rss rss;
	struct ib_qp_attr attr;
	struct ib_qp_init_attr init_attr;
};

struct stub_wq {
	struct ib_wq ib;
	struct stub_queue queue;
};

struct stub_table {
	struct ib_rwq_ind_table ib;
};

struct stub_srq {
	struct ib_srq ib;
	u32 number;
	struct ib_srq_attr attr;
	struct stub_ring ring; /* doorbell: requests posted in all, modulo 65536 */
	size_t stride;
	u32 count; /* a power of two */
	u32 next; /* place of the next request to take: they form a list */
	u16 taken;
};

struct stub_xrcd {
	struct ib_xrcd ib;
	u32 number;
};

/* A posted receive request. */
struct stub_request {
	struct ib_umem *ring;
	size_t offset; /* of its first piece */
	u32 max_sge;
	u16 index;
	struct ib_pd *pd;
	struct stub_cq *cq;
	struct stub_srq *srq; /* that it was posted to, if any */
};

/* A packet on its way into a posted receive request. */
struct stub_message {
	const u8 *data;
	size_t length;
	size_t headroom; /* bytes of the request left as they are, before the data */
	bool solicited;
	struct mlx4_cqe cqe; /* what the completion says about the packet */
};

enum stub_outcome {
	STUB_DELIVERED,
	STUB_QP_NOT_READY,
	STUB_WQ_NOT_READY,
	STUB_NO_REQUEST,
	STUB_CQ_FULL,
	STUB_TOO_LONG,
	STUB_BAD_KEY,
	STUB_OUTCOMES,
};

struct stub_file {
	const char *name;
	int (*show)(struct seq_file *out);
	int (*line)(char *line); /* takes a line, which it may cut into pieces */
};

#define to_stub(pointer, kind) container_of(pointer, struct stub_##kind, ib)

/* main.c */
extern struct stub_device *stub_hca;
extern bool stub_mlx4_rules;

/* device.c */
extern const char *const stub_kind_names[STUB_KINDS];
void stub_count(enum stub_kind kind, int by);
void stub_numbers_init(struct stub_numbers *numbers);
int stub_number_new(struct stub_numbers *numbers, u32 align, struct xa_limit limit, void *object,
		    u32 *number);
int stub_number_told(struct stub_numbers *numbers, u32 max, void *object, u32 *number,
		     struct ib_udata *udata);
void stub_number_free(struct stub_numbers *numbers, u32 number);
int stub_ident_new(enum stub_kind kind, u32 *ident);
void stub_ident_free(enum stub_kind kind, u32 ident);
int stub_query_device(struct ib_device *device, struct ib_device_attr *attr,
		      struct ib_udata *udata);
void stub_fw_str(struct ib_device *device, char *str);

/* port.c */
void stub_ports_init(void);
void stub_ports_reset(void);
struct stub_port stub_port_of(u32 number);
int stub_port_change(u32 number, enum ib_event_type event, const char *values);
int stub_query_port(struct ib_device *device, u32 number, struct ib_port_attr *attr);
int stub_query_gid(struct ib_device *device, u32 number, int index, union ib_gid *gid);
int stub_query_pkey(struct ib_device *device, u32 number, u16 index, u16 *pkey);
enum rdma_link_layer stub_link_layer(struct ib_device *device, u32 number);
int stub_port_immutable(struct ib_device *device, u32 number, struct ib_port_immutable *immutable);
void stub_grh_reset(void);
int stub_grh_show(struct seq_file *out);
int stub_grh_line(char *line);

/* context.c */
u32 stub_context_number(struct ib_udata *udata);
int stub_alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata);
void stub_dealloc_ucontext(struct ib_ucontext *context);
int stub_mmap(struct ib_ucontext *context, struct vm_area_struct *vma);
int stub_alloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int stub_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int stub_open_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata);
int stub_close_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata);

/* mr.c */
struct ib_umem *stub_pin(u64 addr, size_t size, int access);
void stub_unpin(struct ib_umem *umem);
void *stub_pinned_at(struct ib_umem *umem, size_t offset);
bool stub_pinned_read(struct ib_umem *umem, size_t offset, void *to, size_t size);
bool stub_pinned_write(struct ib_umem *umem, size_t offset, const void *from, size_t size);
int stub_ring_pin(struct stub_ring *ring, u64 addr, size_t size, u64 doorbell, size_t doorbell_size);
void stub_ring_unpin(struct stub_ring *ring);
struct ib_mr *stub_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			       STUB_DMAH struct ib_udata *udata);
int stub_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);
bool stub_gather(struct ib_pd *pd, u32 lkey, u64 addr, void *to, size_t size);
bool stub_scatter(struct ib_pd *pd, u32 lkey, u64 addr, const void *from, size_t size);
bool stub_mr_allows(struct ib_pd *pd, u32 lkey, u64 addr, size_t size, int access);
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
int stub_clock_line(char *line);

/* cq.c */
int stub_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr, stub_cq_data *data);
int stub_modify_cq(struct ib_cq *cq, u16 count, u16 period);
int stub_destroy_cq(struct ib_cq *cq, struct ib_udata *udata);
bool stub_cq_full(struct stub_cq *cq);
void stub_complete(struct stub_cq *cq, const struct mlx4_cqe *cqe, bool solicited);
int stub_resize_cq(struct ib_cq *cq, stub_cqe_count cqe, struct ib_udata *udata);

/* queue.c */
int stub_queue_number(struct stub_queue *queue, u8 log_range);
void stub_queue_free(struct stub_queue *queue);
u32 stub_queue_qpn(const struct stub_queue *queue);
bool stub_next_request(struct stub_queue *queue, struct stub_srq *srq,
		       struct stub_request *request);
void stub_request_taken(struct stub_queue *queue, const struct stub_request *request);
void stub_srq_check_limit(struct stub_srq *srq);

/* receive.c */
void stub_queue_flush(struct stub_queue *queue);
enum stub_outcome stub_receive(struct stub_queue *queue, struct stub_srq *srq,
			       const struct stub_message *message);

/* qp.c */
int stub_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int stub_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int stub_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init_attr);
int stub_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);
int stub_tell_qp(struct ib_qp *qp, const struct ib_qp_attr *now, const struct ib_qp_init_attr *init,
		 struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init_attr);

/* qp_modify.c */
void stub_take_attributes(struct ib_qp_attr *to, const struct ib_qp_attr *from, int mask);
void stub_record_modify(const struct ib_qp *qp, int err, const struct ib_qp_attr *attr, int mask);
void stub_qp_fail(struct stub_qp *qp);
void stub_qp_fail_receive(struct stub_qp *qp);

/* flow.c */
struct ib_flow *stub_create_flow(struct ib_qp *qp, struct ib_flow_attr *attr,
				 struct ib_udata *udata);
int stub_destroy_flow(struct ib_flow *flow);
int stub_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid);
int stub_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid);

/* send.c */
struct mlx4_wqe_ctrl_seg *stub_next_send(struct stub_qp *qp);
void stub_complete_send(struct stub_qp *qp, u8 syndrome);
void stub_sends_flush(struct stub_qp *qp);
void stub_send_all(struct stub_qp *qp);

/* tick.c */
void stub_tick(struct work_struct *work);

/* rss.c */
u32 stub_hash(const struct stub_rss *rss, const u8 *frame, size_t length, u64 *used);
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

/* traffic.c */
extern const char *const stub_outcome_names[STUB_OUTCOMES];
struct stub_qp *stub_qp_of(u32 number);
struct stub_srq *stub_srq_of(const struct stub_qp *qp);
struct stub_qp *stub_find_qp(u32 number, enum ib_qp_type type);
enum stub_outcome stub_deliver(struct stub_qp *qp, struct stub_srq *srq,
			       const struct stub_message *message);
extern atomic64_t stub_outcome_counts[STUB_OUTCOMES];
int stub_packet_line(char *line);
int stub_datagram_line(char *line);
int stub_xrc_line(char *line);

/* record.c: the format has single quotes, to be readable; they become double quotes */
__printf(3, 4) void stub_record(const char *verb, int err, const char *format, ...);
int stub_record_show(struct seq_file *out);
int stub_record_line(char *line);
void stub_record_clear(void);

/* fail.c */
/* fails for a call with one object, which is recorded */
int stub_fail_on(const char *verb, const char *kind, u32 number);
int stub_fail(const char *verb);
int stub_fail_show(struct seq_file *out);
int stub_fail_line(char *line);
void stub_fail_clear(void);

/* event.c */
void stub_dispatch(struct ib_event *event);
void stub_qp_event(struct stub_qp *qp, enum ib_event_type type);
void stub_srq_event(struct stub_srq *srq, enum ib_event_type type);
int stub_event_line(char *line);

/* debugfs.c */
void stub_debugfs_start(void);
void stub_debugfs_stop(void);

#endif

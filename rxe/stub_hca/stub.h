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

struct stub_cq {
	struct ib_cq ib;
	u32 number;
	u32 entries; /* a power of two */
	bool timestamps;
	u32 producer;
	u32 notified; /* sequence number of the arming that was last answered */
	struct ib_umem *ring;
	struct ib_umem *doorbell_page;
	__be32 *doorbell; /* [0] consumer index, [1] arming; user space writes both */
};

/* The receive side of a QP or a WQ. An RSS or XRC QP, or one with an SRQ, has no receive ring. */
struct stub_queue {
	u32 number;
	bool of_wq;
	bool scatter_fcs; /* deliver the frame's check sequence too */
	struct ib_pd *pd;
	struct stub_cq *cq;
	struct ib_umem *ring;
	struct ib_umem *doorbell_page;
	__be32 *doorbell; /* requests posted in all, modulo 65536 */
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
	struct ib_umem *ring;
	struct ib_umem *doorbell_page;
	__be32 *doorbell; /* requests posted in all, modulo 65536 */
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
	int (*write)(char *text); /* whole lines; may be cut into pieces in place */
};

static inline struct stub_device *stub_of(struct ib_device *device)
{
	return container_of(device, struct stub_device, ib);
}

#define to_stub(pointer, kind) container_of(pointer, struct stub_##kind, ib)

#include "calls.h"

#endif

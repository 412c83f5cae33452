/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Elastic Fabric Adapters without hardware, beside the stub HCA. They have EFA's user ABI and its
 * rings, so that the stock libefa drives them through the real ib_uverbs.
 */
#ifndef EFA_H
#define EFA_H

#include <rdma/efa-abi.h>
#include "stub.h"

#define EFA_DEVICES 2
#define EFA_MTU 8928
#define EFA_PIECES 2
#define EFA_INLINE_SIZE 32
#define EFA_MAX_QPS 4096 /* libefa finds a QP by its number modulo this */
#define EFA_MAX_WR 4096
#define EFA_MAX_CQE 65536
#define EFA_MAX_RDMA (1U << 30)
#define EFA_UNKNOWN 0xffff /* the address handle of a sender that has none here */

/* Newer than the headers of some kernels. */
#define EFA_CAP_RDMA_WRITE BIT(5)

/* A piece of memory in a send. */
struct efa_piece {
	__le32 length;
	__le32 key; /* of a local region in the lower 24 bits, of a remote one in all of them */
	__le64 addr; /* two words: no alignment to 8 is needed, but there is one */
};

enum efa_operation { EFA_SEND, EFA_READ, EFA_WRITE };
#define EFA_SEND_OPERATION GENMASK(3, 0)
#define EFA_SEND_HAS_IMM BIT(4)
#define EFA_SEND_INLINE BIT(5)

/* What user space writes to the send ring. */
struct efa_send {
	__le16 req_id;
	u8 ctrl1;
	u8 ctrl2;
	__le16 qpn;
	__le16 length; /* of inline data in bytes, or the number of pieces */
	__le32 imm;
	__le16 ah;
	u8 ctrl3;
	u8 reserved;
	__le32 qkey;
	u8 reserved2[12];
	union {
		struct efa_piece pieces[EFA_PIECES];
		u8 inline_data[EFA_INLINE_SIZE];
		struct {
			struct efa_piece remote;
			struct efa_piece local;
		} rdma;
	};
};

#define EFA_RECEIVE_KEY GENMASK(23, 0)
#define EFA_RECEIVE_LAST BIT(31)

/* A piece of a receive: a request has one or more of them, one behind the other. */
struct efa_receive {
	__le64 addr;
	__le16 req_id;
	__le16 length;
	__le32 key;
};

enum efa_status {
	EFA_OK = 0,
	EFA_FLUSHED = 1,
	EFA_BAD_OPERATION = 3,
	EFA_BAD_AH = 4,
	EFA_BAD_LKEY = 5,
	EFA_BAD_LENGTH = 6,
	EFA_REMOTE_BAD_ADDRESS = 7,
	EFA_REMOTE_BAD_QPN = 9,
	EFA_REMOTE_NOT_READY = 10,
	EFA_REMOTE_BAD_LENGTH = 11,
	EFA_REMOTE_UNKNOWN_PEER = 14,
	EFA_UNREACHABLE = 15,
	EFA_WAITS = 256, /* no status of a completion: the send is tried again later */
};

#define EFA_COMPLETION_PHASE BIT(0)
#define EFA_COMPLETION_OF_SEND (1 << 1)
#define EFA_COMPLETION_OF_RECEIVE (2 << 1)
#define EFA_COMPLETION_HAS_IMM BIT(3)
#define EFA_COMPLETION_OPERATION 4 /* a shift */

/* A completion. Rings have entries of 16 bytes, or of 32 with the rest. */
struct efa_completion {
	__le16 req_id;
	u8 status;
	u8 flags;
	__le16 qpn;
	__le16 length; /* of a receive, as all that follows */
	__le16 ah;
	__le16 src_qpn;
	__le32 imm;
	union {
		__le16 length_high; /* of a write with immediate data */
		union ib_gid gid; /* of a sender without an address handle here */
	};
};

/* Pages of an area: doorbells, of which each write traps, and memory behind them. */
#define EFA_DOORBELLS 0
#define EFA_MEMORY(offset) (1 + ((offset) >> PAGE_SHIFT))

/* What user space maps of an object. */
struct efa_area {
	u32 number;
	struct ib_ucontext *context;
	void *memory;
	size_t size;
	void (*ring)(struct efa_area *area, u32 offset, u32 value);
};

struct efa_device {
	struct ib_device ib;
	union ib_gid gid;
	struct stub_numbers qps;
	struct stub_numbers peers;
	atomic_t contexts;
};

/* The peer of address handles: all those of a PD to the same GID share a number. */
struct efa_peer {
	u32 number;
	u32 handles;
	struct ib_pd *pd;
	union ib_gid gid;
};

struct efa_ah {
	struct ib_ah ib;
	struct efa_peer *peer;
};

struct efa_cq {
	struct ib_cq ib;
	u32 number;
	u32 entries; /* a power of two */
	u32 entry_size;
	u32 producer;
	u16 consumer;
	bool armed;
	struct efa_area area;
};

/* A send that user space has rung for. */
struct efa_posted {
	struct list_head list;
	struct efa_send send;
};

struct efa_qp {
	struct ib_qp ib;
	struct ib_qp_attr attr;
	struct ib_qp_init_attr init_attr;
	struct efa_area area; /* the send ring, then the receive ring */
	size_t receives_at;
	u32 sends; /* powers of two */
	u32 receives;
	u16 sends_taken;
	u16 receives_posted;
	u16 receives_taken;
	struct list_head posted;
};

#define to_efa(pointer, kind) container_of(pointer, struct efa_##kind, ib)

/* efa_area.c */
int efa_area_new(struct efa_area *area, struct ib_udata *udata, size_t size,
		 void (*ring)(struct efa_area *area, u32 offset, u32 value));
void efa_area_free(struct efa_area *area);
u64 efa_area_key(const struct efa_area *area, u32 page);
int efa_mmap(struct ib_ucontext *context, struct vm_area_struct *vma);

/* efa_cq.c */
int efa_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr, stub_cq_data *data);
int efa_destroy_cq(struct ib_cq *cq, struct ib_udata *udata);
void efa_complete(struct efa_cq *cq, const struct efa_completion *completion);

/* efa_qp.c */
int efa_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int efa_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int efa_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init_attr);
int efa_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);

/* efa_send.c */
bool efa_ready(const struct efa_qp *qp);
void efa_rung(struct efa_area *area, u32 offset, u32 value);
void efa_flush(struct efa_qp *qp);
void efa_forget(struct efa_qp *qp);
struct efa_device *efa_device_of(const union ib_gid *gid);
struct efa_peer *efa_peer_of(struct ib_pd *pd, const union ib_gid *gid);

/* efa.c */
extern struct efa_device *efa_devices[EFA_DEVICES];
extern bool efa_reversed;
int efa_show(struct seq_file *out);
int efa_line(char *line);
void efa_stop(void);

#endif

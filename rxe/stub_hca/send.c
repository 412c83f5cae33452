// SPDX-License-Identifier: Dual MIT/GPL
// Sends of UD QPs. The InfiniBand port loops them back to the QPs of its own LID.
#include <linux/align.h>
#include "stub.h"

#define MTU 4096
#define NEXT_HEADER_IBA 0x1b
#define MAX_REQUEST 2048
#define SIZE_MASK 0x3f /* of fence_size: the request's size in units of 16 bytes */
#define GLOBAL_ROUTE 0x80 /* in g_slid */

/* The device's lock protects these: one request at a time is processed. */
static u8 request[MAX_REQUEST] __aligned(16);
static struct mlx4_wqe_ctrl_seg *const ctrl = (void *)request;
static u8 packet[STUB_GRH_SIZE + MTU];

/*
 * The owner bit of a posted request is the parity of the producer's round. libmlx4 sets it in each
 * request before INIT, so that none is new in the first round.
 */
struct mlx4_wqe_ctrl_seg *stub_next_send(struct stub_qp *qp)
{
	struct stub_sends *sends = &qp->sends;
	size_t offset = sends->offset + (sends->taken & (sends->count - 1)) * sends->stride;
	__be32 *owner;

	if (!sends->count)
		return NULL;
	owner = stub_pinned_at(qp->queue.ring.memory, offset);
	if (be32_to_cpu(smp_load_acquire(owner)) >> 31 != !!(sends->taken & sends->count))
		return NULL;
	if (!stub_pinned_read(qp->queue.ring.memory, offset, request, sends->stride) ||
	    (ctrl->qpn_vlan.fence_size & SIZE_MASK) * 16 > sends->stride)
		return NULL;
	return ctrl;
}

void stub_complete_send(struct stub_qp *qp, u8 syndrome)
{
	u8 opcode = be32_to_cpu(ctrl->owner_opcode) & MLX4_CQE_OPCODE_MASK;
	union {
		struct mlx4_cqe good;
		struct mlx4_err_cqe bad;
	} cqe = {};

	cqe.good.vlan_my_qpn = cpu_to_be32(qp->ib.qp_num);
	cqe.good.wqe_index = cpu_to_be16(qp->sends.taken);
	cqe.good.owner_sr_opcode = MLX4_CQE_IS_SEND_MASK | opcode;
	if (syndrome) {
		cqe.bad.syndrome = syndrome;
		cqe.bad.owner_sr_opcode = MLX4_CQE_IS_SEND_MASK | MLX4_CQE_OPCODE_ERROR;
	}
	qp->sends.taken++;
	if (syndrome || ctrl->srcrb_flags & cpu_to_be32(MLX4_WQE_CTRL_CQ_UPDATE))
		stub_complete(qp->sends.cq, &cqe.good, false);
}

void stub_sends_flush(struct stub_qp *qp)
{
	while (stub_next_send(qp) && !stub_cq_full(qp->sends.cq))
		stub_complete_send(qp, MLX4_CQE_SYNDROME_WR_FLUSH_ERR);
}

/*
 * Copies the message to the packet, behind the GRH's place. The data is in memory regions, or
 * inline in the request, where no piece crosses a multiple of 64 bytes. Returns a syndrome, 0 for
 * success.
 */
static u8 collect(struct stub_qp *qp, size_t *length)
{
	size_t at = sizeof(*ctrl) + sizeof(struct mlx4_wqe_datagram_seg);
	size_t end = (ctrl->qpn_vlan.fence_size & SIZE_MASK) * 16;

	*length = 0;
	while (at + sizeof(struct mlx4_wqe_data_seg) <= end) {
		struct mlx4_wqe_data_seg *piece = (struct mlx4_wqe_data_seg *)(request + at);
		u32 count = be32_to_cpu(piece->byte_count);
		size_t size = count & ~MLX4_INLINE_SEG;
		u8 *to = packet + STUB_GRH_SIZE + *length;

		if (size > MTU - *length)
			return MLX4_CQE_SYNDROME_LOCAL_LENGTH_ERR;
		if (size && count & MLX4_INLINE_SEG) {
			if (at + sizeof(count) + size > end)
				return MLX4_CQE_SYNDROME_LOCAL_QP_OP_ERR;
			memcpy(to, request + at + sizeof(count), size);
			at = ALIGN(at + sizeof(count) + size, sizeof(*piece));
		} else {
			if (size && !stub_gather(qp->ib.pd, be32_to_cpu(piece->lkey),
						 be64_to_cpu(piece->addr), to, size))
				return MLX4_CQE_SYNDROME_LOCAL_PROT_ERR;
			at += sizeof(*piece);
		}
		*length += size;
	}
	return 0;
}

static u16 ib_port_lid(void)
{
	return stub_port_of(STUB_IB_PORT).lid;
}

static struct stub_qp *target(const struct stub_qp *from, const struct mlx4_av *av,
			      const struct mlx4_wqe_datagram_seg *datagram)
{
	u32 qkey = be32_to_cpu(datagram->qkey);
	struct stub_qp *to = stub_find_qp(be32_to_cpu(datagram->dqpn), IB_QPT_UD);

	/* a Q_Key with the highest bit set means the sender's own */
	if (qkey >> 31)
		qkey = from->attr.qkey;
	if (!to || to->attr.qkey != qkey || to->attr.port_num != STUB_IB_PORT)
		return NULL;
	return from->attr.port_num == STUB_IB_PORT && be16_to_cpu(av->dlid) == ib_port_lid() ? to :
												NULL;
}

static void write_grh(const struct mlx4_av *av, size_t length)
{
	struct ib_grh *grh = (struct ib_grh *)packet;
	const u32 traffic_class_and_flow = 0x0fffffff;

	grh->version_tclass_flow = cpu_to_be32(
		6U << 28 | (be32_to_cpu(av->sl_tclass_flowlabel) & traffic_class_and_flow));
	grh->paylen = cpu_to_be16(length);
	grh->next_hdr = NEXT_HEADER_IBA;
	grh->hop_limit = av->hop_limit;
	stub_query_gid(&stub_hca->ib, STUB_IB_PORT, av->gid_index, &grh->sgid);
	memcpy(&grh->dgid, av->dgid, sizeof(grh->dgid));
}

static struct stub_message message_of(const struct stub_qp *from, const struct mlx4_av *av,
				      size_t length)
{
	bool global = av->g_slid & GLOBAL_ROUTE;
	bool immediate = (be32_to_cpu(ctrl->owner_opcode) & MLX4_CQE_OPCODE_MASK) ==
			 MLX4_OPCODE_SEND_IMM;
	struct stub_message message = {
		.data = packet + STUB_GRH_SIZE,
		.length = length,
		.headroom = STUB_GRH_SIZE,
		.solicited = ctrl->srcrb_flags & cpu_to_be32(MLX4_WQE_CTRL_SOLICITED),
		.cqe.rlid = cpu_to_be16(ib_port_lid()),
		.cqe.sl_vid = cpu_to_be16(be32_to_cpu(av->sl_tclass_flowlabel) >> 28 << 12),
		.cqe.g_mlpath_rqpn = cpu_to_be32(from->ib.qp_num | (global ? BIT(31) : 0)),
		.cqe.owner_sr_opcode = immediate ? MLX4_RECV_OPCODE_SEND_IMM :
						   MLX4_RECV_OPCODE_SEND,
	};

	if (immediate)
		message.cqe.immed_rss_invalid = ctrl->imm;
	if (global) {
		write_grh(av, length);
		message.data = packet;
		message.length += STUB_GRH_SIZE;
		message.headroom = 0;
	}
	return message;
}

static void record_send(const struct stub_qp *from, const struct mlx4_av *av,
			const struct mlx4_wqe_datagram_seg *datagram, size_t length,
			const char *outcome)
{
	u32 route = be32_to_cpu(av->sl_tclass_flowlabel);

	stub_record("send", 0,
		    "'qp':%u,'bytes':%zu,'remote_qpn':%u,'remote_qkey':%u,'port_num':%u,"
		    "'dlid':%u,'sl':%u,'src_path_bits':%u,'static_rate':%u,'is_global':%d,"
		    "'dgid':'%pI6','sgid_index':%u,'flow_label':%u,'hop_limit':%u,"
		    "'traffic_class':%u,'outcome':'%s'",
		    from->ib.qp_num, length, be32_to_cpu(datagram->dqpn),
		    be32_to_cpu(datagram->qkey), be32_to_cpu(av->port_pd) >> 24 & 3,
		    be16_to_cpu(av->dlid), route >> 28, av->g_slid & 0x7f,
		    av->stat_rate ? av->stat_rate - MLX4_STAT_RATE_OFFSET : 0,
		    !!(av->g_slid & GLOBAL_ROUTE), av->dgid, av->gid_index, route & 0xfffff,
		    av->hop_limit, route >> 20 & 0xff, outcome);
}

/* A datagram without a receiver is lost. The sender does not notice. */
static u8 send(struct stub_qp *from)
{
	struct mlx4_wqe_datagram_seg *datagram = (struct mlx4_wqe_datagram_seg *)(ctrl + 1);
	const struct mlx4_av *av = (struct mlx4_av *)datagram->av;
	u8 opcode = be32_to_cpu(ctrl->owner_opcode) & MLX4_CQE_OPCODE_MASK;
	const char *outcome = "lost";
	struct stub_qp *to;
	size_t length;
	u8 syndrome;

	if (opcode != MLX4_OPCODE_SEND && opcode != MLX4_OPCODE_SEND_IMM)
		return MLX4_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	syndrome = collect(from, &length);
	if (syndrome)
		return syndrome;
	to = target(from, av, datagram);
	if (to) {
		struct stub_message message = message_of(from, av, length);

		outcome = stub_outcome_names[stub_deliver(to, stub_srq_of(to), &message)];
	}
	record_send(from, av, datagram, length, outcome);
	return 0;
}

void stub_send_all(struct stub_qp *qp)
{
	while (qp->attr.qp_state == IB_QPS_RTS && !stub_cq_full(qp->sends.cq) &&
	       stub_next_send(qp)) {
		u8 syndrome = send(qp);

		if (syndrome)
			qp->attr.qp_state = IB_QPS_SQE;
		stub_complete_send(qp, syndrome);
		if (syndrome)
			stub_sends_flush(qp);
	}
}

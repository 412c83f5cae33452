// SPDX-License-Identifier: Dual MIT/GPL
// Messages that tests deliver, as from another port, and what is common to all messages.
#include <linux/crc32.h>
#include <linux/if_ether.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "stub.h"

const char *const stub_outcome_names[STUB_OUTCOMES] = {
	[STUB_DELIVERED] = "delivered",
	[STUB_QP_NOT_READY] = "qp_not_ready",
	[STUB_WQ_NOT_READY] = "wq_not_ready",
	[STUB_NO_REQUEST] = "no_request",
	[STUB_CQ_FULL] = "cq_full",
	[STUB_TOO_LONG] = "too_long",
	[STUB_BAD_KEY] = "bad_key",
};

atomic64_t stub_outcome_counts[STUB_OUTCOMES];

/* Reads the data, which is the last word of a line in hexadecimal. It takes the text's place. */
static int read_data(char *line, struct stub_message *message)
{
	char *data = strrchr(line, ' ');
	size_t digits;

	if (!data)
		return -EINVAL;
	digits = strlen(++data);
	if (digits % 2 || hex2bin((u8 *)data, data, digits / 2))
		return -EINVAL;
	message->data = (u8 *)data;
	message->length = digits / 2;
	return 0;
}

struct stub_qp *stub_qp_of(u32 number)
{
	struct stub_queue *queue = xa_load(&stub_hca->queues.objects, number & ~STUB_XRC_TARGET);

	return queue && !queue->of_wq ? container_of(queue, struct stub_qp, queue) : NULL;
}

struct stub_qp *stub_find_qp(u32 number, enum ib_qp_type type)
{
	struct stub_qp *qp = stub_qp_of(number);

	return qp && qp->ib.qp_type == type ? qp : NULL;
}

struct stub_srq *stub_srq_of(const struct stub_qp *qp)
{
	return qp->ib.srq ? to_stub(qp->ib.srq, srq) : NULL;
}

static bool ready(const struct stub_qp *qp)
{
	return qp->attr.qp_state == IB_QPS_RTR || qp->attr.qp_state == IB_QPS_RTS ||
	       qp->attr.qp_state == IB_QPS_SQD || qp->attr.qp_state == IB_QPS_SQE;
}

enum stub_outcome stub_deliver(struct stub_qp *qp, struct stub_srq *srq,
			       const struct stub_message *message)
{
	enum stub_outcome outcome = ready(qp) ? stub_receive(&qp->queue, srq, message) :
							STUB_QP_NOT_READY;

	atomic64_inc(&stub_outcome_counts[outcome]);
	return outcome;
}

static void deliver_recorded(struct stub_qp *qp, struct stub_srq *srq,
			     const struct stub_message *message, const char *verb)
{
	enum stub_outcome outcome = stub_deliver(qp, srq, message);

	stub_record(verb, 0, "'qp':%u,'srq':%u,'bytes':%zu,'outcome':'%s'", qp->ib.qp_num,
		    srq ? srq->number : 0, message->length, stub_outcome_names[outcome]);
}

/*
 * Delivers datagrams without a GRH to UD QPs. Each line is QPN SLID SRC_QPN SL PATH_BITS HEX. The
 * first 40 bytes of the request, where a GRH would be, stay as they are.
 */
int stub_datagram_line(char *line)
{
	struct stub_message message = {
		.headroom = STUB_GRH_SIZE,
		.cqe.owner_sr_opcode = MLX4_RECV_OPCODE_SEND,
	};
	u32 qpn, slid, source, sl, path_bits;
	struct stub_qp *qp;
	int err = 0;

	if (sscanf(line, "%i %i %i %i %i", &qpn, &slid, &source, &sl, &path_bits) != 5 ||
	    read_data(line, &message))
		return -EINVAL;
	message.cqe.rlid = cpu_to_be16(slid);
	message.cqe.sl_vid = cpu_to_be16(sl << 12);
	message.cqe.g_mlpath_rqpn = cpu_to_be32((path_bits & 0x7f) << 24 | (source & 0xffffff));
	mutex_lock(&stub_hca->lock);
	qp = stub_find_qp(qpn, IB_QPT_UD);
	if (qp)
		deliver_recorded(qp, stub_srq_of(qp), &message, "datagram");
	else
		err = -ENOENT;
	mutex_unlock(&stub_hca->lock);
	return err;
}

/* A target QP receives for every SRQ of its domain. */
static int deliver_xrc(u32 qpn, u32 srqn, const struct stub_message *message)
{
	struct stub_qp *qp = stub_find_qp(qpn, IB_QPT_XRC_TGT);
	struct stub_srq *srq = xa_load(&stub_hca->srqs.objects, srqn);

	if (!qp || !srq || srq->ib.srq_type != IB_SRQT_XRC ||
	    srq->ib.ext.xrc.xrcd != qp->ib.xrcd)
		return -ENOENT;
	deliver_recorded(qp, srq, message, "xrc");
	return 0;
}

/* Delivers messages to XRC target QPs. Each line is QPN SRQN HEX. */
int stub_xrc_line(char *line)
{
	struct stub_message message = { .cqe.owner_sr_opcode = MLX4_RECV_OPCODE_SEND };
	u32 qpn, srqn;
	int err;

	if (sscanf(line, "%i %i", &qpn, &srqn) != 2 || read_data(line, &message))
		return -EINVAL;
	message.cqe.g_mlpath_rqpn = cpu_to_be32(srqn);
	mutex_lock(&stub_hca->lock);
	err = deliver_xrc(qpn, srqn, &message);
	mutex_unlock(&stub_hca->lock);
	return err;
}

#define FCS_SIZE 4

/* The buffer has room behind the frame, because it held the frame's hexadecimal digits. */
static void append_fcs(struct stub_message *message)
{
	u8 *end = (u8 *)message->data + message->length;

	put_unaligned_le32(~crc32_le(~0, message->data, message->length), end);
	message->length += FCS_SIZE;
}

static void spread(struct stub_qp *qp, struct stub_message *message)
{
	struct ib_rwq_ind_table *table = qp->rss.table;
	enum stub_outcome outcome;
	struct stub_wq *wq;
	u64 used;
	u32 hash = stub_hash(&qp->rss, message->data, message->length, &used);
	u32 index = hash & ((1U << table->log_ind_tbl_size) - 1);

	wq = container_of(table->ind_tbl[index], struct stub_wq, ib);
	message->cqe.immed_rss_invalid = cpu_to_be32(hash);
	if (wq->queue.scatter_fcs)
		append_fcs(message);
	if (!ready(qp))
		outcome = STUB_QP_NOT_READY;
	else if (wq->ib.state != IB_WQS_RDY)
		outcome = STUB_WQ_NOT_READY;
	else
		outcome = stub_receive(&wq->queue, NULL, message);
	atomic64_inc(&stub_outcome_counts[outcome]);
	stub_record("packet", 0,
		    "'qp':%u,'bytes':%zu,'hash':%u,'fields':%llu,'index':%u,'wq':%u,"
		    "'outcome':'%s'",
		    qp->ib.qp_num, message->length, hash, used, index, wq->ib.wq_num,
		    stub_outcome_names[outcome]);
}

/* Delivers frames to raw packet QPs. Each line is QPN HEX. A dropped frame is no error. */
int stub_packet_line(char *line)
{
	struct stub_message message = { .cqe.owner_sr_opcode = MLX4_RECV_OPCODE_SEND };
	struct stub_qp *qp;
	u32 qpn;
	int err = 0;

	if (sscanf(line, "%i", &qpn) != 1 || read_data(line, &message) || message.length < ETH_HLEN)
		return -EINVAL;
	mutex_lock(&stub_hca->lock);
	qp = stub_find_qp(qpn, IB_QPT_RAW_PACKET);
	if (!qp)
		err = -ENOENT;
	else if (qp->rss.table)
		spread(qp, &message);
	else
		deliver_recorded(qp, stub_srq_of(qp), &message, "packet");
	mutex_unlock(&stub_hca->lock);
	return err;
}

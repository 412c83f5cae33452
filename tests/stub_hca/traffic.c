// SPDX-License-Identifier: Dual MIT/GPL
// Packets that tests hand in, on their way to the queue a device would choose.
#include <linux/crc32.h>
#include <linux/if_ether.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <asm/unaligned.h>
#include "stub.h"

#define FCS_SIZE 4

const char *const stub_outcome_names[STUB_OUTCOMES] = {
	[STUB_DELIVERED] = "delivered",
	[STUB_QP_NOT_READY] = "qp_not_ready",
	[STUB_WQ_NOT_READY] = "wq_not_ready",
	[STUB_NO_REQUEST] = "no_request",
	[STUB_CQ_FULL] = "cq_full",
	[STUB_TOO_LONG] = "too_long",
	[STUB_BAD_KEY] = "bad_key",
};

static atomic64_t counts[STUB_OUTCOMES];

u64 stub_outcome_count(enum stub_outcome outcome)
{
	return atomic64_read(&counts[outcome]);
}

/* Hexadecimal text becomes bytes in its own place; returns how many, or an error. */
static ssize_t unhex(char *text)
{
	size_t digits = strlen(text);

	if (digits % 2 || hex2bin((u8 *)text, text, digits / 2))
		return -EINVAL;
	return digits / 2;
}

struct stub_qp *stub_qp_of(u32 number)
{
	struct stub_queue *queue = xa_load(&stub_hca->queues.objects, number);

	return queue && !queue->of_wq ? container_of(queue, struct stub_qp, queue) : NULL;
}

struct stub_qp *stub_find_qp(u32 number, enum ib_qp_type type)
{
	struct stub_qp *qp = stub_qp_of(number);

	return qp && qp->ib.qp_type == type ? qp : NULL;
}

static bool qp_ready(const struct stub_qp *qp)
{
	return qp->attr.qp_state == IB_QPS_RTR || qp->attr.qp_state == IB_QPS_RTS ||
	       qp->attr.qp_state == IB_QPS_SQD || qp->attr.qp_state == IB_QPS_SQE;
}

/* The frame's buffer has room behind it, having held the frame's hexadecimal digits. */
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
	if (!qp_ready(qp))
		outcome = STUB_QP_NOT_READY;
	else if (wq->ib.state != IB_WQS_RDY)
		outcome = STUB_WQ_NOT_READY;
	else
		outcome = stub_receive(&wq->queue, message);
	atomic64_inc(&counts[outcome]);
	stub_record("packet", 0,
		    "'qp':%u,'bytes':%zu,'hash':%u,'fields':%llu,'index':%u,'wq':%u,"
		    "'outcome':'%s'",
		    qp->ib.qp_num, message->length, hash, used, index, wq->ib.wq_num,
		    stub_outcome_names[outcome]);
}

enum stub_outcome stub_deliver(struct stub_qp *qp, const struct stub_message *message)
{
	enum stub_outcome outcome = qp_ready(qp) ? stub_receive(&qp->queue, message) :
						   STUB_QP_NOT_READY;

	atomic64_inc(&counts[outcome]);
	return outcome;
}

static void deliver(struct stub_qp *qp, const struct stub_message *message, const char *verb)
{
	enum stub_outcome outcome = stub_deliver(qp, message);

	stub_record(verb, 0, "'qp':%u,'bytes':%zu,'outcome':'%s'", qp->ib.qp_num,
		    message->length, stub_outcome_names[outcome]);
}

static int packet_line(char *line)
{
	struct stub_message message = { .cqe.owner_sr_opcode = MLX4_RECV_OPCODE_SEND };
	char *number = strsep(&line, " ");
	struct stub_qp *qp;
	ssize_t length;
	u32 qpn;
	int err = 0;

	if (!line || kstrtou32(number, 0, &qpn))
		return -EINVAL;
	length = unhex(line);
	if (length < 0)
		return length;
	if (length < ETH_HLEN)
		return -EINVAL;
	message.data = (u8 *)line;
	message.length = length;
	mutex_lock(&stub_hca->lock);
	qp = stub_find_qp(qpn, IB_QPT_RAW_PACKET);
	if (!qp)
		err = -ENOENT;
	else if (qp->rss.table)
		spread(qp, &message);
	else
		deliver(qp, &message, "packet");
	mutex_unlock(&stub_hca->lock);
	return err;
}

/* Ethernet frames to raw packet QPs, by lines of: QPN HEX. A frame that is dropped is no error. */
int stub_packet_write(char *text)
{
	return stub_each_line(text, packet_line);
}

static int datagram_line(char *line)
{
	struct stub_message message = {
		.headroom = STUB_GRH_SIZE,
		.cqe.owner_sr_opcode = MLX4_RECV_OPCODE_SEND,
	};
	u32 qpn, slid, source, sl, path_bits;
	char *data = strrchr(line, ' ');
	struct stub_qp *qp;
	ssize_t length;
	int err = 0;

	if (!data || sscanf(line, "%i %i %i %i %i", &qpn, &slid, &source, &sl, &path_bits) != 5)
		return -EINVAL;
	length = unhex(++data);
	if (length < 0)
		return length;
	message.data = (u8 *)data;
	message.length = length;
	message.cqe.rlid = cpu_to_be16(slid);
	message.cqe.sl_vid = cpu_to_be16(sl << 12);
	message.cqe.g_mlpath_rqpn = cpu_to_be32((path_bits & 0x7f) << 24 | (source & 0xffffff));
	mutex_lock(&stub_hca->lock);
	qp = stub_find_qp(qpn, IB_QPT_UD);
	if (qp)
		deliver(qp, &message, "datagram");
	else
		err = -ENOENT;
	mutex_unlock(&stub_hca->lock);
	return err;
}

/*
 * Datagrams without a GRH to UD QPs, as they come on an InfiniBand link, by lines of:
 * QPN SLID SRC_QPN SL PATH_BITS HEX. The request's first 40 bytes, a GRH's place, stay as they are.
 */
int stub_datagram_write(char *text)
{
	return stub_each_line(text, datagram_line);
}

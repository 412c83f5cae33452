// SPDX-License-Identifier: Dual MIT/GPL
// Delivers Ethernet frames to the queue that a device would choose.
#include <linux/crc32.h>
#include <linux/if_ether.h>
#include <linux/string.h>
#include <asm/unaligned.h>
#include "stub.h"

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
	if (!stub_qp_ready(qp))
		outcome = STUB_QP_NOT_READY;
	else if (wq->ib.state != IB_WQS_RDY)
		outcome = STUB_WQ_NOT_READY;
	else
		outcome = stub_receive(&wq->queue, NULL, message);
	stub_outcome_add(outcome);
	stub_record("packet", 0,
		    "'qp':%u,'bytes':%zu,'hash':%u,'fields':%llu,'index':%u,'wq':%u,"
		    "'outcome':'%s'",
		    qp->ib.qp_num, message->length, hash, used, index, wq->ib.wq_num,
		    stub_outcome_names[outcome]);
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
	length = stub_unhex(line);
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
		stub_deliver_recorded(qp, stub_srq_of(qp), &message, "packet");
	mutex_unlock(&stub_hca->lock);
	return err;
}

/* Delivers frames to raw packet QPs. Each line is QPN HEX. A dropped frame is no error. */
int stub_packet_write(char *text)
{
	return stub_each_line(text, packet_line);
}

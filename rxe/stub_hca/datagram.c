// SPDX-License-Identifier: Dual MIT/GPL
// Messages that tests deliver, as from another port of an InfiniBand fabric.
#include <linux/string.h>
#include "stub.h"

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
	length = stub_unhex(++data);
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
		stub_deliver_recorded(qp, stub_srq_of(qp), &message, "datagram");
	else
		err = -ENOENT;
	mutex_unlock(&stub_hca->lock);
	return err;
}

/*
 * Delivers datagrams without a GRH to UD QPs. Each line is QPN SLID SRC_QPN SL PATH_BITS HEX. The
 * first 40 bytes of the request, where a GRH would be, stay as they are.
 */
int stub_datagram_write(char *text)
{
	return stub_each_line(text, datagram_line);
}

/* A target QP receives for every SRQ of its domain. */
static int deliver_xrc(u32 qpn, u32 srqn, const struct stub_message *message)
{
	struct stub_qp *qp = stub_find_qp(qpn, IB_QPT_XRC_TGT);
	struct stub_srq *srq = xa_load(&stub_hca->srqs.objects, srqn);

	if (!qp || !srq || srq->ib.srq_type != IB_SRQT_XRC ||
	    srq->ib.ext.xrc.xrcd != qp->ib.xrcd)
		return -ENOENT;
	stub_deliver_recorded(qp, srq, message, "xrc");
	return 0;
}

static int xrc_line(char *line)
{
	struct stub_message message = { .cqe.owner_sr_opcode = MLX4_RECV_OPCODE_SEND };
	char *data = strrchr(line, ' ');
	u32 qpn, srqn;
	ssize_t length;
	int err;

	if (!data || sscanf(line, "%i %i", &qpn, &srqn) != 2)
		return -EINVAL;
	length = stub_unhex(++data);
	if (length < 0)
		return length;
	message.data = (u8 *)data;
	message.length = length;
	message.cqe.g_mlpath_rqpn = cpu_to_be32(srqn);
	mutex_lock(&stub_hca->lock);
	err = deliver_xrc(qpn, srqn, &message);
	mutex_unlock(&stub_hca->lock);
	return err;
}

/* Delivers messages to XRC target QPs. Each line is QPN SRQN HEX. */
int stub_xrc_write(char *text)
{
	return stub_each_line(text, xrc_line);
}

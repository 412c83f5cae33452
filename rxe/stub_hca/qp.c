// SPDX-License-Identifier: Dual MIT/GPL
// Creating, querying and destroying queue pairs.
#include <linux/log2.h>
#include "stub.h"

#define MIN_LOG_SEND_STRIDE 6
#define MAX_LOG_SEND_STRIDE 11
#define MAX_LOG_SENDS 16

static bool has_ring(const struct ib_qp_init_attr *attr)
{
	return !attr->srq && attr->qp_type != IB_QPT_XRC_INI;
}

static int ring_check(const struct ib_qp_init_attr *attr, const struct mlx4_ib_create_qp *request)
{
	if (request->log_sq_stride < MIN_LOG_SEND_STRIDE ||
	    request->log_sq_stride > MAX_LOG_SEND_STRIDE ||
	    request->log_sq_bb_count > MAX_LOG_SENDS)
		return -EINVAL;
	if (attr->cap.max_recv_wr > STUB_MAX_WR || attr->cap.max_recv_sge > STUB_MAX_SGE ||
	    attr->cap.max_send_wr > STUB_MAX_WR || attr->cap.max_send_sge > STUB_MAX_SGE)
		return -EINVAL;
	if (has_ring(attr) && (!attr->cap.max_recv_wr || !attr->cap.max_recv_sge))
		return -EINVAL;
	return 0;
}

/* libmlx4 puts the queue with the larger requests first. */
static size_t ring_layout(struct stub_qp *qp, const struct ib_qp_init_attr *attr,
			  const struct mlx4_ib_create_qp *request)
{
	struct stub_queue *queue = &qp->queue;
	size_t send_stride = 1UL << request->log_sq_stride;
	size_t sends = send_stride << request->log_sq_bb_count;

	qp->sends.stride = send_stride;
	qp->sends.count = 1U << request->log_sq_bb_count;
	qp->sends.offset = 0;
	if (!has_ring(attr))
		return sends;
	queue->count = roundup_pow_of_two(attr->cap.max_recv_wr);
	queue->max_sge = roundup_pow_of_two(attr->cap.max_recv_sge);
	queue->stride = queue->max_sge * sizeof(struct mlx4_wqe_data_seg);
	if (queue->stride > send_stride)
		qp->sends.offset = queue->count * queue->stride;
	else
		queue->offset = sends;
	return sends + queue->count * queue->stride;
}

static int ring_init(struct stub_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct mlx4_ib_create_qp request = {};
	int err = ib_copy_from_udata(&request, udata, min(sizeof(request), udata->inlen)) ?:
		  ring_check(attr, &request);
	size_t size;

	if (err)
		return err;
	size = ring_layout(qp, attr, &request);
	err = stub_ring_pin(&qp->queue.ring, request.buf_addr, size, request.db_addr,
			    qp->queue.count ? sizeof(__be32) : 0);
	if (err)
		return err;
	attr->cap.max_recv_wr = qp->queue.count;
	attr->cap.max_recv_sge = qp->queue.max_sge;
	return 0;
}

static int qp_check(const struct ib_qp_init_attr *attr)
{
	const u64 known = BIT(IB_QPT_RC) | BIT(IB_QPT_UC) | BIT(IB_QPT_UD) |
			  BIT(IB_QPT_RAW_PACKET) | BIT(IB_QPT_XRC_INI) | BIT(IB_QPT_XRC_TGT);

	if (attr->qp_type > IB_QPT_XRC_TGT || !(BIT(attr->qp_type) & known) || attr->create_flags)
		return -EOPNOTSUPP;
	if (atomic_read(&stub_hca->alive[STUB_QP]) >= STUB_MAX_QUEUES)
		return -ENOMEM;
	return 0;
}

static int qp_open(struct stub_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	int err;

	/* the core passes on nothing from libmlx4 for an XRC target */
	if (!udata && attr->qp_type != IB_QPT_XRC_TGT)
		return -EOPNOTSUPP;
	err = qp_check(attr);
	if (err)
		return err;
	qp->queue.pd = qp->ib.pd;
	qp->queue.cq = attr->recv_cq ? to_stub(attr->recv_cq, cq) : NULL;
	qp->sends.cq = attr->send_cq ? to_stub(attr->send_cq, cq) : NULL;
	/* an XRC target has no rings: it does not send, and receives into SRQs */
	err = attr->rwq_ind_tbl ? stub_rss_init(&qp->rss, attr, udata) :
	      attr->qp_type == IB_QPT_XRC_TGT ? 0 : ring_init(qp, attr, udata);
	if (err)
		return err;
	err = stub_queue_number(&qp->queue, 0);
	if (err) {
		stub_ring_unpin(&qp->queue.ring);
		return err;
	}
	qp->ib.qp_num = qp->queue.number;
	if (attr->qp_type == IB_QPT_XRC_TGT)
		qp->ib.qp_num |= STUB_XRC_TARGET;
	qp->attr.qp_state = IB_QPS_RESET;
	qp->init_attr = *attr;
	stub_count(STUB_QP, 1);
	return 0;
}

static u32 cq_number(struct ib_cq *cq)
{
	return cq ? to_stub(cq, cq)->number : 0;
}

int stub_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct stub_qp *qp = to_stub(ib, qp);
	const struct ib_qp_cap asked = attr->cap;
	int err = stub_fail("create_qp") ?: qp_open(qp, attr, udata);

	stub_record("create_qp", err,
		    "'ctx':%u,'pd':%u,'xrcd':%u,'send_cq':%u,'recv_cq':%u,'srq':%u,'table':%u,"
		    "'qp_type':%d,"
		    "'sq_sig_all':%d,'max_send_wr':%u,'max_recv_wr':%u,'max_send_sge':%u,"
		    "'max_recv_sge':%u,'max_inline_data':%u,'create_flags':%u,'source_qpn':%u,"
		    "'rx_hash_function':%u,'rx_hash_fields_mask':%llu,'rx_hash_key':'%*phN',"
		    "'qp':%u",
		    udata ? stub_context_number(udata) : 0, ib->pd ? to_stub(ib->pd, pd)->number : 0,
		    attr->xrcd ? to_stub(attr->xrcd, xrcd)->number : 0,
		    cq_number(attr->send_cq), cq_number(attr->recv_cq),
		    attr->srq ? to_stub(attr->srq, srq)->number : 0,
		    attr->rwq_ind_tbl ? attr->rwq_ind_tbl->ind_tbl_num : 0, attr->qp_type,
		    attr->sq_sig_type == IB_SIGNAL_ALL_WR, asked.max_send_wr, asked.max_recv_wr,
		    asked.max_send_sge, asked.max_recv_sge, asked.max_inline_data,
		    attr->create_flags, attr->source_qpn, qp->rss.function, qp->rss.fields,
		    attr->rwq_ind_tbl ? STUB_HASH_KEY_SIZE : 0, qp->rss.key, ib->qp_num);
	return err;
}

int stub_tell_qp(struct ib_qp *qp, const struct ib_qp_attr *now, const struct ib_qp_init_attr *init,
		 struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init_attr)
{
	int err = stub_fail("query_qp") ?: (qp->rwq_ind_tbl ? -EOPNOTSUPP : 0);

	stub_record("query_qp", err, "'qp':%u,'attr_mask':%d", qp->qp_num, mask);
	if (err)
		return err;
	*attr = *now;
	attr->cur_qp_state = attr->qp_state;
	attr->cap = init->cap;
	init_attr->cap = attr->cap;
	init_attr->sq_sig_type = init->sq_sig_type;
	init_attr->create_flags = 0;
	return 0;
}

int stub_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init_attr)
{
	struct stub_qp *qp = to_stub(ib, qp);

	return stub_tell_qp(ib, &qp->attr, &qp->init_attr, attr, mask, init_attr);
}

int stub_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct stub_qp *qp = to_stub(ib, qp);
	int err = stub_fail_on("destroy_qp", "qp", ib->qp_num);

	if (err)
		return err;
	stub_queue_free(&qp->queue);
	stub_count(STUB_QP, -1);
	return 0;
}

// SPDX-License-Identifier: Dual MIT/GPL
// Shared receive queues, basic ones and those of XRC domains.
#include <linux/log2.h>
#include "stub.h"

#define MIN_STRIDE 32

/* libmlx4's layout. It keeps one request free, to tell an empty ring from a full one. */
static void ring_layout(struct stub_srq *srq)
{
	size_t request = sizeof(struct mlx4_wqe_srq_next_seg) +
			 srq->attr.max_sge * sizeof(struct mlx4_wqe_data_seg);

	srq->count = roundup_pow_of_two(srq->attr.max_wr + 1);
	srq->stride = max_t(size_t, MIN_STRIDE, roundup_pow_of_two(request));
}

static int srq_open(struct stub_srq *srq, struct ib_srq_init_attr *attr, struct ib_udata *udata)
{
	struct mlx4_ib_create_srq request = {};
	int err;

	if (!udata || (attr->srq_type != IB_SRQT_BASIC && attr->srq_type != IB_SRQT_XRC))
		return -EOPNOTSUPP;
	if (attr->attr.max_wr > STUB_MAX_WR || attr->attr.max_sge > STUB_MAX_SGE - 1)
		return -EINVAL;
	srq->attr = attr->attr;
	/* only modifying sets a limit */
	srq->attr.srq_limit = 0;
	ring_layout(srq);
	err = ib_copy_from_udata(&request, udata, min(sizeof(request), udata->inlen)) ?:
	      stub_ring_pin(&srq->ring, request.buf_addr, srq->count * srq->stride,
			    request.db_addr, sizeof(__be32));
	if (err)
		return err;
	err = stub_number_told(&stub_hca->srqs, STUB_QUEUE_NUMBERS - 1, srq, &srq->number, udata);
	if (err) {
		stub_ring_unpin(&srq->ring);
		return err;
	}
	attr->attr.max_wr = srq->count - 1;
	srq->attr.max_wr = attr->attr.max_wr;
	if (attr->srq_type == IB_SRQT_XRC)
		srq->ib.ext.xrc.srq_num = srq->number;
	stub_count(STUB_SRQ, 1);
	return 0;
}

int stub_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr, struct ib_udata *udata)
{
	struct stub_srq *srq = to_stub(ib, srq);
	const struct ib_srq_attr asked = attr->attr;
	int err = stub_fail("create_srq") ?: srq_open(srq, attr, udata);

	stub_record("create_srq", err,
		    "'ctx':%u,'pd':%u,'srq_type':%d,'xrcd':%u,'cq':%u,'max_wr':%u,'max_sge':%u,"
		    "'srq_limit':%u,'srq':%u",
		    stub_context_number(udata), to_stub(ib->pd, pd)->number, attr->srq_type,
		    attr->srq_type == IB_SRQT_XRC ? to_stub(attr->ext.xrc.xrcd, xrcd)->number : 0,
		    attr->ext.cq ? to_stub(attr->ext.cq, cq)->number : 0, asked.max_wr,
		    asked.max_sge, asked.srq_limit, srq->number);
	return err;
}

static int srq_modify(struct stub_srq *srq, const struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask)
{
	if (mask & IB_SRQ_MAX_WR)
		return -EINVAL;
	if (mask & IB_SRQ_LIMIT) {
		if (attr->srq_limit >= srq->attr.max_wr)
			return -EINVAL;
		srq->attr.srq_limit = attr->srq_limit;
		stub_srq_check_limit(srq);
	}
	return 0;
}

int stub_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata)
{
	int err;

	mutex_lock(&stub_hca->lock);
	err = stub_fail("modify_srq") ?: srq_modify(to_stub(ib, srq), attr, mask);
	mutex_unlock(&stub_hca->lock);
	stub_record("modify_srq", err, "'srq':%u,'attr_mask':%u,'max_wr':%u,'srq_limit':%u",
		    to_stub(ib, srq)->number, mask, attr->max_wr, attr->srq_limit);
	return err;
}

int stub_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	int err = stub_fail_on("query_srq", "srq", to_stub(ib, srq)->number);

	if (!err)
		*attr = to_stub(ib, srq)->attr;
	return err;
}

int stub_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	struct stub_srq *srq = to_stub(ib, srq);
	int err = stub_fail_on("destroy_srq", "srq", srq->number);

	if (err)
		return err;
	stub_number_free(&stub_hca->srqs, srq->number);
	stub_ring_unpin(&srq->ring);
	stub_count(STUB_SRQ, -1);
	return 0;
}

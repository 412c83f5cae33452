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

static int srq_pin(struct stub_srq *srq, const struct mlx4_ib_create_srq *request)
{
	srq->ring = stub_pin(srq->ib.device, request->buf_addr, srq->count * srq->stride,
			     IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(srq->ring))
		return PTR_ERR(srq->ring);
	srq->doorbell_page = stub_pin_doorbell(srq->ib.device, request->db_addr, sizeof(__be32),
					       &srq->doorbell);
	if (IS_ERR(srq->doorbell_page)) {
		stub_unpin(srq->ring);
		return PTR_ERR(srq->doorbell_page);
	}
	return 0;
}

static void srq_unpin(struct stub_srq *srq)
{
	stub_unpin(srq->doorbell_page);
	stub_unpin(srq->ring);
}

static void srq_forget(struct stub_srq *srq)
{
	struct stub_device *stub = stub_of(srq->ib.device);

	mutex_lock(&stub->lock);
	xa_erase(&stub->srqs.objects, srq->number);
	mutex_unlock(&stub->lock);
}

static int srq_number(struct stub_srq *srq, struct ib_udata *udata)
{
	struct stub_device *stub = stub_of(srq->ib.device);
	struct mlx4_ib_create_srq_resp reply = {};
	int err;

	mutex_lock(&stub->lock);
	err = stub_number_new(&stub->srqs, 1, STUB_QUEUE_NUMBERS - 1, srq, &srq->number);
	mutex_unlock(&stub->lock);
	if (err)
		return err;
	reply.srqn = srq->number;
	err = ib_copy_to_udata(udata, &reply, min(sizeof(reply), udata->outlen));
	if (err)
		srq_forget(srq);
	return err;
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
	      srq_pin(srq, &request);
	if (err)
		return err;
	err = srq_number(srq, udata);
	if (err) {
		srq_unpin(srq);
		return err;
	}
	attr->attr.max_wr = srq->count - 1;
	srq->attr.max_wr = attr->attr.max_wr;
	if (attr->srq_type == IB_SRQT_XRC)
		srq->ib.ext.xrc.srq_num = srq->number;
	stub_count(srq->ib.device, STUB_SRQ, 1);
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
	struct stub_device *stub = stub_of(ib->device);
	int err;

	mutex_lock(&stub->lock);
	err = stub_fail("modify_srq") ?: srq_modify(to_stub(ib, srq), attr, mask);
	mutex_unlock(&stub->lock);
	stub_record("modify_srq", err, "'srq':%u,'attr_mask':%u,'max_wr':%u,'srq_limit':%u",
		    to_stub(ib, srq)->number, mask, attr->max_wr, attr->srq_limit);
	return err;
}

int stub_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	int err = stub_fail("query_srq");

	stub_record("query_srq", err, "'srq':%u", to_stub(ib, srq)->number);
	if (!err)
		*attr = to_stub(ib, srq)->attr;
	return err;
}

int stub_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	struct stub_srq *srq = to_stub(ib, srq);
	int err = stub_fail("destroy_srq");

	stub_record("destroy_srq", err, "'srq':%u", srq->number);
	if (err)
		return err;
	srq_forget(srq);
	srq_unpin(srq);
	stub_count(ib->device, STUB_SRQ, -1);
	return 0;
}

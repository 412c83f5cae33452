// SPDX-License-Identifier: Dual MIT/GPL
// EFA's queue pairs: UD, and SRD, which the kernel knows as a driver's own type.
#include <linux/log2.h>
#include "efa.h"

#define RETRIES_FOREVER 7

static int qp_check(const struct ib_qp_init_attr *attr, const struct efa_ibv_create_qp *request)
{
	if (attr->qp_type != IB_QPT_UD && attr->qp_type != IB_QPT_DRIVER)
		return -EOPNOTSUPP;
	if (attr->srq || attr->create_flags || request->comp_mask ||
	    (attr->qp_type == IB_QPT_DRIVER &&
	     request->driver_qp_type != EFA_QP_DRIVER_TYPE_SRD))
		return -EOPNOTSUPP;
	if (attr->cap.max_send_wr > EFA_MAX_WR || attr->cap.max_recv_wr > EFA_MAX_WR ||
	    attr->cap.max_send_sge > EFA_PIECES || attr->cap.max_recv_sge > EFA_PIECES ||
	    attr->cap.max_inline_data > EFA_INLINE_SIZE)
		return -EINVAL;
	if (request->sq_ring_size > EFA_MAX_WR * sizeof(struct efa_send) ||
	    request->rq_ring_size > EFA_PIECES * EFA_MAX_WR * sizeof(struct efa_receive))
		return -EINVAL;
	return 0;
}

static int qp_reply(struct efa_qp *qp, struct ib_udata *udata)
{
	u64 doorbells = efa_area_key(&qp->area, EFA_DOORBELLS);
	struct efa_ibv_create_qp_resp reply = {
		.sq_db_offset = 0,
		.rq_db_offset = sizeof(u32),
		.sq_db_mmap_key = doorbells,
		.rq_db_mmap_key = doorbells,
		.llq_desc_mmap_key = efa_area_key(&qp->area, EFA_MEMORY(0)),
		.rq_mmap_key = efa_area_key(&qp->area, EFA_MEMORY(qp->receives_at)),
		.rq_mmap_size = qp->area.size - qp->receives_at,
	};

	return ib_copy_to_udata(udata, &reply, min(sizeof(reply), udata->outlen));
}

static int qp_open(struct efa_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct efa_device *device = to_efa(qp->ib.device, device);
	struct efa_ibv_create_qp request = {};
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	err = ib_copy_from_udata(&request, udata, min(sizeof(request), udata->inlen)) ?:
	      qp_check(attr, &request);
	if (err)
		return err;
	INIT_LIST_HEAD(&qp->posted);
	qp->sends = request.sq_ring_size / sizeof(struct efa_send);
	qp->receives = request.rq_ring_size / sizeof(struct efa_receive);
	qp->receives_at = PAGE_ALIGN(request.sq_ring_size);
	qp->attr.qp_state = IB_QPS_RESET;
	qp->attr.rnr_retry = RETRIES_FOREVER;
	qp->init_attr = *attr;
	err = efa_area_new(&qp->area, udata, max(1UL, qp->receives_at + request.rq_ring_size),
			   efa_rung);
	if (err)
		return err;
	err = stub_number_new(&device->qps, 1, XA_LIMIT(1, EFA_MAX_QPS - 1), qp, &qp->ib.qp_num);
	if (err)
		goto no_number;
	err = qp_reply(qp, udata);
	if (err)
		goto no_reply;
	stub_count(STUB_QP, 1);
	return 0;

no_reply:
	stub_number_free(&device->qps, qp->ib.qp_num);
no_number:
	efa_area_free(&qp->area);
	return err;
}

int efa_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct efa_qp *qp = to_efa(ib, qp);
	int err = stub_fail("create_qp") ?: qp_open(qp, attr, udata);

	stub_record("create_qp", err,
		    "'ctx':%u,'pd':%u,'send_cq':%u,'recv_cq':%u,'qp_type':%d,'sq_sig_all':%d,"
		    "'max_send_wr':%u,'max_recv_wr':%u,'max_send_sge':%u,'max_recv_sge':%u,"
		    "'max_inline_data':%u,'qp':%u",
		    stub_context_number(udata), to_stub(ib->pd, pd)->number,
		    to_efa(attr->send_cq, cq)->number, to_efa(attr->recv_cq, cq)->number,
		    attr->qp_type, attr->sq_sig_type == IB_SIGNAL_ALL_WR, attr->cap.max_send_wr,
		    attr->cap.max_recv_wr, attr->cap.max_send_sge, attr->cap.max_recv_sge,
		    attr->cap.max_inline_data, ib->qp_num);
	return err;
}

/* An SRD queue pair takes the attributes of a UD one, and how often it tries without a receive. */
static int modify_check(const struct efa_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	const int known = IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_EN_SQD_ASYNC_NOTIFY |
			  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY | IB_QP_SQ_PSN |
			  IB_QP_RNR_RETRY;
	enum ib_qp_state now = qp->attr.qp_state;
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : now;

	if (mask & ~known)
		return -EOPNOTSUPP;
	if (qp->ib.qp_type == IB_QPT_DRIVER && next == IB_QPS_RTS && attr->rnr_retry <= 7)
		mask &= ~IB_QP_RNR_RETRY;
	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != now)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(now, next, IB_QPT_UD, mask))
		return -EINVAL;
	if ((mask & IB_QP_PORT) && attr->port_num != 1)
		return -EINVAL;
	return (mask & IB_QP_PKEY_INDEX) && attr->pkey_index ? -EINVAL : 0;
}

static int qp_modify(struct efa_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	int err = modify_check(qp, attr, mask);

	if (err)
		return err;
	stub_take_attributes(&qp->attr, attr, mask);
	if (!(mask & IB_QP_STATE))
		return 0;
	if (attr->qp_state == IB_QPS_ERR)
		efa_flush(qp);
	if (attr->qp_state == IB_QPS_RESET)
		efa_forget(qp);
	return 0;
}

int efa_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	int err;

	mutex_lock(&stub_hca->lock);
	err = stub_fail("modify_qp") ?: qp_modify(to_efa(ib, qp), attr, mask);
	mutex_unlock(&stub_hca->lock);
	stub_record_modify(ib, err, attr, mask);
	return err;
}

int efa_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init_attr)
{
	struct efa_qp *qp = to_efa(ib, qp);

	return stub_tell_qp(ib, &qp->attr, &qp->init_attr, attr, mask, init_attr);
}

int efa_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct efa_qp *qp = to_efa(ib, qp);
	int err = stub_fail_on("destroy_qp", "qp", ib->qp_num);

	if (err)
		return err;
	stub_number_free(&to_efa(ib->device, device)->qps, ib->qp_num);
	efa_area_free(&qp->area);
	efa_forget(qp);
	stub_count(STUB_QP, -1);
	return 0;
}

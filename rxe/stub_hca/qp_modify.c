// SPDX-License-Identifier: Dual MIT/GPL
// State and attributes of queue pairs.
#include "stub.h"

static bool port_fits(const struct stub_qp *qp, u32 port)
{
	if (port < 1 || port > STUB_PORTS)
		return false;
	return qp->ib.qp_type != IB_QPT_RAW_PACKET || port == STUB_ETHERNET_PORT;
}

/* An RSS QP has no queues of its own. It takes a port, and states up to RTR. */
static int rss_check(const struct ib_qp_attr *attr, int mask)
{
	if (mask & ~(IB_QP_STATE | IB_QP_PORT))
		return -EOPNOTSUPP;
	if ((mask & IB_QP_STATE) && attr->qp_state > IB_QPS_RTR)
		return -EOPNOTSUPP;
	return 0;
}

static bool paths_fit(const struct stub_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_PORT) && !port_fits(qp, attr->port_num))
		return false;
	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index >= STUB_PKEYS)
		return false;
	return !(mask & IB_QP_ALT_PATH) ||
	       (port_fits(qp, attr->alt_port_num) && attr->alt_pkey_index < STUB_PKEYS);
}

static int modify_check(const struct stub_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state now = qp->attr.qp_state;
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : now;
	int err = qp->rss.table ? rss_check(attr, mask) : 0;

	if (err)
		return err;
	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != now)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(now, next, qp->ib.qp_type, mask))
		return -EINVAL;
	return paths_fit(qp, attr, mask) ? 0 : -EINVAL;
}

#define TAKE(bit, field) \
	do { \
		if (mask & (bit)) \
			to->field = from->field; \
	} while (0)

void stub_take_attributes(struct ib_qp_attr *to, const struct ib_qp_attr *from, int mask)
{
	TAKE(IB_QP_STATE, qp_state);
	TAKE(IB_QP_ACCESS_FLAGS, qp_access_flags);
	TAKE(IB_QP_PKEY_INDEX, pkey_index);
	TAKE(IB_QP_PORT, port_num);
	TAKE(IB_QP_QKEY, qkey);
	TAKE(IB_QP_AV, ah_attr);
	TAKE(IB_QP_PATH_MTU, path_mtu);
	TAKE(IB_QP_TIMEOUT, timeout);
	TAKE(IB_QP_RETRY_CNT, retry_cnt);
	TAKE(IB_QP_RNR_RETRY, rnr_retry);
	TAKE(IB_QP_RQ_PSN, rq_psn);
	TAKE(IB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	TAKE(IB_QP_ALT_PATH, alt_ah_attr);
	TAKE(IB_QP_ALT_PATH, alt_pkey_index);
	TAKE(IB_QP_ALT_PATH, alt_port_num);
	TAKE(IB_QP_ALT_PATH, alt_timeout);
	TAKE(IB_QP_MIN_RNR_TIMER, min_rnr_timer);
	TAKE(IB_QP_SQ_PSN, sq_psn);
	TAKE(IB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(IB_QP_PATH_MIG_STATE, path_mig_state);
	TAKE(IB_QP_DEST_QPN, dest_qp_num);
	/* the core owns these references and drops them after the call */
	to->ah_attr.grh.sgid_attr = NULL;
	to->alt_ah_attr.grh.sgid_attr = NULL;
}

/*
 * Moves the QP to the error state and flushes its receives. The tick flushes its sends, because
 * this may run while a send of the same QP is in progress. Receives of an SRQ stay posted.
 */
void stub_qp_fail_receive(struct stub_qp *qp)
{
	bool first = qp->attr.qp_state != IB_QPS_ERR;

	qp->attr.qp_state = IB_QPS_ERR;
	stub_queue_flush(&qp->queue);
	schedule_delayed_work(&stub_hca->tick, 1);
	if (first && qp->ib.srq)
		stub_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

void stub_qp_fail(struct stub_qp *qp)
{
	stub_qp_fail_receive(qp);
	stub_sends_flush(qp);
}

static int qp_modify(struct stub_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	int err = modify_check(qp, attr, mask);

	if (err)
		return err;
	if ((mask & IB_QP_STATE) && attr->qp_state == IB_QPS_ERR) {
		stub_qp_fail(qp);
		return 0;
	}
	stub_take_attributes(&qp->attr, attr, mask);
	if (!(mask & IB_QP_STATE))
		return 0;
	/* no send is in progress, so the send queue is drained */
	if (attr->qp_state == IB_QPS_SQD && (mask & IB_QP_EN_SQD_ASYNC_NOTIFY) &&
	    attr->en_sqd_async_notify)
		stub_qp_event(qp, IB_EVENT_SQ_DRAINED);
	if (attr->qp_state == IB_QPS_RTS)
		schedule_delayed_work(&stub_hca->tick, 1);
	if (attr->qp_state == IB_QPS_RESET) {
		memset(&qp->attr, 0, sizeof(qp->attr));
		qp->queue.taken = 0;
		qp->sends.taken = 0;
	}
	return 0;
}

#define PATH_FORMAT \
	"'dlid':%u,'sl':%u,'src_path_bits':%u,'static_rate':%u,'is_global':%d,'dgid':'%pI6'," \
	"'sgid_index':%u,'flow_label':%u,'hop_limit':%u,'traffic_class':%u"
#define PATH(ah) \
	(ah)->type == RDMA_AH_ATTR_TYPE_IB ? (ah)->ib.dlid : 0, (ah)->sl, \
	(ah)->type == RDMA_AH_ATTR_TYPE_IB ? (ah)->ib.src_path_bits : 0, (ah)->static_rate, \
	!!((ah)->ah_flags & IB_AH_GRH), &(ah)->grh.dgid, (ah)->grh.sgid_index, \
	(ah)->grh.flow_label, (ah)->grh.hop_limit, (ah)->grh.traffic_class

void stub_record_modify(const struct ib_qp *qp, int err, const struct ib_qp_attr *attr, int mask)
{
	const struct rdma_ah_attr *ah = &attr->ah_attr;
	const struct rdma_ah_attr *alt = &attr->alt_ah_attr;

	stub_record("modify_qp", err,
		    "'qp':%u,'attr_mask':%d,'qp_state':%d,'cur_qp_state':%d,'port_num':%u,"
		    "'pkey_index':%u,'qkey':%u,'qp_access_flags':%d,'path_mtu':%d,'rq_psn':%u,"
		    "'sq_psn':%u,'dest_qp_num':%u,'timeout':%u,'retry_cnt':%u,'rnr_retry':%u,"
		    "'min_rnr_timer':%u,'max_rd_atomic':%u,'max_dest_rd_atomic':%u,"
		    "'path_mig_state':%d,'en_sqd_async_notify':%u," PATH_FORMAT ","
		    "'alt_port_num':%u,'alt_pkey_index':%u,'alt_timeout':%u,'alt':{" PATH_FORMAT
		    "}",
		    qp->qp_num, mask, attr->qp_state, attr->cur_qp_state, attr->port_num,
		    attr->pkey_index, attr->qkey, attr->qp_access_flags, attr->path_mtu,
		    attr->rq_psn, attr->sq_psn, attr->dest_qp_num, attr->timeout,
		    attr->retry_cnt, attr->rnr_retry, attr->min_rnr_timer, attr->max_rd_atomic,
		    attr->max_dest_rd_atomic, attr->path_mig_state, attr->en_sqd_async_notify,
		    PATH(ah), attr->alt_port_num, attr->alt_pkey_index, attr->alt_timeout,
		    PATH(alt));
}

int stub_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct stub_qp *qp = to_stub(ib, qp);
	int err;

	mutex_lock(&stub_hca->lock);
	err = stub_fail("modify_qp") ?: qp_modify(qp, attr, mask);
	mutex_unlock(&stub_hca->lock);
	stub_record_modify(ib, err, attr, mask);
	return err;
}

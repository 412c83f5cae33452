// SPDX-License-Identifier: Dual MIT/GPL
// Work queues: the receive queues of an indirection table.
#include <linux/log2.h>
#include <linux/slab.h>
#include "stub.h"

/* libmlx4's ring has one unused send request of this size, before smaller receives. */
#define UNUSED_SEND 64

static size_t ring_layout(struct stub_queue *queue)
{
	queue->stride = queue->max_sge * sizeof(struct mlx4_wqe_data_seg);
	queue->offset = queue->stride > UNUSED_SEND ? 0 : UNUSED_SEND;
	return queue->count * queue->stride + UNUSED_SEND;
}

static int wq_check(struct ib_device *device, const struct ib_wq_init_attr *attr,
		    const struct mlx4_ib_create_wq *request)
{
	if (attr->wq_type != IB_WQT_RQ || request->comp_mask)
		return -EOPNOTSUPP;
	if (attr->create_flags & ~IB_WQ_FLAGS_SCATTER_FCS)
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > STUB_MAX_WR || !attr->max_sge ||
	    attr->max_sge > STUB_MAX_SGE)
		return -EINVAL;
	if (atomic_read(&stub_hca->alive[STUB_WQ]) >= STUB_MAX_QUEUES)
		return -ENOMEM;
	return 0;
}

static int wq_open(struct stub_wq *wq, struct ib_device *device, struct ib_wq_init_attr *attr,
		   struct ib_udata *udata, struct mlx4_ib_create_wq *request)
{
	struct stub_queue *queue = &wq->queue;
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	err = ib_copy_from_udata(request, udata, min(sizeof(*request), udata->inlen)) ?:
	      wq_check(device, attr, request);
	if (err)
		return err;
	queue->count = roundup_pow_of_two(attr->max_wr);
	queue->max_sge = roundup_pow_of_two(attr->max_sge);
	queue->scatter_fcs = attr->create_flags & IB_WQ_FLAGS_SCATTER_FCS;
	err = stub_ring_pin(&queue->ring, request->buf_addr, ring_layout(queue), request->db_addr,
			    sizeof(__be32));
	if (err)
		return err;
	wq->ib.state = IB_WQS_RESET;
	wq->ib.event_handler = attr->event_handler;
	wq->ib.wq_context = attr->wq_context;
	err = stub_queue_number(queue, request->log_range_size);
	if (err) {
		stub_ring_unpin(&queue->ring);
		return err;
	}
	wq->ib.wq_num = queue->number;
	/* libmlx4 uses these as the size of its ring, so they must not be larger */
	attr->max_wr = queue->count;
	attr->max_sge = queue->max_sge;
	stub_count(STUB_WQ, 1);
	return 0;
}

struct ib_wq *stub_create_wq(struct ib_pd *pd, struct ib_wq_init_attr *attr,
			     struct ib_udata *udata)
{
	const struct ib_wq_init_attr asked = *attr;
	struct mlx4_ib_create_wq request = {};
	struct stub_wq *wq;
	int err;

	wq = kzalloc(sizeof(*wq), GFP_KERNEL);
	if (!wq)
		return ERR_PTR(-ENOMEM);
	wq->queue.of_wq = true;
	wq->queue.pd = pd;
	wq->queue.cq = to_stub(attr->cq, cq);
	err = stub_fail("create_wq") ?: wq_open(wq, pd->device, attr, udata, &request);
	stub_record("create_wq", err,
		    "'ctx':%u,'pd':%u,'cq':%u,'wq_type':%d,'max_wr':%u,'max_sge':%u,"
		    "'create_flags':%u,'buf_addr':'0x%llx','db_addr':'0x%llx',"
		    "'log_range_size':%u,'wq':%u,'max_wr_given':%u,'max_sge_given':%u",
		    stub_context_number(udata), to_stub(pd, pd)->number, wq->queue.cq->number,
		    asked.wq_type, asked.max_wr, asked.max_sge, asked.create_flags,
		    request.buf_addr, request.db_addr, request.log_range_size, wq->ib.wq_num,
		    attr->max_wr, attr->max_sge);
	if (err) {
		kfree(wq);
		return ERR_PTR(err);
	}
	return &wq->ib;
}

/* mlx4's rules, and one more: a wrong current state is refused. */
static int modify_check(const struct ib_wq *wq, const struct ib_wq_attr *attr, u32 mask)
{
	if (mask & IB_WQ_FLAGS)
		return -EOPNOTSUPP;
	if (attr->curr_wq_state != wq->state)
		return -EINVAL;
	if (attr->wq_state == IB_WQS_RDY && wq->state == IB_WQS_ERR)
		return -EINVAL;
	if (attr->wq_state == IB_WQS_ERR && wq->state == IB_WQS_RESET)
		return -EINVAL;
	return 0;
}

void stub_wq_fail(struct stub_wq *wq)
{
	wq->ib.state = IB_WQS_ERR;
	stub_queue_flush(&wq->queue);
	schedule_delayed_work(&stub_hca->tick, 1);
}

static int wq_modify(struct stub_wq *wq, const struct ib_wq_attr *attr, u32 mask)
{
	int err = modify_check(&wq->ib, attr, mask);

	if (err)
		return err;
	wq->ib.state = attr->wq_state;
	if (attr->wq_state == IB_WQS_ERR)
		stub_wq_fail(wq);
	if (attr->wq_state == IB_WQS_RESET)
		wq->queue.taken = 0;
	return 0;
}

int stub_modify_wq(struct ib_wq *ib, struct ib_wq_attr *attr, u32 mask, struct ib_udata *udata)
{
	struct stub_wq *wq = container_of(ib, struct stub_wq, ib);
	int err;

	mutex_lock(&stub_hca->lock);
	err = stub_fail("modify_wq") ?: wq_modify(wq, attr, mask);
	mutex_unlock(&stub_hca->lock);
	stub_record("modify_wq", err,
		    "'wq':%u,'attr_mask':%u,'wq_state':%d,'curr_wq_state':%d,'flags':%u,"
		    "'flags_mask':%u,'state':%d",
		    ib->wq_num, mask, attr->wq_state, attr->curr_wq_state, attr->flags,
		    attr->flags_mask, ib->state);
	return err;
}

int stub_destroy_wq(struct ib_wq *ib, struct ib_udata *udata)
{
	struct stub_wq *wq = container_of(ib, struct stub_wq, ib);
	int err = stub_fail_on("destroy_wq", "wq", ib->wq_num);

	if (err)
		return err;
	stub_queue_free(&wq->queue);
	stub_count(STUB_WQ, -1);
	kfree(wq);
	return 0;
}

// SPDX-License-Identifier: Dual MIT/GPL
// The rings of QPs and WQs, their numbers, and the next posted receive request, also of an SRQ.
#include <linux/log2.h>
#include "stub.h"

/* A range demands consecutive numbers from here on. The first is a multiple of the range's size. */
int stub_queue_number(struct stub_queue *queue, u8 log_range)
{
	if (log_range > ilog2(STUB_MAX_TABLE_SIZE))
		return -EINVAL;
	return stub_number_new(&stub_hca->queues, 1U << log_range,
			       XA_LIMIT(STUB_MAX_TABLE_SIZE, STUB_QUEUE_NUMBERS - 1), queue,
			       &queue->number);
}

void stub_queue_free(struct stub_queue *queue)
{
	stub_number_free(&stub_hca->queues, queue->number);
	stub_ring_unpin(&queue->ring);
}

u32 stub_queue_qpn(const struct stub_queue *queue)
{
	return queue->of_wq ? queue->number : container_of(queue, struct stub_qp, queue)->ib.qp_num;
}

static bool own_request(struct stub_queue *queue, struct stub_request *request)
{
	if (!queue->ring.doorbell || (u16)be32_to_cpu(READ_ONCE(*queue->ring.doorbell)) == queue->taken)
		return false;
	request->ring = queue->ring.memory;
	request->index = queue->taken;
	request->offset = queue->offset + (queue->taken & (queue->count - 1)) * queue->stride;
	request->max_sge = queue->max_sge;
	request->pd = queue->pd;
	request->cq = queue->cq;
	return true;
}

static u16 srq_posted(const struct stub_srq *srq)
{
	return be32_to_cpu(READ_ONCE(*srq->ring.doorbell)) - srq->taken;
}

/* Each request begins with the index of the request that is posted after it. */
static u16 srq_next(const struct stub_srq *srq)
{
	const struct mlx4_wqe_srq_next_seg *link = stub_pinned_at(srq->ring.memory,
								  srq->next * srq->stride);

	return be16_to_cpu(link->next_wqe_index) & (srq->count - 1);
}

static bool srq_request(struct stub_srq *srq, struct stub_cq *cq, struct stub_request *request)
{
	if (!srq_posted(srq))
		return false;
	request->ring = srq->ring.memory;
	request->index = srq->next;
	request->offset = srq->next * srq->stride + sizeof(struct mlx4_wqe_srq_next_seg);
	request->max_sge = srq->attr.max_sge;
	request->pd = srq->ib.pd;
	request->cq = cq;
	request->srq = srq;
	return true;
}

bool stub_next_request(struct stub_queue *queue, struct stub_srq *srq,
		       struct stub_request *request)
{
	*request = (struct stub_request){};
	if (!srq)
		return own_request(queue, request);
	/* an XRC SRQ has a CQ of its own; otherwise the CQ is that of the queue pair */
	return srq_request(srq, srq->ib.ext.cq ? to_stub(srq->ib.ext.cq, cq) : queue->cq, request);
}

/* The event is raised once per limit. */
void stub_srq_check_limit(struct stub_srq *srq)
{
	if (srq_posted(srq) >= srq->attr.srq_limit)
		return;
	srq->attr.srq_limit = 0;
	stub_srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
}

void stub_request_taken(struct stub_queue *queue, const struct stub_request *request)
{
	struct stub_srq *srq = request->srq;

	if (!srq) {
		queue->taken++;
		return;
	}
	srq->next = srq_next(srq);
	srq->taken++;
	stub_srq_check_limit(srq);
}

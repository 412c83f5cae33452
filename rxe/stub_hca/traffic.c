// SPDX-License-Identifier: Dual MIT/GPL
// Common to all messages: finding the queue pair, delivery, counts of outcomes.
#include <linux/kernel.h>
#include <linux/string.h>
#include "stub.h"

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

void stub_outcome_add(enum stub_outcome outcome)
{
	atomic64_inc(&counts[outcome]);
}

/* Converts hexadecimal text to bytes in place. Returns their number, or an error. */
ssize_t stub_unhex(char *text)
{
	size_t digits = strlen(text);

	if (digits % 2 || hex2bin((u8 *)text, text, digits / 2))
		return -EINVAL;
	return digits / 2;
}

struct stub_qp *stub_qp_of(u32 number)
{
	struct stub_queue *queue = xa_load(&stub_hca->queues.objects, number & ~STUB_XRC_TARGET);

	return queue && !queue->of_wq ? container_of(queue, struct stub_qp, queue) : NULL;
}

struct stub_qp *stub_find_qp(u32 number, enum ib_qp_type type)
{
	struct stub_qp *qp = stub_qp_of(number);

	return qp && qp->ib.qp_type == type ? qp : NULL;
}

struct stub_srq *stub_srq_of(const struct stub_qp *qp)
{
	return qp->ib.srq ? to_stub(qp->ib.srq, srq) : NULL;
}

bool stub_qp_ready(const struct stub_qp *qp)
{
	return qp->attr.qp_state == IB_QPS_RTR || qp->attr.qp_state == IB_QPS_RTS ||
	       qp->attr.qp_state == IB_QPS_SQD || qp->attr.qp_state == IB_QPS_SQE;
}

enum stub_outcome stub_deliver(struct stub_qp *qp, struct stub_srq *srq,
			       const struct stub_message *message)
{
	enum stub_outcome outcome = stub_qp_ready(qp) ? stub_receive(&qp->queue, srq, message) :
							STUB_QP_NOT_READY;

	stub_outcome_add(outcome);
	return outcome;
}

void stub_deliver_recorded(struct stub_qp *qp, struct stub_srq *srq,
			   const struct stub_message *message, const char *verb)
{
	enum stub_outcome outcome = stub_deliver(qp, srq, message);

	stub_record(verb, 0, "'qp':%u,'srq':%u,'bytes':%zu,'outcome':'%s'", qp->ib.qp_num,
		    srq ? srq->number : 0, message->length, stub_outcome_names[outcome]);
}

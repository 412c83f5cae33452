// Completion queues.
#include "requests.h"

TWIN(create_cq, "new CompletionQueue")
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);

	begin_request();
	ibv_create_cq(context, 4, NULL, channel, 2);
}

TWIN(resize_cq, "CompletionQueue#resize")
{
	ibv_resize_cq(cq, 100);
}

TWIN(req_notify_cq, "CompletionQueue#reqNotify")
{
	ibv_req_notify_cq(cq, 1);
}

TWIN(req_notify_cq_any, "CompletionQueue#reqNotify (any)")
{
	ibv_req_notify_cq(cq, 0);
}

TWIN(create_cq_ex, "new CompletionQueueEx")
{
	struct ibv_parent_domain_init_attr domain = { .pd = pd };
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4,
		.channel = ibv_create_comp_channel(context),
		.comp_vector = 1,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};

	attr.parent_domain = ibv_alloc_parent_domain(context, &domain);
	begin_request();
	ibv_create_cq_ex(context, &attr);
}

TWIN(modify_cq, "CompletionQueue#modify")
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 16, .cq_period = 100 },
	};

	ibv_modify_cq(cq, &attr);
}

static struct ibv_comp_cntr *counter(enum ibv_comp_cntr_type type)
{
	static struct ibv_comp_cntr_init_attr attr;

	attr.type = type;
	return ibv_create_comp_cntr(context, &attr);
}

TWIN(create_comp_cntr, "new CompletionCounter")
{
	counter(IBV_COMP_CNTR_TYPE_BYTES);
}

TWIN(set_comp_cntr, "CompletionCounter#set")
{
	struct ibv_comp_cntr *made = counter(IBV_COMP_CNTR_TYPE_WRS);

	begin_request();
	ibv_set_comp_cntr(made, 5);
}

TWIN(attach_comp_cntr, "QueuePair#attachCompCntr")
{
	struct ibv_qp_attach_comp_cntr_attr attr = {
		.op_mask = IBV_QP_ATTACH_COMP_CNTR_OP_SEND | IBV_QP_ATTACH_COMP_CNTR_OP_RECV,
	};
	struct ibv_qp *made = qp(IBV_QPT_RC);

	struct ibv_comp_cntr *counted = counter(IBV_COMP_CNTR_TYPE_WRS);
	begin_request();
	ibv_qp_attach_comp_cntr(made, counted, &attr);
}

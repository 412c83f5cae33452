// Completion queues and channels.
#include "requests.h"

REQUEST(create_cq)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq *queue = ibv_create_cq(context, 64, NULL, channel, 2);
	ibv_resize_cq(queue, 128);
	ibv_req_notify_cq(queue, 1);
	ibv_req_notify_cq(queue, 0);
	ibv_destroy_cq(queue);
	ibv_destroy_comp_channel(channel);
}

REQUEST(create_cq_ex)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64,
		.channel = channel,
		.comp_vector = 1,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};

	begin_request();
	ibv_create_cq_ex(context, &attr);
}

REQUEST(create_cq_ex_in_parent_domain)
{
	struct ibv_parent_domain_init_attr domain = { .pd = pd };
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 8,
		.channel = channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
	};

	attr.parent_domain = ibv_alloc_parent_domain(context, &domain);
	begin_request();
	ibv_create_cq_ex(context, &attr);
}

REQUEST(modify_cq)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 16, .cq_period = 100 },
	};

	ibv_modify_cq(cq, &attr);
}

// Shared receive queues.
#include "requests.h"

TWIN(create_srq, "new SharedReceiveQueue (basic)")
{
	srq();
}

TWIN(modify_srq, "SharedReceiveQueue#modify")
{
	struct ibv_srq_attr attr = { .max_wr = 16, .srq_limit = 2 };
	struct ibv_srq *basic = srq();

	begin_request();
	ibv_modify_srq(basic, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT);
}

// One that needs more than a domain, for which `more` says what.
static struct ibv_srq *extended(struct ibv_srq_init_attr_ex more)
{
	more.attr = (struct ibv_srq_attr){ .max_wr = 4, .max_sge = 1 };
	more.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ;
	more.pd = pd;
	more.cq = cq;
	return ibv_create_srq_ex(context, &more);
}

TWIN(create_srq_xrc, "new SharedReceiveQueue (xrc)")
{
	// Static, so that its padding is zero.
	static struct ibv_srq_init_attr_ex more = { .comp_mask = IBV_SRQ_INIT_ATTR_XRCD, .srq_type = IBV_SRQT_XRC };

	more.xrcd = xrcd();
	begin_request();
	extended(more);
}

static struct ibv_srq *tag_matching(void)
{
	return extended((struct ibv_srq_init_attr_ex){
		.comp_mask = IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.tm_cap = { .max_num_tags = 8, .max_ops = 5 },
	});
}

TWIN(create_srq_tm, "new SharedReceiveQueue")
{
	tag_matching();
}

static void post_ops(struct ibv_ops_wr *wr)
{
	struct ibv_srq *queue = tag_matching();
	struct ibv_ops_wr *bad;

	begin_request();
	ibv_post_srq_ops(queue, wr, &bad);
}

// Requests are static, so that their padding is zero.
TWIN(post_tag_add, "SharedReceiveQueue#postOps")
{
	static struct ibv_sge target;
	static struct ibv_ops_wr wr = {
		.wr_id = 1,
		.opcode = IBV_WR_TAG_ADD,
		.flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC,
		.tm = {
			.unexpected_cnt = 3,
			.add = { .recv_wr_id = 11, .sg_list = &target, .num_sge = 1, .tag = 0x1234, .mask = 0xffff },
		},
	};

	target = sge(0, 64);
	post_ops(&wr);
}

TWIN(post_tag_delete, "SharedReceiveQueue#postOps (delete)")
{
	static struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED, .tm = { .handle = 7 } };

	post_ops(&wr);
}

TWIN(post_tag_sync, "SharedReceiveQueue#postOps (sync)")
{
	static struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_SYNC, .flags = IBV_OPS_TM_SYNC, .tm = { .unexpected_cnt = 4 } };

	post_ops(&wr);
}

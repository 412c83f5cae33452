// Shared receive queues.
#include "requests.h"

REQUEST(srq_basic)
{
	struct ibv_srq_attr attr = { .max_wr = 64, .srq_limit = 5 };
	struct ibv_srq *basic = srq();

	ibv_modify_srq(basic, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT);
	ibv_query_srq(basic, &attr);
	ibv_destroy_srq(basic);
}

// One that needs more than a domain, for which `more` says what.
static struct ibv_srq *extended(struct ibv_srq_init_attr_ex more)
{
	more.attr = (struct ibv_srq_attr){ .max_wr = 16, .max_sge = 1 };
	more.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ;
	more.pd = pd;
	more.cq = cq;
	return ibv_create_srq_ex(context, &more);
}

REQUEST(srq_xrc)
{
	// Static, so that its padding is zero.
	static struct ibv_srq_init_attr_ex more = { .comp_mask = IBV_SRQ_INIT_ATTR_XRCD, .srq_type = IBV_SRQT_XRC };
	uint32_t number;

	more.xrcd = xrcd();
	begin_request();
	ibv_get_srq_num(extended(more), &number);
}

static struct ibv_srq *make_tm(void)
{
	return extended((struct ibv_srq_init_attr_ex){
		.comp_mask = IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.tm_cap = { .max_num_tags = 8, .max_ops = 4 },
	});
}

REQUEST(srq_tm)
{
	make_tm();
}

REQUEST(post_srq_ops)
{
	struct ibv_srq *srq = make_tm();
	struct ibv_sge target = sge(256, 64);
	struct ibv_ops_wr add = {
		.wr_id = 1,
		.opcode = IBV_WR_TAG_ADD,
		.flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC,
		.tm = {
			.unexpected_cnt = 3,
			.add = { .recv_wr_id = 11, .sg_list = &target, .num_sge = 1, .tag = 0x1234, .mask = 0xffff },
		},
	};
	struct ibv_ops_wr *bad;

	begin_request();
	ibv_post_srq_ops(srq, &add, &bad);
	struct ibv_ops_wr remove = { .wr_id = 2, .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED };
	remove.tm.handle = add.tm.handle;
	ibv_post_srq_ops(srq, &remove, &bad);
	struct ibv_ops_wr sync = { .wr_id = 3, .opcode = IBV_WR_TAG_SYNC, .flags = IBV_OPS_TM_SYNC };
	sync.tm.unexpected_cnt = 4;
	ibv_post_srq_ops(srq, &sync, &bad);
}

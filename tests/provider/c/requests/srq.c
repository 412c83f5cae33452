// Shared receive queues.
#include "requests.h"

REQUEST(srq_basic)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 32, .max_sge = 2 } };
	struct ibv_srq_attr attr = { .max_wr = 64, .srq_limit = 5 };

	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT);
	ibv_query_srq(srq, &attr);
	ibv_destroy_srq(srq);
}

REQUEST(post_srq_recv)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 32, .max_sge = 2 } };
	struct ibv_sge first[] = { sge(0, 16), sge(64, 32) };
	struct ibv_sge second = sge(128, 8);
	struct ibv_recv_wr wr[] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = first, .num_sge = 2 },
		{ .wr_id = 2, .sg_list = &second, .num_sge = 1 },
	};
	struct ibv_recv_wr *bad;
	struct ibv_srq *srq = ibv_create_srq(pd, &init);

	begin_request();
	ibv_post_srq_recv(srq, wr, &bad);
}

static struct ibv_srq *make_xrc(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd(),
		.cq = cq,
	};

	return ibv_create_srq_ex(context, &attr);
}

REQUEST(srq_xrc)
{
	uint32_t number;

	xrcd();
	begin_request();
	ibv_get_srq_num(make_xrc(), &number);
}

static struct ibv_srq *make_tm(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = pd,
		.cq = cq,
		.tm_cap = { .max_num_tags = 8, .max_ops = 4 },
	};

	return ibv_create_srq_ex(context, &attr);
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

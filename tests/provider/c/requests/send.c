// Posting work requests, one of each opcode.
#include "requests.h"

enum { REMOTE = 0x10000, RKEY = 0x4242 };

static void post(struct ibv_qp *queue, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	begin_request();
	ibv_post_send(queue, wr, &bad);
}

REQUEST(post_send)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_sge first[] = { sge(0, 16), sge(32, 8) };
	struct ibv_sge second = sge(64, 4);
	struct ibv_send_wr wr[] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = first, .num_sge = 2, .opcode = IBV_WR_SEND,
		  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE },
		{ .wr_id = UINT64_MAX, .sg_list = &second, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
		  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED, .imm_data = htonl(0x01020304) },
	};

	post(rc, wr);
}

REQUEST(post_send_inline)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_sge one = sge(5, 12);
	struct ibv_send_wr wr = { .wr_id = 2, .sg_list = &one, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };

	post(rc, &wr);
}

REQUEST(post_send_ud)
{
	struct ibv_qp *ud = qp(IBV_QPT_UD);
	struct ibv_sge one = sge(0, 32);
	struct ibv_send_wr wr = { .wr_id = 3, .sg_list = &one, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	wr.wr.ud.ah = ah();
	wr.wr.ud.remote_qpn = 0x123456;
	wr.wr.ud.remote_qkey = 0x11111111;
	post(ud, &wr);
}

REQUEST(post_rdma)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_sge list[] = { sge(0, 64), sge(0, 64), sge(0, 64) };
	struct ibv_send_wr wr[] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = &list[0], .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		  .send_flags = IBV_SEND_SIGNALED, .wr.rdma = { REMOTE, RKEY } },
		{ .wr_id = 2, .next = &wr[2], .sg_list = &list[1], .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		  .send_flags = IBV_SEND_SIGNALED, .imm_data = htonl(5), .wr.rdma = { REMOTE + 8, RKEY } },
		{ .wr_id = 3, .sg_list = &list[2], .num_sge = 1, .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED,
		  .wr.rdma = { REMOTE + 16, RKEY } },
	};

	post(rc, wr);
}

REQUEST(post_atomics)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_sge list[] = { sge(8, 8), sge(8, 8) };
	struct ibv_send_wr wr[] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = &list[0], .num_sge = 1, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		  .send_flags = IBV_SEND_SIGNALED,
		  .wr.atomic = { .remote_addr = REMOTE, .compare_add = 0x1122334455667788, .swap = 9, .rkey = RKEY } },
		{ .wr_id = 2, .sg_list = &list[1], .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		  .send_flags = IBV_SEND_SIGNALED, .wr.atomic = { .remote_addr = REMOTE + 8, .compare_add = 3, .rkey = RKEY } },
	};

	post(rc, wr);
}

REQUEST(post_invalidates)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_sge one = sge(0, 8);
	struct ibv_send_wr wr[] = {
		{ .wr_id = 1, .next = &wr[1], .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED,
		  .invalidate_rkey = 0x5501 },
		{ .wr_id = 2, .sg_list = &one, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_INV, .send_flags = IBV_SEND_SIGNALED,
		  .invalidate_rkey = 0x5502 },
	};

	post(rc, wr);
}

REQUEST(post_bind_mw)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED };

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = (uintptr_t)mr->addr + 128,
		.length = 256,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	post(rc, &wr);
}

REQUEST(post_xrc)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.cap = { .max_send_wr = 8, .max_send_sge = 1 },
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_sge one = sge(0, 8);
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &one, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED, .qp_type.xrc.remote_srqn = 0x77 };

	post(ibv_create_qp_ex(context, &attr), &wr);
}

REQUEST(post_tso)
{
	struct ibv_qp *raw = qp(IBV_QPT_RAW_PACKET);
	struct ibv_sge one = sge(64, 512);
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &one, .num_sge = 1, .opcode = IBV_WR_TSO,
				  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM };

	wr.tso.hdr = memory;
	wr.tso.hdr_sz = 54;
	wr.tso.mss = 128;
	post(raw, &wr);
}

REQUEST(post_recv)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_sge first[] = { sge(0, 16), sge(64, 32) };
	struct ibv_recv_wr wr[] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = first, .num_sge = 2 },
		{ .wr_id = 2 },
	};
	struct ibv_recv_wr *bad;

	begin_request();
	ibv_post_recv(rc, wr, &bad);
}

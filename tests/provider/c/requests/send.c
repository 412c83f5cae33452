// Posting work requests, one of each opcode.
#include "requests.h"

enum { REMOTE = 0x10000, RKEY = 0x4242, SIGNALED = IBV_SEND_SIGNALED };

#define SGES(count, ...) .sg_list = (struct ibv_sge[]){ __VA_ARGS__ }, .num_sge = count

#define CHAIN(wr, count) \
	for (int i = 1; i < (count); i++) \
		(wr)[i - 1].next = &(wr)[i];

static void post(struct ibv_qp *queue, int count, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	CHAIN(wr, count)
	begin_request();
	ibv_post_send(queue, wr, &bad);
}

REQUEST(post_send)
{
	struct ibv_send_wr wr[] = {
		{ .wr_id = 1, SGES(2, sge(0, 16), sge(32, 8)), .opcode = IBV_WR_SEND, .send_flags = SIGNALED | IBV_SEND_FENCE },
		{ .wr_id = UINT64_MAX, SGES(1, sge(64, 4)), .opcode = IBV_WR_SEND_WITH_IMM,
		  .send_flags = SIGNALED | IBV_SEND_SOLICITED, .imm_data = htonl(0x01020304) },
	};

	post(qp(IBV_QPT_RC), 2, wr);
}

REQUEST(post_send_inline)
{
	struct ibv_send_wr wr = { .wr_id = 2, SGES(1, sge(5, 12)), .opcode = IBV_WR_SEND,
				  .send_flags = SIGNALED | IBV_SEND_INLINE };

	post(qp(IBV_QPT_RC), 1, &wr);
}

REQUEST(post_send_ud)
{
	struct ibv_send_wr wr = { .wr_id = 3, SGES(1, sge(0, 32)), .opcode = IBV_WR_SEND, .send_flags = SIGNALED };

	wr.wr.ud.ah = ah();
	wr.wr.ud.remote_qpn = 0x123456;
	wr.wr.ud.remote_qkey = 0x11111111;
	post(qp(IBV_QPT_UD), 1, &wr);
}

REQUEST(post_rdma)
{
	struct ibv_send_wr wr[] = {
		{ .wr_id = 1, SGES(1, sge(0, 64)), .opcode = IBV_WR_RDMA_WRITE, .send_flags = SIGNALED, .wr.rdma = { REMOTE, RKEY } },
		{ .wr_id = 2, SGES(1, sge(0, 64)), .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .send_flags = SIGNALED,
		  .imm_data = htonl(5), .wr.rdma = { REMOTE + 8, RKEY } },
		{ .wr_id = 3, SGES(1, sge(0, 64)), .opcode = IBV_WR_RDMA_READ, .send_flags = SIGNALED,
		  .wr.rdma = { REMOTE + 16, RKEY } },
	};

	post(qp(IBV_QPT_RC), 3, wr);
}

REQUEST(post_atomics)
{
	struct ibv_send_wr wr[] = {
		{ .wr_id = 1, SGES(1, sge(8, 8)), .opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .send_flags = SIGNALED,
		  .wr.atomic = { .remote_addr = REMOTE, .compare_add = 0x1122334455667788, .swap = 9, .rkey = RKEY } },
		{ .wr_id = 2, SGES(1, sge(8, 8)), .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .send_flags = SIGNALED,
		  .wr.atomic = { .remote_addr = REMOTE + 8, .compare_add = 3, .rkey = RKEY } },
	};

	post(qp(IBV_QPT_RC), 2, wr);
}

REQUEST(post_invalidates)
{
	struct ibv_send_wr wr[] = {
		{ .wr_id = 1, .opcode = IBV_WR_LOCAL_INV, .send_flags = SIGNALED, .invalidate_rkey = 0x5501 },
		{ .wr_id = 2, SGES(1, sge(0, 8)), .opcode = IBV_WR_SEND_WITH_INV, .send_flags = SIGNALED, .invalidate_rkey = 0x5502 },
	};

	post(qp(IBV_QPT_RC), 2, wr);
}

REQUEST(post_bind_mw)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_BIND_MW, .send_flags = SIGNALED };

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = (uintptr_t)mr->addr + 128,
		.length = 256,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	post(qp(IBV_QPT_RC), 1, &wr);
}

REQUEST(post_xrc)
{
	struct ibv_send_wr wr = { .wr_id = 1, SGES(1, sge(0, 8)), .opcode = IBV_WR_SEND, .send_flags = SIGNALED,
				  .qp_type.xrc.remote_srqn = 0x77 };

	post(xrc_sender(), 1, &wr);
}

REQUEST(post_recv)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_recv_wr wr[] = { { .wr_id = 1, SGES(2, sge(0, 16), sge(64, 32)) }, { .wr_id = 2 } };
	struct ibv_recv_wr *bad;

	CHAIN(wr, 2)
	begin_request();
	ibv_post_recv(rc, wr, &bad);
}

REQUEST(post_srq_recv)
{
	struct ibv_recv_wr wr[] = { { .wr_id = 1, SGES(2, sge(0, 16), sge(64, 32)) }, { .wr_id = 2, SGES(1, sge(128, 8)) } };
	struct ibv_recv_wr *bad;
	struct ibv_srq *shared = srq();

	CHAIN(wr, 2)
	begin_request();
	ibv_post_srq_recv(shared, wr, &bad);
}

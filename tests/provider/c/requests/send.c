// Posting work requests, one of each opcode.
#include "requests.h"

enum { REMOTE = 0x10000, RKEY = 0x4242, SIGNALED = IBV_SEND_SIGNALED };

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

// A request of an RC queue pair, of 8 bytes if it has data.
#define RC(name, call, code, elements, ...) \
	TWIN(name, "QueuePair#postSend (" call ")") \
	{ \
		struct ibv_send_wr wr = { SGES(elements, sge(0, 8)), .opcode = IBV_WR_##code, .send_flags = SIGNALED, __VA_ARGS__ }; \
		post(qp(IBV_QPT_RC), 1, &wr); \
	}

RC(post_send_inv, "sendInv", SEND_WITH_INV, 1, .invalidate_rkey = 0x5502)
RC(post_write, "write", RDMA_WRITE, 1, .wr.rdma = { REMOTE, RKEY })
RC(post_write_imm, "writeImm", RDMA_WRITE_WITH_IMM, 1, .imm_data = htonl(5), .wr.rdma = { REMOTE + 8, RKEY })
RC(post_read, "read", RDMA_READ, 1, .wr.rdma = { REMOTE + 16, RKEY })
RC(post_cmp_and_swp, "atomic", ATOMIC_CMP_AND_SWP, 1,
   .wr.atomic = { .remote_addr = REMOTE, .compare_add = 0x1122334455667788, .swap = 9, .rkey = RKEY })
RC(post_fetch_and_add, "fetchAdd", ATOMIC_FETCH_AND_ADD, 1,
   .wr.atomic = { .remote_addr = REMOTE, .compare_add = 3, .rkey = RKEY })
RC(post_local_inv, "invalidate", LOCAL_INV, 0, .invalidate_rkey = 0x5501)

TWIN(post_send, "QueuePair#postSend (flags)")
{
	struct ibv_send_wr wr = { SGES(1, sge(0, 8)), .opcode = IBV_WR_SEND, .send_flags = SIGNALED | IBV_SEND_FENCE };

	post(qp(IBV_QPT_RC), 1, &wr);
}

TWIN(post_send_ud, "QueuePair#postSend (datagram)")
{
	struct ibv_send_wr wr = { .wr_id = 3, SGES(1, sge(5, 12)), .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = SIGNALED | IBV_SEND_INLINE | IBV_SEND_SOLICITED, .imm_data = htonl(0x01020304) };

	wr.wr.ud.ah = ah();
	wr.wr.ud.remote_qpn = 0x123456;
	wr.wr.ud.remote_qkey = 0x11111111;
	post(qp(IBV_QPT_UD), 1, &wr);
}

TWIN(post_send_list, "QueuePair#postSend (list)")
{
	struct ibv_qp *ud = qp(IBV_QPT_UD);
	struct ibv_send_wr wr[] = {
		{ .wr_id = UINT64_MAX, SGES(2, sge(0, 32), sge(32, 8)), .opcode = IBV_WR_SEND, .send_flags = SIGNALED },
		{ SGES(1, sge(64, 8)), .opcode = IBV_WR_SEND, .send_flags = SIGNALED },
	};

	wr[0].wr.ud.ah = wr[1].wr.ud.ah = ah();
	wr[0].wr.ud.remote_qpn = wr[1].wr.ud.remote_qpn = 1;
	wr[0].wr.ud.remote_qkey = wr[1].wr.ud.remote_qkey = 0x11111111;
	post(ud, 2, wr);
}

TWIN(post_bind_mw, "QueuePair#postSend (bind)")
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .send_flags = SIGNALED };

	wr.bind_mw.mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	wr.bind_mw.rkey = 5;
	wr.bind_mw.bind_info = *bind_info();
	post(qp(IBV_QPT_RC), 1, &wr);
}

TWIN(post_xrc, "QueuePair#postSend (xrc)")
{
	struct ibv_send_wr wr = { SGES(1, sge(0, 8)), .opcode = IBV_WR_SEND, .send_flags = SIGNALED,
				  .qp_type.xrc.remote_srqn = 0x77 };

	post(qp(IBV_QPT_XRC_SEND), 1, &wr);
}

TWIN(post_recv, "QueuePair#postRecv (list)")
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_recv_wr wr[] = { { .wr_id = 1, SGES(2, sge(0, 16), sge(64, 32)) }, { .wr_id = UINT64_MAX } };
	struct ibv_recv_wr *bad;

	CHAIN(wr, 2)
	begin_request();
	ibv_post_recv(rc, wr, &bad);
}

TWIN(post_srq_recv, "SharedReceiveQueue#postRecv (list)")
{
	struct ibv_recv_wr wr[] = { { .wr_id = 1, SGES(2, sge(0, 16), sge(64, 32)) }, { .wr_id = 2, SGES(1, sge(128, 8)) } };
	struct ibv_recv_wr *bad;
	struct ibv_srq *shared = srq();

	CHAIN(wr, 2)
	begin_request();
	ibv_post_srq_recv(shared, wr, &bad);
}

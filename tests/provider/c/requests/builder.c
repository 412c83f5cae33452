// Building work requests call by call.
#include "requests.h"

enum { REMOTE = 0x10000, RKEY = 0x4242 };

static struct ibv_qp_ex *make(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 32, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = 0x17ff,
	};

	return ibv_qp_to_qp_ex(ibv_create_qp_ex(context, &attr));
}

static void next(struct ibv_qp_ex *queue, uint64_t wr_id)
{
	queue->wr_id = wr_id;
	queue->wr_flags = IBV_SEND_SIGNALED;
}

// rxe reads the flag, which the library's manual pages do not ask for.
static void next_inline(struct ibv_qp_ex *queue, uint64_t wr_id)
{
	next(queue, wr_id);
	queue->wr_flags |= IBV_SEND_INLINE;
}

static void set_sge(struct ibv_qp_ex *queue, struct ibv_sge sge)
{
	ibv_wr_set_sge(queue, sge.lkey, sge.addr, sge.length);
}

// Starts the only request of a queue pair.
static struct ibv_qp_ex *start(enum ibv_qp_type type)
{
	struct ibv_qp_ex *queue = make(type);

	begin_request();
	ibv_wr_start(queue);
	next(queue, 1);
	return queue;
}

REQUEST(build_rc)
{
	struct ibv_qp_ex *rc = make(IBV_QPT_RC);
	struct ibv_sge list[] = { sge(0, 16), sge(32, 8) };
	unsigned char plain[16];
	struct ibv_data_buf buffers[] = { { plain, 4 }, { plain + 8, 3 } };
	uint64_t operand = 0x0102030405060708;

	memcpy(plain, memory, sizeof plain);
	begin_request();
	ibv_wr_start(rc);
	next(rc, 1);
	ibv_wr_send(rc);
	set_sge(rc, list[0]);
	next(rc, 2);
	ibv_wr_send_imm(rc, htonl(0x01020304));
	ibv_wr_set_sge_list(rc, 2, list);
	next_inline(rc, 3);
	ibv_wr_send_inv(rc, 0x5501);
	ibv_wr_set_inline_data(rc, plain + 1, 5);
	next_inline(rc, 4);
	ibv_wr_rdma_write(rc, RKEY, REMOTE);
	ibv_wr_set_inline_data_list(rc, 2, buffers);
	next(rc, 5);
	ibv_wr_rdma_write_imm(rc, RKEY, REMOTE, htonl(6));
	set_sge(rc, list[0]);
	next(rc, 6);
	ibv_wr_rdma_read(rc, RKEY, REMOTE);
	set_sge(rc, list[0]);
	next(rc, 7);
	ibv_wr_atomic_cmp_swp(rc, RKEY, REMOTE, 0x1122334455667788, 9);
	set_sge(rc, list[1]);
	next(rc, 8);
	ibv_wr_atomic_fetch_add(rc, RKEY, REMOTE, 3);
	set_sge(rc, list[1]);
	next(rc, 9);
	ibv_wr_atomic_write(rc, RKEY, REMOTE, &operand);
	next(rc, 10);
	ibv_wr_local_inv(rc, 0x5502);
	ibv_wr_complete(rc);
}

REQUEST(build_bind_mw)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	// Static, so that its padding is zero.
	static struct ibv_mw_bind_info info = { .length = 256, .mw_access_flags = IBV_ACCESS_REMOTE_READ };

	info.mr = mr;
	info.addr = (uintptr_t)mr->addr + 128;
	struct ibv_qp_ex *rc = start(IBV_QPT_RC);
	ibv_wr_bind_mw(rc, mw, ibv_inc_rkey(mw->rkey), &info);
	ibv_wr_complete(rc);
}

REQUEST(build_ud)
{
	struct ibv_ah *to = ah();
	struct ibv_qp_ex *ud = start(IBV_QPT_UD);

	ibv_wr_send(ud);
	ibv_wr_set_ud_addr(ud, to, 0x123456, 0x11111111);
	set_sge(ud, sge(0, 16));
	ibv_wr_complete(ud);
}

REQUEST(build_xrc)
{
	struct ibv_qp_ex *xrc = start(IBV_QPT_XRC_SEND);

	ibv_wr_send(xrc);
	ibv_wr_set_xrc_srqn(xrc, 0x77);
	set_sge(xrc, sge(0, 16));
	ibv_wr_complete(xrc);
}

REQUEST(build_tso)
{
	struct ibv_qp_ex *raw = start(IBV_QPT_RAW_PACKET);

	ibv_wr_send_tso(raw, memory, 54, 128);
	set_sge(raw, sge(64, 512));
	ibv_wr_complete(raw);
}

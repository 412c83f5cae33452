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
	ibv_wr_set_sge(rc, list[0].lkey, list[0].addr, list[0].length);
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
	ibv_wr_set_sge(rc, list[0].lkey, list[0].addr, list[0].length);
	next(rc, 6);
	ibv_wr_rdma_read(rc, RKEY, REMOTE);
	ibv_wr_set_sge(rc, list[0].lkey, list[0].addr, list[0].length);
	next(rc, 7);
	ibv_wr_atomic_cmp_swp(rc, RKEY, REMOTE, 0x1122334455667788, 9);
	ibv_wr_set_sge(rc, list[1].lkey, list[1].addr, list[1].length);
	next(rc, 8);
	ibv_wr_atomic_fetch_add(rc, RKEY, REMOTE, 3);
	ibv_wr_set_sge(rc, list[1].lkey, list[1].addr, list[1].length);
	next(rc, 9);
	ibv_wr_atomic_write(rc, RKEY, REMOTE, &operand);
	next(rc, 10);
	ibv_wr_local_inv(rc, 0x5502);
	ibv_wr_complete(rc);
}

REQUEST(build_bind_mw)
{
	struct ibv_qp_ex *rc = make(IBV_QPT_RC);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	// Static, so that its padding is zero.
	static struct ibv_mw_bind_info info = { .length = 256, .mw_access_flags = IBV_ACCESS_REMOTE_READ };

	info.mr = mr;
	info.addr = (uintptr_t)mr->addr + 128;
	begin_request();
	ibv_wr_start(rc);
	next(rc, 1);
	ibv_wr_bind_mw(rc, mw, ibv_inc_rkey(mw->rkey), &info);
	ibv_wr_complete(rc);
}

REQUEST(build_ud)
{
	struct ibv_qp_ex *ud = make(IBV_QPT_UD);
	struct ibv_ah *to = ah();
	struct ibv_sge one = sge(0, 16);

	begin_request();
	ibv_wr_start(ud);
	next(ud, 1);
	ibv_wr_send(ud);
	ibv_wr_set_ud_addr(ud, to, 0x123456, 0x11111111);
	ibv_wr_set_sge(ud, one.lkey, one.addr, one.length);
	ibv_wr_complete(ud);
}

REQUEST(build_xrc)
{
	struct ibv_qp_ex *xrc = make(IBV_QPT_XRC_SEND);
	struct ibv_sge one = sge(0, 16);

	begin_request();
	ibv_wr_start(xrc);
	next(xrc, 1);
	ibv_wr_send(xrc);
	ibv_wr_set_xrc_srqn(xrc, 0x77);
	ibv_wr_set_sge(xrc, one.lkey, one.addr, one.length);
	ibv_wr_complete(xrc);
}

REQUEST(build_tso)
{
	struct ibv_qp_ex *raw = make(IBV_QPT_RAW_PACKET);
	struct ibv_sge one = sge(64, 512);

	begin_request();
	ibv_wr_start(raw);
	next(raw, 1);
	ibv_wr_send_tso(raw, memory, 54, 128);
	ibv_wr_set_sge(raw, one.lkey, one.addr, one.length);
	ibv_wr_complete(raw);
}

REQUEST(build_and_abort)
{
	struct ibv_qp_ex *rc = make(IBV_QPT_RC);

	begin_request();
	ibv_wr_start(rc);
	next(rc, 1);
	ibv_wr_send(rc);
	ibv_wr_abort(rc);
}

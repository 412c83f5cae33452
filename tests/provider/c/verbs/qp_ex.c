// Building work requests one call at a time. A builder that the queue pair was not made for would be NULL on a real
// provider; here it records a violation.
#include "ops.h"

static void building(const char *verb, struct ibv_qp_ex *qp, uint64_t operation)
{
	struct qp_object *object = (void *)qp;

	begin(verb, RETURNS_NOTHING);
	OBJECT(QP, qp);
	if (!object->building)
		violation("%s: the queue pair is not between ibv_wr_start and ibv_wr_complete", verb);
	if (operation && !(object->send_ops & operation))
		violation("%s: the queue pair was not made for it", verb);
	put_unsigned("wr_id", qp->wr_id);
	put_number("wr_flags", qp->wr_flags);
}

static void wr_start(struct ibv_qp_ex *qp)
{
	struct qp_object *object = (void *)qp;

	begin("ibv_wr_start", RETURNS_NOTHING);
	OBJECT(QP, qp);
	if (object->building)
		violation("ibv_wr_start: the queue pair has requests under way");
	object->building = true;
	done(0);
}

static void leave(const char *verb, struct ibv_qp_ex *qp)
{
	struct qp_object *object = (void *)qp;

	if (!object->building)
		violation("%s: the queue pair has no requests under way", verb);
	object->building = false;
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	begin("ibv_wr_complete", RETURNS_ERRNO);
	OBJECT(QP, qp);
	leave("ibv_wr_complete", qp);
	return failing() ? failed() : done(0);
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	begin("ibv_wr_abort", RETURNS_NOTHING);
	OBJECT(QP, qp);
	leave("ibv_wr_abort", qp);
	done(0);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t compare, uint64_t swap)
{
	building("ibv_wr_atomic_cmp_swp", qp, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP);
	NUMBER(rkey);
	ADDRESS(remote_addr);
	NUMBER(compare);
	NUMBER(swap);
	done(0);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	building("ibv_wr_atomic_fetch_add", qp, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
	NUMBER(rkey);
	ADDRESS(remote_addr);
	NUMBER(add);
	done(0);
}

static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr)
{
	building("ibv_wr_atomic_write", qp, IBV_QP_EX_WITH_ATOMIC_WRITE);
	NUMBER(rkey);
	ADDRESS(remote_addr);
	BYTES(atomic_wr, 8);
	done(0);
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *bind_info)
{
	building("ibv_wr_bind_mw", qp, IBV_QP_EX_WITH_BIND_MW);
	OBJECT(MW, mw);
	NUMBER(rkey);
	put_bind_info("bind_info", bind_info);
	done(0);
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
	building("ibv_wr_local_inv", qp, IBV_QP_EX_WITH_LOCAL_INV);
	NUMBER(invalidate_rkey);
	done(0);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
{
	building("ibv_wr_rdma_read", qp, IBV_QP_EX_WITH_RDMA_READ);
	NUMBER(rkey);
	ADDRESS(remote_addr);
	done(0);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
{
	building("ibv_wr_rdma_write", qp, IBV_QP_EX_WITH_RDMA_WRITE);
	NUMBER(rkey);
	ADDRESS(remote_addr);
	done(0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	building("ibv_wr_rdma_write_imm", qp, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM);
	NUMBER(rkey);
	ADDRESS(remote_addr);
	NUMBER(imm_data);
	done(0);
}

static void wr_send(struct ibv_qp_ex *qp)
{
	building("ibv_wr_send", qp, IBV_QP_EX_WITH_SEND);
	done(0);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm_data)
{
	building("ibv_wr_send_imm", qp, IBV_QP_EX_WITH_SEND_WITH_IMM);
	NUMBER(imm_data);
	done(0);
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
	building("ibv_wr_send_inv", qp, IBV_QP_EX_WITH_SEND_WITH_INV);
	NUMBER(invalidate_rkey);
	done(0);
}

static void wr_send_tso(struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	building("ibv_wr_send_tso", qp, IBV_QP_EX_WITH_TSO);
	BYTES(hdr, hdr_sz);
	NUMBER(hdr_sz);
	NUMBER(mss);
	done(0);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
	building("ibv_wr_set_ud_addr", qp, 0);
	OBJECT(AH, ah);
	NUMBER(remote_qpn);
	NUMBER(remote_qkey);
	done(0);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t remote_srqn)
{
	building("ibv_wr_set_xrc_srqn", qp, 0);
	NUMBER(remote_srqn);
	done(0);
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	building("ibv_wr_set_inline_data", qp, 0);
	BYTES(addr, length);
	NUMBER(length);
	done(0);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t num_buf, const struct ibv_data_buf *buf_list)
{
	building("ibv_wr_set_inline_data_list", qp, 0);
	NUMBER(num_buf);
	put_struct("buf_list", "ibv_data_buf", buf_list, sizeof *buf_list, num_buf);
	for (size_t i = 0; i < num_buf; i++)
		put_struct(named("buf_list[%zu].addr", i), "bytes", buf_list[i].addr, buf_list[i].length, 1);
	done(0);
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	building("ibv_wr_set_sge", qp, 0);
	NUMBER(lkey);
	ADDRESS(addr);
	NUMBER(length);
	done(0);
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t num_sge, const struct ibv_sge *sg_list)
{
	building("ibv_wr_set_sge_list", qp, 0);
	NUMBER(num_sge);
	put_sges("sg_list", sg_list, num_sge);
	done(0);
}

void set_qp_builders(struct ibv_qp_ex *qp)
{
	qp->wr_start = wr_start;
	qp->wr_complete = wr_complete;
	qp->wr_abort = wr_abort;
	qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
	qp->wr_atomic_write = wr_atomic_write;
	qp->wr_bind_mw = wr_bind_mw;
	qp->wr_local_inv = wr_local_inv;
	qp->wr_rdma_read = wr_rdma_read;
	qp->wr_rdma_write = wr_rdma_write;
	qp->wr_rdma_write_imm = wr_rdma_write_imm;
	qp->wr_send = wr_send;
	qp->wr_send_imm = wr_send_imm;
	qp->wr_send_inv = wr_send_inv;
	qp->wr_send_tso = wr_send_tso;
	qp->wr_set_ud_addr = wr_set_ud_addr;
	qp->wr_set_xrc_srqn = wr_set_xrc_srqn;
	qp->wr_set_inline_data = wr_set_inline_data;
	qp->wr_set_inline_data_list = wr_set_inline_data_list;
	qp->wr_set_sge = wr_set_sge;
	qp->wr_set_sge_list = wr_set_sge_list;
}

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

	TELL(OBJECT(QP, qp));
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
	CALL(ERRNO, OBJECT(QP, qp), leave("ibv_wr_complete", qp));
	return done(0);
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	TELL(OBJECT(QP, qp), leave("ibv_wr_abort", qp));
	done(0);
}

static void put_data(const struct ibv_data_buf *buf_list, size_t num_buf)
{
	put_struct("buf_list", "ibv_data_buf", buf_list, sizeof *buf_list, num_buf);
	for (size_t i = 0; i < num_buf; i++)
		put_struct(named("buf_list[%zu].addr", i), "bytes", buf_list[i].addr, buf_list[i].length, 1);
}

// What all of them take first.
#define QP_EX struct ibv_qp_ex *qp

#define ROW(name, operation, parameters, ...) \
	static void name parameters \
	{ \
		building("ibv_" #name, qp, operation); \
		__VA_ARGS__; \
		done(0); \
	}

// A request, if the queue pair is made for the operation.
#define BUILDER(name, operation, ...) ROW(name, IBV_QP_EX_WITH_##operation, __VA_ARGS__)
// A part of the last request.
#define SETTER(name, ...) ROW(name, 0, __VA_ARGS__)

BUILDER(wr_atomic_cmp_swp, ATOMIC_CMP_AND_SWP, (QP_EX, uint32_t rkey, uint64_t remote_addr, uint64_t compare, uint64_t swap),
	NUMBER(rkey), ADDRESS(remote_addr), NUMBER(compare), NUMBER(swap))
BUILDER(wr_atomic_fetch_add, ATOMIC_FETCH_AND_ADD, (QP_EX, uint32_t rkey, uint64_t remote_addr, uint64_t add),
	NUMBER(rkey), ADDRESS(remote_addr), NUMBER(add))
BUILDER(wr_atomic_write, ATOMIC_WRITE, (QP_EX, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr),
	NUMBER(rkey), ADDRESS(remote_addr), BYTES(atomic_wr, 8))
BUILDER(wr_flush, FLUSH, (QP_EX, uint32_t rkey, uint64_t remote_addr, size_t len, uint8_t type, uint8_t level),
	NUMBER(rkey), ADDRESS(remote_addr), NUMBER(len), NUMBER(type), NUMBER(level))
BUILDER(wr_bind_mw, BIND_MW, (QP_EX, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *bind_info),
	OBJECT(MW, mw), NUMBER(rkey), put_bind_info("bind_info", bind_info))
BUILDER(wr_local_inv, LOCAL_INV, (QP_EX, uint32_t invalidate_rkey), NUMBER(invalidate_rkey))
BUILDER(wr_rdma_read, RDMA_READ, (QP_EX, uint32_t rkey, uint64_t remote_addr),
	NUMBER(rkey), ADDRESS(remote_addr))
BUILDER(wr_rdma_write, RDMA_WRITE, (QP_EX, uint32_t rkey, uint64_t remote_addr),
	NUMBER(rkey), ADDRESS(remote_addr))
BUILDER(wr_rdma_write_imm, RDMA_WRITE_WITH_IMM, (QP_EX, uint32_t rkey, uint64_t remote_addr, __be32 imm_data),
	NUMBER(rkey), ADDRESS(remote_addr), NUMBER(imm_data))
BUILDER(wr_send, SEND, (QP_EX), (void)0)
BUILDER(wr_send_imm, SEND_WITH_IMM, (QP_EX, __be32 imm_data), NUMBER(imm_data))
BUILDER(wr_send_inv, SEND_WITH_INV, (QP_EX, uint32_t invalidate_rkey), NUMBER(invalidate_rkey))
BUILDER(wr_send_tso, TSO, (QP_EX, void *hdr, uint16_t hdr_sz, uint16_t mss),
	BYTES(hdr, hdr_sz), NUMBER(hdr_sz), NUMBER(mss))
SETTER(wr_set_ud_addr, (QP_EX, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey),
	OBJECT(AH, ah), NUMBER(remote_qpn), NUMBER(remote_qkey))
SETTER(wr_set_xrc_srqn, (QP_EX, uint32_t remote_srqn), NUMBER(remote_srqn))
SETTER(wr_set_inline_data, (QP_EX, void *addr, size_t length), BYTES(addr, length), NUMBER(length))
SETTER(wr_set_inline_data_list, (QP_EX, size_t num_buf, const struct ibv_data_buf *buf_list),
	NUMBER(num_buf), put_data(buf_list, num_buf))
SETTER(wr_set_sge, (QP_EX, uint32_t lkey, uint64_t addr, uint32_t length),
	NUMBER(lkey), ADDRESS(addr), NUMBER(length))
SETTER(wr_set_sge_list, (QP_EX, size_t num_sge, const struct ibv_sge *sg_list),
	NUMBER(num_sge), put_sges("sg_list", sg_list, num_sge))

#define BUILDERS(OP) \
	OP(wr_start) OP(wr_complete) OP(wr_abort) OP(wr_atomic_cmp_swp) OP(wr_atomic_fetch_add) \
	OP(wr_atomic_write) OP(wr_bind_mw) OP(wr_local_inv) OP(wr_rdma_read) OP(wr_rdma_write) \
	OP(wr_rdma_write_imm) OP(wr_send) OP(wr_send_imm) OP(wr_send_inv) OP(wr_send_tso) OP(wr_set_ud_addr) \
	OP(wr_set_xrc_srqn) OP(wr_set_inline_data) OP(wr_set_inline_data_list) OP(wr_set_sge) \
	OP(wr_set_sge_list) OP(wr_flush)
#define SET(op) AT(typeof(&op), qp, ibv_qp_ex, op) = op;

void set_qp_builders(struct ibv_qp_ex *qp)
{
	BUILDERS(SET)
}

// Polling an extended completion queue. A reader for what the queue was not made to tell would be NULL on a real provider;
// here it records a violation.
#include <stdio.h>
#include "ops.h"

static bool load(struct cq_object *object)
{
	if (!take_moved(object))
		return false;
	object->current = object->queue[object->taken++];
	object->cq.status = object->current.wc.status;
	object->cq.wr_id = object->current.wc.wr_id;
	return true;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct cq_object *object = (void *)cq;

	CALL(ERRNO, OBJECT(CQ, cq), STRUCT(ibv_poll_cq_attr, attr));
	if (object->polling)
		violation("ibv_start_poll: the queue is polled already");
	if (!load(object))
		return fails_with(ENOENT);
	object->polling = true;
	return done(0);
}

static int next_poll(struct ibv_cq_ex *cq)
{
	struct cq_object *object = (void *)cq;

	CALL(ERRNO, OBJECT(CQ, cq));
	if (!object->polling)
		violation("ibv_next_poll: the queue is not polled");
	return load(object) ? done(0) : fails_with(ENOENT);
}

static void end_poll(struct ibv_cq_ex *cq)
{
	struct cq_object *object = (void *)cq;

	TELL(OBJECT(CQ, cq));
	if (!object->polling)
		violation("ibv_end_poll: the queue is not polled");
	object->polling = false;
	done(0);
}

static const struct completion *reading(const char *verb, struct ibv_cq_ex *cq, uint64_t flag)
{
	struct cq_object *object = (void *)cq;

	begin(verb, RETURNS_NOTHING);
	OBJECT(CQ, cq);
	if (!object->polling)
		violation("%s: the queue is not polled", verb);
	if (flag && !(object->wc_flags & flag))
		violation("%s: the queue was not made to tell", verb);
	done(0);
	return &object->current;
}

#define READER(type, op, verb, flag, value) \
	static type op(struct ibv_cq_ex *cq) \
	{ \
		const struct completion *current = reading(#verb, cq, flag); \
		return current->value; \
	}

READER(enum ibv_wc_opcode, read_opcode, ibv_wc_read_opcode, 0, wc.opcode)
READER(uint32_t, read_vendor_err, ibv_wc_read_vendor_err, 0, wc.vendor_err)
READER(uint32_t, read_byte_len, ibv_wc_read_byte_len, IBV_WC_EX_WITH_BYTE_LEN, wc.byte_len)
READER(__be32, read_imm_data, ibv_wc_read_imm_data, IBV_WC_EX_WITH_IMM, wc.imm_data)
READER(uint32_t, read_qp_num, ibv_wc_read_qp_num, IBV_WC_EX_WITH_QP_NUM, wc.qp_num)
READER(uint32_t, read_src_qp, ibv_wc_read_src_qp, IBV_WC_EX_WITH_SRC_QP, wc.src_qp)
READER(unsigned int, read_wc_flags, ibv_wc_read_wc_flags, 0, wc.wc_flags)
READER(uint32_t, read_slid, ibv_wc_read_slid, IBV_WC_EX_WITH_SLID, wc.slid)
READER(uint8_t, read_sl, ibv_wc_read_sl, IBV_WC_EX_WITH_SL, wc.sl)
READER(uint8_t, read_dlid_path_bits, ibv_wc_read_dlid_path_bits, IBV_WC_EX_WITH_DLID_PATH_BITS, wc.dlid_path_bits)
READER(uint64_t, read_completion_ts, ibv_wc_read_completion_ts, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, timestamp)
READER(uint64_t, read_wallclock, ibv_wc_read_completion_wallclock_ns, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
       wallclock_ns)
READER(uint16_t, read_cvlan, ibv_wc_read_cvlan, IBV_WC_EX_WITH_CVLAN, cvlan)
READER(uint32_t, read_flow_tag, ibv_wc_read_flow_tag, IBV_WC_EX_WITH_FLOW_TAG, flow_tag)

static void read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *tm_info)
{
	*tm_info = reading("ibv_wc_read_tm_info", cq, IBV_WC_EX_WITH_TM_INFO)->tm_info;
}

#define READERS(OP) \
	OP(start_poll) OP(next_poll) OP(end_poll) OP(read_opcode) OP(read_vendor_err) OP(read_byte_len) \
	OP(read_imm_data) OP(read_qp_num) OP(read_src_qp) OP(read_wc_flags) OP(read_slid) OP(read_sl) \
	OP(read_dlid_path_bits) OP(read_completion_ts) OP(read_cvlan) OP(read_flow_tag) OP(read_tm_info)
#define SET(op) cq->op = op;

void set_cq_readers(struct ibv_cq_ex *cq)
{
	READERS(SET)
	cq->read_completion_wallclock_ns = read_wallclock;
}

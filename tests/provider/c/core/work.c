// Work requests as they arrive: the whole chain, and what it points to.
#include "recorder.h"

void put_sges(const char *name, const struct ibv_sge *list, int count)
{
	put_struct(name, "ibv_sge", list, sizeof *list, count > 0 ? count : 0);
}

static void put_inline_data(unsigned at, const struct ibv_send_wr *wr)
{
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];
		put_struct(named("wr[%u].data[%d]", at, i), "bytes", (void *)(uintptr_t)sge->addr, sge->length, 1);
	}
}

void put_send_wrs(const struct ibv_send_wr *wr)
{
	for (unsigned at = 0; wr; wr = wr->next, at++) {
		put_struct(named("wr[%u]", at), "ibv_send_wr", wr, sizeof *wr, 1);
		put_sges(named("wr[%u].sg_list", at), wr->sg_list, wr->num_sge);
		if (wr->send_flags & IBV_SEND_INLINE)
			put_inline_data(at, wr);
		if (wr->opcode == IBV_WR_TSO)
			put_struct(named("wr[%u].tso.hdr", at), "bytes", wr->tso.hdr, wr->tso.hdr_sz, 1);
	}
}

void put_recv_wrs(const struct ibv_recv_wr *wr)
{
	for (unsigned at = 0; wr; wr = wr->next, at++) {
		put_struct(named("wr[%u]", at), "ibv_recv_wr", wr, sizeof *wr, 1);
		put_sges(named("wr[%u].sg_list", at), wr->sg_list, wr->num_sge);
	}
}

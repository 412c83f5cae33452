// Shared receive queues: basic, of XRC, and with tag matching.
#include "ops.h"

static struct srq_object *make_srq(struct ibv_context *context, struct ibv_pd *pd, void *srq_context, struct ibv_srq_attr attr)
{
	struct srq_object *srq = create(SRQ, sizeof *srq);

	srq->attr = attr;
	srq->srq.context = context;
	srq->srq.srq_context = srq_context;
	srq->srq.pd = pd;
	srq->srq.handle = object_of(srq)->handle;
	depend(srq, pd);
	if (!moves_data || shm_make_srq(srq))
		return srq;
	destroy(srq);
	return NULL;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init_attr)
{
	MAKE(OBJECT(PD, pd), STRUCT(ibv_srq_init_attr, init_attr));
	return made(make_srq(pd->context, pd, init_attr->srq_context, init_attr->attr));
}

struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq;

	MAKE(OBJECT(CONTEXT, context), STRUCT(ibv_srq_init_attr_ex, attr),
	     pd = put_given(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD, "attr.pd", PD, attr->pd),
	     xrcd = put_given(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD, "attr.xrcd", XRCD, attr->xrcd),
	     cq = put_given(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ, "attr.cq", CQ, attr->cq));
	struct srq_object *srq = make_srq(context, pd, attr->srq_context, attr->attr);
	if (!srq)
		return made(NULL);
	depend(srq, xrcd);
	depend(srq, cq);
	return made(srq);
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, int srq_attr_mask)
{
	struct srq_object *object = (void *)srq;

	CALL(ERRNO, OBJECT(SRQ, srq), STRUCT(ibv_srq_attr, srq_attr), NUMBER(srq_attr_mask));
	if (srq_attr_mask & IBV_SRQ_MAX_WR)
		object->attr.max_wr = srq_attr->max_wr;
	if (srq_attr_mask & IBV_SRQ_LIMIT)
		object->attr.srq_limit = srq_attr->srq_limit;
	shm_limit_srq(object);
	return done(0);
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr)
{
	CALL(ERRNO, OBJECT(SRQ, srq));
	*srq_attr = ((struct srq_object *)srq)->attr;
	return answered(srq_attr, sizeof *srq_attr);
}

int get_srq_num(struct ibv_srq *srq, uint32_t *srq_num)
{
	CALL(ERRNO, OBJECT(SRQ, srq));
	*srq_num = 0x100 + object_of(srq)->number;
	return answered(srq_num, sizeof *srq_num);
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	CALL(ERRNO, OBJECT(SRQ, srq));
	int error = destroy(srq);
	if (!error)
		shm_end_srq((struct srq_object *)srq);
	return done(error);
}

int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	POST(wr, bad_wr, OBJECT(SRQ, srq), put_recv_wrs(wr));
	return done(shm_post_srq_recv(srq, wr, bad_wr));
}

static unsigned put_ops(const struct ibv_ops_wr *wr)
{
	unsigned at = 0;

	for (; wr; wr = wr->next, at++) {
		put_struct(named("op[%u]", at), "ibv_ops_wr", wr, sizeof *wr, 1);
		if (wr->opcode == IBV_WR_TAG_ADD)
			put_sges(named("op[%u].sg_list", at), wr->tm.add.sg_list, wr->tm.add.num_sge);
	}
	return at;
}

int post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op)
{
	unsigned at;

	POST(op, bad_op, OBJECT(SRQ, srq), at = put_ops(op));
	for (struct ibv_ops_wr *wr = op; wr; wr = wr->next)
		if (wr->opcode == IBV_WR_TAG_ADD)
			wr->tm.handle = 0x200 + --at;
	return done(0);
}

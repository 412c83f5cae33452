// Receive work queues and their indirection tables.
#include "ops.h"

static int post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	POST(wr, bad_wr, OBJECT(WQ, wq), put_recv_wrs(wr));
	return done(0);
}

struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	MAKE(OBJECT(CONTEXT, context), STRUCT(ibv_wq_init_attr, attr), put_object("attr.pd", PD, attr->pd, false),
	     put_object("attr.cq", CQ, attr->cq, false));
	struct ibv_wq *wq = create(WQ, sizeof *wq);
	wq->context = context;
	wq->wq_context = attr->wq_context;
	wq->pd = attr->pd;
	wq->cq = attr->cq;
	wq->handle = object_of(wq)->handle;
	wq->wq_num = 0x400 + object_of(wq)->number;
	wq->wq_type = attr->wq_type;
	wq->state = IBV_WQS_RESET;
	wq->post_recv = post_wq_recv;
	depend(wq, attr->pd);
	depend(wq, attr->cq);
	return made(wq);
}

int modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr)
{
	CALL(ERRNO, OBJECT(WQ, wq), STRUCT(ibv_wq_attr, attr));
	if (attr->attr_mask & IBV_WQ_ATTR_STATE)
		wq->state = attr->wq_state;
	return done(0);
}

DESTROYER(destroy_wq, WQ, struct ibv_wq, wq)

static void put_queues(struct ibv_wq **queues, unsigned count)
{
	put_struct("attr.ind_tbl", "pointers", queues, sizeof *queues, count);
	for (unsigned i = 0; i < count && queues; i++)
		put_object(named("attr.ind_tbl[%u]", i), WQ, queues[i], false);
}

struct ibv_rwq_ind_table *create_rwq_ind_table(struct ibv_context *context, struct ibv_rwq_ind_table_init_attr *attr)
{
	unsigned count = 1u << (attr->log_ind_tbl_size & 31);

	MAKE(OBJECT(CONTEXT, context), STRUCT(ibv_rwq_ind_table_init_attr, attr), put_queues(attr->ind_tbl, count));
	if (!attr->ind_tbl)
		return (void *)fails_with(EFAULT);
	struct ibv_rwq_ind_table *table = create(TABLE, sizeof *table);
	table->context = context;
	table->ind_tbl_handle = object_of(table)->handle;
	table->ind_tbl_num = 0x600 + object_of(table)->number;
	depend(table, context);
	for (unsigned i = 0; i < count; i++)
		depend(table, attr->ind_tbl[i]);
	return made(table);
}

DESTROYER(destroy_rwq_ind_table, TABLE, struct ibv_rwq_ind_table, table)

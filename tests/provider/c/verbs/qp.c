// Queue pairs: life, attributes, groups, and posting.
#include "ops.h"

static struct qp_object *make_qp(struct ibv_context *context, struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	struct qp_object *object = create(QP, sizeof *object);
	struct ibv_qp *qp = &object->qp.qp_base;

	object->init = *init;
	object->attr.cap = init->cap;
	qp->context = context;
	qp->qp_context = init->qp_context;
	qp->pd = pd;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->srq = init->srq;
	qp->handle = object_of(qp)->handle;
	qp->qp_num = FIRST_QP_NUM + object_of(qp)->number;
	qp->state = IBV_QPS_RESET;
	qp->qp_type = init->qp_type;
	depend(qp, pd);
	depend(qp, qp->send_cq);
	depend(qp, qp->recv_cq);
	depend(qp, qp->srq);
	object->domain = pd;
	object->allocated = allocate_from(pd, 4096);
	if (!moves_data || shm_make_qp(object))
		return object;
	destroy(qp);
	return NULL;
}

static void put_queues(const char *name, const struct ibv_qp_init_attr *init)
{
	put_object(named("%s.send_cq", name), CQ, init->send_cq, true);
	put_object(named("%s.recv_cq", name), CQ, init->recv_cq, true);
	put_object(named("%s.srq", name), SRQ, init->srq, true);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr)
{
	MAKE(OBJECT(PD, pd), STRUCT(ibv_qp_init_attr, init_attr), put_queues("init_attr", init_attr));
	return made(make_qp(pd->context, pd, init_attr));
}

struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	// The extended struct starts with the plain one.
	const struct ibv_qp_init_attr *init = (const void *)attr;
	const struct ibv_rx_hash_conf *hash = &attr->rx_hash_conf;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	struct ibv_rwq_ind_table *table;

	if (IS_PLAIN && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	MAKE(OBJECT(CONTEXT, context), STRUCT(ibv_qp_init_attr_ex, attr), put_queues("attr", init),
	     pd = put_given(attr->comp_mask & IBV_QP_INIT_ATTR_PD, "attr.pd", PD, attr->pd),
	     xrcd = put_given(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD, "attr.xrcd", XRCD, attr->xrcd),
	     table = put_given(attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE, "attr.rwq_ind_tbl", TABLE, attr->rwq_ind_tbl);
	     if (attr->comp_mask & IBV_QP_INIT_ATTR_RX_HASH)
		     put_struct("attr.rx_hash_key", "bytes", hash->rx_hash_key, hash->rx_hash_key_len, 1));
	struct qp_object *qp = make_qp(context, pd, init);
	if (!qp)
		return made(NULL);
	depend(qp, xrcd);
	depend(qp, table);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		qp->is_ex = true;
		qp->send_ops = attr->send_ops_flags;
		set_qp_builders(&qp->qp);
	}
	return made(qp);
}

struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	struct ibv_qp_init_attr init = { .qp_context = attr->qp_context, .qp_type = attr->qp_type };
	struct ibv_xrcd *xrcd;

	MAKE(OBJECT(CONTEXT, context), STRUCT(ibv_qp_open_attr, attr),
	     xrcd = put_given(attr->comp_mask & IBV_QP_OPEN_ATTR_XRCD, "attr.xrcd", XRCD, attr->xrcd));
	struct qp_object *qp = make_qp(context, NULL, &init);
	depend(qp, xrcd);
	qp->qp.qp_base.qp_num = attr->qp_num;
	return made(qp);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	MAKE(OBJECT(QP, qp));
	struct qp_object *object = (void *)qp;
	done(object->is_ex);
	return object->is_ex ? &object->qp : NULL;
}

#define FIELD(flag, field) { flag, offsetof(struct ibv_qp_attr, field), sizeof(((struct ibv_qp_attr *)0)->field) }

// Which fields an attribute mask sets.
static const struct {
	int flag;
	size_t offset;
	size_t size;
} fields[] = {
	FIELD(IBV_QP_STATE, qp_state), FIELD(IBV_QP_CUR_STATE, cur_qp_state),
	FIELD(IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify), FIELD(IBV_QP_ACCESS_FLAGS, qp_access_flags),
	FIELD(IBV_QP_PKEY_INDEX, pkey_index), FIELD(IBV_QP_PORT, port_num), FIELD(IBV_QP_QKEY, qkey), FIELD(IBV_QP_AV, ah_attr),
	FIELD(IBV_QP_PATH_MTU, path_mtu), FIELD(IBV_QP_TIMEOUT, timeout), FIELD(IBV_QP_RETRY_CNT, retry_cnt),
	FIELD(IBV_QP_RNR_RETRY, rnr_retry), FIELD(IBV_QP_RQ_PSN, rq_psn), FIELD(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic),
	FIELD(IBV_QP_ALT_PATH, alt_ah_attr), FIELD(IBV_QP_ALT_PATH, alt_port_num), FIELD(IBV_QP_ALT_PATH, alt_timeout),
	FIELD(IBV_QP_ALT_PATH, alt_pkey_index), FIELD(IBV_QP_MIN_RNR_TIMER, min_rnr_timer), FIELD(IBV_QP_SQ_PSN, sq_psn),
	FIELD(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic), FIELD(IBV_QP_PATH_MIG_STATE, path_mig_state),
	FIELD(IBV_QP_CAP, cap), FIELD(IBV_QP_DEST_QPN, dest_qp_num), FIELD(IBV_QP_RATE_LIMIT, rate_limit),
};

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct qp_object *object = (void *)qp;
	struct route route;

	CALL(ERRNO, OBJECT(QP, qp), STRUCT(ibv_qp_attr, attr), NUMBER(attr_mask));
	if (IS_PLAIN && attr_mask & IBV_QP_AV && !set_route(&route, &attr->ah_attr))
		return fails_with(EINVAL);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (attr_mask & fields[i].flag)
			memcpy((char *)&object->attr + fields[i].offset, (char *)attr + fields[i].offset, fields[i].size);
	if (attr_mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	shm_change_qp(object, attr_mask);
	return done(0);
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct qp_object *object = (void *)qp;

	CALL(ERRNO, OBJECT(QP, qp), NUMBER(attr_mask));
	if (object->shm.shared)
		object->attr.qp_state = object->shm.shared->state;
	*attr = object->attr;
	*init_attr = object->init;
	answer("ibv_query_qp", attr, sizeof *attr);
	qp->state = attr->qp_state;
	return done(0);
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	int in_order = 1;

	CALL(NOTHING, OBJECT(QP, qp), NUMBER(op), NUMBER(flags));
	answer("ibv_query_qp_data_in_order", &in_order, sizeof in_order);
	done(0);
	return in_order;
}

int modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	CALL(ERRNO, OBJECT(QP, qp), STRUCT(ibv_qp_rate_limit_attr, attr));
	return done(0);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct qp_object *object = (void *)qp;

	CALL(ERRNO, OBJECT(QP, qp));
	if (object->building)
		violation("ibv_destroy_qp: the queue pair is between ibv_wr_start and ibv_wr_complete");
	int error = destroy(qp);
	if (!error) {
		free_to(object->domain, object->allocated);
		shm_end_qp(object);
	}
	return done(error);
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	CALL(ERRNO, OBJECT(QP, qp), STRUCT(ibv_ece, ece));
	((struct qp_object *)qp)->ece = *ece;
	return done(0);
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	CALL(ERRNO, OBJECT(QP, qp), STRUCT(ibv_ece, ece));
	*ece = ((struct qp_object *)qp)->ece;
	return answered(ece, sizeof *ece);
}

static int change_group(const char *verb, struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid, int by)
{
	CALL_AS(verb, ERRNO, OBJECT(QP, qp), put_struct("gid", "ibv_gid", gid, sizeof *gid, 1), NUMBER(lid));
	if (by < 0 && !object_of(qp)->users)
		return fails_with(EINVAL);
	if (((struct qp_object *)qp)->shm.shared && !shm_change_group(qp->qp_num, gid, by > 0))
		return fails_with(EINVAL);
	object_of(qp)->users += by;
	return done(0);
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return change_group("ibv_attach_mcast", qp, gid, lid, 1);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return change_group("ibv_detach_mcast", qp, gid, lid, -1);
}

static void put_request_objects(const struct ibv_send_wr *wr, enum ibv_qp_type type)
{
	for (unsigned at = 0; wr; wr = wr->next, at++) {
		if (type == IBV_QPT_UD)
			put_object(named("wr[%u].wr.ud.ah", at), AH, wr->wr.ud.ah, false);
		if (wr->opcode == IBV_WR_BIND_MW)
			put_object(named("wr[%u].bind_mw.mw", at), MW, wr->bind_mw.mw, false);
	}
}

int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	POST(wr, bad_wr, OBJECT(QP, qp), put_send_wrs(wr), put_request_objects(wr, qp->qp_type));
	return done(shm_post_send(qp, wr, bad_wr));
}

int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	POST(wr, bad_wr, OBJECT(QP, qp), put_recv_wrs(wr));
	return done(shm_post_recv(qp, wr, bad_wr));
}

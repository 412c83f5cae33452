// Completion counters. They count what a program adds.
#include "ops.h"

static const struct ibv_comp_cntr_caps most = {
	.max_value = UINT64_MAX,
	.max_counters = 64,
	.supported_qp_attach_ops = IBV_QP_ATTACH_COMP_CNTR_OP_SEND | IBV_QP_ATTACH_COMP_CNTR_OP_RECV,
};

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps, size_t caps_size)
{
	CALL(ERRNO, OBJECT(CONTEXT, context), NUMBER(caps_size));
	memcpy(caps, &most, caps_size < sizeof most ? caps_size : sizeof most);
	return answered(caps, caps_size);
}

struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context, struct ibv_comp_cntr_init_attr *cc_attr)
{
	MAKE(OBJECT(CONTEXT, context), STRUCT(ibv_comp_cntr_init_attr, cc_attr));
	struct comp_cntr_object *object = create(CNTR, sizeof *object);
	object->comp_cntr.context = context;
	object->comp_cntr.handle = object_of(object)->handle;
	depend(object, context);
	return made(object);
}

DESTROYER(ibv_destroy_comp_cntr, CNTR, struct ibv_comp_cntr, comp_cntr)

#define CHANGER(verb, argument, effect) \
	int verb(struct ibv_comp_cntr *comp_cntr, uint64_t argument) \
	{ \
		struct comp_cntr_object *object = (void *)comp_cntr; \
		CALL(ERRNO, OBJECT(CNTR, comp_cntr), NUMBER(argument)); \
		effect; \
		return done(0); \
	}
#define READER(verb, counted) \
	int verb(struct ibv_comp_cntr *comp_cntr, uint64_t *value) \
	{ \
		CALL(ERRNO, OBJECT(CNTR, comp_cntr)); \
		*value = ((struct comp_cntr_object *)comp_cntr)->counted; \
		return done(0); \
	}

CHANGER(ibv_set_comp_cntr, value, object->good = value)
CHANGER(ibv_set_err_comp_cntr, value, object->bad = value)
CHANGER(ibv_inc_comp_cntr, amount, object->good += amount)
CHANGER(ibv_inc_err_comp_cntr, amount, object->bad += amount)
READER(ibv_read_comp_cntr, good)
READER(ibv_read_err_comp_cntr, bad)

int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *comp_cntr, struct ibv_qp_attach_comp_cntr_attr *attr)
{
	CALL(ERRNO, OBJECT(QP, qp), OBJECT(CNTR, comp_cntr), STRUCT(ibv_qp_attach_comp_cntr_attr, attr));
	depend(qp, comp_cntr);
	return done(0);
}

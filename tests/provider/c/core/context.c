// Fills a context with every op of the extended ABI.
#include "ops.h"

#define SET_CONTEXT_OP(op) verbs->context.ops.op = op;
#define SET_EXTENDED_OP(op) verbs->op = op;

void set_context_ops(struct verbs_context *verbs)
{
	CONTEXT_OPS(SET_CONTEXT_OP)
	EXTENDED_OPS(SET_EXTENDED_OP)
	verbs->ibv_create_flow = create_flow;
	verbs->ibv_destroy_flow = destroy_flow;
}

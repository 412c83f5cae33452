// What functions of verbs.h make of their input, on a provider that only keeps what it was called with.
#include <infiniband/verbs.h>
#include <stdint.h>
#include <string.h>

static struct verbs_context provider;
static struct ibv_wq wq;
static struct ibv_mw mw;
static struct ibv_mr mr;
static int calls;

static struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	(void)attr;
	memset(&wq, 0xff, sizeof(wq));
	wq.context = context;
	return &wq;
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *window, struct ibv_mw_bind *bind)
{
	(void)qp, (void)window, (void)bind;
	calls++;
	return 0;
}

static int post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op)
{
	(void)srq, (void)op, (void)bad_op;
	return 12;
}

struct ibv_context *open_provider(void)
{
	provider.sz = sizeof(provider);
	provider.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	provider.create_wq = create_wq;
	provider.post_srq_ops = post_srq_ops;
	provider.context.ops.bind_mw = bind_mw;
	return &provider.context;
}

void forget_srq_ops(void)
{
	provider.post_srq_ops = NULL;
}

// The queue that ibv_create_wq of the header gives.
int header_wq(struct ibv_wq_init_attr *attr, void *copy)
{
	struct ibv_wq *made = ibv_create_wq(&provider.context, attr);

	memcpy(copy, made, sizeof(*made));
	return sizeof(*made);
}

struct ibv_mw *window(int type, uintptr_t pd)
{
	mw.context = &provider.context;
	mw.type = type;
	mw.pd = (struct ibv_pd *)pd;
	return &mw;
}

struct ibv_mr *region(uintptr_t pd)
{
	mr.pd = (struct ibv_pd *)pd;
	return &mr;
}

int header_bind_mw(struct ibv_mw *window, struct ibv_mw_bind *bind)
{
	return ibv_bind_mw(NULL, window, bind);
}

int bind_calls(void)
{
	int made = calls;

	calls = 0;
	return made;
}

uint32_t header_inc_rkey(uint32_t rkey)
{
	return ibv_inc_rkey(rkey);
}

int header_is_qpt_supported(uint32_t caps, uint32_t type)
{
	return ibv_is_qpt_supported(caps, type);
}

uint16_t header_udp_sport(uint32_t flow_label)
{
	return ibv_flow_label_to_udp_sport(flow_label);
}

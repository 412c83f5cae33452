// Domains: protection, parent, thread, and extended connection.
#include "ops.h"

static struct ibv_pd *make_pd(struct ibv_context *context)
{
	struct pd_object *pd = create(PD, sizeof *pd);

	pd->pd.context = context;
	pd->pd.handle = object_of(pd)->handle;
	depend(pd, context);
	return &pd->pd;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	MAKE(OBJECT(CONTEXT, context));
	return made(make_pd(context));
}

DESTROYER(ibv_dealloc_pd, PD, struct ibv_pd, pd)

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	MAKE(OBJECT(CONTEXT, context), NUMBER(pd_handle));
	if (!live_object_by_handle(PD, pd_handle))
		return (void *)fails_with(ENOENT);
	struct ibv_pd *pd = make_pd(context);
	pd->handle = pd_handle;
	object_of(pd)->imported = true;
	return made(pd);
}

UNIMPORTER(ibv_unimport_pd, PD, struct ibv_pd, pd)

struct ibv_pd *alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	MAKE(OBJECT(CONTEXT, context), STRUCT(ibv_parent_domain_init_attr, attr),
	     put_object("attr.pd", PD, attr->pd, false), put_object("attr.td", TD, attr->td, true));
	struct pd_object *domain = (void *)make_pd(context);
	depend(domain, attr->pd);
	depend(domain, attr->td);
	domain->has_allocators = attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	domain->attr = *attr;
	domain->pd.handle = attr->pd->handle;
	return made(domain);
}

CREATOR(alloc_td, TD, struct ibv_td, ibv_td_init_attr, init_attr)
DESTROYER(dealloc_td, TD, struct ibv_td, td)

CREATOR(open_xrcd, XRCD, struct ibv_xrcd, ibv_xrcd_init_attr, attr)
DESTROYER(close_xrcd, XRCD, struct ibv_xrcd, xrcd)

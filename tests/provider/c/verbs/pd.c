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
	begin("ibv_alloc_pd", RETURNS_NULL);
	OBJECT(CONTEXT, context);
	if (failing())
		return (void *)failed();
	return made(make_pd(context));
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	begin("ibv_dealloc_pd", RETURNS_ERRNO);
	OBJECT(PD, pd);
	if (failing())
		return failed();
	return done(destroy(pd));
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	begin("ibv_import_pd", RETURNS_NULL);
	OBJECT(CONTEXT, context);
	NUMBER(pd_handle);
	if (failing())
		return (void *)failed();
	if (!live_object_by_handle(PD, pd_handle))
		return (void *)fails_with(ENOENT);
	struct ibv_pd *pd = make_pd(context);
	pd->handle = pd_handle;
	object_of(pd)->imported = true;
	return made(pd);
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
	begin("ibv_unimport_pd", RETURNS_NOTHING);
	OBJECT(PD, pd);
	if (failing()) {
		failed();
		return;
	}
	if (!object_of(pd)->imported)
		violation("ibv_unimport_pd: the domain is not imported");
	done(destroy(pd));
}

struct ibv_pd *alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	begin("ibv_alloc_parent_domain", RETURNS_NULL);
	OBJECT(CONTEXT, context);
	STRUCT(ibv_parent_domain_init_attr, attr);
	put_object("attr.pd", PD, attr->pd, false);
	put_object("attr.td", TD, attr->td, true);
	if (failing())
		return (void *)failed();
	struct pd_object *domain = (void *)make_pd(context);
	depend(domain, attr->pd);
	depend(domain, attr->td);
	domain->has_allocators = attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	domain->attr = *attr;
	return made(domain);
}

struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init_attr)
{
	begin("ibv_alloc_td", RETURNS_NULL);
	OBJECT(CONTEXT, context);
	STRUCT(ibv_td_init_attr, init_attr);
	if (failing())
		return (void *)failed();
	struct ibv_td *td = create(TD, sizeof *td);
	td->context = context;
	depend(td, context);
	return made(td);
}

int dealloc_td(struct ibv_td *td)
{
	begin("ibv_dealloc_td", RETURNS_ERRNO);
	OBJECT(TD, td);
	if (failing())
		return failed();
	return done(destroy(td));
}

struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	begin("ibv_open_xrcd", RETURNS_NULL);
	OBJECT(CONTEXT, context);
	STRUCT(ibv_xrcd_init_attr, attr);
	if (failing())
		return (void *)failed();
	struct ibv_xrcd *xrcd = create(XRCD, sizeof *xrcd);
	xrcd->context = context;
	depend(xrcd, context);
	return made(xrcd);
}

int close_xrcd(struct ibv_xrcd *xrcd)
{
	begin("ibv_close_xrcd", RETURNS_ERRNO);
	OBJECT(XRCD, xrcd);
	if (failing())
		return failed();
	return done(destroy(xrcd));
}

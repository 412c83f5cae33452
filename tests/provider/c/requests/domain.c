// Domains and address handles.
#include "requests.h"

static struct ibv_td *thread_domain(void)
{
	struct ibv_td_init_attr attr = { 0 };

	return ibv_alloc_td(context, &attr);
}

TWIN(alloc_td, "new ThreadDomain")
{
	thread_domain();
}

TWIN(parent_domain, "new ParentDomain")
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT };

	attr.td = thread_domain();
	begin_request();
	ibv_alloc_parent_domain(context, &attr);
}

static void *no_memory(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment, uint64_t resource_type)
{
	(void)pd, (void)pd_context, (void)size, (void)alignment, (void)resource_type;
	return NULL;
}

static void no_free(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type)
{
	(void)pd, (void)pd_context, (void)ptr, (void)resource_type;
}

TWIN(parent_domain_allocators, "new ParentDomain (alignment)")
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
		.alloc = no_memory,
		.free = no_free,
	};

	ibv_alloc_parent_domain(context, &attr);
}

TWIN(open_xrcd, "new XrcDomain (private)")
{
	xrcd();
}

TWIN(open_xrcd_of_file, "new XrcDomain")
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = 5,
		.oflags = O_EXCL,
	};

	ibv_open_xrcd(context, &attr);
}

TWIN(import_pd, "ProtectionDomain.import")
{
	ibv_import_pd(context, pd->handle);
}

TWIN(address_handle, "new AddressHandle")
{
	struct ibv_ah_attr attr = path();

	ibv_create_ah(pd, &attr);
}

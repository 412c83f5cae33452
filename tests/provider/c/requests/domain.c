// Thread, parent and extended connection domains.
#include "requests.h"

REQUEST(thread_domain)
{
	struct ibv_td_init_attr attr = { 0 };

	ibv_dealloc_td(ibv_alloc_td(context, &attr));
}

REQUEST(parent_domain)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = pd };

	attr.td = ibv_alloc_td(context, &td_attr);
	begin_request();
	ibv_dealloc_pd(ibv_alloc_parent_domain(context, &attr));
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

REQUEST(parent_domain_allocators)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
		.alloc = no_memory,
		.free = no_free,
	};

	ibv_dealloc_pd(ibv_alloc_parent_domain(context, &attr));
}

REQUEST(open_xrcd)
{
	ibv_close_xrcd(xrcd());
}

REQUEST(import_pd)
{
	ibv_unimport_pd(ibv_import_pd(context, pd->handle));
}

REQUEST(address_handle)
{
	struct ibv_ah_attr attr = {
		.grh = { .flow_label = 0x12345, .sgid_index = 1, .hop_limit = 64, .traffic_class = 8 },
		.dlid = 0x1234,
		.sl = 3,
		.src_path_bits = 1,
		.static_rate = IBV_RATE_10_GBPS,
		.is_global = 1,
		.port_num = 1,
	};

	attr.grh.dgid = gid("fe80::1:2");
	ibv_destroy_ah(ibv_create_ah(pd, &attr));
}

// The allocators of parent domains: a real provider takes the memory of its queues from them.
#include "recorder.h"

enum { ALIGNMENT = 4096 };

// The type that the recorder's own resources have.
static const uint64_t RESOURCE_TYPE = 1;

bool calls_allocators;

static const struct pd_object *domain_of(const struct ibv_pd *pd)
{
	const struct pd_object *domain = (const void *)pd;

	return calls_allocators && pd && domain->has_allocators ? domain : NULL;
}

static void record(const char *verb, struct ibv_pd *pd, void *pd_context, size_t size, void *memory)
{
	begin(verb, RETURNS_NOTHING);
	OBJECT(PD, pd);
	ADDRESS(pd_context);
	NUMBER(size);
	ADDRESS(memory);
	done(0);
}

void *allocate_from(struct ibv_pd *pd, size_t size)
{
	const struct pd_object *domain = domain_of(pd);

	if (!domain || !domain->attr.alloc)
		return NULL;
	void *memory = domain->attr.alloc(pd, domain->attr.pd_context, size, ALIGNMENT, RESOURCE_TYPE);
	record("alloc", pd, domain->attr.pd_context, size, memory);
	if (memory && memory != IBV_ALLOCATOR_USE_DEFAULT)
		memset(memory, 0xa5, size);
	return memory;
}

void free_to(struct ibv_pd *pd, void *memory)
{
	const struct pd_object *domain = domain_of(pd);

	if (!domain || !domain->attr.free || !memory || memory == IBV_ALLOCATOR_USE_DEFAULT)
		return;
	domain->attr.free(pd, domain->attr.pd_context, memory, RESOURCE_TYPE);
	record("free", pd, domain->attr.pd_context, 0, memory);
}

// Whether creating a queue in a parent domain calls the domain's allocators.
void recorder_call_allocators(bool yes)
{
	calls_allocators = yes;
}

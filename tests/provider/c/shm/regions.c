// Registered memory, and who may use it for what.
#include "shm.h"

enum { FIRST_KEY = 0x1000 };

static struct shared_mr *region_of(uint32_t key)
{
	uint32_t index = (key - FIRST_KEY) >> 8;

	return key >= FIRST_KEY && index < MOST_MRS ? &segment->mrs[index] : NULL;
}

uint64_t reach(uint32_t key, uint64_t domain, uint64_t addr, uint64_t length, uint32_t access)
{
	const struct shared_mr *mr = region_of(key);
	bool is_remote = access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);

	if (!mr || !mr->key || mr->key + is_remote != key || mr->domain != domain || (mr->access & access) != access)
		return 0;
	uint64_t from = addr - mr->iova;
	return from > mr->length || length > mr->length - from ? 0 : mr->addr + from;
}

// Gives a region its keys, by which it is found. Returns whether there are some left.
bool shm_keep_mr(struct ibv_mr *mr, uint64_t iova, uint32_t access)
{
	bool is_kept = false;

	take_lock(&segment->lock);
	for (unsigned tries = 0; tries < MOST_MRS && !is_kept; tries++) {
		uint32_t index = segment->next_mr++ % MOST_MRS;
		struct shared_mr *shared = &segment->mrs[index];
		if (shared->key)
			continue;
		mr->lkey = FIRST_KEY + (index << 8);
		mr->rkey = mr->lkey + 1;
		shared->domain = memory_domain(mr->pd);
		shared->access = access;
		shared->addr = (uintptr_t)mr->addr;
		shared->iova = iova;
		shared->length = mr->length;
		shared->key = mr->lkey;
		is_kept = true;
	}
	give_lock(&segment->lock);
	return is_kept;
}

// That of a region of this process.
static struct shared_mr *own_region(const struct ibv_mr *mr)
{
	struct shared_mr *shared = region_of(mr->lkey);

	return shared && shared->key == mr->lkey && process_of(shared->domain) == own_process ? shared : NULL;
}

void shm_change_mr(const struct ibv_mr *mr, uint64_t iova, const int *access)
{
	struct shared_mr *shared = own_region(mr);

	if (!shared)
		return;
	shared->domain = memory_domain(mr->pd);
	shared->addr = (uintptr_t)mr->addr;
	shared->iova = iova;
	shared->length = mr->length;
	shared->access = access ? (uint32_t)*access : shared->access;
}

void shm_forget_mr(const struct ibv_mr *mr)
{
	struct shared_mr *shared = own_region(mr);

	if (shared)
		shared->key = 0;
}

uint64_t memory_domain(const struct ibv_pd *pd)
{
	return own_domain(pd ? pd->handle : 0);
}

uint64_t own_domain(uint32_t pd)
{
	return (uint64_t)own_process << 32 | pd;
}

uint32_t process_of(uint64_t domain)
{
	return domain >> 32;
}

uint64_t length_of(const struct ibv_sge *sges, int count)
{
	uint64_t length = 0;

	for (int i = 0; i < count; i++)
		length += sges[i].length;
	return length;
}

bool may_use(uint64_t domain, const struct ibv_sge *sges, int count, uint64_t length, uint32_t access)
{
	for (int i = 0; i < count && length; i++) {
		uint64_t part = sges[i].length < length ? sges[i].length : length;
		if (part && !reach(sges[i].lkey, domain, sges[i].addr, part, access))
			return false;
		length -= part;
	}
	return true;
}

// How many bytes this process has registered, for those who test and measure.
uint64_t shm_registered(void)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < MOST_MRS; i++)
		if (segment->mrs[i].key && process_of(segment->mrs[i].domain) == own_process)
			bytes += segment->mrs[i].length;
	return bytes;
}

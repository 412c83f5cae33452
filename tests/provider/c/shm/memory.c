// Registered memory of this process and of others.
#include <string.h>
#include <sys/uio.h>
#include "shm.h"

enum { FIRST_KEY = 0x1000 };

static struct shared_mr *region_of(uint32_t key)
{
	uint32_t index = (key - FIRST_KEY) >> 8;

	return key >= FIRST_KEY && index < MOST_MRS ? &segment->mrs[index] : NULL;
}

uint64_t reach(uint32_t key, int pid, uint64_t addr, uint64_t length, uint32_t access)
{
	const struct shared_mr *mr = region_of(key);

	if (!mr || mr->key != (key & ~0xffu) || mr->pid != pid || (mr->access & access) != access)
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
		shared->pid = own_pid;
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

	return shared && shared->key == mr->lkey && shared->pid == (int)own_pid ? shared : NULL;
}

void shm_change_mr(const struct ibv_mr *mr, uint64_t iova, const int *access)
{
	struct shared_mr *shared = own_region(mr);

	if (!shared)
		return;
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

uint64_t length_of(const struct ibv_sge *sges, int count)
{
	uint64_t length = 0;

	for (int i = 0; i < count; i++)
		length += sges[i].length;
	return length;
}

bool may_use(const struct ibv_send_wr *wr, uint32_t access)
{
	for (int i = 0; i < wr->num_sge && !(wr->send_flags & IBV_SEND_INLINE); i++)
		if (wr->sg_list[i].length && !reach(wr->sg_list[i].lkey, own_pid, wr->sg_list[i].addr, wr->sg_list[i].length, access))
			return false;
	return true;
}

// Where an element of a request is in this process. Inline data need not be registered.
static char *memory_of(const struct ibv_send_wr *wr, const struct ibv_sge *sge)
{
	if (wr->send_flags & IBV_SEND_INLINE)
		return (char *)(uintptr_t)sge->addr;
	return (char *)(uintptr_t)reach(sge->lkey, own_pid, sge->addr, sge->length, 0);
}

void gather(const struct ibv_send_wr *wr, char *to)
{
	for (int i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length)
			memcpy(to, memory_of(wr, &wr->sg_list[i]), wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
}

bool scatter(const struct ibv_sge *sges, int count, const char *from, uint64_t length)
{
	for (int i = 0; i < count && length; i++) {
		uint64_t part = sges[i].length < length ? sges[i].length : length;
		uint64_t to = reach(sges[i].lkey, own_pid, sges[i].addr, part, IBV_ACCESS_LOCAL_WRITE);
		if (!to)
			return false;
		memcpy((char *)(uintptr_t)to, from, part);
		from += part;
		length -= part;
	}
	return true;
}

static int vector_of(const struct ibv_send_wr *wr, struct iovec *vector)
{
	for (int i = 0; i < wr->num_sge; i++)
		vector[i] = (struct iovec){ memory_of(wr, &wr->sg_list[i]), wr->sg_list[i].length };
	return wr->num_sge;
}

// Copies from one list to another of this process.
static void copy_here(const struct iovec *from, int from_count, const struct iovec *to, uint64_t length)
{
	for (uint64_t at = 0, into = 0; length && from_count;) {
		uint64_t part = from->iov_len - at < to->iov_len - into ? from->iov_len - at : to->iov_len - into;
		part = part < length ? part : length;
		memmove((char *)to->iov_base + into, (const char *)from->iov_base + at, part);
		length -= part;
		if ((at += part) == from->iov_len)
			from++, from_count--, at = 0;
		if ((into += part) == to->iov_len)
			to++, into = 0;
	}
}

static bool copy(const struct iovec *own, int own_count, int pid, const struct iovec *theirs, int count, uint64_t length, bool reads)
{
	if (length == 0)
		return true;
	if (pid == (int)own_pid) {
		reads ? copy_here(theirs, count, own, length) : copy_here(own, own_count, theirs, length);
		return true;
	}
	ssize_t copied = reads ? process_vm_readv(pid, own, own_count, theirs, count, 0) :
				 process_vm_writev(pid, own, own_count, theirs, count, 0);
	return copied == (ssize_t)length;
}

bool copy_message(const struct ibv_send_wr *wr, int pid, const struct receive *receive)
{
	struct iovec own[MOST_SGES], theirs[MOST_SGES];
	uint64_t length = length_of(wr->sg_list, wr->num_sge);

	for (unsigned i = 0; i < receive->num_sge; i++) {
		const struct ibv_sge *sge = &receive->sges[i];
		uint64_t to = reach(sge->lkey, pid, sge->addr, sge->length, IBV_ACCESS_LOCAL_WRITE);
		if (!to)
			return false;
		theirs[i] = (struct iovec){ (void *)(uintptr_t)to, sge->length };
	}
	return copy(own, vector_of(wr, own), pid, theirs, receive->num_sge, length, false);
}

bool copy_remote(const struct ibv_send_wr *wr, int pid, uint64_t address, bool reads)
{
	struct iovec own[MOST_SGES];
	uint64_t length = length_of(wr->sg_list, wr->num_sge);
	struct iovec there = { (void *)(uintptr_t)address, length };

	return copy(own, vector_of(wr, own), pid, &there, 1, length, reads);
}

bool change_word(const struct ibv_send_wr *wr, int pid, uint64_t address, uint64_t *before)
{
	struct iovec there = { (void *)(uintptr_t)address, sizeof *before };
	uint64_t after;

	take_lock(&segment->atomics);
	bool is_done = copy(&(struct iovec){ before, sizeof *before }, 1, pid, &there, 1, sizeof *before, true);
	after = wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD   ? *before + wr->wr.atomic.compare_add :
		*before == wr->wr.atomic.compare_add ? wr->wr.atomic.swap : *before;
	is_done = is_done && copy(&(struct iovec){ &after, sizeof after }, 1, pid, &there, 1, sizeof after, false);
	give_lock(&segment->atomics);
	return is_done;
}

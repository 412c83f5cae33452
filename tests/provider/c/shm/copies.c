// Copies between memory of this process and that of any other one.
#include <string.h>
#include <sys/uio.h>
#include "shm.h"

// Where an element of a request is in this process. Inline data need not be registered.
static char *memory_of(uint64_t domain, const struct ibv_send_wr *wr, const struct ibv_sge *sge)
{
	if (wr->send_flags & IBV_SEND_INLINE)
		return (char *)(uintptr_t)sge->addr;
	return (char *)(uintptr_t)reach(sge->lkey, domain, sge->addr, sge->length, 0);
}

void gather(uint64_t domain, const struct ibv_send_wr *wr, char *to)
{
	for (int i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length)
			memcpy(to, memory_of(domain, wr, &wr->sg_list[i]), wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
}

bool scatter(uint64_t domain, const struct ibv_sge *sges, int count, const char *from, uint64_t length)
{
	for (int i = 0; i < count && length; i++) {
		uint64_t part = sges[i].length < length ? sges[i].length : length;
		if (!part)
			continue;
		uint64_t to = reach(sges[i].lkey, domain, sges[i].addr, part, IBV_ACCESS_LOCAL_WRITE);
		if (!to)
			return false;
		memcpy((char *)(uintptr_t)to, from, part);
		from += part;
		length -= part;
	}
	return true;
}

static int vector_of(uint64_t domain, const struct ibv_send_wr *wr, struct iovec *vector)
{
	for (int i = 0; i < wr->num_sge; i++)
		vector[i] = (struct iovec){ memory_of(domain, wr, &wr->sg_list[i]), wr->sg_list[i].length };
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

static bool copy(const struct iovec *own, int own_count, uint32_t process, const struct iovec *theirs, int count, uint64_t length,
		 bool reads)
{
	if (length == 0)
		return true;
	if (process == own_process) {
		reads ? copy_here(theirs, count, own, length) : copy_here(own, own_count, theirs, length);
		return true;
	}
	int pid = pid_of(process);
	ssize_t copied = reads ? process_vm_readv(pid, own, own_count, theirs, count, 0) :
				 process_vm_writev(pid, own, own_count, theirs, count, 0);
	return copied == (ssize_t)length;
}

bool copy_message(const struct message *message, uint64_t to, const struct receive *receive)
{
	struct iovec own[MOST_SGES], theirs[MOST_SGES];
	uint64_t left = message->length;
	unsigned count = 0;

	for (; left; count++) {
		const struct ibv_sge *sge = &receive->sges[count];
		uint64_t part = sge->length < left ? sge->length : left;
		uint64_t place = reach(sge->lkey, to, sge->addr, part, IBV_ACCESS_LOCAL_WRITE);
		theirs[count] = (struct iovec){ (void *)(uintptr_t)place, part };
		left -= part;
	}
	int own_count = vector_of(message->from->shared->domain, message->wr, own);
	return copy(own, own_count, process_of(to), theirs, count, message->length, false);
}

bool copy_remote(const struct message *message, uint64_t domain, uint64_t address)
{
	struct iovec own[MOST_SGES], there = { (void *)(uintptr_t)address, message->length };
	int count = vector_of(message->from->shared->domain, message->wr, own);

	return copy(own, count, process_of(domain), &there, 1, message->length, message->wr->opcode == IBV_WR_RDMA_READ);
}

static bool copy_word(uint64_t *own, uint32_t process, uint64_t address, bool reads)
{
	struct iovec here = { own, sizeof *own }, there = { (void *)(uintptr_t)address, sizeof *own };

	return copy(&here, 1, process, &there, 1, sizeof *own, reads);
}

bool change_word(const struct ibv_send_wr *wr, uint64_t domain, uint64_t address, uint64_t *before)
{
	uint32_t process = process_of(domain);

	take_lock(&segment->atomics);
	bool is_done = copy_word(before, process, address, true);
	uint64_t after = wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD   ? *before + wr->wr.atomic.compare_add :
			 *before == wr->wr.atomic.compare_add ? wr->wr.atomic.swap : *before;
	is_done = is_done && copy_word(&after, process, address, false);
	give_lock(&segment->atomics);
	return is_done;
}

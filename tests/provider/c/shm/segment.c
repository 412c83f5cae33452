// The memory that processes share: who made it, locks, and pieces of any size.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include "shm.h"

// Pages take memory when they are used.
#define SIZE ((size_t)1 << 38)

enum { PAGE = 4096, SPINS = 1000 };

struct segment *segment;
uint32_t own_pid;
// No adapter is faster than the plain device.
uint64_t delay_ns = IS_PLAIN ? 250 : 0;
unsigned own_host = 1;

static void map(int fd, int flags)
{
	void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | flags, fd, 0);

	if (memory == MAP_FAILED) {
		perror("shm: mmap");
		abort();
	}
	madvise(memory, SIZE, MADV_DONTDUMP);
	segment = memory;
	own_pid = getpid();
}

void make_private_segment(void)
{
	map(-1, MAP_ANONYMOUS);
}

// A process that was killed has left its queue pairs and regions behind.
static void remove_the_dead(void)
{
	for (unsigned i = 0; i < MOST_QPS; i++)
		if (segment->qps[i].number && !is_alive(segment->qps[i].pid))
			segment->qps[i].number = 0;
	for (unsigned i = 0; i < MOST_MRS; i++)
		if (segment->mrs[i].key && !is_alive(segment->mrs[i].pid))
			segment->mrs[i].key = 0;
}

static void attach_to(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, SIZE) != 0) {
		perror(path);
		abort();
	}
	map(fd, 0);
	close(fd);
	// Others copy to and from memory of this process, which some systems allow to its parents only.
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	take_lock(&segment->lock);
	remove_the_dead();
	give_lock(&segment->lock);
}

__attribute__((constructor)) static void attach(void)
{
	const char *path = getenv("IBVERBS_SHM"), *delay = getenv("IBVERBS_SHM_DELAY_NS"), *host = getenv("IBVERBS_SHM_HOST");

	if (!IS_PLAIN)
		return;
	delay_ns = delay ? (uint64_t)atoll(delay) : delay_ns;
	own_host = host ? atoi(host) : 1;
	path ? attach_to(path) : make_private_segment();
}

bool is_alive(int pid)
{
	return pid == (int)own_pid || kill(pid, 0) == 0 || errno != ESRCH;
}

void take_lock(lock_t *lock)
{
	for (unsigned spins = 1;; spins++) {
		uint32_t holder = 0;
		if (atomic_compare_exchange_weak_explicit(lock, &holder, own_pid, memory_order_acquire, memory_order_relaxed))
			return;
		if (spins % SPINS)
			continue;
		if (holder && !is_alive(holder) && atomic_compare_exchange_strong(lock, &holder, own_pid))
			return;
		sched_yield();
	}
}

void give_lock(lock_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}

uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

void *place(uint64_t offset)
{
	return (char *)segment + offset;
}

uint64_t offset_of(const void *pointer)
{
	return (const char *)pointer - (const char *)segment;
}

// Pieces have sizes that are powers of two.
static unsigned logarithm(size_t size)
{
	unsigned log = 12;

	while ((size_t)1 << log < size)
		log++;
	return log;
}

void *allocate(size_t size)
{
	unsigned log = logarithm(size);

	take_lock(&segment->lock);
	uint64_t offset = segment->freed[log];
	if (offset)
		segment->freed[log] = *(uint64_t *)place(offset);
	else {
		offset = sizeof *segment + segment->used;
		segment->used += (size_t)1 << log;
	}
	give_lock(&segment->lock);
	if (offset + size > SIZE)
		return NULL;
	*(uint64_t *)place(offset) = 0;
	return place(offset);
}

void release(void *memory, size_t size)
{
	unsigned log = logarithm(size);

	// Its pages read as zeros afterwards.
	if (madvise(memory, (size_t)1 << log, MADV_REMOVE) != 0)
		memset(memory, 0, size);
	take_lock(&segment->lock);
	*(uint64_t *)memory = segment->freed[log];
	segment->freed[log] = offset_of(memory);
	give_lock(&segment->lock);
}

struct pipe_end pipe_of(int fd)
{
	take_lock(&segment->lock);
	struct pipe_end end = { own_pid, fd, ++segment->serial };
	give_lock(&segment->lock);
	return end;
}

// The memory that processes share, and pieces of any size in it.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "shm.h"

// Pages take memory when they are used.
#define SIZE ((size_t)1 << 38)

struct segment *segment;
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
}

void make_private_segment(void)
{
	static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&making);
	if (!segment)
		map(-1, MAP_ANONYMOUS);
	pthread_mutex_unlock(&making);
	// Each test has the same numbers, if the one before it has left nothing.
	segment->next_qp = segment->next_mr = 0;
}

// Others can open what the descriptor stands for, and join.
static int descriptor = -1;

int shm_descriptor(void)
{
	return descriptor;
}

// How many datagrams nobody has received.
uint64_t shm_lost(void)
{
	return segment->lost;
}

// What processes that have ended have left behind.
static void remove_the_dead(void)
{
	for (unsigned i = 0; i < MOST_QPS; i++)
		if (segment->qps[i].number && has_ended(segment->qps[i].process)) {
			leave_groups(segment->qps[i].number);
			segment->qps[i].number = 0;
		}
	for (unsigned i = 0; i < MOST_MRS; i++)
		if (segment->mrs[i].key && has_ended(process_of(segment->mrs[i].domain)))
			segment->mrs[i].key = 0;
}

static void attach_to(int fd)
{
	if (fd < 0 || ftruncate(fd, SIZE) != 0) {
		perror("shm: open the network");
		abort();
	}
	map(fd, 0);
	join_network();
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
	descriptor = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : memfd_create("shm", MFD_CLOEXEC);
	attach_to(descriptor);
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
	// That of a page.
	unsigned log = 12;

	while ((size_t)1 << log < size)
		log++;
	return log;
}

void *allocate(size_t size)
{
	unsigned log = logarithm(size);
	uint64_t offset = 0;

	if (size > SIZE / 2)
		return NULL;
	take_lock(&segment->lock);
	if (segment->freed[log]) {
		offset = segment->freed[log];
		segment->freed[log] = *(uint64_t *)place(offset);
		*(uint64_t *)place(offset) = 0;
	} else if (segment->used + sizeof *segment + ((size_t)1 << log) <= SIZE) {
		offset = sizeof *segment + segment->used;
		segment->used += (size_t)1 << log;
	}
	give_lock(&segment->lock);
	return offset ? place(offset) : NULL;
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
	struct pipe_end end = { own_process, fd, ++segment->serial };
	give_lock(&segment->lock);
	return end;
}

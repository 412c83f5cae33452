// Who is on the network, who has ended, and locks, which are taken over from those.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "shm.h"

enum { SPINS = 1000 };

uint32_t own_process = 1;

bool has_ended(uint32_t process)
{
	return atomic_load_explicit(&segment->processes[process].thread, memory_order_relaxed) & FUTEX_OWNER_DIED;
}

// The kernel marks the words in the list of a thread that ends, however it ends.
static void live(void)
{
	static struct robust_list_head list;
	struct process *process = &segment->processes[own_process];

	list.list.next = &process->entry;
	list.futex_offset = offsetof(struct process, thread) - offsetof(struct process, entry);
	process->entry.next = &list.list;
	syscall(SYS_set_robust_list, &list, sizeof list);
	process->thread = gettid();
}

static void *run(void *none)
{
	live();
	watch_sends();
	return none;
}

static void start_thread(void)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	// A thread has the mask of the one that makes it: signals are for threads of the program.
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	while (!segment->processes[own_process].thread)
		sched_yield();
}

// Numbers are never used again: who holds a lock is known for good.
void join_network(void)
{
	own_process = atomic_fetch_add(&segment->joined, 1) + 1;
	if (own_process >= MOST_PROCESSES) {
		fprintf(stderr, "shm: %d processes have been on this network\n", MOST_PROCESSES - 1);
		abort();
	}
	segment->processes[own_process].pid = getpid();
	// Others copy to and from memory of this process, which some systems allow to its parents only.
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	start_thread();
}

int pid_of(uint32_t process)
{
	return segment->processes[process].pid;
}

void take_lock(lock_t *lock)
{
	for (unsigned spins = 1;; spins++) {
		uint32_t holder = 0;
		if (atomic_compare_exchange_weak_explicit(lock, &holder, own_process, memory_order_acquire, memory_order_relaxed))
			return;
		if (spins % SPINS)
			continue;
		if (holder && has_ended(holder) && atomic_compare_exchange_strong(lock, &holder, own_process))
			return;
		sched_yield();
	}
}

void give_lock(lock_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}

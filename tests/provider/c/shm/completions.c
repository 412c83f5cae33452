// Completion queues: entries that any process may add, and events to whom they belong.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "shm.h"

// AHEAD: how many entries before it is needed a processor asks for a place.
enum { PIPES = 256, AHEAD = 2 };

// Pipes of other processes that this one has opened.
static struct {
	uint64_t serial;
	int fd;
} pipes[PIPES];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static int opened(const struct pipe_end *end)
{
	char path[64];
	typeof(*pipes) *known = &pipes[end->serial % PIPES];

	if (known->serial == end->serial)
		return known->fd;
	if (known->serial)
		close(known->fd);
	snprintf(path, sizeof path, "/proc/%d/fd/%d", end->pid, end->fd);
	// For reading as well: writing to a pipe that nobody reads would end this process.
	known->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	known->serial = end->serial;
	return known->fd;
}

static void send_event(const struct pipe_end *end, const void *bytes, size_t size)
{
	if (end->pid == (int)own_pid) {
		if (end->fd >= 0 && write(end->fd, bytes, size) != (ssize_t)size)
			perror("shm: write an event");
		return;
	}
	pthread_mutex_lock(&opening);
	// A process that has just ended needs none.
	if (end->fd >= 0 && write(opened(end), bytes, size) != (ssize_t)size && is_alive(end->pid))
		perror("shm: write an event to another process");
	pthread_mutex_unlock(&opening);
}

void send_async_event(const struct pipe_end *end, enum ibv_event_type type, uint64_t element)
{
	struct ibv_async_event event;

	memset(&event, 0, sizeof event);
	event.event_type = type;
	event.element.cq = (void *)(uintptr_t)element;
	send_event(end, &event, sizeof event);
}

void fire(struct completions *of, bool is_solicited)
{
	// The owner arms, and then looks for entries. A fence waits until all of them are written, so it costs much.
	atomic_thread_fence(memory_order_seq_cst);
	uint32_t armed = atomic_load_explicit(&of->armed, memory_order_relaxed);
	if (armed == UNARMED || (armed == ARMED_SOLICITED && !is_solicited) || !atomic_exchange(&of->armed, UNARMED))
		return;
	send_event(&of->channel, &of->cq, sizeof of->cq);
}

struct entry *open_entry(struct completions *to)
{
	take_lock(&to->lock);
	if (to->tail - to->known_head > to->mask)
		to->known_head = atomic_load_explicit(&to->head, memory_order_acquire);
	if (to->tail - to->known_head <= to->mask)
		return &to->entries[to->tail & to->mask];
	bool is_first = !to->is_overrun;
	to->is_overrun = true;
	give_lock(&to->lock);
	if (is_first)
		send_async_event(&to->events, IBV_EVENT_CQ_ERR, to->cq);
	return NULL;
}

void close_entry(struct completions *to, struct entry *entry)
{
	atomic_store_explicit(&entry->serial, ++to->tail, memory_order_release);
	for (size_t line = 0; line < 3; line++)
		__builtin_prefetch((char *)&to->entries[(to->tail + AHEAD) & to->mask] + 64 * line, 1);
	give_lock(&to->lock);
}

// The oldest entry, if it is there. `now` is the time, or 0 if it was not asked for yet.
static struct entry *ready(struct completions *of, uint64_t head, uint64_t *now)
{
	struct entry *entry = &of->entries[head & of->mask];

	if (atomic_load_explicit(&entry->serial, memory_order_acquire) != head + 1)
		return NULL;
	if (entry->when > *now)
		*now = now_ns();
	return entry->when > *now ? NULL : entry;
}

// Moves the bytes of a message to where the receive wants them.
static bool take_bytes(struct completions *of, const struct entry *entry, uint64_t head)
{
	struct ibv_sge sges[MOST_SGES];
	const char *bytes = entry->bytes;

	if (entry->length > INLINE)
		bytes = (char *)place(of->bytes) + (head & of->mask) * (GRH_SIZE + MTU);
	if (entry->num_sge == 1)
		return scatter(&entry->first, 1, bytes, entry->length);
	sges[0] = entry->first;
	memcpy(&sges[1], entry->others, sizeof entry->others);
	return scatter(sges, entry->num_sge, bytes, entry->length);
}

// Completions of before a reset may still be there.
static void subtract(_Atomic uint32_t *in_flight, uint32_t count)
{
	if (*in_flight >= count)
		atomic_fetch_sub_explicit(in_flight, count, memory_order_relaxed);
}

static void end_sends(const struct entry *entry)
{
	struct shared_qp *shared = qp_of(entry->qp_num);
	struct shm_qp *qp = shared ? own_qps[shared - segment->qps] : NULL;

	if (qp)
		subtract(&qp->in_flight, entry->sends);
}

static void take_one(struct completions *of, const struct entry *entry, uint64_t head, struct ibv_wc *wc)
{
	memset(wc, 0, sizeof *wc);
	wc->wr_id = entry->wr_id;
	wc->status = entry->status;
	wc->opcode = entry->opcode;
	wc->byte_len = entry->byte_len;
	wc->imm_data = entry->imm;
	wc->qp_num = entry->qp_num;
	wc->src_qp = entry->src_qp;
	wc->wc_flags = entry->wc_flags;
	// A device knows no region of all memory by which a destroyed one could be reached.
	if (entry->length && !take_bytes(of, entry, head))
		wc->status = IBV_WC_LOC_PROT_ERR;
	if (entry->rq)
		subtract(&((struct shm_rq *)(uintptr_t)entry->rq)->in_flight, 1);
	if (entry->sends)
		end_sends(entry);
}

int take_completions(struct shm_cq *cq, int most, struct ibv_wc *wc)
{
	struct completions *of = cq->shared;
	struct entry *entry;
	uint64_t now = 0;
	int count = 0;

	if (!ready(of, atomic_load_explicit(&of->head, memory_order_relaxed), &now))
		return 0;
	take_lock(&cq->lock);
	uint64_t head = atomic_load_explicit(&of->head, memory_order_relaxed);
	for (; count < most && (entry = ready(of, head, &now)); head++)
		take_one(of, entry, head, &wc[count++]);
	atomic_store_explicit(&of->head, head, memory_order_release);
	give_lock(&cq->lock);
	return count;
}

void arm(struct shm_cq *cq, bool solicited_only)
{
	struct completions *of = cq->shared;
	uint32_t unarmed = UNARMED;
	uint64_t now = 0;

	if (solicited_only)
		atomic_compare_exchange_strong(&of->armed, &unarmed, ARMED_SOLICITED);
	else
		atomic_store(&of->armed, ARMED);
	atomic_thread_fence(memory_order_seq_cst);
	// A message that is on its way came before the arming, but nobody could see it.
	uint64_t head = atomic_load(&of->head);
	if (delay_ns && atomic_load(&of->entries[head & of->mask].serial) == head + 1 && !ready(of, head, &now))
		fire(of, true);
}

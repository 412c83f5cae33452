// Completion queues: any process adds entries, and the owner takes them.
#include <string.h>
#include "shm.h"
#include "../core/recorder.h"

// How many entries before it is needed a processor asks for a place, and what a short message takes of that.
enum { AHEAD = 2, LINE = 64, SHORT = 3 * LINE };

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

void close_entry(struct completions *to, struct entry *entry, bool is_solicited)
{
	entry->is_solicited = is_solicited;
	atomic_store_explicit(&entry->serial, ++to->tail, memory_order_release);
	const char *soon = (const char *)&to->entries[(to->tail + AHEAD) & to->mask];
	for (unsigned at = 0; at < SHORT; at += LINE)
		__builtin_prefetch(soon + at, 1);
	give_lock(&to->lock);
}

// An entry, if it is written.
static struct entry *written(struct completions *of, uint64_t head)
{
	struct entry *entry = &of->entries[head & of->mask];

	return atomic_load_explicit(&entry->serial, memory_order_acquire) == head + 1 ? entry : NULL;
}

// The same, if it can be seen. `now` is the time, or 0 if it was not asked for yet.
static struct entry *ready(struct completions *of, uint64_t head, uint64_t *now)
{
	struct entry *entry = written(of, head);

	if (!entry)
		return NULL;
	if (entry->when > *now)
		*now = now_ns();
	return entry->when > *now ? NULL : entry;
}

char *bytes_of(struct completions *of, struct entry *entry)
{
	if (entry->length <= INLINE)
		return entry->bytes;
	return (char *)place(of->bytes) + (entry - of->entries) * (GRH_SIZE + MTU);
}

// Moves the bytes of a message to where the receive wants them.
static bool take_bytes(struct completions *of, struct entry *entry)
{
	struct ibv_sge sges[MOST_SGES] = { entry->first };

	if (entry->num_sge > 1)
		memcpy(&sges[1], entry->others, (entry->num_sge - 1) * sizeof *sges);
	return scatter(own_domain(entry->pd), sges, entry->num_sge, bytes_of(of, entry), entry->length);
}

// Makes room for more requests. The queue pair may have ended meanwhile, and another one may have its number.
static void make_room(const struct entry *entry)
{
	struct shm_qp *qp = own_qps[entry->qp_num - FIRST_QP_NUM];

	if (qp && entry->is_receive)
		know_head(qp->receives, entry->taken);
	else if (qp && qp->in_flight >= entry->sends)
		atomic_fetch_sub_explicit(&qp->in_flight, entry->sends, memory_order_relaxed);
}

static void take_one(struct completions *of, struct entry *entry, struct ibv_wc *wc)
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
	if (entry->length && !take_bytes(of, entry))
		wc->status = IBV_WC_LOC_PROT_ERR;
	make_room(entry);
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
		take_one(of, entry, &wc[count++]);
	atomic_store_explicit(&of->head, head, memory_order_release);
	give_lock(&cq->lock);
	return count;
}

void arm(struct shm_cq *cq, bool solicited_only)
{
	struct completions *of = cq->shared;
	uint32_t unarmed = UNARMED;
	struct entry *entry;

	if (solicited_only)
		atomic_compare_exchange_strong(&of->armed, &unarmed, ARMED_SOLICITED);
	else
		atomic_store(&of->armed, ARMED);
	atomic_thread_fence(memory_order_seq_cst);
	// What is on its way came before the arming, but nobody can see it yet.
	uint64_t now = delay_ns ? now_ns() : UINT64_MAX;
	for (uint64_t head = atomic_load(&of->head); (entry = written(of, head)); head++)
		if (entry->when > now)
			fire(of, entry->is_solicited);
}

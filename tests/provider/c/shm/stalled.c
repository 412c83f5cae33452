// Sends that wait until their peers are ready, and the thread that tries them again.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "shm.h"
#include "../core/recorder.h"

// A send that waits until its peer is ready.
struct stalled {
	struct stalled *next;
	struct ibv_send_wr wr;
	struct ibv_sge sges[MOST_SGES];
	char bytes[];
};

enum { FOREVER = 7, IDLE_MS = 100 };

static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t listed = PTHREAD_COND_INITIALIZER;
static struct shm_qp *waiting[MOST_QPS];
static unsigned waiting_count;
static bool has_news;
// Held while the thread uses queue pairs.
static pthread_mutex_t trying = PTHREAD_MUTEX_INITIALIZER;

static void list(struct shm_qp *qp)
{
	if (qp->is_listed)
		return;
	qp->is_listed = true;
	pthread_mutex_lock(&listing);
	waiting[waiting_count++] = qp;
	has_news = true;
	pthread_cond_signal(&listed);
	pthread_mutex_unlock(&listing);
}

static void unlist(struct shm_qp *qp)
{
	if (!qp->is_listed)
		return;
	qp->is_listed = false;
	pthread_mutex_lock(&listing);
	for (unsigned i = 0; i < waiting_count; i++)
		if (waiting[i] == qp)
			waiting[i--] = waiting[--waiting_count];
	pthread_mutex_unlock(&listing);
}

void keep_send(struct shm_qp *qp, const struct ibv_send_wr *wr)
{
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	uint64_t length = is_inline ? length_of(wr->sg_list, wr->num_sge) : 0;
	struct stalled *send = malloc(sizeof *send + length);

	send->next = NULL;
	send->wr = *wr;
	send->wr.sg_list = send->sges;
	memcpy(send->sges, wr->sg_list, wr->num_sge * sizeof *send->sges);
	if (is_inline) {
		gather(qp->shared->domain, wr, send->bytes);
		send->sges[0] = (struct ibv_sge){ .addr = (uintptr_t)send->bytes, .length = length };
		send->wr.num_sge = 1;
	}
	*(qp->oldest ? qp->end : &qp->oldest) = send;
	qp->end = &send->next;
	list(qp);
}

static void drop_oldest(struct shm_qp *qp)
{
	struct stalled *send = qp->oldest;

	qp->oldest = send->next;
	qp->failures = 0;
	qp->next_try = 0;
	free(send);
}

void flush_sends(struct shm_qp *qp)
{
	for (; qp->oldest; drop_oldest(qp))
		end_send(qp, &qp->oldest->wr, IBV_WC_WR_FLUSH_ERR);
}

void forget_sends(struct shm_qp *qp)
{
	for (; qp->oldest; drop_oldest(qp))
		qp->in_flight--;
	qp->in_flight -= qp->unsignaled;
	qp->unsignaled = 0;
	unlist(qp);
}

// How long a peer that has no receive wants to be left alone, by the code of the specification.
static uint64_t rnr_ns(uint32_t timer)
{
	static const uint16_t hundredths[] = {
		[0] = 65535, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
		6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};
	return hundredths[timer % 32] * 10000ull;
}

bool give_up(struct shm_qp *qp, enum outcome outcome)
{
	const struct ibv_qp_attr *attr = &((struct qp_object *)(uintptr_t)qp->shared->qp)->attr;
	const struct shared_qp *peer = qp_of(qp->shared->dest);

	if (!IS_PLAIN)
		return outcome == UNKNOWN;
	bool is_endless = outcome == NOT_READY ? attr->rnr_retry == FOREVER : attr->timeout == 0;
	// Who does not answer is waited for after the last attempt as well.
	if (!is_endless && qp->failures++ >= (outcome == NOT_READY ? attr->rnr_retry : attr->retry_cnt + 1u))
		return true;
	qp->next_try = now_ns() + (outcome == NOT_READY && peer ? rnr_ns(peer->min_rnr_timer) :
				   attr->timeout ? 4096ull << attr->timeout : IDLE_MS * 1000000ull);
	return false;
}

// Does what a queue pair can do now. Returns when it can be tried again, or UINT64_MAX if none of its sends waits.
static uint64_t go_on(struct shm_qp *qp)
{
	take_lock(&qp->lock);
	while (qp->oldest && qp->shared) {
		if (qp->shared->state == IBV_QPS_ERR)
			flush_sends(qp);
		else if ((IS_PLAIN && now_ns() < qp->next_try) || !attempt(qp, &qp->oldest->wr))
			break;
		else
			drop_oldest(qp);
	}
	let_go(qp);
	uint64_t next = qp->oldest ? qp->next_try : UINT64_MAX;
	if (!qp->oldest)
		unlist(qp);
	give_lock(&qp->lock);
	return next;
}

uint64_t try_again(void)
{
	uint64_t next = UINT64_MAX;

	pthread_mutex_lock(&listing);
	unsigned count = waiting_count;
	struct shm_qp **all = memcpy(malloc(count * sizeof *all + 1), waiting, count * sizeof *all);
	pthread_mutex_unlock(&listing);
	for (unsigned i = 0; i < count; i++) {
		uint64_t own = go_on(all[i]);
		next = own < next ? own : next;
	}
	free(all);
	return next;
}

void await_attempts(void)
{
	pthread_mutex_lock(&trying);
	pthread_mutex_unlock(&trying);
}

// Waits until a time, or for more queue pairs with sends that wait.
static void sleep_until(uint64_t time)
{
	uint64_t latest = now_ns() + IDLE_MS * 1000000ull, next = time < latest ? time : latest;
	struct timespec until = { .tv_sec = next / 1000000000, .tv_nsec = next % 1000000000 };

	pthread_mutex_lock(&listing);
	if (!has_news && time == UINT64_MAX)
		pthread_cond_wait(&listed, &listing);
	else if (!has_news)
		pthread_cond_clockwait(&listed, &listing, CLOCK_MONOTONIC, &until);
	has_news = false;
	pthread_mutex_unlock(&listing);
}

void watch_sends(void)
{
	for (;;) {
		pthread_mutex_lock(&trying);
		uint64_t next = try_again();
		pthread_mutex_unlock(&trying);
		sleep_until(next);
	}
}

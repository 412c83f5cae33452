// Sends: what a device does with each request, and what it does when the peer does not answer.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
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

// How an attempt ends. An unknown peer answers nothing, one that is being set up answers nothing yet.
enum outcome { ENDED, UNKNOWN, SILENT, NOT_READY };

enum { FOREVER = 7, ASK_AGAIN = 64, IDLE_MS = 100 };

struct shm_qp *own_qps[MOST_QPS];

static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t listed = PTHREAD_COND_INITIALIZER;
static struct shm_qp *waiting[MOST_QPS];
static unsigned waiting_count;

struct shared_qp *qp_of(uint32_t number)
{
	uint32_t index = number - FIRST_QP_NUM;

	if (index >= MOST_QPS || segment->qps[index].number != number)
		return NULL;
	return &segment->qps[index];
}

static bool may_receive(const struct shared_qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD;
}

void drop_receives(struct shared_qp *qp)
{
	struct receive_queue *receives = place(qp->receives);

	if (!qp->has_srq)
		receives->head = receives->known_tail = receives->tail;
}

void break_down(struct shared_qp *qp)
{
	struct receive_queue *receives = place(qp->receives);
	struct completions *completions = place(qp->completions);

	qp->state = IBV_QPS_ERR;
	if (qp->has_srq) {
		send_async_event(&qp->events, IBV_EVENT_QP_LAST_WQE_REACHED, qp->qp);
		return;
	}
	// Who posts adds its receives, and then looks at the state.
	atomic_thread_fence(memory_order_seq_cst);
	for (; receives->head != receives->tail; receives->head++) {
		struct entry *entry = open_entry(completions);
		if (!entry)
			continue;
		memset(entry, 0, offsetof(struct entry, bytes));
		entry->wr_id = receives->receives[receives->head & receives->mask].wr_id;
		entry->rq = receives->rq;
		entry->status = IBV_WC_WR_FLUSH_ERR;
		entry->qp_num = qp->number;
		close_entry(completions, entry);
	}
	receives->known_tail = receives->head;
	fire(completions, true);
}

static void break_peer(struct shared_qp *peer, enum ibv_event_type type)
{
	send_async_event(&peer->events, type, peer->qp);
	break_down(peer);
}

// An entry ends a receive of a queue.
static void put_receive(struct entry *entry, const struct receive_queue *queue, const struct receive *receive)
{
	entry->wr_id = receive->wr_id;
	entry->rq = queue->rq;
	entry->num_sge = receive->num_sge;
	entry->first = receive->sges[0];
	for (unsigned i = 1; i < receive->num_sge; i++)
		entry->others[i - 1] = receive->sges[i];
}

// Takes the oldest receive of a queue pair whose lock is held. Its place is free before the owner sees the completion.
static bool take_receive(struct shared_qp *peer, struct receive *taken)
{
	struct receive_queue *queue = place(peer->receives);
	bool is_low = false;

	if (peer->has_srq)
		take_lock(&queue->lock);
	uint32_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
	if (head == queue->known_tail)
		queue->known_tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
	bool is_there = head != queue->known_tail;
	if (is_there) {
		const struct receive *oldest = &queue->receives[head & queue->mask];
		memcpy(taken, oldest, offsetof(struct receive, sges) + oldest->num_sge * sizeof *oldest->sges);
		atomic_store_explicit(&queue->head, ++head, memory_order_release);
		__builtin_prefetch(&queue->receives[head & queue->mask]);
		is_low = queue->limit && queue->tail - head < queue->limit && atomic_exchange(&queue->limit, 0);
	}
	if (peer->has_srq)
		give_lock(&queue->lock);
	if (is_low)
		send_async_event(&queue->events, IBV_EVENT_SRQ_LIMIT_REACHED, queue->srq);
	return is_there;
}

// Writes the completion of a receive, with the bytes of its message if these travel with it.
static void complete_receive(struct shm_qp *qp, struct shared_qp *peer, const struct ibv_send_wr *wr, const struct route *route,
			     const struct receive *receive, uint64_t length, enum ibv_wc_status status)
{
	struct completions *completions = place(peer->completions);
	struct entry *entry = open_entry(completions);
	bool is_write = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM, is_whole = status == IBV_WC_SUCCESS;
	bool has_imm = is_write || wr->opcode == IBV_WR_SEND_WITH_IMM;
	uint64_t header = route ? GRH_SIZE : 0, bytes = is_write || !is_whole || length > MTU ? 0 : header + length;

	if (!entry)
		return;
	put_receive(entry, place(peer->receives), receive);
	entry->status = status;
	entry->opcode = is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	entry->wc_flags = (route ? IBV_WC_GRH : 0) | (has_imm ? IBV_WC_WITH_IMM : 0);
	entry->byte_len = header + length;
	entry->imm = wr->imm_data;
	entry->qp_num = peer->number;
	entry->src_qp = qp->shared->number;
	entry->sends = 0;
	entry->length = bytes;
	if (bytes) {
		char *to = bytes <= INLINE ? entry->bytes :
					     (char *)place(completions->bytes) + (completions->tail & completions->mask) * (GRH_SIZE + MTU);
		if (route)
			put_header(to, route, length);
		gather(wr, to + header);
	}
	entry->when = qp->when;
	close_entry(completions, entry);
	qp->has_delivered = true;
	qp->is_solicited |= !is_whole || wr->send_flags & IBV_SEND_SOLICITED;
}

// Gives a message to a queue pair whose lock is held.
static enum outcome deliver(struct shm_qp *qp, struct shared_qp *peer, const struct ibv_send_wr *wr, const struct route *route,
			    uint64_t length, enum ibv_wc_status *status)
{
	struct receive receive;
	bool is_write = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	enum ibv_wc_status received = IBV_WC_SUCCESS;

	if (!take_receive(peer, &receive))
		return NOT_READY;
	if (!is_write && length + (route ? GRH_SIZE : 0) > receive.length)
		received = IBV_WC_LOC_LEN_ERR;
	else if (!is_write && length > MTU && !copy_message(wr, peer->pid, &receive))
		received = IBV_WC_LOC_PROT_ERR;
	complete_receive(qp, peer, wr, route, &receive, length, received);
	if (received == IBV_WC_SUCCESS)
		return ENDED;
	*status = route ? IBV_WC_SUCCESS : received == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR;
	break_peer(peer, IBV_EVENT_QP_REQ_ERR);
	return ENDED;
}

// Takes the lock of a peer, unless the request before has the same peer.
static void hold(struct shm_qp *qp, struct shared_qp *peer)
{
	if (qp->held == peer)
		return;
	let_go(qp);
	take_lock(&peer->lock);
	qp->held = peer;
	qp->when = delay_ns ? now_ns() + delay_ns : 0;
}

void let_go(struct shm_qp *qp)
{
	struct shared_qp *peer = qp->held;

	if (!peer)
		return;
	if (qp->has_delivered)
		fire(place(peer->completions), qp->is_solicited);
	qp->held = NULL;
	qp->has_delivered = qp->is_solicited = false;
	give_lock(&peer->lock);
}

static void deliver_datagram(struct shm_qp *qp, const struct ibv_send_wr *wr, uint32_t number, const struct route *route,
			     uint64_t length)
{
	uint32_t qkey = wr->wr.ud.remote_qkey >> 31 ? qp->shared->qkey : wr->wr.ud.remote_qkey;
	enum ibv_wc_status status;
	struct shared_qp *peer = qp_of(number);
	enum outcome outcome = NOT_READY;

	if (peer) {
		hold(qp, peer);
		if (peer->number == number && peer->type == IBV_QPT_UD && may_receive(peer) && peer->qkey == qkey &&
		    (!IS_PLAIN || !route->to || route->to == peer->route))
			outcome = deliver(qp, peer, wr, route, length, &status);
	}
	if (outcome != ENDED)
		atomic_fetch_add(&segment->lost, 1);
}

static void deliver_to_group(struct shm_qp *qp, const struct ibv_send_wr *wr, const struct route *route, uint64_t length)
{
	for (unsigned g = 0; g < MOST_GROUPS; g++) {
		const struct group *group = &segment->groups[g];
		// The last bytes of the header are the destination, or the last four are.
		size_t size = route->header[0] ? 16 : 4;
		if (memcmp(group->gid.raw + 16 - size, route->header + GRH_SIZE - size, size) != 0)
			continue;
		for (unsigned i = 0; i < MEMBERS; i++)
			if (group->numbers[i])
				deliver_datagram(qp, wr, group->numbers[i], route, length);
	}
}

static enum ibv_wc_status send_datagram(struct shm_qp *qp, const struct ibv_send_wr *wr, uint64_t length)
{
	const struct route *route = &((struct ah_object *)wr->wr.ud.ah)->route;

	if (length > MTU)
		return IBV_WC_LOC_LEN_ERR;
	if (wr->wr.ud.remote_qpn == MULTICAST_QPN)
		deliver_to_group(qp, wr, route, length);
	else
		deliver_datagram(qp, wr, wr->wr.ud.remote_qpn, route, length);
	return IBV_WC_SUCCESS;
}

static bool is_atomic(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static uint32_t remote_access(const struct ibv_send_wr *wr)
{
	return is_atomic(wr) ? IBV_ACCESS_REMOTE_ATOMIC :
	       wr->opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
}

// Works on the memory of a peer whose lock is held.
static enum ibv_wc_status operate(struct shared_qp *peer, const struct ibv_send_wr *wr, uint64_t length)
{
	uint64_t before, address, there = is_atomic(wr) ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr;
	uint32_t access = remote_access(wr), key = is_atomic(wr) ? wr->wr.atomic.rkey : wr->wr.rdma.rkey;

	if (is_atomic(wr))
		length = sizeof before;
	if (is_atomic(wr) && there % sizeof before)
		return IBV_WC_REM_INV_REQ_ERR;
	if (length == 0)
		return IBV_WC_SUCCESS;
	address = peer->access & access ? reach(key, peer->pid, there, length, access) : 0;
	if (!address)
		return IBV_WC_REM_ACCESS_ERR;
	if (!is_atomic(wr))
		return copy_remote(wr, peer->pid, address, wr->opcode == IBV_WR_RDMA_READ) ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR;
	if (!change_word(wr, peer->pid, address, &before))
		return IBV_WC_REM_OP_ERR;
	scatter(wr->sg_list, wr->num_sge, (char *)&before, sizeof before);
	return IBV_WC_SUCCESS;
}

// Does a request at a peer whose lock is held.
static enum outcome reach_peer(struct shm_qp *qp, struct shared_qp *peer, const struct ibv_send_wr *wr, uint64_t length,
			       enum ibv_wc_status *status)
{
	bool is_send = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM;
	struct receive_queue *queue = place(peer->receives);

	if (is_send)
		return deliver(qp, peer, wr, NULL, length, status);
	if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && queue->head == queue->tail)
		return NOT_READY;
	*status = operate(peer, wr, length);
	if (*status == IBV_WC_SUCCESS && wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		return deliver(qp, peer, wr, NULL, length, status);
	if (*status != IBV_WC_SUCCESS && qp->shared->type == IBV_QPT_RC)
		break_peer(peer, *status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR);
	return ENDED;
}

// Whether the process of a peer lives: asked now and then.
static bool has_ended(const struct shared_qp *peer)
{
	static __thread uint32_t sends;

	return peer->pid != (int)own_pid && ++sends % ASK_AGAIN == 0 && !is_alive(peer->pid);
}

static enum outcome send_connected(struct shm_qp *qp, const struct ibv_send_wr *wr, uint64_t length, enum ibv_wc_status *status)
{
	const struct shared_qp *own = qp->shared;
	struct shared_qp *peer = qp_of(own->dest);
	enum outcome outcome;

	if (!peer || has_ended(peer))
		return UNKNOWN;
	hold(qp, peer);
	if (peer->number != own->dest || peer->type != own->type || peer->state == IBV_QPS_ERR)
		outcome = UNKNOWN;
	else if (!may_receive(peer))
		outcome = SILENT;
	else if (peer->dest != own->number)
		outcome = UNKNOWN;
	else
		outcome = reach_peer(qp, peer, wr, length, status);
	if (outcome == NOT_READY && !is_alive(peer->pid))
		outcome = UNKNOWN;
	if (own->type != IBV_QPT_UC)
		return outcome;
	// Nobody acknowledges what an unreliable connection sends.
	*status = IBV_WC_SUCCESS;
	return ENDED;
}

static enum outcome execute(struct shm_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status *status)
{
	uint64_t length = length_of(wr->sg_list, wr->num_sge);
	bool writes = wr->opcode == IBV_WR_RDMA_READ || is_atomic(wr);

	*status = IBV_WC_SUCCESS;
	if (!may_use(wr, writes ? IBV_ACCESS_LOCAL_WRITE : 0))
		*status = IBV_WC_LOC_PROT_ERR;
	else if (qp->shared->type == IBV_QPT_UD)
		*status = send_datagram(qp, wr, length);
	else
		return send_connected(qp, wr, length, status);
	return ENDED;
}

static const uint8_t opcodes[] = {
	[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,	[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND] = IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP, [IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
};

static void end_send(struct shm_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	qp->unsignaled++;
	if (status == IBV_WC_SUCCESS && !qp->all_signaled && !(wr->send_flags & IBV_SEND_SIGNALED))
		return;
	struct entry *entry = open_entry(qp->sent);
	if (!entry)
		return;
	memset(entry, 0, offsetof(struct entry, bytes));
	entry->wr_id = wr->wr_id;
	entry->status = status;
	entry->opcode = opcodes[wr->opcode];
	entry->byte_len = length_of(wr->sg_list, wr->num_sge);
	entry->qp_num = qp->shared->number;
	entry->sends = qp->unsignaled;
	qp->unsignaled = 0;
	close_entry(qp->sent, entry);
	fire(qp->sent, status != IBV_WC_SUCCESS);
}

// Ends a send that failed, and those behind it.
static void fail(struct shm_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	end_send(qp, wr, status);
	// A queue pair may be its own peer.
	let_go(qp);
	take_lock(&qp->shared->lock);
	break_down(qp->shared);
	give_lock(&qp->shared->lock);
}

static void *watch(void *none);

static void start_watching(void)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	// A thread has the mask of the one that makes it: signals are for threads of the program.
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, watch, NULL) != 0)
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void list(struct shm_qp *qp)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (qp->is_listed)
		return;
	qp->is_listed = true;
	pthread_mutex_lock(&listing);
	waiting[waiting_count++] = qp;
	pthread_cond_signal(&listed);
	pthread_mutex_unlock(&listing);
	if (IS_PLAIN)
		pthread_once(&once, start_watching);
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

static void keep(struct shm_qp *qp, const struct ibv_send_wr *wr)
{
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	uint64_t length = is_inline ? length_of(wr->sg_list, wr->num_sge) : 0;
	struct stalled *send = malloc(sizeof *send + length);

	send->next = NULL;
	send->wr = *wr;
	send->wr.sg_list = send->sges;
	memcpy(send->sges, wr->sg_list, wr->num_sge * sizeof *send->sges);
	if (is_inline) {
		gather(wr, send->bytes);
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
	while (qp->oldest)
		drop_oldest(qp);
	qp->in_flight = qp->unsignaled = 0;
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

// Whether a send that was tried in vain has failed for good, and when it is tried again otherwise.
static bool give_up(struct shm_qp *qp, enum outcome outcome)
{
	const struct ibv_qp_attr *attr = &((struct qp_object *)(uintptr_t)qp->shared->qp)->attr;
	const struct shared_qp *peer = qp_of(qp->shared->dest);

	if (!IS_PLAIN)
		return outcome == UNKNOWN;
	bool is_endless = outcome == NOT_READY ? attr->rnr_retry == FOREVER : attr->timeout == 0;
	if (!is_endless && qp->failures++ >= (outcome == NOT_READY ? attr->rnr_retry : attr->retry_cnt))
		return true;
	qp->next_try = now_ns() + (outcome == NOT_READY && peer ? rnr_ns(peer->min_rnr_timer) :
				   attr->timeout ? 4096ull << attr->timeout : IDLE_MS * 1000000ull);
	return false;
}

// Ends a send if it has succeeded or failed. Returns false if it waits on.
static bool attempt(struct shm_qp *qp, const struct ibv_send_wr *wr)
{
	enum ibv_wc_status status;
	enum outcome outcome = execute(qp, wr, &status);

	if (outcome != ENDED && !give_up(qp, outcome))
		return false;
	if (outcome != ENDED)
		status = outcome == NOT_READY ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR;
	if (status == IBV_WC_SUCCESS)
		end_send(qp, wr, status);
	else
		fail(qp, wr, status);
	return true;
}

// What a device of the type refuses when it is posted.
static bool is_valid(const struct shm_qp *qp, const struct ibv_send_wr *wr)
{
	bool is_datagram = qp->shared->type == IBV_QPT_UD, is_send = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM;

	if (wr->opcode >= sizeof opcodes || (is_datagram && !is_send) || (uint32_t)wr->num_sge > qp->max_sge)
		return false;
	return !(wr->send_flags & IBV_SEND_INLINE) || length_of(wr->sg_list, wr->num_sge) <= qp->max_inline;
}

int send_one(struct shm_qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t state = qp->shared->state;

	if ((state != IBV_QPS_RTS && state != IBV_QPS_ERR && state != IBV_QPS_SQD) || !is_valid(qp, wr))
		return EINVAL;
	if (qp->in_flight >= qp->max_send)
		return ENOMEM;
	atomic_fetch_add(&qp->in_flight, 1);
	if (state == IBV_QPS_ERR) {
		flush_sends(qp);
		end_send(qp, wr, IBV_WC_WR_FLUSH_ERR);
	} else if (qp->oldest || !attempt(qp, wr))
		keep(qp, wr);
	return 0;
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

// Tries sends again when their time has come.
static void *watch(void *none)
{
	for (;;) {
		uint64_t next = try_again(), latest = now_ns() + IDLE_MS * 1000000ull;
		next = next < latest ? next : latest;
		struct timespec until = { .tv_sec = next / 1000000000, .tv_nsec = next % 1000000000 };
		pthread_mutex_lock(&listing);
		pthread_cond_clockwait(&listed, &listing, CLOCK_MONOTONIC, &until);
		pthread_mutex_unlock(&listing);
	}
	return none;
}

// Data that moves: the queue pairs of this process reach each other by their numbers, as those of one device do.
#include <arpa/inet.h>
#include <pthread.h>
#include "recorder.h"

enum { MOST_SGES = 4, FIRST_RKEY = 0x1001, KEY_STEP = 0x100 };

// A request that is not done: a send waits until its receiver is ready.
struct work {
	struct ibv_send_wr wr;
	struct ibv_sge sges[MOST_SGES];
};

struct works {
	struct work *list;
	unsigned size;
	unsigned done;
};

static bool connects;

// What moves here belongs to queue pairs of all threads.
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

// Connects queue pairs until the next reset.
void recorder_connect(void)
{
	connects = true;
}

bool moves_data(void)
{
	return connects;
}

void forget_wire(void)
{
	connects = false;
}

static void add(struct works *works, const struct ibv_recv_wr *wr, size_t size)
{
	if (wr->num_sge > MOST_SGES)
		abort();
	works->list = realloc(works->list, (works->size + 1) * sizeof *works->list);
	struct work *work = &works->list[works->size++];
	memset(work, 0, sizeof *work);
	memcpy(&work->wr, wr, size);
	memcpy(work->sges, wr->sg_list, wr->num_sge * sizeof *work->sges);
}

static struct work *next(struct works *works)
{
	return works && works->done < works->size ? &works->list[works->done] : NULL;
}

static struct works *receives_of(const struct qp_object *object)
{
	const struct srq_object *srq = (void *)object->qp.qp_base.srq;
	return srq ? srq->receives : object->receives;
}

static void end(struct ibv_cq *cq, struct works *works, struct ibv_wc wc, bool signaled)
{
	wc.wr_id = works->list[works->done++].wr.wr_id;
	if (signaled || wc.status)
		complete(cq, &wc);
}

static void flush(struct qp_object *object)
{
	struct ibv_qp *qp = &object->qp.qp_base;
	struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR, .qp_num = qp->qp_num };

	while (next(object->sends))
		end(qp->send_cq, object->sends, wc, true);
	while (next(object->receives))
		end(qp->recv_cq, object->receives, wc, true);
}

static void break_down(struct qp_object *object)
{
	object->attr.qp_state = object->qp.qp_base.state = IBV_QPS_ERR;
	flush(object);
}

// Copies between memory and the elements of a request, if it is still registered.
static void copy(const struct work *work, char *memory, size_t length, bool into)
{
	char label[64];

	for (int i = 0; i < work->wr.num_sge && length; i++) {
		const struct ibv_sge *sge = &work->sges[i];
		size_t part = sge->length < length ? sge->length : length;
		char *local = (char *)(uintptr_t)sge->addr;
		if (part && label_address(sge->addr, label, sizeof label))
			memcpy(into ? local : memory, into ? memory : local, part);
		memory += part;
		length -= part;
	}
}

static size_t length_of(const struct work *work)
{
	size_t length = 0;

	for (int i = 0; i < work->wr.num_sge; i++)
		length += work->sges[i].length;
	return length;
}

// The memory of the peer that an operation reaches, or NULL.
static char *remote_memory(uint64_t address, uint32_t rkey, size_t length)
{
	struct object *object = object_by_number(MR, (rkey - FIRST_RKEY) / KEY_STEP);
	const struct mr_object *mr = object ? pointer_of(object) : NULL;

	if (!mr || !object->live || mr->mr.rkey != rkey || address < mr->iova || length > mr->mr.length)
		return NULL;
	uint64_t offset = address - mr->iova;
	return offset > mr->mr.length - length ? NULL : (char *)mr->mr.addr + offset;
}

// Works on the memory of the peer. Returns the status.
static enum ibv_wc_status operate(const struct work *work)
{
	const struct ibv_send_wr *wr = &work->wr;
	bool is_atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	size_t length = is_atomic ? sizeof(uint64_t) : length_of(work);
	char *memory = is_atomic ? remote_memory(wr->wr.atomic.remote_addr, wr->wr.atomic.rkey, length) :
				   remote_memory(wr->wr.rdma.remote_addr, wr->wr.rdma.rkey, length);
	uint64_t before;

	if (!memory)
		return length ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS;
	if (!is_atomic) {
		copy(work, memory, length, wr->opcode == IBV_WR_RDMA_READ);
		return IBV_WC_SUCCESS;
	}
	memcpy(&before, memory, sizeof before);
	uint64_t after = wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? before + wr->wr.atomic.compare_add :
			 before == wr->wr.atomic.compare_add	   ? wr->wr.atomic.swap : before;
	memcpy(memory, &after, sizeof after);
	copy(work, (char *)&before, sizeof before, true);
	return IBV_WC_SUCCESS;
}

enum { IPV6 = 6, UDP = 17 };

// The header before a datagram, from the address at index 1 to the same.
static size_t put_header(char *memory)
{
	struct ibv_grh grh = { .version_tclass_flow = htonl(IPV6 << 28), .next_hdr = UDP, .hop_limit = 64 };

	fill_gid(&grh.sgid, 1);
	fill_gid(&grh.dgid, 1);
	memcpy(memory, &grh, sizeof grh);
	return sizeof grh;
}

static enum ibv_wc_status deliver(struct ibv_qp *qp, const struct work *send, struct qp_object *receiver)
{
	bool is_datagram = qp->qp_type == IBV_QPT_UD;
	size_t length = length_of(send) + (is_datagram ? sizeof(struct ibv_grh) : 0);
	struct works *receives = receives_of(receiver);
	struct work *receive = next(receives);
	struct ibv_wc wc = {
		.opcode = IBV_WC_RECV,
		.src_qp = qp->qp_num,
		.qp_num = receiver->qp.qp_base.qp_num,
		.byte_len = length,
	};

	if (length > length_of(receive)) {
		wc.status = IBV_WC_LOC_LEN_ERR;
		end(receiver->qp.qp_base.recv_cq, receives, wc, true);
		break_down(receiver);
		return is_datagram ? IBV_WC_SUCCESS : IBV_WC_REM_INV_REQ_ERR;
	}
	char *bytes = malloc(length + 1);
	size_t header = is_datagram ? put_header(bytes) : 0;
	copy(send, bytes + header, length - header, false);
	copy(receive, bytes, length, true);
	free(bytes);
	wc.wc_flags = is_datagram ? IBV_WC_GRH : 0;
	if (send->wr.opcode == IBV_WR_SEND_WITH_IMM) {
		wc.wc_flags |= IBV_WC_WITH_IMM;
		wc.imm_data = send->wr.imm_data;
	}
	end(receiver->qp.qp_base.recv_cq, receives, wc, true);
	return IBV_WC_SUCCESS;
}

// Tells the receiver of a write whose bytes are there.
static void tell(struct ibv_qp *qp, const struct work *write, struct qp_object *receiver)
{
	struct ibv_wc wc = {
		.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
		.wc_flags = IBV_WC_WITH_IMM,
		.imm_data = write->wr.imm_data,
		.src_qp = qp->qp_num,
		.qp_num = receiver->qp.qp_base.qp_num,
		.byte_len = length_of(write),
	};

	end(receiver->qp.qp_base.recv_cq, receives_of(receiver), wc, true);
}

static struct qp_object *queue_pair(uint32_t number)
{
	struct object *object = object_by_number(QP, number - FIRST_QP_NUM);
	return object && object->live ? pointer_of(object) : NULL;
}

static const enum ibv_wc_opcode opcodes[] = {
	[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,	[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND] = IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP, [IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
};

// Does the next request of a queue pair. Returns whether that was possible.
static bool move_one(struct qp_object *object)
{
	struct ibv_qp *qp = &object->qp.qp_base;
	struct work *work = qp->state == IBV_QPS_RTS ? next(object->sends) : NULL;
	bool is_datagram = qp->qp_type == IBV_QPT_UD;

	if (!work)
		return false;
	const struct ibv_send_wr *wr = &work->wr;
	bool is_known = wr->opcode < sizeof opcodes / sizeof *opcodes;
	bool is_send = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM || !is_known;
	bool tells = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct qp_object *peer = queue_pair(is_datagram ? wr->wr.ud.remote_qpn : object->attr.dest_qp_num);
	struct ibv_wc wc = { .qp_num = qp->qp_num, .opcode = is_known ? opcodes[wr->opcode] : IBV_WC_SEND };
	enum ibv_qp_state state = peer ? peer->qp.qp_base.state : IBV_QPS_ERR;
	bool is_ready = state == IBV_QPS_RTR || state == IBV_QPS_RTS;

	if (is_datagram) {
		if (is_ready && next(receives_of(peer)) && peer->attr.qkey == wr->wr.ud.remote_qkey)
			wc.status = deliver(qp, work, peer);
	} else if (state == IBV_QPS_ERR || (is_ready && peer->attr.dest_qp_num != qp->qp_num)) {
		wc.status = IBV_WC_RETRY_EXC_ERR;
	} else if (!is_ready || ((is_send || tells) && !next(receives_of(peer)))) {
		return false;
	} else {
		wc.status = is_send ? deliver(qp, work, peer) : operate(work);
		if (tells && !wc.status)
			tell(qp, work, peer);
		if (wc.status == IBV_WC_REM_ACCESS_ERR)
			break_down(peer);
	}
	bool signaled = wr->send_flags & IBV_SEND_SIGNALED || object->init.sq_sig_all;
	end(qp->send_cq, object->sends, wc, signaled);
	if (wc.status)
		break_down(object);
	return true;
}

// Moves what can move now, whichever queue pair has made it possible.
void move_data(void)
{
	struct object *object;

	pthread_mutex_lock(&lock);
	for (bool moved = connects; moved;) {
		moved = false;
		for (unsigned i = 0; (object = object_by_number(QP, i)); i++)
			while (object->live && move_one(pointer_of(object)))
				moved = true;
	}
	pthread_mutex_unlock(&lock);
}

// Requests of both kinds begin with the same fields.
static void keep(struct ibv_qp *qp, struct works **works, const void *request, size_t size)
{
	if (!connects)
		return;
	pthread_mutex_lock(&lock);
	if (!*works)
		*works = calloc(1, sizeof **works);
	for (const struct ibv_recv_wr *wr = request; wr; wr = wr->next)
		add(*works, wr, size);
	if (qp)
		change_state(qp);
	else
		move_data();
	pthread_mutex_unlock(&lock);
}

void keep_receives(struct ibv_qp *qp, const struct ibv_recv_wr *wr)
{
	keep(qp, &((struct qp_object *)qp)->receives, wr, sizeof *wr);
}

void keep_shared_receives(struct ibv_srq *srq, const struct ibv_recv_wr *wr)
{
	keep(NULL, &((struct srq_object *)srq)->receives, wr, sizeof *wr);
}

void keep_sends(struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	keep(qp, &((struct qp_object *)qp)->sends, wr, sizeof *wr);
}

void change_state(struct ibv_qp *qp)
{
	struct qp_object *object = (void *)qp;

	pthread_mutex_lock(&lock);
	if (connects && qp->state == IBV_QPS_ERR)
		flush(object);
	if (qp->state == IBV_QPS_RESET)
		object->sends = object->receives = NULL;
	move_data();
	pthread_mutex_unlock(&lock);
}

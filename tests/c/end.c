// An end of an exchange, for tests: does what the lines of its input say, and answers each of them by a line. The commands are those
// of tests/library/shm/commands.ts, which does the same by this library.
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096, SGES = 4, INLINE = 256, MESSAGE = 64, ALIGNMENT = 4096 };

static struct ibv_context *context;
static struct ibv_comp_channel *channel;
static struct ibv_pd *pds[MOST];
static struct ibv_mr *mrs[MOST];
static struct ibv_cq *cqs[MOST];
static struct ibv_srq *srqs[MOST];
static struct ibv_qp *qps[MOST];
static struct ibv_ah *ahs[MOST];
static int pd_count, mr_count, cq_count, srq_count, qp_count, ah_count;

// The words of a command; those that are not there are "".
static const char *words[40];
static int word_count;

static uint64_t number(int at)
{
	return strtoull(words[at], NULL, 0);
}

static void answer_error(int error)
{
	if (error)
		printf("! %s", strerrorname_np(error));
}

// What a verb gave that makes an object, which is kept if there is one.
static int keep(void **list, int *count, void *object)
{
	if (!object)
		answer_error(errno);
	else
		list[(*count)++] = object;
	return object != NULL;
}
#define KEEP(list, count, object) keep((void **)list, &count, object)

static void end_all(void)
{
	while (ah_count)
		ibv_destroy_ah(ahs[--ah_count]);
	while (qp_count)
		if (qps[--qp_count])
			ibv_destroy_qp(qps[qp_count]);
	while (srq_count)
		ibv_destroy_srq(srqs[--srq_count]);
	while (cq_count)
		ibv_destroy_cq(cqs[--cq_count]);
	while (mr_count)
		if (mrs[--mr_count])
			ibv_dereg_mr(mrs[mr_count]);
	while (pd_count)
		ibv_dealloc_pd(pds[--pd_count]);
	if (context) {
		ibv_destroy_comp_channel(channel);
		ibv_close_device(context);
	}
}

static void add_pd(void)
{
	KEEP(pds, pd_count, ibv_alloc_pd(context));
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	end_all();
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	channel = ibv_create_comp_channel(context);
	add_pd();
}

static struct ibv_pd *pd(void)
{
	return pds[pd_count - 1];
}

static union ibv_gid gid(int at)
{
	union ibv_gid gid = { 0 };

	inet_pton(AF_INET6, words[at], gid.raw);
	return gid;
}

static void query_gid(void)
{
	char text[INET6_ADDRSTRLEN];
	union ibv_gid found;

	ibv_query_gid(context, number(1), number(2), &found);
	printf("%s", inet_ntop(AF_INET6, found.raw, text, sizeof text));
}

static void query_ports(void)
{
	struct ibv_device_attr attr;

	ibv_query_device(context, &attr);
	printf("%d", attr.phys_port_cnt);
}

static void register_memory(void)
{
	size_t length = number(1), whole = (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	// Nobody reads it before somebody has written it.
	void *memory = memset(aligned_alloc(ALIGNMENT, whole), 0, whole);

	if (KEEP(mrs, mr_count, ibv_reg_mr(pd(), memory, length, number(2))))
		printf("%lu %u", (uintptr_t)memory, mrs[mr_count - 1]->rkey);
}

static void deregister(void)
{
	answer_error(ibv_dereg_mr(mrs[number(1)]));
	mrs[number(1)] = NULL;
}

// The memory that a command names by its region and offset.
static uint8_t *memory(void)
{
	return (uint8_t *)mrs[number(1)]->addr + number(2);
}

static uint8_t pattern(size_t at, int seed)
{
	return at * 7 + (at >> 8) + seed;
}

static void fill(void)
{
	for (size_t i = 0; i < number(3); i++)
		memory()[i] = pattern(i, number(4));
}

static void check(void)
{
	size_t i = 0, length = number(3);

	while (i < length && memory()[i] == pattern(i, number(4)))
		i++;
	printf("%d", i == length ? -1 : (int)i);
}

static void show_bytes(void)
{
	for (size_t i = 0; i < number(3); i++)
		printf("%02x", memory()[i]);
}

static void add_cq(void)
{
	if (KEEP(cqs, cq_count, ibv_create_cq(context, number(1), NULL, number(2) ? channel : NULL, 0)))
		printf("%d", cq_count - 1);
}

static void arm(void)
{
	answer_error(ibv_req_notify_cq(cqs[number(1)], number(2)));
}

static int is_readable(int fd)
{
	return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) == 1;
}

static int index_of(void *const *list, int count, const void *object)
{
	while (count-- && list[count] != object)
		;
	return count;
}
#define INDEX_OF(list, count, object) index_of((void **)list, count, object)

static void take_event(void)
{
	struct ibv_cq *cq = NULL;
	void *none;

	if (is_readable(channel->fd) && !ibv_get_cq_event(channel, &cq, &none))
		ibv_ack_cq_events(cq, 1);
	printf("%d", INDEX_OF(cqs, cq_count, cq));
}

static void take_async_event(void)
{
	struct ibv_async_event event;

	if (!is_readable(context->async_fd) || ibv_get_async_event(context, &event)) {
		printf("-1");
		return;
	}
	int qp = INDEX_OF(qps, qp_count, event.element.qp), srq = INDEX_OF(srqs, srq_count, event.element.srq);
	int cq = INDEX_OF(cqs, cq_count, event.element.cq);
	printf("%d %d", event.event_type, qp >= 0 ? qp : srq >= 0 ? srq : cq);
	ibv_ack_async_event(&event);
}

static void poll_cq(void)
{
	static struct ibv_wc wc[MOST];
	int count = ibv_poll_cq(cqs[number(1)], number(2), wc);

	for (int i = 0; i < count; i++)
		printf("%s%lu %d %d %u %u %u %u %u", i ? "," : "", wc[i].wr_id, wc[i].status, wc[i].opcode, wc[i].byte_len, wc[i].qp_num,
		       wc[i].src_qp, ntohl(wc[i].imm_data), wc[i].wc_flags);
}

static void add_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = number(1), .max_sge = SGES } };
	struct ibv_srq_attr attr = { .srq_limit = number(2) };

	if (!KEEP(srqs, srq_count, ibv_create_srq(pd(), &init)))
		return;
	if (attr.srq_limit)
		ibv_modify_srq(srqs[srq_count - 1], &attr, IBV_SRQ_LIMIT);
	printf("%d", srq_count - 1);
}

static void add_qp(void)
{
	int has_srq = words[3][0] != '-';
	struct ibv_qp_init_attr init = {
		.qp_type = number(1), .send_cq = cqs[number(2)], .recv_cq = cqs[number(2)], .srq = has_srq ? srqs[number(3)] : NULL,
		.cap = { number(4), has_srq ? 0 : number(4), SGES, SGES, INLINE }, .sq_sig_all = number(5),
	};

	if (KEEP(qps, qp_count, ibv_create_qp(pd(), &init)))
		printf("%d %u", qp_count - 1, qps[qp_count - 1]->qp_num);
}

static struct ibv_qp *qp(void)
{
	return qps[number(1)];
}

static void modify(struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask)
{
	attr->qp_state = state;
	answer_error(ibv_modify_qp(qp(), attr, IBV_QP_STATE | mask));
}

static void to_init(void)
{
	struct ibv_qp_attr attr = { .port_num = number(2), .qkey = number(3), .qp_access_flags = number(3) };
	int is_datagram = qp()->qp_type == IBV_QPT_UD;

	modify(&attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | (is_datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static struct ibv_ah_attr address(int port, int index, int gid_at)
{
	struct ibv_ah_attr attr = { .port_num = number(port), .dlid = 1, .is_global = gid_at < word_count };

	attr.grh.dgid = gid(gid_at);
	attr.grh.sgid_index = number(index);
	attr.grh.hop_limit = 64;
	return attr;
}

static void to_rtr(void)
{
	struct ibv_qp_attr attr = { .ah_attr = address(2, 3, 4), .path_mtu = IBV_MTU_4096, .dest_qp_num = number(5),
				    .min_rnr_timer = number(6), .max_dest_rd_atomic = 16 };
	int mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (qp()->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	modify(&attr, IBV_QPS_RTR, qp()->qp_type == IBV_QPT_UD ? 0 : mask);
}

static void to_rts(void)
{
	struct ibv_qp_attr attr = { .timeout = number(2), .retry_cnt = number(3), .rnr_retry = number(4), .max_rd_atomic = 16 };
	int reliable = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

	modify(&attr, IBV_QPS_RTS, IBV_QP_SQ_PSN | (qp()->qp_type == IBV_QPT_RC ? reliable : 0));
}

static void to_state(void)
{
	modify(&(struct ibv_qp_attr){ 0 }, number(2), 0);
}

static void query_state(void)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	ibv_query_qp(qp(), &attr, IBV_QP_STATE, &init);
	printf("%d", attr.qp_state);
}

static void end_qp(void)
{
	answer_error(ibv_destroy_qp(qp()));
	qps[number(1)] = NULL;
}

static void add_ah(void)
{
	struct ibv_ah_attr attr = address(1, 2, 3);

	if (KEEP(ahs, ah_count, ibv_create_ah(pd(), &attr)))
		printf("%d", ah_count - 1);
}

static void join(void)
{
	union ibv_gid group = gid(2);

	answer_error(ibv_attach_mcast(qp(), &group, 0));
}

static void leave(void)
{
	union ibv_gid group = gid(2);

	answer_error(ibv_detach_mcast(qp(), &group, 0));
}

// Elements are the last words of a command: regions, offsets and lengths.
static int take_sges(struct ibv_sge *sges, int at)
{
	int count = 0;

	for (; at + 2 < word_count; at += 3) {
		struct ibv_mr *mr = mrs[number(at)];
		sges[count++] = (struct ibv_sge){ (uintptr_t)mr->addr + number(at + 1), number(at + 2), mr->lkey };
	}
	return count;
}

static struct ibv_recv_wr receive(struct ibv_sge *sges)
{
	return (struct ibv_recv_wr){ .wr_id = number(2), .sg_list = sges, .num_sge = take_sges(sges, 3) };
}

static void post_recv(void)
{
	struct ibv_sge sges[2 * SGES];
	struct ibv_recv_wr wr = receive(sges), *bad;

	answer_error(ibv_post_recv(qp(), &wr, &bad));
}

static void post_srq_recv(void)
{
	struct ibv_sge sges[2 * SGES];
	struct ibv_recv_wr wr = receive(sges), *bad;

	answer_error(ibv_post_srq_recv(srqs[number(1)], &wr, &bad));
}

static void set_target(struct ibv_send_wr *wr, int at)
{
	if (qp()->qp_type == IBV_QPT_UD) {
		wr->wr.ud.ah = ahs[number(at)];
		wr->wr.ud.remote_qpn = number(at + 1);
		wr->wr.ud.remote_qkey = number(at + 2);
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = number(at);
		wr->wr.atomic.rkey = number(at + 1);
		wr->wr.atomic.compare_add = number(at + 2);
		wr->wr.atomic.swap = number(at + 3);
	} else {
		wr->wr.rdma.remote_addr = number(at);
		wr->wr.rdma.rkey = number(at + 1);
	}
}

static void post_send(void)
{
	struct ibv_sge sges[2 * SGES];
	struct ibv_send_wr *bad, wr = { .wr_id = number(2), .sg_list = sges, .opcode = number(3), .send_flags = number(4) };

	wr.imm_data = htonl(number(5));
	set_target(&wr, 6);
	wr.num_sge = take_sges(sges, 10);
	answer_error(ibv_post_send(qp(), &wr, &bad));
}

// A message to the peer of a connection, and a receive, at the start of the first region.
static struct ibv_sge message(void)
{
	return (struct ibv_sge){ (uintptr_t)mrs[0]->addr, MESSAGE, mrs[0]->lkey };
}

static int try_send(struct ibv_qp *from, int is_signaled)
{
	struct ibv_sge sge = message();
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

	wr.send_flags = is_signaled ? IBV_SEND_SIGNALED : 0;
	return ibv_post_send(from, &wr, &bad);
}

static void send_message(struct ibv_qp *from, int is_signaled)
{
	answer_error(try_send(from, is_signaled));
}

static void receive_message(struct ibv_qp *at)
{
	struct ibv_sge sge = message();
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	answer_error(ibv_post_recv(at, &wr, &bad));
}

// Waits for a completion as programs do: an event comes for what comes after the arming only.
static struct ibv_wc wait_by_event(struct ibv_cq *cq)
{
	static int is_armed;
	struct ibv_wc wc;
	void *none;

	while (ibv_poll_cq(cq, 1, &wc) == 0) {
		if (is_armed && !ibv_get_cq_event(channel, &cq, &none))
			ibv_ack_cq_events(cq, 1);
		else
			ibv_req_notify_cq(cq, 0);
		is_armed = !is_armed;
	}
	return wc;
}

// Waits for so many messages by events, and answers the first `answers` of them.
static void exchange(int count, int answers)
{
	for (int received = 0; received < count;) {
		struct ibv_wc wc = wait_by_event(cqs[number(2)]);
		if (wc.status != IBV_WC_SUCCESS) {
			printf("! %s", ibv_wc_status_str(wc.status));
			return;
		}
		if (wc.opcode != IBV_WC_RECV)
			continue;
		receive_message(qp());
		if (received++ < answers)
			send_message(qp(), received % 8 == 0);
	}
}

static void play(void)
{
	send_message(qp(), 0);
	exchange(number(3), number(3) - 1);
}

static void serve(void)
{
	exchange(number(3), number(3));
}

// Sends the same datagram again and again, until this process is killed.
static void flood(void)
{
	struct ibv_wc wc;

	for (;; ibv_poll_cq(qp()->send_cq, 1, &wc))
		post_send();
}

static struct ibv_qp *qp_by_number(uint32_t qp_num)
{
	int i = 0;

	while (qps[i]->qp_num != qp_num)
		i++;
	return qps[i];
}

// Sends by one queue pair, which other threads use as well, and takes completions of the queue that all use.
static void *send_many(void *by)
{
	static _Atomic int left;
	int sent = 0;
	struct ibv_wc wc;

	// Each message has two completions, of which a thread takes those that it finds.
	for (left += 2 * number(2); left > 0;) {
		if (sent < (int)number(2) && !try_send(by, 1))
			sent++;
		if (ibv_poll_cq(cqs[0], 1, &wc) != 1)
			continue;
		left -= wc.status == IBV_WC_SUCCESS;
		if (wc.opcode == IBV_WC_RECV)
			receive_message(qp_by_number(wc.qp_num));
	}
	return NULL;
}

// Every second queue pair sends to the one behind it.
static void send_by_threads(void)
{
	pthread_t threads[8];
	int count = number(1);

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, send_many, qps[2 * (i % number(3))]);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

// Adds 1 to a word of a peer, again and again.
static void add_often(void)
{
	struct ibv_sge sge = { (uintptr_t)mrs[0]->addr, 8, mrs[0]->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
					.send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	wr.wr.atomic.remote_addr = number(4);
	wr.wr.atomic.rkey = number(5);
	wr.wr.atomic.compare_add = 1;
	for (uint64_t i = 0; i < number(3); i++) {
		ibv_post_send(qp(), &wr, &bad);
		while (ibv_poll_cq(cqs[number(2)], 1, &wc) == 0)
			;
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} commands[] = {
	{ "open", open_device }, { "gid", query_gid }, { "ports", query_ports }, { "pd", add_pd }, { "mr", register_memory },
	{ "dereg", deregister }, { "fill", fill }, { "check", check }, { "bytes", show_bytes }, { "cq", add_cq }, { "arm", arm },
	{ "event", take_event }, { "async", take_async_event }, { "poll", poll_cq }, { "srq", add_srq }, { "qp", add_qp },
	{ "init", to_init }, { "rtr", to_rtr }, { "rts", to_rts }, { "modify", to_state }, { "state", query_state },
	{ "destroy", end_qp }, { "ah", add_ah }, { "join", join }, { "leave", leave }, { "recv", post_recv },
	{ "srqrecv", post_srq_recv }, { "send", post_send }, { "play", play }, { "serve", serve }, { "flood", flood },
	{ "threads", send_by_threads }, { "add", add_often },
};

static void run(char *line)
{
	size_t i = 0;

	for (word_count = 0; word_count < 40; word_count++) {
		const char *word = strtok(word_count ? NULL : line, " \n");
		if (!word)
			break;
		words[word_count] = word;
	}
	for (int at = word_count; at < 40; at++)
		words[at] = "";
	while (i < sizeof commands / sizeof *commands && strcmp(commands[i].name, words[0]) != 0)
		i++;
	commands[i].run();
	printf("\n");
}

int main(void)
{
	char *line = NULL;
	size_t size = 0;

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	while (getline(&line, &size, stdin) > 0) {
		run(line);
		fflush(stdout);
	}
	end_all();
	free(line);
	return 0;
}

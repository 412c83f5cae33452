// Answers messages on an Elastic Fabric Adapter, for comparison.
//
//   efa_responder DEVICE srd|ud COUNT ROUND QKEY
//
// It writes {"qpn":NUMBER}, answers COUNT messages, and writes {"strangers":NUMBER,"known":NUMBER}. An answer has the 32
// bytes of the message, the GID of its sender, and the sender's queue pair and the length that the completion tells. Before
// the last answer of each ROUND it forgets all senders.
#include <errno.h>
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 64, SLOT = 128, GRH = 40, MESSAGE = 32, ANSWER = MESSAGE + 16 + 4 + 4, STRANGER = 0xffff };

struct sender {
	struct ibv_ah *ah;
	union ibv_gid gid;
};

struct message {
	uint32_t slot;
	uint32_t slid;
	uint32_t src_qp;
	uint32_t byte_len;
	union ibv_gid gid;
};

static struct ibv_pd *pd;
static struct ibv_cq_ex *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t memory[2 * SLOTS * SLOT];
static struct sender senders[STRANGER];
static uint32_t headroom, qkey;
static int received, pending, strangers, known;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "Cannot %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	for (int i = 0; devices && devices[i]; i++)
		if (strcmp(ibv_get_device_name(devices[i]), name) == 0)
			return ibv_open_device(devices[i]);
	return NULL;
}

static void modify(enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = state, .qkey = qkey, .port_num = 1 };

	must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask) == 0, "modify queue pair");
}

static void make_qp(int reliable)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = ibv_cq_ex_to_cq(cq),
		.recv_cq = ibv_cq_ex_to_cq(cq),
		.cap = { SLOTS, SLOTS, 1, 1, 0 },
		.qp_type = reliable ? IBV_QPT_DRIVER : IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct efadv_qp_init_attr own = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };

	qp = reliable ? efadv_create_qp_ex(pd->context, &attr, &own, sizeof(own)) :
			ibv_create_qp_ex(pd->context, &attr);
	must(qp != NULL, "create queue pair");
	modify(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	modify(IBV_QPS_RTR, 0);
	modify(IBV_QPS_RTS, IBV_QP_SQ_PSN);
}

static void post_receive(uint32_t slot)
{
	struct ibv_sge sge = { (uintptr_t)memory + slot * SLOT, SLOT, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	must(ibv_post_recv(qp, &wr, &bad) == 0, "post receive");
}

static struct sender *sender_of(const struct message *message)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct efadv_ah_attr told = {};
	struct ibv_ah *ah;

	if (message->slid != STRANGER && senders[message->slid].ah)
		return &senders[message->slid];
	attr.grh.dgid = message->gid;
	ah = ibv_create_ah(pd, &attr);
	must(ah && efadv_query_ah(ah, &told, sizeof(told)) == 0, "create address handle");
	if (senders[told.ahn].ah)
		ibv_destroy_ah(ah);
	else
		senders[told.ahn] = (struct sender){ ah, message->gid };
	return &senders[told.ahn];
}

static void forget_all(void)
{
	for (int i = 0; i < STRANGER; i++) {
		if (senders[i].ah)
			ibv_destroy_ah(senders[i].ah);
		senders[i].ah = NULL;
	}
}

static void answer(const struct message *message)
{
	struct sender *sender = sender_of(message);
	uint8_t *reply = memory + (SLOTS + message->slot) * SLOT;
	struct ibv_sge sge = { (uintptr_t)reply, ANSWER, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = message->slot,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { sender->ah, message->src_qp, qkey },
	}, *bad;

	memcpy(reply, memory + message->slot * SLOT + headroom, MESSAGE);
	memcpy(reply + MESSAGE, &sender->gid, 16);
	memcpy(reply + MESSAGE + 16, &message->src_qp, 4);
	memcpy(reply + MESSAGE + 20, &message->byte_len, 4);
	must(ibv_post_send(qp, &wr, &bad) == 0, "post send");
	pending++;
}

/* Takes a completion: a receive gives a message, a send gives its slot back. */
static int take(struct message *message)
{
	struct ibv_poll_cq_attr attr = {};
	int is_receive;

	if (ibv_start_poll(cq, &attr))
		return 0;
	must(cq->status == IBV_WC_SUCCESS, "go on after a completion with an error");
	is_receive = ibv_wc_read_opcode(cq) == IBV_WC_RECV;
	message->slot = cq->wr_id;
	if (is_receive) {
		message->slid = ibv_wc_read_slid(cq);
		message->src_qp = ibv_wc_read_src_qp(cq);
		message->byte_len = ibv_wc_read_byte_len(cq);
		if (message->slid != STRANGER) {
			must(senders[message->slid].ah != NULL, "find a known sender");
			message->gid = senders[message->slid].gid;
			known++;
		} else {
			must(efadv_wc_read_sgid(efadv_cq_from_ibv_cq_ex(cq), &message->gid) == 0, "read GID");
			strangers++;
		}
	}
	ibv_end_poll(cq);
	if (is_receive)
		return 1;
	pending--;
	post_receive(message->slot);
	return 0;
}

static void serve(int count, int round)
{
	struct message message, last;
	int waits = 0;

	while (received < count || waits || pending) {
		if (take(&message)) {
			if (++received % round == 0) {
				last = message;
				waits = 1;
			} else {
				answer(&message);
			}
		}
		if (waits && !pending) {
			forget_all();
			answer(&last);
			waits = 0;
		}
	}
}

int main(int argc, char **argv)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4 * SLOTS,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID,
	};
	struct efadv_cq_init_attr own = { .wc_flags = EFADV_WC_EX_WITH_SGID };
	struct ibv_context *context = argc == 6 ? open_named(argv[1]) : NULL;
	int reliable = argc == 6 && strcmp(argv[2], "srd") == 0;

	must(context != NULL, "open device");
	headroom = reliable ? 0 : GRH;
	qkey = strtoul(argv[5], NULL, 0);
	pd = ibv_alloc_pd(context);
	cq = efadv_create_cq(context, &attr, &own, sizeof(own));
	must(pd && cq, "create completion queue");
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	must(mr != NULL, "register memory");
	make_qp(reliable);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		post_receive(slot);
	printf("{\"qpn\":%u}\n", qp->qp_num);
	fflush(stdout);
	serve(atoi(argv[3]), atoi(argv[4]));
	printf("{\"strangers\":%d,\"known\":%d}\n", strangers, known);
	return 0;
}

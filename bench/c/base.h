// What all programs in C share.
#pragma once
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/verbs.h>

// SIZE: bytes of a message, if nothing else is said; ROOM: bytes of memory for a GRH.
enum { PORT = 1, QKEY = 0x11111111, LIST = 32, SIZE = 64, ROOM = 64, ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

// What polling finds in a queue of provider.c, by the completion vector that it was made with: as many completions of sends as fit,
// nothing, or as many of received datagrams as fit. Other devices have the first one only.
enum vector { QUEUE_SENDS, QUEUE_EMPTY, QUEUE_RECEIVES };

static inline void need(int ok, const char *what)
{
  if (ok)
    return;
  fprintf(stderr, "contender: cannot %s: %s\n", what, strerror(errno));
  exit(1);
}

static inline uint64_t now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

struct device {
  struct ibv_context *context;
  struct ibv_pd *pd;
};

// The first device there is: in each stage there is one only.
static inline struct device open_device(void)
{
  struct ibv_device **list = ibv_get_device_list(NULL);
  struct device d;

  need(list && list[0], "find a device");
  d.context = ibv_open_device(list[0]);
  need(d.context != NULL, "open the device");
  d.pd = ibv_alloc_pd(d.context);
  need(d.pd != NULL, "allocate a protection domain");
  return d;
}

static inline struct ibv_cq *create_cq(struct device *d, int cqe, struct ibv_comp_channel *channel, int vector)
{
  struct ibv_cq *cq = ibv_create_cq(d->context, cqe, NULL, channel, vector);

  need(cq != NULL, "create a completion queue");
  return cq;
}

static inline struct ibv_qp *create_qp(struct device *d, enum ibv_qp_type type, struct ibv_cq *send_cq,
                                       struct ibv_cq *recv_cq)
{
  struct ibv_qp_init_attr init = {
    .send_cq = send_cq, .recv_cq = recv_cq, .qp_type = type,
    .cap = { .max_send_wr = 2 * LIST, .max_recv_wr = 2 * LIST, .max_send_sge = 1, .max_recv_sge = 1 },
  };
  struct ibv_qp *qp = ibv_create_qp(d->pd, &init);

  need(qp != NULL, "create a queue pair");
  return qp;
}

// The address of the port itself, by its first GID.
static inline struct ibv_ah_attr own_address(struct device *d)
{
  struct ibv_ah_attr attr = { .port_num = PORT, .is_global = 1, .grh = { .hop_limit = 64 } };

  need(!ibv_query_gid(d->context, PORT, 0, &attr.grh.dgid), "query the GID");
  return attr;
}

static inline struct ibv_ah *create_ah(struct device *d, struct ibv_ah_attr attr)
{
  struct ibv_ah *ah = ibv_create_ah(d->pd, &attr);

  need(ah != NULL, "create an address handle");
  return ah;
}

// A queue pair, and requests for lists of messages.
struct end {
  enum ibv_qp_type type;
  struct ibv_mr *mr;
  struct ibv_cq *send_cq, *recv_cq;
  struct ibv_qp *qp;
  struct ibv_send_wr sends[LIST];
  struct ibv_recv_wr recvs[LIST];
  struct ibv_sge sges[2 * LIST];
  struct ibv_wc wc[LIST];
  // What is read is added here, so that no reading can be left out.
  uint64_t sum;
};

static inline void open_end(struct end *e, struct device *d, enum ibv_qp_type type, struct ibv_comp_channel *channel,
                            size_t size)
{
  size_t slot = size + ROOM;
  char *memory = aligned_alloc(4096, 2 * LIST * slot);

  need(memory != NULL, "allocate memory");
  e->mr = ibv_reg_mr(d->pd, memory, 2 * LIST * slot, ACCESS);
  need(e->mr != NULL, "register memory");
  e->type = type;
  e->send_cq = create_cq(d, 2 * LIST, NULL, 0);
  e->recv_cq = create_cq(d, 2 * LIST, channel, 0);
  e->qp = create_qp(d, type, e->send_cq, e->recv_cq);
  for (int i = 0; i < 2 * LIST; i++)
    e->sges[i] = (struct ibv_sge){ (uintptr_t)memory + i * slot, i < LIST ? size : slot, e->mr->lkey };
  for (int i = 0; i < LIST; i++) {
    e->sends[i] = (struct ibv_send_wr){ .wr_id = i, .sg_list = &e->sges[i], .num_sge = 1, .opcode = IBV_WR_SEND,
                                        .send_flags = IBV_SEND_SIGNALED, .next = i + 1 < LIST ? &e->sends[i + 1] : NULL };
    e->recvs[i] = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &e->sges[LIST + i], .num_sge = 1,
                                        .next = i + 1 < LIST ? &e->recvs[i + 1] : NULL };
  }
}

static inline void address(struct ibv_send_wr *wr, struct ibv_ah *ah, uint32_t qpn)
{
  wr->wr.ud.ah = ah;
  wr->wr.ud.remote_qpn = qpn;
  wr->wr.ud.remote_qkey = QKEY;
}

static inline void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask)
{
  attr->qp_state = state;
  need(!ibv_modify_qp(qp, attr, IBV_QP_STATE | mask), "modify a queue pair");
}

// Makes it ready to send to a queue pair of the same port, and to receive.
static inline void connect_end(struct end *e, struct device *d, uint32_t remote)
{
  struct ibv_qp_attr attr = {
    .port_num = PORT, .qkey = QKEY, .ah_attr = own_address(d), .dest_qp_num = remote, .path_mtu = IBV_MTU_1024,
    .max_dest_rd_atomic = 1, .max_rd_atomic = 1, .min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
  };
  struct ibv_ah *ah = create_ah(d, attr.ah_attr);
  int is_rc = e->type == IBV_QPT_RC;

  modify(e->qp, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | (is_rc ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY));
  modify(e->qp, &attr, IBV_QPS_RTR, !is_rc ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  modify(e->qp, &attr, IBV_QPS_RTS, IBV_QP_SQ_PSN | (!is_rc ? 0 : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                                                    IBV_QP_MAX_QP_RD_ATOMIC));
  for (int i = 0; i < LIST && !is_rc; i++)
    address(&e->sends[i], ah, remote);
}

// Posts the first `count` requests of a list.
static inline void post_sends(struct end *e, int count)
{
  struct ibv_send_wr *bad, *next = e->sends[count - 1].next;

  e->sends[count - 1].next = NULL;
  need(!ibv_post_send(e->qp, e->sends, &bad), "post");
  e->sends[count - 1].next = next;
}

static inline void post_recvs(struct end *e, int count)
{
  struct ibv_recv_wr *bad, *next = e->recvs[count - 1].next;

  e->recvs[count - 1].next = NULL;
  need(!ibv_post_recv(e->qp, e->recvs, &bad), "post receives");
  e->recvs[count - 1].next = next;
}

// Polls once and reads status and wr_id.
static inline int drain(struct end *e, struct ibv_cq *cq, int most)
{
  int n = ibv_poll_cq(cq, most, e->wc);

  need(n >= 0, "poll");
  for (int i = 0; i < n; i++) {
    need(e->wc[i].status == IBV_WC_SUCCESS, "complete");
    e->sum += e->wc[i].wr_id;
  }
  return n;
}

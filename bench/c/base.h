// What all contenders in C share. Who includes it defines SLOT, the bytes of memory for a message.
#pragma once
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/verbs.h>

enum { PORT = 1, QKEY = 0x11111111, LIST = 32, GRH = 40, SIZE = 64 };

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
  ibv_free_device_list(list);
  d.pd = ibv_alloc_pd(d.context);
  need(d.pd != NULL, "allocate a protection domain");
  return d;
}

static inline struct ibv_mr *create_mr(struct device *d, size_t size)
{
  void *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  struct ibv_mr *mr;

  need(memory != NULL, "allocate memory");
  memset(memory, 0, size);
  mr = ibv_reg_mr(d->pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
  need(mr != NULL, "register memory");
  return mr;
}

static inline struct ibv_cq *create_queue(struct device *d, int cqe, struct ibv_comp_channel *channel, int vector)
{
  struct ibv_cq *cq = ibv_create_cq(d->context, cqe, NULL, channel, vector);

  need(cq != NULL, "create a completion queue");
  return cq;
}

static inline struct ibv_cq *create_cq(struct device *d, int cqe, struct ibv_comp_channel *channel)
{
  return create_queue(d, cqe, channel, 0);
}

// Makes a datagram queue pair ready to send and receive.
static inline void activate(struct ibv_qp *qp)
{
  struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT, .qkey = QKEY };

  need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), "modify to INIT");
  attr.qp_state = IBV_QPS_RTR;
  need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "modify to RTR");
  attr.qp_state = IBV_QPS_RTS;
  need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "modify to RTS");
}

// A handle of one of the port's own GIDs, to send to from another one.
static inline struct ibv_ah *create_ah(struct ibv_pd *pd, int from, int to)
{
  struct ibv_ah_attr attr = { .port_num = PORT, .is_global = 1, .grh = { .sgid_index = from, .hop_limit = 64 } };
  struct ibv_ah *ah;

  need(!ibv_query_gid(pd->context, PORT, to, &attr.grh.dgid), "query the GID");
  ah = ibv_create_ah(pd, &attr);
  need(ah != NULL, "create an address handle");
  return ah;
}

// A datagram queue pair, ready to send and receive.
static inline struct ibv_qp *create_qp(struct device *d, struct ibv_cq *send_cq, struct ibv_cq *recv_cq)
{
  struct ibv_qp_init_attr init = {
    .send_cq = send_cq, .recv_cq = recv_cq, .qp_type = IBV_QPT_UD,
    .cap = { .max_send_wr = 2 * LIST, .max_recv_wr = 2 * LIST, .max_send_sge = 1, .max_recv_sge = 1 },
  };
  struct ibv_qp *qp = ibv_create_qp(d->pd, &init);

  need(qp != NULL, "create a queue pair");
  activate(qp);
  return qp;
}

// Requests for `count` messages, linked. Slots of memory count from `slot`.
static inline void prepare_sends(struct ibv_send_wr *wr, struct ibv_sge *sge, struct ibv_mr *mr, int slot, int count)
{
  memset(wr, 0, count * sizeof *wr);
  for (int i = 0; i < count; i++) {
    sge[i] = (struct ibv_sge){ .addr = (uintptr_t)mr->addr + (slot + i) * SLOT, .length = SIZE, .lkey = mr->lkey };
    wr[i].wr_id = i;
    wr[i].next = i + 1 < count ? &wr[i + 1] : NULL;
    wr[i].sg_list = &sge[i];
    wr[i].num_sge = 1;
    wr[i].opcode = IBV_WR_SEND;
    wr[i].send_flags = IBV_SEND_SIGNALED;
    wr[i].wr.ud.remote_qkey = QKEY;
  }
}

static inline void address(struct ibv_send_wr *wr, struct ibv_ah *ah, uint32_t qpn)
{
  wr->wr.ud.ah = ah;
  wr->wr.ud.remote_qpn = qpn;
}

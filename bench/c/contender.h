// What the rows of the C contender share: an open device, its queues, memory and clock.
#include "base.h"

enum { SLOT = 128, BOTH = 2 * LIST, MAX_PARTS = 1000,
       MOST = 256, MOST_QPS = 1000 };

struct device {
  struct ibv_context *context;
  struct ibv_pd *pd;
  struct ibv_mr *mr;
  char *memory;
};

static inline struct device open_device(void)
{
  struct device d = { .context = open_first() };

  d.pd = allocate_pd(d.context);
  d.memory = aligned_alloc(4096, MOST * SLOT);
  memset(d.memory, 0, MOST * SLOT);
  d.mr = ibv_reg_mr(d.pd, d.memory, MOST * SLOT, IBV_ACCESS_LOCAL_WRITE);
  need(d.mr != NULL, "register memory");
  return d;
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

// A datagram queue pair, ready to send and receive.
static inline struct ibv_qp *create_qp(struct device *d, struct ibv_cq *cq)
{
  struct ibv_qp_init_attr init = {
    .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
    .cap = { .max_send_wr = BOTH, .max_recv_wr = BOTH, .max_send_sge = 1, .max_recv_sge = 1 },
  };
  struct ibv_qp *qp = ibv_create_qp(d->pd, &init);

  need(qp != NULL, "create a queue pair");
  activate(qp);
  return qp;
}

// Requests for `count` messages to a queue pair, linked. Slots of memory count from `slot`.
static inline void prepare_sends(struct ibv_send_wr *wr, struct ibv_sge *sge, struct device *d, struct ibv_ah *ah,
                                 uint32_t qpn, int count, int slot)
{
  memset(wr, 0, count * sizeof *wr);
  for (int i = 0; i < count; i++) {
    sge[i] = (struct ibv_sge){ .addr = (uintptr_t)d->memory + (slot + i) * SLOT, .length = SIZE, .lkey = d->mr->lkey };
    wr[i].wr_id = i;
    wr[i].next = i + 1 < count ? &wr[i + 1] : NULL;
    wr[i].sg_list = &sge[i];
    wr[i].num_sge = 1;
    wr[i].opcode = IBV_WR_SEND;
    wr[i].send_flags = IBV_SEND_SIGNALED;
    wr[i].wr.ud.ah = ah;
    wr[i].wr.ud.remote_qpn = qpn;
    wr[i].wr.ud.remote_qkey = QKEY;
  }
}

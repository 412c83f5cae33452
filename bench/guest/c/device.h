// What the rows of the guest share in C: an open device, its queues, memory, and clock.
#include "../../c/base.h"

enum { MTU = 4096, SLOT = MTU + GRH };

struct device {
  struct ibv_context *context;
  struct ibv_pd *pd;
};

static inline struct device open_device(void)
{
  struct device d = { .context = open_first() };

  d.pd = allocate_pd(d.context);
  return d;
}

static inline struct ibv_cq *create_cq(struct device *d, int cqe, struct ibv_comp_channel *channel)
{
  struct ibv_cq *cq = ibv_create_cq(d->context, cqe, NULL, channel, 0);

  need(cq != NULL, "create a completion queue");
  return cq;
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

// Requests for messages of a size, linked. Slots of memory count from `slot`.
static inline void prepare_sends(struct ibv_send_wr *wr, struct ibv_sge *sge, struct ibv_mr *mr, int slot, int size)
{
  memset(wr, 0, LIST * sizeof *wr);
  for (int i = 0; i < LIST; i++) {
    sge[i] = (struct ibv_sge){ .addr = (uintptr_t)mr->addr + (slot + i) * SLOT, .length = size, .lkey = mr->lkey };
    wr[i].wr_id = i;
    wr[i].next = i + 1 < LIST ? &wr[i + 1] : NULL;
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

// Receives whose wr_id is their slot.
static inline void prepare_recvs(struct ibv_recv_wr *wr, struct ibv_sge *sge, struct ibv_mr *mr, int slot)
{
  memset(wr, 0, LIST * sizeof *wr);
  for (int i = 0; i < LIST; i++) {
    sge[i] = (struct ibv_sge){ .addr = (uintptr_t)mr->addr + (slot + i) * SLOT, .length = SLOT, .lkey = mr->lkey };
    wr[i].wr_id = slot + i;
    wr[i].next = i + 1 < LIST ? &wr[i + 1] : NULL;
    wr[i].sg_list = &sge[i];
    wr[i].num_sge = 1;
  }
}

// Whether to wait on: a datagram that has not come after 0.1 s is lost. The clock is read once in 1024 empty polls.
struct patience {
  uint32_t polls;
  uint64_t since;
};

static inline int is_late(struct patience *p)
{
  uint64_t t;

  if (++p->polls & 1023)
    return 0;
  t = now();
  if (p->since == 0)
    p->since = t;
  return t - p->since > 100000000;
}

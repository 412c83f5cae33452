// What the rows of the guest share in C.
enum { MTU = 4096, SLOT = 40 + MTU };

#include "../../c/base.h"

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

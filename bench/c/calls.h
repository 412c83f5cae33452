// Posting and polling, on the provider that does nothing.
#include "provider.h"

extern int noop_3(void *, int, void *) __attribute__((weak));

static double call_exported(struct device *d, long count, long arg)
{
  uint64_t start = now();

  (void)arg;
  need(noop_3 != NULL, "find the provider's exported call");
  for (long i = 0; i < count; i++)
    sum += noop_3(d, i, NULL);
  return (double)(now() - start) / count;
}

static struct ibv_cq *empty_queue(struct device *d)
{
  static struct ibv_cq *cq;

  return cq ? cq : (cq = create_queue(d, 1, NULL, QUEUE_EMPTY));
}

static double poll_empty(struct device *d, long count, long arg)
{
  struct ibv_cq *cq = empty_queue(d);
  struct ibv_wc wc;
  uint64_t start = now();

  (void)arg;
  for (long i = 0; i < count; i++)
    sum += ibv_poll_cq(cq, 1, &wc);
  return (double)(now() - start) / count;
}

static double post_send(struct device *d, long count, long arg)
{
  struct datagrams *g = datagrams(d);
  struct ibv_send_wr *bad;
  uint64_t start = now();

  (void)arg;
  g->sends[0].next = NULL;
  for (long i = 0; i < count; i++)
    sum += ibv_post_send(g->qp, g->sends, &bad);
  g->sends[0].next = &g->sends[1];
  return (double)(now() - start) / count;
}

// Polls once and reads status and wr_id.
static inline int drain(struct ibv_cq *cq, struct ibv_wc *wc, int most)
{
  int n = ibv_poll_cq(cq, most, wc);

  need(n >= 0, "poll");
  for (int i = 0; i < n; i++) {
    need(wc[i].status == IBV_WC_SUCCESS, "complete");
    sum += wc[i].wr_id;
  }
  return n;
}

// One operation is one message: its share of a list posted, and of a list polled.
static double post_poll(struct device *d, long count, long arg)
{
  struct datagrams *g = datagrams(d);
  struct ibv_send_wr *bad;
  long done = 0;
  uint64_t start = now();

  (void)arg;
  while (done < count) {
    need(!ibv_post_send(g->qp, g->sends, &bad), "post");
    done += drain(g->cq, g->wc, LIST);
  }
  return (double)(now() - start) / done;
}

// Gives each of `size` requests another handle and another remote queue pair, in round `r`.
static inline void change(struct ibv_send_wr *wr, struct ibv_ah **ahs, int size, unsigned r)
{
  for (int i = 0; i < size; i++) {
    wr[i].wr.ud.ah = ahs[(i + r) & (LIST - 1)];
    wr[i].wr.ud.remote_qpn = (r + i) & 0xff;
    wr[i].wr.ud.remote_qkey = QKEY;
  }
}

// Lists of `size` requests that change between posts.
static double changed(struct device *d, long count, long size)
{
  struct many {
    struct ibv_send_wr sends[MOST];
    struct ibv_sge sges[MOST];
    struct ibv_wc wc[MOST];
  };
  static struct many m;
  struct datagrams *g = datagrams(d);
  struct ibv_ah **ahs = handles(d);
  struct ibv_send_wr *bad;
  unsigned r = 0;
  long done = 0;
  uint64_t start;

  need(size >= 1 && size <= MOST, "make such a list");
  prepare_sends(m.sends, m.sges, memory(d), 0, size);
  start = now();
  while (done < count) {
    change(m.sends, ahs, size, ++r);
    need(!ibv_post_send(g->qp, m.sends, &bad), "post");
    done += drain(g->cq, m.wc, size);
  }
  return (double)(now() - start) / done;
}

// A request that is made anew for each message, posted and polled.
static double object(struct device *d, long count, long arg)
{
  struct datagrams *g = datagrams(d);
  struct ibv_ah **ahs = handles(d);
  struct ibv_send_wr *bad;
  struct ibv_mr *mr = memory(d);
  uint64_t start = now();

  (void)arg;
  for (long i = 0; i < count; i++) {
    struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = SIZE, .lkey = mr->lkey };
    struct ibv_send_wr wr = {
      .wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
      .wr.ud = { ahs[i & (LIST - 1)], i & 0xff, QKEY },
    };

    need(!ibv_post_send(g->qp, &wr, &bad), "post");
    drain(g->cq, g->wc, 1);
  }
  return (double)(now() - start) / count;
}

static double poll_list(struct device *d, long count, long arg)
{
  struct datagrams *g = datagrams(d);
  long done = 0;
  uint64_t start = now();

  (void)arg;
  while (done < count)
    done += drain(g->cq, g->wc, LIST);
  return (double)(now() - start) / done;
}

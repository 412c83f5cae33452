// Datagrams that a queue pair sends to itself.
struct datagrams {
  struct ibv_cq *cq;
  struct ibv_qp *qp;
  struct ibv_send_wr sends[LIST];
  struct ibv_recv_wr recvs[LIST];
  struct ibv_sge sges[BOTH];
  struct ibv_wc wc[BOTH];
};

static struct datagrams *datagrams(struct device *d)
{
  static struct datagrams g;

  if (g.qp)
    return &g;
  g.cq = create_cq(d, BOTH, NULL);
  g.qp = create_qp(d, g.cq);
  prepare_sends(g.sends, g.sges, d, create_own_ah(d), g.qp->qp_num, LIST, 0);
  prepare_recvs(g.recvs, g.sges + LIST, d, LIST, LIST);
  return &g;
}

// Sends and receives `size` messages at a time, and polls until all their completions are there.
static double exchange(struct device *d, long count, int size)
{
  struct datagrams *g = datagrams(d);
  struct ibv_send_wr *bad_send, *end_send = g->sends[size - 1].next;
  struct ibv_recv_wr *bad_recv, *end_recv = g->recvs[size - 1].next;
  struct ibv_wc wc[BOTH];
  long done = 0;
  uint64_t start;

  g->sends[size - 1].next = NULL;
  g->recvs[size - 1].next = NULL;
  start = now();
  for (; done < count; done += size) {
    need(!ibv_post_recv(g->qp, g->recvs, &bad_recv), "post receives");
    need(!ibv_post_send(g->qp, g->sends, &bad_send), "post sends");
    for (int polled = 0; polled < 2 * size;) {
      int n = ibv_poll_cq(g->cq, BOTH, wc);

      need(n >= 0, "poll");
      for (int i = 0; i < n; i++)
        need(wc[i].status == IBV_WC_SUCCESS, "complete");
      polled += n;
    }
  }
  start = now() - start;
  g->sends[size - 1].next = end_send;
  g->recvs[size - 1].next = end_recv;
  return (double)start / done;
}

static double ud_round(struct device *d, long count, long arg)
{
  (void)arg;
  return exchange(d, count, 1);
}

static double ud_messages(struct device *d, long count, long arg)
{
  (void)arg;
  return exchange(d, count, LIST);
}

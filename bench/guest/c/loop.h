// Datagrams that a queue pair sends to itself.
struct loop {
  struct ibv_cq *cq;
  struct ibv_qp *qp;
  struct ibv_send_wr sends[LIST];
  struct ibv_recv_wr recvs[LIST];
  struct ibv_sge sges[2 * LIST];
  int posted; // receives without a message
};

static struct loop *loop(struct device *d)
{
  static struct loop l;

  if (!l.qp) {
    struct ibv_mr *mr = create_mr(d, 2 * LIST * SLOT);
    struct ibv_ah *ah = create_ah(d->pd, 0, 0);

    l.cq = create_cq(d, 2 * LIST, NULL);
    l.qp = create_qp(d, l.cq, l.cq);
    prepare_sends(l.sends, l.sges, mr, 0, LIST);
    prepare_recvs(l.recvs, l.sges + LIST, mr, LIST);
    for (int i = 0; i < LIST; i++)
      address(&l.sends[i], ah, l.qp->qp_num);
  }
  return &l;
}

static void post_recvs(struct loop *l, int count)
{
  struct ibv_recv_wr *bad, *last, *end;

  if (l->posted >= count)
    return;
  last = &l->recvs[count - l->posted - 1];
  end = last->next;
  last->next = NULL;
  need(!ibv_post_recv(l->qp, l->recvs, &bad), "post receives");
  last->next = end;
  l->posted = count;
}

// Sends so many messages and polls until the completions of all sends and receives are there. The list of sends has that length.
static void exchange(struct loop *l, int count)
{
  struct ibv_send_wr *bad;
  struct ibv_wc wc[2 * LIST];
  struct patience patience = { 0 };
  int polled = 0, n;

  post_recvs(l, count);
  need(!ibv_post_send(l->qp, l->sends, &bad), "post sends");
  do {
    n = ibv_poll_cq(l->cq, 2 * LIST, wc);
    need(n >= 0, "poll");
    for (int i = 0; i < n; i++)
      need(wc[i].status == IBV_WC_SUCCESS, "complete");
    polled += n;
  } while (polled < 2 * count && (n > 0 || !is_late(&patience)));
  lost += 2 * count - polled;
  l->posted -= polled - count; // sends complete always
}

static double messages(struct device *d, long count, int list)
{
  struct loop *l = loop(d);
  struct ibv_send_wr *end = l->sends[list - 1].next;
  uint64_t start;
  long done;

  l->sends[list - 1].next = NULL;
  start = now();
  for (done = 0; done < count; done += list)
    exchange(l, list);
  start = now() - start;
  l->sends[list - 1].next = end;
  return (double)start / done;
}

static double ud_round(struct device *d, long count)
{
  return messages(d, count, 1);
}

static double ud_list(struct device *d, long count)
{
  return messages(d, count, LIST);
}

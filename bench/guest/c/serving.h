// A server that sleeps until datagrams come: so many of them. It says the number of its queue pair first. The result is how long after
// a datagram was posted the server is awake, the middle one of all: sender.c writes the time of posting into each.
static double serve(struct device *d, long count)
{
  static struct ibv_comp_channel *channel;
  static struct ibv_cq *cq;
  static struct ibv_qp *qp;
  static struct ibv_recv_wr recvs[LIST];
  static struct ibv_sge sges[LIST];
  static struct ibv_mr *mr;
  struct ibv_recv_wr *bad;
  double *waited = malloc(count * sizeof *waited), middle;
  long received = 0;

  if (!qp) {
    channel = ibv_create_comp_channel(d->context);
    need(channel != NULL, "create a completion channel");
    cq = create_cq(d, 2 * LIST, channel);
    qp = create_qp(d, cq, cq);
    mr = create_mr(d, LIST * SLOT);
    prepare_recvs(recvs, sges, mr, 0);
    need(!ibv_post_recv(qp, recvs, &bad), "post receives");
    for (int i = 0; i < LIST; i++)
      recvs[i].next = NULL;
  }
  need(waited != NULL, "allocate memory");
  for (struct ibv_wc wc; ibv_poll_cq(cq, 1, &wc) == 1;) // the sender of the last round was ended late
    need(!ibv_post_recv(qp, &recvs[wc.wr_id], &bad), "post a receive");
  printf("%u\n", qp->qp_num);
  fflush(stdout);
  for (int asleep = 0; received < count; asleep = !asleep) {
    struct ibv_cq *event_cq;
    struct ibv_wc wc;
    void *context;

    // polled once more after the arming: a completion before it makes no event
    if (asleep) {
      need(!ibv_get_cq_event(channel, &event_cq, &context), "wait for an event");
      ibv_ack_cq_events(event_cq, 1);
    } else
      need(!ibv_req_notify_cq(cq, 0), "ask for an event");
    while (ibv_poll_cq(cq, 1, &wc) == 1) {
      uint64_t posted;

      need(wc.status == IBV_WC_SUCCESS, "complete");
      memcpy(&posted, (char *)mr->addr + wc.wr_id * SLOT + GRH, sizeof posted);
      if (received < count)
        waited[received] = now() - posted;
      need(!ibv_post_recv(qp, &recvs[wc.wr_id], &bad), "post a receive");
      received++;
    }
  }
  qsort(waited, count, sizeof *waited, compare);
  middle = waited[count / 2];
  free(waited);
  return middle;
}

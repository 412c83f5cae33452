// How long after a datagram was posted, by pinger.c, a process that sleeps until the event of its completion is awake.
// The middle one of all. There is room for many: who wakes up late must not lose any.
static double wake_up(struct device *d, long count)
{
  struct ibv_comp_channel *channel = ibv_create_comp_channel(d->context);
  struct ibv_cq *cq = create_cq(d, BOTH, channel);
  struct ibv_qp *qp = create_qp(d, cq);
  struct ibv_recv_wr wr[LIST], *bad;
  struct ibv_sge sge[LIST];
  static double waited[MAX_PARTS];
  long woken = 0;

  prepare_recvs(wr, sge, d, LIST, 0);
  ibv_req_notify_cq(cq, 0);
  need(!ibv_post_recv(qp, wr, &bad), "post a receive");
  printf("%u\n", qp->qp_num);
  fflush(stdout);
  need(count <= MAX_PARTS, "wait so often");
  while (woken < count) {
    struct ibv_cq *event_cq;
    void *context;
    struct ibv_wc wc;
    uint64_t posted;

    need(!ibv_get_cq_event(channel, &event_cq, &context), "wait for an event");
    ibv_ack_cq_events(event_cq, 1);
    ibv_req_notify_cq(cq, 0);
    while (woken < count && ibv_poll_cq(cq, 1, &wc) == 1) {
      int slot = wc.wr_id - LIST;

      memcpy(&posted, d->memory + slot * SLOT + GRH, sizeof posted);
      waited[woken++] = now() - posted;
      wr[slot].next = NULL;
      need(!ibv_post_recv(qp, &wr[slot], &bad), "post a receive");
    }
  }
  ibv_destroy_qp(qp);
  ibv_destroy_cq(cq);
  ibv_destroy_comp_channel(channel);
  qsort(waited, count, sizeof *waited, compare);
  return waited[count / 2];
}

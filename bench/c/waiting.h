// How long after a datagram was posted, by pinger.c, a process that sleeps until the event of its completion is awake.
static double wake_up(struct device *d, long count)
{
  struct ibv_comp_channel *channel = ibv_create_comp_channel(d->context);
  struct ibv_cq *cq = create_cq(d, BOTH, channel);
  struct ibv_qp *qp = create_qp(d, cq);
  struct ibv_recv_wr wr[LIST], *bad;
  struct ibv_sge sge[LIST];
  double waited = 0;
  long woken = 0;

  prepare_recvs(wr, sge, d, 1, 0);
  ibv_req_notify_cq(cq, 0);
  need(!ibv_post_recv(qp, wr, &bad), "post a receive");
  printf("%u\n", qp->qp_num);
  fflush(stdout);
  while (woken < count) {
    struct ibv_cq *event_cq;
    void *context;
    struct ibv_wc wc;
    uint64_t posted;

    need(!ibv_get_cq_event(channel, &event_cq, &context), "wait for an event");
    ibv_ack_cq_events(event_cq, 1);
    ibv_req_notify_cq(cq, 0);
    while (ibv_poll_cq(cq, 1, &wc) == 1) {
      memcpy(&posted, d->memory + GRH, sizeof posted);
      waited += now() - posted;
      woken++;
      need(!ibv_post_recv(qp, wr, &bad), "post a receive");
    }
  }
  ibv_destroy_qp(qp);
  ibv_destroy_cq(cq);
  ibv_destroy_comp_channel(channel);
  return waited / count;
}

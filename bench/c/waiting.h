// How long after an event was made a thread that sleeps until then is awake. The middle one of all.
static double wake_up(struct device *d, long count, long arg)
{
  struct ibv_comp_channel *channel = ibv_create_comp_channel(d->context);
  struct ibv_cq *cq = create_queue(d, BOTH, channel, QUEUE_EVENTS);
  static double waited[MAX_PARTS];

  (void)arg;
  need(count <= MAX_PARTS, "wait so often");
  for (long woken = 0; woken < count;) {
    struct ibv_cq *event_cq;
    void *context;
    struct ibv_wc wc;

    ibv_req_notify_cq(cq, 0);
    need(!ibv_get_cq_event(channel, &event_cq, &context), "wait for an event");
    ibv_ack_cq_events(event_cq, 1);
    if (ibv_poll_cq(event_cq, 1, &wc) == 1)
      waited[woken++] = now() - wc.wr_id;
  }
  qsort(waited, count, sizeof *waited, compare);
  return waited[count / 2];
}

// How long after an event a thread that sleeps is awake, the middle one of all, and processor time of an event. Only the second half
// counts. The completions tell when they were made.
extern uint64_t noop_now(void) __attribute__((weak));
extern uint64_t noop_spent(void) __attribute__((weak));

static long take_stamps(struct ibv_cq *cq, double *waited, long most)
{
  struct ibv_wc wc;
  long taken = 0;

  while (taken < most && ibv_poll_cq(cq, 1, &wc) == 1) {
    need(wc.status == IBV_WC_SUCCESS, "complete");
    waited[taken++] = noop_now() - wc.wr_id;
  }
  return taken;
}

static double wake_up(struct device *d, long count, long arg)
{
  struct ibv_comp_channel *channel = ibv_create_comp_channel(d->context);
  double *waited = malloc(count * sizeof *waited), middle;
  long half = count / 2;
  uint64_t spent = 0;
  struct ibv_cq *cq;

  (void)arg;
  need(channel && waited && noop_now, "wait on that device");
  cq = create_queue(d, 1, channel, QUEUE_TICKS);
  for (long received = 0; received < count;) {
    struct ibv_cq *event_cq;
    void *context;

    if (received == half && !spent)
      spent = noop_spent();
    // polled once more after the arming: a completion before it makes no event
    need(!ibv_req_notify_cq(cq, 0), "ask for an event");
    received += take_stamps(cq, waited + received, count - received);
    need(!ibv_get_cq_event(channel, &event_cq, &context), "wait for an event");
    ibv_ack_cq_events(event_cq, 1);
    received += take_stamps(cq, waited + received, count - received);
  }
  snprintf(more, sizeof more, " processor=%.0f", (double)(noop_spent() - spent) / (count - half));
  qsort(waited + half, count - half, sizeof *waited, compare);
  middle = waited[half + (count - half) / 2];
  free(waited);
  return middle;
}

// pair ROLE KIND: one of two processes that send messages to each other, as ibv_ud_pingpong and ibv_rc_pingpong do. KIND is "ud"
// or "rc", and then "_polling" or "_events"; or it is "cm", see connect.h. It prints its queue pair number or port, and reads that of
// the other process. Then it reads lines "COUNT WINDOW MICROSECONDS". The server answers that many messages. The client sends WINDOW
// messages at a time, so far apart, and prints the middle nanoseconds from sending a window until its answers are here, and those
// of 99 in 100; for one message.
#include "base.h"
#include "connect.h"

static struct end e;
// NULL if it polls.
static struct ibv_comp_channel *channel;
// Sends whose completions were not polled.
static int unsent;

static void wait_for_event(void)
{
  static int is_armed;
  struct ibv_cq *cq;
  void *context;

  // polled once more after the arming: a completion before it makes no event
  if (is_armed) {
    need(!ibv_get_cq_event(channel, &cq, &context), "wait for an event");
    ibv_ack_cq_events(cq, 1);
  } else
    need(!ibv_req_notify_cq(e.recv_cq, 0), "ask for an event");
  is_armed = !is_armed;
}

// Waits for messages. Returns how many came, and posts as many receives.
static int take(void)
{
  int n;

  while ((n = drain(&e, e.recv_cq, LIST)) == 0)
    if (channel)
      wait_for_event();
  post_recvs(&e, n);
  return n;
}

// The completions of the messages before are there, or will be in a moment.
static void post(int count)
{
  while (unsent > 0)
    unsent -= drain(&e, e.send_cq, LIST);
  post_sends(&e, unsent = count);
}

static void serve(long count)
{
  for (long done = 0; done < count;) {
    int n = take();

    post(n);
    done += n;
  }
}

static void sleep_until(uint64_t time)
{
  struct timespec until = { .tv_sec = time / 1000000000, .tv_nsec = time % 1000000000 };

  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

// Connections end when all of them are made: one that ends makes both ends wait for each other.
static void serve_cm(struct device *d, long count)
{
  struct rdma_cm_id **ids = calloc(count, sizeof *ids);

  need(ids != NULL, "allocate memory");
  for (long i = 0; i < count; i++) {
    need(!rdma_get_request(listener, &ids[i]), "get a request");
    ids[i]->qp = e.qp;
    need(!rdma_accept(ids[i], &param), "accept");
    e.qp = create_qp(d, IBV_QPT_RC, e.send_cq, e.recv_cq);
  }
  for (long i = 0; i < count; i++)
    rdma_destroy_ep(ids[i]);
  free(ids);
}

// Nanoseconds of a message and its answer.
static double exchange(int window)
{
  uint64_t start = now();

  post(window);
  for (int come = 0; come < window;)
    come += take();
  return (double)(now() - start) / window;
}

static double connect_cm(struct device *d, unsigned port)
{
  struct rdma_cm_id *id = make_id(0, port);
  uint64_t start;

  id->qp = create_qp(d, IBV_QPT_RC, e.send_cq, e.recv_cq);
  start = now();
  need(!rdma_connect(id, &param), "connect");
  start = now() - start;
  rdma_destroy_ep(id);
  return start;
}

// `port` is that of connections, if these are made.
static void play(long count, int window, long microseconds, struct device *d, unsigned port)
{
  long rounds = (count + window - 1) / window;
  double *taken = malloc(rounds * sizeof *taken);
  uint64_t next = now();

  need(taken != NULL, "allocate memory");
  for (long i = 0; i < rounds; i++) {
    if (microseconds > 0)
      sleep_until(next += microseconds * 1000);
    taken[i] = port ? connect_cm(d, port) : exchange(window);
  }
  qsort(taken, rounds, sizeof *taken, compare);
  printf("%.0f p99=%.0f\n", taken[rounds / 2], taken[rounds * 99 / 100]);
  free(taken);
}

static void run(int is_server, int is_cm, const char *kind)
{
  struct device d = is_cm ? open_cm() : open_device();
  long count, microseconds;
  unsigned remote;
  int window;

  channel = strstr(kind, "events") ? ibv_create_comp_channel(d.context) : NULL;
  open_end(&e, &d, is_cm || !strncmp(kind, "rc", 2) ? IBV_QPT_RC : IBV_QPT_UD, channel);
  if (is_cm && is_server) {
    listener = make_id(RAI_PASSIVE, 0);
    need(!rdma_listen(listener, 8), "listen");
  }
  printf("%u\n", listener ? ntohs(rdma_get_src_port(listener)) : e.qp->qp_num);
  need(scanf("%u", &remote) == 1, "read the number of the other end");
  if (!is_cm) {
    connect_end(&e, &d, remote);
    post_recvs(&e, LIST);
    post_recvs(&e, LIST);
  }
  printf("connected\n");
  while (scanf("%ld %d %ld", &count, &window, &microseconds) == 3) {
    if (!is_server)
      play(count, window, microseconds, &d, is_cm ? remote : 0);
    else if (is_cm)
      serve_cm(&d, count);
    else
      serve(count);
    if (is_server)
      printf("0\n");
  }
}

int main(int argc, char **argv)
{
  setlinebuf(stdout);
  need(argc == 3, "read the arguments");
  run(!strcmp(argv[1], "server"), !strcmp(argv[2], "cm"), argv[2]);
  return e.sum == 1;
}

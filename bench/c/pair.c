// pair ROLE KIND [NUMBER]: one of two processes that send messages to each other, as ibv_ud_pingpong and ibv_rc_pingpong do. It
// prints its queue pair number or port, and reads that of the other process. Then it reads lines "COUNT WINDOW INTERVAL DELAY". The
// server answers that many messages, each after DELAY microseconds. The client sends WINDOW messages at a time, INTERVAL
// microseconds apart, and prints the middle nanoseconds from sending a window until its answers are here, those of 99 in 100, and
// the mean; for one message. KIND is
//   "ud" or "rc", and then "_polling" or "_events"
//   "ud_relay", a server that answers by another queue pair than the one that receives
//   "ud_peers", a client that has NUMBER queue pairs, which send in turn
//   "rc_stream", messages of NUMBER bytes, or "rc_write", as many bytes written into memory of the server: COUNT of them, one
//   answer to each BURST of messages, and the nanoseconds of one
//   "udp", see udp.h, and "cm", see connect.h
#include "base.h"
#include "connect.h"
#include "udp.h"

static struct device d;
static struct end e, second;
// What sends.
static struct end *out = &e;
// NULL if it polls.
static struct ibv_comp_channel *channel;
// Sends whose completions were not polled.
static int unsent;
static struct ibv_qp **peers;
static int peer_count;
// Messages of a stream that are posted together.
static int burst;

// Two bursts fill no cache.
static int burst_of(long size)
{
  long count = (1 << 19) / size;

  return count < 1 ? 1 : count > LIST / 2 ? LIST / 2 : count;
}

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

  if (udp.fd >= 0)
    return receive_udp();
  while ((n = drain(&e, e.recv_cq, LIST)) == 0)
    if (channel)
      wait_for_event();
  post_recvs(&e, n);
  return n;
}

// The completions of the messages before are there, or will be in a moment.
static void post(int count)
{
  if (udp.fd >= 0)
    return send_udp(count);
  while (unsent > 0)
    unsent -= drain(out, out->send_cq, LIST);
  post_sends(out, unsent = count);
}

// It sleeps while that is long, and then polls the clock: a sleep ends late.
static void wait_until(uint64_t time)
{
  uint64_t sleeping = time - 200000;
  struct timespec until = { .tv_sec = sleeping / 1000000000, .tv_nsec = sleeping % 1000000000 };

  if (now() < sleeping)
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  while (now() < time)
    ;
}

static void serve(long count, long delay)
{
  for (long done = 0; done < count;) {
    int n = take();

    for (int i = 0; i < n && e.type == IBV_QPT_UD; i++)
      out->sends[i].wr.ud.remote_qpn = e.wc[i].src_qp;
    if (delay > 0)
      wait_until(now() + delay * 1000);
    post(n);
    done += n;
  }
}

static void serve_stream(long count, long delay)
{
  (void)delay;
  for (long done = 0, told = 0; done < count;)
    for (done += take(); done - told >= burst; told += burst)
      post(1);
}

// Connections end when all of them are made: one that ends makes both ends wait for each other.
static void serve_cm(long count, long delay)
{
  struct rdma_cm_id **ids = calloc(count, sizeof *ids);

  (void)delay;
  need(ids != NULL, "allocate memory");
  for (long i = 0; i < count; i++) {
    need(!rdma_get_request(listener, &ids[i]), "get a request");
    ids[i]->qp = e.qp;
    need(!rdma_accept(ids[i], &param), "accept");
    e.qp = create_qp(&d, IBV_QPT_RC, e.send_cq, e.recv_cq);
  }
  for (long i = 0; i < count; i++)
    rdma_destroy_ep(ids[i]);
  free(ids);
}

// The time of one message or connection.
typedef double exchange(int window, unsigned remote);

static double echo(int window, unsigned remote)
{
  static long turn;
  uint64_t start;

  (void)remote;
  if (peer_count > 0)
    e.qp = peers[turn++ % peer_count];
  start = now();
  post(window);
  for (int come = 0; come < window;)
    come += take();
  return (double)(now() - start) / window;
}

// Two bursts are on their way.
static double stream(int count, unsigned remote)
{
  uint64_t start = now();

  (void)remote;
  for (int sent = 0, come = 0; come < count;) {
    if (sent < count && sent - come < 2 * burst) {
      post(burst);
      sent += burst;
    } else
      come += take() * burst;
  }
  return (double)(now() - start) / count;
}

static double write_all(int count, unsigned remote)
{
  uint64_t start = now();

  (void)remote;
  for (int sent = 0; sent < count; sent += burst)
    post(burst);
  while (unsent > 0)
    unsent -= drain(&e, e.send_cq, LIST);
  return (double)(now() - start) / count;
}

static double connect_cm(int window, unsigned port)
{
  struct rdma_cm_id *id = make_id(0, port);
  uint64_t start;

  (void)window;
  id->qp = create_qp(&d, IBV_QPT_RC, e.send_cq, e.recv_cq);
  start = now();
  need(!rdma_connect(id, &param), "connect");
  start = now() - start;
  rdma_destroy_ep(id);
  return start;
}

static void play(exchange *run, long count, int window, long interval, unsigned remote)
{
  long rounds = (count + window - 1) / window;
  double *taken = malloc(rounds * sizeof *taken), sum = 0;
  uint64_t next = now();

  need(taken != NULL, "allocate memory");
  for (long i = 0; i < rounds; i++) {
    if (interval > 0)
      wait_until(next += interval * 1000);
    sum += taken[i] = run(window, remote);
  }
  qsort(taken, rounds, sizeof *taken, compare);
  printf("%.1f p99=%.1f mean=%.1f\n", taken[rounds / 2], taken[rounds * 99 / 100], sum / rounds);
  free(taken);
}

static void connect_qp(unsigned remote, int receives)
{
  connect_end(&e, &d, remote);
  for (; receives > 0; receives -= LIST)
    post_recvs(&e, receives < LIST ? receives : LIST);
}

static void connect_peers(unsigned remote, int count)
{
  peers = calloc(count, sizeof *peers);
  need(peers != NULL, "allocate memory");
  for (; peer_count < count; peer_count++) {
    peers[peer_count] = e.qp = create_qp(&d, e.type, e.send_cq, e.recv_cq);
    connect_qp(remote, 1);
  }
}

static void aim_writes(const char *where)
{
  uint64_t address;
  uint32_t rkey;

  need(sscanf(where, "%lu %u", &address, &rkey) == 2, "read where to write");
  for (int i = 0; i < LIST; i++) {
    e.sends[i].opcode = IBV_WR_RDMA_WRITE;
    e.sends[i].wr.rdma.remote_addr = address;
    e.sends[i].wr.rdma.rkey = rkey;
  }
}

static void open_verbs(const char *kind, size_t size, int is_server)
{
  enum ibv_qp_type type = strncmp(kind, "ud", 2) ? IBV_QPT_RC : IBV_QPT_UD;

  d = open_device();
  channel = strstr(kind, "events") ? ibv_create_comp_channel(d.context) : NULL;
  open_end(&e, &d, type, channel, size);
  // the answers of a server are short
  for (int i = 0; i < LIST && is_server; i++)
    e.sges[i].length = SIZE;
  if (strstr(kind, "relay"))
    open_end(out = &second, &d, type, NULL, size);
  printf("%u %lu %u\n", e.qp->qp_num, (uintptr_t)e.mr->addr, e.mr->rkey);
}

static void connect_verbs(unsigned remote, const char *where, const char *kind, long number)
{
  connect_qp(remote, 2 * LIST);
  if (out != &e)
    connect_end(out, &d, remote);
  if (strstr(kind, "peers"))
    connect_peers(remote, number);
  if (strstr(kind, "write"))
    aim_writes(where);
}

static void open_listener(int is_server)
{
  d = open_cm();
  open_end(&e, &d, IBV_QPT_RC, NULL, SIZE);
  if (is_server) {
    listener = make_id(RAI_PASSIVE, 0);
    need(!rdma_listen(listener, 8), "listen");
  }
  printf("%u\n", listener ? ntohs(rdma_get_src_port(listener)) : 0);
}

// Echoes are kinds that are not here. A server of writes has nothing to do.
static const struct kind {
  const char *name;
  exchange *play;
  void (*serve)(long count, long delay);
} kinds[] = {
  { "rc_stream", stream, serve_stream }, { "rc_write", write_all, NULL }, { "cm", connect_cm, serve_cm }, { "", echo, serve },
};

static const struct kind *find_kind(const char *name)
{
  const struct kind *kind = kinds;

  while (*kind->name && strcmp(kind->name, name))
    kind++;
  return kind;
}

static void run(int is_server, const struct kind *kind, unsigned remote)
{
  long count, interval, delay;
  int window;

  while (scanf("%ld %d %ld %ld", &count, &window, &interval, &delay) == 4) {
    if (!is_server)
      play(kind->play, count, window, interval, remote);
    else if (kind->serve)
      kind->serve(count, delay);
    if (is_server)
      printf("0\n");
  }
}

int main(int argc, char **argv)
{
  int is_server = argc > 1 && !strcmp(argv[1], "server");
  const char *name = argc > 2 ? argv[2] : "";
  long number = argc > 3 ? atol(argv[3]) : 0;
  const struct kind *kind = find_kind(name);
  int is_long = kind->play == stream || kind->play == write_all, is_udp = !strcmp(name, "udp"), is_cm = !strcmp(name, "cm");
  char where[64];
  unsigned remote;

  setlinebuf(stdout);
  need(argc > 2, "read the arguments");
  burst = is_long ? burst_of(number) : 1;
  if (is_udp)
    printf("%u\n", open_udp(is_server));
  else if (is_cm)
    open_listener(is_server);
  else
    open_verbs(name, is_long ? number : SIZE, is_server);
  need(scanf("%u%63[^\n]", &remote, where) >= 1, "read the number of the other end");
  if (is_udp)
    udp.peer.sin_port = htons(remote);
  else if (!is_cm)
    connect_verbs(remote, where, name, number);
  printf("connected\n");
  run(is_server, kind, remote);
  return e.sum == 1;
}

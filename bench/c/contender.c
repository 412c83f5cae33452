// The same work as the other contenders', in C. It reads lines "ROUND COUNT PARTS". It takes the time of COUNT operations
// PARTS times, and answers with the nanoseconds of one operation in the middle one of these parts. If it cannot measure, it
// ends with status 1.
//
// contender reply does what comes before the first reply, and ends.
#include "base.h"
#include "answers.h"

static struct device d;
// It sends to itself.
static struct end e;

static void poll_empty(long count)
{
  static struct ibv_cq *cq;
  struct ibv_wc wc;

  if (!cq)
    cq = create_cq(&d, 1, NULL, QUEUE_EMPTY);
  for (long i = 0; i < count; i++)
    e.sum += ibv_poll_cq(cq, 1, &wc);
}

static void post_send(long count)
{
  struct ibv_send_wr *bad;

  e.sends[0].next = NULL;
  for (long i = 0; i < count; i++)
    e.sum += ibv_post_send(e.qp, e.sends, &bad);
  e.sends[0].next = &e.sends[1];
}

// Each request gets another handle and another remote queue pair between posts.
static void changed(long count)
{
  static struct ibv_ah *ahs[LIST];
  unsigned r = 0;

  for (int i = 0; i < LIST && !ahs[LIST - 1]; i++)
    ahs[i] = create_ah(&d, own_address(&d));
  for (long done = 0; done < count; r++) {
    for (int i = 0; i < LIST; i++)
      address(&e.sends[i], ahs[(i + r) & (LIST - 1)], (r + i) & 0xff);
    post_sends(&e, LIST);
    done += drain(&e, e.send_cq, LIST);
  }
}

// `size` datagrams are polled and answered at a time.
static void answer(long count, int size, int reads_events)
{
  for (long done = 0; done < count;) {
    find_senders(&d, e.sends, size, reads_events);
    post_sends(&e, size);
    done += drain(&e, e.send_cq, size);
  }
}

static void make_ah(long count)
{
  struct ibv_ah_attr attr = own_address(&d);

  for (long i = 0; i < count; i++)
    need(!ibv_destroy_ah(create_ah(&d, attr)), "destroy an address handle");
}

static void make_qp(long count)
{
  for (long i = 0; i < count; i++)
    need(!ibv_destroy_qp(create_qp(&d, IBV_QPT_UD, e.send_cq, e.recv_cq)), "destroy a queue pair");
}

static const struct {
  const char *name;
  void (*run)(long);
  // Of answers.
  int size, reads_events;
} rounds[] = {
  { "poll_empty", poll_empty, 0, 0 }, { "post_send", post_send, 0, 0 }, { "changed", changed, 0, 0 },
  { "make_ah", make_ah, 0, 0 }, { "make_qp", make_qp, 0, 0 },
  { "answer", NULL, LIST, 1 }, { "answer_no_events", NULL, LIST, 0 },
  { "answer_one", NULL, 1, 1 }, { "answer_one_no_events", NULL, 1, 0 },
};

static double run(const char *name, long count, int parts)
{
  double taken[1000];
  size_t i = 0;

  while (i < sizeof rounds / sizeof rounds[0] && strcmp(rounds[i].name, name))
    i++;
  need(i < sizeof rounds / sizeof rounds[0] && parts >= 1 && parts <= 1000, "run that round");
  for (int part = 0; part < parts; part++) {
    uint64_t start = now();

    if (rounds[i].run)
      rounds[i].run(count);
    else
      answer(count, rounds[i].size, rounds[i].reads_events);
    taken[part] = (double)(now() - start) / count;
  }
  qsort(taken, parts, sizeof *taken, compare);
  return taken[parts / 2];
}

int main(int argc, char **argv)
{
  char name[64];
  long count;
  int parts;

  d = open_device();
  open_end(&e, &d, IBV_QPT_UD, NULL, SIZE);
  connect_end(&e, &d, e.qp->qp_num);
  if (argc == 2 && !strcmp(argv[1], "reply")) {
    headers = 1;
    answer(1, 1, 1);
    return 0;
  }
  while (scanf("%63s %ld %d", name, &count, &parts) == 3) {
    printf("%.3f\n", run(name, count, parts));
    fflush(stdout);
  }
  return e.sum == 1;
}

// The same work as the other contenders', in C. It reads lines "ROW COUNT PARTS", takes the time of COUNT operations PARTS
// times, and answers with the nanoseconds of one operation in the middle one of these parts. Stage 1 is run with provider.c in libibverbs' place, stage 2 on a device.
#include "contender.h"
#include "datagrams.h"
#include "replies.h"
#include "waiting.h"

static uint64_t sum;

static double poll_empty(struct device *d, long count)
{
  static struct ibv_cq *cq;
  struct ibv_wc wc;
  uint64_t start;

  if (!cq)
    cq = create_cq(d, 1, NULL);
  start = now();
  for (long i = 0; i < count; i++)
    sum += ibv_poll_cq(cq, 1, &wc);
  return (double)(now() - start) / count;
}

static double post_send(struct device *d, long count)
{
  struct datagrams *g = datagrams(d);
  struct ibv_send_wr *bad;
  uint64_t start = now();

  g->sends[0].next = NULL;
  for (long i = 0; i < count; i++)
    sum += ibv_post_send(g->qp, g->sends, &bad);
  g->sends[0].next = &g->sends[1];
  return (double)(now() - start) / count;
}

// One operation is one message: its share of a list of 32 posted, a list of 32 polled, status and wr_id read.
static double post_poll(struct device *d, long count)
{
  struct datagrams *g = datagrams(d);
  static struct ibv_wc wc[LIST];
  struct ibv_send_wr *bad;
  long done = 0;
  uint64_t start = now();

  while (done < count) {
    int n;

    ibv_post_send(g->qp, g->sends, &bad);
    n = ibv_poll_cq(g->cq, LIST, wc);
    for (int i = 0; i < n; i++) {
      if (wc[i].status != IBV_WC_SUCCESS)
        return -1;
      sum += wc[i].wr_id;
    }
    done += n;
  }
  return (double)(now() - start) / done;
}

static const struct {
  const char *name;
  double (*run)(struct device *, long);
} rows[] = {
  { "poll_empty", poll_empty },
  { "post_send", post_send },
  { "post_poll", post_poll },
  { "ud_round", ud_round },
  { "ud_messages", ud_messages },
  { "attributes_first", attributes_first },
  { "attributes_last", attributes_last },
  { "reply_10", reply_few },
  { "reply_10000", reply_many },
  { "wake_up", wake_up },
};

static double run(struct device *d, const char *name, long count, int parts)
{
  double taken[MAX_PARTS];
  size_t row = 0;

  while (row < sizeof rows / sizeof rows[0] && strcmp(rows[row].name, name))
    row++;
  need(row < sizeof rows / sizeof rows[0] && parts >= 1 && parts <= MAX_PARTS, "run that row");
  for (int i = 0; i < parts; i++)
    taken[i] = rows[row].run(d, count);
  qsort(taken, parts, sizeof *taken, compare);
  return taken[parts / 2];
}

int main(void)
{
  struct device d = open_device();
  char name[64];
  long count;
  int parts;

  while (scanf("%63s %ld %d", name, &count, &parts) == 3) {
    printf("%.3f\n", run(&d, name, count, parts));
    fflush(stdout);
  }
  return sum == 1;
}

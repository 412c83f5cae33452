// How long single iterations take: 32 changed requests posted and polled, one after the other, for so many seconds.
enum { LONGEST = 1000000 };

static int percentile(const uint32_t *histogram, uint64_t total, double share)
{
  uint64_t seen = 0;
  int i = 0;

  while (i < LONGEST && (seen += histogram[i]) < share * total)
    i++;
  return i;
}

static double iteration(struct device *d, long seconds, long arg)
{
  static uint32_t histogram[LONGEST + 1];
  struct datagrams *g = datagrams(d);
  struct ibv_ah **ahs = handles(d);
  struct ibv_send_wr *bad;
  unsigned r = 0;
  uint64_t total = 0, last = now(), counted = last + 1000000000ull, end = counted + seconds * 1000000000ull;

  (void)arg;
  memset(histogram, 0, sizeof histogram);
  while (last < end) {
    uint64_t then, taken;

    change(g->sends, ahs, LIST, ++r);
    need(!ibv_post_send(g->qp, g->sends, &bad), "post");
    drain(g->cq, g->wc, LIST);
    then = now();
    taken = then - last;
    last = then;
    // the first second is for warming up
    if (then < counted)
      continue;
    histogram[taken < LONGEST ? taken : LONGEST]++;
    total++;
  }
  snprintf(more, sizeof more, " p99=%d p99.9=%d", percentile(histogram, total, 0.99), percentile(histogram, total, 0.999));
  return percentile(histogram, total, 0.5);
}

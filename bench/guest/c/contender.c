// The work of the guest's rows, in C. It reads lines "ROW COUNT PARTS", takes the time of COUNT operations PARTS times, and answers
// with the nanoseconds of one operation in the middle one of these parts, and the datagrams that were lost.
#define _GNU_SOURCE
#include "device.h"

static uint64_t lost; // datagrams of this round that did not come

#include "loop.h"
#include "objects.h"
#include "replies.h"
#include "serving.h"
#include "sockets.h"

enum { MAX_PARTS = 1000 };

static const struct {
  const char *name;
  double (*run)(struct device *, long);
} rows[] = {
  { "ud_round", ud_round },
  { "ud_list", ud_list },
  { "reply_uncached", reply_uncached },
  { "reply_cached", reply_cached },
  { "echo", echo },
  { "udp_echo", udp_echo },
  { "udp_echo_list", udp_echo_list },
  { "serve", serve },
};

static double part(struct device *d, const char *name, long count)
{
  if (!strncmp(name, "make_", 5))
    return make_and_end(d, name + 5, count);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, name))
      return rows[i].run(d, count);
  need(0, "find that row");
  return 0;
}

int main(void)
{
  struct device d = open_device();
  char name[64];
  long count;
  int parts;

  while (scanf("%63s %ld %d", name, &count, &parts) == 3) {
    double taken[MAX_PARTS];

    need(parts >= 1 && parts <= MAX_PARTS, "run so many parts");
    lost = 0;
    for (int i = 0; i < parts; i++)
      taken[i] = part(&d, name, count);
    qsort(taken, parts, sizeof *taken, compare);
    printf("%.3f lost=%lu\n", taken[parts / 2], lost);
    fflush(stdout);
  }
}

// The same work as the other contenders', in C. It reads lines "ROUND COUNT PARTS", where a number after a colon is an
// argument of the round. It takes the time of COUNT operations PARTS times, and answers with the nanoseconds of one
// operation in the middle one of these parts, and with further figures as "NAME=NUMBER". If it cannot measure, it ends with
// status 1.
//
// contender cold WHAT does what a program does first, and ends.
#include "contender.h"

// What is read is added here, so that no reading can be left out.
static uint64_t sum;
// Further figures of a round.
static char more[128];

#include "datagrams.h"
#include "replies.h"
#include "calls.h"
#include "answers.h"
#include "wake_up.h"
#include "cold.h"

static const struct {
  const char *name;
  double (*run)(struct device *, long, long);
} rounds[] = {
  { "exported", call_exported },
  { "poll_empty", poll_empty },
  { "post_send", post_send },
  { "post_poll", post_poll },
  { "changed", changed },
  { "object", object },
  { "poll_list", poll_list },
  { "answer", answer },
  { "answer_one", answer_one },
  { "answer_no_events", answer_no_events },
  { "answer_one_no_events", answer_one_no_events },
  { "answer_uncached", answer_uncached },
  { "wake_up", wake_up },
  { "attributes_last", attributes_last },
  { "reply_unknown", reply_unknown },
};

static double run(struct device *d, char *name, long count, int parts)
{
  double taken[MAX_PARTS];
  char *arg = strchr(name, ':');
  size_t i = 0;

  if (arg)
    *arg++ = 0;
  while (i < sizeof rounds / sizeof rounds[0] && strcmp(rounds[i].name, name))
    i++;
  need(i < sizeof rounds / sizeof rounds[0] && parts >= 1 && parts <= MAX_PARTS, "run that round");
  more[0] = 0;
  for (int part = 0; part < parts; part++)
    taken[part] = rounds[i].run(d, count, arg ? atol(arg) : 0);
  qsort(taken, parts, sizeof *taken, compare);
  return taken[parts / 2];
}

int main(int argc, char **argv)
{
  struct device d;
  char name[64];
  long count;
  int parts;

  if (argc == 3 && !strcmp(argv[1], "cold")) {
    cold(argv[2]);
    return sum == 1;
  }
  d = open_device();
  while (scanf("%63s %ld %d", name, &count, &parts) == 3) {
    double nanoseconds = run(&d, name, count, parts);

    printf("%.3f%s\n", nanoseconds, more);
    fflush(stdout);
  }
  return sum == 1;
}

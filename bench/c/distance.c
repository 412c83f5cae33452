// How far the first two processors are from each other: nanoseconds in which a line of cache goes to the other one and back. The
// fastest of PARTS counts, because other programs interrupt some of them.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "base.h"

enum { PARTS = 50, COUNT = 400 };

static _Alignas(128) _Atomic int asked, answered;

static void pin(int processor)
{
  cpu_set_t set;

  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  need(!sched_setaffinity(0, sizeof set, &set), "choose a processor");
}

static void *answer(void *unused)
{
  pin(1);
  for (int i = 1; i <= PARTS * COUNT; i++) {
    while (asked != i)
      ;
    answered = i;
  }
  return unused;
}

static double part(int first)
{
  uint64_t start = now();

  for (int i = first; i < first + COUNT; i++) {
    asked = i;
    while (answered != i)
      ;
  }
  return (double)(now() - start) / COUNT;
}

int main(void)
{
  double taken[PARTS];
  pthread_t other;

  pin(0);
  need(!pthread_create(&other, NULL, answer, NULL), "start a thread");
  for (int i = 0; i < PARTS; i++)
    taken[i] = part(1 + i * COUNT);
  qsort(taken, PARTS, sizeof *taken, compare);
  printf("%.0f\n", taken[0]);
  return 0;
}

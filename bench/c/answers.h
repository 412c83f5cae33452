// A loop that answers datagrams: polls them, finds the handles of their senders, posts the answers, polls their completions.
// ../deno/answers.ts has the same peers.
#include <unistd.h>
#include "known.h"

enum { SLOTS = 1 << 17, CACHE = 1 << 18 };

static inline uint32_t next_random(uint32_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

// The GRHs of a ring of receives, whose senders are drawn at random.
static struct ibv_grh *received(struct device *d, int peers)
{
  struct ibv_grh *grhs = calloc(SLOTS, sizeof *grhs);
  uint32_t state = 1;
  union ibv_gid gid = gid_of(d, 0);

  need(grhs != NULL, "allocate memory");
  for (int i = 0; i < SLOTS; i++)
    grhs[i] = grh_to(&gid, next_random(&state) % peers);
  return grhs;
}

struct answering {
  struct ibv_cq *receives;
  struct ibv_wc wc[LIST];
  struct ibv_grh *grhs;
  struct known *cache;
  union ibv_gid own;
  int at;
};

static struct answering *answering(struct device *d, int peers)
{
  static struct answering a;
  static int made;

  need(!made || made == peers, "answer other peers in the same process");
  if (made)
    return &a;
  made = peers;
  a.receives = create_queue(d, BOTH, NULL, QUEUE_RECEIVES);
  a.grhs = received(d, peers);
  a.cache = calloc(CACHE, sizeof *a.cache);
  a.own = gid_of(d, 0);
  return &a;
}

// With a hash table of handles, and a look at the device's events after each poll: an address must not outlive the device's.
static double answer_cached(struct device *d, long count, int peers, int size, int reads_events)
{
  struct answering *a = answering(d, peers);
  struct datagrams *g = datagrams(d);
  struct ibv_send_wr *bad, *end = g->sends[size - 1].next;
  long done = 0;
  uint64_t event, start;

  // the handles are made before: here all peers are known
  for (int i = 0; i < SLOTS && !a->at; i++) {
    struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
    union address address;

    derive(&wc, &a->grhs[i], &a->own, 0, &address);
    look_up(a->cache, CACHE, d, &address);
  }
  g->sends[size - 1].next = NULL;
  start = now();
  while (done < count) {
    int n = ibv_poll_cq(a->receives, size, a->wc);

    need(n > 0, "poll");
    // as ReplyPath does, which a program that never looks for events of the device need not
    need(!reads_events || read(d->context->async_fd, &event, sizeof event) < 0, "go on after an event");
    for (int i = 0; i < n; i++) {
      union address address;

      need(a->wc[i].status == IBV_WC_SUCCESS, "complete");
      derive(&a->wc[i], &a->grhs[a->at++ & (SLOTS - 1)], &a->own, 0, &address);
      g->sends[i].wr.ud.ah = look_up(a->cache, CACHE, d, &address);
      g->sends[i].wr.ud.remote_qpn = a->wc[i].src_qp;
      g->sends[i].wr.ud.remote_qkey = QKEY;
    }
    need(!ibv_post_send(g->qp, g->sends, &bad), "post");
    done += drain(g->cq, g->wc, n);
  }
  start = now() - start;
  g->sends[size - 1].next = end;
  return (double)start / done;
}

static double answer(struct device *d, long count, long peers)
{
  return answer_cached(d, count, peers, LIST, 1);
}

static double answer_one(struct device *d, long count, long peers)
{
  return answer_cached(d, count, peers, 1, 1);
}

static double answer_no_events(struct device *d, long count, long peers)
{
  return answer_cached(d, count, peers, LIST, 0);
}

static double answer_one_no_events(struct device *d, long count, long peers)
{
  return answer_cached(d, count, peers, 1, 0);
}

// A handle for each answer, made and destroyed, as ibv_ud_pingpong-like programs do.
static double answer_uncached(struct device *d, long count, long peers)
{
  struct answering *a = answering(d, peers);
  struct datagrams *g = datagrams(d);
  struct ibv_ah *ahs[LIST];
  struct ibv_send_wr *bad;
  long done = 0;
  uint64_t start = now();

  while (done < count) {
    int n = ibv_poll_cq(a->receives, LIST, a->wc);

    need(n > 0, "poll");
    for (int i = 0; i < n; i++) {
      union address address;

      need(a->wc[i].status == IBV_WC_SUCCESS, "complete");
      derive(&a->wc[i], &a->grhs[a->at++ & (SLOTS - 1)], &a->own, 0, &address);
      g->sends[i].wr.ud.ah = ahs[i] = ibv_create_ah(d->pd, &address.attr);
      g->sends[i].wr.ud.remote_qpn = a->wc[i].src_qp;
      g->sends[i].wr.ud.remote_qkey = QKEY;
    }
    need(!ibv_post_send(g->qp, g->sends, &bad), "post");
    done += drain(g->cq, g->wc, n);
    for (int i = 0; i < n; i++)
      ibv_destroy_ah(ahs[i]);
  }
  return (double)(now() - start) / done;
}

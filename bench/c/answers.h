// Received datagrams of known peers, and a hash table of their handles by the header of a packet. ../deno/answers.ts has the same
// peers.
#pragma once
#include <arpa/inet.h>
#include <unistd.h>
#include "base.h"

// A power of two.
enum { TABLE = 256 };

// GRHs in a ring: a power of two.
static int headers = 1 << 17;

static struct {
  struct ibv_cq *receives;
  struct ibv_wc wc[LIST];
  struct ibv_grh *grhs;
  int at;
  struct {
    struct ibv_ah *ah;
    struct ibv_grh grh;
  } table[TABLE];
} a;

// The handle of a sender. It is made if it is not in the table.
static inline struct ibv_ah *look_up(struct device *d, struct ibv_wc *wc, struct ibv_grh *grh)
{
  uint64_t words[sizeof *grh / 8], h = 0;
  uint32_t i;

  memcpy(words, grh, sizeof words);
  for (size_t word = 0; word < sizeof words / sizeof words[0]; word++)
    h = (h ^ h >> 29 ^ words[word]) * 0x9e3779b97f4a7c15ull;
  for (i = (h ^ h >> 32) & (TABLE - 1); a.table[i].ah; i = (i + 1) & (TABLE - 1)) {
    if (!memcmp(&a.table[i].grh, grh, sizeof *grh))
      return a.table[i].ah;
  }
  a.table[i].grh = *grh;
  a.table[i].ah = ibv_create_ah_from_wc(d->pd, wc, grh, PORT);
  need(a.table[i].ah != NULL, "create an address handle");
  return a.table[i].ah;
}

// Headers of datagrams from 32 neighbours of the port, which come in an order without a pattern.
static inline void make_headers(struct device *d)
{
  union ibv_gid own = own_address(d).grh.dgid;

  a.receives = create_cq(d, 2 * LIST, NULL, QUEUE_RECEIVES);
  a.grhs = calloc(headers, sizeof *a.grhs);
  need(a.grhs != NULL, "allocate memory");
  for (int i = 0; i < headers; i++) {
    a.grhs[i] = (struct ibv_grh){ htonl(6u << 28), htons(SIZE), IPPROTO_UDP, 64, own, own };
    a.grhs[i].sgid.raw[15] = (uint32_t)i * 0x9e3779b1u >> 27;
  }
}

// Polls datagrams and addresses the answers. Known addresses are valid while the device reports no event, which is looked for
// once a poll as ReplyPath does; a program that knows that addresses stay need not look.
static inline void find_senders(struct device *d, struct ibv_send_wr *sends, int size, int reads_events)
{
  uint64_t event;

  if (!a.receives)
    make_headers(d);
  need(ibv_poll_cq(a.receives, size, a.wc) == size, "poll");
  need(!reads_events || read(d->context->async_fd, &event, sizeof event) < 0, "go on after an event");
  for (int i = 0; i < size; i++) {
    struct ibv_grh *grh = &a.grhs[a.at++ & (headers - 1)];

    need(a.wc[i].status == IBV_WC_SUCCESS, "complete");
    address(&sends[i], look_up(d, &a.wc[i], grh), a.wc[i].src_qp);
  }
}

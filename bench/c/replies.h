// What a reply costs, from the work completion and the GRH of the message it answers.
#include <arpa/inet.h>

enum { PEERS = 10000 };

struct message {
  struct ibv_wc wc;
  struct ibv_grh grh;
};

// The GRH of a datagram to a GID from one of its neighbours.
static struct ibv_grh grh_to(const union ibv_gid *gid, uint32_t peer)
{
  struct ibv_grh grh = { .version_tclass_flow = htonl(6u << 28), .paylen = htons(SIZE), .next_hdr = IPPROTO_UDP,
                         .hop_limit = 64, .sgid = *gid, .dgid = *gid };
  uint32_t last = htonl(0x10000 + peer);

  memcpy(grh.sgid.raw + 12, &last, sizeof last);
  return grh;
}

static union ibv_gid gid_of(struct device *d, int index)
{
  union ibv_gid gid;

  need(!ibv_query_gid(d->context, PORT, index, &gid), "query the GID");
  return gid;
}

static int last_gid(struct device *d)
{
  struct ibv_gid_entry entries[1024];
  ssize_t used = ibv_query_gid_table(d->context, entries, 1024, 0);

  need(used > 0, "query the GID table");
  return entries[used - 1].gid_index;
}

static double attributes(struct device *d, int index, long count)
{
  union ibv_gid gid = gid_of(d, index);
  struct message m = { .wc = { .wc_flags = IBV_WC_GRH }, .grh = grh_to(&gid, 0) };
  struct ibv_ah_attr attr;
  uint64_t start = now();

  for (long i = 0; i < count; i++)
    need(!ibv_init_ah_from_wc(d->context, PORT, &m.wc, &m.grh, &attr), "derive an address");
  return (double)(now() - start) / count;
}

static double attributes_last(struct device *d, long count, long arg)
{
  (void)arg;
  return attributes(d, last_gid(d), count);
}

// A handle for each message, made and destroyed.
static double reply_unknown(struct device *d, long count, long arg)
{
  static struct message messages[PEERS];
  static long next; // rounds go on with the peer that comes next
  union ibv_gid gid = gid_of(d, 0);
  uint64_t start;

  (void)arg;
  for (int i = 0; i < PEERS; i++)
    messages[i] = (struct message){ .wc = { .wc_flags = IBV_WC_GRH }, .grh = grh_to(&gid, i) };
  start = now();
  for (long i = 0; i < count; i++) {
    struct message *m = &messages[next++ % PEERS];
    struct ibv_ah *ah = ibv_create_ah_from_wc(d->pd, &m->wc, &m->grh, PORT);

    need(ah != NULL, "create an address handle");
    ibv_destroy_ah(ah);
  }
  return (double)(now() - start) / count;
}

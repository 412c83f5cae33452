// What a reply costs, from the work completion and the GRH of the message it answers.
#include <arpa/inet.h>

enum { PEERS = 10000 };

struct message {
  struct ibv_wc wc;
  struct ibv_grh grh;
};

// A datagram received by the port's GID of that index.
static struct message message_to(struct device *d, int index)
{
  struct message m = { .wc = { .wc_flags = IBV_WC_GRH } };

  m.grh.version_tclass_flow = htonl(6u << 28);
  m.grh.paylen = htons(SIZE);
  m.grh.next_hdr = IPPROTO_UDP;
  m.grh.hop_limit = 64;
  need(!ibv_query_gid(d->context, PORT, index, &m.grh.dgid), "query the GID");
  m.grh.sgid = m.grh.dgid;
  return m;
}

// Lets the message come from one of many neighbours of the GID it went to.
static void come_from(struct message *m, uint32_t peer)
{
  uint32_t last = htonl(0x10000 + peer);

  memcpy(m->grh.sgid.raw + 12, &last, sizeof last);
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
  struct message m = message_to(d, index);
  struct ibv_ah_attr attr;
  uint64_t start = now();

  for (long i = 0; i < count; i++)
    need(!ibv_init_ah_from_wc(d->context, PORT, &m.wc, &m.grh, &attr), "derive an address");
  return (double)(now() - start) / count;
}

static double attributes_first(struct device *d, long count, long arg)
{
  (void)arg;
  return attributes(d, 0, count);
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
  uint64_t start;

  (void)arg;
  messages[0] = message_to(d, 0);
  for (int i = 0; i < PEERS; i++) {
    messages[i] = messages[0];
    come_from(&messages[i], i);
  }
  start = now();
  for (long i = 0; i < count; i++) {
    struct message *m = &messages[next++ % PEERS];
    struct ibv_ah *ah = ibv_create_ah_from_wc(d->pd, &m->wc, &m->grh, PORT);

    need(ah != NULL, "create an address handle");
    ibv_destroy_ah(ah);
  }
  return (double)(now() - start) / count;
}

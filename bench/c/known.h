// A hash table of the handles of known peers.
#include <arpa/inet.h>

union address {
  struct ibv_ah_attr attr;
  uint64_t words[sizeof(struct ibv_ah_attr) / 8];
};

struct known {
  struct ibv_ah *ah;
  union address address;
};

// What ibv_init_ah_from_wc does if the packet was sent to the GID that is known, over IPv6.
static inline void derive(const struct ibv_wc *wc, const struct ibv_grh *grh, const union ibv_gid *own, int index,
                          union address *a)
{
  uint32_t flow = ntohl(grh->version_tclass_flow);

  memset(a, 0, sizeof *a);
  a->attr.port_num = PORT;
  a->attr.sl = wc->sl;
  a->attr.src_path_bits = wc->dlid_path_bits;
  a->attr.dlid = wc->slid;
  need(wc->wc_flags & IBV_WC_GRH && flow >> 28 == 6 && grh->next_hdr == IPPROTO_UDP, "read the GRH");
  need(!memcmp(&grh->dgid, own, sizeof *own), "find the GID");
  a->attr.is_global = 1;
  a->attr.grh.dgid = grh->sgid;
  a->attr.grh.sgid_index = index;
  a->attr.grh.flow_label = flow & 0xfffff;
  a->attr.grh.traffic_class = flow >> 20;
  a->attr.grh.hop_limit = grh->hop_limit;
}

// The handle of an address. It is made if it is not in the table, whose size is a power of two.
static inline struct ibv_ah *look_up(struct known *table, uint32_t size, struct device *d, union address *a)
{
  uint64_t h = 0;
  uint32_t i;

  for (size_t word = 0; word < sizeof a->words / sizeof a->words[0]; word++)
    h = (h ^ h >> 29 ^ a->words[word]) * 0x9e3779b97f4a7c15ull;
  for (i = (h ^ h >> 32) & (size - 1); table[i].ah; i = (i + 1) & (size - 1)) {
    if (!memcmp(&table[i].address, a, sizeof *a))
      return table[i].ah;
  }
  table[i].address = *a;
  return table[i].ah = ibv_create_ah(d->pd, &a->attr);
}

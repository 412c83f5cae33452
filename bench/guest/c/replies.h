// A server that answers 32 peers, and those peers: two queue pairs of the same process. Each peer is a GID of the port.
// Uncached, the server makes an address handle for each message, as the pingpong tools do for each peer. Cached, it derives the
// attributes itself, looks them up in a hash table, and reads the events of the device once a poll.
#include <fcntl.h>
#include "../../c/known.h"

enum { TABLE = 128, BATCH = 2 * LIST };

struct replies {
  struct ibv_cq *recv_cq, *send_cq, *client_cq;
  struct ibv_qp *server, *client;
  struct ibv_mr *mr;
  struct ibv_send_wr requests[LIST], answers[LIST];
  struct ibv_recv_wr server_recvs[LIST], client_recvs[LIST];
  struct ibv_sge sges[4][LIST];
  struct known table[TABLE];
  struct ibv_gid_entry own;
};

static struct replies *replies(struct device *d)
{
  static struct replies r;
  struct ibv_gid_entry entries[256], *peers[LIST];
  ssize_t used, found = 0;

  if (r.server)
    return &r;
  used = ibv_query_gid_table(d->context, entries, 256, 0);
  for (ssize_t i = 0; i < used && found < LIST; i++)
    if (entries[i].gid.raw[0] == 0xfd)
      peers[found++] = &entries[i];
  need(found == LIST, "find a GID for each peer");
  r.mr = create_mr(d, 4 * LIST * SLOT);
  r.recv_cq = create_cq(d, LIST, NULL);
  r.send_cq = create_cq(d, LIST, NULL);
  r.client_cq = create_cq(d, 2 * LIST, NULL);
  r.server = create_qp(d, r.send_cq, r.recv_cq);
  r.client = create_qp(d, r.client_cq, r.client_cq);
  prepare_sends(r.requests, r.sges[0], r.mr, 0, LIST);
  prepare_recvs(r.server_recvs, r.sges[1], r.mr, LIST);
  prepare_recvs(r.client_recvs, r.sges[2], r.mr, 2 * LIST);
  prepare_sends(r.answers, r.sges[3], r.mr, 3 * LIST, LIST);
  r.own = *peers[0];
  for (int i = 0; i < LIST; i++)
    address(&r.requests[i], create_ah(d->pd, peers[i]->gid_index, r.own.gid_index), r.server->qp_num);
  fcntl(d->context->async_fd, F_SETFL, O_NONBLOCK);
  return &r;
}

static struct ibv_ah *uncached(struct device *d, struct replies *r, struct ibv_wc *wc, struct ibv_grh *grh)
{
  (void)r;
  return ibv_create_ah_from_wc(d->pd, wc, grh, PORT);
}

static struct ibv_ah *cached(struct device *d, struct replies *r, struct ibv_wc *wc, struct ibv_grh *grh)
{
  union address a;

  derive(wc, grh, &r->own.gid, r->own.gid_index, &a);
  return look_up(r->table, TABLE, d, &a);
}

typedef struct ibv_ah *find_ah(struct device *, struct replies *, struct ibv_wc *, struct ibv_grh *);

static int drain(struct ibv_cq *cq, int wanted)
{
  struct ibv_wc wc[BATCH];
  struct patience patience = { 0 };
  int done = 0;

  while (done < wanted) {
    int n = ibv_poll_cq(cq, BATCH, wc);

    for (int i = 0; i < n; i++)
      need(wc[i].status == IBV_WC_SUCCESS, "complete");
    done += n;
    if (n == 0 && is_late(&patience))
      break;
  }
  lost += wanted - done;
  return done;
}

// Reads the events of the device. After one addresses may have another meaning.
static void look_for_events(struct device *d, struct replies *r)
{
  struct ibv_async_event event;

  while (!ibv_get_async_event(d->context, &event)) {
    ibv_ack_async_event(&event);
    for (int i = 0; i < TABLE; i++)
      if (r->table[i].ah)
        need(!ibv_destroy_ah(r->table[i].ah), "destroy an address handle");
    memset(r->table, 0, sizeof r->table);
  }
}

// Answers what a poll brings, in one list.
static int answer(struct device *d, struct replies *r, find_ah *find, int events)
{
  struct ibv_send_wr *bad, *end;
  struct ibv_wc wc[LIST];
  int n = ibv_poll_cq(r->recv_cq, LIST, wc);

  if (n == 0)
    return 0;
  if (events)
    look_for_events(d, r);
  for (int i = 0; i < n; i++) {
    struct ibv_ah *ah;

    need(wc[i].status == IBV_WC_SUCCESS, "complete");
    ah = find(d, r, &wc[i], (struct ibv_grh *)((char *)r->mr->addr + wc[i].wr_id * SLOT));
    need(ah != NULL, "create an address handle");
    address(&r->answers[i], ah, wc[i].src_qp);
  }
  end = r->answers[n - 1].next;
  r->answers[n - 1].next = NULL;
  need(!ibv_post_send(r->server, r->answers, &bad), "post replies");
  r->answers[n - 1].next = end;
  drain(r->send_cq, n);
  if (!events)
    for (int i = 0; i < n; i++)
      ibv_destroy_ah(r->answers[i].wr.ud.ah);
  return n;
}

// Links so many receives of a list.
static void set_length(struct ibv_recv_wr *wr, int length)
{
  for (int i = 0; i < LIST; i++)
    wr[i].next = i + 1 < length ? &wr[i + 1] : NULL;
}

// `size` requests are sent, and all are answered; again and again. For one message.
static double reply_loop(struct device *d, long count, int size, find_ah *find, int events)
{
  struct replies *r = replies(d);
  struct ibv_send_wr *bad_send, *end = r->requests[size - 1].next;
  struct ibv_recv_wr *bad_recv;
  uint64_t start = now();
  long done = 0;

  r->requests[size - 1].next = NULL;
  set_length(r->client_recvs, size);
  set_length(r->server_recvs, size);
  for (; done < count; done += size) {
    struct patience patience = { 0 };
    int answered = 0;

    need(!ibv_post_recv(r->client, r->client_recvs, &bad_recv), "post receives");
    need(!ibv_post_recv(r->server, r->server_recvs, &bad_recv), "post receives");
    need(!ibv_post_send(r->client, r->requests, &bad_send), "post requests");
    while (answered < size) {
      int n = answer(d, r, find, events);

      answered += n;
      need(n > 0 || !is_late(&patience), "receive all requests");
    }
    need(drain(r->client_cq, 2 * size) == 2 * size, "receive all replies");
  }
  r->requests[size - 1].next = end;
  return (double)(now() - start) / done;
}

static double reply_uncached(struct device *d, long count)
{
  return reply_loop(d, count, LIST, uncached, 0);
}

static double reply_cached(struct device *d, long count)
{
  return reply_loop(d, count, LIST, cached, 1);
}

static double echo(struct device *d, long count)
{
  return reply_loop(d, count, 1, cached, 1);
}

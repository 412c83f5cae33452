// Objects of the device, made and destroyed.
enum { DEPTH = 64 };

static void *make_ah(struct device *d)
{
  static struct ibv_ah_attr attr = { .port_num = PORT, .is_global = 1, .grh = { .hop_limit = 64 } };

  if (attr.grh.dgid.raw[0] == 0)
    need(!ibv_query_gid(d->context, PORT, 0, &attr.grh.dgid), "query the GID");
  return ibv_create_ah(d->pd, &attr);
}

static void *make_qp(struct device *d)
{
  static struct ibv_cq *cq;
  struct ibv_qp_init_attr init = {
    .qp_type = IBV_QPT_UD,
    .cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1 },
  };

  if (!cq)
    cq = create_cq(d, 2 * DEPTH, NULL);
  init.send_cq = init.recv_cq = cq;
  return ibv_create_qp(d->pd, &init);
}

static int end_ah(void *ah)
{
  return ibv_destroy_ah(ah);
}

static int end_qp(void *qp)
{
  return ibv_destroy_qp(qp);
}

static const struct kind {
  const char *name;
  void *(*make)(struct device *);
  int (*end)(void *);
} kinds[] = {
  { "ah", make_ah, end_ah },
  { "qp", make_qp, end_qp },
};

static const struct kind *kind(const char *name)
{
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].name, name))
      return &kinds[i];
  need(0, "find that kind of object");
  return NULL;
}

// The time of making and destroying one.
static double make_and_end(struct device *d, const char *name, long count)
{
  const struct kind *k = kind(name);
  uint64_t start = now();

  for (long i = 0; i < count; i++) {
    void *object = k->make(d);

    need(object != NULL, "create an object");
    need(!k->end(object), "destroy an object");
  }
  return (double)(now() - start) / count;
}

// Objects of the device, made and destroyed.
enum { KILOBYTE = 1024, MEGABYTE = 1024 * KILOBYTE };

// Memory to register, with pages that the kernel has found already.
static void *source(size_t size)
{
  static char *memory;
  static size_t touched;

  if (!memory)
    memory = aligned_alloc(4096, 256 * MEGABYTE);
  need(memory != NULL, "allocate memory");
  for (; touched < size; touched += 4096)
    memory[touched] = 1;
  return memory;
}

static void *make_ah(struct device *d, size_t size)
{
  static struct ibv_ah_attr attr = { .port_num = PORT, .is_global = 1, .grh = { .hop_limit = 64 } };

  (void)size;
  if (attr.grh.dgid.raw[0] == 0)
    need(!ibv_query_gid(d->context, PORT, 0, &attr.grh.dgid), "query the GID");
  return ibv_create_ah(d->pd, &attr);
}

static void *make_mr(struct device *d, size_t size)
{
  return ibv_reg_mr(d->pd, source(size), size, IBV_ACCESS_LOCAL_WRITE);
}

static void *make_cq(struct device *d, size_t size)
{
  return ibv_create_cq(d->context, size, NULL, NULL, 0);
}

static void *make_qp(struct device *d, size_t size)
{
  static struct ibv_cq *cq;
  struct ibv_qp_init_attr init = {
    .qp_type = IBV_QPT_UD,
    .cap = { .max_send_wr = size, .max_recv_wr = size, .max_send_sge = 1, .max_recv_sge = 1 },
  };

  if (!cq)
    cq = create_cq(d, 2 * size, NULL);
  init.send_cq = init.recv_cq = cq;
  return ibv_create_qp(d->pd, &init);
}

static int end_ah(void *ah)
{
  return ibv_destroy_ah(ah);
}

static int end_mr(void *mr)
{
  return ibv_dereg_mr(mr);
}

static int end_cq(void *cq)
{
  return ibv_destroy_cq(cq);
}

static int end_qp(void *qp)
{
  return ibv_destroy_qp(qp);
}

static const struct kind {
  const char *name;
  void *(*make)(struct device *, size_t);
  int (*end)(void *);
  size_t size;
} kinds[] = {
  { "ah", make_ah, end_ah, 0 },
  { "mr_4k", make_mr, end_mr, 4 * KILOBYTE },
  { "mr_1m", make_mr, end_mr, MEGABYTE },
  { "mr_16m", make_mr, end_mr, 16 * MEGABYTE },
  { "mr_256m", make_mr, end_mr, 256 * MEGABYTE },
  { "cq", make_cq, end_cq, 64 },
  { "qp", make_qp, end_qp, 64 },
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
  uint64_t start;

  source(k->size);
  start = now();
  for (long i = 0; i < count; i++) {
    void *object = k->make(d, k->size);

    need(object != NULL, "create an object");
    need(!k->end(object), "destroy an object");
  }
  return (double)(now() - start) / count;
}

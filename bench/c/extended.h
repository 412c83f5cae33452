// The same by the newer verbs: polling by ibv_start_poll and its like, posting by ibv_wr_start and its like.
static struct ibv_cq_ex *extended_queue(struct device *d, enum vector vector)
{
  struct ibv_cq_init_attr_ex attr = {
    .cqe = LIST, .comp_vector = vector,
    .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP,
  };
  struct ibv_cq_ex *cq = ibv_create_cq_ex(d->context, &attr);

  need(cq != NULL, "create an extended completion queue");
  return cq;
}

// Reads what every work completion has, as ibv_poll_cq does.
static inline void read_completion(struct ibv_cq_ex *cq)
{
  need(cq->status == IBV_WC_SUCCESS, "complete");
  sum += cq->wr_id + ibv_wc_read_opcode(cq) + ibv_wc_read_byte_len(cq) + ibv_wc_read_qp_num(cq) + ibv_wc_read_src_qp(cq) +
         ibv_wc_read_wc_flags(cq);
}

static double poll_list_ex(struct device *d, long count, long arg)
{
  static struct ibv_cq_ex *cq;
  struct ibv_poll_cq_attr attr = { 0 };
  long done = 0;
  uint64_t start;

  (void)arg;
  if (!cq)
    cq = extended_queue(d, QUEUE_SENDS);
  start = now();
  while (done < count) {
    need(!ibv_start_poll(cq, &attr), "start polling");
    read_completion(cq);
    for (int i = 1; i < LIST; i++) {
      need(!ibv_next_poll(cq), "poll on");
      read_completion(cq);
    }
    ibv_end_poll(cq);
    done += LIST;
  }
  return (double)(now() - start) / done;
}

static double poll_empty_ex(struct device *d, long count, long arg)
{
  static struct ibv_cq_ex *cq;
  struct ibv_poll_cq_attr attr = { 0 };
  uint64_t start;

  (void)arg;
  if (!cq)
    cq = extended_queue(d, QUEUE_EMPTY);
  start = now();
  for (long i = 0; i < count; i++)
    sum += ibv_start_poll(cq, &attr) != ENOENT;
  return (double)(now() - start) / count;
}

static struct ibv_qp_ex *extended_pair(struct device *d, struct ibv_cq *cq)
{
  struct ibv_qp_init_attr_ex init = {
    .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD, .pd = d->pd,
    .cap = { .max_send_wr = BOTH, .max_recv_wr = BOTH, .max_send_sge = 1, .max_recv_sge = 1 },
    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .send_ops_flags = IBV_QP_EX_WITH_SEND,
  };
  struct ibv_qp *qp = ibv_create_qp_ex(d->context, &init);

  need(qp != NULL, "create an extended queue pair");
  activate(qp);
  return ibv_qp_to_qp_ex(qp);
}

// `size` sends built and posted together, and polled.
static double build(struct device *d, long count, long size)
{
  static struct ibv_qp_ex *qp;
  struct datagrams *g = datagrams(d);
  struct ibv_ah **ahs = handles(d);
  struct ibv_mr *mr = memory(d);
  unsigned r = 0;
  long done = 0;
  uint64_t start;

  if (!qp)
    qp = extended_pair(d, g->cq);
  start = now();
  while (done < count) {
    r++;
    ibv_wr_start(qp);
    for (int i = 0; i < size; i++) {
      qp->wr_id = i;
      qp->wr_flags = IBV_SEND_SIGNALED;
      ibv_wr_send(qp);
      ibv_wr_set_ud_addr(qp, ahs[(i + r) & (LIST - 1)], (r + i) & 0xff, QKEY);
      ibv_wr_set_sge(qp, mr->lkey, (uintptr_t)mr->addr + i * SLOT, SIZE);
    }
    need(!ibv_wr_complete(qp), "post");
    done += drain(g->cq, g->wc, size);
  }
  return (double)(now() - start) / done;
}

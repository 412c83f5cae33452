// A libibverbs.so with one device, noop0, whose data path does nothing and returns at once: what a call costs then is the
// caller's cost alone. Contenders load it in place of the real one.
//
// Posting succeeds without looking at the request. Polling a queue made with an odd number of entries finds it empty; any
// other queue has as many completions as are asked for. They are written once for each array that is polled into, so that
// polling it again returns at once too.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr

enum { QP_NUM = 17 };

static struct verbs_device {
  struct ibv_device device;
} noop = { .device = { .node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "noop0", .dev_name = "noop" } };

static int poll_empty(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
  (void)cq, (void)num_entries, (void)wc;
  return 0;
}

struct full_cq {
  struct ibv_cq cq;
  struct ibv_wc *filled;
};

static void fill(struct ibv_wc *wc, int count)
{
  memset(wc, 0, count * sizeof *wc);
  for (int i = 0; i < count; i++) {
    wc[i].wr_id = i;
    wc[i].status = IBV_WC_SUCCESS;
    wc[i].opcode = IBV_WC_SEND;
    wc[i].qp_num = QP_NUM;
  }
}

static int poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
  struct full_cq *full = (struct full_cq *)cq;

  if (cq->cqe & 1)
    return poll_empty(cq, num_entries, wc);
  if (full->filled != wc || wc->qp_num != QP_NUM) {
    full->filled = wc;
    fill(wc, num_entries);
  }
  return num_entries;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
  (void)cq, (void)solicited_only;
  return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
  (void)qp, (void)wr, (void)bad_wr;
  return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
  (void)qp, (void)wr, (void)bad_wr;
  return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
  (void)context, (void)port;
  memset(attr, 0, size);
  attr->state = IBV_PORT_ACTIVE;
  attr->active_mtu = attr->max_mtu = IBV_MTU_4096;
  attr->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}

struct ibv_device **ibv_get_device_list(int *count)
{
  struct ibv_device **list = calloc(2, sizeof *list);

  list[0] = &noop.device;
  if (count)
    *count = 1;
  return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
  free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
  return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
  (void)device;
  return 0;
}

int ibv_get_device_index(struct ibv_device *device)
{
  (void)device;
  return -1;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
  struct verbs_context *context = calloc(1, sizeof *context);

  context->sz = sizeof *context;
  context->query_port = query_port;
  context->context.device = device;
  context->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context->context.num_comp_vectors = 1;
  context->context.ops.poll_cq = poll_cq;
  context->context.ops.req_notify_cq = req_notify_cq;
  context->context.ops.post_send = post_send;
  context->context.ops.post_recv = post_recv;
  return &context->context;
}

int ibv_close_device(struct ibv_context *context)
{
  free(verbs_get_ctx(context));
  return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
  (void)context;
  memset(attr, 0, sizeof *attr);
  attr->phys_port_cnt = 1;
  return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
  (void)context, (void)port, (void)index;
  memset(gid, 0, sizeof *gid);
  gid->raw[15] = 1;
  return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
  struct ibv_pd *pd = calloc(1, sizeof *pd);

  pd->context = context;
  return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
  free(pd);
  return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
  struct ibv_mr *mr = calloc(1, sizeof *mr);

  (void)iova, (void)access;
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = addr;
  mr->length = length;
  return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
  return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
  free(mr);
  return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
  struct ibv_comp_channel *channel = calloc(1, sizeof *channel);

  channel->context = context;
  channel->fd = open("/dev/null", O_RDONLY);
  return channel;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
                             int comp_vector)
{
  struct full_cq *full = calloc(1, sizeof *full);

  (void)comp_vector;
  full->cq.context = context;
  full->cq.channel = channel;
  full->cq.cq_context = cq_context;
  full->cq.cqe = cqe;
  return &full->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
  free(cq);
  return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
  struct ibv_qp *qp = calloc(1, sizeof *qp);

  qp->context = pd->context;
  qp->pd = pd;
  qp->send_cq = init->send_cq;
  qp->recv_cq = init->recv_cq;
  qp->qp_num = QP_NUM;
  qp->qp_type = init->qp_type;
  return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
  if (mask & IBV_QP_STATE)
    qp->state = attr->qp_state;
  return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
  free(qp);
  return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
  struct ibv_ah *ah = calloc(1, sizeof *ah);

  (void)attr;
  ah->context = pd->context;
  ah->pd = pd;
  return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
  free(ah);
  return 0;
}

// A libibverbs.so with one device, noop0, whose data path does nothing and returns at once: what a call costs then is the
// caller's cost alone. It has one port with one GID. Contenders load it in place of the real one.
//
// Posting succeeds without looking at the request. What polling finds depends on the queue's completion vector, see
// provider.h. Completions are written once for each array that is polled into, so that polling it again returns at once too.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include <infiniband/verbs.h>
#include "provider.h"

#undef ibv_query_port
#undef ibv_reg_mr

enum { FIRST_QP = 17, SENDER_QP = 42, RECEIVED = 104, FILLED = 0x6e6f6f70 };

static struct ibv_device noop = {
  .node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "noop0", .dev_name = "noop0",
};

static uint32_t next_qp = FIRST_QP;

// The smallest call that has as many arguments as ibv_poll_cq.
int noop_3(void *a, int b, void *c)
{
  (void)a, (void)b, (void)c;
  return 0;
}

struct full_cq {
  union {
    struct ibv_cq cq;
    struct ibv_cq_ex ex;
  };
  enum vector vector;
  // The array that has completions, and how many.
  struct ibv_wc *filled;
  int count;
  // The queue pair that completions belong to.
  uint32_t first_qp;
  // When the next completion was made, of a queue that makes one by the clock; 0 if there is none.
  uint64_t made;
  sem_t armed;
};

struct full_channel {
  struct ibv_comp_channel channel;
  int write_fd;
};

static uint64_t read_clock(clockid_t clock)
{
  struct timespec t;

  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

// The clock that completions are stamped with.
uint64_t noop_now(void)
{
  return read_clock(CLOCK_MONOTONIC);
}

static uint64_t ticking;

// Processor time of the process but for the thread that makes completions.
uint64_t noop_spent(void)
{
  return read_clock(CLOCK_PROCESS_CPUTIME_ID) - __atomic_load_n(&ticking, __ATOMIC_ACQUIRE);
}

// Makes a completion and its event, a moment after each time the queue was armed.
static void *tick(void *arg)
{
  struct full_cq *full = arg;
  struct full_channel *channel = (struct full_channel *)full->cq.channel;

  for (;;) {
    sem_wait(&full->armed);
    usleep(TICK_MICROSECONDS);
    __atomic_store_n(&ticking, read_clock(CLOCK_THREAD_CPUTIME_ID), __ATOMIC_RELEASE);
    __atomic_store_n(&full->made, noop_now(), __ATOMIC_RELEASE);
    if (write(channel->write_fd, &full, sizeof full) != sizeof full)
      return NULL;
  }
}

static void start_ticking(struct full_cq *full)
{
  pthread_t thread;

  sem_init(&full->armed, 0, 0);
  if (!pthread_create(&thread, NULL, tick, full))
    pthread_detach(thread);
}

static int poll_ticks(struct full_cq *full, struct ibv_wc *wc)
{
  uint64_t made = __atomic_exchange_n(&full->made, 0, __ATOMIC_ACQUIRE);

  if (made == 0)
    return 0;
  *wc = (struct ibv_wc){ .wr_id = made, .status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV };
  return 1;
}

static void fill(struct full_cq *full, struct ibv_wc *wc, int count)
{
  memset(wc, 0, count * sizeof *wc);
  for (int i = 0; i < count; i++) {
    wc[i].wr_id = i;
    wc[i].status = IBV_WC_SUCCESS;
    wc[i].opcode = IBV_WC_SEND;
    wc[i].vendor_err = FILLED;
    wc[i].qp_num = full->first_qp;
    if (full->vector != QUEUE_RECEIVES)
      continue;
    wc[i].opcode = IBV_WC_RECV;
    wc[i].wc_flags = IBV_WC_GRH;
    wc[i].src_qp = SENDER_QP;
    wc[i].byte_len = RECEIVED;
  }
  full->filled = wc;
  full->count = count;
}

// Memory on a stack is still where it was, but other functions may have written it.
static int is_filled(const struct full_cq *full, const struct ibv_wc *wc, int count)
{
  return full->filled == wc && full->count >= count && wc->vendor_err == FILLED && wc->status == IBV_WC_SUCCESS &&
         wc->qp_num == full->first_qp;
}

static int poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
  struct full_cq *full = (struct full_cq *)cq;

  if (full->vector == QUEUE_EMPTY)
    return 0;
  if (full->vector == QUEUE_TICKS)
    return poll_ticks(full, wc);
  if (!is_filled(full, wc, num_entries))
    fill(full, wc, num_entries);
  return num_entries;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
  (void)attr;
  if (((struct full_cq *)cq)->vector == QUEUE_EMPTY)
    return ENOENT;
  cq->wr_id = 0;
  cq->status = IBV_WC_SUCCESS;
  return 0;
}

static int next_poll(struct ibv_cq_ex *cq)
{
  cq->wr_id++;
  return 0;
}

static void end_poll(struct ibv_cq_ex *cq)
{
  (void)cq;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
  (void)cq;
  return IBV_WC_SEND;
}

static uint32_t read_zero(struct ibv_cq_ex *cq)
{
  (void)cq;
  return 0;
}

static unsigned int read_flags(struct ibv_cq_ex *cq)
{
  (void)cq;
  return 0;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
  return ((struct full_cq *)cq)->first_qp;
}

static uint8_t read_byte(struct ibv_cq_ex *cq)
{
  (void)cq;
  return 0;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
  struct full_cq *full = (struct full_cq *)cq;

  (void)solicited_only;
  if (full->vector == QUEUE_TICKS)
    sem_post(&full->armed);
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

static void write_gid(union ibv_gid *gid)
{
  memset(gid, 0, sizeof *gid);
  gid->raw[0] = 0xfe;
  gid->raw[1] = 0x80;
  gid->raw[15] = 1;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
  memset(attr, 0, size);
  (void)context, (void)port;
  attr->gid_tbl_len = 1;
  attr->state = IBV_PORT_ACTIVE;
  attr->active_mtu = attr->max_mtu = IBV_MTU_4096;
  attr->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

struct ibv_device **ibv_get_device_list(int *count)
{
  struct ibv_device **list = calloc(2, sizeof *list);

  list[0] = &noop;
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
  context->context.num_comp_vectors = QUEUE_VECTORS;
  context->context.async_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  context->create_cq_ex = create_cq_ex;
  context->context.ops.poll_cq = poll_cq;
  context->context.ops.req_notify_cq = req_notify_cq;
  context->context.ops.post_send = post_send;
  context->context.ops.post_recv = post_recv;
  return &context->context;
}

int ibv_close_device(struct ibv_context *context)
{
  close(context->async_fd);
  free(verbs_get_ctx(context));
  return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
  (void)context;
  memset(attr, 0, sizeof *attr);
  attr->phys_port_cnt = 1;
  attr->max_cqe = 1 << 22;
  attr->max_ah = 1 << 20;
  return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
  (void)context;
  if (port != 1 || index != 0) {
    errno = EINVAL;
    return -1;
  }
  write_gid(gid);
  return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max, uint32_t flags, size_t size)
{
  (void)context, (void)flags;
  if (max == 0)
    return 0;
  memset(entries, 0, size);
  write_gid(&entries->gid);
  entries->port_num = 1;
  entries->gid_type = IBV_GID_TYPE_ROCE_V2;
  return 1;
}

// As in libibverbs: it reads the descriptor once.
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
  uint64_t count;

  (void)event;
  return read(context->async_fd, &count, sizeof count) == sizeof count ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
  (void)event;
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
  struct full_channel *full = calloc(1, sizeof *full);
  int ends[2];

  if (pipe2(ends, O_CLOEXEC))
    return NULL;
  full->channel.context = context;
  full->channel.fd = ends[0];
  full->write_fd = ends[1];
  return &full->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
  struct full_channel *full = (struct full_channel *)channel;

  close(channel->fd);
  close(full->write_fd);
  free(full);
  return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
  if (read(channel->fd, cq, sizeof *cq) != sizeof *cq)
    return -1;
  *cq_context = (*cq)->cq_context;
  return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
  (void)cq, (void)count;
}

static void init_cq(struct full_cq *full, struct ibv_context *context, int cqe, void *cq_context,
                    struct ibv_comp_channel *channel, int comp_vector)
{
  full->cq.context = context;
  full->cq.channel = channel;
  full->cq.cq_context = cq_context;
  full->cq.cqe = cqe;
  full->vector = comp_vector;
  full->first_qp = next_qp;
  if (full->vector == QUEUE_TICKS)
    start_ticking(full);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
                             int comp_vector)
{
  struct full_cq *full = calloc(1, sizeof *full);

  init_cq(full, context, cqe, cq_context, channel, comp_vector);
  return &full->cq;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
  struct full_cq *full = calloc(1, sizeof *full);
  struct ibv_cq_ex *ex = &full->ex;

  init_cq(full, context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector);
  ex->start_poll = start_poll;
  ex->next_poll = next_poll;
  ex->end_poll = end_poll;
  ex->read_opcode = read_opcode;
  ex->read_vendor_err = read_zero;
  ex->read_byte_len = read_zero;
  ex->read_qp_num = read_qp_num;
  ex->read_src_qp = read_zero;
  ex->read_wc_flags = read_flags;
  ex->read_slid = read_zero;
  ex->read_sl = read_byte;
  ex->read_dlid_path_bits = read_byte;
  return ex;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
  free(cq);
  return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
  struct full_cq *full = (struct full_cq *)init->send_cq;
  struct ibv_qp *qp = calloc(1, sizeof *qp);

  qp->context = pd->context;
  qp->pd = pd;
  qp->send_cq = init->send_cq;
  qp->recv_cq = init->recv_cq;
  qp->qp_num = next_qp++;
  qp->qp_type = init->qp_type;
  full->first_qp = qp->qp_num;
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

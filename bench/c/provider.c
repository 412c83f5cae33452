// A libibverbs.so whose data path does nothing and returns at once: what a call costs then is the caller's cost alone. All else
// is done by the recorder of the tests, whose library it needs. Contenders load it in place of the real one.
//
// Posting succeeds without looking at the request. What polling finds depends on the queue's completion vector, see
// base.h. Completions are written once for each array that is polled into, so that polling it again returns at once too.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include "base.h"

enum { SENDER_QP = 42, RECEIVED = 104, FILLED = 0x6e6f6f70 };

// The recorder's function of that name.
#define RECORDER(function) ((typeof(&function))dlsym(RTLD_NEXT, #function))

// What a queue keeps, as its cq_context.
struct state {
  enum vector vector;
  // The queue pair that completions belong to: the last one that sends to the queue.
  uint32_t qp_num;
};

static int poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
  struct state *state = cq->cq_context;
  const struct ibv_wc *last = &wc[num_entries - 1];
  int is_recv = state->vector == QUEUE_RECEIVES;
  enum ibv_wc_opcode opcode = is_recv ? IBV_WC_RECV : IBV_WC_SEND;

  if (state->vector == QUEUE_EMPTY)
    return 0;
  // memory on a stack is still where it was, but other functions may have written it
  if (last->vendor_err == FILLED && wc->vendor_err == FILLED && wc->opcode == opcode && last->qp_num == state->qp_num)
    return num_entries;
  for (int i = 0; i < num_entries; i++)
    wc[i] = (struct ibv_wc){ .wr_id = i, .opcode = opcode, .vendor_err = FILLED, .qp_num = state->qp_num, .src_qp = SENDER_QP,
                             .byte_len = RECEIVED, .wc_flags = is_recv ? IBV_WC_GRH : 0 };
  return num_entries;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
  (void)attr;
  if (((struct state *)cq->cq_context)->vector == QUEUE_EMPTY)
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

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
  (void)cq;
  return SENDER_QP;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
  (void)qp, (void)wr, (void)bad_wr;
  return 0;
}

static void *state_of(enum vector vector)
{
  struct state *state = calloc(1, sizeof *state);

  state->vector = vector;
  return state;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
                             int comp_vector)
{
  (void)cq_context;
  return RECORDER(ibv_create_cq)(context, cqe, state_of(comp_vector), channel, comp_vector);
}

static struct ibv_cq_ex *(*recorder_cq_ex)(struct ibv_context *, struct ibv_cq_init_attr_ex *);

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
  struct ibv_cq_ex *cq = recorder_cq_ex(context, attr);

  cq->cq_context = state_of(attr->comp_vector);
  cq->start_poll = start_poll;
  cq->next_poll = next_poll;
  cq->end_poll = end_poll;
  cq->read_src_qp = read_src_qp;
  return cq;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
  struct ibv_qp *qp = RECORDER(ibv_create_qp)(pd, init);

  ((struct state *)init->send_cq->cq_context)->qp_num = qp->qp_num;
  return qp;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
  struct ibv_context *context = RECORDER(ibv_open_device)(device);
  struct verbs_context *verbs = verbs_get_ctx(context);

  recorder_cq_ex = verbs->create_cq_ex;
  verbs->create_cq_ex = create_cq_ex;
  context->ops.poll_cq = poll_cq;
  context->ops.post_send = post_send;
  // The descriptor costs what that of a device costs, and not what a pipe costs.
  close(context->async_fd);
  context->async_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return context;
}

// As in libibverbs: it reads the descriptor once.
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
  uint64_t count;

  (void)event;
  return read(context->async_fd, &count, sizeof count) == sizeof count ? 0 : -1;
}

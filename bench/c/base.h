// What all contenders in C share.
#pragma once
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/verbs.h>

enum { PORT = 1, QKEY = 0x11111111, LIST = 32, GRH = 40, SIZE = 64 };

static inline void need(int ok, const char *what)
{
  if (ok)
    return;
  fprintf(stderr, "contender: cannot %s: %s\n", what, strerror(errno));
  exit(1);
}

static inline uint64_t now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

// The first device there is: in each stage there is one only.
static inline struct ibv_context *open_first(void)
{
  struct ibv_device **list = ibv_get_device_list(NULL);
  struct ibv_context *context;

  need(list && list[0], "find a device");
  context = ibv_open_device(list[0]);
  need(context != NULL, "open the device");
  ibv_free_device_list(list);
  return context;
}

static inline struct ibv_pd *allocate_pd(struct ibv_context *context)
{
  struct ibv_pd *pd = ibv_alloc_pd(context);

  need(pd != NULL, "allocate a protection domain");
  return pd;
}

// Makes a datagram queue pair ready to send and receive.
static inline void activate(struct ibv_qp *qp)
{
  struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT, .qkey = QKEY };

  need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), "modify to INIT");
  attr.qp_state = IBV_QPS_RTR;
  need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "modify to RTR");
  attr.qp_state = IBV_QPS_RTS;
  need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "modify to RTS");
}

// A handle of one of the port's own GIDs, to send to from another one.
static inline struct ibv_ah *create_ah(struct ibv_pd *pd, int from, int to)
{
  struct ibv_ah_attr attr = { .port_num = PORT, .is_global = 1, .grh = { .sgid_index = from, .hop_limit = 64 } };
  struct ibv_ah *ah;

  need(!ibv_query_gid(pd->context, PORT, to, &attr.grh.dgid), "query the GID");
  ah = ibv_create_ah(pd, &attr);
  need(ah != NULL, "create an address handle");
  return ah;
}

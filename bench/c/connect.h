// Connections by the communication manager, one after the other, for pair.c. The client knows the route, and both ends have made
// their queue pairs, before the time of a connection begins. librdmacm moves the queue pairs.
#pragma once
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include "base.h"

static struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 7 };
static struct rdma_cm_id *listener;

// An id, and what it connects, belong to the same context, which is one of librdmacm.
static struct device open_cm(void)
{
  struct ibv_context **devices = rdma_get_devices(NULL);

  need(devices && devices[0], "find a device");
  return (struct device){ devices[0], ibv_alloc_pd(devices[0]) };
}

// An id whose functions wait for what they begin. It has the address, or the route to it.
static struct rdma_cm_id *make_id(int flags, unsigned port)
{
  struct rdma_addrinfo *info, hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = flags };
  struct rdma_cm_id *id;
  char service[8];

  snprintf(service, sizeof service, "%u", port);
  need(!rdma_getaddrinfo("10.0.0.1", service, &hints, &info), "find the address");
  need(!rdma_create_ep(&id, info, NULL, NULL), "find the route");
  rdma_freeaddrinfo(info);
  return id;
}

// Connections by the communication manager, for pair.c. COUNT is a number of connections. The client makes them all at the same
// time, and prints nanoseconds of one, from rdma_connect() until it is established. Addresses, routes and queue pairs of both
// ends are there before.
#pragma once
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include "base.h"

enum { MOST = 64, TIMEOUT_MS = 5000 };

static struct {
  struct rdma_event_channel *channel;
  struct sockaddr_in at;
  struct device device;
  struct ibv_cq *cq;
  // Queue pairs for connections to come.
  struct ibv_qp *spare[MOST];
  int spares;
} cm;

static void make_spares(int count)
{
  while (cm.spares < count)
    cm.spare[cm.spares++] = create_qp(&cm.device, IBV_QPT_RC, cm.cq, cm.cq);
}

static void modify_by(struct rdma_cm_id *id, enum ibv_qp_state state)
{
  struct ibv_qp_attr attr = { .qp_state = state };
  int mask;

  need(!rdma_init_qp_attr(id, &attr, &mask), "read the attributes of a queue pair");
  need(!ibv_modify_qp(id->context, &attr, mask), "modify a queue pair");
}

static void make_ready(struct rdma_cm_id *id)
{
  modify_by(id, IBV_QPS_RTR);
  modify_by(id, IBV_QPS_RTS);
}

// Both ends take it to INIT before they accept or connect.
static void use_spare(struct rdma_cm_id *id)
{
  need(cm.spares > 0, "find a queue pair");
  id->context = cm.spare[--cm.spares];
  modify_by(id, IBV_QPS_INIT);
}

static struct rdma_conn_param *param_of(struct rdma_cm_id *id)
{
  static struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 7 };

  param.qp_num = ((struct ibv_qp *)id->context)->qp_num;
  return &param;
}

// Waits for one event. What of it is used later is copied.
static struct rdma_cm_event next_event(void)
{
  struct rdma_cm_event *event, copy;

  need(!rdma_get_cm_event(cm.channel, &event), "wait for an event");
  need(event->status == 0 || event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT, rdma_event_str(event->event));
  copy = *event;
  rdma_ack_cm_event(event);
  return copy;
}

static void end_cm(struct rdma_cm_id *id)
{
  rdma_disconnect(id);
  ibv_destroy_qp(id->context);
  rdma_destroy_id(id);
}

static void serve_cm(int count)
{
  for (int ended = 0; ended < count;) {
    struct rdma_cm_event event = next_event();

    if (event.event == RDMA_CM_EVENT_DISCONNECTED) {
      end_cm(event.id);
      ended++;
    }
    if (event.event != RDMA_CM_EVENT_CONNECT_REQUEST)
      continue;
    use_spare(event.id);
    make_ready(event.id);
    need(!rdma_accept(event.id, param_of(event.id)), "accept");
  }
  make_spares(MOST);
}

static void wait_for(enum rdma_cm_event_type wanted, int count)
{
  while (count > 0) {
    struct rdma_cm_event event = next_event();

    count -= event.event == wanted;
    if (event.event != RDMA_CM_EVENT_CONNECT_RESPONSE)
      continue;
    make_ready(event.id);
    need(!rdma_establish(event.id), "establish");
  }
}

static void play_cm(int count)
{
  struct rdma_cm_id *ids[MOST];
  uint64_t start;

  make_spares(count);
  for (int i = 0; i < count; i++) {
    need(!rdma_create_id(cm.channel, &ids[i], NULL, RDMA_PS_TCP), "create an id");
    need(!rdma_resolve_addr(ids[i], NULL, (struct sockaddr *)&cm.at, TIMEOUT_MS), "resolve the address");
  }
  wait_for(RDMA_CM_EVENT_ADDR_RESOLVED, count);
  for (int i = 0; i < count; i++)
    need(!rdma_resolve_route(ids[i], TIMEOUT_MS), "resolve the route");
  wait_for(RDMA_CM_EVENT_ROUTE_RESOLVED, count);
  for (int i = 0; i < count; i++)
    use_spare(ids[i]);
  start = now();
  for (int i = 0; i < count; i++)
    need(!rdma_connect(ids[i], param_of(ids[i])), "connect");
  wait_for(RDMA_CM_EVENT_CONNECT_RESPONSE, count);
  printf("%.0f\n", (double)(now() - start) / count);
  for (int i = 0; i < count; i++)
    end_cm(ids[i]);
}

// Both ends use librdmacm's own context: an id and its queue pair belong to the same one. The address is a port; the client has 0.
static unsigned open_cm(int is_server)
{
  struct ibv_context **devices = rdma_get_devices(NULL);
  struct rdma_cm_id *id;

  need(devices && devices[0], "find a device");
  cm.device = (struct device){ devices[0], ibv_alloc_pd(devices[0]) };
  need(cm.device.pd != NULL, "allocate a protection domain");
  cm.cq = create_cq(&cm.device, 1, NULL, 0);
  cm.at.sin_family = AF_INET;
  cm.at.sin_addr.s_addr = inet_addr("10.0.0.1");
  cm.channel = rdma_create_event_channel();
  need(cm.channel != NULL, "create an event channel");
  if (!is_server)
    return 0;
  need(!rdma_create_id(cm.channel, &id, NULL, RDMA_PS_TCP), "create an id");
  need(!rdma_bind_addr(id, (struct sockaddr *)&cm.at), "bind");
  need(!rdma_listen(id, MOST), "listen");
  make_spares(MOST);
  return ntohs(rdma_get_src_port(id));
}

// A librdmacm without a network: every call succeeds and is noted, and the test says which events come. With
// fake_network() ids reach each other, and the events come by themselves. What it knows is of one thread: each Worker has
// a network of its own.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_MOVED = 16, READS = 8, SIDR_DATA = 136 };

struct channel {
	struct rdma_event_channel c;
	int write_end;
	// Events that came with an id from another channel. As in the kernel, they wake nobody who polls already.
	struct rdma_cm_event *moved[MOST_MOVED];
	int moved_count;
};

struct group {
	struct sockaddr_storage addr;
	struct group *next;
};

struct end {
	struct rdma_cm_id id;
	struct end *peer;
	uint32_t qp_num;
	uint8_t tos;
	// Events that were read. librdmacm waits for their acknowledgement, on a condition variable.
	int unacknowledged;
	// The peer has taken back its request: the kernel knows the connection no more.
	int taken_back;
	int has_left;
	// The newest first.
	struct group *groups;
	struct end *next;
};

struct event {
	struct rdma_cm_event e;
	// What private_data points to; that of a group is what the caller gave instead.
	char *data;
};

static _Thread_local struct ibv_context *verbs;
static _Thread_local char calls[1 << 16];
static _Thread_local char failing[64];
static _Thread_local int failing_errno;
static _Thread_local int unacknowledged;
static _Thread_local int ids;
static _Thread_local int groups;
static _Thread_local int answer = RDMA_CM_EVENT_MULTICAST_JOIN;
static _Thread_local struct end *ends;
static _Thread_local uint8_t last_data[256];
static _Thread_local unsigned int last_length;
// The family whose addresses answer.
static _Thread_local int network;
static _Thread_local struct rdma_cm_id *listening;
// What ids tell of their peers, in the place of what is right.
static _Thread_local uint8_t stated_gid[16];
static _Thread_local int states_gid;
static _Thread_local int stated_mtu = IBV_MTU_1024;

static int note(const char *name)
{
	if (strlen(calls) + strlen(name) + 2 <= sizeof calls)
		strcat(strcat(calls, name), " ");
	if (strcmp(name, failing) != 0)
		return 0;
	errno = failing_errno;
	return -1;
}

static int with_data(const char *name, const void *data, unsigned int length)
{
	last_length = length;
	if (length > 0)
		memcpy(last_data, data, length);
	return note(name);
}

// librdmacm has contexts of its own, which live as long as the process.
void fake_device(struct ibv_context *context)
{
	verbs = verbs ? verbs : malloc(sizeof *verbs);
	*verbs = *context;
}

void fake_network(int family)
{
	network = family;
}

void fake_states(const uint8_t *gid, int mtu)
{
	states_gid = gid != NULL;
	if (gid)
		memcpy(stated_gid, gid, sizeof stated_gid);
	stated_mtu = mtu;
}

void fake_fail(const char *name, int error)
{
	snprintf(failing, sizeof failing, "%s", name);
	failing_errno = error;
}

const char *fake_calls(void)
{
	return calls;
}

void fake_clear(void)
{
	calls[0] = failing[0] = 0;
}

int fake_unacknowledged(void)
{
	return unacknowledged;
}

int fake_ids(void)
{
	return ids;
}

// Groups that were joined and not left: librdmacm keeps memory for each, also when the id is destroyed.
int fake_groups(void)
{
	return groups;
}

// The event that answers who joins a group; -1 is none.
void fake_answer(int event)
{
	answer = event;
}

unsigned int fake_data(uint8_t *bytes)
{
	memcpy(bytes, last_data, last_length);
	return last_length;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	int ends[2];
	struct channel *channel;

	if (note("rdma_create_event_channel") || pipe2(ends, O_CLOEXEC))
		return NULL;
	channel = calloc(1, sizeof *channel);
	channel->c.fd = ends[0];
	channel->write_end = ends[1];
	return &channel->c;
}

static struct rdma_cm_id *new_id(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct end *end = calloc(1, sizeof *end);

	end->id.channel = channel;
	end->id.ps = ps;
	end->next = ends;
	ends = end;
	ids++;
	return &end->id;
}

static struct end **place_of(const struct end *end)
{
	struct end **place = &ends;

	while (*place && *place != end)
		place = &(*place)->next;
	return place;
}

static void free_id(struct rdma_cm_id *id)
{
	struct end **place = place_of((struct end *)id);
	struct end *peer = (*place)->peer;

	if (peer)
		peer->peer = NULL;
	if (listening == id)
		listening = NULL;
	*place = (*place)->next;
	ids--;
	free(id);
}

// Events that nobody has read go with the channel, and so do the ids of requests among them.
void rdma_destroy_event_channel(struct rdma_event_channel *c)
{
	struct channel *channel = (struct channel *)c;
	struct rdma_cm_event *event;

	note("rdma_destroy_event_channel");
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	while (!rdma_get_cm_event(c, &event)) {
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			free_id(event->id);
		rdma_ack_cm_event(event);
	}
	close(c->fd);
	close(channel->write_end);
	free(channel);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	if (note("rdma_create_id"))
		return -1;
	*id = new_id(channel, ps);
	return 0;
}

// Where librdmacm would wait for ever, because this thread is the one that acknowledges.
static int would_wait(const struct rdma_cm_id *id)
{
	if (((const struct end *)id)->unacknowledged == 0)
		return 0;
	errno = EDEADLK;
	return -1;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	if (note("rdma_destroy_id") || would_wait(id))
		return -1;
	free_id(id);
	return 0;
}

static void send_event(struct rdma_cm_event *event)
{
	struct channel *channel = (struct channel *)event->id->channel;

	unacknowledged++;
	if (write(channel->write_end, &event, sizeof event) != sizeof event)
		abort();
}

static struct rdma_cm_event *new_event(struct rdma_cm_id *id, int type, int status, const char *text)
{
	struct rdma_cm_event *event = calloc(1, sizeof(struct event));

	event->event = type;
	event->status = status;
	event->id = id;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		event->listen_id = id;
		event->id = new_id(id->channel, id->ps);
		event->id->verbs = verbs;
	}
	// Both kinds of parameters begin alike.
	event->param.conn.private_data = ((struct event *)event)->data = strdup(text);
	event->param.conn.private_data_len = strlen(text);
	return event;
}

// An event of an id, or a request to it; the private data is text. Returns the id that the event is about.
struct rdma_cm_id *fake_event(struct rdma_cm_id *id, int type, int status, const char *text)
{
	struct rdma_cm_event *event = new_event(id, type, status, text);
	struct rdma_cm_id *about = event->id;

	send_event(event);
	return about;
}

void fake_take_back(struct rdma_cm_id *id)
{
	((struct end *)id)->taken_back = 1;
}

static int is_unknown(const struct rdma_cm_id *id)
{
	if (!((const struct end *)id)->taken_back)
		return 0;
	errno = EINVAL;
	return 1;
}

static size_t size_of(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

// In the place of private data, the event has what the caller gave.
static int join(const char *name, struct rdma_cm_id *id, const struct sockaddr *addr, void *context)
{
	uint8_t *gid;
	struct rdma_cm_event *event;
	struct group *group;

	if (note(name))
		return -1;
	group = calloc(1, sizeof *group);
	memcpy(&group->addr, addr, size_of(addr));
	group->next = ((struct end *)id)->groups;
	((struct end *)id)->groups = group;
	groups++;
	if (answer < 0)
		return 0;
	event = calloc(1, sizeof(struct event));
	event->event = answer;
	event->id = id;
	event->param.ud.private_data = context;
	gid = event->param.ud.ah_attr.grh.dgid.raw;
	if (addr->sa_family == AF_INET) {
		memset(gid + 10, 0xff, 2);
		memcpy(gid + 12, &((const struct sockaddr_in *)addr)->sin_addr, 4);
	}
	send_event(event);
	return 0;
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	return join("rdma_join_multicast", id, addr, context);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	return join("rdma_join_multicast_ex", id, attr->addr, context);
}

int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct group **place = &((struct end *)id)->groups;
	struct group *group;

	if (note("rdma_leave_multicast") || would_wait(id))
		return -1;
	while (*place && memcmp(&(*place)->addr, addr, size_of(addr)) != 0)
		place = &(*place)->next;
	group = *place;
	if (!group) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	*place = group->next;
	groups--;
	free(group);
	return 0;
}

// Without a network the test sends it.
static struct end *tell(struct rdma_cm_id *id, int type, int status, struct rdma_conn_param *param)
{
	char text[257] = "";

	if (!network || !id)
		return NULL;
	if (param)
		memcpy(text, param->private_data, param->private_data_len);
	return (struct end *)fake_event(id, type, status, text);
}

static struct rdma_cm_id *peer_of(struct rdma_cm_id *id)
{
	struct end *peer = ((struct end *)id)->peer;

	return peer ? &peer->id : NULL;
}

// An event outlives its id here.
static void count_on(const struct rdma_cm_event *event, int by)
{
	const struct rdma_cm_id *id = event->listen_id ? event->listen_id : event->id;
	struct end *end = *place_of((const struct end *)id);

	if (end)
		end->unacknowledged += by;
}

int rdma_get_cm_event(struct rdma_event_channel *c, struct rdma_cm_event **event)
{
	struct channel *channel = (struct channel *)c;

	if (channel->moved_count) {
		*event = channel->moved[0];
		memmove(channel->moved, channel->moved + 1, --channel->moved_count * sizeof *channel->moved);
	} else if (read(c->fd, event, sizeof *event) != sizeof *event) {
		return -1;
	}
	count_on(*event, 1);
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	unacknowledged--;
	count_on(event, -1);
	if (((struct event *)event)->data)
		memset(((struct event *)event)->data, 'x', event->param.conn.private_data_len);
	free(((struct event *)event)->data);
	memset(event, 'x', sizeof *event);
	free(event);
	return 0;
}

/* The kernel takes a loopback address for all addresses: an id that is bound to it has no device. */
static int is_any(const struct sockaddr *addr)
{
	const struct in_addr ipv4 = ((const struct sockaddr_in *)addr)->sin_addr;
	const struct in6_addr *ipv6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;

	if (addr->sa_family == AF_INET)
		return ipv4.s_addr == INADDR_ANY || ntohl(ipv4.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_UNSPECIFIED(ipv6) || IN6_IS_ADDR_LOOPBACK(ipv6);
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)addr;

	if (addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&ipv6->sin6_addr) && !ipv6->sin6_scope_id) {
		errno = EINVAL;
		return -1;
	}
	id->verbs = is_any(addr) ? NULL : verbs;
	memcpy(&id->route.addr.src_storage, addr, addr->sa_family == AF_INET ? 16 : 28);
	return note("rdma_bind_addr");
}

static void own_address(struct sockaddr_storage *storage, int family)
{
	struct sockaddr_in6 *address = (struct sockaddr_in6 *)storage;

	address->sin6_family = family;
	if (family == AF_INET)
		inet_pton(family, "10.0.0.1", &((struct sockaddr_in *)address)->sin_addr);
	else
		inet_pton(family, "fd00::1", &address->sin6_addr);
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int ms)
{
	id->verbs = verbs;
	id->port_num = 1;
	memcpy(&id->route.addr.dst_storage, to, to->sa_family == AF_INET ? 16 : 28);
	if (from)
		memcpy(&id->route.addr.src_storage, from, from->sa_family == AF_INET ? 16 : 28);
	else if (network)
		own_address(&id->route.addr.src_storage, to->sa_family);
	if (to->sa_family == network)
		tell(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
	else
		tell(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, NULL);
	return note("rdma_resolve_addr");
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	tell(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	return note("rdma_resolve_route");
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	listening = id;
	return note("rdma_listen");
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct end *from = (struct end *)id;
	struct end *to = tell(listening, RDMA_CM_EVENT_CONNECT_REQUEST, 0, param);

	if (to) {
		from->qp_num = param->qp_num;
		from->peer = to;
		to->peer = from;
		to->id.port_num = 1;
		to->id.route.addr.src_storage = id->route.addr.dst_storage;
		to->id.route.addr.dst_storage = id->route.addr.src_storage;
	} else if (id->ps == RDMA_PS_UDP) {
		tell(id, RDMA_CM_EVENT_UNREACHABLE, 1, NULL);
	} else {
		tell(id, RDMA_CM_EVENT_REJECTED, 8, NULL);
	}
	return with_data("rdma_connect", param->private_data, param->private_data_len);
}

static void peer_gid(struct rdma_cm_id *id, uint8_t *gid)
{
	if (states_gid) {
		memcpy(gid, stated_gid, sizeof stated_gid);
	} else if (id->route.addr.dst_addr.sa_family == AF_INET) {
		memset(gid + 10, 0xff, 2);
		memcpy(gid + 12, &id->route.addr.dst_sin.sin_addr, 4);
	} else {
		memcpy(gid, &id->route.addr.dst_sin6.sin6_addr, 16);
	}
}

// Datagrams have no connection: their sender only learns where they go.
static void tell_way(struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	struct rdma_cm_event *event;
	char *data;

	if (!network || !id)
		return;
	event = new_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, "");
	event->param.ud.ah_attr.port_num = event->param.ud.ah_attr.is_global = 1;
	event->param.ud.qp_num = param->qp_num;
	event->param.ud.qkey = RDMA_UDP_QKEY;
	peer_gid(id, event->param.ud.ah_attr.grh.dgid.raw);
	data = calloc(1, SIDR_DATA);
	if (param->private_data_len)
		memcpy(data, param->private_data, param->private_data_len);
	free(((struct event *)event)->data);
	event->param.ud.private_data = ((struct event *)event)->data = data;
	event->param.ud.private_data_len = SIDR_DATA;
	send_event(event);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	if (is_unknown(id))
		return -1;
	((struct end *)id)->qp_num = param->qp_num;
	if (id->ps == RDMA_PS_UDP)
		tell_way(peer_of(id), param);
	else
		tell(peer_of(id), RDMA_CM_EVENT_CONNECT_RESPONSE, 0, param);
	return with_data("rdma_accept", param->private_data, param->private_data_len);
}

int rdma_establish(struct rdma_cm_id *id)
{
	tell(peer_of(id), RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
	return note("rdma_establish");
}

// The peer answers by calling it too.
int rdma_disconnect(struct rdma_cm_id *id)
{
	struct end *end = (struct end *)id;

	if (!end->has_left)
		tell(peer_of(id), RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	end->has_left = 1;
	return note("rdma_disconnect");
}

/* The family of a number; 0 for a name. */
static int number_family(const char *node)
{
	struct in6_addr bytes;

	if (inet_pton(AF_INET, node, &bytes) == 1)
		return AF_INET;
	return inet_pton(AF_INET6, node, &bytes) == 1 ? AF_INET6 : 0;
}

/* The address that a number stands for, or that of the peer, whatever its name is. */
static void look_up(struct rdma_addrinfo *info, struct sockaddr_in6 *address, const char *node)
{
	const int is_ipv4 = info->ai_family == AF_INET;
	void *bytes = &((struct sockaddr_in *)address)->sin_addr;

	if (!is_ipv4)
		bytes = &address->sin6_addr;
	address->sin6_family = info->ai_family;
	if (info->ai_flags & RAI_PASSIVE) {
		inet_pton(info->ai_family, node, bytes);
		info->ai_src_addr = (struct sockaddr *)address;
		info->ai_src_len = is_ipv4 ? sizeof(struct sockaddr_in) : sizeof *address;
		return;
	}
	if (inet_pton(info->ai_family, node, bytes) != 1)
		inet_pton(info->ai_family, is_ipv4 ? "10.0.0.2" : "fd00::2", bytes);
	info->ai_dst_addr = (struct sockaddr *)address;
	info->ai_dst_len = is_ipv4 ? sizeof(struct sockaddr_in) : sizeof *address;
}

// Every host but nobody has an address of each family; only the first is given, as librdmacm does. Another thread calls it.
int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *info;
	struct sockaddr_in6 *address;

	if (node && strcmp(node, "nobody") == 0)
		return EAI_NONAME;
	if (node && hints->ai_family && number_family(node) && number_family(node) != hints->ai_family)
		return EAI_ADDRFAMILY;
	info = calloc(1, sizeof *info);
	address = calloc(1, sizeof *address);
	info->ai_flags = hints->ai_flags;
	info->ai_family = hints->ai_family;
	if (!info->ai_family)
		info->ai_family = node && number_family(node) ? number_family(node) : AF_INET;
	info->ai_qp_type = IBV_QPT_RC;
	info->ai_port_space = hints->ai_port_space ? hints->ai_port_space : RDMA_PS_TCP;
	address->sin6_port = htons(service ? atoi(service) : 0);
	look_up(info, address, node);
	*res = info;
	return 0;
}

// Another thread calls it. The test says which event comes.
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints)
{
	if (!node || strcmp(node, "nobody") != 0)
		return 0;
	// librdmacm does it so.
	errno = EAI_NONAME;
	return -1;
}

int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)
{
	const struct rdma_addrinfo hints = { 0 };

	if (note("rdma_query_addrinfo"))
		return -1;
	return rdma_getaddrinfo("host", "7471", &hints, info);
}

int rdma_write_cm_event(struct rdma_cm_id *id, int type, int status, uint64_t arg)
{
	struct rdma_cm_event *event = calloc(1, sizeof(struct event));

	event->event = type;
	event->status = status;
	event->id = id;
	memcpy(&event->param, &arg, sizeof arg);
	send_event(event);
	return note("rdma_write_cm_event");
}

void rdma_freeaddrinfo(struct rdma_addrinfo *info)
{
	free(info->ai_src_addr);
	free(info->ai_dst_addr);
	free(info);
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t length)
{
	return is_unknown(id) ? -1 : with_data("rdma_reject", data, length);
}

int rdma_reject_ece(struct rdma_cm_id *id, const void *data, uint8_t length)
{
	return is_unknown(id) ? -1 : with_data("rdma_reject_ece", data, length);
}

// The events of an id that nobody has read move with it; the others stay.
static void move_events(struct rdma_cm_id *id, struct channel *from, struct channel *to)
{
	struct rdma_cm_event *all[MOST_MOVED];
	int count = 0;

	while (count < MOST_MOVED && read(from->c.fd, all + count, sizeof *all) == sizeof *all)
		count++;
	for (int i = 0; i < count; i++) {
		struct rdma_cm_event *event = all[i];
		if (event->id != id && event->listen_id != id) {
			if (write(from->write_end, &event, sizeof event) != sizeof event)
				abort();
			continue;
		}
		if (to->moved_count == MOST_MOVED)
			abort();
		event->id->channel = &to->c;
		to->moved[to->moved_count++] = event;
	}
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	if (would_wait(id) || note("rdma_migrate_id"))
		return -1;
	move_events(id, (struct channel *)id->channel, (struct channel *)channel);
	id->channel = channel;
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	struct end *peer = ((struct end *)id)->peer;

	if (is_unknown(id))
		return -1;
	*mask = IBV_QP_STATE;
	if (network && attr->qp_state == IBV_QPS_INIT) {
		*mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
		*mask |= id->ps == RDMA_PS_UDP ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
		attr->port_num = 1;
		attr->qkey = RDMA_UDP_QKEY;
		// The kernel knows what the peer may do only since there is a request.
		attr->qp_access_flags = !peer ? 0 : IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						    IBV_ACCESS_REMOTE_ATOMIC;
	}
	if (id->ps == RDMA_PS_UDP) {
		*mask |= attr->qp_state == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0;
		return note("rdma_init_qp_attr");
	}
	if (peer && attr->qp_state == IBV_QPS_RTR) {
		*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
		*mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		attr->path_mtu = stated_mtu;
		peer_gid(id, attr->ah_attr.grh.dgid.raw);
		attr->dest_qp_num = peer->qp_num;
		attr->ah_attr.is_global = attr->ah_attr.port_num = 1;
		// What the kernel decides of the path, and that it chooses no timer.
		attr->ah_attr.grh.hop_limit = 64;
		attr->ah_attr.grh.flow_label = 0x12345;
		attr->ah_attr.grh.traffic_class = ((struct end *)id)->tos ? ((struct end *)id)->tos : peer->tos;
		attr->ah_attr.static_rate = IBV_RATE_10_GBPS;
		attr->max_dest_rd_atomic = READS;
		attr->min_rnr_timer = 0;
	}
	if (peer && attr->qp_state == IBV_QPS_RTS) {
		attr->timeout = 18;
		attr->retry_cnt = attr->rnr_retry = 7;
		attr->max_rd_atomic = READS;
		*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN;
		*mask |= IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return note("rdma_init_qp_attr");
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t length)
{
	if (name == RDMA_OPTION_ID_TOS)
		((struct end *)id)->tos = *(uint8_t *)value;
	return with_data("rdma_set_option", value, length);
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return id->route.addr.src_sin.sin_port;
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return id->route.addr.dst_sin.sin_port;
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	memset(ece, 0, sizeof *ece);
	return note("rdma_get_remote_ece");
}

struct ibv_context **rdma_get_devices(int *count)
{
	struct ibv_context **list = calloc(2, sizeof *list);

	*count = 1;
	list[0] = verbs;
	return note("rdma_get_devices") ? NULL : list;
}

void rdma_free_devices(struct ibv_context **list)
{
	note("rdma_free_devices");
	free(list);
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	return event == RDMA_CM_EVENT_REJECTED ? "rejected" : "another";
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type e) { return note("rdma_notify"); }
int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece) { return note("rdma_set_local_ece"); }

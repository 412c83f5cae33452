// Address handles.
#include <arpa/inet.h>
#include "ops.h"

static struct ibv_ah *make_ah(struct ibv_pd *pd, const struct ibv_ah_attr *attr)
{
	struct ah_object *object = create(AH, sizeof *object);
	struct ibv_ah *ah = &object->ah;

	// As RoCE, the plain device has no other addresses than GIDs.
	if (!set_route(&object->route, attr) && IS_PLAIN) {
		destroy(ah);
		return (void *)fails_with(EINVAL);
	}
	ah->context = pd->context;
	ah->pd = pd;
	ah->handle = object_of(ah)->handle;
	depend(ah, pd);
	return made(ah);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	MAKE(OBJECT(PD, pd), STRUCT(ibv_ah_attr, attr));
	return make_ah(pd, attr);
}

// The address that a packet came from, and the index of the one that it was sent to.
static void read_header(const struct ibv_grh *grh, unsigned port, struct ibv_global_route *route)
{
	const unsigned char *ip = (const unsigned char *)grh + 20;
	union ibv_gid to = grh->dgid, own;
	bool is_ipv4 = *(const unsigned char *)grh >> 4 != 6 && *ip == 0x45;

	route->dgid = grh->sgid;
	route->hop_limit = grh->hop_limit;
	route->flow_label = ntohl(grh->version_tclass_flow) & 0xfffff;
	if (is_ipv4) {
		memcpy(route->dgid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
		to = route->dgid;
		memcpy(route->dgid.raw + 12, ip + 12, 4);
		memcpy(to.raw + 12, ip + 16, 4);
		route->hop_limit = ip[8];
		route->traffic_class = ip[1];
		route->flow_label = 0;
	}
	for (unsigned i = 0; IS_PLAIN && fill_gid(&own, own_host, port, i); i++)
		if (memcmp(&own, &to, sizeof to) == 0)
			route->sgid_index = i;
}

static void read_address(uint8_t port_num, const struct ibv_wc *wc, const struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	memset(attr, 0, sizeof *attr);
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	attr->is_global = wc->wc_flags & IBV_WC_GRH ? 1 : 0;
	if (attr->is_global)
		read_header(grh, port_num, &attr->grh);
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
	MAKE(OBJECT(PD, pd), STRUCT(ibv_wc, wc), STRUCT(ibv_grh, grh), NUMBER(port_num));
	struct ibv_ah_attr attr;
	read_address(port_num, wc, grh, &attr);
	return make_ah(pd, &attr);
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
			struct ibv_ah_attr *ah_attr)
{
	CALL(MINUS_ONE, OBJECT(CONTEXT, context), NUMBER(port_num), STRUCT(ibv_wc, wc), STRUCT(ibv_grh, grh));
	read_address(port_num, wc, grh, ah_attr);
	return answered(ah_attr, sizeof *ah_attr);
}

DESTROYER(ibv_destroy_ah, AH, struct ibv_ah, ah)

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t eth_mac[ETHERNET_LL_SIZE],
				uint16_t *vid)
{
	CALL(MINUS_ONE, OBJECT(CONTEXT, context), STRUCT(ibv_ah_attr, attr));
	memcpy(eth_mac, "\x02\0\0\0\0\x07", ETHERNET_LL_SIZE);
	*vid = 0xffff;
	return answered(eth_mac, ETHERNET_LL_SIZE);
}

// Address handles.
#include <arpa/inet.h>
#include "ops.h"

static struct ibv_ah *make_ah(struct ibv_pd *pd)
{
	struct ibv_ah *ah = create(AH, sizeof *ah);

	ah->context = pd->context;
	ah->pd = pd;
	ah->handle = object_of(ah)->handle;
	depend(ah, pd);
	return made(ah);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	begin("ibv_create_ah", RETURNS_NULL);
	OBJECT(PD, pd);
	STRUCT(ibv_ah_attr, attr);
	if (failing())
		return (void *)failed();
	return make_ah(pd);
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
	begin("ibv_create_ah_from_wc", RETURNS_NULL);
	OBJECT(PD, pd);
	STRUCT(ibv_wc, wc);
	STRUCT(ibv_grh, grh);
	NUMBER(port_num);
	if (failing())
		return (void *)failed();
	return make_ah(pd);
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
			struct ibv_ah_attr *ah_attr)
{
	begin("ibv_init_ah_from_wc", RETURNS_MINUS_ONE);
	OBJECT(CONTEXT, context);
	NUMBER(port_num);
	STRUCT(ibv_wc, wc);
	STRUCT(ibv_grh, grh);
	if (failing())
		return failed();
	memset(ah_attr, 0, sizeof *ah_attr);
	ah_attr->dlid = wc->slid;
	ah_attr->sl = wc->sl;
	ah_attr->src_path_bits = wc->dlid_path_bits;
	ah_attr->port_num = port_num;
	if (wc->wc_flags & IBV_WC_GRH) {
		ah_attr->is_global = 1;
		ah_attr->grh.dgid = grh->sgid;
		ah_attr->grh.hop_limit = grh->hop_limit;
		ah_attr->grh.flow_label = ntohl(grh->version_tclass_flow) & 0xfffff;
	}
	answer("ibv_init_ah_from_wc", ah_attr, sizeof *ah_attr);
	return done(0);
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	begin("ibv_destroy_ah", RETURNS_ERRNO);
	OBJECT(AH, ah);
	if (failing())
		return failed();
	return done(destroy(ah));
}

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t eth_mac[ETHERNET_LL_SIZE],
				uint16_t *vid)
{
	begin("ibv_resolve_eth_l2_from_gid", RETURNS_MINUS_ONE);
	OBJECT(CONTEXT, context);
	STRUCT(ibv_ah_attr, attr);
	if (failing())
		return failed();
	memcpy(eth_mac, "\x02\0\0\0\0\x07", ETHERNET_LL_SIZE);
	*vid = 0xffff;
	answer("ibv_resolve_eth_l2_from_gid", eth_mac, ETHERNET_LL_SIZE);
	return done(0);
}

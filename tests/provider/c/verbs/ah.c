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
	MAKE(OBJECT(PD, pd), STRUCT(ibv_ah_attr, attr));
	return make_ah(pd);
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
	MAKE(OBJECT(PD, pd), STRUCT(ibv_wc, wc), STRUCT(ibv_grh, grh), NUMBER(port_num));
	return make_ah(pd);
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
			struct ibv_ah_attr *ah_attr)
{
	CALL(MINUS_ONE, OBJECT(CONTEXT, context), NUMBER(port_num), STRUCT(ibv_wc, wc), STRUCT(ibv_grh, grh));
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

// Which port an address leads to, and the header that comes before a datagram.
#include <arpa/inet.h>
#include <string.h>
#include "shm.h"
#include "../core/recorder.h"

enum { UDP = 17, IPV4 = 20, OF_DATAGRAM = 8 + 12 + 8 + 4, HOP_LIMIT = 64 };

uint32_t route_of(unsigned host, unsigned port)
{
	return host << 8 | port;
}

static bool is_ipv4(const union ibv_gid *gid)
{
	return memcmp(gid->raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0;
}

// The last bytes of all addresses are the same.
uint32_t route_to(const union ibv_gid *gid)
{
	unsigned host = gid->raw[15], port = gid->raw[14] + 1;
	union ibv_gid known;

	for (unsigned index = 0; fill_gid(&known, host, port, index); index++)
		if (memcmp(&known, gid, sizeof known) == 0)
			return route_of(host, port);
	return 0;
}

static void make_ipv4(char *header, const union ibv_gid *from, const struct ibv_global_route *grh)
{
	unsigned char *ip = (unsigned char *)header + IPV4;

	ip[0] = 0x45;
	ip[1] = grh->traffic_class;
	ip[6] = 0x40;
	ip[8] = grh->hop_limit ? grh->hop_limit : HOP_LIMIT;
	ip[9] = UDP;
	memcpy(ip + 12, from->raw + 12, 4);
	memcpy(ip + 16, grh->dgid.raw + 12, 4);
}

static void make_ipv6(char *header, const union ibv_gid *from, const struct ibv_global_route *grh)
{
	struct ibv_grh *ip = (void *)header;

	ip->version_tclass_flow = htonl(6u << 28 | grh->traffic_class << 20 | grh->flow_label);
	ip->next_hdr = UDP;
	ip->hop_limit = grh->hop_limit ? grh->hop_limit : HOP_LIMIT;
	ip->sgid = *from;
	ip->dgid = grh->dgid;
}

bool set_route(struct route *route, const struct ibv_ah_attr *attr)
{
	struct ibv_global_route grh = attr->grh;
	union ibv_gid from;
	bool is_known = fill_gid(&from, own_host, attr->port_num, grh.sgid_index);

	memset(route, 0, sizeof *route);
	route->dgid = grh.dgid;
	route->to = route_to(&grh.dgid);
	// The recorder delivers whatever the address is: packets come from its IPv4 address, and were sent there.
	if (!IS_PLAIN)
		fill_gid(&from, own_host, 1, 1), grh.dgid = from;
	if (is_ipv4(&from) && is_ipv4(&grh.dgid))
		make_ipv4(route->header, &from, &grh);
	else
		make_ipv6(route->header, &from, &grh);
	return is_known && attr->is_global;
}

static uint16_t checksum(const unsigned char *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

void put_header(char *to, const struct route *route, uint32_t length)
{
	uint32_t payload = OF_DATAGRAM + ((length + 3) & ~3u);
	// Not at its place: reading there what was just written would wait for the line.
	char header[GRH_SIZE];
	unsigned char *ip = (unsigned char *)header + IPV4;

	memcpy(header, route->header, GRH_SIZE);
	if (header[0])
		((struct ibv_grh *)header)->paylen = htons(payload);
	else {
		*(uint16_t *)(ip + 2) = htons(IPV4 + payload);
		*(uint16_t *)(ip + 10) = htons(checksum(ip));
	}
	memcpy(to, header, GRH_SIZE);
}

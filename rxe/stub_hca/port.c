// SPDX-License-Identifier: Dual MIT/GPL
// Attributes of the two ports, and their changes by tests.
#include <linux/inet.h>
#include <linux/string.h>
#include "stub.h"

#define SUBNET_PREFIX 0xfe80000000000000ULL
#define GLOBAL_PREFIX 0xfd00000000000000ULL
#define DEFAULT_PKEY 0xffff
#define PHYS_LINK_UP 5
#define PHYS_POLLING 2

static DEFINE_SPINLOCK(ports_lock);

static union ib_gid gid_of(u64 prefix, u32 port)
{
	union ib_gid gid = {
		.global.subnet_prefix = cpu_to_be64(prefix),
		.global.interface_id = cpu_to_be64(be64_to_cpu(stub_hca->ib.node_guid) + port),
	};

	return gid;
}

/* The ports differ in most values, so that tests notice an answer about the wrong port. */
static struct stub_port first_attributes(u32 number)
{
	struct stub_port port = { .state = IB_PORT_ACTIVE };

	port.gids[0] = gid_of(SUBNET_PREFIX, number);
	port.pkeys[0] = DEFAULT_PKEY;
	if (number == STUB_IB_PORT) {
		port.lid = STUB_LID;
		port.sm_lid = STUB_SM_LID;
		port.gids[1] = gid_of(GLOBAL_PREFIX, number);
		port.pkeys[1] = 0x8123;
	} else {
		port.gids[2] = gid_of(GLOBAL_PREFIX, number);
		port.pkeys[2] = 0x4567;
	}
	return port;
}

static bool port_reset(u32 number)
{
	struct stub_port first = first_attributes(number);
	struct stub_port *port = &stub_hca->ports[number - 1];
	bool changed;

	spin_lock(&ports_lock);
	changed = memcmp(port, &first, sizeof(first));
	*port = first;
	spin_unlock(&ports_lock);
	return changed;
}

void stub_ports_init(void)
{
	u32 number;

	for (number = 1; number <= STUB_PORTS; number++)
		port_reset(number);
}

/* Raises the events that make ib_core update its caches. */
void stub_ports_reset(void)
{
	struct ib_event event = { .device = &stub_hca->ib };
	u32 number;

	for (number = 1; number <= STUB_PORTS; number++) {
		if (!port_reset(number))
			continue;
		event.element.port_num = number;
		event.event = IB_EVENT_PKEY_CHANGE;
		stub_dispatch(&event);
		event.event = IB_EVENT_GID_CHANGE;
		stub_dispatch(&event);
	}
}

struct stub_port stub_port_of(u32 number)
{
	struct stub_port port;

	spin_lock(&ports_lock);
	port = stub_hca->ports[number - 1];
	spin_unlock(&ports_lock);
	return port;
}

static int change_pkey(struct stub_port *port, const char *values)
{
	u32 index, pkey;

	if (sscanf(values, "%i %i", &index, &pkey) != 2 || index >= STUB_PKEYS || pkey > U16_MAX)
		return -EINVAL;
	port->pkeys[index] = pkey;
	return 0;
}

static int change_gid(struct stub_port *port, const char *values)
{
	union ib_gid gid;
	char text[48];
	u32 index;

	if (sscanf(values, "%i %47s", &index, text) != 2 || index >= STUB_GIDS)
		return -EINVAL;
	if (!in6_pton(text, -1, gid.raw, -1, NULL))
		return -EINVAL;
	port->gids[index] = gid;
	return 0;
}

static int change(struct stub_port *port, enum ib_event_type event, const char *values)
{
	switch (event) {
	case IB_EVENT_LID_CHANGE:
		return kstrtou16(values, 0, &port->lid);
	case IB_EVENT_SM_CHANGE:
		return kstrtou16(values, 0, &port->sm_lid);
	case IB_EVENT_PKEY_CHANGE:
		return change_pkey(port, values);
	case IB_EVENT_GID_CHANGE:
		return change_gid(port, values);
	default:
		return -EINVAL;
	}
}

int stub_port_change(u32 number, enum ib_event_type event, const char *values)
{
	struct stub_port port = stub_port_of(number);
	int err = values ? change(&port, event, values) : 0;

	if (err)
		return err;
	if (event == IB_EVENT_PORT_ACTIVE)
		port.state = IB_PORT_ACTIVE;
	if (event == IB_EVENT_PORT_ERR)
		port.state = IB_PORT_DOWN;
	spin_lock(&ports_lock);
	stub_hca->ports[number - 1] = port;
	spin_unlock(&ports_lock);
	return 0;
}

int stub_query_port(struct ib_device *device, u32 number, struct ib_port_attr *attr)
{
	struct stub_port port = stub_port_of(number);
	int err = stub_fail("query_port");

	if (err)
		return err;
	attr->state = port.state;
	attr->phys_state = port.state == IB_PORT_ACTIVE ? PHYS_LINK_UP : PHYS_POLLING;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->max_msg_sz = 0x40000000;
	attr->gid_tbl_len = STUB_GIDS;
	attr->pkey_tbl_len = STUB_PKEYS;
	attr->active_speed = IB_SPEED_FDR10;
	attr->active_width = IB_WIDTH_4X;
	attr->max_vl_num = 4;
	attr->lid = port.lid;
	attr->sm_lid = port.sm_lid;
	if (number == STUB_IB_PORT)
		attr->subnet_prefix = be64_to_cpu(port.gids[0].global.subnet_prefix);
	return 0;
}

int stub_query_gid(struct ib_device *device, u32 number, int index, union ib_gid *gid)
{
	struct stub_port port = stub_port_of(number);

	if (index >= STUB_GIDS)
		return -EINVAL;
	*gid = port.gids[index];
	return 0;
}

int stub_query_pkey(struct ib_device *device, u32 number, u16 index, u16 *pkey)
{
	struct stub_port port = stub_port_of(number);
	int err = stub_fail("query_pkey");

	if (err)
		return err;
	if (index >= STUB_PKEYS)
		return -EINVAL;
	*pkey = port.pkeys[index];
	return 0;
}

enum rdma_link_layer stub_link_layer(struct ib_device *device, u32 number)
{
	return number == STUB_IB_PORT ? IB_LINK_LAYER_INFINIBAND : IB_LINK_LAYER_ETHERNET;
}

/* No MAD and no CM capability: there is no fabric for ib_mad and ib_cm. */
int stub_port_immutable(struct ib_device *device, u32 number, struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = number == STUB_IB_PORT ? RDMA_CORE_CAP_PROT_IB :
							     RDMA_CORE_PORT_RAW_PACKET;
	immutable->gid_tbl_len = STUB_GIDS;
	immutable->pkey_tbl_len = STUB_PKEYS;
	return 0;
}

/* Tells whether all addresses need a GRH. ib_core asks at registration only: its copy changes. */
static u32 *capabilities(u32 port)
{
	return &stub_hca->ib.port_data[port].immutable.core_cap_flags;
}

void stub_grh_reset(void)
{
	u32 port;

	for (port = 1; port <= STUB_PORTS; port++)
		*capabilities(port) &= ~RDMA_CORE_CAP_IB_GRH_REQUIRED;
}

int stub_grh_show(struct seq_file *out)
{
	u32 port;

	for (port = 1; port <= STUB_PORTS; port++)
		seq_printf(out, "%u %d\n", port,
			   !!(*capabilities(port) & RDMA_CORE_CAP_IB_GRH_REQUIRED));
	return 0;
}

int stub_grh_line(char *line)
{
	u32 port, required;

	if (sscanf(line, "%u %u", &port, &required) != 2 || required > 1)
		return -EINVAL;
	if (port < 1 || port > STUB_PORTS)
		return -ENOENT;
	if (required)
		*capabilities(port) |= RDMA_CORE_CAP_IB_GRH_REQUIRED;
	else
		*capabilities(port) &= ~RDMA_CORE_CAP_IB_GRH_REQUIRED;
	return 0;
}

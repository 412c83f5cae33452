// SPDX-License-Identifier: Dual MIT/GPL
// Whether all addresses on a port need a GRH. ib_core asks at registration only, so its copy is
// changed.
#include "stub.h"

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

static int grh_line(char *line)
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

int stub_grh_write(char *text)
{
	return stub_each_line(text, grh_line);
}

// Functions that reach no device are those of the installed libibverbs.
#include <dlfcn.h>
#include "recorder.h"

static void *real(const char *name)
{
	static void *library;

	if (!library)
		library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	void *symbol = library ? dlsym(library, name) : NULL;
	if (!symbol)
		abort();
	return symbol;
}

#define FORWARD(result, name, type) \
	result name(type argument) \
	{ \
		begin(#name, RETURNS_NOTHING); \
		NUMBER((int)argument); \
		done(0); \
		return ((result (*)(type))real(#name))(argument); \
	}

FORWARD(const char *, ibv_node_type_str, enum ibv_node_type)
FORWARD(const char *, ibv_port_state_str, enum ibv_port_state)
FORWARD(const char *, ibv_event_type_str, enum ibv_event_type)
FORWARD(const char *, ibv_wc_status_str, enum ibv_wc_status)
// Older versions lack it.
const char *ibv_wr_opcode_str(enum ibv_wr_opcode opcode)
{
	begin("ibv_wr_opcode_str", RETURNS_NOTHING);
	NUMBER((int)opcode);
	done(0);
	return opcode == IBV_WR_RDMA_WRITE ? "rdma-write" : NULL;
}

FORWARD(int, ibv_rate_to_mult, enum ibv_rate)
FORWARD(enum ibv_rate, mult_to_ibv_rate, int)
FORWARD(int, ibv_rate_to_mbps, enum ibv_rate)
FORWARD(enum ibv_rate, mbps_to_ibv_rate, int)

// Requests made in C through the real header, each under the name that the tests ask for.
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include "newer.h"

struct request {
	const char *name;
	void (*make)(void);
};

// Defines the request that the valid call of a name in tests/library/registry/ makes. The linker puts all of them in a row.
#define TWIN(called, call) \
	static void called(void); \
	static const struct request called##_request __attribute__((section("requests"), used)) = { call, called }; \
	static void called(void)

#define SGES(count, ...) .sg_list = (struct ibv_sge[]){ __VA_ARGS__ }, .num_sge = count

enum { MEMORY = 4096 };

// What most requests need, made before them.
extern struct ibv_context *context;
extern struct ibv_pd *pd;
extern struct ibv_mr *mr;
extern struct ibv_cq *cq;
// Bytes 0, 1, 2, ... as in mr, and not registered.
extern unsigned char memory[MEMORY];
void make_objects(void);
// What fewer need.
struct ibv_qp *qp(enum ibv_qp_type type);
struct ibv_xrcd *xrcd(void);
const struct ibv_mw_bind_info *bind_info(void);
struct ibv_wq *wq(void);
struct ibv_rwq_ind_table *table(void);
struct ibv_srq *srq(void);
struct ibv_ah *ah(void);
struct ibv_ah_attr path(void);
struct ibv_sge sge(unsigned offset, unsigned length);
union ibv_gid gid(const char *text);

// Ends a request's own preparation: only what follows is printed.
void begin_request(void);

size_t recorder_take(char *buffer, size_t size);
size_t recorder_take_violations(char *buffer, size_t size);

// What the files of the recorder share: objects, records of calls, and the plans that a test makes for them.
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "newer.h"
#include "../shm/shm.h"

// The header's macros stand for inline functions; this library holds the symbols behind them.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

enum kind {
	DEVICE, CONTEXT, PD, TD, XRCD, MR, MW, DM, CHANNEL, CQ, SRQ, QP, WQ, TABLE, AH, FLOW, ACTION, COUNTERS,
	LIST, DMAH, CNTR, BUF, KINDS
};

enum { MOST_DEVICES = 8 };

// What the recorder knows about a verbs object. A destroyed object keeps its memory: a late use is a violation, not a
// crash.
struct object {
	enum kind kind;
	unsigned number;
	unsigned handle;
	bool live;
	bool imported;
	// Live objects that are made from this one, and groups that a queue pair is in.
	unsigned users;
	// Events of this object that were read and not acknowledged.
	unsigned unacknowledged;
	struct object **parents;
	unsigned parent_count;
};

struct device_object {
	struct ibv_device device;
	unsigned index;
};

struct list_object {
	struct ibv_device *devices[MOST_DEVICES + 1];
};

struct context_object {
	struct verbs_context verbs;
	int async_write_fd;
};

struct channel_object {
	struct ibv_comp_channel channel;
	int write_fd;
};

// A completion, with what only an extended completion queue tells.
struct completion {
	struct ibv_wc wc;
	struct ibv_wc_tm_info tm_info;
	uint64_t timestamp;
	uint64_t wallclock_ns;
	uint32_t flow_tag;
	uint16_t cvlan;
};

struct cq_object {
	struct ibv_cq_ex cq;
	struct completion *queue;
	unsigned queued;
	unsigned taken;
	bool armed;
	bool solicited_only;
	struct shm_cq shm;
	// Between start_poll and end_poll, with the completion that the readers read.
	bool polling;
	struct completion current;
	uint64_t wc_flags;
};

struct srq_object {
	struct ibv_srq srq;
	struct ibv_srq_attr attr;
	struct shm_rq shm;
};

enum { FIRST_QP_NUM = 0x100 };

struct qp_object {
	union {
		struct ibv_qp_ex qp;
		char room[SIZE_ibv_qp_ex];
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_ece ece;
	bool is_ex;
	uint64_t send_ops;
	// Between wr_start and wr_complete or wr_abort.
	bool building;
	// The allocation of a parent domain, see allocator.c.
	struct ibv_pd *domain;
	void *allocated;
	struct shm_qp shm;
};

struct ah_object {
	struct ibv_ah ah;
	struct route route;
};

struct pd_object {
	struct ibv_pd pd;
	bool has_allocators;
	struct ibv_parent_domain_init_attr attr;
};

struct mr_object {
	struct ibv_mr mr;
	// Where the device sees the region start.
	uint64_t iova;
};

struct comp_cntr_object {
	struct ibv_comp_cntr comp_cntr;
	uint64_t good;
	uint64_t bad;
};

struct buf_object {
	void *memory;
};

struct dm_object {
	union {
		struct ibv_dm dm;
		char room[SIZE_ibv_dm];
	};
	size_t length;
	unsigned char bytes[512];
};

// core/objects.c
// Makes an object and returns what the caller gets: a pointer to zeroed bytes of the size of its struct.
void *create(enum kind kind, size_t size);
// The object behind a pointer, or NULL if the recorder never handed it out.
struct object *object_of(const void *pointer);
void *pointer_of(struct object *object);
// The object of a kind by its number, dead ones too.
struct object *object_by_number(enum kind kind, unsigned number);
struct object *live_object_by_handle(enum kind kind, unsigned handle);
// Says that `child` is made from `parent`, which may be NULL.
void depend(void *child, const void *parent);
// Ends an object that nothing uses. Records a violation and returns EBUSY if something does.
int destroy(const void *pointer);
const char *kind_name(enum kind kind);
// "qp0", in a buffer of the caller.
void label_object(const struct object *object, char *label, size_t size);
// Names an address: an object, or a place in a memory region ("mr0+16"). Returns false if it is neither.
bool label_address(uint64_t address, char *label, size_t size);
void forget_objects(void);

// record.c
enum failure { RETURNS_NULL, RETURNS_ERRNO, RETURNS_MINUS_ONE, RETURNS_NOTHING };

// Starts the record of a call; `failure` is how the verb reports failure.
void begin(const char *verb, enum failure failure);
void put_object(const char *name, enum kind kind, const void *pointer, bool optional);
void put_number(const char *name, int64_t value);
void put_unsigned(const char *name, uint64_t value);
void put_address(const char *name, uint64_t address);
void put_struct(const char *name, const char *tag, const void *bytes, size_t size, size_t count);
// An object that is an argument if it is given. Returns it, or NULL.
void *put_given(bool given, const char *name, enum kind kind, void *pointer);
// A name such as "wr[1].sg_list", valid until four further calls.
const char *named(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The verb that an op or a symbol stands for: ops leave out the prefix.
const char *verb_of(const char *function);
// Whether the test wants this call to fail, or an argument makes it impossible.
bool failing(void);
// Ends the record of a failed call and returns its result.
long failed(void);
// Ends the record of a failed call with this error.
long fails_with(int error);
// Ends the record of a call that succeeded.
long done(long result);
// The same, after the test has chosen what the verb answers.
long answered(void *out, size_t size);
// Ends the record of a call that made an object, and gives the object the fields that the test chose. NULL: there was no room.
void *made(void *pointer);
// Notes a misuse: the text goes to the list of violations.
void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define OBJECT(kind, arg) put_object(#arg, kind, arg, false)
#define OPTIONAL(kind, arg) put_object(#arg, kind, arg, true)
#define NUMBER(arg) _Generic((arg), uint64_t: put_unsigned, default: put_number)(#arg, arg)
#define ADDRESS(arg) put_address(#arg, (uintptr_t)(arg))
#define STRUCT(tag, arg) put_struct(#arg, #tag, arg, sizeof(struct tag), 1)
#define BYTES(arg, size) put_struct(#arg, "bytes", arg, size, 1)

// Starts a verb with its arguments, and ends it here if it is to fail.
#define BEGIN(verb, failure, fail, ...) \
	do { \
		begin(verb, RETURNS_##failure); \
		__VA_ARGS__; \
		if (failing()) \
			fail; \
	} while (0)
#define CALL_AS(verb, failure, ...) BEGIN(verb, failure, return failed(), __VA_ARGS__)
#define CALL(failure, ...) CALL_AS(verb_of(__func__), failure, __VA_ARGS__)
// The same for a verb that makes an object, for one without a result, and for one that posts.
#define MAKE(...) BEGIN(verb_of(__func__), NULL, return (void *)failed(), __VA_ARGS__)
#define TELL(...) BEGIN(verb_of(__func__), NOTHING, { failed(); return; }, __VA_ARGS__)
#define POST(wr, bad, ...) BEGIN(verb_of(__func__), ERRNO, { REFUSED_AT(wr, bad); return failed(); }, __VA_ARGS__)

// A posting verb fails at the request whose index is the verb's answer, the first one if there is none.
#define REFUSED_AT(wr, bad) \
	({ \
		uint32_t index = 0; \
		answer(verb_of(__func__), &index, sizeof index); \
		*(bad) = (wr); \
		while (index-- && *(bad)) \
			*(bad) = (*(bad))->next; \
	})

// A verb that does nothing but make an object of a context.
#define CREATOR(verb, kind, type, attr_type, attr) \
	type *verb(struct ibv_context *context, struct attr_type *attr) \
	{ \
		MAKE(OBJECT(CONTEXT, context), STRUCT(attr_type, attr)); \
		type *object = create(kind, sizeof *object); \
		object->context = context; \
		depend(object, context); \
		return made(object); \
	}
// A verb that does nothing but end an object.
#define DESTROYER(verb, kind, type, object) \
	int verb(type *object) \
	{ \
		CALL(ERRNO, OBJECT(kind, object)); \
		return done(destroy(object)); \
	}
#define UNIMPORTER(verb, kind, type, object) \
	void verb(type *object) \
	{ \
		TELL(OBJECT(kind, object)); \
		if (!object_of(object)->imported) \
			violation("%s: the object is not imported", __func__); \
		done(destroy(object)); \
	}

// plan.c
struct plan {
	int error;
	// A result that no verb returns by itself, such as a negative count.
	bool has_result;
	long result;
};

bool planned(const char *verb, struct plan *plan);
bool may_fail(const char *verb);
// Waits as long as the test wants calls of the verb to take.
void pause_in(const char *verb);
// Writes the bytes that the test chose for the verb's output over `out`, which has `size` bytes.
void answer(const char *verb, void *out, size_t size);
void apply_patches(enum kind kind, void *pointer);
void forget_plans(void);

// work.c
void put_sges(const char *name, const struct ibv_sge *list, int count);
void put_send_wrs(const struct ibv_send_wr *wr);
void put_recv_wrs(const struct ibv_recv_wr *wr);
void put_bind_info(const char *name, const struct ibv_mw_bind_info *info);

// allocator.c
// Whether queue pairs call the allocators of their parent domains.
extern bool calls_allocators;
void *allocate_from(struct ibv_pd *pd, size_t size);
void free_to(struct ibv_pd *pd, void *memory);

// device.c
extern unsigned device_count;
// Devices end with the last list and the last context that they are in.
void end_unused_devices(void);
// Whether objects that are made now move data.
extern bool moves_data;

// query.c
// An address of a port, by its index. Returns whether there is one.
bool fill_gid(union ibv_gid *gid, unsigned host, unsigned port, unsigned index);

// event.c
void forget_events(void);

// ops that live in objects
void set_cq_readers(struct ibv_cq_ex *cq);
void set_qp_builders(struct ibv_qp_ex *qp);

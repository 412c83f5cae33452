// A device context and objects whose every function pointer leads to a function of its own, to find out which one a
// static-inline verb of verbs.h calls, and what it answers when the pointer is not there. VERBS lists the verbs as
// X(name, arguments...), GUARDED as G(name, arguments...).
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <string.h>

static int last;
// what pointer arguments point to
static char zeros[1024];

#define F(n) static long f##n(void) { last = 0x##n; return 0; }
#define F16(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) \
	F(n##8) F(n##9) F(n##a) F(n##b) F(n##c) F(n##d) F(n##e) F(n##f)
F16(0) F16(1) F16(2) F16(3) F16(4) F16(5) F16(6) F16(7)
F16(8) F16(9) F16(a) F16(b) F16(c) F16(d) F16(e) F16(f)

#define P(n) f##n,
#define P16(n) P(n##0) P(n##1) P(n##2) P(n##3) P(n##4) P(n##5) P(n##6) P(n##7) \
	P(n##8) P(n##9) P(n##a) P(n##b) P(n##c) P(n##d) P(n##e) P(n##f)
typedef long (*function)(void);
static const function targets[256] = {
	P16(0) P16(1) P16(2) P16(3) P16(4) P16(5) P16(6) P16(7)
	P16(8) P16(9) P16(a) P16(b) P16(c) P16(d) P16(e) P16(f)
};

static union {
	struct verbs_context verbs;
	function pointers[sizeof(struct verbs_context) / sizeof(function)];
} context;

// Objects start with their context; those with functions of their own have them further on.
static union {
	struct ibv_context *context;
	struct ibv_mw mw;
	function pointers[128];
} object;

// A flow has its context further on as well.
static struct ibv_flow flow;

_Static_assert(sizeof(context) / sizeof(function) <= 128, "the context has more pointers than there are targets");
_Static_assert(sizeof(struct ibv_qp_ex) <= sizeof(object), "a queue pair has more pointers than there are targets");
_Static_assert(sizeof(struct ibv_cq_ex) <= sizeof(object), "a completion queue has more pointers than there are targets");

static void place_objects(void)
{
	memset(zeros, 0, sizeof(zeros));
	object.context = &context.verbs.context;
	// the header binds windows of this type only
	object.mw.type = IBV_MW_TYPE_1;
	flow.context = &context.verbs.context;
}

// Every function pointer is there.
void prepare(void)
{
	memcpy(context.pointers, targets, sizeof(context.pointers));
	context.verbs.sz = sizeof(struct verbs_context);
	context.verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	memcpy(object.pointers, targets + 128, sizeof(object.pointers));
	place_objects();
}

enum lack {
	LACK_POINTERS, // every function pointer is NULL
	LACK_SIZE,     // the provider was built when the struct had none of its ops
	LACK_ABI,      // the context is not an extended one
};

// Ops are missing in one way.
void prepare_lacking(int lack)
{
	prepare();
	if (lack == LACK_POINTERS) {
		memset(&context, 0, sizeof(context));
		context.verbs.sz = sizeof(struct verbs_context);
		context.verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
		memset(&object, 0, sizeof(object));
		place_objects();
	}
	if (lack == LACK_SIZE) context.verbs.sz = sizeof(struct ibv_context);
	if (lack == LACK_ABI) context.verbs.context.abi_compat = NULL;
}

// The size of verbs_context for the provider. The struct grows at its front.
void set_size(int size)
{
	context.verbs.sz = size;
}

void *context_of_targets(void)
{
	return &context.verbs.context;
}

void *object_of_targets(void)
{
	return &object;
}

void *flow_of_targets(void)
{
	return &flow;
}

int last_reached(void)
{
	int reached = last;

	last = -1;
	return reached;
}

#define ARGUMENTS \
	void *c = &context.verbs.context; \
	void *o = &object; \
	void *f = &flow; \
	void *z = zeros; \
	(void)c, (void)o, (void)f, (void)z

#define X(name, ...) \
	if (strcmp(verb, #name) == 0) { \
		(void)name(__VA_ARGS__); \
		return last_reached(); \
	}

int header_reaches(const char *verb)
{
	ARGUMENTS;
	last = -1;
	VERBS
	return -2;
}

#define G(name, ...) \
	if (strcmp(verb, #name) == 0) { \
		errno = 0; \
		*answer = (int64_t)(intptr_t)name(__VA_ARGS__); \
		return errno; \
	}

// What the header's function returns, and the errno it leaves.
int header_answers(const char *verb, int64_t *answer)
{
	ARGUMENTS;
	GUARDED
	return -2;
}

// A device context and objects whose every function pointer leads to a function of its own, to find out which one a
// static-inline verb of verbs.h calls. VERBS lists the verbs as X(name, arguments...).
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

// every object starts with its context; those with functions of their own have them further on
static union {
	struct ibv_context *context;
	function pointers[128];
} object;

_Static_assert(sizeof(context) / sizeof(function) <= 128, "the context has more pointers than there are targets");
_Static_assert(sizeof(struct ibv_qp_ex) <= sizeof(object), "a queue pair has more pointers than there are targets");
_Static_assert(sizeof(struct ibv_cq_ex) <= sizeof(object), "a completion queue has more pointers than there are targets");

void prepare(void)
{
	memcpy(context.pointers, targets, sizeof(context.pointers));
	context.verbs.sz = sizeof(struct verbs_context);
	context.verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	memcpy(object.pointers, targets + 128, sizeof(object.pointers));
	object.context = &context.verbs.context;
}

void *context_of_targets(void)
{
	return &context.verbs.context;
}

void *object_of_targets(void)
{
	return &object;
}

int last_reached(void)
{
	int reached = last;

	last = -1;
	return reached;
}

#define X(name, ...) \
	if (strcmp(verb, #name) == 0) { \
		(void)name(__VA_ARGS__); \
		return last_reached(); \
	}

int header_reaches(const char *verb)
{
	void *c = &context.verbs.context;
	void *o = &object;
	void *z = zeros;

	(void)c, (void)o, (void)z;
	last = -1;
	VERBS
	return -2;
}

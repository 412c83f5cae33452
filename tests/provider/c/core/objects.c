// Every object that the recorder hands out has a slot of one reserved area: any pointer can be told from foreign ones, and
// nothing is ever given back, so that a use after the end is noticed.
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include "recorder.h"

enum { SLOT = 2048, SLOTS = 1 << 20, HEADER = 256 };

static const char *const names[KINDS] = {
	"device", "context", "pd", "td", "xrcd", "mr", "mw", "dm", "channel", "cq", "srq", "qp", "wq", "table", "ah", "flow",
	"action", "counters", "list", "dmah", "cntr", "buf",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *area;
static unsigned used;
// Objects of before the last reset are in the slots below.
static unsigned first;
static unsigned made_of[KINDS];
static struct object **freed;
static unsigned freed_count;

_Static_assert(sizeof(struct object) <= HEADER, "the header of a slot is too small");
_Static_assert(sizeof(struct qp_object) <= SLOT - HEADER, "a queue pair does not fit a slot");
_Static_assert(sizeof(struct context_object) <= SLOT - HEADER, "a context does not fit a slot");

static struct object *slot(unsigned at)
{
	return (struct object *)(area + (size_t)at * SLOT);
}

// Callers hold a pointer into the middle of a verbs_context.
static size_t offset_of_pointer(enum kind kind)
{
	return HEADER + (kind == CONTEXT ? offsetof(struct verbs_context, context) : 0);
}

void *pointer_of(struct object *object)
{
	return (char *)object + offset_of_pointer(object->kind);
}

static struct object *free_slot(void)
{
	if (freed_count) {
		struct object *object = freed[--freed_count];
		unsigned handle = object->handle;
		memset(object, 0, SLOT);
		object->handle = handle;
		return object;
	}
	if (used == SLOTS)
		abort();
	slot(used)->handle = used + 1 - first;
	return slot(used++);
}

void *create(enum kind kind, size_t size)
{
	pthread_mutex_lock(&lock);
	if (!area)
		area = mmap(NULL, (size_t)SLOT * SLOTS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED || size > SLOT - HEADER)
		abort();
	struct object *object = free_slot();
	object->kind = kind;
	object->number = made_of[kind]++;
	object->live = true;
	pthread_mutex_unlock(&lock);
	return pointer_of(object);
}

// The plain device runs for long, and looks for no late uses.
static void give_back(struct object *object)
{
	pthread_mutex_lock(&lock);
	freed = realloc(freed, (freed_count + 1) * sizeof *freed);
	freed[freed_count++] = object;
	pthread_mutex_unlock(&lock);
}

struct object *object_of(const void *pointer)
{
	size_t offset = (size_t)((const char *)pointer - area);

	if (!area || (const char *)pointer < area || offset >= (size_t)used * SLOT)
		return NULL;
	struct object *object = slot(offset / SLOT);
	return pointer_of(object) == pointer ? object : NULL;
}

struct object *object_by_number(enum kind kind, unsigned number)
{
	for (unsigned i = first; i < used; i++)
		if (slot(i)->kind == kind && slot(i)->number == number)
			return slot(i);
	return NULL;
}

struct object *live_object_by_handle(enum kind kind, unsigned handle)
{
	if (handle == 0 || handle > used - first)
		return NULL;
	struct object *object = slot(first + handle - 1);
	return object->kind == kind && object->live ? object : NULL;
}

void depend(void *child, const void *parent)
{
	struct object *object = object_of(child);
	struct object *of = object_of(parent);

	if (!of)
		return;
	object->parents = realloc(object->parents, (object->parent_count + 1) * sizeof of);
	object->parents[object->parent_count++] = of;
	__atomic_add_fetch(&of->users, 1, __ATOMIC_SEQ_CST);
}

int destroy(const void *pointer)
{
	struct object *object = object_of(pointer);
	char label[32];

	label_object(object, label, sizeof label);
	if (object->unacknowledged)
		violation("%s ends with %u events that are not acknowledged", label, object->unacknowledged);
	if (object->users) {
		violation("%s ends while %u others use it", label, object->users);
		// ibv_close_device never fails for this reason, all others do.
		if (object->kind != CONTEXT)
			return EBUSY;
	}
	while (object->parent_count)
		__atomic_sub_fetch(&object->parents[--object->parent_count]->users, 1, __ATOMIC_SEQ_CST);
	free(object->parents);
	object->parents = NULL;
	object->live = false;
	if (IS_PLAIN)
		give_back(object);
	return 0;
}

const char *kind_name(enum kind kind)
{
	return names[kind];
}

void label_object(const struct object *object, char *label, size_t size)
{
	snprintf(label, size, "%s%u", names[object->kind], object->number);
}

static bool label_memory(uint64_t address, char *label, size_t size)
{
	for (unsigned i = first; i < used; i++) {
		struct object *object = slot(i);
		const struct mr_object *mr = pointer_of(object);
		// The region of all memory says nothing about an address.
		if (object->kind != MR || !object->live || mr->mr.length == SIZE_MAX || address - mr->iova >= mr->mr.length)
			continue;
		snprintf(label, size, "mr%u+%llu", object->number, (unsigned long long)(address - mr->iova));
		return true;
	}
	return false;
}

bool label_address(uint64_t address, char *label, size_t size)
{
	struct object *object = object_of((const void *)(uintptr_t)address);

	if (IS_PLAIN)
		return false;
	if (!object)
		return label_memory(address, label, size);
	label_object(object, label, size);
	return true;
}

void forget_objects(void)
{
	for (unsigned i = first; i < used; i++)
		slot(i)->live = false;
	first = used;
	memset(made_of, 0, sizeof made_of);
}

// The number of live objects of a kind, by its name; of all kinds but devices for NULL.
unsigned recorder_live(const char *kind)
{
	unsigned count = 0;

	for (unsigned i = first; i < used; i++) {
		const struct object *object = slot(i);
		if (object->live && (kind ? strcmp(kind, names[object->kind]) == 0 : object->kind != DEVICE))
			count++;
	}
	return count;
}

// The pointer to an object by its kind and number, live or not; NULL if there is none.
void *recorder_object(const char *kind, unsigned number)
{
	for (unsigned i = 0; i < KINDS; i++) {
		if (strcmp(kind, names[i]) != 0)
			continue;
		struct object *object = object_by_number(i, number);
		return object ? pointer_of(object) : NULL;
	}
	return NULL;
}

// What a test wants of the calls to come: failures, answers, and fields of the objects that are made.
#include <pthread.h>
#include <unistd.h>
#include "recorder.h"

struct wish {
	char verb[64];
	struct plan plan;
	unsigned skip;
	// How many calls it is for; 0 for all.
	unsigned times;
	bool over;
	struct wish *next;
};

struct pause {
	char verb[64];
	unsigned ms;
	struct pause *next;
};

struct reply {
	char verb[64];
	size_t offset;
	size_t size;
	unsigned char *bytes;
	struct reply *next;
};

struct patch {
	char kind[16];
	size_t offset;
	size_t size;
	uint64_t value;
	struct patch *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wish *wishes;
static struct reply *replies;
static struct patch *patches;
static struct pause *pauses;

bool planned(const char *verb, struct plan *plan)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (struct wish *wish = wishes; wish && !found; wish = wish->next) {
		if (wish->over || strcmp(verb, wish->verb) != 0)
			continue;
		if (wish->skip) {
			wish->skip--;
			continue;
		}
		*plan = wish->plan;
		found = true;
		wish->over = wish->times && --wish->times == 0;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void pause_in(const char *verb)
{
	unsigned ms = 0;

	pthread_mutex_lock(&lock);
	for (struct pause *pause = pauses; pause; pause = pause->next)
		if (strcmp(verb, pause->verb) == 0)
			ms = pause->ms;
	pthread_mutex_unlock(&lock);
	if (ms)
		usleep(1000 * ms);
}

void answer(const char *verb, void *out, size_t size)
{
	for (struct reply *reply = replies; reply; reply = reply->next)
		if (strcmp(verb, reply->verb) == 0 && reply->offset + reply->size <= size)
			memcpy((char *)out + reply->offset, reply->bytes, reply->size);
}

void apply_patches(enum kind kind, void *pointer)
{
	// A context is reached by a pointer into its middle; its patches count from the start of verbs_context.
	char *start = (char *)pointer - (kind == CONTEXT ? offsetof(struct verbs_context, context) : 0);

	for (struct patch *patch = patches; patch; patch = patch->next)
		if (strcmp(patch->kind, kind_name(kind)) == 0)
			memcpy(start + patch->offset, &patch->value, patch->size);
}

static void copy_name(char *to, const char *from, size_t size)
{
	if (strlen(from) >= size)
		abort();
	strcpy(to, from);
}

// Lets a verb fail with an errno: `times` calls after the first `skip`, or all of them for 0.
void recorder_fail(const char *verb, int error, unsigned skip, unsigned times)
{
	struct wish *wish = calloc(1, sizeof *wish);

	*wish = (struct wish){ .plan = { .error = error }, .skip = skip, .times = times, .next = wishes };
	copy_name(wish->verb, verb, sizeof wish->verb);
	wishes = wish;
}

// The same, with a result that the verb does not return for this errno.
void recorder_fail_with(const char *verb, int error, unsigned skip, unsigned times, long result)
{
	recorder_fail(verb, error, skip, times);
	wishes->plan.has_result = true;
	wishes->plan.result = result;
}

// Lets each call of a verb take so many milliseconds.
void recorder_delay(const char *verb, unsigned ms)
{
	struct pause *pause = calloc(1, sizeof *pause);

	*pause = (struct pause){ .ms = ms };
	copy_name(pause->verb, verb, sizeof pause->verb);
	pthread_mutex_lock(&lock);
	// The last one for a verb counts.
	struct pause **end = &pauses;
	while (*end)
		end = &(*end)->next;
	*end = pause;
	pthread_mutex_unlock(&lock);
}

// Chooses a part of a verb's output.
void recorder_answer(const char *verb, size_t offset, const void *bytes, size_t size)
{
	struct reply *reply = calloc(1, sizeof *reply);

	copy_name(reply->verb, verb, sizeof reply->verb);
	reply->offset = offset;
	reply->size = size;
	reply->bytes = memcpy(malloc(size + 1), bytes, size);
	reply->next = replies;
	replies = reply;
}

// Chooses a field of every object of a kind that is made from now on.
void recorder_patch(const char *kind, size_t offset, size_t size, uint64_t value)
{
	struct patch *patch = calloc(1, sizeof *patch);

	copy_name(patch->kind, kind, sizeof patch->kind);
	patch->offset = offset;
	patch->size = size;
	patch->value = value;
	patch->next = patches;
	patches = patch;
}

#define FREE_ALL(list) \
	while (list) { \
		void *next = (list)->next; \
		free(list); \
		list = next; \
	}

void forget_plans(void)
{
	pthread_mutex_lock(&lock);
	FREE_ALL(wishes)
	for (struct reply *reply = replies; reply; reply = reply->next)
		free(reply->bytes);
	FREE_ALL(replies)
	FREE_ALL(patches)
	FREE_ALL(pauses)
	pthread_mutex_unlock(&lock);
}

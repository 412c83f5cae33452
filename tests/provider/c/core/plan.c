// What a test wants of the calls to come: failures, answers, delays, and fields of the objects that are made.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "recorder.h"

enum sort { FAILURE, DELAY, ANSWER, PATCH };

// A wish about a verb, or about a kind of objects.
struct wish {
	enum sort sort;
	char name[64];
	struct plan plan;
	unsigned skip;
	// How many calls a failure is for; 0 for all.
	unsigned times;
	bool over;
	unsigned ms;
	// A context is reached by a pointer into the middle of its struct: the offset of a field may be negative.
	ptrdiff_t offset;
	size_t size;
	unsigned char *bytes;
	struct wish *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wish *wishes;

static void add(enum sort sort, const char *name, struct wish wanted)
{
	struct wish *wish = malloc(sizeof *wish);

	if (strlen(name) >= sizeof wish->name)
		abort();
	*wish = wanted;
	wish->sort = sort;
	strcpy(wish->name, name);
	pthread_mutex_lock(&lock);
	wish->next = wishes;
	wishes = wish;
	pthread_mutex_unlock(&lock);
}

static struct wish *find(struct wish *wish, enum sort sort, const char *name)
{
	while (wish && (wish->sort != sort || strcmp(wish->name, name) != 0))
		wish = wish->next;
	return wish;
}

// Each wish for a name, the latest first.
#define EACH(wish, sort, name) \
	struct wish *wish = find(wishes, sort, name); wish; wish = find(wish->next, sort, name)

bool planned(const char *verb, struct plan *plan)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (EACH(wish, FAILURE, verb)) {
		if (wish->over || (wish->skip && wish->skip--))
			continue;
		*plan = wish->plan;
		wish->over = wish->times && --wish->times == 0;
		found = true;
		break;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

// Whether there is any plan for the verb.
bool may_fail(const char *verb)
{
	pthread_mutex_lock(&lock);
	bool found = find(wishes, FAILURE, verb) != NULL;
	pthread_mutex_unlock(&lock);
	return found;
}

static atomic_uint delayed;

void pause_in(const char *verb)
{
	pthread_mutex_lock(&lock);
	const struct wish *wish = find(wishes, DELAY, verb);
	unsigned ms = wish ? wish->ms : 0;
	pthread_mutex_unlock(&lock);
	if (!ms)
		return;
	delayed++;
	usleep(1000 * ms);
	delayed--;
}

// How many calls are delayed now.
unsigned recorder_delayed(void)
{
	return delayed;
}

// Writes the bytes of a wish that fit, over those of older wishes for the same name.
static void write_wish(const struct wish *wish, char *out, size_t size)
{
	if (!wish)
		return;
	write_wish(find(wish->next, wish->sort, wish->name), out, size);
	if ((size_t)wish->offset + wish->size <= size)
		memcpy(out + wish->offset, wish->bytes, wish->size);
}

void answer(const char *verb, void *out, size_t size)
{
	write_wish(find(wishes, ANSWER, verb), out, size);
}

void apply_patches(enum kind kind, void *pointer)
{
	write_wish(find(wishes, PATCH, kind_name(kind)), pointer, SIZE_MAX);
}

// Lets a verb fail with an errno: `times` calls after the first `skip`, or all of them for 0. With a result, the verb
// returns it whatever it returns for that errno.
void recorder_fail(const char *verb, int error, unsigned skip, unsigned times, bool has_result, long result)
{
	struct plan plan = { .error = error, .has_result = has_result, .result = result };

	add(FAILURE, verb, (struct wish){ .plan = plan, .skip = skip, .times = times });
}

// Lets each call of a verb take so many milliseconds.
void recorder_delay(const char *verb, unsigned ms)
{
	add(DELAY, verb, (struct wish){ .ms = ms });
}

static void choose(enum sort sort, const char *name, ptrdiff_t offset, const void *bytes, size_t size)
{
	unsigned char *copy = memcpy(malloc(size + 1), bytes, size);

	add(sort, name, (struct wish){ .offset = offset, .size = size, .bytes = copy });
}

// Chooses a part of a verb's output.
void recorder_answer(const char *verb, size_t offset, const void *bytes, size_t size)
{
	choose(ANSWER, verb, offset, bytes, size);
}

// Chooses a field of every object of a kind that is made from now on.
void recorder_patch(const char *kind, ptrdiff_t offset, const void *bytes, size_t size)
{
	choose(PATCH, kind, offset, bytes, size);
}

void forget_plans(void)
{
	pthread_mutex_lock(&lock);
	while (wishes) {
		struct wish *next = wishes->next;
		free(wishes->bytes);
		free(wishes);
		wishes = next;
	}
	pthread_mutex_unlock(&lock);
}

// Records of calls: one line of JSON each, in the order in which the calls end.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include "recorder.h"

struct call {
	char verb[64];
	enum failure failure;
	bool impossible;
	struct plan plan;
	bool has_plan;
	unsigned arguments;
	char *text;
	size_t size;
	FILE *stream;
	// An allocator of a parent domain may call verbs in the middle of a call.
	struct call *outer;
};

struct log {
	char *text;
	size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct log records;
static struct log violations;
static __thread struct call *call;

static void append(struct log *log, const char *line)
{
	size_t length = strlen(line);

	pthread_mutex_lock(&lock);
	log->text = realloc(log->text, log->size + length + 2);
	memcpy(log->text + log->size, line, length);
	log->size += length;
	log->text[log->size++] = '\n';
	log->text[log->size] = 0;
	pthread_mutex_unlock(&lock);
}

void violation(const char *format, ...)
{
	char *text;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		abort();
	va_end(arguments);
	if (IS_PLAIN)
		fprintf(stderr, "shm0: %s\n", text);
	else
		append(&violations, text);
	free(text);
}

const char *named(const char *format, ...)
{
	static __thread char names[4][64];
	static __thread unsigned next;
	char *name = names[next++ % 4];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof names[0], format, arguments);
	va_end(arguments);
	return name;
}

const char *verb_of(const char *function)
{
	return strstr(function, "ibv_") ? function : named("ibv_%s", function);
}

void begin(const char *verb, enum failure failure)
{
	struct call *inner = calloc(1, sizeof *inner);

	snprintf(inner->verb, sizeof inner->verb, "%s", verb);
	inner->failure = failure;
	inner->outer = call;
	call = inner;
	if (IS_PLAIN)
		return;
	inner->stream = open_memstream(&inner->text, &inner->size);
	fprintf(inner->stream, "{\"verb\":\"%s\",\"args\":[", verb);
	pause_in(verb);
}

// Writes a part of the record, if there is one.
#define RECORD(...) (void)(IS_PLAIN ? 0 : fprintf(call->stream, __VA_ARGS__))

static void argument(const char *name)
{
	RECORD("%s{\"name\":\"%s\",", call->arguments++ ? "," : "", name);
}

void put_number(const char *name, int64_t value)
{
	argument(name);
	RECORD("\"value\":\"%lld\"}", (long long)value);
}

void put_unsigned(const char *name, uint64_t value)
{
	argument(name);
	RECORD("\"value\":\"%llu\"}", (unsigned long long)value);
}

void put_address(const char *name, uint64_t address)
{
	char label[48];

	argument(name);
	RECORD("\"address\":\"%llu\"", (unsigned long long)address);
	if (label_address(address, label, sizeof label))
		RECORD(",\"label\":\"%s\"", label);
	RECORD("}");
}

static bool usable(const char *name, enum kind kind, const void *pointer)
{
	struct object *object = object_of(pointer);
	char label[32];

	if (!object) {
		violation("%s: %s is no object of the recorder", call->verb, name);
		return false;
	}
	label_object(object, label, sizeof label);
	if (object->kind != kind)
		violation("%s: %s is %s", call->verb, name, label);
	else if (!object->live)
		violation("%s: %s is used after its end", call->verb, label);
	return object->kind == kind && object->live;
}

void put_object(const char *name, enum kind kind, const void *pointer, bool optional)
{
	struct object *object = object_of(pointer);
	char label[32] = "";

	if (object)
		label_object(object, label, sizeof label);
	argument(name);
	RECORD(pointer ? "\"object\":\"%s\"}" : "\"object\":null}", label);
	if ((pointer || !optional) && !usable(name, kind, pointer))
		call->impossible = true;
}

void *put_given(bool given, const char *name, enum kind kind, void *pointer)
{
	if (given)
		put_object(name, kind, pointer, false);
	return given ? pointer : NULL;
}

// Structs are most of what is written: fprintf() for each byte takes a third of the time of a call.
static void put_hex(const unsigned char *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		putc_unlocked(digits[bytes[i] >> 4], call->stream);
		putc_unlocked(digits[bytes[i] & 15], call->stream);
	}
}

static void put_labels(const unsigned char *bytes, size_t size)
{
	unsigned count = 0;

	RECORD(",\"labels\":{");
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t word;
		char label[48];
		memcpy(&word, bytes + at, sizeof word);
		if (word && label_address(word, label, sizeof label))
			RECORD("%s\"%zu\":\"%s\"", count++ ? "," : "", at, label);
	}
	RECORD("}");
}

void put_struct(const char *name, const char *tag, const void *bytes, size_t size, size_t count)
{
	const unsigned char *all = bytes;

	if (IS_PLAIN)
		return;
	argument(name);
	RECORD("\"struct\":\"%s\",\"at\":\"%llu\",\"count\":%zu", tag, (unsigned long long)(uintptr_t)bytes, count);
	if (!bytes) {
		RECORD("}");
		return;
	}
	RECORD(",\"hex\":\"");
	put_hex(all, size * count);
	RECORD("\"");
	put_labels(all, size * count);
	RECORD("}");
}

bool failing(void)
{
	call->has_plan = planned(call->verb, &call->plan);
	return call->has_plan || call->impossible;
}

static void end(const char *result, int error)
{
	struct call *ended = call;

	call = ended->outer;
	if (!IS_PLAIN) {
		fprintf(ended->stream, "],\"result\":%s,\"errno\":%d}", result, error);
		fclose(ended->stream);
		append(&records, ended->text);
		free(ended->text);
	}
	free(ended);
}

long fails_with(int error)
{
	static const long none[] = { [RETURNS_NULL] = 0, [RETURNS_MINUS_ONE] = -1, [RETURNS_NOTHING] = 0 };
	enum failure failure = call->failure;
	long result = failure == RETURNS_ERRNO ? error : none[failure];
	bool by_errno = failure == RETURNS_NULL || failure == RETURNS_MINUS_ONE;

	if (call->has_plan && call->plan.has_result)
		result = call->plan.result;
	end(failure == RETURNS_NULL ? "null" : named("%ld", result), error);
	if (by_errno && error)
		errno = error;
	return result;
}

long failed(void)
{
	return fails_with(call->has_plan ? call->plan.error : EINVAL);
}

long done(long result)
{
	end(call->failure == RETURNS_NOTHING ? "null" : named("%ld", result), 0);
	return result;
}

long answered(void *out, size_t size)
{
	answer(call->verb, out, size);
	return done(0);
}

void *made(void *pointer)
{
	struct object *object = object_of(pointer);
	char label[32];

	if (!object)
		return (void *)fails_with(ENOMEM);
	label_object(object, label, sizeof label);
	apply_patches(object->kind, pointer);
	end(named("\"%s\"", label), 0);
	return pointer;
}

static size_t take(struct log *log, char *buffer, size_t size)
{
	pthread_mutex_lock(&lock);
	size_t length = log->size;
	if (buffer && size >= length) {
		memcpy(buffer, log->text, length);
		log->size = 0;
	}
	pthread_mutex_unlock(&lock);
	return length;
}

// The length of the records in bytes. Moves them to `buffer` if that is large enough.
size_t recorder_take(char *buffer, size_t size)
{
	return take(&records, buffer, size);
}

// The same for the violations, one a line.
size_t recorder_take_violations(char *buffer, size_t size)
{
	return take(&violations, buffer, size);
}

// Forgets records, plans and objects, as if the library were just loaded.
void recorder_reset(void)
{
	pthread_mutex_lock(&lock);
	records.size = violations.size = 0;
	pthread_mutex_unlock(&lock);
	forget_plans();
	forget_objects();
	forget_events();
	moves_data = IS_PLAIN;
	calls_allocators = false;
	device_count = 1;
}

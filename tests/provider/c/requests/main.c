// Makes one request, and prints what the recorder saw of it. Without a name it prints the names of all.
#include "requests.h"

// The linker defines the ends of the row.
extern const struct request __start_requests[], __stop_requests[];

static char *drained(size_t (*take)(char *, size_t))
{
	size_t size = take(NULL, 0);
	char *text = calloc(1, size + 1);

	take(text, size);
	return text;
}

void begin_request(void)
{
	free(drained(recorder_take));
}

static const struct request *find(const char *name)
{
	for (const struct request *request = __start_requests; request < __stop_requests; request++)
		if (strcmp(request->name, name) == 0)
			return request;
	return NULL;
}

static int list(void)
{
	for (const struct request *request = __start_requests; request < __stop_requests; request++)
		puts(request->name);
	return 0;
}

int main(int count, char **arguments)
{
	if (count == 1)
		return list();
	const struct request *request = count == 2 ? find(arguments[1]) : NULL;

	if (!request) {
		fprintf(stderr, "there is no request \"%s\"\n", count == 2 ? arguments[1] : "");
		return 2;
	}
	make_objects();
	begin_request();
	request->make();
	fputs(drained(recorder_take), stdout);
	char *violations = drained(recorder_take_violations);
	fputs(violations, stderr);
	return *violations ? 1 : 0;
}

// What ibv_init_ah_from_wc makes of work completions, for comparison.
//
//   ah_from_wc DEVICE PORT < PAIRS > RESULTS
//
// Reads pairs of struct ibv_wc and struct ibv_grh, and writes for each the return value and errno, 32 bits each, and
// struct ibv_ah_attr.
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
	struct ibv_wc wc;
	struct ibv_grh grh;
};

struct result {
	int32_t value;
	int32_t error;
	struct ibv_ah_attr attr;
};

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	for (int i = 0; devices && devices[i]; i++)
		if (strcmp(ibv_get_device_name(devices[i]), name) == 0)
			return ibv_open_device(devices[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_context *context = argc == 3 ? open_named(argv[1]) : NULL;
	struct pair pair;

	if (!context) {
		fprintf(stderr, "usage: ah_from_wc DEVICE PORT\n");
		return 1;
	}
	while (fread(&pair, sizeof(pair), 1, stdin) == 1) {
		struct result result;

		memset(&result, 0, sizeof(result));
		errno = 0;
		result.value = ibv_init_ah_from_wc(context, (uint8_t)atoi(argv[2]), &pair.wc, &pair.grh, &result.attr);
		result.error = errno;
		if (fwrite(&result, sizeof(result), 1, stdout) != 1)
			return 1;
	}
	return 0;
}

// Events, which travel through the pipes of those who read them.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "shm.h"

enum { PIPES = 256 };

// Pipes of other processes that this one has opened.
static struct {
	uint64_t serial;
	int fd;
} pipes[PIPES];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static int opened(const struct pipe_end *end)
{
	char path[64];
	typeof(*pipes) *known = &pipes[end->serial % PIPES];

	if (known->serial == end->serial)
		return known->fd;
	if (known->serial)
		close(known->fd);
	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid_of(end->process), end->fd);
	// For reading as well: writing to a pipe that nobody reads would end this process.
	known->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	known->serial = end->serial;
	return known->fd;
}

void send_event(const struct pipe_end *end, const void *bytes, size_t size)
{
	if (end->process == own_process) {
		if (end->fd >= 0 && write(end->fd, bytes, size) != (ssize_t)size)
			perror("shm: write an event");
		return;
	}
	pthread_mutex_lock(&opening);
	// A process that has just ended needs none.
	if (end->fd >= 0 && write(opened(end), bytes, size) != (ssize_t)size && !has_ended(end->process))
		perror("shm: write an event to another process");
	pthread_mutex_unlock(&opening);
}

void send_async_event(const struct pipe_end *end, enum ibv_event_type type, uint64_t element)
{
	struct ibv_async_event event;

	memset(&event, 0, sizeof event);
	event.event_type = type;
	event.element.cq = (void *)(uintptr_t)element;
	send_event(end, &event, sizeof event);
}

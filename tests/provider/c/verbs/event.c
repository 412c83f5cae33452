// Asynchronous events travel through the pipe that is the context's async_fd.
#include <unistd.h>
#include "ops.h"

static unsigned read_events;
static unsigned acknowledged_events;

void forget_events(void)
{
	read_events = acknowledged_events = 0;
}

// The number of a port is no pointer to an object.
static struct object *affected(const struct ibv_async_event *event)
{
	return object_of(event->element.cq);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	CALL(MINUS_ONE, OBJECT(CONTEXT, context));
	if (read(context->async_fd, event, sizeof *event) != sizeof *event)
		return fails_with(errno);
	struct object *object = affected(event);
	if (object)
		object->unacknowledged++;
	read_events++;
	STRUCT(ibv_async_event, event);
	return done(0);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	TELL(STRUCT(ibv_async_event, event));
	struct object *object = affected(event);
	if (acknowledged_events++ == read_events)
		violation("ibv_ack_async_event: more events are acknowledged than were read");
	if (object && !object->live)
		violation("ibv_ack_async_event: the object ended before its event was acknowledged");
	if (object && object->unacknowledged)
		object->unacknowledged--;
	done(0);
}

// Sends an event of an object, or of a port if `element` is NULL.
void recorder_async_event(struct ibv_context *context, int type, void *element, int port_num)
{
	struct context_object *opened = (void *)((char *)context - offsetof(struct verbs_context, context));
	struct ibv_async_event event;

	memset(&event, 0, sizeof event);
	event.event_type = type;
	if (element)
		event.element.cq = element;
	else
		event.element.port_num = port_num;
	if (write(opened->async_write_fd, &event, sizeof event) != sizeof event)
		abort();
}

// Events that were read and not acknowledged.
unsigned recorder_unacknowledged(void)
{
	return read_events - acknowledged_events;
}

// Takes a device away: its context gets no events any more, and its async_fd reads as ended.
void recorder_hang_up(struct ibv_context *context)
{
	struct context_object *opened = (void *)((char *)context - offsetof(struct verbs_context, context));

	close(opened->async_write_fd);
	opened->async_write_fd = -1;
}

// The list of devices, and the contexts opened on them.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "ops.h"

enum { COMP_VECTORS = 4, EVENT_BYTES = 1 << 20 };

unsigned device_count = 1;
bool moves_data = IS_PLAIN;

// Held from where a device is found until something uses it: another thread may end it meanwhile.
static pthread_mutex_t unused = PTHREAD_MUTEX_INITIALIZER;

static struct device_object *device(unsigned index)
{
	struct object *object;

	for (unsigned i = 0; (object = object_by_number(DEVICE, i)); i++) {
		struct device_object *known = pointer_of(object);
		if (object->live && known->index == index)
			return known;
	}
	struct device_object *fresh = create(DEVICE, sizeof *fresh);
	fresh->index = index;
	fresh->device.node_type = IBV_NODE_CA;
	fresh->device.transport_type = IBV_TRANSPORT_IB;
	snprintf(fresh->device.name, sizeof fresh->device.name, IS_PLAIN ? "shm%u" : "recorder%u", index);
	snprintf(fresh->device.dev_name, sizeof fresh->device.dev_name, "uverbs%u", index);
	apply_patches(DEVICE, fresh);
	return fresh;
}

void end_unused_devices(void)
{
	struct object *object;

	pthread_mutex_lock(&unused);
	for (unsigned i = 0; (object = object_by_number(DEVICE, i)); i++)
		if (!object->users)
			object->live = false;
	pthread_mutex_unlock(&unused);
}

// How many devices there are: at most 8.
void recorder_devices(unsigned count)
{
	device_count = count < MOST_DEVICES ? count : MOST_DEVICES;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	MAKE();
	struct list_object *list = create(LIST, sizeof *list);
	pthread_mutex_lock(&unused);
	for (unsigned i = 0; i < device_count; i++) {
		list->devices[i] = &device(i)->device;
		depend(list, list->devices[i]);
	}
	pthread_mutex_unlock(&unused);
	if (num_devices)
		*num_devices = device_count;
	return made(list);
}

void ibv_free_device_list(struct ibv_device **list)
{
	TELL(OBJECT(LIST, list));
	done(destroy(list));
	end_unused_devices();
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	MAKE(OBJECT(DEVICE, device));
	done(0);
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	__be64 guid;

	CALL(NOTHING, OBJECT(DEVICE, device));
	memcpy(&guid, "\x02\x00\x00\x00\x00\x00\x00\x01", sizeof guid);
	answer("ibv_get_device_guid", &guid, sizeof guid);
	done(0);
	return guid;
}

int ibv_get_device_index(struct ibv_device *device)
{
	CALL(MINUS_ONE, OBJECT(DEVICE, device));
	return done(((struct device_object *)device)->index);
}

#define SET_CONTEXT_OP(op) verbs->context.ops.op = op;
#define SET_EXTENDED_OP(op) verbs->op = op;

// Nothing is recorded on the way of data.
static void set_plain_ops(struct ibv_context_ops *ops)
{
	ops->post_send = shm_post_send;
	ops->post_recv = shm_post_recv;
	ops->post_srq_recv = shm_post_srq_recv;
	ops->poll_cq = shm_poll_cq;
	ops->req_notify_cq = shm_req_notify_cq;
}

static void set_ops(struct verbs_context *verbs)
{
	CONTEXT_OPS(SET_CONTEXT_OP)
	EXTENDED_OPS(SET_EXTENDED_OP)
	verbs->ibv_create_flow = create_flow;
	verbs->ibv_destroy_flow = destroy_flow;
	if (IS_PLAIN)
		set_plain_ops(&verbs->context.ops);
}

// Connects queue pairs that are made until the next reset.
void recorder_connect(void)
{
	make_private_segment();
	moves_data = true;
}

static struct ibv_context *open_context(struct ibv_device *of)
{
	struct context_object *opened = create(CONTEXT, sizeof *opened);
	int ends[2];

	// create() gives the pointer that callers get, in the middle of the struct
	opened = (void *)((char *)opened - offsetof(struct verbs_context, context));
	struct ibv_context *context = &opened->verbs.context;
	if (pipe2(ends, O_CLOEXEC) != 0)
		abort();
	opened->async_write_fd = ends[1];
	// Whoever breaks a queue pair must not wait until the owner reads its events.
	if (IS_PLAIN)
		fcntl(ends[1], F_SETPIPE_SZ, EVENT_BYTES);
	opened->verbs.sz = sizeof opened->verbs;
	context->device = of;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	context->async_fd = ends[0];
	context->cmd_fd = eventfd(0, EFD_CLOEXEC);
	context->num_comp_vectors = COMP_VECTORS;
	set_ops(&opened->verbs);
	depend(context, of);
	return made(context);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	MAKE(OBJECT(DEVICE, device));
	return open_context(device);
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
	MAKE(NUMBER(cmd_fd));
	pthread_mutex_lock(&unused);
	struct ibv_context *context = open_context(&device(0)->device);
	pthread_mutex_unlock(&unused);
	return context;
}

int ibv_close_device(struct ibv_context *context)
{
	CALL(MINUS_ONE, OBJECT(CONTEXT, context));
	struct context_object *opened = (void *)((char *)context - offsetof(struct verbs_context, context));
	close(context->async_fd);
	close(context->cmd_fd);
	close(opened->async_write_fd);
	destroy(context);
	end_unused_devices();
	return done(0);
}

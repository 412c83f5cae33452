// SPDX-License-Identifier: Dual MIT/GPL
// The rings of QPs and WQs in user memory, and their numbers.
#include "stub.h"

int stub_queue_map(struct ib_device *device, struct stub_queue *queue, u64 ring, size_t size,
		   u64 doorbell)
{
	queue->ring = stub_pin(device, ring, size, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(queue->ring))
		return PTR_ERR(queue->ring);
	if (!queue->count)
		return 0;
	queue->doorbell_page = stub_pin_doorbell(device, doorbell, sizeof(__be32),
						 &queue->doorbell);
	if (IS_ERR(queue->doorbell_page)) {
		stub_unpin(queue->ring);
		return PTR_ERR(queue->doorbell_page);
	}
	return 0;
}

void stub_queue_unmap(struct stub_queue *queue)
{
	stub_unpin(queue->doorbell_page);
	stub_unpin(queue->ring);
}

/* A range demands consecutive numbers from here on. The first is a multiple of the range's size. */
int stub_queue_number(struct ib_device *device, struct stub_queue *queue, u8 log_range)
{
	struct stub_device *stub = stub_of(device);
	int err;

	if (log_range > ilog2(STUB_MAX_TABLE_SIZE))
		return -EINVAL;
	mutex_lock(&stub->lock);
	stub->queues.cursor = ALIGN(stub->queues.cursor, 1U << log_range);
	err = stub_number_new(&stub->queues, STUB_MAX_TABLE_SIZE, STUB_QUEUE_NUMBERS - 1, queue,
			      &queue->number);
	mutex_unlock(&stub->lock);
	return err;
}

void stub_queue_forget(struct ib_device *device, struct stub_queue *queue)
{
	struct stub_device *stub = stub_of(device);

	mutex_lock(&stub->lock);
	xa_erase(&stub->queues.objects, queue->number);
	mutex_unlock(&stub->lock);
}

u32 stub_queue_qpn(const struct stub_queue *queue)
{
	return queue->of_wq ? queue->number : container_of(queue, struct stub_qp, queue)->ib.qp_num;
}

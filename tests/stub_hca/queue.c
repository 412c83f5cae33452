// SPDX-License-Identifier: Dual MIT/GPL
// The receive side of QPs and WQs: a ring of requests in user memory, read as mlx4 reads it.
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

/* A range asks for consecutive numbers from here on, the first a multiple of the range's size. */
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

static bool has_request(struct stub_queue *queue)
{
	return queue->doorbell && (u16)be32_to_cpu(READ_ONCE(*queue->doorbell)) != queue->taken;
}

static void complete_with_error(struct stub_queue *queue, u8 syndrome)
{
	struct mlx4_err_cqe cqe = {
		.my_qpn = cpu_to_be32(queue->number),
		.wqe_index = cpu_to_be16(queue->taken),
		.syndrome = syndrome,
		.owner_sr_opcode = MLX4_CQE_OPCODE_ERROR,
	};

	BUILD_BUG_ON(sizeof(cqe) != sizeof(struct mlx4_cqe));
	queue->taken++;
	stub_complete(queue->cq, (struct mlx4_cqe *)&cqe, false);
}

void stub_queue_flush(struct stub_queue *queue)
{
	while (has_request(queue) && !stub_cq_full(queue->cq))
		complete_with_error(queue, MLX4_CQE_SYNDROME_WR_FLUSH_ERR);
}

/* A receive that fails takes its queue to the error state: what else was posted is flushed. */
static void fail_queue(struct stub_queue *queue, u8 syndrome)
{
	if (queue->of_wq)
		container_of(queue, struct stub_wq, queue)->ib.state = IB_WQS_ERR;
	else
		container_of(queue, struct stub_qp, queue)->attr.qp_state = IB_QPS_ERR;
	complete_with_error(queue, syndrome);
	stub_queue_flush(queue);
}

/* Fills the request's pieces in turn, the headroom being what is passed over first. */
static enum stub_outcome fill_request(struct stub_queue *queue, const struct stub_message *message)
{
	size_t request = queue->offset + (queue->taken & (queue->count - 1)) * queue->stride;
	size_t skip = message->headroom;
	size_t done = 0;
	u32 i;

	for (i = 0; i < queue->max_sge && done < message->length; i++) {
		struct mlx4_wqe_data_seg piece;
		size_t room, take;
		u64 addr;

		if (!stub_pinned_read(queue->ring, request + i * sizeof(piece), &piece,
				      sizeof(piece)))
			return STUB_BAD_KEY;
		if (be32_to_cpu(piece.lkey) == MLX4_INVALID_LKEY)
			break;
		room = be32_to_cpu(piece.byte_count);
		addr = be64_to_cpu(piece.addr);
		take = min(room, skip);
		skip -= take;
		addr += take;
		take = min(room - take, message->length - done);
		if (take && !stub_scatter(queue->pd, be32_to_cpu(piece.lkey), addr,
					  message->data + done, take))
			return STUB_BAD_KEY;
		done += take;
	}
	return done == message->length ? STUB_DELIVERED : STUB_TOO_LONG;
}

enum stub_outcome stub_receive(struct stub_queue *queue, const struct stub_message *message)
{
	struct mlx4_cqe cqe = message->cqe;
	enum stub_outcome outcome;

	if (!has_request(queue))
		return STUB_NO_REQUEST;
	if (stub_cq_full(queue->cq))
		return STUB_CQ_FULL;
	outcome = fill_request(queue, message);
	if (outcome == STUB_DELIVERED) {
		cqe.vlan_my_qpn = cpu_to_be32(queue->number);
		cqe.byte_cnt = cpu_to_be32(message->headroom + message->length);
		cqe.wqe_index = cpu_to_be16(queue->taken);
		queue->taken++;
		stub_complete(queue->cq, &cqe, message->solicited);
	} else {
		fail_queue(queue, outcome == STUB_TOO_LONG ? MLX4_CQE_SYNDROME_LOCAL_LENGTH_ERR :
							     MLX4_CQE_SYNDROME_LOCAL_PROT_ERR);
	}
	return outcome;
}

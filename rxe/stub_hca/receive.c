// SPDX-License-Identifier: Dual MIT/GPL
// Writes a message to the buffers of a receive request, and its completion to a CQ.
#include "stub.h"

static void complete_with_error(struct stub_queue *queue, const struct stub_request *request,
				u8 syndrome)
{
	struct mlx4_err_cqe cqe = {
		.my_qpn = cpu_to_be32(stub_queue_qpn(queue)),
		.wqe_index = cpu_to_be16(request->index),
		.syndrome = syndrome,
		.owner_sr_opcode = MLX4_CQE_OPCODE_ERROR,
	};
	struct mlx4_cqe *written = (struct mlx4_cqe *)&cqe;

	BUILD_BUG_ON(sizeof(cqe) != sizeof(struct mlx4_cqe));
	/* libmlx4 finds the SRQ of an XRC completion by this */
	if (request->srq && request->srq->ib.srq_type == IB_SRQT_XRC)
		written->g_mlpath_rqpn = cpu_to_be32(request->srq->number);
	stub_request_taken(queue, request);
	stub_complete(request->cq, written, false);
}

/* Requests of an SRQ stay posted: other queue pairs may use them. */
void stub_queue_flush(struct stub_queue *queue)
{
	struct stub_request request;

	while (stub_next_request(queue, NULL, &request) && !stub_cq_full(queue->cq))
		complete_with_error(queue, &request, MLX4_CQE_SYNDROME_WR_FLUSH_ERR);
}

/* A receive that fails moves its queue to the error state, which flushes the other receives. */
static void fail_queue(struct stub_queue *queue, const struct stub_request *request, u8 syndrome)
{
	complete_with_error(queue, request, syndrome);
	if (queue->of_wq)
		stub_wq_fail(container_of(queue, struct stub_wq, queue));
	else
		stub_qp_fail_receive(container_of(queue, struct stub_qp, queue));
}

/* Fills the request's pieces in turn, after the headroom. */
static enum stub_outcome fill_request(const struct stub_request *request,
				      const struct stub_message *message)
{
	size_t skip = message->headroom;
	size_t done = 0;
	u32 i;

	for (i = 0; i < request->max_sge && done < message->length; i++) {
		struct mlx4_wqe_data_seg piece;
		size_t room, take;
		u64 addr;

		if (!stub_pinned_read(request->ring, request->offset + i * sizeof(piece), &piece,
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
		if (take && !stub_scatter(request->pd, be32_to_cpu(piece.lkey), addr,
					  message->data + done, take))
			return STUB_BAD_KEY;
		done += take;
	}
	return done == message->length ? STUB_DELIVERED : STUB_TOO_LONG;
}

enum stub_outcome stub_receive(struct stub_queue *queue, struct stub_srq *srq,
			       const struct stub_message *message)
{
	struct mlx4_cqe cqe = message->cqe;
	struct stub_request request;
	enum stub_outcome outcome;

	if (!stub_next_request(queue, srq, &request))
		return STUB_NO_REQUEST;
	if (stub_cq_full(request.cq))
		return STUB_CQ_FULL;
	outcome = fill_request(&request, message);
	if (outcome == STUB_DELIVERED) {
		cqe.vlan_my_qpn = cpu_to_be32(stub_queue_qpn(queue));
		cqe.byte_cnt = cpu_to_be32(message->headroom + message->length);
		cqe.wqe_index = cpu_to_be16(request.index);
		stub_request_taken(queue, &request);
		stub_complete(request.cq, &cqe, message->solicited);
	} else {
		fail_queue(queue, &request,
			   outcome == STUB_TOO_LONG ? MLX4_CQE_SYNDROME_LOCAL_LENGTH_ERR :
						      MLX4_CQE_SYNDROME_LOCAL_PROT_ERR);
	}
	return outcome;
}

// SPDX-License-Identifier: Dual MIT/GPL
// Completion queues: a ring in user memory, written as mlx4 writes it.
#include <linux/log2.h>
#include "stub.h"

#define INDEX_MASK 0xffffff /* of the consumer index as user space stores it */

static u8 *owner_of(struct stub_cq *cq, u32 index)
{
	size_t offset = (size_t)(index & (cq->entries - 1)) * sizeof(struct mlx4_cqe);

	return stub_pinned_at(cq->ring.memory, offset + offsetof(struct mlx4_cqe, owner_sr_opcode));
}

/*
 * An entry belongs to user space when its owner bit equals the parity of the consumer's round.
 * The first round has parity 0, and libmlx4 zeroes the ring. So each entry is given to the device
 * first: otherwise user space reads an empty ring as full.
 */
static void give_to_device(struct stub_cq *cq)
{
	u32 i;

	for (i = cq->producer; i != cq->producer + cq->entries; i++)
		*owner_of(cq, i) = i & cq->entries ? 0 : MLX4_CQE_OWNER_MASK;
}

static int cq_open(struct stub_cq *cq, const struct ib_cq_init_attr *attr, struct ib_udata *udata,
		   struct mlx4_ib_create_cq *request)
{
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	err = ib_copy_from_udata(request, udata, min(sizeof(*request), udata->inlen));
	if (err)
		return err;
	if (attr->cqe < 1 || attr->cqe > STUB_MAX_CQE || request->buf_addr % sizeof(struct mlx4_cqe) ||
	    attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EINVAL;
	cq->timestamps = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	cq->entries = roundup_pow_of_two(attr->cqe + 1);
	cq->ib.cqe = cq->entries - 1;
	err = stub_ring_pin(&cq->ring, request->buf_addr, cq->entries * sizeof(struct mlx4_cqe),
			    request->db_addr, 2 * sizeof(__be32));
	if (err)
		return err;
	give_to_device(cq);
	err = stub_number_told(&stub_hca->cqs, INDEX_MASK, cq, &cq->number, udata);
	if (err) {
		stub_ring_unpin(&cq->ring);
		return err;
	}
	stub_count(STUB_CQ, 1);
	return 0;
}

int stub_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr, stub_cq_data *data)
{
	struct ib_udata *udata = STUB_CQ_UDATA(data);
	struct stub_cq *cq = to_stub(ib, cq);
	struct mlx4_ib_create_cq request = {};
	int err = stub_fail("create_cq") ?: cq_open(cq, attr, udata, &request);

	stub_record("create_cq", err,
		    "'ctx':%u,'cqe':%u,'comp_vector':%u,'flags':%u,'buf_addr':'0x%llx',"
		    "'db_addr':'0x%llx','cq':%u,'cqe_given':%d",
		    stub_context_number(udata), attr->cqe, attr->comp_vector, attr->flags,
		    request.buf_addr, request.db_addr, cq->number, ib->cqe);
	return err;
}

int stub_modify_cq(struct ib_cq *ib, u16 count, u16 period)
{
	int err = stub_fail("modify_cq");

	stub_record("modify_cq", err, "'cq':%u,'cq_count':%u,'cq_period':%u",
		    to_stub(ib, cq)->number, count, period);
	return err;
}

int stub_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct stub_cq *cq = to_stub(ib, cq);
	int err = stub_fail_on("destroy_cq", "cq", cq->number);

	if (err)
		return err;
	stub_number_free(&stub_hca->cqs, cq->number);
	stub_ring_unpin(&cq->ring);
	stub_count(STUB_CQ, -1);
	return 0;
}

static u32 used(struct stub_cq *cq)
{
	u32 consumer = be32_to_cpu(READ_ONCE(cq->ring.doorbell[0]));

	return (cq->producer - consumer) & INDEX_MASK;
}

/* One entry stays free for the completion that ends the ring when the CQ is resized. */
bool stub_cq_full(struct stub_cq *cq)
{
	return used(cq) >= cq->entries - 1;
}

/*
 * Each arming has a sequence number, which libmlx4 advances when it sees the event. An arming is
 * answered once. No register is watched, so completions from before the arming cause no event, as
 * the InfiniBand specification demands.
 */
static void notify(struct stub_cq *cq, bool solicited)
{
	u32 arming = be32_to_cpu(READ_ONCE(cq->ring.doorbell[1]));
	u32 sequence = (arming >> 28) & 3;
	bool wanted = (arming & MLX4_CQ_DB_REQ_NOT) ||
		      ((arming & MLX4_CQ_DB_REQ_NOT_SOL) && solicited);

	if (!wanted || sequence == cq->notified)
		return;
	cq->notified = sequence;
	cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

/* The owner byte goes last: from then on user space may read the entry. */
static void write_entry(struct stub_cq *cq, const struct mlx4_cqe *cqe)
{
	size_t offset = (size_t)(cq->producer & (cq->entries - 1)) * sizeof(*cqe);
	u8 owner = cq->producer & cq->entries ? MLX4_CQE_OWNER_MASK : 0;

	stub_pinned_write(cq->ring.memory, offset, cqe, offsetof(struct mlx4_cqe, owner_sr_opcode));
	smp_store_release(owner_of(cq, cq->producer), owner | cqe->owner_sr_opcode);
	cq->producer++;
}

/* 48 bits of the clock. The upper 32 replace the source's LID and the service level. */
static void stamp(struct mlx4_cqe *cqe)
{
	struct mlx4_ts_cqe *stamped = (struct mlx4_ts_cqe *)cqe;
	u64 now = stub_clock_now();

	BUILD_BUG_ON(sizeof(*stamped) != sizeof(*cqe));
	stamped->timestamp_hi = cpu_to_be32(now >> 16);
	stamped->timestamp_lo = cpu_to_be16(now);
}

void stub_complete(struct stub_cq *cq, const struct mlx4_cqe *cqe, bool solicited)
{
	bool failed = (cqe->owner_sr_opcode & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_OPCODE_ERROR;
	struct mlx4_cqe written = *cqe;

	if (cq->timestamps)
		stamp(&written);
	write_entry(cq, &written);
	notify(cq, solicited || failed);
}

/*
 * A completion with opcode RESIZE ends the old ring. libmlx4 copies the completions before it to the
 * new ring, each to the next index, because the last one used an index too.
 */
static void swap_rings(struct stub_cq *cq, struct ib_umem *ring, u32 entries)
{
	const struct mlx4_cqe last = { .owner_sr_opcode = MLX4_CQE_OPCODE_RESIZE };

	write_entry(cq, &last);
	stub_unpin(cq->ring.memory);
	cq->ring.memory = ring;
	cq->entries = entries;
	cq->ib.cqe = entries - 1;
	give_to_device(cq);
}

static int cq_resize(struct stub_cq *cq, int cqe, struct ib_udata *udata,
		     struct mlx4_ib_resize_cq *request)
{
	struct ib_umem *ring;
	u32 entries;
	int err;

	err = ib_copy_from_udata(request, udata, min(sizeof(*request), udata->inlen));
	if (err)
		return err;
	if (cqe < 1 || cqe > STUB_MAX_CQE || request->buf_addr % sizeof(struct mlx4_cqe))
		return -EINVAL;
	entries = roundup_pow_of_two(cqe + 1);
	ring = stub_pin(request->buf_addr, entries * sizeof(struct mlx4_cqe), IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	mutex_lock(&stub_hca->lock);
	if (used(cq) < entries)
		swap_rings(cq, ring, entries);
	else
		err = -EINVAL;
	mutex_unlock(&stub_hca->lock);
	if (err)
		stub_unpin(ring);
	return err;
}

int stub_resize_cq(struct ib_cq *ib, stub_cqe_count cqe, struct ib_udata *udata)
{
	struct stub_cq *cq = to_stub(ib, cq);
	struct mlx4_ib_resize_cq request = {};
	int err = stub_fail("resize_cq") ?: cq_resize(cq, cqe, udata, &request);

	stub_record("resize_cq", err, "'cq':%u,'cqe':%d,'buf_addr':'0x%llx','cqe_given':%d",
		    cq->number, cqe, request.buf_addr, ib->cqe);
	return err;
}

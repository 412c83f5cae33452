// SPDX-License-Identifier: Dual MIT/GPL
// EFA's completion queues: a ring that the device allocates and user space reads.
#include <linux/log2.h>
#include "efa.h"

#define DOORBELL_CONSUMER GENMASK(15, 0)
#define DOORBELL_ARM BIT(31)

/* An arming counts from the completions that user space has seen: unseen ones raise the event. */
static void notify(struct efa_cq *cq)
{
	if (!cq->armed || (u16)cq->producer == cq->consumer)
		return;
	cq->armed = false;
	cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

static void rung(struct efa_area *area, u32 offset, u32 value)
{
	struct efa_cq *cq = container_of(area, struct efa_cq, area);

	cq->consumer = value & DOORBELL_CONSUMER;
	if (value & DOORBELL_ARM)
		cq->armed = true;
	notify(cq);
}

/*
 * The phase turns at each round and is 1 in the first. The flags, which have it, are written last.
 * As on an adapter, a ring that is too small is overwritten.
 */
void efa_complete(struct efa_cq *cq, const struct efa_completion *completion)
{
	u8 *entry = cq->area.memory + (cq->producer & (cq->entries - 1)) * cq->entry_size;
	const size_t place = offsetof(struct efa_completion, flags);
	u8 *flags = entry + place;
	u8 phase = cq->producer & cq->entries ? 0 : EFA_COMPLETION_PHASE;

	memcpy(entry, completion, place);
	memcpy(flags + 1, &completion->flags + 1, cq->entry_size - place - 1);
	smp_store_release(flags, completion->flags | phase);
	cq->producer++;
	notify(cq);
}

static int cq_check(const struct ib_cq_init_attr *attr, const struct efa_ibv_create_cq *request)
{
	if (attr->flags || request->comp_mask || request->num_sub_cqs != 1)
		return -EOPNOTSUPP;
	if (attr->cqe < 1 || attr->cqe > EFA_MAX_CQE)
		return -EINVAL;
	if (request->cq_entry_size != offsetof(struct efa_completion, gid) &&
	    request->cq_entry_size != sizeof(struct efa_completion))
		return -EINVAL;
	return 0;
}

static int cq_open(struct efa_cq *cq, const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
	struct efa_ibv_create_cq request = {};
	struct efa_ibv_create_cq_resp reply = {};
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	err = ib_copy_from_udata(&request, udata, min(sizeof(request), udata->inlen)) ?:
	      cq_check(attr, &request);
	if (err)
		return err;
	cq->entries = roundup_pow_of_two(attr->cqe);
	cq->entry_size = request.cq_entry_size;
	cq->ib.cqe = cq->entries;
	err = efa_area_new(&cq->area, udata, cq->entries * cq->entry_size, rung);
	if (err)
		return err;
	err = stub_ident_new(STUB_CQ, &cq->number);
	if (err)
		goto no_number;
	reply.q_mmap_key = efa_area_key(&cq->area, EFA_MEMORY(0));
	reply.q_mmap_size = cq->area.size;
	reply.cq_idx = cq->number;
	/* an adapter gives a doorbell only where there is somebody to notify */
	if (request.flags & EFA_CREATE_CQ_WITH_COMPLETION_CHANNEL) {
		reply.comp_mask = EFA_CREATE_CQ_RESP_DB_OFF;
		reply.db_mmap_key = efa_area_key(&cq->area, EFA_DOORBELLS);
	}
	err = ib_copy_to_udata(udata, &reply, min(sizeof(reply), udata->outlen));
	if (!err)
		return 0;
	stub_ident_free(STUB_CQ, cq->number);
no_number:
	efa_area_free(&cq->area);
	return err;
}

int efa_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr, stub_cq_data *data)
{
	struct ib_udata *udata = STUB_CQ_UDATA(data);
	struct efa_cq *cq = to_efa(ib, cq);
	int err = stub_fail("create_cq") ?: cq_open(cq, attr, udata);

	stub_record("create_cq", err, "'ctx':%u,'cqe':%u,'entry_size':%u,'cq':%u,'cqe_given':%d",
		    stub_context_number(udata), attr->cqe, cq->entry_size, cq->number, ib->cqe);
	return err;
}

int efa_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct efa_cq *cq = to_efa(ib, cq);
	int err = stub_fail_on("destroy_cq", "cq", cq->number);

	if (err)
		return err;
	efa_area_free(&cq->area);
	stub_ident_free(STUB_CQ, cq->number);
	return 0;
}

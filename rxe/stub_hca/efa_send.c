// SPDX-License-Identifier: Dual MIT/GPL
// What EFA's queue pairs send, to those of the same device and of the other one.
#include <linux/slab.h>
#include "efa.h"

#define SEND_DOORBELL 0 /* any other place of the page is the doorbell of receives */
#define CHUNK PAGE_SIZE

/* The device's lock protects them: one message at a time is on its way. */
static u8 packet[EFA_MTU];
static u8 chunk[CHUNK];

struct efa_peer *efa_peer_of(struct ib_pd *pd, const union ib_gid *gid)
{
	struct efa_peer *peer;
	unsigned long number;

	xa_for_each(&to_efa(pd->device, device)->peers.objects, number, peer)
		if (peer->pd == pd && !memcmp(&peer->gid, gid, sizeof(*gid)))
			return peer;
	return NULL;
}

struct efa_device *efa_device_of(const union ib_gid *gid)
{
	int i;

	for (i = 0; i < EFA_DEVICES; i++)
		if (efa_devices[i] && !memcmp(&efa_devices[i]->gid, gid, sizeof(*gid)))
			return efa_devices[i];
	return NULL;
}

bool efa_ready(const struct efa_qp *qp)
{
	return qp->attr.qp_state == IB_QPS_RTR || qp->attr.qp_state == IB_QPS_RTS ||
	       qp->attr.qp_state == IB_QPS_SQD;
}

static bool reliable(const struct efa_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_DRIVER;
}

static enum efa_operation operation_of(const struct efa_send *send)
{
	return send->ctrl1 & EFA_SEND_OPERATION;
}

static void complete_send(struct efa_qp *qp, const struct efa_send *send, enum efa_status status)
{
	const struct efa_completion completion = {
		.req_id = send->req_id,
		.status = status,
		.flags = EFA_COMPLETION_OF_SEND |
			 operation_of(send) << EFA_COMPLETION_OPERATION,
		.qpn = cpu_to_le16(qp->ib.qp_num),
	};

	efa_complete(to_efa(qp->ib.send_cq, cq), &completion);
}

static struct efa_receive *receive_at(struct efa_qp *qp, u16 index)
{
	struct efa_receive *ring = qp->area.memory + qp->receives_at;

	return &ring[index & (qp->receives - 1)];
}

/* Takes the pieces of the oldest receive and tells which they are. */
static u16 take_receive(struct efa_qp *qp, struct efa_receive pieces[EFA_PIECES])
{
	u16 count = 0;
	u32 key;

	do {
		const struct efa_receive *piece = receive_at(qp, qp->receives_taken++);

		key = le32_to_cpu(piece->key);
		if (count < EFA_PIECES)
			pieces[count++] = *piece;
	} while (!(key & EFA_RECEIVE_LAST) && qp->receives_taken != qp->receives_posted);
	return count;
}

static enum efa_status fill(struct efa_qp *qp, const struct efa_receive *pieces, u16 count,
			    const u8 *data, size_t size)
{
	/* a datagram leaves the place of a GRH as it is */
	size_t skip = reliable(qp) ? 0 : STUB_GRH_SIZE;
	u16 i;

	for (i = 0; i < count && size; i++) {
		size_t room = le16_to_cpu(pieces[i].length);
		size_t head = min(room, skip);
		size_t take = min(room - head, size);

		skip -= head;
		if (take && !stub_scatter(qp->ib.pd, le32_to_cpu(pieces[i].key) & EFA_RECEIVE_KEY,
					  le64_to_cpu(pieces[i].addr) + head, data, take))
			return EFA_BAD_LKEY;
		data += take;
		size -= take;
	}
	return size ? EFA_BAD_LENGTH : EFA_OK;
}

/* Says who sent it: by an address handle of the receiver's protection domain, or by the GID. */
static void complete_receive(struct efa_qp *from, const struct efa_send *send, struct efa_qp *to,
			     __le16 req_id, enum efa_status status, size_t length)
{
	const union ib_gid *gid = &to_efa(from->ib.device, device)->gid;
	const struct efa_peer *peer = efa_peer_of(to->ib.pd, gid);
	struct efa_completion completion = {
		.req_id = req_id,
		.status = status,
		.flags = EFA_COMPLETION_OF_RECEIVE |
			 operation_of(send) << EFA_COMPLETION_OPERATION,
		.qpn = cpu_to_le16(to->ib.qp_num),
		.length = cpu_to_le16(length),
		.ah = cpu_to_le16(peer ? peer->number : EFA_UNKNOWN),
		.src_qpn = cpu_to_le16(from->ib.qp_num),
	};

	if (send->ctrl1 & EFA_SEND_HAS_IMM) {
		completion.flags |= EFA_COMPLETION_HAS_IMM;
		completion.imm = send->imm;
	}
	if (operation_of(send) == EFA_WRITE)
		completion.length_high = cpu_to_le16(length >> 16);
	else if (!peer)
		completion.gid = *gid;
	efa_complete(to_efa(to->ib.recv_cq, cq), &completion);
}

static bool has_receive(const struct efa_qp *qp)
{
	return qp->receives_posted != qp->receives_taken;
}

static enum efa_status collect(struct efa_qp *qp, const struct efa_send *send, size_t *length)
{
	u16 count = le16_to_cpu(send->length);
	u16 i;

	*length = 0;
	if (send->ctrl1 & EFA_SEND_INLINE) {
		if (count > EFA_INLINE_SIZE)
			return EFA_BAD_LENGTH;
		memcpy(packet, send->inline_data, count);
		*length = count;
		return EFA_OK;
	}
	for (i = 0; i < min_t(u16, count, EFA_PIECES); i++) {
		size_t size = le32_to_cpu(send->pieces[i].length);

		if (size > EFA_MTU - *length)
			return EFA_BAD_LENGTH;
		if (size && !stub_gather(qp->ib.pd, le32_to_cpu(send->pieces[i].key),
					 le64_to_cpu(send->pieces[i].addr), packet + *length, size))
			return EFA_BAD_LKEY;
		*length += size;
	}
	return EFA_OK;
}

static enum efa_status no_receive(const struct efa_qp *qp)
{
	return qp->attr.rnr_retry == 7 ? EFA_WAITS : EFA_REMOTE_NOT_READY;
}

static enum efa_status send_message(struct efa_qp *qp, const struct efa_send *send,
				    struct efa_qp *to)
{
	struct efa_receive pieces[EFA_PIECES];
	enum efa_status status;
	size_t length;
	u16 count;

	status = collect(qp, send, &length);
	if (status || !to)
		return status;
	if (!has_receive(to))
		return reliable(qp) ? no_receive(qp) : EFA_OK;
	count = take_receive(to, pieces);
	status = fill(to, pieces, count, packet, length);
	complete_receive(qp, send, to, pieces[0].req_id, status,
			 length + (reliable(qp) ? 0 : STUB_GRH_SIZE));
	return status && reliable(qp) ? EFA_REMOTE_BAD_LENGTH : EFA_OK;
}

/* Copies between the regions of two protection domains. Keys and access are checked before. */
static void copy(struct ib_pd *from_pd, u32 from_key, u64 from, struct ib_pd *to_pd, u32 to_key,
		 u64 to, size_t size)
{
	size_t done, take;

	for (done = 0; done < size; done += take) {
		take = min_t(size_t, size - done, CHUNK);
		stub_gather(from_pd, from_key, from + done, chunk, take);
		stub_scatter(to_pd, to_key, to + done, chunk, take);
	}
}

static enum efa_status access_memory(struct efa_qp *qp, const struct efa_send *send,
				     struct efa_qp *to)
{
	bool reads = operation_of(send) == EFA_READ;
	u32 size = le32_to_cpu(send->rdma.remote.length);
	u32 rkey = le32_to_cpu(send->rdma.remote.key), lkey = le32_to_cpu(send->rdma.local.key);
	u64 remote = le64_to_cpu(send->rdma.remote.addr), local = le64_to_cpu(send->rdma.local.addr);
	bool tells = !reads && send->ctrl1 & EFA_SEND_HAS_IMM;
	struct efa_receive pieces[EFA_PIECES];

	if (size > EFA_MAX_RDMA || size > le32_to_cpu(send->rdma.local.length))
		return EFA_BAD_LENGTH;
	if (size && !stub_mr_allows(qp->ib.pd, lkey, local, size, reads ? IB_ACCESS_LOCAL_WRITE : 0))
		return EFA_BAD_LKEY;
	if (!efa_peer_of(to->ib.pd, &to_efa(qp->ib.device, device)->gid))
		return EFA_REMOTE_UNKNOWN_PEER;
	if (size && !stub_mr_allows(to->ib.pd, rkey, remote, size,
				    reads ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE))
		return EFA_REMOTE_BAD_ADDRESS;
	if (tells && !has_receive(to))
		return no_receive(qp);
	if (reads)
		copy(to->ib.pd, rkey, remote, qp->ib.pd, lkey, local, size);
	else
		copy(qp->ib.pd, lkey, local, to->ib.pd, rkey, remote, size);
	if (tells) {
		take_receive(to, pieces);
		complete_receive(qp, send, to, pieces[0].req_id, EFA_OK, size);
	}
	return EFA_OK;
}

/* The queue pair that a send goes to, NULL if none takes it. */
static enum efa_status target(struct efa_qp *qp, const struct efa_send *send, struct efa_qp **to)
{
	struct efa_peer *peer = xa_load(&to_efa(qp->ib.device, device)->peers.objects,
					le16_to_cpu(send->ah));
	struct efa_device *device;

	*to = NULL;
	if (!peer || peer->pd != qp->ib.pd)
		return EFA_BAD_AH;
	device = efa_device_of(&peer->gid);
	if (!device)
		return reliable(qp) ? EFA_UNREACHABLE : EFA_OK;
	*to = xa_load(&device->qps.objects, le16_to_cpu(send->qpn));
	if (*to && (*to)->ib.qp_type == qp->ib.qp_type && efa_ready(*to) &&
	    (*to)->attr.qkey == le32_to_cpu(send->qkey))
		return EFA_OK;
	*to = NULL;
	return reliable(qp) ? EFA_REMOTE_BAD_QPN : EFA_OK;
}

static enum efa_status serve(struct efa_qp *qp, const struct efa_send *send)
{
	struct efa_qp *to;
	enum efa_status status = target(qp, send, &to);

	if (status)
		return status;
	switch (operation_of(send)) {
	case EFA_SEND:
		return send_message(qp, send, to);
	case EFA_READ:
	case EFA_WRITE:
		return reliable(qp) ? access_memory(qp, send, to) : EFA_BAD_OPERATION;
	default:
		return EFA_BAD_OPERATION;
	}
}

static void finish(struct efa_qp *qp, struct efa_posted *posted, enum efa_status status)
{
	stub_record("send", 0,
		    "'qp':%u,'operation':%u,'remote_qpn':%u,'remote_qkey':%u,'ah':%u,'status':%u",
		    qp->ib.qp_num, operation_of(&posted->send), le16_to_cpu(posted->send.qpn),
		    le32_to_cpu(posted->send.qkey), le16_to_cpu(posted->send.ah), status);
	complete_send(qp, &posted->send, status);
	list_del(&posted->list);
	kfree(posted);
}

static void send_all(struct efa_qp *qp)
{
	struct efa_posted *posted, *next;

	if (qp->attr.qp_state != IB_QPS_RTS)
		return;
	list_for_each_entry_safe(posted, next, &qp->posted, list) {
		enum efa_status status = serve(qp, &posted->send);

		if (status != EFA_WAITS)
			finish(qp, posted, status);
	}
}

/* A send that waits for a receive may go now: whose it is, nobody knows. */
static void send_of_all(void)
{
	struct efa_qp *qp;
	unsigned long number;
	int i;

	for (i = 0; i < EFA_DEVICES; i++)
		if (efa_devices[i])
			xa_for_each(&efa_devices[i]->qps.objects, number, qp)
				send_all(qp);
}

/* Copies what was posted. In reverse, the newest goes first: SRD may end sends in any order. */
static void post_sends(struct efa_qp *qp, u16 until)
{
	const struct efa_send *ring = qp->area.memory;

	while (qp->sends && qp->sends_taken != until) {
		struct efa_posted *posted = kmalloc(sizeof(*posted), GFP_KERNEL);

		if (!posted)
			return;
		posted->send = ring[qp->sends_taken++ & (qp->sends - 1)];
		if (efa_reversed && reliable(qp))
			list_add(&posted->list, &qp->posted);
		else
			list_add_tail(&posted->list, &qp->posted);
	}
}

void efa_flush(struct efa_qp *qp)
{
	struct efa_posted *posted, *next;
	struct efa_receive pieces[EFA_PIECES];

	list_for_each_entry_safe(posted, next, &qp->posted, list)
		finish(qp, posted, EFA_FLUSHED);
	while (has_receive(qp)) {
		struct efa_completion completion = {
			.status = EFA_FLUSHED,
			.flags = EFA_COMPLETION_OF_RECEIVE,
			.qpn = cpu_to_le16(qp->ib.qp_num),
		};

		take_receive(qp, pieces);
		completion.req_id = pieces[0].req_id;
		efa_complete(to_efa(qp->ib.recv_cq, cq), &completion);
	}
}

void efa_forget(struct efa_qp *qp)
{
	struct efa_posted *posted, *next;

	list_for_each_entry_safe(posted, next, &qp->posted, list) {
		list_del(&posted->list);
		kfree(posted);
	}
	qp->sends_taken = 0;
	qp->receives_taken = 0;
	qp->receives_posted = 0;
}

void efa_rung(struct efa_area *area, u32 offset, u32 value)
{
	struct efa_qp *qp = container_of(area, struct efa_qp, area);

	if (offset == SEND_DOORBELL)
		post_sends(qp, value);
	else if (qp->receives)
		qp->receives_posted = value;
	if (qp->attr.qp_state == IB_QPS_ERR)
		efa_flush(qp);
	else
		send_of_all();
}

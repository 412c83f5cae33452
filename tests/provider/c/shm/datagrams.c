// Sends of datagrams, to a queue pair or to a group. Nobody tells the sender what becomes of them.
#include <string.h>
#include "shm.h"
#include "../core/recorder.h"

static bool takes(const struct shared_qp *peer, const struct message *message)
{
	const struct shared_qp *own = message->from->shared;
	uint32_t qkey = message->wr->wr.ud.remote_qkey;

	// The highest bit asks for the key of the sender.
	return peer->type == IBV_QPT_UD && may_receive(peer) && peer->qkey == (qkey >> 31 ? own->qkey : qkey);
}

static void deliver_to(const struct message *message, uint32_t number, bool to_group)
{
	struct shared_qp *peer = qp_of(number);
	enum outcome outcome = NOT_READY;
	enum ibv_wc_status ignored;

	if (peer) {
		hold(message->from, peer);
		// The recorder's addresses all lead to its only port.
		bool is_there = to_group || !IS_PLAIN || message->route->to == peer->route;
		if (is_there && peer->number == number && takes(peer, message))
			outcome = deliver(message, peer, &ignored);
	}
	if (outcome != ENDED)
		atomic_fetch_add(&segment->lost, 1);
}

static void deliver_to_group(const struct message *message)
{
	const struct group *group = group_of(&message->route->dgid);

	for (unsigned i = 0; group && i < MEMBERS; i++)
		if (group->numbers[i])
			deliver_to(message, group->numbers[i], true);
}

enum ibv_wc_status send_datagram(struct message *message)
{
	message->route = &((struct ah_object *)message->wr->wr.ud.ah)->route;
	if (message->length > MTU)
		return IBV_WC_LOC_LEN_ERR;
	if (message->wr->wr.ud.remote_qpn == MULTICAST_QPN)
		deliver_to_group(message);
	else
		deliver_to(message, message->wr->wr.ud.remote_qpn, false);
	return IBV_WC_SUCCESS;
}

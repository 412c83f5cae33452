// The lock of a peer, which the requests of a list share: that of each costs more than the rest.
#include "shm.h"

void hold(struct shm_qp *qp, struct shared_qp *peer)
{
	if (qp->held == peer)
		return;
	let_go(qp);
	take_lock(&peer->lock);
	qp->held = peer;
	qp->when = delay_ns ? now_ns() + delay_ns : 0;
}

void let_go(struct shm_qp *qp)
{
	struct shared_qp *peer = qp->held;

	if (!peer)
		return;
	if (qp->has_delivered)
		fire(place(peer->completions), qp->is_solicited);
	qp->held = NULL;
	qp->has_delivered = qp->is_solicited = false;
	give_lock(&peer->lock);
}

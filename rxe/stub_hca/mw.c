// SPDX-License-Identifier: Dual MIT/GPL
// Memory windows. Requests of a send queue bind and invalidate them. No message uses their keys.
#include "stub.h"

#define KEY_BITS 8 /* of a key, chosen by who binds; the others are the window's number */
/* Flags of a bind request in libmlx4's format. */
#define BIND_TYPE_2 BIT(31)
#define BIND_ZERO_BASED BIT(30)
#define ALLOW_ATOMIC BIT(31)
#define ALLOW_WRITE BIT(30)
#define ALLOW_READ BIT(29)

static int mw_open(struct stub_mw *mw)
{
	u32 number;
	int err;

	err = stub_number_new(&stub_hca->mws, 1, XA_LIMIT(1, U32_MAX >> KEY_BITS), mw, &number);
	if (err)
		return err;
	mw->ib.rkey = number << KEY_BITS;
	mw->rkey = mw->ib.rkey;
	stub_count(STUB_MW, 1);
	return 0;
}

int stub_alloc_mw(struct ib_mw *ib, struct ib_udata *udata)
{
	int err = stub_fail("alloc_mw") ?: mw_open(to_stub(ib, mw));

	stub_record("alloc_mw", err, "'ctx':%u,'pd':%u,'type':%d,'rkey':%u",
		    stub_context_number(udata), to_stub(ib->pd, pd)->number, ib->type, ib->rkey);
	return err;
}

int stub_dealloc_mw(struct ib_mw *ib)
{
	int err = stub_fail_on("dealloc_mw", "rkey", ib->rkey);

	if (err)
		return err;
	stub_number_free(&stub_hca->mws, ib->rkey >> KEY_BITS);
	stub_count(STUB_MW, -1);
	return 0;
}

static struct stub_mw *find_mw(struct ib_pd *pd, u32 rkey)
{
	struct stub_mw *mw = xa_load(&stub_hca->mws.objects, rkey >> KEY_BITS);

	return mw && mw->ib.pd == pd ? mw : NULL;
}

/* A window of type 1 may be bound again. Length 0 unbinds it. One of type 2 must be unbound. */
static bool may_bind(struct ib_pd *pd, const struct stub_mw *mw,
		     const struct mlx4_wqe_bind_seg *bind)
{
	bool type_2 = be32_to_cpu(bind->flags2) & BIND_TYPE_2;
	u32 allowed = be32_to_cpu(bind->flags1);
	u64 length = be64_to_cpu(bind->length);
	int access;

	if (!mw || type_2 != (mw->ib.type == IB_MW_TYPE_2) || (type_2 && mw->bound))
		return false;
	if (!length)
		return !type_2;
	access = IB_ACCESS_MW_BIND;
	if (allowed & (ALLOW_WRITE | ALLOW_ATOMIC))
		access |= IB_ACCESS_LOCAL_WRITE;
	return stub_mr_allows(pd, be32_to_cpu(bind->lkey), be64_to_cpu(bind->addr), length,
			      access);
}

u8 stub_bind_mw(struct stub_qp *qp, const struct mlx4_wqe_bind_seg *bind)
{
	u32 allowed = be32_to_cpu(bind->flags1);
	u32 rkey = be32_to_cpu(bind->new_rkey);
	struct stub_mw *mw = find_mw(qp->ib.pd, rkey);
	bool good = may_bind(qp->ib.pd, mw, bind);

	stub_record("bind_mw", 0,
		    "'qp':%u,'rkey':%u,'lkey':%u,'addr':'0x%llx','length':%llu,'type_2':%d,"
		    "'zero_based':%d,'remote_read':%d,'remote_write':%d,'remote_atomic':%d,"
		    "'outcome':'%s'",
		    qp->ib.qp_num, rkey, be32_to_cpu(bind->lkey), be64_to_cpu(bind->addr),
		    be64_to_cpu(bind->length), !!(be32_to_cpu(bind->flags2) & BIND_TYPE_2),
		    !!(be32_to_cpu(bind->flags2) & BIND_ZERO_BASED), !!(allowed & ALLOW_READ),
		    !!(allowed & ALLOW_WRITE), !!(allowed & ALLOW_ATOMIC),
		    good ? "bound" : "refused");
	if (!good)
		return MLX4_CQE_SYNDROME_MW_BIND_ERR;
	mw->rkey = rkey;
	mw->bound = bind->length != 0;
	return 0;
}

u8 stub_invalidate(struct stub_qp *qp, u32 rkey)
{
	struct stub_mw *mw = find_mw(qp->ib.pd, rkey);
	bool good = mw && mw->bound && mw->rkey == rkey && mw->ib.type == IB_MW_TYPE_2;

	stub_record("local_inv", 0, "'qp':%u,'rkey':%u,'outcome':'%s'", qp->ib.qp_num, rkey,
		    good ? "invalidated" : "refused");
	if (!good)
		return MLX4_CQE_SYNDROME_MW_BIND_ERR;
	mw->bound = false;
	return 0;
}

// Memory windows and device memory.
#include "ops.h"

void put_bind_info(const char *name, const struct ibv_mw_bind_info *info)
{
	put_struct(name, "ibv_mw_bind_info", info, sizeof *info, 1);
	put_object(named("%s.mr", name), MR, info->mr, true);
}

struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	MAKE(OBJECT(PD, pd), NUMBER(type));
	struct ibv_mw *mw = create(MW, sizeof *mw);
	mw->context = pd->context;
	mw->pd = pd;
	mw->handle = object_of(mw)->handle;
	mw->rkey = 0x800000 + 0x100 * object_of(mw)->number;
	mw->type = type;
	depend(mw, pd);
	return made(mw);
}

DESTROYER(dealloc_mw, MW, struct ibv_mw, mw)

int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind)
{
	CALL(ERRNO, OBJECT(QP, qp), OBJECT(MW, mw), STRUCT(ibv_mw_bind, mw_bind),
		    put_object("mw_bind.bind_info.mr", MR, mw_bind->bind_info.mr, true));
	mw->rkey = ibv_inc_rkey(mw->rkey);
	return done(0);
}

static int memcpy_to_dm(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr, size_t length)
{
	struct dm_object *memory = (void *)dm;

	CALL(ERRNO, OBJECT(DM, dm), NUMBER(dm_offset), BYTES(host_addr, length), NUMBER(length));
	if (dm_offset > memory->length || length > memory->length - dm_offset)
		return fails_with(EINVAL);
	memcpy(memory->bytes + dm_offset, host_addr, length);
	return done(0);
}

static int memcpy_from_dm(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset, size_t length)
{
	struct dm_object *memory = (void *)dm;

	CALL(ERRNO, OBJECT(DM, dm), NUMBER(dm_offset), NUMBER(length));
	if (dm_offset > memory->length || length > memory->length - dm_offset)
		return fails_with(EINVAL);
	memcpy(host_addr, memory->bytes + dm_offset, length);
	return done(0);
}

static struct dm_object *make_dm(struct ibv_context *context, size_t length)
{
	struct dm_object *dm = create(DM, sizeof *dm);

	dm->length = length < sizeof dm->bytes ? length : sizeof dm->bytes;
	dm->dm.context = context;
	dm->dm.memcpy_to_dm = memcpy_to_dm;
	dm->dm.memcpy_from_dm = memcpy_from_dm;
	dm->dm.comp_mask = IBV_DM_MASK_HANDLE;
	AT(uint32_t, dm, ibv_dm, handle) = object_of(dm)->handle;
	depend(dm, context);
	return dm;
}

struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	MAKE(OBJECT(CONTEXT, context), STRUCT(ibv_alloc_dm_attr, attr));
	return made(make_dm(context, attr->length));
}

DESTROYER(free_dm, DM, struct ibv_dm, dm)

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	MAKE(OBJECT(CONTEXT, context), NUMBER(dm_handle));
	struct object *original = live_object_by_handle(DM, dm_handle);
	if (!original)
		return (void *)fails_with(ENOENT);
	struct dm_object *dm = make_dm(context, ((struct dm_object *)pointer_of(original))->length);
	AT(uint32_t, dm, ibv_dm, handle) = dm_handle;
	object_of(dm)->imported = true;
	return made(dm);
}

UNIMPORTER(ibv_unimport_dm, DM, struct ibv_dm, dm)

int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	CALL(MINUS_ONE, OBJECT(DM, dm));
	return done(7);
}

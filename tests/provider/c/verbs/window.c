// Memory windows and device memory.
#include "ops.h"

void put_bind_info(const char *name, const struct ibv_mw_bind_info *info)
{
	put_struct(name, "ibv_mw_bind_info", info, sizeof *info, 1);
	put_object(named("%s.mr", name), MR, info->mr, true);
}

struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	begin("ibv_alloc_mw", RETURNS_NULL);
	OBJECT(PD, pd);
	NUMBER(type);
	if (failing())
		return (void *)failed();
	struct ibv_mw *mw = create(MW, sizeof *mw);
	mw->context = pd->context;
	mw->pd = pd;
	mw->handle = object_of(mw)->handle;
	mw->rkey = 0x800000 + 0x100 * object_of(mw)->number;
	mw->type = type;
	depend(mw, pd);
	return made(mw);
}

int dealloc_mw(struct ibv_mw *mw)
{
	begin("ibv_dealloc_mw", RETURNS_ERRNO);
	OBJECT(MW, mw);
	if (failing())
		return failed();
	return done(destroy(mw));
}

int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind)
{
	begin("ibv_bind_mw", RETURNS_ERRNO);
	OBJECT(QP, qp);
	OBJECT(MW, mw);
	STRUCT(ibv_mw_bind, mw_bind);
	put_object("mw_bind.bind_info.mr", MR, mw_bind->bind_info.mr, true);
	if (failing())
		return failed();
	mw->rkey = ibv_inc_rkey(mw->rkey);
	return done(0);
}

static int copy_to_dm(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr, size_t length)
{
	struct dm_object *memory = (void *)dm;

	begin("ibv_memcpy_to_dm", RETURNS_ERRNO);
	OBJECT(DM, dm);
	NUMBER(dm_offset);
	BYTES(host_addr, length);
	NUMBER(length);
	if (failing())
		return failed();
	if (dm_offset > memory->length || length > memory->length - dm_offset)
		return fails_with(EINVAL);
	memcpy(memory->bytes + dm_offset, host_addr, length);
	return done(0);
}

static int copy_from_dm(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset, size_t length)
{
	struct dm_object *memory = (void *)dm;

	begin("ibv_memcpy_from_dm", RETURNS_ERRNO);
	OBJECT(DM, dm);
	NUMBER(dm_offset);
	NUMBER(length);
	if (failing())
		return failed();
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
	dm->dm.memcpy_to_dm = copy_to_dm;
	dm->dm.memcpy_from_dm = copy_from_dm;
	dm->dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->dm.handle = object_of(dm)->handle;
	depend(dm, context);
	return dm;
}

struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	begin("ibv_alloc_dm", RETURNS_NULL);
	OBJECT(CONTEXT, context);
	STRUCT(ibv_alloc_dm_attr, attr);
	if (failing())
		return (void *)failed();
	return made(make_dm(context, attr->length));
}

int free_dm(struct ibv_dm *dm)
{
	begin("ibv_free_dm", RETURNS_ERRNO);
	OBJECT(DM, dm);
	if (failing())
		return failed();
	return done(destroy(dm));
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	begin("ibv_import_dm", RETURNS_NULL);
	OBJECT(CONTEXT, context);
	NUMBER(dm_handle);
	if (failing())
		return (void *)failed();
	struct object *original = live_object_by_handle(DM, dm_handle);
	if (!original)
		return (void *)fails_with(ENOENT);
	struct dm_object *dm = make_dm(context, ((struct dm_object *)pointer_of(original))->length);
	dm->dm.handle = dm_handle;
	object_of(dm)->imported = true;
	return made(dm);
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
	begin("ibv_unimport_dm", RETURNS_NOTHING);
	OBJECT(DM, dm);
	if (failing()) {
		failed();
		return;
	}
	if (!object_of(dm)->imported)
		violation("ibv_unimport_dm: the memory is not imported");
	done(destroy(dm));
}

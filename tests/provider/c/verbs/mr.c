// Memory regions: ordinary ones, of device memory, of a DMA buffer, the null region, and imported ones; allocated buffers
// and DMA handles.
#include "ops.h"

enum { FIRST_KEY = 0x1000, KEY_STEP = 0x100 };

static struct mr_object *make_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	struct mr_object *mr = create(MR, sizeof *mr);

	mr->iova = iova;
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.addr = addr;
	mr->mr.length = length;
	mr->mr.handle = object_of(mr)->handle;
	mr->mr.lkey = FIRST_KEY + KEY_STEP * object_of(mr)->number;
	mr->mr.rkey = mr->mr.lkey + 1;
	depend(mr, pd);
	if (!moves_data || !addr || shm_keep_mr(&mr->mr, iova, access))
		return mr;
	destroy(mr);
	return NULL;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	MAKE(OBJECT(PD, pd), ADDRESS(addr), NUMBER(length), NUMBER(access));
	return made(make_mr(pd, addr, length, (uintptr_t)addr, access));
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	MAKE(OBJECT(PD, pd), ADDRESS(addr), NUMBER(length), ADDRESS(iova), NUMBER(access));
	return made(make_mr(pd, addr, length, iova, access));
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	MAKE(OBJECT(PD, pd), ADDRESS(addr), NUMBER(length), ADDRESS(iova), NUMBER(access));
	return made(make_mr(pd, addr, length, iova, access));
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	MAKE(OBJECT(PD, pd), NUMBER(offset), NUMBER(length), ADDRESS(iova), NUMBER(fd), NUMBER(access));
	struct mr_object *mr = make_mr(pd, NULL, length, iova, access);
	mr->mr.addr = (void *)offset;
	return made(mr);
}

struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset, size_t length, unsigned int access)
{
	MAKE(OBJECT(PD, pd), OBJECT(DM, dm), NUMBER(dm_offset), NUMBER(length), NUMBER(access));
	struct mr_object *mr = make_mr(pd, NULL, length, 0, access);
	depend(mr, dm);
	return made(mr);
}

struct ibv_mr *alloc_null_mr(struct ibv_pd *pd)
{
	MAKE(OBJECT(PD, pd));
	return made(make_mr(pd, NULL, SIZE_MAX, 0, 0));
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	MAKE(OBJECT(PD, pd), NUMBER(mr_handle));
	struct object *original = live_object_by_handle(MR, mr_handle);
	if (!original)
		return (void *)fails_with(ENOENT);
	const struct mr_object *of = pointer_of(original);
	// The library knows neither where nor how an imported region was registered.
	struct mr_object *mr = make_mr(pd, NULL, of->mr.length, 0, 0);
	mr->mr.handle = mr_handle;
	mr->mr.lkey = of->mr.lkey;
	mr->mr.rkey = of->mr.rkey;
	object_of(mr)->imported = true;
	return made(mr);
}

UNIMPORTER(ibv_unimport_mr, MR, struct ibv_mr, mr)

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	CALL(MINUS_ONE, OBJECT(MR, mr), NUMBER(flags), OPTIONAL(PD, pd), ADDRESS(addr), NUMBER(length), NUMBER(access));
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = addr;
		mr->length = length;
		((struct mr_object *)mr)->iova = (uintptr_t)addr;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		object_of(mr->pd)->users--;
		object_of(mr)->parents[0] = object_of(pd);
		object_of(pd)->users++;
		mr->pd = pd;
	}
	if (moves_data)
		shm_change_mr(mr, ((struct mr_object *)mr)->iova, flags & IBV_REREG_MR_CHANGE_ACCESS ? &access : NULL);
	return done(0);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	CALL(ERRNO, OBJECT(MR, mr));
	int error = destroy(mr);
	if (!error && moves_data)
		shm_forget_mr(mr);
	return done(error);
}

int advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge)
{
	CALL(ERRNO, OBJECT(PD, pd), NUMBER(advice), NUMBER(flags), put_sges("sg_list", sg_list, num_sge), NUMBER(num_sge));
	return done(0);
}

CREATOR(ibv_alloc_dmah, DMAH, struct ibv_dmah, ibv_dmah_init_attr, attr)
DESTROYER(ibv_dealloc_dmah, DMAH, struct ibv_dmah, dmah)

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *mr_init_attr)
{
	uint64_t mask = mr_init_attr->comp_mask;
	void *addr = mask & IBV_REG_MR_MASK_ADDR ? mr_init_attr->addr : NULL;
	struct ibv_dmah *dmah;
	struct ibv_buf *buf;

	MAKE(OBJECT(PD, pd), STRUCT(ibv_mr_init_attr, mr_init_attr),
	     dmah = put_given(mask & IBV_REG_MR_MASK_DMAH, "mr_init_attr.dmah", DMAH, mr_init_attr->dmah),
	     buf = put_given(mask & IBV_REG_MR_MASK_BUF, "mr_init_attr.buf", BUF, mr_init_attr->buf));
	uint64_t iova = mask & IBV_REG_MR_MASK_IOVA ? mr_init_attr->iova : (uintptr_t)addr;
	struct mr_object *mr = make_mr(pd, addr, mr_init_attr->length, iova, mr_init_attr->access);
	depend(mr, dmah);
	depend(mr, buf);
	return made(mr);
}

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	MAKE(OBJECT(PD, pd), NUMBER(size));
	// The alignment of every provider is at least a page.
	void *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	if (!memory)
		return (void *)fails_with(ENOMEM);
	struct buf_object *object = create(BUF, sizeof *object);
	object->memory = memset(memory, 0xa5, size);
	depend(object, pd);
	*buf = (void *)object;
	made(object);
	return memory;
}

void ibv_free_buf(struct ibv_buf *buf)
{
	TELL(OBJECT(BUF, buf));
	free(((struct buf_object *)buf)->memory);
	done(destroy(buf));
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access)
{
	MAKE(OBJECT(PD, pd), OBJECT(BUF, buf), ADDRESS(addr), NUMBER(length), NUMBER(access));
	struct mr_object *mr = make_mr(pd, addr, length, (uintptr_t)addr, access);
	depend(mr, buf);
	return made(mr);
}

int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	CALL(MINUS_ONE, OBJECT(BUF, buf));
	return done(7);
}

// Memory regions, windows, and device memory.
#include "requests.h"

TWIN(reg_mr, "new MemoryRegion (buffer)")
{
	ibv_reg_mr(pd, memory, 64, IBV_ACCESS_REMOTE_READ);
}

TWIN(reg_mr_relaxed, "new MemoryRegion (relaxed)")
{
	ibv_reg_mr(pd, memory, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
}

TWIN(reg_mr_iova, "new MemoryRegion")
{
	ibv_reg_mr_iova(pd, memory, 4096, 0x1000, IBV_ACCESS_LOCAL_WRITE);
}

TWIN(reg_mr_elsewhere, "MemoryRegion.createAsync")
{
	ibv_reg_mr_iova2(pd, memory, 4096, 4096, IBV_ACCESS_LOCAL_WRITE);
}

TWIN(reg_mr_implicit_odp, "new ImplicitMemoryRegion")
{
	ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);
}

TWIN(reg_dmabuf_mr, "new DmaBufMemoryRegion")
{
	ibv_reg_dmabuf_mr(pd, 4096, 8192, 0x10000, 5, IBV_ACCESS_LOCAL_WRITE);
}

TWIN(alloc_null_mr, "new NullMemoryRegion")
{
	ibv_alloc_null_mr(pd);
}

TWIN(rereg_mr, "reregMr")
{
	int all = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;

	ibv_rereg_mr(mr, all, pd, memory, 4096, IBV_ACCESS_REMOTE_READ);
}

TWIN(advise_mr, "adviseMr")
{
	struct ibv_sge list[] = { sge(0, 1024), sge(2048, 512) };

	ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, list, 2);
}

TWIN(import_mr, "MemoryRegion.import")
{
	ibv_import_mr(pd, mr->handle);
}

TWIN(bind_mw, "QueuePair#bindMw")
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	// Static, so that its padding is zero.
	static struct ibv_mw_bind bind = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED };

	bind.bind_info = *bind_info();
	begin_request();
	ibv_bind_mw(rc, mw, &bind);
}

static struct ibv_dm *device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .log_align_req = 3 };

	return ibv_alloc_dm(context, &attr);
}

TWIN(alloc_dm, "new DeviceMemory")
{
	device_memory();
}

TWIN(memcpy_to_dm, "DeviceMemory#memcpyTo")
{
	struct ibv_dm *dm = device_memory();

	begin_request();
	ibv_memcpy_to_dm(dm, 4, memory, 8);
}

TWIN(memcpy_from_dm, "DeviceMemory#memcpyFrom")
{
	struct ibv_dm *dm = device_memory();
	unsigned char back[8];

	begin_request();
	ibv_memcpy_from_dm(back, dm, 4, sizeof back);
}

TWIN(reg_dm_mr, "new DeviceMemoryRegion")
{
	struct ibv_dm *dm = device_memory();

	begin_request();
	ibv_reg_dm_mr(pd, dm, 4, 8, IBV_ACCESS_ZERO_BASED);
}

static struct ibv_dmah *dma_handle(void)
{
	static struct ibv_dmah_init_attr attr = {
		.comp_mask = IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_PH | IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE,
		.cpu_id = 3,
		.ph = 2,
		.tph_mem_type = IBV_TPH_MEM_TYPE_PM,
	};

	return ibv_alloc_dmah(context, &attr);
}

TWIN(alloc_dmah, "new DmaHandle")
{
	dma_handle();
}

TWIN(alloc_buf, "new AllocatedBuffer")
{
	struct ibv_buf *buf;

	ibv_alloc_buf(pd, 4096, &buf);
}

TWIN(reg_buf_mr, "new AllocatedBufferRegion")
{
	struct ibv_buf *buf;
	char *addr = ibv_alloc_buf(pd, 4096, &buf);

	begin_request();
	ibv_reg_buf_mr(pd, buf, addr + 64, 128, IBV_ACCESS_LOCAL_WRITE);
}

TWIN(reg_mr_ex, "new MemoryRegionEx")
{
	static struct ibv_mr_init_attr attr = {
		.length = 64,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.comp_mask = IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
		.iova = 0x1000,
		.addr = memory,
	};

	attr.dmah = dma_handle();
	begin_request();
	ibv_reg_mr_ex(pd, &attr);
}

TWIN(reg_mr_ex_buf, "new MemoryRegionEx (buf)")
{
	struct ibv_buf *buf;
	static struct ibv_mr_init_attr attr = {
		.length = 128,
		.access = IBV_ACCESS_REMOTE_READ,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_BUF,
	};

	attr.addr = (char *)ibv_alloc_buf(pd, 4096, &buf) + 64;
	attr.buf = buf;
	begin_request();
	ibv_reg_mr_ex(pd, &attr);
}

TWIN(reg_mr_ex_fd, "new MemoryRegionEx (fd)")
{
	static struct ibv_mr_init_attr attr = {
		.length = 8192,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.comp_mask = IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET,
		.iova = 4096,
		.fd = 5,
		.fd_offset = 4096,
	};

	ibv_reg_mr_ex(pd, &attr);
}

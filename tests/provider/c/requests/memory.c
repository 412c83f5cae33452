// Memory regions, windows, and device memory.
#include "requests.h"

REQUEST(reg_mr)
{
	ibv_reg_mr(pd, memory, MEMORY, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
}

REQUEST(reg_mr_relaxed)
{
	ibv_reg_mr(pd, memory, MEMORY, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
}

REQUEST(reg_mr_iova)
{
	ibv_reg_mr_iova2(pd, memory, MEMORY, 0x1000, IBV_ACCESS_LOCAL_WRITE);
}

REQUEST(reg_mr_implicit_odp)
{
	ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
}

REQUEST(reg_dmabuf_mr)
{
	ibv_reg_dmabuf_mr(pd, 4096, 8192, 0x10000, 5, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

REQUEST(alloc_null_mr)
{
	ibv_alloc_null_mr(pd);
}

REQUEST(rereg_mr)
{
	struct ibv_pd *other = ibv_alloc_pd(context);

	begin_request();
	ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE);
	ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0);
}

REQUEST(advise_mr)
{
	struct ibv_sge list[] = { sge(0, 1024), sge(2048, 512) };

	ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, list, 2);
}

REQUEST(import_mr)
{
	ibv_unimport_mr(ibv_import_mr(pd, mr->handle));
}

REQUEST(bind_mw)
{
	struct ibv_qp *rc = qp(IBV_QPT_RC);
	// Static, so that its padding is zero.
	static struct ibv_mw_bind bind = {
		.wr_id = 7,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .length = 128, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};

	bind.bind_info.mr = mr;
	bind.bind_info.addr = (uintptr_t)mr->addr + 64;
	begin_request();
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	ibv_bind_mw(rc, mw, &bind);
	ibv_dealloc_mw(mw);
}

REQUEST(device_memory)
{
	struct ibv_alloc_dm_attr attr = { .length = 256, .log_align_req = 3 };

	struct ibv_dm *dm = ibv_alloc_dm(context, &attr);
	struct ibv_mr *region = ibv_reg_dm_mr(pd, dm, 16, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
	ibv_memcpy_to_dm(dm, 8, memory, 16);
	unsigned char back[4];
	ibv_memcpy_from_dm(back, dm, 12, sizeof back);
	ibv_dereg_mr(region);
	ibv_free_dm(dm);
}

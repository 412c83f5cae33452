// SPDX-License-Identifier: Dual MIT/GPL
// Registers the stub HCA with ib_core when the module is loaded, and removes it at unload.
#include <linux/module.h>
#include "efa.h"

struct stub_device *stub_hca;

bool stub_mlx4_rules;
module_param_named(mlx4_rules, stub_mlx4_rules, bool, 0644);
MODULE_PARM_DESC(mlx4_rules,
		 "Refuse what only mlx4 refuses: tables whose WQ numbers are not aligned and "
		 "consecutive, hash fields that are not source-destination pairs");

static const struct ib_device_ops operations = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_MLX4,
	.uverbs_abi_ver = MLX4_IB_UVERBS_ABI_VERSION,

	.query_device = stub_query_device,
	.query_port = stub_query_port,
	.query_gid = stub_query_gid,
	.query_pkey = stub_query_pkey,
	.get_link_layer = stub_link_layer,
	.get_port_immutable = stub_port_immutable,
	.get_dev_fw_str = stub_fw_str,

	.alloc_ucontext = stub_alloc_ucontext,
	.dealloc_ucontext = stub_dealloc_ucontext,
	.mmap = stub_mmap,
	.alloc_pd = stub_alloc_pd,
	.dealloc_pd = stub_dealloc_pd,

	.reg_user_mr = stub_reg_user_mr,
	.rereg_user_mr = stub_rereg_mr,
	.dereg_mr = stub_dereg_mr,
	.alloc_mw = stub_alloc_mw,
	.dealloc_mw = stub_dealloc_mw,

#ifdef STUB_USER_CQ
	.create_user_cq = stub_create_cq,
	.resize_user_cq = stub_resize_cq,
#else
	.create_cq = stub_create_cq,
	.resize_cq = stub_resize_cq,
#endif
	.modify_cq = stub_modify_cq,
	.destroy_cq = stub_destroy_cq,

	.create_srq = stub_create_srq,
	.modify_srq = stub_modify_srq,
	.query_srq = stub_query_srq,
	.destroy_srq = stub_destroy_srq,

	.alloc_xrcd = stub_open_xrcd,
	.dealloc_xrcd = stub_close_xrcd,

	.create_qp = stub_create_qp,
	.modify_qp = stub_modify_qp,
	.query_qp = stub_query_qp,
	.destroy_qp = stub_destroy_qp,
	.attach_mcast = stub_attach_mcast,
	.detach_mcast = stub_detach_mcast,
	.create_flow = stub_create_flow,
	.destroy_flow = stub_destroy_flow,

	.create_wq = stub_create_wq,
	.modify_wq = stub_modify_wq,
	.destroy_wq = stub_destroy_wq,
	.create_rwq_ind_table = stub_create_table,
	.destroy_rwq_ind_table = stub_destroy_table,

	INIT_RDMA_OBJ_SIZE(ib_ucontext, stub_context, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, stub_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, stub_mw, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, stub_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, stub_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, stub_xrcd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, stub_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_rwq_ind_table, stub_table, ib),
};

static void device_init(void)
{
	struct ib_device *ib = &stub_hca->ib;

	mutex_init(&stub_hca->lock);
	stub_numbers_init(&stub_hca->queues);
	stub_numbers_init(&stub_hca->cqs);
	stub_numbers_init(&stub_hca->srqs);
	stub_numbers_init(&stub_hca->mrs);
	stub_numbers_init(&stub_hca->mws);
	ida_init(&stub_hca->idents);
	INIT_DELAYED_WORK(&stub_hca->tick, stub_tick);

	ib->phys_port_cnt = STUB_PORTS;
	ib->num_comp_vectors = 2;
	ib->node_type = RDMA_NODE_IB_CA;
	ib->node_guid = cpu_to_be64(0x0200000000000001ULL);
	strscpy(ib->node_desc, "stub HCA", sizeof(ib->node_desc));
	stub_ports_init();
	ib_set_device_ops(ib, &operations);
}

static void report_leaks(void)
{
	int kind;

	for (kind = 0; kind < STUB_KINDS; kind++) {
		int left = atomic_read(&stub_hca->alive[kind]);

		if (left)
			pr_err("stub_hca: leaked %d %s\n", left, stub_kind_names[kind]);
	}
}

static void device_free(void)
{
	report_leaks();
	ida_destroy(&stub_hca->idents);
	ib_dealloc_device(&stub_hca->ib);
}

static int __init stub_start(void)
{
	int err;

	err = stub_clock_start();
	if (err)
		return err;
	stub_hca = ib_alloc_device(stub_device, ib);
	if (!stub_hca) {
		err = -ENOMEM;
		goto no_device;
	}
	device_init();
	err = ib_register_device(&stub_hca->ib, "stub%d", NULL);
	if (err)
		goto not_registered;
	stub_debugfs_start();
	return 0;

not_registered:
	device_free();
no_device:
	stub_clock_stop();
	return err;
}

static void __exit stub_stop(void)
{
	stub_debugfs_stop();
	efa_stop();
	ib_unregister_device(&stub_hca->ib);
	cancel_delayed_work_sync(&stub_hca->tick);
	device_free();
	stub_clock_stop();
	stub_record_clear();
	stub_fail_clear();
}

module_init(stub_start);
module_exit(stub_stop);
MODULE_DESCRIPTION("An RDMA device without hardware that libmlx4 drives, for tests");
MODULE_LICENSE("Dual MIT/GPL");

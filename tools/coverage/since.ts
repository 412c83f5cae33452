/** Since when verbs are in `verbs.h`, by the first release tag of rdma-core whose header names them. */

/** Releases and the names of the verbs that came with them. All others are older than rdma-core 14. */
const RELEASES: Readonly<Record<number, string>> = {
  14: "ibv_wc_read_cvlan ibv_wc_read_flow_tag",
  15: "ibv_wc_read_invalidated_rkey",
  16: "ibv_wc_read_tm_info ibv_modify_cq ibv_post_srq_ops",
  17: "ibv_wc_read_completion_wallclock_ns ibv_alloc_td ibv_dealloc_td ibv_alloc_parent_domain",
  18: `
    ibv_create_flow_action_esp ibv_modify_flow_action_esp ibv_destroy_flow_action ibv_alloc_dm
    ibv_free_dm ibv_memcpy_to_dm ibv_memcpy_from_dm ibv_reg_dm_mr ibv_modify_qp_rate_limit
  `,
  19: "ibv_create_counters ibv_destroy_counters ibv_attach_counters_point_flow ibv_read_counters",
  20: "ibv_get_pkey_index ibv_alloc_null_mr",
  22: "ibv_advise_mr",
  24: `
    ibv_qp_to_qp_ex ibv_wr_atomic_cmp_swp ibv_wr_atomic_fetch_add ibv_wr_bind_mw
    ibv_wr_local_inv ibv_wr_rdma_read ibv_wr_rdma_write ibv_wr_rdma_write_imm ibv_wr_send
    ibv_wr_send_imm ibv_wr_send_inv ibv_wr_send_tso ibv_wr_set_ud_addr ibv_wr_set_xrc_srqn
    ibv_wr_set_inline_data ibv_wr_set_inline_data_list ibv_wr_set_sge ibv_wr_set_sge_list
    ibv_wr_start ibv_wr_complete ibv_wr_abort
  `,
  25: "ibv_reg_mr_iova",
  28: "ibv_reg_mr_iova2",
  29: "ibv_flow_label_to_udp_sport",
  30: "ibv_get_device_index",
  31: `
    ibv_import_device ibv_import_pd ibv_unimport_pd ibv_import_mr ibv_unimport_mr ibv_set_ece
    ibv_query_ece
  `,
  32: "ibv_query_gid_ex ibv_query_gid_table",
  34: "ibv_reg_dmabuf_mr",
  35: "ibv_import_dm ibv_unimport_dm ibv_is_fork_initialized",
  36: "ibv_query_qp_data_in_order",
  44: "ibv_wr_atomic_write",
  45: "ibv_wr_flush",
  49: "ibv_wr_opcode_str",
  59: "ibv_reg_mr_ex ibv_alloc_dmah ibv_dealloc_dmah",
  62: "ibv_query_port_speed ibv_dm_export_dmabuf_fd",
  64: "ibv_alloc_buf ibv_free_buf ibv_reg_buf_mr",
  65: `
    ibv_query_comp_cntr_caps ibv_create_comp_cntr ibv_destroy_comp_cntr ibv_set_comp_cntr
    ibv_set_err_comp_cntr ibv_inc_comp_cntr ibv_inc_err_comp_cntr ibv_read_comp_cntr
    ibv_read_err_comp_cntr ibv_export_buf_dmabuf_fd ibv_qp_attach_comp_cntr
  `,
};

const releases: ReadonlyMap<string, number> = new Map(
  Object.entries(RELEASES).flatMap(([release, verbs]) =>
    verbs.trim().split(/\s+/).map((verb): [string, number] => [verb, Number(release)])
  ),
);

/** The release that a verb came with; undefined if it is older than rdma-core 14. */
export function since(verb: string): number | undefined {
  return releases.get(verb);
}

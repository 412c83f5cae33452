// What C reads in the bytes of struct ibv_device_attr_ex on standard input, for comparison: lines of NAME VALUE, decimal.
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>

#define SHOW(field) printf("%s %" PRIu64 "\n", #field, (uint64_t)attr->field)

static void show(const struct ibv_device_attr_ex *attr)
{
	SHOW(orig_attr.max_qp);
	SHOW(orig_attr.max_pkeys);
	SHOW(orig_attr.phys_port_cnt);
	SHOW(comp_mask);
	SHOW(odp_caps.general_caps);
	SHOW(odp_caps.per_transport_caps.rc_odp_caps);
	SHOW(odp_caps.per_transport_caps.uc_odp_caps);
	SHOW(odp_caps.per_transport_caps.ud_odp_caps);
	SHOW(completion_timestamp_mask);
	SHOW(hca_core_clock);
	SHOW(device_cap_flags_ex);
	SHOW(tso_caps.max_tso);
	SHOW(tso_caps.supported_qpts);
	SHOW(rss_caps.supported_qpts);
	SHOW(rss_caps.max_rwq_indirection_tables);
	SHOW(rss_caps.max_rwq_indirection_table_size);
	SHOW(rss_caps.rx_hash_fields_mask);
	SHOW(rss_caps.rx_hash_function);
	SHOW(max_wq_type_rq);
	SHOW(packet_pacing_caps.qp_rate_limit_min);
	SHOW(packet_pacing_caps.qp_rate_limit_max);
	SHOW(packet_pacing_caps.supported_qpts);
	SHOW(raw_packet_caps);
	SHOW(tm_caps.max_rndv_hdr_size);
	SHOW(tm_caps.max_num_tags);
	SHOW(tm_caps.flags);
	SHOW(tm_caps.max_ops);
	SHOW(tm_caps.max_sge);
	SHOW(cq_mod_caps.max_cq_count);
	SHOW(cq_mod_caps.max_cq_period);
	SHOW(max_dm_size);
	SHOW(pci_atomic_caps.fetch_add);
	SHOW(pci_atomic_caps.swap);
	SHOW(pci_atomic_caps.compare_swap);
	SHOW(xrc_odp_caps);
#ifdef HAS_PHYS_PORT_CNT_EX
	SHOW(phys_port_cnt_ex);
#endif
}

int main(void)
{
	struct ibv_device_attr_ex attr;

	if (fread(&attr, sizeof(attr), 1, stdin) != 1)
		return 1;
	show(&attr);
	return 0;
}

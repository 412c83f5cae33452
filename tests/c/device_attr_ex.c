// What C reads in struct ibv_device_attr_ex, for comparison: lines of NAME VALUE, decimal.
//
//   device_attr_ex DEVICE     what ibv_query_device_ex gives
//   device_attr_ex < BYTES    what the struct means when it has these bytes
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

static int query(const char *name, struct ibv_device_attr_ex *attr)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	for (int i = 0; devices && devices[i]; i++)
		if (strcmp(ibv_get_device_name(devices[i]), name) == 0)
			return ibv_query_device_ex(ibv_open_device(devices[i]), NULL, attr);
	return 1;
}

int main(int argc, char **argv)
{
	struct ibv_device_attr_ex attr;

	if (argc == 2 ? query(argv[1], &attr) : fread(&attr, sizeof(attr), 1, stdin) != 1) {
		fprintf(stderr, "cannot read the attributes\n");
		return 1;
	}
	show(&attr);
	return 0;
}

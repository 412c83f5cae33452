// A libefa for any device: its queues and queue pairs are those of the device, and senders have the GID 0102::. Headers of
// older releases lack most of what it declares, and so it declares that itself.

#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

struct efa_cq {
	uint64_t comp_mask;
	int (*wc_read_sgid)(struct efa_cq *cq, union ibv_gid *gid);
	int (*wc_is_unsolicited)(struct efa_cq *cq);
};

int efadv_query_device(struct ibv_context *context, void *attr, uint32_t size)
{
	memset(attr, 0, size);
	return 0;
}

int efadv_query_ah(struct ibv_ah *ah, void *attr, uint32_t size)
{
	struct {
		uint64_t comp_mask;
		uint16_t ahn;
	} *told = attr;

	memset(attr, 0, size);
	told->ahn = ah->handle;
	return 0;
}

int efadv_query_mr(struct ibv_mr *mr, void *attr, uint32_t size)
{
	memset(attr, 0, size);
	return 0;
}

static int read_sgid(struct efa_cq *cq, union ibv_gid *gid)
{
	memset(gid, 0, sizeof *gid);
	gid->raw[0] = 1;
	gid->raw[1] = 2;
	return 0;
}

struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
				  void *own, uint32_t size)
{
	return ibv_create_cq_ex(context, attr);
}

struct efa_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *cq)
{
	static struct efa_cq own = { .wc_read_sgid = read_sgid };

	return &own;
}

static _Thread_local uint8_t own_attr[64];

// The struct of its own that libefa got last for a queue pair.
void fake_own_attr(uint8_t *bytes)
{
	memcpy(bytes, own_attr, sizeof own_attr);
}

struct ibv_qp *efadv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				  void *own, uint32_t size)
{
	struct verbs_context *verbs = verbs_get_ctx_op(context, create_qp_ex);
	struct ibv_qp_init_attr_ex ud = *attr;

	if (!verbs) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	memset(own_attr, 0, sizeof own_attr);
	memcpy(own_attr, own, size < sizeof own_attr ? size : sizeof own_attr);
	ud.qp_type = IBV_QPT_UD;
	return verbs->create_qp_ex(context, &ud);
}

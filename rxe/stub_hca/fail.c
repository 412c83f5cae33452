// SPDX-License-Identifier: Dual MIT/GPL
// Makes calls fail. Each line is VERB ERRNO [COUNT [AFTER]], or "clear".
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <asm/syscall.h>
#include <asm/unistd.h>
#include "stub.h"

struct armed {
	struct list_head list;
	const char *verb;
	int err;
	u32 count;
	u32 after; /* calls that pass first */
};

static LIST_HEAD(all);
static DEFINE_MUTEX(all_lock);

static const char *const verbs[] = {
	"alloc_ucontext", "mmap", "query_device", "query_port", "query_pkey",
	"alloc_pd", "dealloc_pd",
	"reg_mr", "rereg_mr", "dereg_mr", "alloc_mw", "dealloc_mw",
	"create_cq", "modify_cq", "resize_cq", "destroy_cq",
	"create_srq", "modify_srq", "query_srq", "destroy_srq",
	"open_xrcd", "close_xrcd",
	"create_qp", "modify_qp", "query_qp", "destroy_qp", "attach_mcast",
	"create_flow", "destroy_flow",
	"create_wq", "modify_wq", "destroy_wq",
	"create_rwq_ind_table", "destroy_rwq_ind_table",
};

#define NAMED(number) { #number, number }
static const struct {
	const char *name;
	int number;
} errnos[] = {
	NAMED(EPERM), NAMED(ENOENT), NAMED(EINTR), NAMED(EIO), NAMED(ENXIO), NAMED(EAGAIN),
	NAMED(ENOMEM), NAMED(EACCES), NAMED(EFAULT), NAMED(EBUSY), NAMED(EEXIST),
	NAMED(ENODEV), NAMED(EINVAL), NAMED(ENFILE), NAMED(EMFILE), NAMED(ENOSPC),
	NAMED(ERANGE), NAMED(ENOSYS), NAMED(EOPNOTSUPP), NAMED(EPROTO), NAMED(ETIMEDOUT),
};

/*
 * The core destroys the objects of a process that ended, and warns of a broken driver if that
 * fails. It also queries attributes itself. Only the calls of a process may fail.
 */
static bool asked_by_process(const char *verb)
{
	int call;

	if (current->flags & (PF_EXITING | PF_KTHREAD))
		return false;
	call = syscall_get_nr(current, current_pt_regs());
	/* libibverbs reads P_Keys from sysfs */
	if (!strcmp(verb, "query_pkey"))
		return call == __NR_read || call == __NR_pread64;
	return call == __NR_ioctl || call == __NR_write || call == __NR_mmap;
}

static int take(struct armed *armed)
{
	int err = -armed->err;

	if (armed->after) {
		armed->after--;
		return 0;
	}
	if (--armed->count == 0) {
		list_del(&armed->list);
		kfree(armed);
	}
	return err;
}

int stub_fail(const char *verb)
{
	struct armed *armed;
	int err = 0;

	if (!asked_by_process(verb))
		return 0;
	mutex_lock(&all_lock);
	list_for_each_entry(armed, &all, list) {
		if (!strcmp(armed->verb, verb)) {
			err = take(armed);
			break;
		}
	}
	mutex_unlock(&all_lock);
	return err;
}

int stub_fail_on(const char *verb, const char *kind, u32 number)
{
	int err = stub_fail(verb);

	stub_record(verb, err, "'%s':%u", kind, number);
	return err;
}

void stub_fail_clear(void)
{
	struct armed *armed, *next;

	mutex_lock(&all_lock);
	list_for_each_entry_safe(armed, next, &all, list) {
		list_del(&armed->list);
		kfree(armed);
	}
	mutex_unlock(&all_lock);
}

static int errno_of(const char *name, int *number)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(errnos); i++) {
		if (!strcmp(errnos[i].name, name)) {
			*number = errnos[i].number;
			return 0;
		}
	}
	if (kstrtoint(name, 10, number) || *number < 1 || *number > MAX_ERRNO)
		return -EINVAL;
	return 0;
}

int stub_fail_line(char *line)
{
	struct armed *armed;
	char verb[32], name[16];
	u32 count = 1, after = 0;
	int number, known;

	if (!strcmp(line, "clear")) {
		stub_fail_clear();
		return 0;
	}
	if (sscanf(line, "%31s %15s %u %u", verb, name, &count, &after) < 2 || !count)
		return -EINVAL;
	known = match_string(verbs, ARRAY_SIZE(verbs), verb);
	if (known < 0 || errno_of(name, &number))
		return -EINVAL;
	armed = kmalloc(sizeof(*armed), GFP_KERNEL);
	if (!armed)
		return -ENOMEM;
	armed->verb = verbs[known];
	armed->err = number;
	armed->count = count;
	armed->after = after;
	mutex_lock(&all_lock);
	list_add_tail(&armed->list, &all);
	mutex_unlock(&all_lock);
	return 0;
}

int stub_fail_show(struct seq_file *out)
{
	struct armed *armed;

	mutex_lock(&all_lock);
	list_for_each_entry(armed, &all, list)
		seq_printf(out, "%s %d %u %u\n", armed->verb, armed->err, armed->count,
			   armed->after);
	mutex_unlock(&all_lock);
	return 0;
}

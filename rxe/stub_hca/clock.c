// SPDX-License-Identifier: Dual MIT/GPL
// The device's clock. It stands still until a test sets it. User space maps the page it is on.
#include <linux/mm.h>
#include "stub.h"

static struct page *page;

static __be64 *counter(void)
{
	return page_address(page) + STUB_CLOCK_OFFSET;
}

int stub_clock_start(void)
{
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	return page ? 0 : -ENOMEM;
}

void stub_clock_stop(void)
{
	__free_page(page);
}

u64 stub_clock_now(void)
{
	return be64_to_cpu(READ_ONCE(*counter()));
}

int stub_clock_map(struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	stub_vm_flags_clear(vma, VM_MAYWRITE);
	return vm_insert_page(vma, vma->vm_start, page);
}

int stub_clock_show(struct seq_file *out)
{
	seq_printf(out, "%llu\n", stub_clock_now());
	return 0;
}

int stub_clock_line(char *line)
{
	u64 cycles;

	if (kstrtou64(line, 0, &cycles))
		return -EINVAL;
	/* one store: user space reads the halves separately, and again if the upper one changed */
	WRITE_ONCE(*counter(), cpu_to_be64(cycles));
	return 0;
}

// SPDX-License-Identifier: Dual MIT/GPL
// The files under /sys/kernel/debug/stub_hca that tests read and write.
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "efa.h"

#define MAX_WRITE (4 << 20)

static struct dentry *directory;

/* Stops at the first line that fails. The lines before it have taken effect. */
static int each_line(char *text, int (*line)(char *line))
{
	char *next;
	int err = 0;

	while (!err && (next = strsep(&text, "\n"))) {
		next = strim(next);
		if (*next)
			err = line(next);
	}
	return err;
}

static int stats_show(struct seq_file *out)
{
	int i;

	seq_puts(out, "{");
	for (i = 0; i < STUB_KINDS; i++)
		seq_printf(out, "\"%s\":%d,", stub_kind_names[i],
			   atomic_read(&stub_hca->alive[i]));
	for (i = 0; i < STUB_OUTCOMES; i++)
		seq_printf(out, "%s\"%s\":%llu", i ? "," : "", stub_outcome_names[i],
			   (u64)atomic64_read(&stub_outcome_counts[i]));
	seq_puts(out, "}\n");
	return 0;
}

static const struct stub_file files[] = {
	{ "record", stub_record_show, stub_record_line },
	{ "fail", stub_fail_show, stub_fail_line },
	{ "stats", stats_show, NULL },
	{ "grh_required", stub_grh_show, stub_grh_line },
	{ "clock", stub_clock_show, stub_clock_line },
	{ "event", NULL, stub_event_line },
	{ "packet", NULL, stub_packet_line },
	{ "datagram", NULL, stub_datagram_line },
	{ "xrc", NULL, stub_xrc_line },
	{ "efa", efa_show, efa_line },
};

static int show(struct seq_file *out, void *unused)
{
	const struct stub_file *file = out->private;

	return file->show ? file->show(out) : 0;
}

static int open(struct inode *inode, struct file *file)
{
	return single_open(file, show, inode->i_private);
}

static ssize_t write(struct file *opened, const char __user *from, size_t size, loff_t *offset)
{
	const struct stub_file *file = ((struct seq_file *)opened->private_data)->private;
	char *text;
	int err;

	/* the mode of a file does not stop root */
	if (!file->line)
		return -EACCES;
	if (size > MAX_WRITE)
		return -EFBIG;
	text = kvmalloc(size + 1, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	text[size] = '\0';
	err = copy_from_user(text, from, size) ? -EFAULT : each_line(text, file->line);
	kvfree(text);
	return err ?: size;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open,
	.read = seq_read,
	.write = write,
	.llseek = seq_lseek,
	.release = single_release,
};

void stub_debugfs_start(void)
{
	int i;

	directory = debugfs_create_dir("stub_hca", NULL);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		debugfs_create_file(files[i].name, files[i].line ? 0600 : 0400, directory,
				    (void *)&files[i], &operations);
}

void stub_debugfs_stop(void)
{
	debugfs_remove_recursive(directory);
}

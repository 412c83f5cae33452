// SPDX-License-Identifier: Dual MIT/GPL
// The record of calls: a JSON object a line, oldest first.
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "stub.h"

#define LIMIT (4 << 20) /* bytes: beyond it the oldest lines go, which a gap in seq shows */

struct line {
	struct list_head list;
	size_t size;
	char *text;
};

static LIST_HEAD(lines);
static DEFINE_MUTEX(lines_lock);
static size_t lines_size;
static u64 sequence;

static void drop(struct line *line)
{
	list_del(&line->list);
	lines_size -= line->size;
	kfree(line->text);
	kfree(line);
}

static void append(struct line *line)
{
	line->size = sizeof(*line) + strlen(line->text);
	list_add_tail(&line->list, &lines);
	lines_size += line->size;
	while (lines_size > LIMIT)
		drop(list_first_entry(&lines, struct line, list));
}

void stub_record(const char *verb, int err, const char *format, ...)
{
	struct line *line = kzalloc(sizeof(*line), GFP_KERNEL);
	struct va_format fields;
	va_list args;

	if (!line)
		return;
	va_start(args, format);
	fields.fmt = format;
	fields.va = &args;
	mutex_lock(&lines_lock);
	line->text = kasprintf(GFP_KERNEL, "{'seq':%llu,'pid':%d,'verb':'%s','ret':%d,%pV}",
			       sequence++, current->tgid, verb, err, &fields);
	if (line->text) {
		strreplace(line->text, '\'', '"');
		append(line);
	} else {
		kfree(line);
	}
	mutex_unlock(&lines_lock);
	va_end(args);
}

int stub_record_show(struct seq_file *out)
{
	struct line *line;

	mutex_lock(&lines_lock);
	list_for_each_entry(line, &lines, list) {
		seq_puts(out, line->text);
		seq_putc(out, '\n');
	}
	mutex_unlock(&lines_lock);
	return 0;
}

void stub_record_clear(void)
{
	struct line *line, *next;

	mutex_lock(&lines_lock);
	list_for_each_entry_safe(line, next, &lines, list)
		drop(line);
	mutex_unlock(&lines_lock);
}

int stub_record_line(char *line)
{
	stub_record_clear();
	return 0;
}

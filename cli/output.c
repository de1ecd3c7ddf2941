#include "cli/output.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/json_text.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"
#include "core/data/watermark.h"

struct output_table {
	struct libscols_table *table;
	size_t n;
};

/* errno of the first write that failed. */
static int output_errno;

static void output_note(bool written)
{
	if (!written && !output_errno)
		output_errno = errno ? errno : EIO;
}

bool output_is_terminal(void)
{
	return isatty(STDOUT_FILENO);
}

void output_text(const char *text)
{
	errno = 0;
	output_note(fputs(text, stdout) >= 0);
}

void output_bytes(const char *bytes, size_t n)
{
	errno = 0;
	output_note(fwrite(bytes, 1, n, stdout) == n && fflush(stdout) == 0);
}

bool output_is_broken(void)
{
	return output_errno == EPIPE;
}

void output_line(const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	utf8_add_flat(&line, text.data);
	strbuf_addch(&line, '\n');
	output_text(line.data);
	errno = 0;
	output_note(fflush(stdout) == 0);
	strbuf_release(&line);
	strbuf_release(&text);
}

void output_json(json_t *json, bool one_line)
{
	/* 15 digits: what a double holds of any decimal, and no noise. */
	size_t flags = JSON_COMPACT;
	char *text;

	if (!one_line && output_is_terminal())
		flags = JSON_INDENT(2);
	text = json_text_dump(json, flags | JSON_ENCODE_ANY |
					    JSON_REAL_PRECISION(15));
	output_text(text ? text : "null");
	output_text("\n");
	errno = 0;
	output_note(fflush(stdout) == 0);
	free(text);
	json_decref(json);
}

bool output_has_failed(void)
{
	return output_errno != 0;
}

int output_finish(struct error *err)
{
	int reason;

	errno = 0;
	output_note(fflush(stdout) == 0 && !ferror(stdout));
	reason = output_errno;
	output_errno = 0;
	clearerr(stdout);
	if (!reason)
		return 0;
	return error_set(err, ERROR_BUG, "cannot write to standard output: %s",
			 strerror(reason));
}

struct output_table *output_table_new(const struct output_column *columns,
				      size_t n)
{
	struct output_table *t = xcalloc(1, sizeof(*t));

	t->n = n;
	t->table = scols_new_table();
	scols_table_set_stream(t->table, stdout);
	/* No cell is cut or folded to the terminal's width: a mark or an error
	 * must be whole to be copied. */
	scols_table_set_termforce(t->table, SCOLS_TERMFORCE_NEVER);
	for (size_t i = 0; i < n; i++) {
		int flags = columns[i].number ? SCOLS_FL_RIGHT : 0;

		/* Only the last column may run over: it holds the long texts.
		 */
		if (i + 1 == n && !columns[i].number)
			flags |= SCOLS_FL_WRAP;
		scols_table_new_column(t->table, columns[i].title, 0, flags);
	}
	return t;
}

void output_table_row(struct output_table *t, const char *const *cells)
{
	struct libscols_line *line = scols_table_new_line(t->table, NULL);

	for (size_t i = 0; line && i < t->n; i++) {
		struct strbuf cell = STRBUF_INIT;

		utf8_add_flat(&cell, cells[i] ? cells[i] : "-");
		scols_line_set_data(line, i, cell.data);
		strbuf_release(&cell);
	}
}

void output_table_print(struct output_table *t)
{
	errno = 0;
	output_note(scols_print_table(t->table) == 0);
	errno = 0;
	output_note(fflush(stdout) == 0);
}

void output_table_free(struct output_table *t)
{
	if (!t)
		return;
	scols_unref_table(t->table);
	free(t);
}

char *output_watermark(const char *watermark_json)
{
	struct watermark mark;
	struct error ignored = ERROR_INIT;
	char *text;

	if (!watermark_json)
		return xstrdup("-");
	watermark_init(&mark);
	if (watermark_from_text(&mark, watermark_json, &ignored))
		text = xstrdup(watermark_json);
	else
		text = xstrdup(mark.value ? mark.value : "-");
	watermark_release(&mark);
	return text;
}

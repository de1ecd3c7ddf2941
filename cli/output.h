/*
 * Output to stdout: results, as tables, plain lines or JSON. A write that fails
 * (a closed pipe, a full disk) is remembered and reported by output_finish().
 * So no caller needs to look at each print. Texts from servers lose their
 * control characters here (core/base/utf8.h), JSON keeps them as escapes. Logs
 * and progress are not printed here.
 */
#ifndef TIDEMARK_CLI_OUTPUT_H
#define TIDEMARK_CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

bool output_is_terminal(void);

/* Text as it is. */
void output_text(const char *text);
void output_bytes(const char *bytes, size_t n);
/* One line; control characters within become spaces. */
void output_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Steals `json`. Keys stay in the order in which they were set. Indented for
 * a terminal unless `one_line`; always ends its line and is flushed. */
void output_json(json_t *json, bool one_line);

bool output_has_failed(void);
/* Whoever reads the pipe has closed it. */
bool output_is_broken(void);
/* Flush; an error (exit 1) if anything could not be written. Says so once. */
int output_finish(struct error *err);

struct output_column {
	const char *title;
	bool number; /* aligned to the right */
};

struct output_table;

struct output_table *output_table_new(const struct output_column *columns,
				      size_t n);
/* `cells` of as many texts as there are columns; NULL is "-". */
void output_table_row(struct output_table *t, const char *const *cells);
void output_table_print(struct output_table *t);
void output_table_free(struct output_table *t);

/* A mark for tables and lines: its value, "-" if there is none. Caller
 * frees. */
char *output_watermark(const char *watermark_json);

#endif

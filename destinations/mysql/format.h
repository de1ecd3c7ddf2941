/*
 * The values of a batch as text, for LOAD DATA, and for the "?" of an INSERT.
 * Used by stage.c; knows neither tables nor connections.
 */
#ifndef TIDEMARK_DESTINATIONS_MYSQL_FORMAT_H
#define TIDEMARK_DESTINATIONS_MYSQL_FORMAT_H

#include "core/base/error.h"
#include "core/base/strbuf.h"
#include "core/data/batch.h"
#include "destinations/mysql/types.h"

/* Behind LOAD DATA ... INTO TABLE t: how mysql_target_format_row writes. */
#define MYSQL_TARGET_FORMAT_SQL                                                \
	"CHARACTER SET binary FIELDS TERMINATED BY 0x09 ESCAPED BY 0x5C "      \
	"LINES TERMINATED BY 0x0A"

/* Append a present value. DATA error, which names neither column nor row, for
 * what no column of that form holds. */
int mysql_target_format_value(struct strbuf *out, enum mysql_target_form form,
			      const struct vector *v, size_t row,
			      struct error *err);
/* Append a row as a line, NULL as \N. On error `column` is the one. */
int mysql_target_format_row(struct strbuf *out,
			    const enum mysql_target_form *forms,
			    const struct batch *b, size_t row, size_t *column,
			    struct error *err);
/* A mark as the source writes it, as SQL; NULL if there is none that compares.
 */
void mysql_target_format_mark(struct strbuf *sb, enum type_kind kind,
			      const char *text);

#endif

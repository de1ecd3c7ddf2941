/*
 * One batch of the DuckDB destination on its way: which of its rows the target
 * has already (match.c), and what becomes of them (load.c). Nobody else
 * includes this.
 */
#ifndef TIDEMARK_DESTINATIONS_DUCKDB_LOAD_H
#define TIDEMARK_DESTINATIONS_DUCKDB_LOAD_H

#include "destinations/common/names.h"
#include "destinations/duckdb/internal.h"

/* Temporary: they go with the connection, and with the transaction. */
#define STAGE_KEYS    NAME_STAGE_PREFIX "keys"
#define STAGE_ROWS    NAME_STAGE_PREFIX "rows"
#define STAGE_CHANGED NAME_STAGE_PREFIX "changed"
#define STAGE_ROW     "_tidemark_row"
#define STAGE_MATCHED "_tidemark_matched"

/* In `matched`, where a row of the target would be. */
#define MATCHED_NONE   (-1)
#define MATCHED_REPEAT (-2) /* a later row of the batch has the same key */

struct load {
	struct duckdb_target_destination *d;
	const struct batch *b;
	const struct schema *s;
	const struct checkpoint *next;
	struct load_counts *counts;
	size_t n_new, n_matched, n_repeats;
};

/* Run it; releases `sql`. */
int duckdb_target_load_exec(const struct load *l, struct strbuf *sql,
			    int64_t *rows, struct error *err);
/* DATA naming the row's key. */
int duckdb_target_load_refuse_row(const struct load *l, size_t row,
				  const char *what, struct error *err);
/* Into a temporary table: the generated column `first`, then `columns` of the
 * batch (NULL: all). */
int duckdb_target_load_stage(const struct load *l, const char *table,
			     struct duckdb_target_field first,
			     const size_t *columns, size_t n_columns,
			     const uint32_t *rows, size_t n_rows,
			     struct error *err);
/* STAGE_KEYS: the keys of `rows` (NULL: of all). */
int duckdb_target_match_stage_keys(const struct load *l, const uint32_t *rows,
				   size_t n_rows, struct error *err);
/* For each row of the result, the first column is a row of the batch. The
 * second, if there is one, is the value for `matched`. */
int duckdb_target_match_note(const struct load *l, const char *sql,
			     bool has_value, int64_t value, struct error *err);
/* Fill d->matched, and count. */
int duckdb_target_match_classify(struct load *l, struct error *err);
/* Rows of the batch that are new (or not), as a list in d->rows. */
size_t duckdb_target_match_list(const struct load *l, bool is_new);

#endif

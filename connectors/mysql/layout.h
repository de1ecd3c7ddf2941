/*
 * How a pipeline's rows are read from a table: each column's SQL, type and
 * place, the key, the mark. Built by describe, kept by the connector for the
 * settle and scan that follow.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_LAYOUT_H
#define TIDEMARK_CONNECTORS_MYSQL_LAYOUT_H

#include <jansson.h>

#include "connectors/mysql/types.h"
#include "core/plugin/connector.h"

struct mysrc_column {
	char *name;
	char *expression; /* the user's, or NULL */
	char *sql; /* `table`.`name` or the expression in parentheses */
	char *output; /* what is selected for it */
	const struct mysrc_type *how;
	struct type type; /* native owned */
	bool nullable;
};

struct mysrc_table {
	char *schema, *name;
	char *sql, *alias; /* `schema`.`name`, `name` */
	char *engine; /* "InnoDB"; NULL: a view */
	char *created; /* or NULL */
	bool partitioned, found;
	int64_t rows, bytes; /* -1: unknown */
};

struct mysrc_index {
	char *name;
	bool primary, unique;
	bool sorted; /* ascending, and the optimizer may use it */
	json_t *columns; /* names in order, null for an expression or prefix */
};

struct mysrc_layout {
	struct mysrc_table table;
	struct mysrc_index *indexes;
	size_t n_indexes;
	struct mysrc_column *all; /* the table's own, then expressions */
	size_t n_all;
	struct mysrc_column **columns; /* visible ones, then a hidden mark */
	size_t n_columns; /* visible */
	size_t *key;
	size_t n_key;
	bool key_unique; /* an index vouches for it */
	long mark; /* among `columns`, may be n_columns (hidden); -1 */
	size_t *order; /* of a pass: the mark, then the key */
	size_t n_order;
	enum mydb_form *forms; /* of what is selected */
	char *where; /* the user's, or NULL */
	char *hint; /* for pages: " FORCE INDEX (...)"; NULL: none serves */
};

/* `mark` may be NULL. SCHEMA: no such table or column, no usable key; CONFIG:
 * the user's SQL fails, the strategy cannot serve this table. */
int mysrc_layout_read(struct mydb *db, const struct source_spec *source,
		      const struct watermark_spec *mark,
		      struct mysrc_layout *out, struct error *err);
void mysrc_layout_release(struct mysrc_layout *l);
void mysrc_layout_to_schema(const struct mysrc_layout *l, const char *table,
			    struct schema *out);
const struct mysrc_column *mysrc_mark(const struct mysrc_layout *l);

/* table.c */
int mysrc_table_find(struct mydb *db, const char *table,
		     struct mysrc_table *out, struct error *err);
/* The catalog shows only what the user may use. ACCESS error if the user may
 * not read the columns (SQL); 0 also if there is no such table or column. */
int mysrc_probe(struct mydb *db, const struct mysrc_table *t,
		const char *columns, struct error *err);
void mysrc_table_release(struct mysrc_table *t);
int mysrc_indexes_find(struct mydb *db, struct mysrc_layout *l,
		       struct error *err);
/* columns.c: fills `all`. */
int mysrc_columns_read(struct mydb *db, const struct source_spec *source,
		       struct mysrc_layout *l, struct error *err);
void mysrc_column_release(struct mysrc_column *c);

#endif

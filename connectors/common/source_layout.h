/*
 * How a pipeline's rows are read from a table: each column's SQL, type and
 * place, the key, the mark. An engine fills in its catalog's facts. The
 * pipeline's choices are applied here, in the same way for every engine.
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_SOURCE_LAYOUT_H
#define TIDEMARK_CONNECTORS_COMMON_SOURCE_LAYOUT_H

#include "core/base/strbuf.h"
#include "core/plugin/connector.h"

struct source_column {
	char *name;
	char *expression; /* the user's, or NULL */
	char *sql; /* "table"."name", or the expression in parentheses */
	char *output; /* the SQL that is selected for it */
	/* The expression by which the database fills it, or NULL: see
	 * tick.h. */
	char *computed;
	struct type type; /* native owned */
	bool nullable;
	bool ordered; /* its values have one exact order: fit for a key */
	const void *how; /* the engine's own */
	/* A page's spelling of its type, where the catalog's differs; NULL:
	 * they are the same. Owned. */
	char *spelled;
	/* Where a server has them; else NULL or 0. Strings are owned. */
	char *cast; /* the type that a parameter's text is cast to */
	char *labels; /* an enum's, in their order */
	int64_t number; /* as in struct column; an expression has none */
};

struct source_table {
	char *schema, *name;
	char *sql, *alias; /* "schema"."name", "name" */
	bool view;
	int64_t rows, bytes; /* -1: unknown */
	/* Where a server has several kinds of tables: */
	char *engine; /* the storage engine; NULL: not known */
	char *created; /* as the server writes it, or NULL */
	char *definition; /* a view's query, where it is read; or NULL */
	bool partitioned;
};

struct source_index {
	char *name; /* or NULL */
	bool primary, unique;
	bool sorted; /* ascending, and may be named in a hint */
	/* In order, "" for an expression or the beginning of a column. A
	 * partial index (WHERE) has none: it says nothing of the other rows. */
	struct strlist columns;
};

struct source_layout {
	struct source_table table;
	struct source_index *indexes;
	size_t n_indexes;
	struct source_column *all; /* the table's own, then expressions */
	size_t n_all;
	struct source_column **columns; /* visible ones, then a hidden mark */
	size_t n_columns; /* visible */
	size_t *key;
	size_t n_key;
	bool key_unique; /* an index vouches for it */
	long mark; /* among `columns`, may be n_columns (hidden); -1 */
	size_t *order; /* in a pass: the mark, then the key */
	size_t n_order;
	char *where; /* the user's, or NULL */
	void *own; /* the engine's block of facts; freed with free() */
};

/* The differences between engines. */
struct source_rules {
	const char *engine; /* registry name */
	const char *title; /* for messages: "SQLite" */
	const char *time_types; /* types that strategy timestamp takes */
	const char *number_types; /* and sequence */
	bool (*mark_fits)(const struct source_column *c,
			  enum strategy strategy);
};

/* Choose columns, key and mark of a layout whose table, indexes and `all` are
 * filled. `mark` may be NULL. SCHEMA: no such column, or no usable key. CONFIG:
 * the strategy cannot serve this table. */
int source_layout_choose(struct source_layout *l,
			 const struct source_rules *rules,
			 const struct source_spec *source,
			 const struct watermark_spec *mark, struct error *err);
void source_layout_release(struct source_layout *l);
void source_table_release(struct source_table *t);
void source_layout_to_schema(const struct source_layout *l,
			     const struct source_rules *rules,
			     const char *table, struct schema *out);
/* Fill name and SQL of a column that stands for the user's expression. */
void source_column_express(struct source_column *c,
			   const struct source_expression *e);
/* A column of that name, before or after the choice; or NULL. */
struct source_column *source_column_find(const struct source_layout *l,
					 const char *name, bool expression);
/* NULL: none. */
const struct source_column *source_mark(const struct source_layout *l);
/* Columns that a pass reads: the visible ones, and a hidden mark. */
size_t source_layout_width(const struct source_layout *l);
bool source_index_begins_with(const struct source_layout *l,
			      const char *column);
/* Append the names of the total order's columns: "a", "b". */
void source_layout_write_order(struct strbuf *sb, const struct source_layout *l,
			       char quote);
/* The kinds of every engine's marks: dates and timestamps, or whole numbers. */
bool source_mark_fits(const struct source_column *c, enum strategy strategy);

#endif

/*
 * The SQL of a pass: pages by (mark, key) and ranges of blocks. Assembles
 * statements and their parameters; runs nothing.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_QUERY_H
#define TIDEMARK_CONNECTORS_POSTGRES_QUERY_H

#include "connectors/postgres/layout.h"
#include "core/base/strbuf.h"
#include "core/base/strlist.h"

#define QUERY_MAX_PARAMETERS 128

/* How the statement reads its values: as parameters of pg_query, or as
 * pg_stream_begin's. */
enum query_values {
	QUERY_PARAMETERS,
	QUERY_STREAM,
};

/* A statement under construction. Value texts are owned. */
struct query {
	struct strbuf sql;
	enum query_values values;
	char *params[QUERY_MAX_PARAMETERS];
	int n;
};

void postgres_source_query_init(struct query *q, enum query_values values);
void postgres_source_query_release(struct query *q);

/* Append "$3::pg_catalog.int8", or a setting's value in its place, for a value
 * (copied). */
void postgres_source_query_value(struct query *q, const char *cast,
				 const char *value);

/* Take over the parameters of a part that comes first in the statement; `q`
 * has none yet. The part's text is the caller's to place. */
void postgres_source_query_adopt(struct query *q, struct query *part);

/* "SELECT <columns>, <extra> FROM [ONLY] <table> AS <alias> WHERE <user's>
 * AND "; a condition must follow. `leaf` NULL: the table itself. */
void postgres_source_query_select(struct query *q,
				  const struct source_layout *l,
				  const char *leaf, const char *extra);
/* The same for other things than rows: `what` is what to select. */
void postgres_source_query_count(struct query *q, const struct source_layout *l,
				 const char *what);

/* The total order's columns from number `first` (0: the mark; 1: the key
 * alone): "(a, b) > ($1, $2)" and "ORDER BY a, b". `values` from `first`. */
void postgres_source_query_compare(struct query *q,
				   const struct source_layout *l, size_t first,
				   const char *comparison,
				   const struct strlist *values);
/* Append the column as it is compared: texts by bytes. */
void postgres_source_query_ordered(struct query *q,
				   const struct source_column *c);
void postgres_source_query_order(struct query *q, const struct source_layout *l,
				 size_t first);

#endif

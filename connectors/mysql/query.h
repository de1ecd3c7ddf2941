/*
 * The SQL of a pass: pages by (mark, key). Assembles statements and their
 * parameters; runs nothing.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_QUERY_H
#define TIDEMARK_CONNECTORS_MYSQL_QUERY_H

#include "connectors/mysql/layout.h"
#include "core/base/strbuf.h"

/* In front of what our reading sessions run: settle() leaves them out. */
#define MYSRC_TAG "/* tidemark source */"
/* A position of 33 values may stand in a statement four times, each value as
 * often as it is compared. */
#define MYSRC_MAX_PARAMETERS 400

/* A statement under construction. Value texts are owned. */
struct mysrc_query {
	struct strbuf sql;
	char *params[MYSRC_MAX_PARAMETERS];
	int n;
};

void mysrc_query_init(struct mysrc_query *q);
void mysrc_query_release(struct mysrc_query *q);
/* Append a value (copied) that is compared with the column. */
void mysrc_query_value(struct mysrc_query *q, const struct mysrc_layout *l,
		       const struct mysrc_column *c, const char *value);
/* "SELECT <columns> FROM <table> WHERE <user's> AND "; a condition must
 * follow. `what` NULL: the rows' columns. */
void mysrc_query_select(struct mysrc_query *q, const struct mysrc_layout *l,
			const char *what);
/* "column > ?" */
void mysrc_query_compare(struct mysrc_query *q, const struct mysrc_layout *l,
			 const struct mysrc_column *c, const char *comparison,
			 const char *value);
/* "mark > ?" */
void mysrc_query_mark(struct mysrc_query *q, const struct mysrc_layout *l,
		      const char *comparison, const char *value);
/* The total order's columns from number `first` (0: the mark; 1: the key
 * alone) beyond (`above`), or up to and including, the position `values`; in
 * the expanded form whose first part the optimizer takes for a range. */
void mysrc_query_beyond(struct mysrc_query *q, const struct mysrc_layout *l,
			size_t first, bool above, char *const *values);
void mysrc_query_order(struct mysrc_query *q, const struct mysrc_layout *l,
		       size_t first);
/* By the bytes of its text, where its collation is no total order. */
bool mysrc_ordered_by_bytes(const struct mysrc_layout *l,
			    const struct mysrc_column *c);
/* How a column is compared: "`t`.`id`", or by its bytes. */
void mysrc_query_ordered(struct strbuf *sb, const struct mysrc_layout *l,
			 const struct mysrc_column *c);

#endif

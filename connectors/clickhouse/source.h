/*
 * The ClickHouse connector's own state, shared by its files. clickhouse.c holds
 * the ops table; pages, steps and marks are those of connectors/common/paged.h.
 * Values stand in the statements as literals, because each parameter of the
 * server needs a type of its own.
 */
#ifndef TIDEMARK_CONNECTORS_CLICKHOUSE_SOURCE_H
#define TIDEMARK_CONNECTORS_CLICKHOUSE_SOURCE_H

#include "clients/clickhouse.h"
#include "connectors/clickhouse/types.h"
#include "connectors/common/paged.h"

struct clickhouse_source {
	struct paged_source paged; /* first: it is the connector */
	struct clickhouse *db;
	bool reading; /* a page is open */
	struct clickhouse_source_cell *cells; /* for the page's columns */
	struct strbuf text; /* the value at hand */
};

extern const struct connector_ops clickhouse_connector;
extern const struct paged_dialect clickhouse_source_dialect;

/* catalog.c */
int clickhouse_source_look(struct paged_source *base,
			   const struct source_spec *source,
			   const struct watermark_spec *mark,
			   struct source_layout *out, struct error *err);
int clickhouse_source_tables(struct connector *base, struct table_list *out,
			     struct error *err);
int clickhouse_source_grants(const struct connection *conn,
			     const struct source_spec *source,
			     const struct watermark_spec *mark,
			     const struct pressure_question *asked,
			     struct grants *out, struct error *err);
int clickhouse_source_identity(struct connector *base,
			       const struct source_spec *source, json_t **out,
			       struct error *err);
/* pages.c: of the dialect. */
int clickhouse_source_query(struct paged_source *base,
			    const struct paged_query *q,
			    struct paged_answer *out, struct error *err);
int clickhouse_source_explain(struct paged_source *base,
			      const struct paged_query *q, char **plan,
			      char **index, struct error *err);
int clickhouse_source_page_open(struct paged_source *base,
				const struct paged_query *q, struct error *err);
int clickhouse_source_page_read(struct paged_source *base, struct batch *b,
				struct error *err);
void clickhouse_source_page_close(struct paged_source *base);
char *clickhouse_source_page_type(struct paged_source *base, size_t column);

/* decode.c: the next value of the row at hand, at `row` of `v`. */
int clickhouse_source_decode(struct clickhouse_source *s, struct vector *v,
			     size_t row,
			     const struct clickhouse_source_cell *cell,
			     struct error *err);

#endif

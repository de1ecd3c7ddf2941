/*
 * The BigQuery connector's own state, shared by its files. bigquery.c holds the
 * ops table; pages, steps and marks are those of connectors/common/paged.h.
 *
 * Each page is a query job of its own. A query costs by the bytes of the
 * columns that it reads, however few its rows are, so pages are larger than
 * batches. The rows come in answers of a few MiB.
 */
#ifndef TIDEMARK_CONNECTORS_BIGQUERY_SOURCE_H
#define TIDEMARK_CONNECTORS_BIGQUERY_SOURCE_H

#include "clients/bigquery.h"
#include "connectors/bigquery/types.h"
#include "connectors/common/paged.h"

struct bigquery_source {
	struct paged_source paged; /* first: it is the connector */
	struct bigquery *client;
	struct bigquery_rows *page;
	char *created; /* the table's: µs of its making, as text */
	char *question; /* pace.probe: seen to do nothing but read */
};

extern const struct connector_ops bigquery_connector;
extern const struct paged_dialect bigquery_source_dialect;

/* catalog.c */
int bigquery_source_look(struct paged_source *base,
			 const struct source_spec *source,
			 const struct watermark_spec *mark,
			 struct source_layout *out, struct error *err);
int bigquery_source_tables(struct connector *base, struct table_list *out,
			   struct error *err);
int bigquery_source_identity(struct connector *base,
			     const struct source_spec *source, json_t **out,
			     struct error *err);

/* pages.c: of the dialect. */
int bigquery_source_query(struct paged_source *base,
			  const struct paged_query *q, struct paged_answer *out,
			  struct error *err);
int bigquery_source_explain(struct paged_source *base,
			    const struct paged_query *q, char **plan,
			    char **index, struct error *err);
int bigquery_source_page_open(struct paged_source *base,
			      const struct paged_query *q, struct error *err);
int bigquery_source_page_read(struct paged_source *base, struct batch *b,
			      struct error *err);
void bigquery_source_page_close(struct paged_source *base);
char *bigquery_source_page_type(struct paged_source *base, size_t column);

#endif

/*
 * The DuckDB connector's own state, shared by its files. duckdb.c holds the ops
 * table; pages, steps and marks are those of connectors/common/paged.h.
 *
 * The file is open, read-only, from the beginning of each call to its end, and
 * from scan to the end of the pass. In between it may be closed if a
 * destination of this process wants to write it. Rows come from one read-only
 * transaction a pass. DuckDB has no use for an index here. A page is a sorted
 * part of one scan, so pages are larger than batches.
 */
#ifndef TIDEMARK_CONNECTORS_DUCKDB_SOURCE_H
#define TIDEMARK_CONNECTORS_DUCKDB_SOURCE_H

#include "clients/duckdb.h"
#include "connectors/common/paged.h"
#include "connectors/duckdb/types.h"

struct duckdb_source {
	struct paged_source paged; /* first: it is the connector */
	struct duck *db;
	bool awake; /* in a transaction */
	char *path, *memory_limit, *threads, *external_access;
	struct duck_scan *page;
	size_t chunk_rows, chunk_at; /* the page's chunk */
	struct duckdb_source_cells *cells; /* its columns */
	size_t n_cells;
};

extern const struct connector_ops duckdb_connector;
extern const struct paged_dialect duckdb_source_dialect;

/* session.c: open the file and begin a transaction. duckdb_source_leave undoes
 * it, and is harmless when there is nothing to undo. */
int duckdb_source_enter(struct duckdb_source *s, struct error *err);
void duckdb_source_leave(struct duckdb_source *s);
extern const struct url_option duckdb_source_options[];
int duckdb_source_read_options(struct duckdb_source *s, const struct url *url,
			       struct error *err);

/* catalog.c */
int duckdb_source_look(struct paged_source *base,
		       const struct source_spec *source,
		       const struct watermark_spec *mark,
		       struct source_layout *out, struct error *err);
int duckdb_source_tables(struct connector *base, struct table_list *out,
			 struct error *err);

/* A statement's answer; paged_ask() says of what `shape` is. */
int duckdb_source_ask(struct duckdb_source *s, const char *sql,
		      const char *shape, int n, const char *const *params,
		      struct paged_answer *out, struct error *err);

/* views.c: find out how a view's mark is filled. `computed` becomes the text
 * that fills the column of the table below. For a view that is not plain it
 * becomes a text of tick.h. */
int duckdb_source_view_mark(struct duckdb_source *s,
			    const struct source_table *view,
			    struct source_column *mark, struct error *err);
/* Its `definition`: the SQL of the view and of those below it. */
int duckdb_source_view_definition(struct duckdb_source *s,
				  struct source_table *view, struct error *err);

/* effects.c: SCHEMA if reading the view has side effects. */
int duckdb_source_view_refuse(struct duckdb_source *s,
			      const struct source_table *view,
			      struct error *err);

/* ids.c: the reason why ids may come behind the mark; a code of NULL: they do
 * not. */
struct duckdb_source_doubt {
	const char *code, *fix;
	char *reason; /* freed by the caller */
};
int duckdb_source_ids_doubt(struct duckdb_source *s,
			    struct duckdb_source_doubt *out, struct error *err);
/* SCHEMA if the next ids lie below the mark `from`. */
int duckdb_source_ids_explain(struct duckdb_source *s,
			      const struct watermark *from, struct settled *out,
			      struct error *err);

/* pages.c: of the dialect. */
int duckdb_source_query(struct paged_source *base, const struct paged_query *q,
			struct paged_answer *out, struct error *err);
int duckdb_source_explain(struct paged_source *base,
			  const struct paged_query *q, char **plan,
			  char **index, struct error *err);
int duckdb_source_page_open(struct paged_source *base,
			    const struct paged_query *q, struct error *err);
int duckdb_source_page_read(struct paged_source *base, struct batch *b,
			    struct error *err);
void duckdb_source_page_close(struct paged_source *base);

/* settle.c */
int duckdb_source_settle(struct connector *base,
			 const struct source_spec *source,
			 const struct schema *schema,
			 const struct watermark_spec *mark,
			 const struct watermark *from, struct settled *out,
			 struct error *err);
int duckdb_source_identity(struct connector *base,
			   const struct source_spec *source, json_t **out,
			   struct error *err);
int duckdb_source_inspect(struct connector *base,
			  const struct source_spec *source,
			  const struct watermark_spec *mark,
			  const struct schema *schema, struct problems *out,
			  struct error *err);

/* lookup.c */
void duckdb_source_write_keys(struct paged_query *q,
			      const struct paged_source *s, size_t first,
			      size_t n);

#endif

/*
 * The SQLite connector's own state, shared by its files. sqlite.c holds the ops
 * table; pages, steps and marks are those of connectors/common/paged.h.
 *
 * The file is opened read-only. Each batch is a statement of its own that has
 * ended before the batch is handed over. Without a write-ahead log, a statement
 * under way keeps writers from committing. Without a key one statement reads
 * all rows; if this process also writes the file, the rows are copied first.
 */
#ifndef TIDEMARK_CONNECTORS_SQLITE_SOURCE_H
#define TIDEMARK_CONNECTORS_SQLITE_SOURCE_H

#include "clients/sqlite.h"
#include "connectors/common/paged.h"
#include "connectors/common/tick.h"
#include "connectors/sqlite/notation.h"
#include "connectors/sqlite/types.h"

struct sqlite_source {
	struct paged_source paged; /* first: it is the connector */
	struct sqlite *db;
	struct sqlite *prober; /* settle.c; opened when first needed */
	char *path;
	struct sqlite_statement *page;
	/* The page is of a copy of its rows; these are the types that their
	 * columns were declared with. */
	bool copied;
	struct strlist declared;
	int ahead; /* 1: the page's first row has been read, and not taken */
	struct notation notation; /* the mark's, since settle */
	/* The last row's values as they are stored, by place in the order. */
	struct strbuf *raw;
	size_t n_raw;
	/* A scan of keys, as they are stored: spelling.c. */
	struct scan spelled;
	struct strlist spelled_keys;
};

extern const struct connector_ops sqlite_connector;
extern const struct paged_dialect sqlite_source_dialect;

/* catalog.c */
int sqlite_source_look(struct paged_source *base,
		       const struct source_spec *source,
		       const struct watermark_spec *mark,
		       struct source_layout *out, struct error *err);
int sqlite_source_tables(struct connector *base, struct table_list *out,
			 struct error *err);
/* The last id that AUTOINCREMENT gave out in this table. *known false:
 * AUTOINCREMENT does not give the mark's ids. */
int sqlite_source_last_id(struct sqlite_source *s, bool *known, int64_t *out,
			  struct error *err);

/* views.c: find out how a view's mark is filled. `computed` becomes the text
 * that fills the column of the table below. For a view that is not plain it
 * becomes a text of tick.h. */
int sqlite_source_view_mark(struct sqlite_source *s,
			    const struct source_table *view,
			    struct source_column *mark, struct error *err);
/* Its `definition`: the SQL of the view and of those below it. */
int sqlite_source_view_definition(struct sqlite_source *s,
				  struct source_table *view, struct error *err);

/* rows.c: of the dialect. */
int sqlite_source_query(struct paged_source *base, const struct paged_query *q,
			struct paged_answer *out, struct error *err);
int sqlite_source_explain(struct paged_source *base,
			  const struct paged_query *q, char **plan,
			  char **index, struct error *err);
int sqlite_source_page_open(struct paged_source *base,
			    const struct paged_query *q, struct error *err);
int sqlite_source_page_read(struct paged_source *base, struct batch *b,
			    struct error *err);
void sqlite_source_page_close(struct paged_source *base);
char *sqlite_source_page_type(struct paged_source *base, size_t column);
void sqlite_source_position(const struct paged_source *base,
			    const struct batch *b, size_t column,
			    struct strbuf *out);
/* Append a text or blob of the statement's row as it is stored. */
void sqlite_source_stored(struct sqlite_statement *st, int column,
			  struct strbuf *out);
/* One value of one row; NULL if there is none. Caller frees. */
int sqlite_source_value(struct sqlite_source *s, const char *sql, char **out,
			struct error *err);

/* spelling.c: may keys be stored in another form than they are printed? Then
 * read the keys of all rows, and put the wanted ones into `spelled`. */
bool sqlite_source_spells_keys(const struct sqlite_source *s);
int sqlite_source_spell_keys(struct sqlite_source *s, const struct scan *scan,
			     struct error *err);

/* marks.c */
/* Find the mark's notation. DATA if a row in another notation hides below the
 * mark `from`. */
int sqlite_source_find_notation(struct sqlite_source *s,
				const struct watermark *from,
				struct error *err);
int sqlite_source_refuse_notation(const struct sqlite_source *s,
				  const char *text, struct error *err);
/* Is the expression of the mark as fine as its notation? Since settle. */
bool sqlite_source_mark_is_plain(const struct sqlite_source *s);
/* If it is not. */
enum tick_doubt sqlite_source_mark_doubt(const struct sqlite_source *s);
/* Is the mark kept as a text of a date? */
bool sqlite_source_mark_is_text(const struct sqlite_source *s);

/* settle.c */
int sqlite_source_settle(struct connector *base,
			 const struct source_spec *source,
			 const struct schema *schema,
			 const struct watermark_spec *mark,
			 const struct watermark *from, struct settled *out,
			 struct error *err);
/* identity and inspect */
int sqlite_source_identity(struct connector *base,
			   const struct source_spec *source, json_t **out,
			   struct error *err);
int sqlite_source_inspect(struct connector *base,
			  const struct source_spec *source,
			  const struct watermark_spec *mark,
			  const struct schema *schema, struct problems *out,
			  struct error *err);

#endif

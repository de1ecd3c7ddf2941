/*
 * The MySQL connector's own state, shared by its files. mysql.c holds the ops
 * table; pages, steps and marks are those of connectors/common/paged.h.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_SOURCE_H
#define TIDEMARK_CONNECTORS_MYSQL_SOURCE_H

#include "clients/mysql.h"
#include "connectors/common/paged.h"
#include "connectors/mysql/catalog.h"

struct mysql_source {
	struct paged_source paged; /* first: it is the connector */
	struct mysql_client *db;
	char *name; /* the connection's, for messages */
	enum mysql_client_form *forms; /* for a page's columns */
	json_t *identity; /* as last told, or NULL */
	json_t *looked; /* from settle(), for the next run; or NULL */
	bool denied; /* no right to read performance_schema */
	/* SQL of users ran, or a view's: what it has left is not known. */
	bool foreign;
	char *idle; /* idle.h: a question whose answer was "none", or NULL */
	char *idle_pass; /* the same, for the pass under way */
	bool idle_page; /* the page that is open has no rows */
};

extern const struct connector_ops mysql_connector;
extern const struct paged_dialect mysql_source_dialect;

/* A mark that is a computed time (`DATE(at)`), in the words of run and
 * check. */
#define MYSQL_SOURCE_COARSE                                                    \
	"the mark \"%s\" is an expression, and how coarse its values are is "  \
	"not known: a row may come later with a value that the mark has "      \
	"passed"
#define MYSQL_SOURCE_COARSE_FIX                                                \
	"use a plain column as the mark, or set watermark.lag to the width "   \
	"of the expression's step"

/* A tag in front of our reading sessions' statements: settle() leaves them
 * out. */
#define MYSQL_SOURCE_TAG "/* tidemark source */"

/* catalog.c */
int mysql_source_look(struct paged_source *base,
		      const struct source_spec *source,
		      const struct watermark_spec *mark,
		      struct source_layout *out, struct error *err);
int mysql_source_tables(struct connector *base, struct table_list *out,
			struct error *err);

/* identity.c: the questions of mysql_source_identity(), for
 * mysql_client_ask_ahead(). `described`: what is known of the table; NULL: it
 * is taken for a table of InnoDB without partitions. */
int mysql_source_identity_foresee(struct mysql_source *c, const char *table,
				  const struct source_table *described,
				  struct strlist *out, struct error *err);

/* query.c: of the dialect. */
void mysql_source_ordered(struct strbuf *sb, const struct paged_source *base,
			  const struct source_column *c);
void mysql_source_write_value(struct paged_query *q,
			      const struct paged_source *base,
			      const struct source_column *c, const char *value);
void mysql_source_newest(struct strbuf *sb, const struct source_column *mark);
void mysql_source_hint(struct strbuf *sb, const struct paged_source *base);
/* The one whose entries are in the total order, or NULL. */
const struct source_index *
mysql_source_page_index(const struct source_layout *l);

/* rows.c: of the dialect. */
int mysql_source_query(struct paged_source *base, const struct paged_query *q,
		       struct paged_answer *out, struct error *err);
int mysql_source_explain(struct paged_source *base, const struct paged_query *q,
			 char **plan, char **index, struct error *err);
int mysql_source_page_open(struct paged_source *base,
			   const struct paged_query *q, struct error *err);
int mysql_source_page_read(struct paged_source *base, struct batch *b,
			   struct error *err);
void mysql_source_page_close(struct paged_source *base);
char *mysql_source_page_type(struct paged_source *base, size_t column);

/* Leave a page in its middle. */
int mysql_source_pause(struct connector *base, struct error *err);
/* pressure.c */
/* grants.c */
int mysql_source_grants(const struct connection *conn,
			const struct source_spec *source,
			const struct watermark_spec *mark,
			const struct pressure_question *asked,
			struct grants *out, struct error *err);
int mysql_source_pressure(struct connector *base,
			  const struct pressure_question *q,
			  struct pressure *out, struct error *err);
int mysql_source_settle(struct connector *base,
			const struct source_spec *source,
			const struct schema *schema,
			const struct watermark_spec *mark,
			const struct watermark *from, struct settled *out,
			struct error *err);
int mysql_source_identity(struct connector *base,
			  const struct source_spec *source, json_t **out,
			  struct error *err);
/* lineage.c: is it still the table of the mark `from`? SCHEMA if it may be
 * another. */
int mysql_source_check_lineage(struct mysql_source *c,
			       const struct watermark_spec *mark,
			       const struct watermark *from, struct error *err);
int mysql_source_inspect(struct connector *base,
			 const struct source_spec *source,
			 const struct watermark_spec *mark,
			 const struct schema *schema, struct problems *out,
			 struct error *err);

#endif

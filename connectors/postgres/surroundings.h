/*
 * Facts that a table itself does not show, asked in one statement. Row level
 * security may hide rows from a role: the source then answers with fewer rows
 * and no word. Rows may arrive from another server, whose writers do not show
 * here. Functions may read other rows.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_SURROUNDINGS_H
#define TIDEMARK_CONNECTORS_POSTGRES_SURROUNDINGS_H

#include "clients/pg.h"
#include "core/base/strbuf.h"
#include "core/plugin/connector.h"

#define SURROUNDINGS_FICKLE                                                    \
	"source.where or source.expressions uses %s, which is not immutable: " \
	"rows come to fit, and values change, without a newer mark"

/* How rows arrive. */
enum origin {
	ORIGIN_HERE, /* written here, by transactions that show */
	ORIGIN_SUBSCRIPTION,
	ORIGIN_FOREIGN,
	ORIGIN_MATERIALIZED,
};

/* Names are schema.name, quoted where needed. */
struct surroundings {
	char *hiding; /* the table that hides rows; NULL: none does */
	char *role; /* the role that gets fewer rows: ours, or a view's owner */
	enum strategy strategy;
	enum origin origin;
	char *relation; /* gets its rows from another server, or NULL */
	char *fickle; /* in the config's SQL, a thing that is not immutable */
};

/* Look at the table `oid`, and report three things. First, a table that hides
 * rows: itself, one below a view, or with strategy xmin, which reads leaf by
 * leaf, one of its leaves. Second, a relation among its parts, or below a view,
 * that others fill. Third, a function or type of the user's own in the source's
 * `where` or expressions whose result may change by itself. */
int postgres_source_surroundings_find(struct pg *pg, uint32_t oid,
				      const struct source_spec *source,
				      enum strategy strategy,
				      struct surroundings *out,
				      struct error *err);
/* Ask ahead about the table; 0: about the one that is found last. */
void postgres_source_surroundings_ahead(struct pg *pg, uint32_t oid,
					const struct source_spec *source,
					enum strategy strategy);
void postgres_source_surroundings_release(struct surroundings *s);
/* The statements that let the role see all rows. Caller frees. */
char *postgres_source_surroundings_show_rows(const struct surroundings *s);
/* Append why writers do not show; what to do about it. */
void postgres_source_surroundings_explain(const struct surroundings *s,
					  struct strbuf *out);
void postgres_source_surroundings_go_there(const struct surroundings *s,
					   struct strbuf *out);

#endif

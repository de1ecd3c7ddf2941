/*
 * Row level security that hides rows from our role: the source then answers
 * with fewer rows and no word. A policy that shows the role every row hides
 * none.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_ROW_SECURITY_H
#define TIDEMARK_CONNECTORS_POSTGRES_ROW_SECURITY_H

#include "clients/pg.h"
#include "core/plugin/connector.h"

struct row_security {
	char *table; /* schema.name, quoted where needed; NULL: none hides rows
		      */
	char *role; /* ours, quoted where needed */
};

/* The first table that hides rows: `oid`, or with strategy xmin, which reads
 * leaf by leaf, one of its leaves. */
int row_security_find(struct pg *pg, uint32_t oid, enum strategy strategy,
		      struct row_security *out, struct error *err);
void row_security_release(struct row_security *s);
/* What to grant. Caller frees. */
char *row_security_fix(const struct row_security *s);

#endif

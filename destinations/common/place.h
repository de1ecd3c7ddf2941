/* The names of a target, plain and as SQL has them. */
#ifndef TIDEMARK_DESTINATIONS_COMMON_PLACE_H
#define TIDEMARK_DESTINATIONS_COMMON_PLACE_H

#include "core/base/strbuf.h"
#include "core/plugin/destination.h"

/* All owned. A release leaves it empty, and an empty one needs none. */
struct place {
	union { /* plain: two words for one thing */
		char *schema;
		char *database;
	};
	char *table; /* plain: what readers look at */
	char *base; /* plain: the table with the rows: `table`, or in
		     * append TABLE_raw */
	char *build; /* plain: the table that a refresh fills */
	/* Quoted, with the schema: each of the three, and of the marks. */
	char *readable;
	char *rows;
	char *building;
	char *watermark;
	/* The same of what an engine has beside, or NULL: */
	char *retired; /* the session's own table that a batch comes in. In a
			* dry run: */
	char *stage; /* the session's own table that a batch comes in; and in a
		      * dry run, */
	char *copy; /* a copy of the needed rows of `rows`, */
	char *fresh; /* and the keys that a batch brings to that */
};

/* Fill in all but what an engine has beside. `prefix`: the schema as SQL has
 * it before a table's name, with the dot. `p` is released first. */
void place_fill(struct place *p, const struct target *target,
		const char *schema, const char *table, const char *prefix,
		char quote);
/* prefix"name"; caller frees. */
char *place_name(const char *prefix, const char *name, char quote);
/* "schema".; caller frees. */
char *place_prefix(const char *schema, char quote);
void place_release(struct place *p);

#endif

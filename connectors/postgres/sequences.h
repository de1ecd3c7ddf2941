/* The sequences that fill a column: how far each has come, and whether it
 * gives ids out in an order that a mark can follow. */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_SEQUENCES_H
#define TIDEMARK_CONNECTORS_POSTGRES_SEQUENCES_H

#include <jansson.h>

#include "connectors/postgres/layout.h"

struct sequence_info {
	char *name; /* schema.name, quoted where needed */
	int64_t cache;
	bool descending;
	bool cycles;
	char *last; /* NULL: never used, or not ours to see */
	int64_t file; /* relfilenode */
	char *definition; /* all but where it stands */
};
struct sequences {
	struct sequence_info *items;
	size_t n;
};

/* Those that the column owns or its default calls. An expression, or a column
 * of a view, has none. */
int sequences_find(struct pg *pg, const struct relation *relation,
		   const struct layout_column *column, struct sequences *out,
		   struct error *err);
void sequences_release(struct sequences *s);
/* What a mark keeps of them, to know later that one was set back to its start
 * in between, however far it has come again since. New reference. */
json_t *sequences_note(const struct sequences *s);
bool sequence_restarted(const struct sequence_info *s, const json_t *note);

#endif

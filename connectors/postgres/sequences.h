/* The sequences that fill a column. For each of them: how far it has come,
 * whether a mark can follow its order of ids, and whether it began anew. */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_SEQUENCES_H
#define TIDEMARK_CONNECTORS_POSTGRES_SEQUENCES_H

#include <jansson.h>

#include "connectors/postgres/layout.h"

/* In pending: what is known of the column's sequences. */
#define SEQUENCES "sequences"

struct sequence_info {
	uint32_t oid;
	char *name; /* schema.name, quoted where needed */
	int64_t increment;
	int64_t cache;
	bool descending;
	bool cycles;
	bool fills; /* the column is an identity, or its default is just this
		     * sequence's nextval() */
	bool may_see; /* our role may ask where it stands */
	char *last; /* NULL: never used, or not ours to see */
	/* The highest id that an application can have, which hands out those up
	 * to the next step by itself; NULL as `last`. */
	char *reach;
	int64_t file; /* relfilenode */
	char *definition; /* all but where it stands */
	/* For a sequence that a crash sets back to its start (UNLOGGED). The
	 * time when the server's counters began, as they do at each crash; or
	 * NULL. */
	char *crash;
};
struct sequences {
	struct sequence_info *items;
	size_t n;
	int64_t table_file; /* 0: partitioned, a view, ... */
};

/* The sequences that the column owns or its default calls. An expression, or a
 * column of a view, has none. */
void postgres_source_sequences_ahead(struct pg *pg, /* ask ahead */
				     const struct relation *relation,
				     const struct source_column *column);
int postgres_source_sequences_find(struct pg *pg,
				   const struct relation *relation,
				   const struct source_column *column,
				   struct sequences *out, struct error *err);
void postgres_source_sequences_release(struct sequences *s);

/* Something that makes ids commit, or come, behind a mark. */
struct sequence_doubt {
	const char *code;
	char *reason; /* a clause */
	char *fix;
};
#define SEQUENCE_MOST_DOUBTS 4
/* Why the column's ids are not those of one sequence that counts by one. The
 * texts of the `n` doubts are the caller's to free. */
size_t postgres_source_sequences_doubt(
	const struct sequences *s, const struct source_layout *l,
	struct sequence_doubt out[SEQUENCE_MOST_DOUBTS]);
void postgres_source_sequence_doubts_release(struct sequence_doubt *doubts,
					     size_t n);

/* A note in the mark, by which a later run knows that ids began anew, however
 * far they have come again. `exact`: nothing was in doubt. New reference. */
json_t *postgres_source_sequences_note(const struct sequences *s, bool exact);
/* Was nothing in doubt when the note was made? */
bool postgres_source_sequences_were_exact(const json_t *note);
enum sequence_change {
	SEQUENCE_SAME,
	SEQUENCE_RESTARTED,
	SEQUENCE_EXCHANGED, /* another one fills the column */
	/* Its definition was changed, and may have been restarted with that. */
	SEQUENCE_REDEFINED,
};
enum sequence_change
postgres_source_sequence_change(const struct sequence_info *s,
				const json_t *note);
/* Does the table have another file than when the note was made: it was emptied
 * (TRUNCATE), or rewritten? */
bool postgres_source_sequences_table_changed(const struct sequences *s,
					     const json_t *note);

#endif

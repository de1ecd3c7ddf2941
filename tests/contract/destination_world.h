/*
 * The base of the contract suite over destinations. It has an engine's quirks,
 * a destination opened through the registry, and rows written as text. It looks
 * at the tables through the engine's own client, not through Tidemark.
 */
#ifndef TIDEMARK_TESTS_CONTRACT_DESTINATION_WORLD_H
#define TIDEMARK_TESTS_CONTRACT_DESTINATION_WORLD_H

#include <stdbool.h>

#include "core/plugin/destination.h"

/* The differences between engines, and nothing else. */
struct quirks {
	const char *engine; /* its name here, and in the registry ... */
	const char *plugin; /* ... but for this one */
	const char *variable; /* environment variable with the URL; NULL: a
			       * file in a temporary directory */
	const char *client; /* shell command: SQL on standard input, file or
			     * URL in $TARGET, rows as a|b lines */
	bool lasting; /* the client is slow to start: one answers all requests
		       * of a program, as destination_client.h has it */
	const char *schema; /* the tables': "public" */
	const char *null; /* how the client prints NULL */
	const char
		*position; /* SQL that moves when a row is rewritten, or NULL */
	/* SQL that gives a table its `position`, or NULL. */
	const char *watch;
	const char *text; /* names of types, for tables made by hand */
	const char *key_text; /* one that an index can be on */
	/* One that takes 'a' and 'A' for equal; NULL: keys that fold are
	 * refused as they come. */
	const char *folding_text;
	const char *integer, *bigint;
	/* Gives the column `amount` of the table "%" two digits behind the
	 * point; NULL: nobody else alters a table while we have it open. */
	const char *narrower_decimal;
	const char *clean; /* empties a server's database before a test */
	const char *refuse_mark; /* makes marks with "refused" fail, or NULL */
	const char *slow_fence; /* a transaction of a second that raises the
				 * fence to 99, or NULL */
	const char *list_tables; /* one a line */
	/* SQL: how a refusal names the session that refreshes; and that loses
	 * the rows of the table it builds. Without the first a
	 * process takes over what another handle of it has begun; without the
	 * second there are no rivals, as at files. */
	const char *refresher, *empty_stage;
	bool ddl_commits; /* a preparation may end halfway */
	bool strict_types; /* a narrower column is refused, not ignored */
	bool key_index; /* a table made by hand needs a unique index on the key
			 */
	bool table_identity; /* a table made anew is told from the old one */
	bool views; /* every table is a view over TABLE_raw, and a batch is in
		     * before its mark is: nothing is rolled back */
	bool other_writers; /* the client may write while we have it open */
	bool sessionless; /* a server, but nothing of a handle stays there */
	bool case_blind; /* names of columns that differ by case are one */
	bool own_names; /* columns named as Tidemark's own are refused in every
			 * mode, as others that the engine does not take */
	bool plain_names; /* quotes in names are refused */
	bool plain_tables; /* no checks, one integer, texts without a limit */
};

struct world {
	const struct quirks *quirks;
	char *directory; /* temporary, or NULL */
	char *place; /* URL, or file */
	struct connection conn;
	const struct destination_ops *ops;
	struct destination *destination;
	struct schema schema;
	struct target target;
	struct checkpoint seen;
	const char *delivered; /* the mark delivered with batches to come; NULL
				* at first */
	struct load_counts counts;
	struct error err;
	int n_batches;
	int64_t cut; /* as in struct checkpoint, for each load */
	/* Each load is previewed before, and counts what that has said. */
	bool rehearse;
	int previewed; /* the code that it ended with */
	char preview_said[2048];
};

/* NULL when the engine cannot be tested here; the reason goes to stderr. */
struct world *world_new(const struct quirks *quirks);
void world_free(struct world *w);

/* A source schema: "id:int64! name:text at:timestamptz@"; "!" the key, "@"
 * the mark, "decimal(10,2)", "text(5)". Everything but the key may be NULL. */
void world_schema(struct world *w, const char *spec);
/* Open, with the target as it stands in the world. */
void world_open(struct world *w);
void world_close(struct world *w);
/* open, prepare, recover; the error's code, 0 if all went well. */
int world_begin(struct world *w);
/* A batch of rows, one a line, fields between "|", NULL for NULL; loaded with
 * the mark given. The error's code. */
int world_load(struct world *w, const char *rows, const char *mark);
/* The rows of these keys go; how many. The error's code, negated, if not. */
int64_t world_remove(struct world *w, const char *rows, const char *mark);
int world_finish(struct world *w, const char *mark);
/* All of it in a session of its own, asserting success. */
void world_sync(struct world *w, const char *rows, const char *mark);
/* The client's output for the SQL; static buffer of the world's process. */
const char *world_query(struct world *w, const char *sql);
/* Statements through the client, asserting success. */
void world_exec(struct world *w, const char *sql);
/* The pipeline's mark as the client sees it. */
const char *world_mark(struct world *w);

void world_expect_counts(struct world *w, int inserted, int updated,
			 int unchanged);

extern const struct quirks *const world_quirks[];

#endif

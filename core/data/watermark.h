/*
 * How far a pipeline has come: the settled position, the table that the mark
 * belongs to, and the pending part. Text values are the source's own, at full
 * precision. It is JSON for stores and people, and is compared part by part.
 *
 *  JSON: {"strategy":"timestamp","column":"updated_at",
 *         "value":"2026-01-31 12:00:00.123456+00","key":["7"],
 *         "pending":{...},"columns":{"id":1},"shape":{...},
 *         "identity":{...},"mode":"update"}; absent parts are left out.
 */
#ifndef TIDEMARK_CORE_DATA_WATERMARK_H
#define TIDEMARK_CORE_DATA_WATERMARK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/strlist.h"
#include "core/data/schema.h"

enum strategy {
	STRATEGY_TIMESTAMP,
	STRATEGY_XMIN,
	STRATEGY_SEQUENCE,
	STRATEGY_NONE, /* no mark: every run reads every row */
};
/* Has it a column, whose values are marks? */
bool strategy_has_column(enum strategy s);
const char *strategy_name(enum strategy s);
bool strategy_parse(const char *text, enum strategy *out);

struct watermark {
	enum strategy strategy;
	char *column; /* NULL for xmin and none */
	/* NULL: nothing is settled yet. timestamp, sequence: the column's
	 * value; xmin: 64-bit xid in decimal. */
	char *value;
	/* Key of the last settled row at `value`, as text; empty: rows at
	 * `value` itself are still to be read. */
	struct strlist key;
	/* The strategy's own notes, or NULL.
	 * - timestamp, sequence: the highest mark delivered, if that is beyond
	 *   `value`
	 * - sequence: max and open transactions, the column's sequences
	 * - xmin: pass and block
	 * - all: the leaves read */
	json_t *pending;
	/* The columns delivered: each one's number at the source, or null if
	 * the source has it no longer. NULL: a mark of an older version. */
	json_t *columns;
	/* Digests of the settings that shape the rows, such as `where`.
	 * NULL: a mark of an older version, or set by hand. */
	json_t *shape;
	/* The source's engine, cluster, timeline, database, table oid, ...; or
	 * NULL. */
	json_t *identity;
	/* The mark of a pipeline in mode update: others own the rows at its
	 * target. */
	bool update;
	/* The mark of a pipeline in mode append without a key. So many of the
	 * target's last rows lie past the mark. They are removed before rows
	 * past it are read again. */
	bool keyless;
	int64_t open;
};

void watermark_init(struct watermark *w);
void watermark_release(struct watermark *w);
/* `dst` is overwritten: it holds nothing before. */
void watermark_copy(struct watermark *dst, const struct watermark *src);
bool watermark_equal(const struct watermark *a, const struct watermark *b);
/* New reference; never NULL. */
json_t *watermark_to_json(const struct watermark *w);
/* Compact JSON text, keys in fixed order; caller frees. */
char *watermark_to_text(const struct watermark *w);
/* DATA error saying which member is wrong. */
int watermark_from_json(struct watermark *out, const json_t *json,
			struct error *err);
int watermark_from_text(struct watermark *out, const char *text,
			struct error *err);
/* Append the mark without its identity, as one word of a shell: for advice to
 * set it again. */
void watermark_add_word(const struct watermark *w, struct strbuf *sb);
/* If the identities disagree: a SCHEMA error (exit 4) that says what happened
 * to the source and how to go on. "tidemark RUN CALL" runs the pipeline. */
int watermark_check_identity(const struct watermark *w, const json_t *now,
			     const char *run, const char *call,
			     struct error *err);

/* Every column of `s` is delivered. The columns of `gone` once were. */
void watermark_set_columns(struct watermark *w, const struct schema *s,
			   const struct strlist *gone);
/* Columns that were delivered and that `s` has not: appended. */
void watermark_gone_columns(const struct watermark *w, const struct schema *s,
			    struct strlist *out);
/* Is that column known to be gone? */
bool watermark_knows_gone(const struct watermark *w, const char *column);
/* A column about whose values the mark says nothing: it was dropped and added
 * again, or left out for a while. NULL: none. Caller frees. */
char *watermark_new_column(const struct watermark *w, const struct schema *s);
/* The highest mark delivered: rows past the settled point have lifted it
 * beyond the value. NULL: unknown. */
const char *watermark_delivered(const struct watermark *w);
/* Is mark `a`, a text of the source, beyond `b`? A mark that cannot be read
 * (set by hand; NULL) is below every other. xmin: never. */
bool watermark_is_beyond(enum strategy s, const char *a, const char *b);
/* Rows up to `delivered` (NULL: unknown) were delivered, too. False: the mark
 * says so already. */
bool watermark_raise(struct watermark *w, const char *delivered);
/* The same for marks as JSON text: add to `text` (NULL: no mark) the rows that
 * `by` says are delivered. NULL if `text` stays as it is, because it says as
 * much, or is the mark of another column. Caller frees. */
char *watermark_raise_text(const char *text, const char *by);
/* Everything is to be read again. Delivered rows stay known, so that rows with
 * older marks replace them. */
void watermark_forget(struct watermark *w);

#endif

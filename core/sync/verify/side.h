/*
 * The reading half of `verify`: one table through its engine's connector,
 * whole, by keys, or past the mark.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_SIDE_H
#define TIDEMARK_CORE_SYNC_VERIFY_SIDE_H

#include "core/settings/settings.h"
#include "core/sync/pace/pace.h"
#include "core/sync/parts/stopper.h"
#include "core/sync/verify/compare.h"
#include "core/sync/verify/progress.h"

struct verify_side {
	enum compare_side which;
	const struct pipeline_settings *p;
	struct connector *connector;
	struct stopper stopper; /* of whatever it is asked */
	struct verify_progress *progress; /* told of its rows, or NULL */
	struct pace *pace; /* asked before each batch; NULL: at once */
	struct source_spec spec;
	struct strlist columns, key; /* of the destination: chosen by us */
	struct strlist all; /* of the destination: the columns that it has */
	struct schema schema;
	/* The same rows, of which only the key is read: after
	 * verify_side_describe_keys(). */
	struct source_spec keys_spec;
	struct strlist keys_columns;
	struct schema keys_schema;
	char *hidden; /* as of struct settled, after verify_read_past() */
	/* Rows that verify_read_both() reads: all of them as long as since.from
	 * is NULL. By verify_since_begin(). */
	struct range since;
	struct watermark_spec since_mark;
	struct watermark since_from; /* without a value */
	char *since_text;
};

/* What is done with each row; in a thread of the side's own. */
struct verify_look {
	const struct compare *compare;
	enum compare_side which;
	long mark; /* column that says that a row is gone; -1: none */
	void (*row)(void *ctx, enum compare_side side, const struct batch *b,
		    size_t row, const struct compare_hash *key,
		    const struct compare_hash *all);
	/* Called some rows before `row`: fetch what it will need; or NULL. */
	void (*soon)(void *ctx, enum compare_side side,
		     const struct compare_hash *key);
	void *ctx;
	struct digest_rows slots;
};

int verify_side_open_source(struct verify_side *s,
			    const struct pipeline_settings *p,
			    struct error *err);
/* The mark that the destination has, if it has one. */
int verify_find_mark(const struct pipeline_settings *p, struct watermark *out,
		     bool *found, struct error *err);
/* The mark before any row is read: what is at or below it has been delivered.
 * `out`: what it is as long as there is none. SCHEMA if it is of another
 * strategy or column than the config's. */
int verify_take_mark(const struct pipeline_settings *p, struct watermark *out,
		     struct error *err);
/* The columns of `source` that the table has; `source` is described. */
int verify_side_open_destination(struct verify_side *s,
				 const struct pipeline_settings *p,
				 const struct schema *source,
				 struct error *err);
void verify_side_close(struct verify_side *s);

/* The side must be open; a second call does nothing. */
int verify_side_describe_keys(struct verify_side *s, struct error *err);

/* Read each row that is wanted of both at the same time; `keys`: of
 * keys_schema. */
int verify_read_both(struct verify_side *sides, bool keys,
		     const struct verify_look *look, struct error *err);
/* One side alone, beside other work of the caller's: */
struct verify_reading;
int verify_reading_start(struct verify_reading **out, struct verify_side *s,
			 const struct verify_look *look, struct error *err);
/* Wait for the next rows, and have them looked at; harmless at the end. */
int verify_reading_step(struct verify_reading *r, struct error *err);
bool verify_reading_is_open(const struct verify_reading *r);
void verify_reading_end(struct verify_reading *r); /* NULL is fine */
/* Read the rows that have these keys now. */
int verify_read_keys(struct verify_side *s, const struct strlist *keys,
		     const struct verify_look *look, struct error *err);
/* Of the source: read the rows past the mark `from`, wherever they end. SCHEMA
 * if it is the mark of another table. */
int verify_read_past(struct verify_side *s, const struct watermark *from,
		     const struct verify_look *look, struct error *err);

#endif

/*
 * One side of a comparison: a table through its engine's connector, its
 * description, and the columns that are read.
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
	struct stopper stopper; /* for any question to the side */
	struct verify_progress *progress; /* told of its rows, or NULL */
	struct pace *pace; /* asked before each batch; NULL: at once */
	struct source_spec spec;
	struct strlist columns, key; /* the destination's: chosen by us */
	struct strlist all; /* the destination's: the columns that it has */
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

int verify_side_open_source(struct verify_side *s,
			    const struct pipeline_settings *p,
			    struct error *err);
/* The mark that the destination has, if it has one. */
int verify_find_mark(const struct pipeline_settings *p, struct watermark *out,
		     bool *found, struct error *err);
/* The mark before any row is read: rows at or below it have been delivered.
 * `out` stays as it is while there is no mark. SCHEMA if the mark belongs to
 * another strategy or column than the config's. */
int verify_take_mark(const struct pipeline_settings *p, struct watermark *out,
		     struct error *err);
/* The columns of `source` that the table has; `source` is described. */
int verify_side_open_destination(struct verify_side *s,
				 const struct pipeline_settings *p,
				 const struct schema *source,
				 struct error *err);
void verify_side_close(struct verify_side *s);

/* The column of the destination that marks rows as gone, or NULL. */
const char *verify_side_soft_delete(const struct verify_side *s);
/* The index of the mark's column, whatever this side calls it; -1: none. */
long verify_side_mark(const struct verify_side *s);
/* The side must be open; a second call does nothing. */
int verify_side_describe_keys(struct verify_side *s, struct error *err);

#endif

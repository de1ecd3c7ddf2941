/*
 * `verify`: does the destination's table equal the source's, as far as the mark
 * has come? Both are read whole by their engines' connectors (whole.h), and
 * keys that seem to differ are looked up again (driver.h). A row at or below
 * the mark that was stored when all this began must be at the destination by
 * then. If it still differs, this is a difference, whatever was written
 * meanwhile. A row past the mark is unsettled. Nothing is written anywhere.
 *
 * For a part (part.h) less is read. Since a mark: the rows that either side has
 * from there on. A small share of the keys: both sides' keys alone, and then
 * the rows of the share.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_VERIFY_H
#define TIDEMARK_CORE_SYNC_VERIFY_VERIFY_H

#include "core/data/digest.h"
#include "core/settings/settings.h"
#include "core/sync/verify/compare.h"
#include "core/sync/verify/examples.h"
#include "core/sync/verify/part.h"
#include "core/sync/verify/progress.h"
#include "core/sync/verify/work.h"

struct verify_result {
	const struct pipeline_settings *pipeline;
	struct verify_part part; /* all below is of those rows */
	bool done; /* all below is known */
	struct digest rows[COMPARE_SIDES]; /* count and checksum */
	struct differences found; /* unsettled: past the mark */
	int64_t compared; /* all others, of either side */
	/* Columns that the source has no longer and the destination has: they
	 * keep old values. */
	struct strlist kept;
	/* At most VERIFY_EXAMPLES of {"key", "kind"}; with values also
	 * "source" and "destination", a row or null. */
	json_t *examples;
	bool marked; /* a run has left a mark at the destination */
	char *hidden; /* rows that the source does not show: why; or NULL */
	/* With extra rows: who else loads the table. */
	struct strlist others;
	int64_t repaired, deleted; /* rows, by repair.c */
	int64_t elapsed_us;
	struct error error; /* DIFFERENT if they are */
};

struct verify_terms {
	struct verify_part part; /* the part to look at */
	bool values; /* examples with the rows of both sides */
	bool extra_only; /* examples of no other kind */
	struct verify_work *work; /* to be filled; may be NULL */
	struct store *looked_at; /* asked for the pace; may be NULL */
	/* As of struct verify_progress. */
	void (*progress)(const struct verify_progress *so_far, void *ctx);
	void *ctx;
	bool sums; /* only whether anything differs, not what */
	bool brief; /* no more than what fits there: the counts are not whole */
};

/* `out` is filled in any case and to be released. Tries again, as the
 * pipeline's retry says, what may pass. */
int verify_pipeline(const struct pipeline_settings *p,
		    const struct verify_terms *terms, struct verify_result *out,
		    struct error *err);
void verify_result_init(struct verify_result *r,
			const struct pipeline_settings *p);
void verify_result_release(struct verify_result *r);
/* Set `compared` by the other counts. */
void verify_result_count(struct verify_result *r);
bool verify_result_equal(const struct verify_result *r);
/* There are rows, and none could be compared. */
bool verify_result_is_blind(const struct verify_result *r);
/* DIFFERENT, if it is not equal. */
int verify_result_verdict(const struct verify_result *r, struct error *err);
/* STOPPED, and how far it came, in place of what an interrupted call said. */
int verify_result_stopped(const struct verify_result *r, struct error *err);
/* Extra rows need not have been this source's: who else loads the table. */
void verify_result_name_others(struct verify_result *r, struct error *err);
/* New reference. */
json_t *verify_result_json(const struct verify_result *r);

#endif

/*
 * One pass over pages by (mark, key): a straight line of steps and pages. The
 * last row of a batch is remembered, and the next page begins behind it. The
 * pass knows no SQL: an engine brings its pages (struct paged_pages).
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_PAGED_PASS_H
#define TIDEMARK_CONNECTORS_COMMON_PAGED_PASS_H

#include "connectors/common/running_mark.h"
#include "connectors/common/source_layout.h"

/* Steps of a pass, in this order; a batch never holds rows of two steps. */
enum paged_step {
	PAGED_PARTS, /* up to the mark, in parts that the table got since */
	PAGED_NULLS, /* rows without a mark */
	PAGED_LAG, /* looking back behind the mark */
	PAGED_SETTLED, /* from the mark to the settled point: moves it */
	PAGED_TAIL, /* past the settled point: comes again */
	PAGED_DONE,
};

/* An engine's pages; `owner` is its connector. */
struct paged_pages {
	/* Begin the statement of a page of `limit` rows, behind `last`. If the
	 * page is `mixed`, its step has no end: the tail's rows follow. */
	int (*open)(struct connector *owner, struct error *err);
	/* Append rows until the batch is full (0) or the page ends (1). Adds
	 * them to the pass's `read` and `rows`. In a mixed page's first row
	 * past the settled point it sets `crossed` and gives 1, and the next
	 * call begins with this row. */
	int (*read)(struct connector *owner, struct batch *b,
		    struct error *err);
	void (*close)(struct connector *owner);
	/* Append a column of the last appended row, as it is compared. */
	void (*position)(struct connector *owner, const struct batch *b,
			 size_t column, struct strbuf *out);
	/* The part under way is read: go to the next, or clear `parts`. NULL:
	 * `parts` is never set. */
	void (*next_part)(struct connector *owner);
	/* Count the rows that tail: hold keeps back, in the step of the
	 * tail. */
	int (*count_tail)(struct connector *owner, struct batch *out,
			  struct error *err);
	/* Give the batch, with rows of this step, its watermark. */
	int (*hand_over)(struct connector *owner, struct batch *b,
			 enum paged_step step, struct error *err);
};

struct paged_pass {
	struct connector *owner;
	const struct paged_pages *pages;
	const struct source_layout *layout;
	const struct scan *scan;
	struct running_mark mark;
	size_t asked; /* keys that a scan of keys has asked for so far */
	enum paged_step step;
	bool parts; /* PAGED_PARTS has something to read */
	struct strlist last; /* position of the last row; empty: step's begin */
	struct strlist reached; /* position of the last batch's last row */
	/* A page goes on to the end of the rows that tie with its last one. */
	bool ties;
	bool page_a_batch; /* the statement ends with each batch */
	bool whole; /* a step is one page */
	bool mixes; /* the engine's pages may be mixed */
	bool mixed; /* the page under way has rows of the tail behind them */
	bool crossed; /* its first row of the tail is the current one */
	size_t page_rows; /* a page's, where a batch takes fewer; or 0 */
	size_t limit; /* the page's under way */
	size_t read; /* its rows so far */
	bool streaming;
	bool open; /* failpoint snapshot_opened has been passed */
	int64_t rows; /* delivered so far */
	double row_bytes; /* on average, so far; 0: unknown */
	bool measured; /* first_mark is set */
	double first_mark; /* for progress alone */
};

/* Begin a scan, of any kind. The pass is released; the others are borrowed. */
int paged_pass_begin(struct paged_pass *p, struct connector *owner,
		     const struct paged_pages *pages,
		     const struct source_layout *layout,
		     const struct scan *scan, struct error *err);
void paged_pass_release(struct paged_pass *p);
/* Enter the first step of an ordered scan. */
void paged_pass_start(struct paged_pass *p);
/* Has the step anything to read? */
bool paged_pass_applies(const struct paged_pass *p, enum paged_step step);
/* The next batch of an ordered scan; without rows at its end. */
int paged_pass_next(struct paged_pass *p, struct batch *out, struct error *err);
/* Remember where the batch's last row lies, for the page behind it. A page that
 * ends where it began is refused: it would be read for ever. */
int paged_pass_remember(struct paged_pass *p, const struct batch *b,
			struct error *err);
/* The first column of the order that the step compares: without a mark, the
 * key's. */
size_t paged_pass_first(const struct paged_pass *p);
/* Does the pass look back behind the mark? */
bool paged_pass_has_lag(const struct paged_pass *p);
/* The position where the run began, in the total order. False if only the mark
 * is known: then rows at the mark itself are still to be read. */
bool paged_pass_from(const struct paged_pass *p, struct strlist *out);
/* For an explanation of the pass: "look back". */
const char *paged_step_purpose(enum paged_step step);

#endif

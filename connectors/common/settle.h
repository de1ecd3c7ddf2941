/* Helpers for every connector's settle(): the open tick of a mark column, and
 * the reasons of a guarantee. */
#ifndef TIDEMARK_CONNECTORS_COMMON_SETTLE_H
#define TIDEMARK_CONNECTORS_COMMON_SETTLE_H

#include "core/base/strbuf.h"
#include "core/plugin/connector.h"

/* A transaction takes its now() a moment before the server's lists show it. */
#define SETTLE_MARGIN_US US_PER_SECOND
/* A clock that was corrected, as opposed to another server's. */
#define SETTLE_STEP_MOST_US (10 * 60 * US_PER_SECOND)
/* A zone whose hour changes sets its clocks back. */
#define SETTLE_SUMMER_MOST_US (INT64_C(2) * 3600 * US_PER_SECOND)
/* How far a wall clock can be before UTC. */
#define SETTLE_ZONE_MOST_US (INT64_C(15) * 3600 * US_PER_SECOND)
/* The last value of a column of this type (DATE, TIMESTAMP, TIMESTAMPTZ) that
 * lies before the instant `us`. For a type without a zone `us` is a wall clock.
 * The tick that holds it is open: a row that is written now may carry a mark at
 * the tick's beginning. Caller frees. */
char *settle_text(const struct type *type, int64_t us);
/* The clock that made the mark, as it stands now. */
struct settle_clock {
	int64_t now_us;
	/* The latest mark it could make now, in the notation of settle_text. */
	int64_t latest_us;
	/* watermark.time_zone of a mark without a zone, else NULL. */
	const char *zone;
	bool days; /* the mark is one */
};

/* latest_us, where `us` is that clock's time of now. */
int64_t settle_latest(const struct type *type, int64_t us);
/* Compare the mark `from` with the settled point. The mark never goes back by
 * itself, and cannot be far ahead of the clock (SCHEMA error). A clock that is
 * behind it was set back: `reason` says so, and the guarantee is lag.
 * `value_us` is the mark's value in the notation of settle_text, `settled_us`
 * that of out->value. */
int settle_keep_mark(const struct settle_clock *clock, int64_t value_us,
		     int64_t settled_us, const struct watermark *from,
		     struct settled *out, struct strbuf *reason,
		     struct error *err);
/* The same for a number: the settled one is not below the mark's own. */
void settle_keep_number(const struct watermark *from, struct settled *out);
/* The value of a mark of such a column, DATE too, as µs. False: no point in
 * time. */
bool settle_read(const struct type *type, const char *text, int64_t *out_us);
/* The meaning of the mark, for an identity: "instant", "wall clock", "day",
 * "number". A type that changes within one of these keeps its meaning. */
const char *settle_meaning(enum type_kind mark);

/* For a pass without a mark: one statement misses no row. 0. */
int settle_whole(struct settled *out);
/* Append advice for a source that is another one, or whose ids begin anew:
 * commands that name the pipeline of `source`, which may be NULL. SCHEMA. */
int settle_way_out(const struct source_spec *source, struct error *err);

/* SCHEMA: a mark's value does not fit the type of its column. */
int settle_no_time(const char *value, const struct source_spec *source,
		   struct error *err);

/* The guarantee is this at most. */
void settle_weaken(struct settled *out, enum guarantee guarantee);
/* The reason with watermark.settle: off. */
void settle_explain_off(const struct watermark_spec *mark, struct settled *out,
			struct strbuf *reason);
/* The reason for a mark whose clock nobody names. */
void settle_explain_zone(const char *column, struct settled *out,
			 struct strbuf *reason);
/* Append a sentence to a list of reasons. */
void reason_add(struct strbuf *reason, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif

#include "connectors/postgres/durable.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/delivered.h"
#include "connectors/common/settle.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/table_name.h"

/* The log writer flushes what did not wait within three of its rounds, each of
 * 200 ms by default. */
#define DURABLE_WAIT_US	 US_PER_SECOND
#define DURABLE_PAUSE_US (20 * 1000)
/* Headers of a log page, and of a segment's first. */
#define PAGE_HEADER    24
#define SEGMENT_HEADER 40

/* "16/B374D848" */
static uint64_t durable_lsn(const char *text)
{
	char *end;
	uint64_t high = strtoull(text, &end, 16);

	return high << 32 | (*end == '/' ? strtoull(end + 1, NULL, 16) : 0);
}

/* At the end of a page the server already reports the log's end behind the
 * header of the next page. Nothing flushes this header before a record
 * follows. */
static uint64_t durable_without_header(uint64_t lsn, uint64_t page,
				       uint64_t segment)
{
	if (lsn % segment == SEGMENT_HEADER)
		return lsn - SEGMENT_HEADER;
	return lsn % page == PAGE_HEADER ? lsn - PAGE_HEADER : lsn;
}

void postgres_source_durable_tell(const struct pg_result *r, int first,
				  struct settled *out)
{
	const char *end = pg_value(r, 0, first);
	const char *flushed = pg_value(r, 0, first + 1);
	uint64_t page, segment;

	if (!end || !flushed)
		return;
	page = strtoull(pg_value(r, 0, first + 2), NULL, 10);
	segment = strtoull(pg_value(r, 0, first + 3), NULL, 10);
	out->log_end = durable_without_header(durable_lsn(end), page, segment);
	out->log_flushed = durable_lsn(flushed);
}

uint64_t postgres_source_durable_target(const struct pg_result *r, int first)
{
	struct settled at = { .log_end = 0 };

	postgres_source_durable_tell(r, first, &at);
	return at.log_flushed >= at.log_end ? 0 : at.log_end;
}

/* insufficient_privilege, feature_not_supported, undefined_function */
bool postgres_source_durable_is_hidden(const struct error *err)
{
	return error_has_code(err, "42501") || error_has_code(err, "0A000") ||
	       error_has_code(err, "42883");
}

void postgres_source_durable_explain(const char *role, struct strbuf *reason)
{
	struct strbuf name = STRBUF_INIT;

	sql_quote_name(&name, role, '"');
	reason_add(reason,
		   "the role cannot see how far the server's log is flushed, "
		   "so a crash of the server may give ids behind the mark out "
		   "again (GRANT EXECUTE ON FUNCTION "
		   "pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn() "
		   "TO %s)",
		   name.data);
	strbuf_release(&name);
}

void postgres_source_durable_begin(struct postgres *c, uint64_t target)
{
	struct durable *d = &c->durable;

	if (target && !d->unflushed)
		watermark_copy(&d->mark, &c->pass.mark.at);
	if (!target && d->unflushed)
		watermark_release(&d->mark);
	d->unflushed = target;
}

static int durable_look(struct postgres *c, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, "SELECT pg_current_wal_flush_lsn()", "1t",
			  0, NULL, err);

	if (!rc && durable_lsn(pg_value(r, 0, 0)) >= c->durable.unflushed)
		postgres_source_durable_begin(c, 0);
	pg_result_free(r);
	return rc;
}

static int durable_wait(struct postgres *c, struct error *err)
{
	int64_t end_us = clock_monotonic_us() + DURABLE_WAIT_US;
	int rc = durable_look(c, err);

	while (!rc && c->durable.unflushed && clock_monotonic_us() < end_us &&
	       !clock_sleep_us(DURABLE_PAUSE_US))
		rc = durable_look(c, err);
	return rc;
}

/* The rows are delivered: what the source says of them now goes, up to the mark
 * that they would have had. */
static void durable_hold(struct postgres *c, struct batch *out, bool end)
{
	struct watermark *w = &out->watermark;
	const struct watermark *ahead = &c->pass.mark.at;

	watermark_release(w);
	watermark_copy(w, &c->durable.mark);
	if (w->strategy != STRATEGY_XMIN && ahead->value) {
		delivered_tail(w, ahead->value);
		if (watermark_delivered(ahead))
			delivered_tail(w, watermark_delivered(ahead));
	}
	if (!end)
		return;
	free(out->mark_held);
	out->mark_held =
		xstrdup("the mark waits until the source has flushed its log "
			"past what was read (synchronous_commit is off, a "
			"transaction that writes is open, or a reader was cut "
			"off); the next run reads these rows again");
}

int postgres_source_durable_hand_over(struct postgres *c, struct batch *out,
				      bool busy, struct error *err)
{
	bool end = !out->n_rows;
	/* A pass without a row loses nothing by the mark it began with. */
	bool idle = !c->pass.rows;
	int rc = 0;

	if (c->durable.unflushed && !busy && !idle &&
	    !watermark_equal(&c->durable.mark, &c->pass.mark.at))
		rc = end ? durable_wait(c, err) : durable_look(c, err);
	if (rc)
		return rc;
	if (c->durable.unflushed &&
	    !watermark_equal(&c->durable.mark, &c->pass.mark.at))
		durable_hold(c, out, end && !idle);
	else
		running_mark_hand_over(&c->pass.mark, out);
	return 0;
}

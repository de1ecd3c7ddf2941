/*
 * The settled point of an SQLite file.
 *
 * SQLite has one writer at a time. A writer's statement takes its
 * CURRENT_TIMESTAMP (and its rowid) while it holds the write lock, because it
 * takes the lock before it evaluates any expression. So a reader can hold that
 * lock for a moment and take the time. All earlier writes are then committed,
 * and the statements that follow see them. All later writes carry a time that
 * is not earlier. BEGIN IMMEDIATE takes the lock, in a write-ahead log as with
 * a rollback journal. ROLLBACK follows at once, so nothing is written.
 * CURRENT_TIMESTAMP has whole seconds, so a later writer may stamp the
 * beginning of the second in which it runs. A margin of a second covers this,
 * and the milliseconds of strftime('%f').
 *
 * - An open transaction that has written may hold the lock. Then nothing new is
 *   settled and the mark stays. Rows are delivered as the tail and come again.
 *   This is exact, and the run names the process.
 * - The lock cannot be taken in a file that may only be read. Then the time
 *   alone counts, and the guarantee is `lag`.
 * - An application may take a time before it asks for the lock. This time is
 *   older than its transaction by as long as it waits. watermark.lag covers
 *   that, as with every engine. Numbers (unixepoch()) are read by an expression
 *   that makes them dates, and the same rule holds for it.
 *
 * sequence: the maximum is read first, then the proof: all lower ids are
 * committed. Rows deleted at the top free their ids for new rows, unless the
 * column is AUTOINCREMENT. Without it the guarantee is `lag`.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "connectors/common/delivered.h"
#include "connectors/common/settle.h"
#include "connectors/common/tick.h"
#include "connectors/common/wall_clock.h"
#include "connectors/sqlite/source.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/process.h"

/* How long another writer's short transaction may take. */
#define SETTLE_WAIT_US US_PER_SECOND

struct probe {
	int64_t now_us; /* while nobody wrote; else just now */
	bool held; /* somebody holds the write lock */
	char why[300]; /* it cannot be had at all; "" */
};

static int settle_open_prober(struct sqlite_source *s, struct error *err)
{
	const struct sqlite_options options = {
		.keep_log = true,
		.busy_timeout_us = SETTLE_WAIT_US,
	};

	return s->prober ? 0 : sqlite_open(&s->prober, s->path, &options, err);
}

static int settle_probe(struct sqlite_source *s, struct probe *out,
			struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = settle_open_prober(s, &why);

	*out = (struct probe){ .now_us = clock_now_us() };
	if (!rc)
		rc = sqlite_begin(s->prober, &why);
	if (!rc) {
		out->now_us = clock_now_us();
		sqlite_rollback(s->prober);
		return 0;
	}
	if (why.code == ERROR_STATE) {
		out->held = true;
		return 0;
	}
	if (why.code == ERROR_ACCESS) {
		snprintf(out->why, sizeof(out->why), "%.200s", why.message);
		return 0;
	}
	if (err)
		*err = why;
	return rc;
}

static json_t *settle_holder(struct sqlite_source *s)
{
	int64_t pid = sqlite_user(s->db);
	char *name = pid ? process_name(pid) : xstrdup("");
	json_t *holder = json_pack("{s:s, s:s}", "state", "write transaction",
				   "application", name);

	if (pid)
		json_object_set_new(holder, "pid",
				    json_integer((json_int_t)pid));
	free(name);
	return holder;
}

static struct settle_clock settle_clock(const struct sqlite_source *s,
					const struct watermark_spec *mark,
					const struct probe *probe)
{
	bool instant = sqlite_source_notation_is_instant(&s->notation);

	return (struct settle_clock){
		.now_us = probe->now_us,
		.zone = instant ? NULL : mark->time_zone,
		.days = !s->notation.separator,
	};
}

/* The instant as a mark: a day that has not ended is open. */
static int settle_print(const struct sqlite_source *s,
			const struct watermark_spec *mark, int64_t us,
			char **out, int64_t *value_us, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	if (!sqlite_source_notation_is_instant(&s->notation))
		rc = wall_clock_at(mark->time_zone, us, &us, err);
	if (!s->notation.separator && mark->settle)
		us -= US_PER_DAY;
	if (!rc) {
		sqlite_source_notation_print(&sb, &s->notation, us);
		sqlite_source_notation_parse(sb.data, value_us);
	}
	*out = rc ? NULL : strbuf_detach(&sb);
	strbuf_release(&sb);
	return rc;
}

static int settle_timestamp(struct sqlite_source *s,
			    const struct watermark_spec *mark,
			    const struct watermark *from,
			    const struct probe *probe, struct settled *out,
			    struct strbuf *reason, struct error *err)
{
	struct settle_clock clock = settle_clock(s, mark, probe);
	int64_t us = probe->now_us - (mark->settle ? SETTLE_MARGIN_US : 0);
	int64_t settled_us = INT64_MIN, value_us;
	int rc = settle_print(s, mark, us, &out->value, &settled_us, err);

	if (rc)
		return rc;
	clock.latest_us = settled_us;
	if (probe->held && mark->settle) {
		free(out->value);
		out->value = xstrdup(from->value);
		settled_us = INT64_MAX;
	}
	if (!from->value)
		return 0;
	if (!sqlite_source_notation_parse(from->value, &value_us))
		return settle_no_time(from->value, s->paged.described, err);
	return settle_keep_mark(&clock, value_us, settled_us, from, out, reason,
				err);
}

static int settle_greatest(struct sqlite_source *s, char **out,
			   struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	char *sql = xstrfmt("SELECT max(%s) FROM %s AS %s", source_mark(l)->sql,
			    l->table.sql, l->table.alias);
	int rc = sqlite_source_value(s, sql, out, err);

	free(sql);
	return rc;
}

/* Ids begin anew if a table with AUTOINCREMENT was made anew. */
static int settle_check_ids(const struct sqlite_source *s, const char *greatest,
			    const struct watermark *from, bool known,
			    int64_t last, struct error *err)
{
	if (!known || !from->value || !number_is_whole(from->value) ||
	    (greatest && !number_is_greater(from->value, greatest)) ||
	    strtoll(from->value, NULL, 10) <= last)
		return 0;
	error_set(err, ERROR_SCHEMA,
		  "the mark, %s, is ahead of the last id that %s has given "
		  "out, %" PRId64 ": the source cannot have produced it",
		  from->value, s->paged.described->table, last);
	return settle_way_out(s->paged.described, err);
}

static int settle_sequence(struct sqlite_source *s,
			   const struct watermark_spec *mark,
			   const struct watermark *from,
			   const struct probe *probe, char *greatest,
			   struct settled *out, struct strbuf *reason,
			   struct error *err)
{
	bool known = false;
	int64_t last = 0;
	int rc = sqlite_source_last_id(s, &known, &last, err);

	if (!rc)
		rc = settle_check_ids(s, greatest, from, known, last, err);
	if (rc)
		return rc;
	if (!known) {
		reason_add(reason,
			   "\"%s\" is not AUTOINCREMENT: a new row may take "
			   "the id of a deleted one, and is not seen then",
			   source_mark(&s->paged.layout)->name);
		settle_weaken(out, GUARANTEE_LAG);
	}
	out->value =
		xstrdup(probe->held && mark->settle ? from->value : greatest);
	settle_keep_number(from, out);
	return 0;
}

static void settle_explain(struct sqlite_source *s,
			   const struct watermark_spec *mark,
			   const struct probe *probe, struct settled *out,
			   struct strbuf *reason)
{
	bool text = sqlite_source_mark_is_text(s);

	if (*probe->why) {
		reason_add(reason,
			   "whether a transaction is open cannot be told of a "
			   "file that may only be read (%s)",
			   probe->why);
		settle_weaken(out, GUARANTEE_LAG);
	}
	if (text && !sqlite_source_notation_is_instant(&s->notation) &&
	    wall_clock_is_unknown(mark->time_zone))
		settle_explain_zone(source_mark(&s->paged.layout)->name, out,
				    reason);
	if (text && !sqlite_source_mark_is_plain(s))
		tick_explain(source_mark(&s->paged.layout)->name,
			     sqlite_source_mark_doubt(s), out, reason);
	if (!mark->settle)
		settle_explain_off(mark, out, reason);
	if (probe->held)
		out->held_by = settle_holder(s);
	else if (text)
		out->lag_us = SETTLE_MARGIN_US;
	else
		out->lag_us = 0;
}

int sqlite_source_settle(struct connector *base,
			 const struct source_spec *source,
			 const struct schema *schema,
			 const struct watermark_spec *mark,
			 const struct watermark *from, struct settled *out,
			 struct error *err)
{
	struct sqlite_source *s = (struct sqlite_source *)base;
	struct strbuf reason = STRBUF_INIT;
	char *greatest = NULL;
	struct probe probe;
	int rc;

	(void)schema;
	paged_end_pass(&s->paged);
	settled_release(out);
	if (!mark)
		return settle_whole(out);
	rc = paged_layout_for(&s->paged, source, mark, err);
	if (rc)
		return rc;
	out->guarantee = GUARANTEE_EXACT;
	if (sqlite_source_mark_is_text(s))
		rc = sqlite_source_find_notation(s, from, err);
	else
		rc = settle_greatest(s, &greatest, err);
	if (!rc)
		rc = settle_probe(s, &probe, err);
	if (!rc && sqlite_source_mark_is_text(s))
		rc = settle_timestamp(s, mark, from, &probe, out, &reason, err);
	else if (!rc)
		rc = settle_sequence(s, mark, from, &probe, greatest, out,
				     &reason, err);
	if (!rc)
		settle_explain(s, mark, &probe, out, &reason);
	out->reason = strbuf_detach(&reason);
	free(greatest);
	return rc ? rc : failpoint("ceiling_taken", err);
}

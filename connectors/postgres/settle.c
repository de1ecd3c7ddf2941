#include <inttypes.h>
#include <stdlib.h>

#include "clients/pg_ahead.h"
#include "connectors/common/settle.h"
#include "connectors/postgres/activity.h"
#include "connectors/postgres/durable.h"
#include "connectors/postgres/leaf_list.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/replay.h"
#include "connectors/postgres/sequences.h"
#include "connectors/postgres/shape.h"
#include "connectors/postgres/surroundings.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"

#define SETTLE_XMIN_SQL(columns)                                               \
	"SELECT pg_snapshot_xmin(s)::text, pg_snapshot_xmax(s)::text,\n"       \
	"  current_user" columns "\nFROM pg_current_snapshot() s"
static const char settle_xmin_sql[] = SETTLE_XMIN_SQL("");
static const char settle_xmin_and_log_sql[] =
	SETTLE_XMIN_SQL(", " DURABLE_COLUMNS);

/* The transaction with the oldest id, in whatever database. */
static const char settle_holder_sql[] =
	"SELECT pid::text, application_name, state, xact_start, now(),\n"
	"  age(backend_xid)\n"
	"FROM pg_stat_activity\n"
	"WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()\n"
	"UNION ALL\n"
	"SELECT NULL, gid, 'prepared', prepared, now(), age(transaction)\n"
	"FROM pg_prepared_xacts ORDER BY 6 DESC LIMIT 1";

static int64_t settle_time(const char *text)
{
	int64_t us;

	return text && value_parse_timestamp(text, &us) ? us : 0;
}

static int settle_holder(struct postgres *c, struct settled *out,
			 struct error *err)
{
	struct pg_result *r = NULL;
	char since[CLOCK_TEXT_SIZE];
	int rc = pg_query(c->pg, &r, settle_holder_sql, "????tt", 0, NULL, err);

	if (!rc && pg_rows(r)) {
		const char *pid = pg_value(r, 0, 0);
		int64_t since_us = settle_time(pg_value(r, 0, 3));
		clock_format_utc(since_us, since);
		out->lag_us = settle_time(pg_value(r, 0, 4)) - since_us;
		out->held_by = json_pack(
			"{s:o*, s:s*, s:s*, s:s}", "pid",
			pid ? json_integer(strtol(pid, NULL, 10)) : NULL,
			pid ? "application" : "prepared", pg_value(r, 0, 1),
			"state", pg_value(r, 0, 2), "since", since);
	}
	pg_result_free(r);
	return rc;
}

/* The pass asks again, in a transaction that an error would end. */
static int settle_ask_xmin(struct postgres *c, struct pg_result **out,
			   struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = pg_query(c->pg, out, settle_xmin_and_log_sql,
			  "1ttt" DURABLE_SHAPE, 0, NULL, &why);

	c->log_hidden = rc && postgres_source_durable_is_hidden(&why);
	if (c->log_hidden)
		return pg_query(c->pg, out, settle_xmin_sql, "1ttt", 0, NULL,
				err);
	if (rc)
		*err = why;
	return rc;
}

void postgres_source_settle_xmin_ahead(struct postgres *c)
{
	pg_ahead_add(c->pg, settle_xmin_and_log_sql, 0, NULL);
}

/* A snapshot knows of every transaction of the cluster, whoever may see it:
 * xmin needs no rights and no margin. */
int postgres_source_settle_xmin(struct postgres *c,
				const struct watermark *from,
				struct settled *out, struct error *err)
{
	struct pg_result *r = NULL;
	uint64_t xmax;
	int rc = settle_ask_xmin(c, &r, err);

	if (rc)
		return rc;
	out->value = xstrdup(pg_value(r, 0, 0));
	xmax = strtoull(pg_value(r, 0, 1), NULL, 10);
	out->guarantee = GUARANTEE_EXACT;
	out->lag_us = 0;
	if (c->log_hidden) {
		struct strbuf reason = STRBUF_INIT;
		postgres_source_durable_explain(pg_value(r, 0, 2), &reason);
		out->reason = strbuf_detach(&reason);
		settle_weaken(out, GUARANTEE_LAG);
	} else {
		postgres_source_durable_tell(r, 3, out);
	}
	if (from->value && strtoull(from->value, NULL, 10) > xmax)
		rc = postgres_source_replay_refuse_xid(
			c, strtoull(from->value, NULL, 10), xmax, err);
	else if (strtoull(out->value, NULL, 10) < xmax)
		rc = settle_holder(c, out, err);
	pg_result_free(r);
	return rc;
}

/* Rows that are not shown cannot be promised. */
static void settle_hidden(const struct surroundings *around,
			  struct settled *out, struct strbuf *reason)
{
	char *fix = postgres_source_surroundings_show_rows(around);

	out->hidden = xstrfmt("row level security of %s hides rows from role "
			      "%s (%s)",
			      around->hiding, around->role, fix);
	reason_add(reason, "%s", out->hidden);
	out->guarantee = GUARANTEE_NONE;
	free(fix);
}

/* Whoever writes elsewhere is waited for by nobody here. */
static void settle_elsewhere(const struct surroundings *around,
			     struct settled *out, struct strbuf *reason)
{
	struct strbuf why = STRBUF_INIT;

	postgres_source_surroundings_explain(around, &why);
	strbuf_addstr(&why, " (");
	postgres_source_surroundings_go_there(around, &why);
	reason_add(reason, "%s)", why.data);
	settle_weaken(out, GUARANTEE_LAG);
	strbuf_release(&why);
}

static int settle_surroundings(struct postgres *c,
			       const struct source_spec *source,
			       enum strategy strategy, struct settled *out,
			       struct error *err)
{
	struct surroundings around;
	struct strbuf reason = STRBUF_INIT;
	int rc = postgres_source_surroundings_find(
		c->pg, postgres_source_relation(&c->layout)->oid, source,
		strategy, &around, err);

	if (rc)
		return rc;
	strbuf_addstr(&reason, out->reason);
	/* Without a mark, rows that come late come all the same. */
	if (around.origin != ORIGIN_HERE && strategy != STRATEGY_NONE)
		settle_elsewhere(&around, out, &reason);
	if (around.fickle) {
		reason_add(&reason, SURROUNDINGS_FICKLE, around.fickle);
		settle_weaken(out, GUARANTEE_LAG);
	}
	if (around.hiding)
		settle_hidden(&around, out, &reason);
	free(out->reason);
	out->reason = strbuf_detach(&reason);
	postgres_source_surroundings_release(&around);
	return 0;
}

/* Rows up to the mark would have to be read again. */
static int settle_refuse_reread(const struct source_spec *source,
				const struct watermark *from, struct error *err)
{
	error_set(err, ERROR_SCHEMA,
		  "table %s, or the sequence of its mark, was emptied, "
		  "rewritten or altered since the last run, so ids up to the "
		  "mark, %s, may have been given out again; it has no key, and "
		  "nothing tells its rows from those that were "
		  "loaded. " ERROR_FIX,
		  source->table, from->value);
	return settle_way_out(source, err);
}

static int settle_once(struct postgres *c, const struct source_spec *source,
		       const struct watermark_spec *mark,
		       const struct watermark *from, struct settled *out,
		       struct error *err)
{
	int rc = 0;

	settled_release(out);
	c->unflushed = 0;
	c->reread = false;
	switch (mark->strategy) {
	case STRATEGY_TIMESTAMP:
		rc = postgres_source_settle_timestamp(c, mark, from, out, err);
		break;
	case STRATEGY_SEQUENCE:
		rc = postgres_source_settle_sequence(c, source, mark, from, out,
						     err);
		break;
	case STRATEGY_XMIN:
		rc = postgres_source_settle_xmin(c, from, out, err);
		break;
	case STRATEGY_NONE:
		break;
	}
	if (!rc && c->reread && from->value && !c->layout.n_key)
		rc = settle_refuse_reread(source, from, err);
	if (!out->reason)
		out->reason = xstrdup("");
	return rc ? rc
		  : settle_surroundings(c, source, mark->strategy, out, err);
}

/* An answer that came with describe() may be older than the mark, which then
 * seems to be ahead of the source. The source itself has the last word. */
static int settle_surely(struct postgres *c, const struct source_spec *source,
			 const struct watermark_spec *mark,
			 const struct watermark *from, struct settled *out,
			 struct error *err)
{
	struct error why = ERROR_INIT;
	bool early = pg_ahead_any(c->pg);
	int rc = settle_once(c, source, mark, from, out, early ? &why : err);

	pg_ahead_drop(c->pg);
	return rc && early ? settle_once(c, source, mark, from, out, err) : rc;
}

static json_t *settle_parts(const struct postgres *c, const struct settled *out)
{
	json_t *sequences = json_object_get(out->pending, SEQUENCES);

	if (!c->leaf_list && !sequences)
		return NULL;
	return json_pack("{s:O*, s:O*}", LEAF_LIST, c->leaf_list, SEQUENCES,
			 sequences);
}

int postgres_settle(struct connector *base, const struct source_spec *source,
		    const struct schema *schema,
		    const struct watermark_spec *mark,
		    const struct watermark *from, struct settled *out,
		    struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	int rc = postgres_end_pass(c, err);

	(void)schema;
	if (!rc)
		rc = postgres_layout(c, source, mark, err);
	if (rc) {
		settled_release(out);
		return rc;
	}
	if (!mark) {
		settled_release(out);
		settle_whole(out);
		return settle_surroundings(c, source, STRATEGY_NONE, out, err);
	}
	rc = settle_surely(c, source, mark, from, out, err);
	if (!rc)
		out->parts = settle_parts(c, out);
	rc = postgres_source_shape_judge(c, source, mark, rc, err);
	/* The ceiling of xmin is taken by the pass itself. */
	if (!rc && mark->strategy != STRATEGY_XMIN)
		rc = failpoint("ceiling_taken", err);
	return rc;
}

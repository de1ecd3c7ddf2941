#include <stdlib.h>
#include <strings.h>

#include "connectors/common/delivered.h"
#include "connectors/common/settle.h"
#include "connectors/common/tick.h"
#include "connectors/common/wall_clock.h"
#include "connectors/mysql/activity.h"
#include "connectors/mysql/durable.h"
#include "connectors/mysql/idle.h"
#include "connectors/mysql/ids.h"
#include "connectors/mysql/looks.h"
#include "connectors/mysql/server.h"
#include "connectors/mysql/source.h"
#include "connectors/mysql/zone.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"

/* Short transactions are often over at once. Look again a few times before the
 * rest is left to the next run. */
#define SETTLE_LOOKS	5
#define SETTLE_PAUSE_US (10 * 1000) /* doubled each time */

/* Only InnoDB's transactions are in the list. An engine without transactions
 * commits row by row, in statements that show. The open transactions of any
 * other engine cannot be seen. */
static void settle_engine(const struct source_table *t, struct settled *out,
			  struct strbuf *reason)
{
	static const char *const plain[] = { "MyISAM", "Aria",	  "MEMORY",
					     "CSV",    "ARCHIVE", "BLACKHOLE" };

	if (!t->engine) {
		reason_add(reason,
			   "%s is a view: the engines of its tables "
			   "are not known",
			   t->name);
		settle_weaken(out, GUARANTEE_LAG);
		return;
	}
	if (!strcasecmp(t->engine, "InnoDB"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		if (strcasecmp(t->engine, plain[i]) != 0)
			continue;
		reason_add(reason,
			   "%s is of engine %s, which has no transactions "
			   "(ALTER TABLE %s ENGINE = InnoDB)",
			   t->name, t->engine, t->sql);
		settle_weaken(out, GUARANTEE_LAG);
		return;
	}
	reason_add(reason,
		   "%s is of engine %s, whose open transactions do not show",
		   t->name, t->engine);
	settle_weaken(out, GUARANTEE_NONE);
}

#define SETTLE_FLUSH                                                           \
	"SET GLOBAL innodb_flush_log_at_trx_commit = 1, GLOBAL sync_binlog = " \
	"1"

/* After a crash of the server, a mark ahead of the disk would be ahead of the
 * rows. So the mark stays where it is, and later rows are delivered all the
 * same. */
static int settle_flushed(struct mysql_source *c,
			  const struct mysql_source_server *server,
			  const struct watermark *from, struct settled *out,
			  struct strbuf *reason, struct error *err)
{
	enum mysql_source_durable durable;
	int rc = mysql_source_durable(c->db, server, &durable, err);

	if (rc || durable == DURABLE_YES)
		return rc;
	if (durable == DURABLE_UNKNOWN) {
		reason_add(reason, "the server does not flush its log with "
				   "each commit, nor show how far it has; a "
				   "crash takes back what the mark has passed "
				   "(" SETTLE_FLUSH ")");
		settle_weaken(out, GUARANTEE_LAG);
		return 0;
	}
	reason_add(reason, "the mark waits until the server has flushed its "
			   "log (" SETTLE_FLUSH ")");
	free(out->value);
	out->value = xstrdup(from->value);
	return 0;
}

/* All that an idle table is asked travels together. In front of the look stands
 * what has to be known before it; behind it, whether there is a row at all.
 * Gives what sets the look apart; caller frees. */
static char *settle_ask(struct mysql_source *c,
			const struct watermark_spec *mark,
			const struct watermark *from, struct error *err)
{
	bool clocks = mark->strategy == STRATEGY_TIMESTAMP;
	struct strlist ahead = STRLIST_INIT;
	char *look;

	if (!clocks)
		mysql_source_ids_foresee(c, &ahead);
	look = mysql_source_activity_foresee(c->db, clocks && !c->denied,
					     &ahead);
	mysql_source_idle_foresee(c, from, &ahead);
	mysql_source_server_foresee(c->db, &ahead);
	if (!mysql_client_ask_ahead(c->db, &ahead, err))
		return look;
	free(look);
	return NULL;
}

/* Judge which writes of others may go unseen, and give the reasons. */
static int settle_judge(struct mysql_source *c,
			const struct mysql_source_server *server,
			const struct mysql_source_activity *a,
			const struct watermark *from, struct settled *out,
			struct strbuf *reason, struct error *err)
{
	const char *shares = mysql_source_server_shares(server, a->applies);

	if (shares)
		reason_add(reason, "the source is %s", shares);
	if (mysql_source_activity_explain(a, reason) || shares)
		settle_weaken(out, GUARANTEE_LAG);
	return settle_flushed(c, server, from, out, reason, err);
}

static int settle_against_mark(struct mysql_source *c,
			       const struct settle_clock *clock,
			       const struct watermark *from,
			       struct settled *out, struct strbuf *reason,
			       struct error *err)
{
	const struct source_column *mark = source_mark(&c->paged.layout);
	int64_t value, settled = INT64_MIN;

	if (!from->value)
		return 0;
	if (!settle_read(&mark->type, from->value, &value) ||
	    (out->value && !settle_read(&mark->type, out->value, &settled)))
		return settle_no_time(from->value, c->paged.described, err);
	return settle_keep_mark(clock, value, settled, from, out, reason, err);
}

/* Look again until no transaction that has written holds the mark more than
 * others do. `look`: of the first time. */
static int settle_look(struct mysql_source *c,
		       const struct watermark_spec *mark, const char *look,
		       struct mysql_source_looks *looks,
		       struct mysql_source_activity *a, int64_t *us,
		       struct error *err)
{
	int64_t margin_us = SETTLE_MARGIN_US, pause_us = SETTLE_PAUSE_US;
	int rc = mysql_source_activity_take(c->db, true, &c->denied, look, a,
					    err);

	for (int i = 0; !rc; i++) {
		bool held;
		/* When a prepared transaction began may not be recorded. */
		margin_us = SETTLE_MARGIN_US + (a->xa ? mark->lag_us : 0);
		mysql_source_looks_add(looks, a, margin_us);
		*us = mysql_source_looks_settled(looks, a, margin_us, &held);
		if (!held || !mark->settle || i >= SETTLE_LOOKS ||
		    clock_sleep_us(pause_us))
			break;
		pause_us *= 2;
		mysql_source_activity_release(a);
		rc = mysql_source_activity_read(c->db, true, &c->denied, a,
						err);
	}
	return rc;
}

/* Reasons why the guarantee is lag although every transaction shows. */
static void settle_judge_mark(const struct source_column *column,
			      const struct mysql_source_looks *looks,
			      const struct watermark_spec *mark,
			      struct settled *out, struct strbuf *reason)
{
	if (column->type.kind != TYPE_TIMESTAMPTZ &&
	    wall_clock_is_unknown(mark->time_zone))
		settle_explain_zone(column->name, out, reason);
	if (looks->guessed) {
		reason_add(reason,
			   "a transaction that has written was open before "
			   "the first look; that it had not waited for a "
			   "lock on the table is not known");
		settle_weaken(out, GUARANTEE_LAG);
	}
	if (column->expression) {
		reason_add(reason,
			   MYSQL_SOURCE_COARSE " (" MYSQL_SOURCE_COARSE_FIX ")",
			   column->name);
		settle_weaken(out, GUARANTEE_LAG);
	}
	if (!mysql_source_computed_is_plain(column))
		tick_explain(column->name, TICK_IS_COARSE, out, reason);
}

/* Take the answers that were asked ahead behind the look. */
static int settle_rest(struct mysql_source *c, const struct watermark *from,
		       struct mysql_source_server *server, struct error *err)
{
	int rc = mysql_source_idle_take(c, from, err);

	return rc ? rc : mysql_source_server_read(c->db, server, err);
}

static int settle_timestamp(struct mysql_source *c,
			    const struct watermark_spec *mark, const char *look,
			    const struct watermark *from, struct settled *out,
			    struct strbuf *reason, struct error *err)
{
	const struct source_column *column = source_mark(&c->paged.layout);
	struct settle_clock clock = { .days = column->type.kind == TYPE_DATE };
	struct mysql_source_server server = { 0 };
	struct mysql_source_looks looks;
	struct mysql_source_activity a;
	int64_t us = 0, wall;
	int rc;

	mysql_source_looks_read(&looks, from->pending);
	out->pending = mysql_source_looks_json(&looks);
	rc = settle_look(c, mark, look, &looks, &a, &us, err);
	if (rc)
		goto out;
	rc = settle_rest(c, from, &server, err);
	c->looked = mysql_source_looks_json(&looks);
	if (!mark->settle)
		us = a.now_us;
	wall = us;
	if (column->type.kind != TYPE_TIMESTAMPTZ)
		clock.zone = mark->time_zone;
	if (!rc && clock.zone)
		rc = mysql_source_zone_wall_clock(c->db, mark->time_zone, us,
						  &wall, err);
	if (!rc)
		out->value = settle_text(&column->type, wall);
	clock.now_us = a.now_us;
	clock.latest_us = settle_latest(&column->type, wall + a.now_us - us);
	if (!rc)
		rc = settle_against_mark(c, &clock, from, out, reason, err);
	if (!rc)
		rc = settle_judge(c, &server, &a, from, out, reason, err);
	mysql_source_server_release(&server);
	settle_judge_mark(column, &looks, mark, out, reason);
	out->held_by = json_incref(a.held_by);
	out->lag_us = a.now_us - us;
	mysql_source_activity_release(&a);
out:
	mysql_source_looks_release(&looks);
	return rc;
}

/* Wait a moment for the transactions that are open now; true in `over` if all
 * ended. */
static int settle_wait(struct mysql_source *c,
		       struct mysql_source_activity *open, bool *over,
		       struct error *err)
{
	*over = json_array_size(open->open) == 0;
	for (int i = 0; !*over && i < SETTLE_LOOKS; i++) {
		struct mysql_source_activity now;
		int rc;
		if (clock_sleep_us(SETTLE_PAUSE_US << i))
			return 0;
		rc = mysql_source_activity_read(c->db, false, &c->denied, &now,
						err);
		if (rc)
			return rc;
		*over = !mysql_source_activity_has_any(&now, open->open);
		mysql_source_activity_release(&now);
	}
	return 0;
}

/* The greatest settled id, and the ids left to a later run. An older pending
 * pair is kept until its transactions are over: a pair that is renewed on every
 * run might never be settled. */
static int settle_decide(struct mysql_source *c, const struct watermark *from,
			 const char *greatest,
			 struct mysql_source_activity *open,
			 struct settled *out, struct error *err)
{
	const json_t *set = json_object_get(from->pending, "open");
	const char *max =
		json_string_value(json_object_get(from->pending, "max"));
	bool over = false;
	int rc = settle_wait(c, open, &over, err);

	if (rc)
		return rc;
	if (over) {
		out->value = xstrdup(greatest);
	} else if (set && max && mysql_source_activity_has_any(open, set)) {
		out->pending = json_pack("{s:s, s:o}", "max", max, "open",
					 json_deep_copy(set));
	} else {
		out->value = xstrdup(max);
		if (greatest)
			out->pending = json_pack("{s:s, s:O}", "max", greatest,
						 "open", open->open);
	}
	return 0;
}

/* Nothing before the mark is open, and the pending part is beyond it. */
static void settle_keep_id(const struct watermark *from, struct settled *out)
{
	const char *max =
		json_string_value(json_object_get(out->pending, "max"));

	if (from->value &&
	    (!out->value || !number_is_greater(out->value, from->value))) {
		free(out->value);
		out->value = xstrdup(from->value);
	}
	if (max && out->value && !number_is_greater(max, out->value)) {
		json_decref(out->pending);
		out->pending = NULL;
	}
}

/* The next id to be given out, or NULL. */
static int settle_counter(struct mysql_source *c, char **out, struct error *err)
{
	const struct source_table *t = &c->paged.layout.table;
	const char *params[] = { t->schema, t->name };
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(c->db, &r,
				    "SELECT auto_increment "
				    "FROM information_schema.tables "
				    "WHERE table_schema = ? AND table_name = ?",
				    "?", 2, params, err);

	if (!rc && mysql_client_rows(r))
		*out = xstrdup(mysql_client_value(r, 0, 0));
	mysql_client_result_free(r);
	return rc;
}

/* Ids begin anew after TRUNCATE, or when AUTO_INCREMENT is set back. Rows
 * deleted at the top prove nothing. */
static int settle_check_counter(struct mysql_source *c,
				const struct watermark *from,
				const char *greatest, struct error *err)
{
	char *next = NULL;
	int rc = 0;

	if (!from->value ||
	    (greatest && !number_is_greater(from->value, greatest)))
		return 0;
	rc = settle_counter(c, &next, err);
	if (!rc && next && !number_is_greater(next, from->value)) {
		error_set(err, ERROR_SCHEMA,
			  "the mark, %s, is ahead of the AUTO_INCREMENT of %s, "
			  "which goes on with %s: the source cannot have "
			  "produced it (TRUNCATE begins the ids anew)",
			  from->value, c->paged.layout.table.name, next);
		rc = settle_way_out(c->paged.described, err);
	}
	free(next);
	return rc;
}

static void settle_judge_ids(struct mysql_source *c,
			     const struct mysql_source_ids *ids,
			     struct settled *out, struct strbuf *reason)
{
	struct mysql_source_ids_doubt d;

	mysql_source_ids_doubt(c, ids, &d);
	if (d.code) {
		reason_add(reason, "%s (%s)", d.reason, d.fix);
		settle_weaken(out, GUARANTEE_LAG);
	}
	mysql_source_ids_doubt_release(&d);
}

/* Ids are given out in order but committed out of order. Every id up to the
 * greatest one seen belongs to a transaction that is over, or to one that is
 * open right afterwards. So the maximum is read first, and the transactions
 * second. */
static int settle_sequence(struct mysql_source *c,
			   const struct watermark_spec *mark, const char *look,
			   const struct watermark *from, struct settled *out,
			   struct strbuf *reason, struct error *err)
{
	struct mysql_source_server server = { 0 };
	struct mysql_source_activity open;
	struct mysql_source_ids ids;
	int rc = mysql_source_ids_read(c, &ids, err);

	if (!rc)
		rc = settle_check_counter(c, from, ids.greatest, err);
	if (!rc && mysql_client_is_ahead(c->db, look))
		rc = mysql_source_activity_take(c->db, false, &c->denied, look,
						&open, err);
	else if (!rc)
		rc = mysql_source_activity_read(c->db, false, &c->denied, &open,
						err);
	if (rc) {
		mysql_source_ids_release(&ids);
		return rc;
	}
	if (mark->settle)
		rc = settle_decide(c, from, ids.greatest, &open, out, err);
	else
		out->value = xstrdup(ids.greatest);
	settle_keep_id(from, out);
	settle_judge_ids(c, &ids, out, reason);
	if (!rc)
		rc = settle_rest(c, from, &server, err);
	if (!rc)
		rc = settle_judge(c, &server, &open, from, out, reason, err);
	mysql_source_server_release(&server);
	out->held_by = json_incref(open.held_by);
	out->lag_us =
		open.oldest_us == INT64_MAX ? 0 : open.now_us - open.oldest_us;
	mysql_source_activity_release(&open);
	mysql_source_ids_release(&ids);
	return rc;
}

int mysql_source_settle(struct connector *base,
			const struct source_spec *source,
			const struct schema *schema,
			const struct watermark_spec *mark,
			const struct watermark *from, struct settled *out,
			struct error *err)
{
	struct mysql_source *c = (struct mysql_source *)base;
	struct strbuf reason = STRBUF_INIT;
	char *look = NULL;
	int rc;

	(void)schema;
	paged_end_pass(&c->paged);
	mysql_source_idle_forget(c);
	json_decref(c->looked);
	c->looked = NULL;
	settled_release(out);
	if (!mark)
		return settle_whole(out);
	rc = paged_layout_for(&c->paged, source, mark, err);
	if (!rc)
		rc = mysql_source_check_lineage(c, mark, from, err);
	if (rc)
		return rc;
	out->guarantee = GUARANTEE_EXACT;
	settle_engine(&c->paged.layout.table, out, &reason);
	look = settle_ask(c, mark, from, err);
	if (!look)
		rc = -(int)err->code;
	else
		rc = mark->strategy == STRATEGY_TIMESTAMP
			     ? settle_timestamp(c, mark, look, from, out,
						&reason, err)
			     : settle_sequence(c, mark, look, from, out,
					       &reason, err);
	mysql_client_forget_ahead(c->db);
	free(look);
	if (!mark->settle)
		settle_explain_off(mark, out, &reason);
	out->reason = strbuf_detach(&reason);
	if (rc)
		return paged_judge(&c->paged, source, mark, rc, err);
	return failpoint("ceiling_taken", err);
}

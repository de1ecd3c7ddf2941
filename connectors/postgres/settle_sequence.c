#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/common/delivered.h"
#include "connectors/common/settle.h"
#include "connectors/postgres/activity.h"
#include "connectors/postgres/durable.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/replay.h"
#include "connectors/postgres/sequences.h"
#include "connectors/postgres/surroundings.h"
#include "core/base/alloc.h"
#include "core/base/log.h"

/* Sequences give ids out in order, but transactions commit out of order. Every
 * id up to the greatest one seen belongs to a transaction that is over, or to
 * one that is open right afterwards. So the maximum is read first, and the
 * transactions second. */
struct settle_ids {
	char *max; /* NULL: no row */
	struct activity open;
};

/* A transaction with an id up to the maximum took it before the maximum's row
 * was committed. The log has the sequence's step before that commit. So the
 * log's end behind the snapshot is enough. It is read before the table, since a
 * reader that tidies up pages writes to the log, too. */
static char *settle_max_sql(const struct postgres *c, const char *columns)
{
	const struct source_column *mark = source_mark(&c->layout);
	bool nan = postgres_source_wire(mark)->wire->oid == WIRE_NUMERIC;

	return xstrfmt("SELECT %s(SELECT max(%s)::text FROM %s AS %s%s%s%s)",
		       columns, mark->sql, c->layout.table.sql,
		       c->layout.table.alias, nan ? " WHERE " : "",
		       nan ? mark->sql : "", nan ? " <> 'NaN'" : "");
}

/* The maximum first: each statement looks behind the one before. */
static int settle_ask_ahead(struct postgres *c,
			    const struct source_spec *source, struct error *err)
{
	const struct relation *relation = postgres_source_relation(&c->layout);
	char *sql = settle_max_sql(c, DURABLE_COLUMNS ", ");

	pg_ahead_add(c->pg, sql, 0, NULL);
	postgres_source_activity_ahead(c->pg);
	postgres_source_sequences_ahead(c->pg, relation,
					source_mark(&c->layout));
	postgres_source_surroundings_ahead(c->pg, relation->oid, source,
					   STRATEGY_SEQUENCE);
	free(sql);
	return pg_ahead_ask(c->pg, err);
}

static int settle_max(struct postgres *c, char **max, struct settled *out,
		      struct error *err)
{
	struct error why = ERROR_INIT;
	struct pg_result *r = NULL;
	char *sql = settle_max_sql(c, DURABLE_COLUMNS ", ");
	int rc = pg_query(c->pg, &r, sql, "1" DURABLE_SHAPE "?", 0, NULL, &why);

	free(sql);
	c->log_hidden = rc && postgres_source_durable_is_hidden(&why);
	if (c->log_hidden) {
		sql = settle_max_sql(c, "");
		rc = pg_query(c->pg, &r, sql, "1?", 0, NULL, err);
		free(sql);
	} else if (rc) {
		*err = why;
	}
	if (!rc && !c->log_hidden) {
		c->unflushed = postgres_source_durable_target(r, 0);
		postgres_source_durable_tell(r, 0, out);
	}
	if (!rc)
		*max = xstrdup(pg_value(r, 0, pg_columns(r) - 1));
	pg_result_free(r);
	return rc;
}

/* a > b as numbers; a text that is no whole number (set by hand) by the
 * server's arithmetic. */
static int settle_is_greater(struct postgres *c, const char *a, const char *b,
			     bool *out, struct error *err)
{
	struct pg_result *r = NULL;
	const char *params[] = { a, b };
	int rc;

	*out = number_is_whole(a) && number_is_whole(b) &&
	       number_is_greater(a, b);
	if (number_is_whole(a) && number_is_whole(b))
		return 0;
	rc = pg_query(c->pg, &r, "SELECT $1::numeric > $2::numeric", "1t", 2,
		      params, err);
	if (!rc)
		*out = *pg_value(r, 0, 0) == 't';
	pg_result_free(r);
	return rc;
}

static int settle_sequence_restarted(const struct postgres *c,
				     const struct watermark *from,
				     const struct sequence_info *s,
				     struct error *err)
{
	error_set(err, ERROR_SCHEMA,
		  "sequence %s was restarted since the mark was taken "
		  "(TRUNCATE ... RESTART IDENTITY, ALTER SEQUENCE ... "
		  "RESTART%s, or made anew): rows that get ids up to the "
		  "mark, %s, again would never be read",
		  s->name, s->crash ? ", a crash, as it is UNLOGGED" : "",
		  from->value);
	return settle_way_out(c->described, err);
}

static int settle_sequence_ahead(const struct postgres *c, const char *mark,
				 const struct sequence_info *s,
				 struct error *err)
{
	error_set(err, ERROR_SCHEMA,
		  "the mark, %s, is ahead of sequence %s, which is at %s: the "
		  "source cannot have produced it",
		  mark, s->name, s->last ? s->last : "its start");
	return settle_way_out(c->described, err);
}

static int settle_sequence_guess(const struct postgres *c, const char *mark,
				 const struct sequence_info *s,
				 struct error *err)
{
	error_set(err, ERROR_SCHEMA,
		  "sequence %s was altered or exchanged since the mark, %s, "
		  "was taken, and the role may not see where it stands, so "
		  "rows that get ids up to the mark again might never be "
		  "read. " ERROR_FIX
		  "GRANT SELECT ON SEQUENCE %s to the role; or:",
		  s->name, mark, s->name);
	return settle_way_out(c->described, err);
}

/* Is the sequence behind the mark? Ids that were not taken from it, of rows
 * that are there, prove nothing. */
static int settle_behind(struct postgres *c, const struct watermark *from,
			 const struct sequence_info *s, const char *max,
			 bool proof, bool *behind, struct error *err)
{
	int rc = 0;

	*behind = proof && s->may_see && !s->last;
	if (s->reach)
		rc = settle_is_greater(c, from->value, s->reach, behind, err);
	if (!rc && *behind && !proof && max)
		rc = settle_is_greater(c, from->value, max, behind, err);
	return rc;
}

/* Ids that began anew somewhere else than at the mark hide rows behind it: of
 * what was altered, the position decides. */
static int settle_check_sequence(struct postgres *c,
				 const struct watermark *from,
				 const struct sequence_info *s, const char *max,
				 struct error *err)
{
	const json_t *note = json_object_get(from->pending, SEQUENCES);
	enum sequence_change change = postgres_source_sequence_change(s, note);
	bool proof = change != SEQUENCE_SAME ||
		     (s->fills && postgres_source_sequences_were_exact(note));
	bool behind = false;
	int rc;

	if (s->descending)
		return error_set(err, ERROR_CONFIG,
				 "strategy sequence cannot serve \"%s\": "
				 "sequence %s counts down" ERROR_FIX
				 "; use strategy xmin or timestamp",
				 source_mark(&c->layout)->name, s->name);
	if (!from->value)
		return 0;
	if (change == SEQUENCE_RESTARTED)
		return settle_sequence_restarted(c, from, s, err);
	if (change != SEQUENCE_SAME && !s->may_see)
		return settle_sequence_guess(c, from->value, s, err);
	rc = settle_behind(c, from, s, max, proof, &behind, err);
	if (!rc && behind)
		rc = postgres_source_replay_check(
			c, from->value, s->last ? s->last : "its start", err);
	if (!rc && behind)
		return change == SEQUENCE_SAME
			       ? settle_sequence_ahead(c, from->value, s, err)
			       : settle_sequence_restarted(c, from, s, err);
	if (change != SEQUENCE_SAME)
		c->reread = true;
	return rc;
}

/* The table was emptied, or the sequence altered. Nothing shows whether ids
 * began anew and have passed the mark again. Then rows with ids up to the mark
 * would be new, so they are read again. */
static void settle_reread(struct postgres *c, const struct watermark *from,
			  const struct sequences *found)
{
	const json_t *note = json_object_get(from->pending, SEQUENCES);

	if (from->value && postgres_source_sequences_table_changed(found, note))
		c->reread = true;
	if (c->reread)
		log_warn("the table of %s, or the sequence of \"%s\", was "
			 "emptied, rewritten or altered since the last run: "
			 "rows up to the mark, %s, are read again, as their "
			 "ids may have been given out again",
			 c->layout.table.sql, source_mark(&c->layout)->name,
			 from->value);
}

/* An id beyond the sequence is not from it. */
static int settle_by_hand(struct postgres *c, const struct sequences *found,
			  const char *max, bool *exact, struct strbuf *reason,
			  struct error *err)
{
	int rc = 0;

	for (size_t i = 0; max && !rc && i < found->n; i++) {
		const struct sequence_info *s = &found->items[i];
		bool beyond = false;
		if (!s->fills || !s->may_see)
			continue;
		beyond = !s->last;
		if (s->reach)
			rc = settle_is_greater(c, max, s->reach, &beyond, err);
		if (rc || !beyond)
			continue;
		*exact = false;
		reason_add(reason,
			   "the highest id, %s, is beyond sequence %s, which "
			   "is at %s: ids are given by hand, and may come "
			   "behind the mark (set watermark.lag, or setval() "
			   "the sequence)",
			   max, s->name, s->last ? s->last : "its start");
	}
	return rc;
}

static bool settle_doubts(struct postgres *c, const struct sequences *found,
			  struct strbuf *reason)
{
	struct sequence_doubt doubts[SEQUENCE_MOST_DOUBTS];
	size_t n = postgres_source_sequences_doubt(found, &c->layout, doubts);

	for (size_t i = 0; i < n; i++)
		reason_add(reason, "%s (%s)", doubts[i].reason, doubts[i].fix);
	postgres_source_sequence_doubts_release(doubts, n);
	return n > 0;
}

static int settle_check_sequences(struct postgres *c,
				  const struct watermark *from, const char *max,
				  struct settled *out, json_t **noted,
				  struct strbuf *reason, struct error *err)
{
	struct sequences found;
	bool exact;
	int rc = postgres_source_sequences_find(
		c->pg, postgres_source_relation(&c->layout),
		source_mark(&c->layout), &found, err);

	for (size_t i = 0; !rc && i < found.n; i++)
		rc = settle_check_sequence(c, from, &found.items[i], max, err);
	if (!rc)
		settle_reread(c, from, &found);
	exact = !settle_doubts(c, &found, reason);
	if (!rc)
		rc = settle_by_hand(c, &found, max, &exact, reason, err);
	if (!exact)
		settle_weaken(out, GUARANTEE_LAG);
	if (!rc && found.n && (max || from->value))
		*noted = postgres_source_sequences_note(&found, exact);
	postgres_source_sequences_release(&found);
	return rc;
}

/* The pending pair's id; NULL: there is none, or a version of Tidemark wrote it
 * that did not know prepared transactions again. */
static const char *settle_pending_max(const struct watermark *from)
{
	const json_t *set = json_object_get(from->pending, "open");

	if (!json_is_object(json_array_get(set, 0)))
		return NULL;
	return json_string_value(json_object_get(from->pending, "max"));
}

/* The greatest settled id, and the ids left to a later run. An older pending
 * pair is kept until its transactions are over: a pair that is renewed on every
 * run might never be settled. */
static int settle_decide(struct postgres *c, const struct watermark *from,
			 struct settle_ids *ids, struct settled *out,
			 struct error *err)
{
	const char *max = settle_pending_max(from);
	json_t *now = json_incref(ids->open.open), *before = NULL;
	int rc = postgres_source_activity_wait(c->pg, &now, err);

	if (!rc && max && json_array_size(now))
		before = postgres_source_activity_left(
			&ids->open, json_object_get(from->pending, "open"));
	if (!rc && !json_array_size(now)) {
		out->value = xstrdup(ids->max);
	} else if (!rc && json_array_size(before)) {
		out->pending =
			json_pack("{s:s, s:O}", "max", max, "open", before);
	} else if (!rc) {
		out->value = xstrdup(max);
		if (ids->max)
			out->pending = json_pack("{s:s, s:O}", "max", ids->max,
						 "open", now);
	}
	json_decref(before);
	json_decref(now);
	return rc;
}

/* Nothing before the mark is open, and what is pending is beyond it. */
static int settle_against_mark(struct postgres *c, const struct watermark *from,
			       struct settled *out, struct error *err)
{
	const char *max =
		json_string_value(json_object_get(out->pending, "max"));
	bool greater = false;
	int rc = 0;

	if (from->value && out->value)
		rc = settle_is_greater(c, out->value, from->value, &greater,
				       err);
	if (!rc && from->value && !greater) {
		free(out->value);
		out->value = xstrdup(from->value);
	}
	greater = true;
	if (!rc && max && out->value)
		rc = settle_is_greater(c, max, out->value, &greater, err);
	if (!greater) {
		json_decref(out->pending);
		out->pending = NULL;
	}
	return rc;
}

static void settle_note_sequences(struct settled *out, json_t *sequences)
{
	if (!sequences)
		return;
	if (!out->pending)
		out->pending = json_object();
	json_object_set(out->pending, SEQUENCES, sequences);
}

static void settle_describe(const struct settle_ids *ids, bool log_hidden,
			    const struct watermark_spec *mark,
			    struct settled *out, struct strbuf *reason)
{
	const struct activity *a = &ids->open;
	int64_t oldest_us = a->oldest_us;
	json_t *oldest = a->held_by;

	if (postgres_source_activity_explain(a, reason))
		settle_weaken(out, GUARANTEE_LAG);
	if (log_hidden) {
		postgres_source_durable_explain(a->role, reason);
		settle_weaken(out, GUARANTEE_LAG);
	}
	if (!mark->settle)
		settle_explain_off(mark, out, reason);
	if (a->prepared_us < oldest_us) {
		oldest_us = a->prepared_us;
		oldest = a->prepared_by;
	}
	out->held_by = json_incref(oldest);
	out->lag_us = oldest_us == INT64_MAX ? 0 : a->now_us - oldest_us;
}

int postgres_source_settle_sequence(struct postgres *c,
				    const struct source_spec *source,
				    const struct watermark_spec *mark,
				    const struct watermark *from,
				    struct settled *out, struct error *err)
{
	struct settle_ids ids = { .max = NULL };
	struct strbuf reason = STRBUF_INIT;
	json_t *sequences = NULL;
	int rc;

	out->guarantee = GUARANTEE_EXACT;
	rc = settle_ask_ahead(c, source, err);
	if (!rc)
		rc = settle_max(c, &ids.max, out, err);
	if (!rc)
		rc = postgres_source_activity_read(c->pg, &ids.open, err);
	if (!rc)
		rc = settle_check_sequences(c, from, ids.max, out, &sequences,
					    &reason, err);
	if (!rc && mark->settle)
		rc = settle_decide(c, from, &ids, out, err);
	else if (!rc)
		out->value = xstrdup(ids.max);
	if (!rc)
		rc = settle_against_mark(c, from, out, err);
	if (!rc)
		settle_note_sequences(out, sequences);
	if (!rc)
		settle_describe(&ids, c->log_hidden, mark, out, &reason);
	out->reason = strbuf_detach(&reason);
	json_decref(sequences);
	postgres_source_activity_release(&ids.open);
	free(ids.max);
	return rc;
}

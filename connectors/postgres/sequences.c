#include "connectors/postgres/sequences.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/postgres/indexes.h"
#include "core/base/alloc.h"

/* In a note, beside the sequences by their oid. */
#define NOTE_TABLE "table"
#define NOTE_EXACT "exact"

/* pg_depend: 'a' and 'i' link a serial or identity column to its sequence, a
 * default depends on the sequences that it calls. The counters of the server
 * begin anew at each crash, and so does an unlogged sequence. */
static const char sequences_sql[] =
	"WITH col AS (\n"
	"  SELECT attrelid, attnum, attidentity FROM pg_attribute\n"
	"  WHERE attrelid = $1::oid AND attname = $2),\n"
	"found(oid, fills) AS (\n"
	"  SELECT d.objid, col.attidentity <> '' FROM pg_depend d JOIN col\n"
	"    ON d.refobjid = col.attrelid AND d.refobjsubid = col.attnum\n"
	"  WHERE d.classid = 'pg_class'::regclass\n"
	"    AND d.refclassid = 'pg_class'::regclass\n"
	"    AND d.deptype IN ('a', 'i')\n"
	"  UNION ALL\n"
	"  SELECT d.refobjid, pg_get_expr(ad.adbin, ad.adrelid)\n"
	"    ~ '^nextval\\(''([^'']|'''')*''::regclass\\)$'\n"
	"  FROM pg_attrdef ad JOIN col\n"
	"    ON ad.adrelid = col.attrelid AND ad.adnum = col.attnum\n"
	"  JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass\n"
	"    AND d.objid = ad.oid AND d.refclassid = 'pg_class'::regclass),\n"
	"seq(oid, fills) AS (\n"
	"  SELECT oid, bool_or(fills) FROM found GROUP BY oid),\n"
	"place AS (\n"
	"  SELECT s.seqrelid, has_sequence_privilege(s.seqrelid,\n"
	"    'USAGE, SELECT') AS may_see\n"
	"  FROM pg_sequence s JOIN seq ON seq.oid = s.seqrelid),\n"
	"last AS (\n"
	"  SELECT seqrelid, CASE WHEN may_see\n"
	"    THEN pg_sequence_last_value(seqrelid) END AS value FROM place)\n"
	"SELECT s.seqrelid::oid, s.seqrelid::regclass, s.seqincrement,\n"
	"  s.seqcache, s.seqcycle, seq.fills, place.may_see, last.value,\n"
	"  last.value::numeric + s.seqincrement - 1,\n"
	"  pg_relation_filenode(s.seqrelid),\n"
	"  concat_ws(' ', s.seqtypid, s.seqstart, s.seqincrement, s.seqmin,\n"
	"    s.seqmax, s.seqcache, s.seqcycle, c.relpersistence),\n"
	"  CASE WHEN c.relpersistence = 'u'\n"
	"    THEN (SELECT stats_reset FROM pg_stat_bgwriter) END,\n"
	"  coalesce(pg_relation_filenode($1::oid), 0)\n"
	"FROM pg_sequence s JOIN seq ON seq.oid = s.seqrelid\n"
	"  JOIN place USING (seqrelid) JOIN last USING (seqrelid)\n"
	"  JOIN pg_class c ON c.oid = s.seqrelid ORDER BY 2";

static int64_t sequence_number(const char *text)
{
	return text ? strtoll(text, NULL, 10) : 0;
}

static void sequence_read(struct sequence_info *s, const struct pg_result *r,
			  int row)
{
	s->oid = (uint32_t)strtoul(pg_value(r, row, 0), NULL, 10);
	s->name = xstrdup(pg_value(r, row, 1));
	s->increment = sequence_number(pg_value(r, row, 2));
	s->descending = s->increment < 0;
	s->cache = sequence_number(pg_value(r, row, 3));
	s->cycles = *pg_value(r, row, 4) == 't';
	s->fills = *pg_value(r, row, 5) == 't';
	s->may_see = *pg_value(r, row, 6) == 't';
	s->last = xstrdup(pg_value(r, row, 7));
	s->reach = xstrdup(pg_value(r, row, 8));
	s->file = sequence_number(pg_value(r, row, 9));
	s->definition = xstrdup(pg_value(r, row, 10));
	s->crash = xstrdup(pg_value(r, row, 11));
}

void postgres_source_sequences_ahead(struct pg *pg,
				     const struct relation *relation,
				     const struct source_column *column)
{
	char *oid = xstrfmt("%u", relation->oid);
	const char *params[] = { oid, column->name };

	if (!column->expression)
		pg_ahead_add(pg, sequences_sql, 2, params);
	free(oid);
}

int postgres_source_sequences_find(struct pg *pg,
				   const struct relation *relation,
				   const struct source_column *column,
				   struct sequences *out, struct error *err)
{
	struct pg_result *r = NULL;
	char *oid = xstrfmt("%u", relation->oid);
	const char *params[] = { oid, column->name };
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!column->expression)
		rc = pg_query(pg, &r, sequences_sql, "ttttttt???t?t", 2, params,
			      err);
	free(oid);
	if (rc || !r)
		return rc;
	out->n = (size_t)pg_rows(r);
	out->items = xcalloc(out->n ? out->n : 1, sizeof(*out->items));
	for (int i = 0; i < pg_rows(r); i++)
		sequence_read(&out->items[i], r, i);
	if (out->n)
		out->table_file = sequence_number(pg_value(r, 0, 12));
	pg_result_free(r);
	return 0;
}

static void doubt_unique(const struct source_layout *l,
			 struct sequence_doubt *d)
{
	const char *column = source_mark(l)->name;
	bool plain = postgres_source_relation(l)->kind == RELATION_TABLE &&
		     !postgres_source_relation(l)->has_children &&
		     !source_mark(l)->expression;

	d->code = "mark-not-unique";
	d->reason = xstrfmt("no unique index is on \"%s\" alone, so a row may "
			    "come later with an id that the mark has passed",
			    column);
	d->fix = plain ? xstrfmt("CREATE UNIQUE INDEX CONCURRENTLY ON %s "
				 "(\"%s\")",
				 l->table.sql, column)
		       : xstrdup("set watermark.lag, or use strategy xmin or "
				 "timestamp");
}

static void doubt_origin(const struct source_layout *l,
			 struct sequence_doubt *d)
{
	d->code = "ids-not-from-sequence";
	d->reason = xstrfmt("\"%s\" is not filled by one sequence alone "
			    "(identity, serial or DEFAULT nextval), so an "
			    "application may use an id that the mark has "
			    "passed",
			    source_mark(l)->name);
	d->fix = xstrdup("set watermark.lag to more ids than writers hold "
			 "back, or use strategy xmin or timestamp");
}

static void doubt_end(const struct sequence_info *s, struct sequence_doubt *d)
{
	d->code = "sequence-cycles";
	d->reason = xstrfmt("sequence %s cycles: at its end it gives out ids "
			    "that the mark has passed",
			    s->name);
	d->fix = xstrfmt("ALTER SEQUENCE %s NO CYCLE", s->name);
}

static void doubt_steps(const struct sequence_info *s, struct sequence_doubt *d)
{
	d->code = s->cache > 1 ? "sequence-cache" : "sequence-increment";
	d->reason = xstrfmt(
		s->cache > 1
			? "sequence %s has CACHE %" PRId64
			  ": a session may use the ids of its cache late"
			: "sequence %s has INCREMENT BY %" PRId64
			  ": an application may hand out the ids between two "
			  "steps late",
		s->name, s->cache > 1 ? s->cache : s->increment);
	d->fix = xstrfmt("ALTER SEQUENCE %s %s 1, or set watermark.lag to "
			 "%" PRId64 " times the sessions that write",
			 s->name, s->cache > 1 ? "CACHE" : "INCREMENT BY",
			 s->cache * s->increment);
}

static bool sequences_unique(const struct source_layout *l)
{
	const struct source_column *mark = source_mark(l);
	bool heirs = postgres_source_relation(l)->kind == RELATION_TABLE &&
		     postgres_source_relation(l)->has_children;

	return !mark->expression && !heirs &&
	       postgres_source_indexes_unique_on(l, mark->name);
}

size_t
postgres_source_sequences_doubt(const struct sequences *s,
				const struct source_layout *l,
				struct sequence_doubt out[SEQUENCE_MOST_DOUBTS])
{
	const struct sequence_info *fills = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->items[i].fills)
			fills = &s->items[i];
	}
	if (!fills)
		doubt_origin(l, &out[n++]);
	if (fills && fills->cycles)
		doubt_end(fills, &out[n++]);
	if (fills && (fills->cache > 1 || fills->increment != 1))
		doubt_steps(fills, &out[n++]);
	if (!sequences_unique(l))
		doubt_unique(l, &out[n++]);
	return n;
}

void postgres_source_sequence_doubts_release(struct sequence_doubt *doubts,
					     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(doubts[i].reason);
		free(doubts[i].fix);
	}
}

static json_t *sequence_note(const struct sequence_info *s)
{
	return s->crash
		       ? json_pack("[s, I, s, s]", s->name, (json_int_t)s->file,
				   s->definition, s->crash)
		       : json_pack("[s, I, s]", s->name, (json_int_t)s->file,
				   s->definition);
}

json_t *postgres_source_sequences_note(const struct sequences *s, bool exact)
{
	json_t *note = json_object();

	for (size_t i = 0; i < s->n; i++) {
		char *oid = xstrfmt("%u", s->items[i].oid);
		json_object_set_new(note, oid, sequence_note(&s->items[i]));
		free(oid);
	}
	json_object_set_new(note, NOTE_EXACT, json_boolean(exact));
	if (s->table_file)
		json_object_set_new(note, NOTE_TABLE,
				    json_integer(s->table_file));
	return note;
}

/* A note of an older version has the file and the definition, by the name. */
static bool note_read(const json_t *note, const struct sequence_info *s,
		      int64_t *file, const char **definition,
		      const char **crash)
{
	char *oid = xstrfmt("%u", s->oid);
	const json_t *before = json_object_get(note, oid);
	size_t skip = before ? 1 : 0;

	free(oid);
	if (!before)
		before = json_object_get(note, s->name);
	*file = json_integer_value(json_array_get(before, skip));
	*definition = json_string_value(json_array_get(before, skip + 1));
	*crash = json_string_value(json_array_get(before, skip + 2));
	return *definition != NULL;
}

bool postgres_source_sequences_were_exact(const json_t *note)
{
	return json_is_true(json_object_get(note, NOTE_EXACT));
}

/* RESTART gives a sequence another file. So does every change of its
 * definition, which leaves its position; setval() changes neither. If the
 * note's ids were in doubt, nothing was promised. */
enum sequence_change
postgres_source_sequence_change(const struct sequence_info *s,
				const json_t *note)
{
	const char *definition, *crash;
	int64_t file;

	if (!note_read(note, s, &file, &definition, &crash))
		return s->fills && postgres_source_sequences_were_exact(note)
			       ? SEQUENCE_EXCHANGED
			       : SEQUENCE_SAME;
	if (crash && s->crash && strcmp(crash, s->crash) != 0)
		return SEQUENCE_RESTARTED;
	if (file == s->file)
		return SEQUENCE_SAME;
	if (!strcmp(definition, s->definition))
		return SEQUENCE_RESTARTED;
	return postgres_source_sequences_were_exact(note) ? SEQUENCE_REDEFINED
							  : SEQUENCE_SAME;
}

bool postgres_source_sequences_table_changed(const struct sequences *s,
					     const json_t *note)
{
	json_int_t before =
		json_integer_value(json_object_get(note, NOTE_TABLE));

	return before && before != s->table_file;
}

void postgres_source_sequences_release(struct sequences *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->items[i].name);
		free(s->items[i].last);
		free(s->items[i].reach);
		free(s->items[i].definition);
		free(s->items[i].crash);
	}
	free(s->items);
	memset(s, 0, sizeof(*s));
}

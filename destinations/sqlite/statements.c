#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "core/data/value.h"
#include "destinations/sqlite/internal.h"

#define NEWER "tidemark_newer"

struct statement {
	struct strbuf sql;
	const struct schema *schema;
	const struct target *target;
	enum version_order version;
	bool triggers; /* are on the table */
	enum soft_delete soft_delete;
	const char *mark; /* the column of that */
};

static void statement_name(struct statement *s, const char *before, size_t i)
{
	strbuf_addstr(&s->sql, before);
	sql_quote_name(&s->sql, s->schema->columns[i].name, '"');
}

static void statement_names(struct statement *s)
{
	for (size_t i = 0; i < s->schema->n_columns; i++)
		statement_name(s, i ? ", " : "", i);
}

/* The new value of a column: a parameter, or a column of `excluded`. */
static void statement_new(struct statement *s, bool excluded, size_t i)
{
	if (excluded)
		statement_name(s, "excluded.", i);
	else
		strbuf_addf(&s->sql, "?%zu", i + 1);
}

static void statement_values(struct statement *s)
{
	for (size_t i = 0; i < s->schema->n_columns; i++) {
		strbuf_addstr(&s->sql, i ? ", " : "");
		statement_new(s, false, i);
	}
}

static void statement_key(struct statement *s)
{
	for (size_t i = 0; i < s->schema->n_key; i++)
		statement_name(s, i ? ", " : "", s->schema->key[i]);
}

/* A user's column may have a collation under which 'A' is 'a'. */
static void statement_equal(struct statement *s, const char *operator, size_t i,
			    bool excluded)
{
	statement_name(s, "t.", i);
	strbuf_addf(&s->sql, " %s ", operator);
	statement_new(s, excluded, i);
	strbuf_addstr(&s->sql, " COLLATE BINARY");
}

static void statement_key_equal(struct statement *s)
{
	if (!s->schema->n_key)
		strbuf_addstr(&s->sql, "true");
	for (size_t i = 0; i < s->schema->n_key; i++) {
		strbuf_addstr(&s->sql, i ? " AND " : "");
		statement_equal(s, "=", s->schema->key[i], false);
	}
}

/* Neither is older: a time may be written in two ways. */
static void statement_same_version(struct statement *s, size_t mark)
{
	bool text = s->version != VERSION_NONE && s->version != VERSION_VALUE;

	strbuf_addf(&s->sql, NEWER "(NULL, NULL)\n  AND (?%zu IS", mark + 1);
	statement_name(s, " t.", mark);
	if (text) {
		strbuf_addf(&s->sql, " OR (" NEWER "(?%zu", mark + 1);
		statement_name(s, ", t.", mark);
		statement_name(s, ") AND " NEWER "(t.", mark);
		strbuf_addf(&s->sql, ", ?%zu))", mark + 1);
	}
	strbuf_addch(&s->sql, ')');
}

/* An older version never replaces a newer one. The exception is a stored
 * version up to the last one that this pipeline has delivered itself (the last
 * parameter). Without a mark nothing says which is older, and the source's word
 * counts. The function also notes that the row was there already, so it is
 * called in any case. */
static void statement_newer(struct statement *s, bool excluded)
{
	size_t mark = (size_t)s->schema->mark;
	int delivered = sqlite_target_statements_delivered_at(s->schema);

	if (s->target->in_place) {
		statement_same_version(s, mark);
		return;
	}
	if (s->version == VERSION_NONE || s->version == VERSION_VALUE) {
		strbuf_addstr(&s->sql, NEWER "(NULL, NULL)");
		if (s->version == VERSION_NONE)
			return;
		/* A text is above every number: a hand wrote it. */
		statement_name(s, "\n  AND (typeof(t.", mark);
		strbuf_addstr(&s->sql, ") NOT IN ('integer', 'real') OR ");
		statement_new(s, excluded, mark);
		statement_name(s, " >= t.", mark);
		strbuf_addf(&s->sql, " OR CAST(?%d AS NUMERIC)", delivered);
		statement_name(s, " >= t.", mark);
	} else {
		strbuf_addstr(&s->sql, "(" NEWER "(");
		statement_new(s, excluded, mark);
		statement_name(s, ", t.", mark);
		strbuf_addf(&s->sql, ") OR " NEWER "(?%d", delivered);
		statement_name(s, ", t.", mark);
		strbuf_addch(&s->sql, ')');
	}
	strbuf_addstr(&s->sql, " OR ");
	statement_new(s, excluded, mark);
	strbuf_addstr(&s->sql, " IS NULL)");
}

/* SQLite takes no expression deeper than 1000: a chain of OR is as deep as it
 * is long, one of groups is not. */
#define STATEMENT_GROUP 64

/* The mark first: it tells most rows apart. */
static void statement_differs(struct statement *s, bool excluded)
{
	const struct schema *schema = s->schema;
	const char *before = "(";
	size_t n = 0;

	if (schema->mark >= 0 &&
	    target_writes(s->target, (size_t)schema->mark)) {
		strbuf_addstr(&s->sql, before);
		statement_equal(s, "IS NOT", (size_t)schema->mark, excluded);
		before = "\n    OR ";
	}
	for (size_t i = 0; i < schema_compared(schema); i++) {
		if (schema_is_key(schema, i) || (long)i == schema->mark)
			continue;
		strbuf_addstr(&s->sql, before);
		statement_equal(s, "IS NOT", i, excluded);
		before = ++n % STATEMENT_GROUP ? "\n    OR " : ")\n    OR (";
	}
	strbuf_addstr(&s->sql, *before == '(' ? "false" : ")");
}

/* A row that comes again loses its mark. */
static void statement_changed(struct statement *s, bool excluded)
{
	strbuf_addstr(&s->sql, "\n  AND (");
	if (s->schema->n_columns > s->schema->n_key)
		statement_differs(s, excluded);
	else
		strbuf_addstr(&s->sql, "false");
	if (s->soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(&s->sql, "\n    OR t.");
		sql_quote_name(&s->sql, s->mark, '"');
		strbuf_addstr(&s->sql, soft_delete_is(s->soft_delete));
	}
	strbuf_addch(&s->sql, ')');
}

static bool statement_may_change(const struct statement *s)
{
	return s->schema->n_columns > s->schema->n_key ||
	       s->soft_delete != SOFT_DELETE_NONE;
}

static void statement_set(struct statement *s)
{
	const char *before = "";

	for (size_t i = 0; i < s->schema->n_columns; i++) {
		if (schema_is_key(s->schema, i))
			continue;
		statement_name(s, before, i);
		statement_name(s, " = excluded.", i);
		before = ", ";
	}
	if (s->soft_delete == SOFT_DELETE_NONE)
		return;
	strbuf_addstr(&s->sql, before);
	sql_quote_name(&s->sql, s->mark, '"');
	strbuf_addstr(&s->sql, soft_delete_clears(s->soft_delete));
}

/* A constraint may say ON CONFLICT IGNORE, or REPLACE, which takes another row
 * away: OR ABORT goes before it. But it goes before what triggers say, too. */
static void statement_insert_into(struct statement *s, const char *table)
{
	strbuf_addf(&s->sql, "INSERT%s INTO %s ",
		    s->triggers ? "" : " OR ABORT", table);
}

static void statement_insert(struct statement *s, const char *table)
{
	statement_insert_into(s, table);
	strbuf_addstr(&s->sql, "AS t (");
	statement_names(s);
	strbuf_addstr(&s->sql, ")\nVALUES (");
	statement_values(s);
	strbuf_addch(&s->sql, ')');
	/* Nothing tells rows apart: all of them are new. */
	if (!s->schema->n_key)
		return;
	strbuf_addstr(&s->sql, "\nON CONFLICT (");
	statement_key(s);
	strbuf_addstr(&s->sql, ") ");
}

static void statement_upsert(struct statement *s, const char *table)
{
	statement_insert(s, table);
	if (!s->schema->n_key)
		return;
	if (!statement_may_change(s)) {
		strbuf_addstr(&s->sql, "DO NOTHING");
		return;
	}
	strbuf_addstr(&s->sql, "DO UPDATE SET ");
	statement_set(s);
	strbuf_addstr(&s->sql, "\nWHERE ");
	statement_newer(s, true);
	statement_changed(s, true);
}

static void statement_remove(struct statement *s, const char *table)
{
	strbuf_addf(&s->sql, "DELETE FROM %s AS t WHERE ", table);
	statement_key_equal(s);
	if (!statement_may_change(s)) {
		strbuf_addstr(&s->sql, " AND false");
		return;
	}
	strbuf_addstr(&s->sql, "\n  AND ");
	statement_newer(s, false);
	statement_changed(s, false);
	/* All columns are bound: the last one has to be named. */
	if (s->schema->stamped)
		strbuf_addf(&s->sql, " AND ?%zu IS NOT NULL",
			    s->schema->n_columns);
}

/* Only a row that is there; the function says whether it is. */
static void statement_update(struct statement *s, const char *table)
{
	const char *before = "";

	strbuf_addf(&s->sql, "UPDATE%s %s AS t SET ",
		    s->triggers ? "" : " OR ABORT", table);
	for (size_t i = 0; i < s->schema->n_columns; i++) {
		if (!target_writes(s->target, i))
			continue;
		statement_name(s, before, i);
		strbuf_addf(&s->sql, " = ?%zu", i + 1);
		before = ", ";
	}
	strbuf_addstr(&s->sql, "\nWHERE ");
	statement_key_equal(s);
	strbuf_addstr(&s->sql, "\n  AND ");
	statement_newer(s, false);
	strbuf_addstr(&s->sql, "\n  AND (");
	statement_differs(s, false);
	/* All columns are bound: the last one has to be named. */
	strbuf_addf(&s->sql, ") AND coalesce(?%zu, 1) IS NOT NULL",
		    s->schema->n_columns);
}

/* A pipeline appends in the order it reads, so a key's newest row is its last.
 * One like it is not appended again. */
static void statement_is_new(struct statement *s, const char *table)
{
	strbuf_addf(&s->sql,
		    "NOT EXISTS (SELECT 1 FROM (SELECT * FROM %s AS t"
		    "\n  WHERE ",
		    table);
	statement_key_equal(s);
	strbuf_addstr(&s->sql, "\n  ORDER BY " NAME_RAW_SEQ
			       " DESC LIMIT 1) AS t WHERE true");
	for (size_t i = 0; i < schema_compared(s->schema); i++) {
		strbuf_addstr(&s->sql, "\n  AND ");
		statement_equal(s, "IS", i, false);
	}
	strbuf_addch(&s->sql, ')');
}

/* A refresh fills a table that has nothing yet, and no index. */
static void statement_append(struct statement *s, const char *table,
			     bool refresh)
{
	size_t n = s->schema->n_columns;

	statement_insert_into(s, table);
	strbuf_addch(&s->sql, '(');
	statement_names(s);
	strbuf_addstr(&s->sql, ", " NAME_RAW_BATCH ", " NAME_RAW_SEQ
			       ", " NAME_RAW_LOADED ")\nSELECT ");
	statement_values(s);
	strbuf_addf(&s->sql, ", ?%zu, ?%zu, ?%zu", n + 1, n + 2, n + 3);
	if (refresh || !s->schema->n_key)
		return;
	strbuf_addstr(&s->sql, "\nWHERE ");
	statement_is_new(s, table);
}

/* Is the row there, or anything newer? All columns are bound to it: the last
 * one has to be named. A raw row has a number of its own, a row that was
 * updated the mark of others. */
static void statement_look(struct statement *s, const char *table)
{
	long mark = s->schema->mark;

	strbuf_addf(&s->sql, "SELECT ?%zu FROM %s AS t WHERE ",
		    s->schema->n_columns, table);
	statement_key_equal(s);
	if (s->target->mode == LOAD_APPEND) {
		strbuf_addf(&s->sql, "\n  AND t." NAME_RAW_SEQ " = ?%zu",
			    s->schema->n_columns + 1);
	} else if (s->target->mode == LOAD_UPDATE) {
		/* the key is enough */
	} else if (s->version == VERSION_VALUE) {
		statement_name(s, "\n  AND (t.", (size_t)mark);
		strbuf_addf(&s->sql, " < ?%ld) IS NOT TRUE", mark + 1);
	} else if (s->version != VERSION_NONE) {
		statement_name(s, "\n  AND (t.", (size_t)mark);
		strbuf_addf(&s->sql, " IS NULL OR ?%ld IS NULL OR " NEWER "(",
			    mark + 1);
		statement_name(s, "t.", (size_t)mark);
		strbuf_addf(&s->sql, ", ?%ld))", mark + 1);
	}
	strbuf_addstr(&s->sql, "\nLIMIT 1");
}

/* A row was not written: was this right? */
static void statement_same(struct statement *s, const char *table)
{
	bool update = s->target->mode == LOAD_UPDATE;

	if (s->target->mode == LOAD_APPEND) {
		strbuf_addf(&s->sql, "SELECT ?%zu WHERE NOT ",
			    s->schema->n_columns);
		statement_is_new(s, table);
		return;
	}
	strbuf_addf(&s->sql,
		    "SELECT ?%zu WHERE %sEXISTS (SELECT 1 FROM %s AS "
		    "t WHERE ",
		    s->schema->n_columns, update ? "NOT " : "", table);
	statement_key_equal(s);
	strbuf_addstr(&s->sql, update ? "\n  AND " : "\n  AND NOT coalesce(");
	if (update || statement_may_change(s)) {
		statement_newer(s, false);
		statement_changed(s, false);
	} else {
		strbuf_addstr(&s->sql, "false");
	}
	strbuf_addstr(&s->sql, update ? ")" : ", false))");
}

void sqlite_target_statements_key(struct strbuf *sb,
				  const struct schema *schema)
{
	struct statement s = { .sql = *sb, .schema = schema };

	statement_key_equal(&s);
	*sb = s.sql;
}

static int statement_prepare(struct sqlite_target *d, struct statement *s,
			     struct sqlite_statement **out, struct error *err)
{
	int rc = sqlite_prepare(d->db, out, s->sql.data, err);

	if (rc)
		error_prefix(err, "table %s", d->target->table);
	strbuf_reset(&s->sql);
	return rc;
}

static bool statement_note_newer(void *ctx, const char *a, size_t n_a,
				 const char *b, size_t n_b)
{
	struct sqlite_target *d = ctx;

	d->met = true;
	return sqlite_target_version_is_current(d->version, a, n_a, b, n_b);
}

void sqlite_target_statements_release(struct sqlite_target *d)
{
	sqlite_finalize(d->insert);
	sqlite_finalize(d->remove);
	sqlite_finalize(d->add);
	sqlite_finalize(d->look);
	sqlite_finalize(d->same);
	sqlite_finalize(d->drop);
	sqlite_finalize(d->pull);
	d->insert = d->remove = d->add = d->look = d->same = NULL;
	d->drop = d->pull = NULL;
}

/* Would somebody notice that a changed row is deleted and inserted again? Its
 * triggers, and columns that the source does not have. */
static bool statement_may_replace(const struct target *target,
				  const struct catalog_table *there)
{
	size_t written = 0;

	for (size_t i = 0; i < there->n_columns; i++)
		written += !there->columns[i].generated;
	return target->mode == LOAD_UPSERT && !target->refresh &&
	       there->other_unique && !there->triggers &&
	       written == target->schema->n_columns;
}

static int statement_halves(struct sqlite_target *d, struct statement *s,
			    const char *table, struct error *err)
{
	int rc;

	statement_remove(s, table);
	rc = statement_prepare(d, s, &d->remove, err);
	statement_insert(s, table);
	strbuf_addstr(&s->sql, "DO NOTHING");
	return rc ? rc : statement_prepare(d, s, &d->add, err);
}

static int statement_looks(struct sqlite_target *d, struct statement *s,
			   const char *table, struct error *err)
{
	int rc;

	statement_look(s, table);
	rc = statement_prepare(d, s, &d->look, err);
	statement_same(s, table);
	return rc ? rc : statement_prepare(d, s, &d->same, err);
}

static void statement_find_soft_delete(struct sqlite_target *d,
				       const struct catalog_table *there)
{
	const char *name = d->target->soft_delete;
	const struct catalog_column *c =
		name ? sqlite_target_catalog_find(there, name) : NULL;

	d->mark.soft_delete = soft_delete_of(d->target, c ? c->type : NULL);
	d->soft_zone =
		c && (strcasestr(c->type, "TZ") || strcasestr(c->type, "ZONE"));
}

int sqlite_target_statements_make(struct sqlite_target *d, const char *table,
				  const struct catalog_table *there,
				  struct error *err)
{
	struct statement s = { .sql = STRBUF_INIT,
			       .schema = d->target->schema,
			       .target = d->target,
			       .triggers = there->triggers };
	enum load_mode mode = d->target->mode;
	bool refresh = d->target->refresh;
	bool in_halves = mode == LOAD_DELETE_INSERT && !refresh;
	int rc;

	sqlite_target_statements_release(d);
	statement_find_soft_delete(d, there);
	s.soft_delete = d->mark.soft_delete;
	s.mark = d->target->soft_delete;
	s.version = d->version = sqlite_target_version_of(d->target, there);
	rc = sqlite_add_predicate(d->db, NEWER, statement_note_newer, d, err);
	if (!rc && (in_halves || statement_may_replace(d->target, there)))
		rc = statement_halves(d, &s, table, err);
	if (!rc && there->triggers && !refresh)
		rc = statement_looks(d, &s, table, err);
	if (mode == LOAD_APPEND)
		statement_append(&s, table, refresh);
	else if (mode == LOAD_UPDATE)
		statement_update(&s, table);
	else
		statement_upsert(&s, table);
	if (!rc && !in_halves)
		rc = statement_prepare(d, &s, &d->insert, err);
	strbuf_release(&s.sql);
	return rc;
}

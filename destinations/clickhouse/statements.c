#include <inttypes.h>
#include <string.h>

#include "core/data/table_name.h"
#include "core/data/value.h"
#include "destinations/clickhouse/internal.h"

/* Aliases for a row of the batch, and for the stored row of its key. No column
 * has such a name: `n.id` could also be the field id of a column n. */
#define NEW	"_tidemark_n."
#define OLD	"_tidemark_t."
#define THERE	OLD "_tidemark_there"
#define STATE	OLD "_tidemark_s"
#define N_STATE 3 /* the mark, the hash, whether it is deleted */

void clickhouse_target_statement_names(struct strbuf *sb,
				       const struct schema *s,
				       const char *prefix)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		strbuf_addf(sb, "%s%s", i ? ", " : "", prefix);
		clickhouse_quote_name(sb, s->columns[i].name);
	}
}

static void statement_compared(struct strbuf *sb, const struct schema *s)
{
	for (size_t i = 0; i < schema_compared(s); i++) {
		strbuf_addstr(sb, i ? ", " : "");
		clickhouse_quote_name(sb, s->columns[i].name);
	}
}

void clickhouse_target_statement_key(struct strbuf *sb, const struct schema *s,
				     const char *prefix)
{
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addf(sb, "%s%s", i ? ", " : "", prefix);
		clickhouse_quote_name(sb, s->columns[s->key[i]].name);
	}
}

/* A column of the table that the source does not have. It is kept as it is,
 * except for the one that marks a deleted row, which begins anew. */
static bool statement_is_extra(const struct clickhouse_target *d,
			       const struct catalog_column *c)
{
	const char *soft = d->target->soft_delete;

	return !d->target->preview && !c->computed && !name_is_own(c->name) &&
	       schema_find(d->target->schema, c->name) < 0 &&
	       (!soft || strcmp(soft, c->name) != 0);
}

static void statement_as(struct strbuf *sb, const char *name)
{
	strbuf_addstr(sb, " AS ");
	clickhouse_quote_name(sb, name);
}

static bool statement_appends(const struct clickhouse_target *d)
{
	return d->target->mode == LOAD_APPEND;
}

/* A hand may have changed what the hash was made of: a repair compares the
 * values. */
static bool statement_compares(const struct clickhouse_target *d)
{
	return d->target->overwrite && !d->target->preview;
}

/* (mark, hash, deleted, what is kept) of the newest row that a key has. */
static void statement_state(struct strbuf *sb,
			    const struct clickhouse_target *d)
{
	const struct schema *s = d->target->schema;
	const char *number = statement_appends(d) ? NAME_RAW_SEQ : NAME_VERSION;

	strbuf_addstr(sb, "argMax(tuple(");
	if (s->mark >= 0 && !statement_appends(d))
		clickhouse_quote_name(sb, s->columns[s->mark].name);
	else
		strbuf_addstr(sb, "0");
	strbuf_addf(sb, ", " NAME_HASH ", %s",
		    statement_appends(d) ? "0" : NAME_DELETED);
	for (size_t i = 0; !statement_appends(d) && i < d->there.n_columns;
	     i++) {
		if (!statement_is_extra(d, &d->there.columns[i]))
			continue;
		strbuf_addstr(sb, ", ");
		clickhouse_quote_name(sb, d->there.columns[i].name);
	}
	if (statement_compares(d)) {
		strbuf_addstr(sb, ", toString(tuple(");
		statement_compared(sb, s);
		strbuf_addstr(sb, "))");
	}
	strbuf_addf(sb,
		    "), %s) AS _tidemark_s,\n    max(%s) AS _tidemark_v, "
		    "1 AS _tidemark_there",
		    number, number);
}

/* Each row of the batch beside what is stored of its key. */
static void statement_join(struct strbuf *sb, const struct clickhouse_target *d)
{
	const struct schema *s = d->target->schema;

	strbuf_addf(sb, "FROM %s AS _tidemark_n\nLEFT JOIN (SELECT ",
		    d->place.incoming);
	for (size_t i = 0; i < s->n_key; i++) {
		clickhouse_quote_name(sb, s->columns[s->key[i]].name);
		strbuf_addf(sb, " AS _tidemark_k%zu, ", i);
	}
	statement_state(sb, d);
	strbuf_addf(sb, "\n  FROM %s\n  WHERE (", d->stored);
	clickhouse_target_statement_key(sb, s, "");
	strbuf_addstr(sb, ") IN (SELECT ");
	clickhouse_target_statement_key(sb, s, "");
	strbuf_addf(sb, " FROM %s)\n  GROUP BY ", d->place.incoming);
	clickhouse_target_statement_key(sb, s, "");
	strbuf_addstr(sb, ") AS _tidemark_t ON ");
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addf(sb, "%s" OLD "_tidemark_k%zu = " NEW,
			    i ? " AND " : "", i);
		clickhouse_quote_name(sb, s->columns[s->key[i]].name);
	}
}

static void statement_newer(struct strbuf *sb,
			    const struct clickhouse_target *d,
			    const char *delivered)
{
	const struct schema *s = d->target->schema;
	struct strbuf new = STRBUF_INIT;

	if (s->mark < 0 || d->target->overwrite) {
		strbuf_addstr(sb, "1");
		return;
	}
	strbuf_addstr(&new, NEW);
	clickhouse_quote_name(&new, s->columns[s->mark].name);
	clickhouse_target_version_newer(sb, &s->columns[s->mark].type, new.data,
					"tupleElement(" STATE ", 1)",
					delivered);
	strbuf_release(&new);
}

static int statement_last(const struct clickhouse_target *d)
{
	int n = N_STATE + 1;

	for (size_t i = 0; !statement_appends(d) && i < d->there.n_columns; i++)
		n += statement_is_extra(d, &d->there.columns[i]);
	return n;
}

#define IS_NEW "(" THERE " = 0 OR tupleElement(" STATE ", 3) = 1)"

/* As the table has it: a type may print in another way than the one sent. */
static void statement_sent(struct strbuf *sb, const struct clickhouse_target *d,
			   bool named)
{
	const struct schema *s = d->target->schema;
	size_t n = named ? s->n_columns : schema_compared(s);

	for (size_t i = 0; i < n; i++) {
		const struct catalog_column *c = clickhouse_target_catalog_find(
			&d->there, s->columns[i].name);

		strbuf_addf(sb, "%s_CAST(" NEW, i ? ", " : "");
		clickhouse_quote_name(sb, s->columns[i].name);
		strbuf_addstr(sb, ", ");
		clickhouse_quote_text(sb, c ? c->type : "String");
		strbuf_addch(sb, ')');
		if (named)
			statement_as(sb, s->columns[i].name);
	}
}

static void statement_writes(struct strbuf *sb,
			     const struct clickhouse_target *d,
			     const char *delivered)
{
	strbuf_addstr(sb, "(" IS_NEW " OR (");
	if (statement_compares(d)) {
		strbuf_addf(sb,
			    "tupleElement(" STATE ", %d) <> toString(tuple(",
			    statement_last(d));
		statement_sent(sb, d, false);
		strbuf_addstr(sb, "))");
	} else {
		strbuf_addstr(sb,
			      "tupleElement(" STATE ", 2) <> " NEW NAME_HASH);
	}
	if (!statement_appends(d)) {
		strbuf_addstr(sb, " AND ");
		statement_newer(sb, d, delivered);
	}
	strbuf_addstr(sb, "))");
}

void clickhouse_target_statement_count(struct strbuf *sb,
				       const struct clickhouse_target *d,
				       const char *delivered)
{
	strbuf_addstr(sb, "SELECT countIf(_tidemark_write AND _tidemark_new), "
			  "countIf(_tidemark_write AND NOT _tidemark_new), "
			  "count()\nFROM (SELECT ");
	strbuf_addstr(sb, statement_appends(d) ? "1" : IS_NEW);
	strbuf_addstr(sb, " AS _tidemark_new, ");
	statement_writes(sb, d, delivered);
	strbuf_addstr(sb, " AS _tidemark_write\n");
	statement_join(sb, d);
	strbuf_addch(sb, ')');
}

static bool statement_has_defaults(const struct clickhouse_target *d)
{
	for (size_t i = 0; !statement_appends(d) && i < d->there.n_columns; i++)
		if (d->there.columns[i].has_default &&
		    statement_is_extra(d, &d->there.columns[i]))
			return true;
	return false;
}

/* The column's default, as the server has it for rows that go straight into the
 * table. It does not ask _CAST(), which is its own, whether a type is a wise
 * one. */
static void statement_default(struct strbuf *sb, const struct catalog_column *c)
{
	if (*c->expression)
		strbuf_addf(sb, "_CAST(%s, ", c->expression);
	else
		strbuf_addstr(sb, "defaultValueOfTypeName(");
	clickhouse_quote_text(sb, c->type);
	strbuf_addch(sb, ')');
}

/* Columns from which a default may be made, beside the sent and kept ones. */
static void statement_beside(struct strbuf *sb,
			     const struct clickhouse_target *d)
{
	const char *before = "WITH ";

	for (size_t i = 0; i < d->there.n_columns; i++) {
		const struct catalog_column *c = &d->there.columns[i];

		if (statement_is_extra(d, c) ||
		    schema_find(d->target->schema, c->name) >= 0 ||
		    !strcmp(c->name, NAME_VERSION) ||
		    !strcmp(c->name, NAME_HASH))
			continue;
		strbuf_addstr(sb, before);
		statement_default(sb, c);
		statement_as(sb, c->name);
		before = ", ";
	}
	strbuf_addch(sb, '\n');
}

/* As it was, which is element `at` of the state; of a new row its default. */
static void statement_extra(struct strbuf *sb, const struct catalog_column *c,
			    int at, bool named)
{
	if (c->has_default) {
		strbuf_addstr(sb, "if(" IS_NEW ", ");
		statement_default(sb, c);
		strbuf_addf(sb, ", tupleElement(" STATE ", %d))", at);
	} else {
		strbuf_addf(sb, "tupleElement(" STATE ", %d)", at);
	}
	if (named)
		statement_as(sb, c->name);
}

static void statement_extras(struct strbuf *sb,
			     const struct clickhouse_target *d, bool values)
{
	/* A default may be of other columns. */
	bool named = values && statement_has_defaults(d);
	int at = N_STATE;

	for (size_t i = 0; !statement_appends(d) && i < d->there.n_columns;
	     i++) {
		const struct catalog_column *c = &d->there.columns[i];

		if (!statement_is_extra(d, c))
			continue;
		strbuf_addstr(sb, ", ");
		if (values)
			statement_extra(sb, c, ++at, named);
		else
			clickhouse_quote_name(sb, c->name);
	}
}

void clickhouse_target_statement_insert(struct strbuf *sb,
					const struct clickhouse_target *d,
					bool kept)
{
	strbuf_addf(sb, "INSERT INTO %s (", d->into);
	clickhouse_target_statement_names(sb, d->target->schema, "");
	if (kept)
		statement_extras(sb, d, false);
	strbuf_addstr(sb, statement_appends(d)
				  ? ", " NAME_RAW_BATCH ", " NAME_RAW_SEQ
				    ", " NAME_RAW_LOADED ", " NAME_HASH ")"
				  : ", " NAME_VERSION ", " NAME_HASH ")");
}

/* A hand wrote it: what should replace it would not. */
#define LAST_VERSION                                                           \
	"throwIf(" OLD "_tidemark_v = 18446744073709551615, 'a row has the "   \
	"largest " NAME_VERSION " that there is, and cannot be replaced; "     \
	"run once with --full-refresh')"

/* An INSERT casts the SELECT's values to the type that a column has by then. A
 * value that does not fit becomes another value. */
static void statement_as_seen(struct strbuf *sb,
			      const struct clickhouse_target *d)
{
	const struct schema *s = d->target->schema;
	struct strbuf types = STRBUF_INIT;
	size_t n = 0;

	if (d->target->preview)
		return;
	for (size_t i = 0; i < s->n_columns; i++) {
		const struct catalog_column *c = clickhouse_target_catalog_find(
			&d->there, s->columns[i].name);

		if (!c)
			continue;
		strbuf_addstr(&types, n++ ? ", (" : "(");
		clickhouse_quote_text(&types, c->name);
		strbuf_addstr(&types, ", ");
		clickhouse_quote_text(&types, c->type);
		strbuf_addch(&types, ')');
	}
	strbuf_addf(sb,
		    "(SELECT NOT throwIf(count() <> %zu, "
		    "'" CLICKHOUSE_TARGET_ALTERED
		    "') FROM system.columns WHERE database = ",
		    n);
	clickhouse_quote_text(sb, d->place.database);
	strbuf_addstr(sb, " AND table = ");
	clickhouse_quote_text(sb, clickhouse_target_place_loaded(d));
	strbuf_addf(sb, " AND (name, type) IN (%s))\n  AND ", types.data);
	strbuf_release(&types);
}

/* With names, where a default may be of them. */
static void statement_values(struct strbuf *sb,
			     const struct clickhouse_target *d, bool named)
{
	strbuf_addstr(sb, "SELECT ");
	if (named && !d->plain)
		statement_sent(sb, d, true);
	else
		clickhouse_target_statement_names(sb, d->target->schema, NEW);
	statement_extras(sb, d, true);
	strbuf_addstr(sb, ", ");
}

void clickhouse_target_statement_fence(struct strbuf *sb,
				       const struct clickhouse_target *d)
{
	if (d->target->preview) {
		strbuf_addch(sb, '1');
		return;
	}
	/* A value that is known before the first row: a condition of its own
	 * on each row would cost an eighth of the load. */
	strbuf_addf(sb,
		    "(SELECT NOT throwIf(max(" NAME_VERSION ") <> %" PRIu64
		    ", '" CLICKHOUSE_TARGET_MOVED
		    "') FROM %s WHERE pipeline = ",
		    d->seen.revision, d->place.marks_rows);
	clickhouse_quote_text(sb, d->target->pipeline);
	strbuf_addch(sb, ')');
}

/* The columns of ours, behind the others; `version`: SQL. */
static void statement_own(struct strbuf *sb, const struct clickhouse_target *d,
			  const struct checkpoint *next, const char *version)
{
	if (statement_appends(d)) {
		clickhouse_quote_text(sb, next->batch_id ? next->batch_id : "");
		strbuf_addstr(sb, ", " NEW NAME_RAW_SEQ ", now64(6)");
	} else {
		strbuf_addstr(sb, version);
	}
	strbuf_addstr(sb, ", " NEW NAME_HASH "\n");
}

void clickhouse_target_statement_select(struct strbuf *sb,
					const struct clickhouse_target *d,
					const struct checkpoint *next)
{
	bool named = statement_has_defaults(d);

	if (named)
		statement_beside(sb, d);
	statement_values(sb, d, named);
	statement_own(sb, d, next,
		      "greatest(" NEW NAME_VERSION ", if(" THERE " = 1, " OLD
		      "_tidemark_v + 1 + " LAST_VERSION ", 0))");
	statement_join(sb, d);
	strbuf_addstr(sb, "\nWHERE ");
	clickhouse_target_statement_fence(sb, d);
	strbuf_addstr(sb, "\n  AND ");
	statement_as_seen(sb, d);
	statement_writes(sb, d, next->delivered);
	if (statement_appends(d))
		strbuf_addstr(sb, "\nORDER BY " NEW NAME_RAW_SEQ);
}

void clickhouse_target_statement_select_all(struct strbuf *sb,
					    const struct clickhouse_target *d,
					    const struct checkpoint *next)
{
	strbuf_addstr(sb, "SELECT ");
	clickhouse_target_statement_names(sb, d->target->schema, NEW);
	strbuf_addstr(sb, ", ");
	statement_own(sb, d, next, NEW NAME_VERSION);
	strbuf_addf(sb, "FROM %s AS _tidemark_n\nWHERE ", d->place.incoming);
	clickhouse_target_statement_fence(sb, d);
	strbuf_addstr(sb, "\n  AND ");
	statement_as_seen(sb, d);
	strbuf_addf(
		sb,
		"(SELECT NOT throwIf(count() <> %zu, '" CLICKHOUSE_TARGET_OTHER
		"') FROM %s)",
		d->order.n, d->place.incoming);
}

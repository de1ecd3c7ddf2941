#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/mark_order.h"
#include "destinations/postgres/postgres.h"

void postgres_statement_column(struct strbuf *sb, const char *alias,
			       const char *name)
{
	strbuf_addstr(sb, alias);
	strbuf_addch(sb, '.');
	sql_quote_name(sb, name, '"');
}

/* The list of the batch's columns, each behind `alias` if there is one. */
static void statement_columns(struct strbuf *sb, const struct schema *s,
			      const char *alias)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		if (i)
			strbuf_addstr(sb, ", ");
		if (alias)
			postgres_statement_column(sb, alias,
						  s->columns[i].name);
		else
			sql_quote_name(sb, s->columns[i].name, '"');
	}
}

/* The operator is named in full: under search_path = pg_catalog a citext
 * would be compared as text, which its index does not serve. */
static void statement_key(struct strbuf *sb,
			  const struct postgres_destination *d,
			  const char *stored)
{
	const struct schema *s = d->target->schema;

	for (size_t i = 0; i < s->n_key; i++) {
		const char *name = s->columns[s->key[i]].name;

		if (i)
			strbuf_addstr(sb, " AND ");
		postgres_statement_column(sb, stored, name);
		strbuf_addf(sb, " OPERATOR(%s) ",
			    d->table.operators.n == s->n_key
				    ? d->table.operators.items[i]
				    : "pg_catalog.=");
		postgres_statement_column(sb, "s", name);
	}
}

static void statement_wrapped(struct strbuf *sb, const char *stored,
			      const char *name, const char *before,
			      const char *behind)
{
	strbuf_addstr(sb, before);
	postgres_statement_column(sb, stored, name);
	strbuf_addf(sb, "%s IS DISTINCT FROM %s", behind, before);
	postgres_statement_column(sb, "s", name);
	strbuf_addstr(sb, behind);
}

static void statement_differs(struct strbuf *sb, const char *stored,
			      const struct catalog_column *c)
{
	const char *exact = c->folds ? " COLLATE \"C\"" : "";

	switch (postgres_type_compare(&c->type)) {
	case COMPARE_TEXT:
		statement_wrapped(sb, stored, c->name, "",
				  c->folds ? "::text COLLATE \"C\"" : "::text");
		break;
	case COMPARE_SCALE:
		statement_wrapped(sb, stored, c->name, "", "");
		strbuf_addstr(sb, " OR ");
		statement_wrapped(sb, stored, c->name, "scale(", ")");
		break;
	case COMPARE_ZERO:
		statement_wrapped(sb, stored, c->name, "", "");
		strbuf_addstr(sb, " OR (");
		postgres_statement_column(sb, stored, c->name);
		strbuf_addstr(sb, " = 0 AND ");
		statement_wrapped(sb, stored, c->name, "", "::text");
		strbuf_addch(sb, ')');
		break;
	case COMPARE_LENGTH:
		statement_wrapped(sb, stored, c->name, "", exact);
		strbuf_addstr(sb, " OR ");
		statement_wrapped(sb, stored, c->name, "octet_length(", ")");
		break;
	case COMPARE_EQUAL:
		statement_wrapped(sb, stored, c->name, "", exact);
		break;
	}
}

/* Is the stored row another one than the stage's? The mark column comes first,
 * because it usually changes. false when all columns are the key's. */
static void statement_changed(struct strbuf *sb,
			      const struct postgres_destination *d,
			      const char *stored)
{
	const struct schema *s = d->target->schema;
	bool first = true;

	strbuf_addch(sb, '(');
	for (long i = -1; i < (long)schema_compared(s); i++) {
		long column = i < 0 ? s->mark : i;

		if (column < 0 || (i >= 0 && i == s->mark) ||
		    !target_writes(d->target, (size_t)column))
			continue;
		if (!first)
			strbuf_addstr(sb, "\n    OR ");
		first = false;
		statement_differs(sb, stored,
				  postgres_catalog_find(
					  &d->table, s->columns[column].name));
	}
	strbuf_addstr(sb, first ? "false" : "");
	if (d->mark.soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(sb, "\n    OR ");
		postgres_statement_column(sb, stored, d->target->soft_delete);
		strbuf_addstr(sb, soft_delete_is(d->mark.soft_delete));
	}
	strbuf_addch(sb, ')');
}

bool postgres_statement_has_version(const struct target *target)
{
	return target->schema->mark >= 0 && !target->overwrite;
}

/* A mark kept as text is compared by its value at the source. */
static const char *statement_mark_cast(const struct postgres_destination *d,
				       const struct postgres_plan *plan)
{
	const struct schema *s = d->target->schema;
	const struct catalog_column *c =
		postgres_catalog_find(&d->table, s->columns[s->mark].name);
	const struct sql_type *wanted = &plan->wanted[s->mark];

	if (postgres_type_same_order(wanted, &c->type))
		return NULL;
	/* A hand may have written 10.0. */
	return mark_order_of(s->columns[s->mark].type.kind, true) ==
			       MARK_ORDER_NUMBER
		       ? "pg_catalog.numeric"
		       : wanted->name;
}

static char *statement_mark(const struct postgres_destination *d,
			    const struct postgres_plan *plan, const char *alias)
{
	const struct schema *s = d->target->schema;
	const char *cast = statement_mark_cast(d, plan);
	struct strbuf sb = STRBUF_INIT;

	postgres_statement_column(&sb, alias, s->columns[s->mark].name);
	if (cast)
		strbuf_addf(&sb, "::%s", cast);
	return strbuf_detach(&sb);
}

/* The checkpoint's `delivered`, as the type in which marks are compared. */
static char *statement_delivered(const struct postgres_destination *d,
				 const struct postgres_plan *plan)
{
	const struct schema *s = d->target->schema;
	const char *cast = statement_mark_cast(d, plan);

	return xstrfmt("$1::%s",
		       cast ? cast
			    : postgres_catalog_find(&d->table,
						    s->columns[s->mark].name)
				       ->type.name);
}

/* The stage's row is not older than the stored one, or that one is no newer
 * than what this pipeline has delivered itself. NULL: nothing says which is
 * older, and the source's word counts. */
static void statement_not_older(struct strbuf *sb,
				const struct postgres_destination *d,
				const struct postgres_plan *plan)
{
	char *old, *new, *delivered;

	if (!postgres_statement_has_version(d->target))
		return;
	old = statement_mark(d, plan, "t");
	new = statement_mark(d, plan, "s");
	delivered = statement_delivered(d, plan);
	if (d->target->in_place)
		strbuf_addf(sb, "\n  AND %s IS NOT DISTINCT FROM %s", old, new);
	else
		strbuf_addf(sb, "\n  AND (%s IS NULL OR %s IS NULL OR %s <= %s",
			    old, new, old, new);
	/* Rows that this pipeline has updated have marks of others. */
	if (d->target->mode != LOAD_UPDATE)
		strbuf_addf(sb, "\n    OR %s <= %s", old, delivered);
	strbuf_addstr(sb, d->target->in_place ? "" : ")");
	free(old);
	free(new);
	free(delivered);
}

static void statement_replaces(struct strbuf *sb,
			       const struct postgres_destination *d,
			       const struct postgres_plan *plan)
{
	strbuf_addstr(sb, "\nWHERE ");
	statement_key(sb, d, "t");
	statement_not_older(sb, d, plan);
	strbuf_addstr(sb, "\n  AND ");
	statement_changed(sb, d, "t");
}

/* The rows of the stage that replace a stored one: that one goes. */
static char *statement_delete(const struct postgres_destination *d,
			      const struct postgres_plan *plan)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "DELETE FROM %s t USING " STAGE " s", d->rows);
	statement_replaces(&sb, d, plan);
	return strbuf_detach(&sb);
}

static char *statement_update(const struct postgres_destination *d,
			      const struct postgres_plan *plan)
{
	const struct schema *s = d->target->schema;
	struct strbuf sb = STRBUF_INIT;
	bool first = true;

	strbuf_addf(&sb, "UPDATE %s t SET ", d->rows);
	for (size_t i = 0; i < s->n_columns; i++) {
		if (!target_writes(d->target, i))
			continue;
		strbuf_addstr(&sb, first ? "" : ", ");
		first = false;
		sql_quote_name(&sb, s->columns[i].name, '"');
		strbuf_addstr(&sb, " = ");
		postgres_statement_column(&sb, "s", s->columns[i].name);
	}
	if (d->mark.soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(&sb, first ? "" : ", ");
		first = false;
		sql_quote_name(&sb, d->target->soft_delete, '"');
		strbuf_addstr(&sb, soft_delete_clears(d->mark.soft_delete));
	}
	strbuf_addstr(&sb, "\nFROM " STAGE " s");
	statement_replaces(&sb, d, plan);
	if (first)
		strbuf_reset(&sb);
	return strbuf_detach(&sb);
}

static char *statement_insert(const struct postgres_destination *d,
			      bool only_new)
{
	const struct schema *s = d->target->schema;
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb,
		    "INSERT INTO %s (%s)\nOVERRIDING SYSTEM VALUE\nSELECT ",
		    d->rows, d->columns.data);
	statement_columns(&sb, s, "s");
	strbuf_addstr(&sb, "\nFROM " STAGE " s");
	if (only_new) {
		strbuf_addf(&sb, "\nWHERE NOT EXISTS (SELECT FROM %s t\nWHERE ",
			    d->rows);
		statement_key(&sb, d, "t");
		strbuf_addch(&sb, ')');
	}
	return strbuf_detach(&sb);
}

/* A pipeline appends in the order it reads, so a key's newest row is its last;
 * the view shows that. One like it is not appended again. */
static void statement_from_raw(struct strbuf *sb,
			       const struct postgres_destination *d)
{
	strbuf_addf(sb,
		    "\nFROM " STAGE
		    " s\nLEFT JOIN LATERAL (SELECT r.* FROM %s r WHERE ",
		    d->rows);
	statement_key(sb, d, "r");
	strbuf_addstr(sb, "\n  ORDER BY r." NAME_RAW_SEQ
			  " DESC LIMIT 1) n ON true\n"
			  "WHERE n." NAME_RAW_SEQ " IS NULL OR ");
	statement_changed(sb, d, "n");
}

static char *statement_insert_raw(const struct postgres_destination *d)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb,
		    "INSERT INTO %s (%s, " NAME_RAW_BATCH ", " NAME_RAW_SEQ
		    ", " NAME_RAW_LOADED ")\nSELECT ",
		    d->rows, d->columns.data);
	statement_columns(&sb, d->target->schema, "s");
	strbuf_addstr(&sb, ", $1, $2 + row_number() OVER (), now()");
	if (!d->target->schema->n_key)
		strbuf_addstr(&sb, "\nFROM " STAGE " s");
	else
		statement_from_raw(&sb, d);
	return strbuf_detach(&sb);
}

/* Count the coming effect on the stage's rows, and in append the past one. */
static void statement_watch(struct postgres_destination *d,
			    const struct postgres_plan *plan)
{
	struct strbuf sb = STRBUF_INIT;

	if (d->target->mode == LOAD_APPEND) {
		strbuf_addstr(&sb, "SELECT");
		statement_from_raw(&sb, d);
		d->sql_appending = strbuf_detach(&sb);
		strbuf_addf(&sb, "SELECT FROM " STAGE " s JOIN %s t ON ",
			    d->rows);
		statement_key(&sb, d, "t");
		strbuf_addstr(&sb, "\nWHERE t." NAME_RAW_BATCH
				   " = $1 AND t." NAME_RAW_SEQ " > $2::bigint");
		d->sql_appended = strbuf_detach(&sb);
		return;
	}
	strbuf_addf(&sb, "SELECT FROM " STAGE " s, %s t", d->rows);
	statement_replaces(&sb, d, plan);
	d->sql_replacing = strbuf_detach(&sb);
}

/* The stage's rows that are not there, nor anything newer, when all is done.
 */
static char *statement_left_out(const struct postgres_destination *d,
				const struct postgres_plan *plan)
{
	struct strbuf sb = STRBUF_INIT;
	char *old, *new;

	strbuf_addf(&sb,
		    "SELECT FROM " STAGE
		    " s WHERE NOT EXISTS (SELECT FROM %s t\nWHERE ",
		    d->rows);
	statement_key(&sb, d, "t");
	if (postgres_statement_has_version(d->target)) {
		old = statement_mark(d, plan, "t");
		new = statement_mark(d, plan, "s");
		strbuf_addf(&sb, "\n  AND (%s < %s) IS NOT TRUE", old, new);
		free(old);
		free(new);
	}
	strbuf_addch(&sb, ')');
	return strbuf_detach(&sb);
}

char *postgres_statement_remove(const struct postgres_destination *d)
{
	struct strbuf sb = STRBUF_INIT;
	bool time = d->mark.soft_delete == SOFT_DELETE_TIME;

	if (d->mark.soft_delete == SOFT_DELETE_NONE) {
		strbuf_addf(&sb, "DELETE FROM %s t USING", d->rows);
	} else {
		strbuf_addf(&sb, "UPDATE %s t SET ", d->rows);
		sql_quote_name(&sb, d->target->soft_delete, '"');
		strbuf_addf(&sb, " = %s\nFROM", time ? "now()" : "true");
	}
	strbuf_addstr(&sb, " " STAGE " s\nWHERE ");
	statement_key(&sb, d, "t");
	if (d->mark.soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(&sb, " AND ");
		postgres_statement_column(&sb, "t", d->target->soft_delete);
		strbuf_addstr(&sb, soft_delete_is_not(d->mark.soft_delete));
	}
	return strbuf_detach(&sb);
}

static char *statement_missing(const struct postgres_destination *d)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb,
		    "SELECT FROM " STAGE
		    " s WHERE NOT EXISTS (SELECT FROM %s t\nWHERE ",
		    d->rows);
	statement_key(&sb, d, "t");
	strbuf_addch(&sb, ')');
	return strbuf_detach(&sb);
}

static void statement_pulled(struct strbuf *sb,
			     const struct postgres_destination *d,
			     const struct postgres_plan *plan,
			     const char *alias)
{
	const char *separator = "";

	for (size_t i = 0; i < plan->table.n_columns; i++) {
		const struct catalog_column *c = &plan->table.columns[i];

		if (c->generated || !postgres_catalog_find(&d->table, c->name))
			continue;
		strbuf_addstr(sb, separator);
		separator = ", ";
		if (!alias)
			sql_quote_name(sb, c->name, '"');
		else if (!strcmp(c->name, NAME_RAW_SEQ))
			strbuf_addstr(sb, NAME_RAW_FIRST);
		else
			postgres_statement_column(sb, alias, c->name);
	}
}

/* Copy the table's rows of the stage's keys, unless the copy has them
 * already, perhaps as an earlier batch has left them. A raw table gives its
 * newest rows. */
static char *statement_pull(const struct postgres_destination *d,
			    const struct postgres_plan *plan)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "INSERT INTO %s (", d->rows);
	statement_pulled(&sb, d, plan, NULL);
	strbuf_addstr(&sb, ")\nSELECT ");
	statement_pulled(&sb, d, plan, "t");
	strbuf_addf(&sb,
		    "\nFROM " STAGE " s\nCROSS JOIN LATERAL (SELECT r.* "
		    "FROM %s r WHERE ",
		    d->place.rows);
	statement_key(&sb, d, "r");
	if (d->target->mode == LOAD_APPEND)
		strbuf_addstr(&sb,
			      "\n  ORDER BY r." NAME_RAW_SEQ " DESC LIMIT 1");
	strbuf_addf(&sb, ") t\nWHERE NOT EXISTS (SELECT FROM %s c WHERE ",
		    d->rows);
	statement_key(&sb, d, "c");
	strbuf_addch(&sb, ')');
	return strbuf_detach(&sb);
}

void postgres_statements_release(struct postgres_destination *d)
{
	free(d->sql_delete);
	free(d->sql_update);
	free(d->sql_insert_all);
	free(d->sql_insert_new);
	free(d->sql_left_out);
	free(d->sql_pull);
	free(d->sql_missing);
	free(d->sql_replacing);
	free(d->sql_appending);
	free(d->sql_appended);
	d->sql_pull = d->sql_missing = NULL;
	d->sql_replacing = d->sql_appending = d->sql_appended = NULL;
	d->sql_delete = d->sql_update = NULL;
	d->sql_insert_all = d->sql_insert_new = d->sql_left_out = NULL;
}

void postgres_statements_make(struct postgres_destination *d,
			      const struct postgres_plan *plan)
{
	const char *marks = d->target->soft_delete;
	const struct catalog_column *soft =
		marks ? postgres_catalog_find(&d->table, marks) : NULL;
	bool keyed = d->target->schema->n_key;

	d->mark.soft_delete =
		soft_delete_of(d->target, soft ? soft->type.name : NULL);
	strbuf_reset(&d->columns);
	statement_columns(&d->columns, d->target->schema, NULL);
	postgres_statements_release(d);
	if (d->target->preview && plan->table.exists && keyed &&
	    !d->target->refresh)
		d->sql_pull = statement_pull(d, plan);
	postgres_watch_keyless(d);
	if (d->table.filters && keyed)
		statement_watch(d, plan);
	if (d->table.filters && keyed && d->target->mode != LOAD_UPDATE)
		d->sql_left_out = statement_left_out(d, plan);
	if (d->table.filters || d->target->mode != LOAD_APPEND)
		d->sql_missing = statement_missing(d);
	if (d->target->mode == LOAD_APPEND) {
		d->sql_insert_new = statement_insert_raw(d);
		return;
	}
	if (d->target->mode == LOAD_UPDATE) {
		d->sql_update = statement_update(d, plan);
		return;
	}
	d->sql_delete = statement_delete(d, plan);
	d->sql_update = statement_update(d, plan);
	d->sql_insert_all = statement_insert(d, false);
	d->sql_insert_new = statement_insert(d, true);
}

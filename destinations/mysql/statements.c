#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/mysql/internal.h"

static void statement_column(struct strbuf *sb, const char *alias,
			     const char *name)
{
	strbuf_addf(sb, "%s.", alias);
	sql_quote_name(sb, name, '`');
}

static void statement_columns(struct strbuf *sb, const struct schema *s)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		strbuf_addstr(sb, i ? ", " : "");
		statement_column(sb, "s", s->columns[i].name);
	}
}

static void statement_key(struct strbuf *sb, const struct schema *s,
			  const char *stored)
{
	for (size_t i = 0; i < s->n_key; i++) {
		const char *name = s->columns[s->key[i]].name;

		strbuf_addstr(sb, i ? " AND " : "");
		statement_column(sb, stored, name);
		strbuf_addstr(sb, " = ");
		statement_column(sb, "s", name);
	}
}

static void statement_equal(struct strbuf *sb, const struct catalog_column *c,
			    const char *stored, const char *before,
			    const char *behind)
{
	strbuf_addstr(sb, before);
	statement_column(sb, stored, c->name);
	strbuf_addf(sb, "%s <=> %s", behind, before);
	statement_column(sb, "s", c->name);
	strbuf_addstr(sb, behind);
}

/* "utf8mb4_bin" for a column in utf8mb4_general_ci. */
static char *statement_binary(const struct catalog_column *c)
{
	return xstrfmt(" COLLATE %.*s_bin", (int)strcspn(c->collation, "_"),
		       c->collation);
}

/* The same bytes: collations take 'a' for 'A', or for 'a '; JSON takes 1 for
 * 1.0, and a float 0 for -0. Never by a CAST alone, which is NULL, and so the
 * same, for what is larger than max_allowed_packet. */
static void statement_same(struct strbuf *sb, const struct catalog_column *c,
			   const char *stored)
{
	char *binary;

	if (c->type.base == MYSQL_TARGET_JSON) {
		statement_equal(sb, c, stored, "", "");
		strbuf_addstr(sb, " AND ");
		statement_equal(sb, c, stored, "CAST(",
				" AS CHAR) COLLATE utf8mb4_bin");
	} else if (mysql_target_type_is_text(c->type.base) &&
		   !mysql_target_catalog_is_exact(c)) {
		binary = statement_binary(c);
		statement_equal(sb, c, stored, "", binary);
		strbuf_addstr(sb, " AND ");
		statement_equal(sb, c, stored, "LENGTH(", ")");
		free(binary);
	} else if (c->type.base == MYSQL_TARGET_FLOAT ||
		   c->type.base == MYSQL_TARGET_DOUBLE) {
		statement_equal(sb, c, stored, "", "");
		strbuf_addstr(sb, " AND (COALESCE(");
		statement_column(sb, stored, c->name);
		strbuf_addstr(sb, ", 1) <> 0 OR ");
		statement_equal(sb, c, stored, "CAST(", " AS CHAR)");
		strbuf_addch(sb, ')');
	} else {
		statement_equal(sb, c, stored, "", "");
	}
}

/* Is the stored row another one than the stage's? The mark column comes first,
 * because it usually changes. FALSE when all columns are the key's. */
static void statement_changed(struct strbuf *sb, const struct mysql_target *d,
			      const char *stored)
{
	const struct schema *s = d->target->schema;
	const char *before = "NOT (";

	for (long i = -1; i < (long)schema_compared(s); i++) {
		long column = i < 0 ? s->mark : i;

		if (column < 0 || (i >= 0 && i == s->mark) ||
		    !target_writes(d->target, (size_t)column))
			continue;
		strbuf_addstr(sb, before);
		before = "\n    AND ";
		statement_same(sb,
			       mysql_target_catalog_find(
				       &d->table, s->columns[column].name),
			       stored);
	}
	strbuf_addstr(sb, *before == 'N' ? "FALSE" : ")");
	if (d->mark.soft_delete == SOFT_DELETE_NONE)
		return;
	strbuf_addstr(sb, " OR ");
	statement_column(sb, stored, d->target->soft_delete);
	strbuf_addstr(sb, soft_delete_is(d->mark.soft_delete));
}

/* In place, a row that has another mark by now was changed since it was read.
 */
static void statement_not_older(struct strbuf *sb, const struct mysql_target *d,
				const char *delivered)
{
	const struct schema *s = d->target->schema;
	struct strbuf stored = STRBUF_INIT, new = STRBUF_INIT;
	const char *name;

	if (s->mark < 0 || d->target->overwrite)
		return;
	name = s->columns[s->mark].name;
	statement_column(&stored, "t", name);
	statement_column(&new, "s", name);
	if (d->target->in_place)
		strbuf_addf(sb, "%s <=> %s", stored.data, new.data);
	else
		mysql_target_version_newer(
			sb, &s->columns[s->mark].type,
			&mysql_target_catalog_find(&d->table, name)->type,
			new.data, stored.data,
			/* Rows that it has updated have marks of others. */
			d->target->mode == LOAD_UPDATE ? NULL : delivered);
	strbuf_addstr(sb, "\n  AND ");
	strbuf_release(&stored);
	strbuf_release(&new);
}

static void statement_replaces(struct strbuf *sb, const struct mysql_target *d,
			       const char *delivered)
{
	statement_not_older(sb, d, delivered);
	strbuf_addch(sb, '(');
	statement_changed(sb, d, "t");
	strbuf_addch(sb, ')');
}

static void statement_set(struct strbuf *sb, const struct mysql_target *d,
			  const char *stored)
{
	const struct schema *s = d->target->schema;
	const char *before = "";

	for (size_t i = 0; i < s->n_columns; i++) {
		const char *name = s->columns[i].name;

		if (!target_writes(d->target, i))
			continue;
		strbuf_addstr(sb, before);
		before = ", ";
		strbuf_addstr(sb, stored);
		sql_quote_name(sb, name, '`');
		strbuf_addstr(sb, " = ");
		statement_column(sb, "s", name);
	}
	if (d->mark.soft_delete == SOFT_DELETE_NONE)
		return;
	strbuf_addf(sb, "%s%s", before, stored);
	sql_quote_name(sb, d->target->soft_delete, '`');
	strbuf_addstr(sb, soft_delete_clears(d->mark.soft_delete));
}

bool mysql_target_statement_may_change(const struct mysql_target *d)
{
	const struct schema *s = d->target->schema;

	return s->n_columns > s->n_key ||
	       d->mark.soft_delete != SOFT_DELETE_NONE;
}

static void statement_from_new(struct strbuf *sb, const struct mysql_target *d)
{
	const struct schema *s = d->target->schema;

	strbuf_addf(sb, "\nFROM %s s", d->place.stage);
	if (!s->n_key)
		return;
	strbuf_addf(sb, " LEFT JOIN %s t ON ", d->rows);
	statement_key(sb, s, "t");
	strbuf_addstr(sb, "\nWHERE ");
	statement_column(sb, "t", s->columns[s->key[0]].name);
	strbuf_addstr(sb, " IS NULL");
}

static void statement_insert_new(struct strbuf *sb,
				 const struct mysql_target *d)
{
	strbuf_addf(sb, "INSERT INTO %s (%s)\nSELECT ", d->rows, d->columns);
	statement_columns(sb, d->target->schema);
	statement_from_new(sb, d);
}

char *mysql_target_statement_missing(const struct mysql_target *d)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addstr(&sb, "SELECT COUNT(*)");
	statement_from_new(&sb, d);
	return strbuf_detach(&sb);
}

char *mysql_target_statement_insert(const struct mysql_target *d)
{
	struct strbuf sb = STRBUF_INIT;

	statement_insert_new(&sb, d);
	return strbuf_detach(&sb);
}

/* One pass over both tables. A stored row that is the same is not even looked
 * at again. The remaining rows are new or changed, and the conflict tells
 * which. */
char *mysql_target_statement_merge(const struct mysql_target *d,
				   const char *delivered)
{
	struct strbuf sb = STRBUF_INIT;

	statement_insert_new(&sb, d);
	if (mysql_target_statement_may_change(d)) {
		strbuf_addstr(&sb, "\n  OR (");
		statement_replaces(&sb, d, delivered);
		strbuf_addstr(&sb, ")\nON DUPLICATE KEY UPDATE ");
		statement_set(&sb, d, "");
	}
	return strbuf_detach(&sb);
}

/* The stage first: the optimizer knows nothing about it. */
char *mysql_target_statement_update(const struct mysql_target *d,
				    const char *delivered)
{
	const struct schema *s = d->target->schema;
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "UPDATE %s s STRAIGHT_JOIN %s t ON ", d->place.stage,
		    d->rows);
	statement_key(&sb, s, "t");
	strbuf_addstr(&sb, "\nSET ");
	statement_set(&sb, d, "t.");
	strbuf_addstr(&sb, "\nWHERE ");
	statement_replaces(&sb, d, delivered);
	return strbuf_detach(&sb);
}

char *mysql_target_statement_delete(const struct mysql_target *d,
				    const char *delivered)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "DELETE t FROM %s s STRAIGHT_JOIN %s t ON ",
		    d->place.stage, d->rows);
	statement_key(&sb, d->target->schema, "t");
	strbuf_addstr(&sb, "\nWHERE ");
	statement_replaces(&sb, d, delivered);
	return strbuf_detach(&sb);
}

/* A pipeline appends in the order it reads, so a key's newest row is its last;
 * one like it is not appended again. */
static void statement_from_newest(struct strbuf *sb,
				  const struct mysql_target *d)
{
	const struct schema *s = d->target->schema;

	strbuf_addf(sb, "\nFROM %s s LEFT JOIN %s n ON ", d->place.stage,
		    d->rows);
	statement_key(sb, s, "n");
	if (d->target->preview) { /* the copy has each key's newest row alone */
		strbuf_addstr(sb, "\nWHERE ");
		statement_column(sb, "n", s->columns[s->key[0]].name);
		strbuf_addstr(sb, " IS NULL OR ");
		statement_changed(sb, d, "n");
		return;
	}
	strbuf_addf(sb,
		    "\n  AND n." NAME_RAW_SEQ " = (SELECT MAX(m." NAME_RAW_SEQ
		    ") FROM %s m WHERE ",
		    d->rows);
	statement_key(sb, s, "m");
	strbuf_addstr(sb, ")\nWHERE n." NAME_RAW_SEQ " IS NULL OR ");
	statement_changed(sb, d, "n");
}

char *mysql_target_statement_append(const struct mysql_target *d,
				    const char *batch_id, int64_t base)
{
	const struct schema *s = d->target->schema;
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb,
		    "INSERT INTO %s (%s, " NAME_RAW_BATCH ", " NAME_RAW_SEQ
		    ", " NAME_RAW_LOADED ")\nSELECT ",
		    d->rows, d->columns);
	statement_columns(&sb, s);
	strbuf_addstr(&sb, ", ");
	mysql_client_quote(&sb, batch_id ? batch_id : "");
	strbuf_addf(&sb,
		    ", %" PRId64 " + ROW_NUMBER() OVER (), UTC_TIMESTAMP(6)",
		    base);
	(s->n_key ? statement_from_newest : statement_from_new)(&sb, d);
	return strbuf_detach(&sb);
}

char *mysql_target_statement_pull(const struct mysql_target *d,
				  const struct strlist *columns)
{
	const struct schema *s = d->target->schema;
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "INSERT IGNORE INTO %s (", d->rows);
	for (size_t i = 0; i < columns->n; i++) {
		strbuf_addstr(&sb, i ? ", " : "");
		sql_quote_name(&sb, columns->items[i], '`');
	}
	strbuf_addstr(&sb, ")\nSELECT ");
	for (size_t i = 0; i < columns->n; i++) {
		strbuf_addstr(&sb, i ? ", " : "");
		statement_column(&sb, "t", columns->items[i]);
	}
	strbuf_addf(&sb, "\nFROM %s s STRAIGHT_JOIN %s t ON ", d->place.stage,
		    d->place.rows);
	statement_key(&sb, s, "t");
	if (d->target->mode == LOAD_APPEND) {
		strbuf_addf(&sb,
			    "\n  AND t." NAME_RAW_SEQ
			    " = (SELECT MAX(m." NAME_RAW_SEQ
			    ") FROM %s m WHERE ",
			    d->place.rows);
		statement_key(&sb, s, "m");
		strbuf_addch(&sb, ')');
	}
	return strbuf_detach(&sb);
}

char *mysql_target_statement_fresh(const struct mysql_target *d)
{
	const struct schema *s = d->target->schema;
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "INSERT INTO %s\nSELECT ", d->place.fresh);
	/* In the order of the columns, not of the key. */
	for (size_t i = 0, n = 0; i < s->n_columns; i++) {
		if (!schema_is_key(s, i))
			continue;
		strbuf_addstr(&sb, n++ ? ", " : "");
		statement_column(&sb, "s", s->columns[i].name);
	}
	if (d->target->mode == LOAD_APPEND)
		statement_from_newest(&sb, d);
	else
		statement_from_new(&sb, d);
	return strbuf_detach(&sb);
}

/* The rows that raw ones come behind. */
char *mysql_target_statement_drop_fresh(const struct mysql_target *d)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "DELETE t FROM %s s STRAIGHT_JOIN %s t ON ",
		    d->place.fresh, d->rows);
	statement_key(&sb, d->target->schema, "t");
	return strbuf_detach(&sb);
}

char *mysql_target_statement_insert_fresh(const struct mysql_target *d)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "INSERT INTO %s (%s)\nSELECT ", d->rows, d->columns);
	statement_columns(&sb, d->target->schema);
	strbuf_addf(&sb, "\nFROM %s f STRAIGHT_JOIN %s s ON ", d->place.fresh,
		    d->place.stage);
	statement_key(&sb, d->target->schema, "f");
	return strbuf_detach(&sb);
}

char *mysql_target_statement_pending(const struct mysql_target *d,
				     const char *delivered)
{
	const struct schema *s = d->target->schema;
	struct strbuf sb = STRBUF_INIT;

	strbuf_addstr(&sb, "SELECT CONCAT_WS(', '");
	for (size_t i = 0; i < s->n_key; i++) {
		const char *name = s->columns[s->key[i]].name;

		strbuf_addstr(&sb, ", CONCAT(");
		mysql_client_quote(&sb, name);
		strbuf_addstr(&sb, ", '=', ");
		statement_column(&sb, "s", name);
		strbuf_addch(&sb, ')');
	}
	strbuf_addch(&sb, ')');
	if (d->target->mode == LOAD_APPEND) {
		statement_from_newest(&sb, d);
	} else {
		statement_from_new(&sb, d);
		strbuf_addstr(&sb, "\n  OR (");
		statement_replaces(&sb, d, delivered);
		strbuf_addch(&sb, ')');
	}
	strbuf_addstr(&sb, "\nORDER BY 1 LIMIT 1");
	return strbuf_detach(&sb);
}

static bool statement_may_clash(const struct mysql_target *d, size_t key)
{
	const struct schema *s = d->target->schema;
	const struct catalog_column *c = mysql_target_catalog_find(
		&d->table, s->columns[s->key[key]].name);

	return mysql_target_type_is_text(c->type.base) &&
	       !mysql_target_catalog_is_exact(c);
}

/* The stored key is to be the very same text: in a raw table a collation could
 * take another key's rows along. */
char *mysql_target_statement_remove(const struct mysql_target *d)
{
	const struct schema *s = d->target->schema;
	struct strbuf sb = STRBUF_INIT;
	bool time = d->mark.soft_delete == SOFT_DELETE_TIME;

	strbuf_addf(&sb, "%s %s s STRAIGHT_JOIN %s t ON ",
		    d->mark.soft_delete == SOFT_DELETE_NONE ? "DELETE t FROM"
							    : "UPDATE",
		    d->place.stage, d->rows);
	statement_key(&sb, s, "t");
	for (size_t i = 0; i < s->n_key; i++) {
		if (!statement_may_clash(d, i))
			continue;
		strbuf_addstr(&sb, " AND ");
		statement_same(&sb,
			       mysql_target_catalog_find(
				       &d->table, s->columns[s->key[i]].name),
			       "t");
	}
	if (d->mark.soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(&sb, "\nSET ");
		statement_column(&sb, "t", d->target->soft_delete);
		strbuf_addf(&sb, " = %s\nWHERE ",
			    time ? "UTC_TIMESTAMP(6)" : "TRUE");
		statement_column(&sb, "t", d->target->soft_delete);
		strbuf_addstr(&sb, soft_delete_is_not(d->mark.soft_delete));
	}
	return strbuf_detach(&sb);
}

char *mysql_target_statement_clash(const struct mysql_target *d)
{
	const struct schema *s = d->target->schema;
	struct strbuf sb = STRBUF_INIT;
	const char *before = "\nWHERE NOT (";

	strbuf_addstr(&sb, "SELECT CONCAT_WS(', ', ");
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(&sb, i ? ", " : "");
		statement_column(&sb, "s", s->columns[s->key[i]].name);
	}
	strbuf_addstr(&sb, "), CONCAT_WS(', ', ");
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(&sb, i ? ", " : "");
		statement_column(&sb, "t", s->columns[s->key[i]].name);
	}
	strbuf_addf(&sb, ")\nFROM %s s STRAIGHT_JOIN %s t ON ", d->place.stage,
		    d->rows);
	statement_key(&sb, s, "t");
	for (size_t i = 0; i < s->n_key; i++) {
		if (!statement_may_clash(d, i))
			continue;
		strbuf_addstr(&sb, before);
		before = " AND ";
		statement_same(&sb,
			       mysql_target_catalog_find(
				       &d->table, s->columns[s->key[i]].name),
			       "t");
	}
	strbuf_addstr(&sb, ") LIMIT 1");
	if (*before == ' ')
		return strbuf_detach(&sb);
	strbuf_release(&sb);
	return NULL;
}

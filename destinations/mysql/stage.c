#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/data/table_name.h"
#include "core/data/value.h"
#include "destinations/mysql/internal.h"

/* Bytes that are collected before they are sent. */
#define STAGE_PIECE (64 * 1024)
/* The most bytes of one INSERT, and its bytes beside the values. */
#define INSERT_BYTES ((size_t)1 << 20)
#define INSERT_EXTRA ((size_t)4096)

#define ERRNO_REPEATED 1062

/* ---- what the statements need to know about the columns */

static void stage_describe_column(struct strbuf *names, struct strbuf *load,
				  struct strbuf *set, struct strbuf *row,
				  const struct catalog_column *c, size_t i)
{
	const char *separator = i ? ", " : "";
	char *variable = xstrfmt("@tidemark_%zu", i);

	strbuf_addstr(names, separator);
	sql_quote_name(names, c->name, '`');
	strbuf_addstr(load, separator);
	strbuf_addstr(row, separator);
	mysql_target_type_cast(row, &c->type, c->charset, "?");
	if (mysql_target_type_needs_cast(&c->type, c->charset)) {
		strbuf_addstr(load, variable);
		strbuf_addstr(set, set->len ? ", " : "\nSET ");
		sql_quote_name(set, c->name, '`');
		strbuf_addstr(set, " = ");
		mysql_target_type_cast(set, &c->type, c->charset, variable);
	} else {
		sql_quote_name(load, c->name, '`');
	}
	free(variable);
}

int mysql_target_stage_describe(struct mysql_target *d, struct error *err)
{
	const struct schema *s = d->target->schema;
	struct strbuf names = STRBUF_INIT, load = STRBUF_INIT;
	struct strbuf set = STRBUF_INIT, row = STRBUF_INIT;
	const struct catalog_column *soft;
	int rc = 0;

	soft = d->target->soft_delete
		       ? mysql_target_catalog_find(&d->table,
						   d->target->soft_delete)
		       : NULL;
	d->mark.soft_delete =
		soft_delete_of(d->target, soft ? soft->type.name : NULL);
	d->forms = xreallocarray(d->forms, s->n_columns + 1, sizeof(*d->forms));
	strbuf_addch(&load, '(');
	strbuf_addch(&row, '(');
	for (size_t i = 0; i < s->n_columns; i++) {
		const struct catalog_column *c = mysql_target_catalog_find(
			&d->table, s->columns[i].name);

		if (!c) {
			rc = error_set(err, ERROR_SCHEMA,
				       "table %s has no column \"%s\", though "
				       "it was to have it: the server has made "
				       "another name of it",
				       d->target->table, s->columns[i].name);
			break;
		}
		d->forms[i] = mysql_target_type_form(s->columns[i].type.kind,
						     &c->type);
		stage_describe_column(&names, &load, &set, &row, c, i);
	}
	strbuf_addch(&load, ')');
	strbuf_addch(&row, ')');
	strbuf_addstr(&load, set.data);
	free(d->columns);
	free(d->load_columns);
	free(d->insert_row);
	d->columns = strbuf_detach(&names);
	d->load_columns = strbuf_detach(&load);
	d->insert_row = strbuf_detach(&row);
	strbuf_release(&set);
	return rc;
}

/* The stage has the table's own types and collations. A value that does not fit
 * there does not fit here, where the row is known. Keys that are equal there
 * are equal here. */
int mysql_target_stage_like(struct mysql_target *d, const char *table,
			    bool key_alone, struct error *err)
{
	const struct schema *s = d->target->schema;
	struct strbuf sql = STRBUF_INIT;
	int rc;

	d->used = true;
	strbuf_addf(&sql, "CREATE TEMPORARY TABLE %s (", table);
	for (size_t i = 0; i < s->n_columns; i++) {
		const struct catalog_column *c = mysql_target_catalog_find(
			&d->table, s->columns[i].name);

		if (key_alone && !schema_is_key(s, i))
			continue;
		sql_quote_name(&sql, c->name, '`');
		strbuf_addf(&sql, " %s", c->type.name);
		if (*c->charset)
			strbuf_addf(&sql, " CHARACTER SET %s COLLATE %s",
				    c->charset, c->collation);
		strbuf_addstr(&sql, !schema_is_key(s, i) ? " NULL"
				    : c->type.base == MYSQL_TARGET_TIMESTAMP
					    ? " NOT NULL DEFAULT "
					      "'2000-01-01 00:00:00'"
					    : " NOT NULL");
		strbuf_addstr(&sql,
			      i + 1 < s->n_columns || s->n_key ? ",\n" : "");
	}
	if (s->n_key) {
		strbuf_addstr(&sql, "PRIMARY KEY (");
		plan_key_list(&sql, s, '`');
		strbuf_addch(&sql, ')');
	}
	strbuf_addstr(&sql, ") ENGINE = InnoDB ROW_FORMAT = DYNAMIC");
	rc = mysql_target_execf(d->db, err, "DROP TEMPORARY TABLE IF EXISTS %s",
				table);
	if (!rc)
		rc = mysql_client_exec(d->db, sql.data, err);
	if (rc)
		error_prefix(err, "table %s: its stage", d->target->table);
	strbuf_release(&sql);
	return rc;
}

static int stage_create(struct mysql_target *d, struct error *err)
{
	int rc = mysql_target_stage_like(d, d->place.stage, false, err);

	d->staged = rc == 0;
	d->dirty = false;
	return rc ? rc : failpoint("stage_created", err);
}

int mysql_target_stage_empty(struct mysql_target *d, struct error *err)
{
	int rc = 0;

	if (!d->staged)
		return stage_create(d, err);
	if (d->dirty)
		rc = mysql_target_execf(d->db, err, "TRUNCATE TABLE %s",
					d->place.stage);
	if (!rc)
		d->dirty = false;
	return rc;
}

/* ---- rows on their way */

struct stage_rows {
	struct mysql_target *d;
	const struct batch *b;
	size_t at; /* index into d->order */
	bool straight; /* into the table, not the stage */
};

static void stage_blame(const struct stage_rows *rows, size_t at,
			const char *column, struct error *err)
{
	struct strbuf key = STRBUF_INIT;

	value_print_key(&key, rows->b, rows->d->order.rows[at]);
	error_prefix(err, "table %s, row %s%s%s", rows->d->target->table,
		     key.data, column ? ": column " : "", column ? column : "");
	strbuf_release(&key);
}

static int stage_look(const struct stage_rows *rows, struct error *err)
{
	return rows->at == rows->d->order.n / 2 ? failpoint("mid_load", err)
						: 0;
}

static int stage_next(void *ctx, struct strbuf *out, struct error *err)
{
	struct stage_rows *rows = ctx;
	const struct mysql_target *d = rows->d;
	size_t column = 0;
	int rc = 0;

	while (!rc && rows->at < d->order.n && out->len < STAGE_PIECE) {
		rc = stage_look(rows, err);
		if (rc)
			return rc;
		rc = mysql_target_format_row(out, d->forms, rows->b,
					     d->order.rows[rows->at], &column,
					     err);
		if (!rc)
			rows->at++;
		else
			stage_blame(rows, rows->at,
				    rows->b->schema->columns[column].name, err);
	}
	return rc ? rc : rows->at < d->order.n;
}

/* "... for column 'v' at row 3", of the rows from `first` on. */
static void stage_explain(const struct stage_rows *rows, size_t first,
			  const char *text, int rc, struct error *err)
{
	const char *at = strstr(text, " at row ");
	size_t number = at ? strtoul(at + strlen(" at row "), NULL, 10) : 0;

	if (rc == -ERROR_DATA && number && first + number <= rows->d->order.n)
		stage_blame(rows, first + number - 1, NULL, err);
	else
		error_prefix(err, "table %s", rows->d->target->table);
}

/* 1: all are in; 0: a key was there already, or the stage is to say which value
 * it is that does not fit. */
static int stage_judge(const struct stage_rows *rows, size_t first,
		       size_t n_rows, const struct mysql_client_loaded *got,
		       struct error *err)
{
	if (got->number == ERRNO_REPEATED || (got->warnings && rows->straight))
		return 0;
	if (got->warnings) {
		int rc = error_set(err, ERROR_DATA,
				   "a value does not fit the column: %s",
				   got->number ? got->message
					       : "the server left rows out");
		stage_explain(rows, first, got->message, rc, err);
		return rc;
	}
	if (got->rows != (int64_t)n_rows)
		return error_set(err, ERROR_BUG,
				 "table %s: %zu rows sent, %" PRId64 " taken",
				 rows->d->target->table, n_rows, got->rows);
	return 1;
}

static int stage_load(struct mysql_target *d, const struct batch *b,
		      const char *table, struct error *err)
{
	struct stage_rows rows = { .d = d,
				   .b = b,
				   .straight = table != d->place.stage };
	struct mysql_client_loaded got = { .rows = 0 };
	char *into = xstrfmt("INTO TABLE %s " MYSQL_TARGET_FORMAT_SQL " %s",
			     table, d->load_columns);
	int rc = mysql_client_load(d->db, into, stage_next, &rows, &got, err);

	free(into);
	return rc ? rc : stage_judge(&rows, 0, d->order.n, &got, err);
}

/* ---- where LOCAL is forbidden */

struct insert_chunk {
	struct strbuf text; /* the values' bytes, one behind the other */
	struct mysql_client_value
		*values; /* `bytes` NULL or not, until all are in */
	size_t n_rows;
};

static int insert_add(struct insert_chunk *c, const struct stage_rows *rows,
		      struct error *err)
{
	size_t n = rows->b->schema->n_columns;
	size_t row = rows->d->order.rows[rows->at];

	for (size_t i = 0; i < n; i++) {
		const struct vector *v = &rows->b->vectors[i];
		struct mysql_client_value *value =
			&c->values[c->n_rows * n + i];
		size_t start = c->text.len;
		bool null = vector_is_null(v, row);
		int rc = null ? 0
			      : mysql_target_format_value(&c->text,
							  rows->d->forms[i], v,
							  row, err);

		if (rc) {
			stage_blame(rows, rows->at,
				    rows->b->schema->columns[i].name, err);
			return rc;
		}
		*value = (struct mysql_client_value){
			.bytes = null ? NULL : "",
			.n = c->text.len - start,
			.binary = v->kind == TYPE_BYTES,
		};
	}
	c->n_rows++;
	return 0;
}

static int insert_check(const struct insert_chunk *c,
			const struct stage_rows *rows, struct error *err)
{
	size_t room = rows->d->packet - INSERT_EXTRA;
	int rc;

	if (c->n_rows > 1 || c->text.len <= room)
		return 0;
	rc = error_set(err, ERROR_DATA,
		       "a row of %zu bytes, and max_allowed_packet is %zu "
		       "(raise it on the server, or switch local_infile on "
		       "there)",
		       c->text.len, rows->d->packet);
	stage_blame(rows, rows->at - 1, NULL, err);
	return rc;
}

/* Buffers may have moved while they grew. */
static void insert_point(struct insert_chunk *c, size_t n_values)
{
	const char *at = c->text.data;

	for (size_t i = 0; i < n_values; i++) {
		if (!c->values[i].bytes)
			continue;
		c->values[i].bytes = at;
		at += c->values[i].n;
	}
}

static int insert_send(struct insert_chunk *c, const struct stage_rows *rows,
		       const char *head, struct error *err)
{
	size_t n = rows->b->schema->n_columns, first = rows->at - c->n_rows;
	struct mysql_client_loaded got = { .rows = 0 };
	int rc = insert_check(c, rows, err);

	if (rc)
		return rc;
	insert_point(c, c->n_rows * n);
	rc = mysql_client_insert(rows->d->db, head, rows->d->insert_row,
				 c->values, n, c->n_rows, &got, err);
	if (!rc)
		return stage_judge(rows, first, c->n_rows, &got, err);
	if (mysql_client_failed_with(err, ERRNO_REPEATED) ||
	    (rows->straight && err->code == ERROR_DATA)) {
		error_clear(err);
		return 0;
	}
	stage_explain(rows, first, err->message, rc, err);
	return rc;
}

/* A row that does not fit beside the others begins the next chunk. */
static int insert_collect(struct insert_chunk *c, struct stage_rows *rows,
			  size_t most, size_t bytes, struct error *err)
{
	int rc = 0;

	c->n_rows = 0;
	strbuf_reset(&c->text);
	while (!rc && rows->at < rows->d->order.n && c->n_rows < most) {
		size_t before = c->text.len;

		rc = stage_look(rows, err);
		if (!rc)
			rc = insert_add(c, rows, err);
		if (!rc && c->n_rows > 1 && c->text.len > bytes) {
			c->text.len = before;
			c->n_rows--;
			break;
		}
		rows->at++;
	}
	return rc;
}

static int stage_insert(struct mysql_target *d, const struct batch *b,
			const char *table, struct error *err)
{
	struct stage_rows rows = { .d = d,
				   .b = b,
				   .straight = table != d->place.stage };
	size_t n = b->schema->n_columns,
	       most = mysql_client_insert_rows(d->db, n);
	size_t bytes =
		d->packet / 2 < INSERT_BYTES ? d->packet / 2 : INSERT_BYTES;
	struct insert_chunk c = { .text = STRBUF_INIT };
	char *head = xstrfmt("INSERT INTO %s (%s)", table, d->columns);
	int rc = 1;

	c.values = xcalloc(most * n, sizeof(*c.values));
	while (rc > 0 && rows.at < d->order.n) {
		rc = insert_collect(&c, &rows, most, bytes, err);
		if (!rc)
			rc = insert_send(&c, &rows, head, err);
	}
	free(c.values);
	strbuf_release(&c.text);
	free(head);
	return rc;
}

int mysql_target_stage_fill(struct mysql_target *d, const struct batch *b,
			    const char *table, struct error *err)
{
	int rc;

	d->dirty |= table == d->place.stage;
	if (!d->local)
		return stage_insert(d, b, table, err);
	rc = stage_load(d, b, table, err);
	if (rc >= 0 || !mysql_client_load_forbidden(err))
		return rc;
	log_debug("%s: LOAD DATA LOCAL is forbidden: rows go by INSERT",
		  d->target->table);
	error_clear(err);
	d->local = false;
	return stage_insert(d, b, table, err);
}

#include <stdlib.h>
#include <string.h>

#include "clients/mysql_explain.h"
#include "connectors/mysql/decode.h"
#include "connectors/mysql/idle.h"
#include "connectors/mysql/source.h"
#include "core/base/alloc.h"

static struct mysql_source *rows_self(struct paged_source *base)
{
	return (struct mysql_source *)base;
}

int mysql_source_query(struct paged_source *base, const struct paged_query *q,
		       struct paged_answer *out, struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query_user(rows_self(base)->db, &r, q->sql.data,
					 NULL, q->n,
					 (const char *const *)q->params, err);

	rows_self(base)->foreign = true;
	memset(out, 0, sizeof(*out));
	if (rc)
		return rc;
	out->n_rows = mysql_client_rows(r);
	out->n_columns = mysql_client_columns(r);
	out->cells =
		xcalloc(out->n_rows * out->n_columns + 1, sizeof(*out->cells));
	for (size_t i = 0; i < out->n_rows * out->n_columns; i++)
		out->cells[i] = xstrdup(mysql_client_value(
			r, i / out->n_columns, i % out->n_columns));
	mysql_client_result_free(r);
	return 0;
}

int mysql_source_explain(struct paged_source *base, const struct paged_query *q,
			 char **plan, char **index, struct error *err)
{
	return mysql_client_explain(rows_self(base)->db, q->sql.data, q->n,
				    (const char *const *)q->params, NULL, plan,
				    index, err);
}

int mysql_source_page_open(struct paged_source *base,
			   const struct paged_query *q, struct error *err)
{
	struct mysql_source *c = rows_self(base);
	const struct source_layout *l = &base->layout;
	size_t n = source_layout_width(l);
	int rc;

	c->idle_page = mysql_source_idle_page(c);
	if (c->idle_page)
		return 0;
	c->foreign = true;
	c->forms = xreallocarray(c->forms, n, sizeof(*c->forms));
	for (size_t i = 0; i < n; i++)
		c->forms[i] = mysql_source_how(l->columns[i])->form;
	rc = mysql_client_exec(c->db,
			       MYSQL_SOURCE_TAG
			       " START TRANSACTION WITH CONSISTENT SNAPSHOT, "
			       "READ ONLY",
			       err);
	if (!rc)
		rc = mysql_client_stream_begin(c->db, q->sql.data, q->n,
					       (const char *const *)q->params,
					       c->forms, n, err);
	if (rc)
		error_prefix(err, "table %s", base->pass.scan->source->table);
	return rc;
}

void mysql_source_page_close(struct paged_source *base)
{
	struct mysql_source *c = rows_self(base);

	c->idle_page = false;
	if (c->db)
		mysql_client_stream_abort(c->db);
}

/* For texts and bytes the length does not matter: all of it is read. */
static bool rows_text_is(const struct source_column *c,
			 const struct mysql_client_field *f)
{
	const char *name = mysql_source_how(c)->name;

	if (c->type.kind != TYPE_TEXT && c->type.kind != TYPE_BYTES)
		return true;
	return f->binary == (c->type.kind == TYPE_BYTES) &&
	       f->is_enum == (name && !strcmp(name, "enum")) &&
	       f->is_set == (name && !strcmp(name, "set"));
}

static bool rows_type_is(const struct source_column *c,
			 const struct mysql_client_field *f)
{
	const struct mysql_source_type *how = mysql_source_how(c);
	struct type now = { .kind = c->type.kind };

	if (how->form == MYSQL_CLIENT_BYTES && how->kind != TYPE_DECIMAL &&
	    how->order != ORDER_BITS)
		return rows_text_is(c, f);
	mysql_source_type_digits(f, &now);
	return mysql_source_type_of_field(f) == how &&
	       now.precision == c->type.precision &&
	       now.scale == c->type.scale && now.digits == c->type.digits;
}

/* A column that the SELECT converts has the conversion's type. */
char *mysql_source_page_type(struct paged_source *base, size_t column)
{
	const struct source_column *c = base->layout.columns[column];
	const struct mysql_client_field *f;

	if (rows_self(base)->idle_page)
		return xstrdup(c->spelled);
	f = &mysql_client_stream_fields(rows_self(base)->db)[column];
	if (strcmp(c->output, c->sql) != 0 || rows_type_is(c, f))
		return NULL;
	return xstrfmt("%d(%lu,%u) %d%d%d%d", f->type, f->length, f->decimals,
		       f->is_unsigned, f->binary, f->is_enum, f->is_set);
}

/* As NULL it would say nothing of where the next page begins. */
static int rows_check_mark(enum type_kind kind,
			   const struct mysql_client_cell *cell,
			   struct error *err)
{
	if ((kind != TYPE_DATE && kind != TYPE_TIMESTAMP &&
	     kind != TYPE_TIMESTAMPTZ) ||
	    mysql_source_is_day(&cell->time))
		return 0;
	return error_set(err, ERROR_DATA,
			 "the date %04u-%02u-%02u in the watermark's column is "
			 "none, and has no place in the order of rows: correct "
			 "such rows, or leave them out (source.where)",
			 cell->time.year, cell->time.month, cell->time.day);
}

static int rows_decode(struct paged_source *base, struct vector *v, size_t row,
		       size_t column, struct error *err)
{
	const struct mysql_client_cell *cell =
		&mysql_client_stream_row(rows_self(base)->db)[column];
	const struct source_layout *l = &base->layout;
	int rc;

	if (cell->null) {
		vector_set_null(v, row);
		return 0;
	}
	rc = (long)column == l->mark ? rows_check_mark(v->kind, cell, err) : 0;
	if (rc)
		return rc;
	return mysql_source_how(l->columns[column])
		->decode(v, row, cell, base->pass.scan->source->zero_dates,
			 err);
}

static int rows_append(struct paged_source *base, struct batch *b,
		       struct error *err)
{
	int rc = paged_take_row(base, b, rows_decode, err);

	if (!rc)
		batch_row_done(b);
	return rc;
}

/* End the snapshot of one page. If it lasted longer, the server would keep
 * old versions of rows for us. A snapshot that is given up ends with its
 * session. */
static int rows_end_snapshot(struct mysql_source *c, struct error *err)
{
	return mysql_client_exec(c->db, MYSQL_SOURCE_TAG " COMMIT", err);
}

int mysql_source_pause(struct connector *base, struct error *err)
{
	struct mysql_source *c = (struct mysql_source *)base;
	struct paged_pass *p = &c->paged.pass;

	if (!p->streaming || !scan_is_ordered(p->scan) ||
	    scan_is_keyless(p->scan))
		return 0;
	p->streaming = false;
	mysql_source_page_close(&c->paged);
	return rows_end_snapshot(c, err);
}

int mysql_source_page_read(struct paged_source *base, struct batch *b,
			   struct error *err)
{
	struct mysql_source *c = rows_self(base);
	struct paged_pass *p = &base->pass;

	if (c->idle_page)
		return 1;
	/* Full exactly at the page's end: let the statement end too. */
	while (!batch_is_full(b) || p->read >= p->limit) {
		int rc = mysql_client_stream_next(c->db, err);
		if (!rc)
			rc = rows_end_snapshot(c, err);
		if (rc < 0)
			error_prefix(err, "table %s, after row %zu of a page",
				     p->scan->source->table, p->read);
		if (rc <= 0)
			return rc < 0 ? rc : 1;
		rc = rows_append(base, b, err);
		if (rc)
			return rc;
		p->read++;
	}
	return 0;
}

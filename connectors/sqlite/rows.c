#include <stdlib.h>
#include <string.h>

#include "clients/sqlite_explain.h"
#include "connectors/sqlite/source.h"
#include "core/base/alloc.h"

/* A table of the session's own. */
#define ROWS_COPY "_tidemark_page"

static struct sqlite_source *rows_self(struct paged_source *s)
{
	return (struct sqlite_source *)s;
}

static enum type_kind rows_kind(const struct source_column *c)
{
	return c ? c->type.kind : TYPE_TEXT;
}

static int rows_prepare_as(struct sqlite_source *s, const struct paged_query *q,
			   const char *sql, struct sqlite_statement **out,
			   struct error *err)
{
	int rc = sqlite_prepare(s->db, out, sql, err);

	for (int i = 0; !rc && i < q->n; i++)
		sqlite_source_bind(*out, i + 1, rows_kind(q->columns[i]),
				   q->params[i]);
	return rc;
}

static int rows_prepare(struct sqlite_source *s, const struct paged_query *q,
			struct sqlite_statement **out, struct error *err)
{
	return rows_prepare_as(s, q, q->sql.data, out, err);
}

int sqlite_source_query(struct paged_source *base, const struct paged_query *q,
			struct paged_answer *out, struct error *err)
{
	struct sqlite_statement *st = NULL;
	size_t capacity = 0;
	int rc = rows_prepare(rows_self(base), q, &st, err);

	memset(out, 0, sizeof(*out));
	while (!rc && (rc = sqlite_read(st, err)) > 0) {
		size_t n = (size_t)sqlite_columns(st);
		out->n_columns = n;
		out->cells = xgrow(out->cells, &capacity, (out->n_rows + 1) * n,
				   sizeof(*out->cells));
		for (size_t i = 0; i < n; i++)
			out->cells[out->n_rows * n + i] =
				xstrdup(sqlite_str(st, (int)i));
		out->n_rows++;
		rc = 0;
	}
	sqlite_finalize(st);
	if (rc)
		paged_answer_release(out);
	return rc;
}

int sqlite_source_explain(struct paged_source *base,
			  const struct paged_query *q, char **plan,
			  char **index, struct error *err)
{
	return sqlite_explain(rows_self(base)->db, q->sql.data, plan, index,
			      err);
}

int sqlite_source_value(struct sqlite_source *s, const char *sql, char **out,
			struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(s->db, &st, sql, err);

	*out = NULL;
	if (!rc)
		rc = sqlite_read(st, err);
	if (rc > 0)
		*out = xstrdup(sqlite_str(st, 0));
	sqlite_finalize(st);
	return rc < 0 ? rc : 0;
}

/* SQLite prepares the statement anew in the first step if the schema has
 * changed. Only then its columns are those of its rows. */
static int rows_note_types(struct sqlite_source *s, const struct paged_query *q,
			   struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = rows_prepare(s, q, &st, err);

	strlist_release(&s->declared);
	if (!rc)
		rc = sqlite_read(st, err);
	for (int i = 0; rc >= 0 && i < sqlite_columns(st); i++) {
		const char *declared = sqlite_declared(st, i);
		strlist_add(&s->declared, declared ? declared : "");
	}
	sqlite_finalize(st);
	return rc < 0 ? rc : 0;
}

/* Its columns have no types. A view may give a column texts beside numbers, and
 * a type would make numbers of them. */
static int rows_make_copy(struct sqlite_source *s, size_t n, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addstr(&sql, "CREATE TEMP TABLE " ROWS_COPY);
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&sql, "%sc%zu", i ? ", " : " (", i);
	strbuf_addch(&sql, ')');
	rc = sqlite_exec(s->db, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

static int rows_fill_copy(struct sqlite_source *s, const struct paged_query *q,
			  struct error *err)
{
	struct sqlite_statement *st = NULL;
	char *sql = xstrfmt("INSERT INTO temp." ROWS_COPY " %s", q->sql.data);
	int rc = rows_prepare_as(s, q, sql, &st, err);

	if (!rc)
		rc = sqlite_read(st, err);
	sqlite_finalize(st);
	free(sql);
	return rc;
}

/* The file itself is open to be read alone. */
static int rows_copy_as(struct sqlite_source *s, const struct paged_query *q,
			struct error *err)
{
	struct error ignored = ERROR_INIT;
	int rc = sqlite_exec(s->db, "PRAGMA query_only = OFF; BEGIN", err);

	if (!rc)
		rc = rows_note_types(s, q, err);
	if (!rc)
		rc = rows_make_copy(s, s->declared.n, err);
	if (!rc)
		rc = rows_fill_copy(s, q, err);
	if (!rc)
		rc = sqlite_exec(s->db, "COMMIT", err);
	if (rc)
		sqlite_rollback(s->db);
	sqlite_exec(s->db, "PRAGMA query_only = ON", &ignored);
	return rc;
}

/* The file is let go of before the first row is taken. The copy is a file of
 * SQLite's own, without a name. */
static int rows_copy(struct sqlite_source *s, const struct paged_query *q,
		     struct error *err)
{
	int rc = rows_copy_as(s, q, err);

	s->copied = !rc;
	return rc ? rc
		  : sqlite_prepare(s->db, &s->page,
				   "SELECT * FROM temp." ROWS_COPY
				   " ORDER BY rowid",
				   err);
}

static void rows_copy_end(struct sqlite_source *s)
{
	struct error ignored = ERROR_INIT;

	sqlite_exec(s->db,
		    "PRAGMA query_only = OFF; DROP TABLE temp." ROWS_COPY
		    "; PRAGMA query_only = ON",
		    &ignored);
	s->copied = false;
}

int sqlite_source_page_open(struct paged_source *base,
			    const struct paged_query *q, struct error *err)
{
	struct sqlite_source *s = rows_self(base);
	bool whole = base->pass.limit == SIZE_MAX;
	int rc;

	while (s->n_raw < base->layout.n_order) {
		s->raw = xreallocarray(s->raw, s->n_raw + 1, sizeof(*s->raw));
		strbuf_init(&s->raw[s->n_raw++]);
	}
	rc = whole && sqlite_blocks_us(s->db)
		     ? rows_copy(s, q, err)
		     : rows_prepare(s, q, &s->page, err);
	if (rc)
		return rc;
	s->ahead = sqlite_read(s->page, err);
	return s->ahead < 0 ? s->ahead : 0;
}

/* For an expression the statement does not tell a declared type. */
char *sqlite_source_page_type(struct paged_source *base, size_t column)
{
	const struct source_column *c = base->layout.columns[column];
	struct sqlite_source *s = rows_self(base);
	const char *declared = s->copied
				       ? s->declared.items[column]
				       : sqlite_declared(s->page, (int)column);

	if (c->expression || !strcmp(declared ? declared : "", c->type.native))
		return NULL;
	return xstrdup(declared ? declared : "");
}

void sqlite_source_page_close(struct paged_source *base)
{
	struct sqlite_source *s = rows_self(base);

	sqlite_finalize(s->page);
	s->page = NULL;
	if (s->copied)
		rows_copy_end(s);
}

static int rows_decode(struct paged_source *base, struct vector *v, size_t row,
		       size_t column, struct error *err)
{
	struct sqlite_statement *page = rows_self(base)->page;
	const struct source_column *c = base->layout.columns[column];
	const struct sqlite_source_type *how = c->how;

	if (sqlite_is_null(page, (int)column)) {
		vector_set_null(v, row);
		return 0;
	}
	return how->decode(v, row, page, (int)column, &c->type, err);
}

void sqlite_source_stored(struct sqlite_statement *st, int column,
			  struct strbuf *out)
{
	size_t n;
	const unsigned char *bytes = sqlite_bytes(st, column, &n);

	if (sqlite_class_of(st, column) != SQLITE_CLASS_BLOB) {
		strbuf_add(out, bytes, n);
		return;
	}
	strbuf_addstr(out, "\\x");
	for (size_t k = 0; k < n; k++)
		strbuf_addf(out, "%02x", bytes[k]);
}

/* Keep the stored form of a position's columns, where the batch has another
 * form. */
static void rows_keep_raw(struct sqlite_source *s)
{
	const struct source_layout *l = &s->paged.layout;

	for (size_t i = 0; i < l->n_order; i++) {
		int column = (int)l->order[i];
		const struct sqlite_source_type *how = l->columns[column]->how;

		if (!how->raw)
			continue;
		strbuf_reset(&s->raw[i]);
		sqlite_source_stored(s->page, column, &s->raw[i]);
	}
}

static int rows_check_mark(struct sqlite_source *s, struct error *err)
{
	int column = (int)s->paged.layout.mark;
	const char *text;

	if (!sqlite_source_mark_is_text(s) || sqlite_is_null(s->page, column))
		return 0;
	text = sqlite_str(s->page, column);
	return sqlite_source_notation_fits(&s->notation, text)
		       ? 0
		       : sqlite_source_refuse_notation(s, text, err);
}

static int rows_append(struct paged_source *base, struct batch *b,
		       struct error *err)
{
	struct sqlite_source *s = rows_self(base);
	size_t mark = (size_t)base->layout.mark;
	int rc = paged_take_row(base, b, rows_decode, err);

	if (rc)
		return rc;
	if (rows_check_mark(s, err))
		return paged_blame(base, b, mark, rows_decode, err);
	rows_keep_raw(s);
	batch_row_done(b);
	return 0;
}

int sqlite_source_page_read(struct paged_source *base, struct batch *b,
			    struct error *err)
{
	struct sqlite_source *s = rows_self(base);

	while (!batch_is_full(b)) {
		int rc = s->ahead ? s->ahead : sqlite_read(s->page, err);
		s->ahead = 0;
		if (rc <= 0)
			return rc < 0 ? rc : 1;
		rc = rows_append(base, b, err);
		if (rc)
			return rc;
		base->pass.read++;
	}
	return 0;
}

void sqlite_source_position(const struct paged_source *base,
			    const struct batch *b, size_t column,
			    struct strbuf *out)
{
	const struct sqlite_source *s = (const struct sqlite_source *)base;
	const struct source_layout *l = &base->layout;
	const struct sqlite_source_type *how = l->columns[column]->how;
	size_t i = 0;

	while (l->order[i] != column)
		i++;
	if (how->raw)
		strbuf_add(out, s->raw[i].data, s->raw[i].len);
	else
		paged_position(base, b, column, out);
}

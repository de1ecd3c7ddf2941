#include "connectors/postgres/shape.h"

#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/common/trouble.h"

/* Without rows, so that it costs its planning alone. Casts to text would hide
 * the types. */
static void shape_write(struct strbuf *sb, const struct source_layout *l,
			const struct leaf *leaf)
{
	strbuf_addstr(sb, "SELECT ");
	for (size_t i = 0; i < source_layout_width(l); i++)
		strbuf_addf(sb, "%s%s", i ? ", " : "", l->columns[i]->sql);
	strbuf_addf(sb, " FROM %s%s AS %s WHERE false", leaf ? "ONLY " : "",
		    leaf ? leaf->sql : l->table.sql, l->table.alias);
}

/* A part of a table may have its columns in another order. */
static bool shape_fits(const struct source_layout *l, const struct leaf *leaf,
		       const struct source_column *c, const struct pg_field *f)
{
	const struct wire_column *wire = c->how;

	if (wire->oid != f->oid || wire->modifier != f->modifier)
		return false;
	if (c->expression)
		return true;
	if (leaf)
		return f->table_oid == leaf->oid;
	return f->table_oid == postgres_source_relation(l)->oid &&
	       f->attribute == (int16_t)c->number;
}

static int shape_check(struct postgres *c, const struct leaf *leaf,
		       struct error *err)
{
	const struct source_layout *l = &c->layout;
	const char *table = c->pass.scan->source->table;
	size_t n = 0;
	const struct pg_field *fields = pg_stream_shape(c->pg, &n);

	if (n != source_layout_width(l))
		return refuse_altered(table, NULL, err);
	for (size_t i = 0; i < n; i++) {
		if (!shape_fits(l, leaf, l->columns[i], &fields[i]))
			return refuse_altered(table, l->columns[i]->name, err);
	}
	return 0;
}

int postgres_source_shape_stream(struct postgres *c, const struct leaf *leaf,
				 const struct query *q, size_t extra,
				 struct error *err)
{
	struct strbuf shape = STRBUF_INIT;
	int rc;

	shape_write(&shape, &c->layout, leaf);
	rc = pg_stream_begin(c->pg, shape.data, q->sql.data,
			     source_layout_width(&c->layout) + extra, q->n,
			     (const char *const *)q->params, err);
	strbuf_release(&shape);
	if (rc)
		return rc;
	rc = shape_check(c, leaf, err);
	if (rc)
		pg_stream_abort(c->pg);
	return rc;
}

static bool shape_column_is_same(const struct source_column *a,
				 const struct source_column *b)
{
	const struct wire_column *of_a = a->how, *of_b = b->how;

	return of_a->oid == of_b->oid && of_a->modifier == of_b->modifier &&
	       a->number == b->number && !strcmp(a->name, b->name);
}

static bool shape_is_same(const struct source_layout *a,
			  const struct source_layout *b)
{
	size_t n = source_layout_width(a);

	if (postgres_source_relation(a)->oid !=
		    postgres_source_relation(b)->oid ||
	    n != source_layout_width(b))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!shape_column_is_same(a->columns[i], b->columns[i]))
			return false;
	}
	return true;
}

/* Class 42: a name or a type that a statement relies on is not there. */
static bool shape_may_be_why(const struct error *err)
{
	return !strncmp(err->server_code, "42", 2) &&
	       strcmp(err->server_code, "42501") != 0;
}

int postgres_source_shape_judge(struct postgres *c,
				const struct source_spec *source,
				const struct watermark_spec *mark, int rc,
				struct error *err)
{
	struct error why = ERROR_INIT, ignored = ERROR_INIT;
	struct source_layout now;
	bool altered;

	if (!rc)
		return 0;
	postgres_end_pass(c, &ignored);
	pg_ahead_drop(c->pg);
	if (c->described != source || !shape_may_be_why(err))
		return rc;
	if (postgres_source_layout_read(c->pg, source, mark, &now, &why))
		altered = why.code == ERROR_SCHEMA || why.code == ERROR_CONFIG;
	else
		altered = !shape_is_same(&c->layout, &now);
	source_layout_release(&now);
	if (!altered)
		return rc;
	error_clear(err);
	return refuse_altered(source->table, NULL, err);
}

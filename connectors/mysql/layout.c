#include "connectors/mysql/layout.h"
#include "connectors/mysql/query.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/common/names.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

#define LAYOUT_MOST_KEYS 32

void mysrc_layout_release(struct mysrc_layout *l)
{
	mysrc_table_release(&l->table);
	for (size_t i = 0; i < l->n_indexes; i++) {
		json_decref(l->indexes[i].columns);
		free(l->indexes[i].name);
	}
	for (size_t i = 0; i < l->n_all; i++)
		mysrc_column_release(&l->all[i]);
	free(l->indexes);
	free(l->all);
	free(l->columns);
	free(l->key);
	free(l->order);
	free(l->forms);
	free(l->where);
	free(l->hint);
	memset(l, 0, sizeof(*l));
}

const struct mysrc_column *mysrc_mark(const struct mysrc_layout *l)
{
	return l->mark < 0 ? NULL : l->columns[l->mark];
}

static long layout_find(const struct mysrc_layout *l, const char *name)
{
	for (size_t i = 0; i < l->n_columns; i++) {
		if (!strcmp(l->columns[i]->name, name))
			return (long)i;
	}
	return -1;
}

/* An expression takes the place of a column of its name. */
static struct mysrc_column *layout_among_all(const struct mysrc_layout *l,
					     const char *name, bool expressions)
{
	for (size_t i = 0; i < l->n_all; i++) {
		struct mysrc_column *c = &l->all[i];
		if (!!c->expression == expressions && !strcmp(c->name, name))
			return c;
	}
	return NULL;
}

static int layout_missing(const struct mysrc_layout *l, const char *what,
			  const char *name, const char *table,
			  struct error *err)
{
	const char **names = xcalloc(l->n_all + 1, sizeof(*names));
	int rc;

	for (size_t i = 0; i < l->n_all; i++)
		names[i] = l->all[i].name;
	rc = column_missing(names, l->n_all, what, name, table, err);
	free(names);
	return rc;
}

static int layout_take(struct mysrc_layout *l, const char *name,
		       const char *table, struct error *err)
{
	struct mysrc_column *c = layout_among_all(l, name, true);

	if (!c)
		c = layout_among_all(l, name, false);
	if (!c)
		return layout_missing(l, "source.columns", name, table, err);
	if (layout_find(l, name) >= 0)
		return error_set(err, ERROR_CONFIG,
				 "source.columns: \"%s\" is named twice", name);
	l->columns[l->n_columns++] = c;
	return 0;
}

/* The chosen columns, in the config's order or else the table's, then the
 * expressions that replace none. */
static int layout_choose(struct mysrc_layout *l,
			 const struct source_spec *source, struct error *err)
{
	size_t chosen = source->columns ? source->columns->n : 0;
	int rc = 0;

	l->columns = xcalloc(l->n_all + chosen + 1, sizeof(*l->columns));
	for (size_t i = 0; !rc && i < chosen; i++)
		rc = layout_take(l, source->columns->items[i], source->table,
				 err);
	for (size_t i = 0; !rc && !chosen && i < l->n_all; i++) {
		if (!l->all[i].expression)
			rc = layout_take(l, l->all[i].name, source->table, err);
	}
	for (size_t i = 0; !rc && i < l->n_all; i++) {
		if (l->all[i].expression && layout_find(l, l->all[i].name) < 0)
			l->columns[l->n_columns++] = &l->all[i];
	}
	return rc;
}

static int layout_add_key(struct mysrc_layout *l, const char *name,
			  const char *table, struct error *err)
{
	long at = layout_find(l, name);

	if (at < 0 && !layout_among_all(l, name, false))
		return layout_missing(l, "key", name, table, err);
	if (at < 0)
		return error_set(err, ERROR_SCHEMA,
				 "key column \"%s\" of %s is not among "
				 "source.columns: add it there",
				 name, table);
	for (size_t i = 0; i < l->n_key; i++) {
		if (l->key[i] == (size_t)at)
			return error_set(err, ERROR_CONFIG,
					 "key: \"%s\" is named twice", name);
	}
	if (l->columns[at]->how->order == ORDER_NONE)
		return error_set(err, ERROR_SCHEMA,
				 "key column \"%s\" of %s has type %s, which "
				 "has no exact order",
				 name, table, l->columns[at]->type.native);
	l->key[l->n_key++] = (size_t)at;
	return 0;
}

static int layout_find_key(struct mysrc_layout *l,
			   const struct source_spec *source, struct error *err)
{
	const json_t *primary = NULL;
	size_t given = source->key ? source->key->n : 0, n;
	int rc = 0;

	for (size_t i = 0; i < l->n_indexes; i++) {
		if (l->indexes[i].primary)
			primary = l->indexes[i].columns;
	}
	n = given ? given : json_array_size(primary);
	if (n > LAYOUT_MOST_KEYS)
		return error_set(err, ERROR_CONFIG, "key: more than %d columns",
				 LAYOUT_MOST_KEYS);
	l->key = xcalloc(n + 1, sizeof(*l->key));
	for (size_t i = 0; !rc && i < n; i++) {
		const char *name =
			given ? source->key->items[i]
			      : json_string_value(json_array_get(primary, i));
		if (!name)
			return error_set(err, ERROR_SCHEMA,
					 "the primary key of %s is over the "
					 "beginning of a column: name `key`",
					 source->table);
		rc = layout_add_key(l, name, source->table, err);
	}
	return rc;
}

static bool layout_covers(const struct mysrc_layout *l,
			  const struct mysrc_index *x)
{
	size_t n = json_array_size(x->columns);

	for (size_t i = 0; i < n; i++) {
		const char *name =
			json_string_value(json_array_get(x->columns, i));
		bool in = false;
		for (size_t k = 0; name && k < l->n_key; k++)
			in |= !l->columns[l->key[k]]->expression &&
			      !strcmp(l->columns[l->key[k]]->name, name);
		if (!in)
			return false;
	}
	return x->unique && n > 0;
}

static bool layout_mark_fits(const struct mysrc_column *c,
			     enum strategy strategy)
{
	switch (c->type.kind) {
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
	case TYPE_DATE:
		return strategy == STRATEGY_TIMESTAMP;
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_UINT64:
		return strategy == STRATEGY_SEQUENCE &&
		       c->how->order == ORDER_PLAIN;
	case TYPE_DECIMAL:
		return strategy == STRATEGY_SEQUENCE && c->type.scale == 0;
	default:
		return false;
	}
}

static int layout_find_mark(struct mysrc_layout *l,
			    const struct source_spec *source,
			    const struct watermark_spec *mark,
			    struct error *err)
{
	const struct mysrc_column *c;

	if (!mark->column)
		return error_set(err, ERROR_CONFIG,
				 "watermark.column is missing: strategy %s "
				 "needs one",
				 strategy_name(mark->strategy));
	l->mark = layout_find(l, mark->column);
	if (l->mark < 0) {
		/* Hidden: read, but not delivered. */
		struct mysrc_column *hidden =
			layout_among_all(l, mark->column, false);
		if (!hidden)
			return layout_missing(l, "watermark.column",
					      mark->column, source->table, err);
		l->mark = (long)l->n_columns;
		l->columns[l->mark] = hidden;
	}
	c = mysrc_mark(l);
	if (layout_mark_fits(c, mark->strategy))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "watermark.column: \"%s\" of %s is of type %s; "
			 "strategy %s needs %s",
			 c->name, source->table, c->type.native,
			 strategy_name(mark->strategy),
			 mark->strategy == STRATEGY_TIMESTAMP
				 ? "timestamp, datetime or date"
				 : "an integer (or decimal without fraction)");
}

static int layout_check_strategy(const struct mysrc_layout *l,
				 const struct source_spec *source,
				 const struct watermark_spec *mark,
				 struct error *err)
{
	if (mark->strategy == STRATEGY_XMIN)
		return error_set(err, ERROR_CONFIG,
				 "strategy xmin cannot serve %s: MySQL and "
				 "MariaDB rows have no xmin; use timestamp or "
				 "sequence",
				 source->table);
	if (!l->n_key)
		return error_set(err, ERROR_SCHEMA,
				 "%s has no primary key: name the columns that "
				 "tell its rows apart, as in `key: [id]`",
				 source->table);
	return 0;
}

/* The n-th column by which an index is sorted: its own, and then InnoDB's
 * primary key. */
static const char *layout_sorted_by(const struct mysrc_layout *l,
				    const struct mysrc_index *x, size_t n)
{
	size_t own = json_array_size(x->columns);
	bool innodb = l->table.engine && !strcasecmp(l->table.engine, "InnoDB");

	if (n < own)
		return json_string_value(json_array_get(x->columns, n));
	for (size_t i = 0; innodb && i < l->n_indexes; i++) {
		if (l->indexes[i].primary)
			return json_string_value(
				json_array_get(l->indexes[i].columns, n - own));
	}
	return NULL;
}

/* Are its entries in the total order? */
static bool layout_serves(const struct mysrc_layout *l,
			  const struct mysrc_index *x)
{
	for (size_t i = 0; i < l->n_order; i++) {
		const struct mysrc_column *c = l->columns[l->order[i]];
		const char *name = layout_sorted_by(l, x, i);
		if (!name || c->expression || mysrc_ordered_by_bytes(l, c) ||
		    c->how->order == ORDER_BITS || strcmp(name, c->name) != 0)
			return false;
	}
	return x->sorted && l->n_order > 0;
}

/* MySQL rather reads the whole table and sorts it, once a page, when a page is
 * a few percent of what is left. */
static void layout_find_hint(struct mysrc_layout *l)
{
	const struct mysrc_index *found = NULL;
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < l->n_indexes; i++) {
		if (layout_serves(l, &l->indexes[i]) &&
		    (!found || l->indexes[i].primary))
			found = &l->indexes[i];
	}
	if (!found)
		return;
	strbuf_addstr(&sb, " FORCE INDEX (");
	sql_quote_name(&sb, found->name, '`');
	strbuf_addch(&sb, ')');
	l->hint = strbuf_detach(&sb);
}

static void layout_finish(struct mysrc_layout *l)
{
	size_t n = l->n_columns + (l->mark == (long)l->n_columns);

	l->order = xcalloc(l->n_key + 1, sizeof(*l->order));
	if (l->mark >= 0)
		l->order[l->n_order++] = (size_t)l->mark;
	for (size_t i = 0; i < l->n_key; i++) {
		if ((long)l->key[i] != l->mark)
			l->order[l->n_order++] = l->key[i];
	}
	for (size_t i = 0; i < l->n_indexes; i++)
		l->key_unique |= layout_covers(l, &l->indexes[i]);
	l->forms = xcalloc(n + 1, sizeof(*l->forms));
	for (size_t i = 0; i < n; i++)
		l->forms[i] = l->columns[i]->how->form;
	if (l->mark >= 0)
		layout_find_hint(l);
}

/* A column that the catalog does not show may be one that the user may not
 * read. */
static int layout_probe_name(struct mydb *db, const struct mysrc_layout *l,
			     const char *name, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (!name || layout_among_all(l, name, false) ||
	    layout_among_all(l, name, true))
		return 0;
	sql_quote_name(&sql, name, '`');
	rc = mysrc_probe(db, &l->table, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

static int layout_probe(struct mydb *db, const struct source_spec *source,
			const struct watermark_spec *mark,
			const struct mysrc_layout *l, struct error *err)
{
	size_t n = source->columns ? source->columns->n : 0;
	int rc = n ? 0 : mysrc_probe(db, &l->table, "*", err);

	for (size_t i = 0; !rc && i < n; i++)
		rc = layout_probe_name(db, l, source->columns->items[i], err);
	for (size_t i = 0; !rc && source->key && i < source->key->n; i++)
		rc = layout_probe_name(db, l, source->key->items[i], err);
	if (!rc && mark)
		rc = layout_probe_name(db, l, mark->column, err);
	return rc;
}

int mysrc_layout_read(struct mydb *db, const struct source_spec *source,
		      const struct watermark_spec *mark,
		      struct mysrc_layout *out, struct error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->mark = -1;
	rc = mysrc_table_find(db, source->table, &out->table, err);
	if (!rc)
		rc = mysrc_indexes_find(db, out, err);
	if (!rc)
		rc = mysrc_columns_read(db, source, out, err);
	if (!rc)
		rc = layout_probe(db, source, mark, out, err);
	if (!rc)
		rc = layout_choose(out, source, err);
	if (!rc)
		rc = layout_find_key(out, source, err);
	if (!rc && mark)
		rc = layout_check_strategy(out, source, mark, err);
	if (!rc && mark)
		rc = layout_find_mark(out, source, mark, err);
	if (rc) {
		mysrc_layout_release(out);
		return rc;
	}
	layout_finish(out);
	out->where = xstrdup(source->where);
	return 0;
}

void mysrc_layout_to_schema(const struct mysrc_layout *l, const char *table,
			    struct schema *out)
{
	for (size_t i = 0; i < l->n_columns; i++) {
		const struct mysrc_column *c = l->columns[i];
		struct column *column =
			schema_add(out, c->name, &c->type, c->nullable);
		column->expression = xstrdup(c->expression);
	}
	schema_set_key(out, l->key, l->n_key);
	out->mark = l->mark < (long)l->n_columns ? l->mark : -1;
	out->engine = xstrdup("mysql");
	out->table = xstrdup(table);
	out->row_estimate = l->table.rows;
	out->byte_estimate = l->table.bytes;
}

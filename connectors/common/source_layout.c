#include "connectors/common/source_layout.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/names.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

#define LAYOUT_MOST_KEYS 32

static void layout_release_column(struct source_column *c)
{
	free(c->name);
	free(c->expression);
	free(c->computed);
	free(c->sql);
	free(c->output);
	free(c->type.native);
	free(c->spelled);
	free(c->cast);
	free(c->labels);
}

void source_table_release(struct source_table *t)
{
	free(t->schema);
	free(t->name);
	free(t->sql);
	free(t->alias);
	free(t->engine);
	free(t->created);
	free(t->definition);
	memset(t, 0, sizeof(*t));
}

void source_layout_release(struct source_layout *l)
{
	source_table_release(&l->table);
	for (size_t i = 0; i < l->n_indexes; i++) {
		free(l->indexes[i].name);
		strlist_release(&l->indexes[i].columns);
	}
	for (size_t i = 0; i < l->n_all; i++)
		layout_release_column(&l->all[i]);
	free(l->indexes);
	free(l->all);
	free(l->columns);
	free(l->key);
	free(l->order);
	free(l->where);
	free(l->own);
	memset(l, 0, sizeof(*l));
	l->mark = -1;
}

const struct source_column *source_mark(const struct source_layout *l)
{
	return l->mark < 0 ? NULL : l->columns[l->mark];
}

size_t source_layout_width(const struct source_layout *l)
{
	return l->n_columns + (l->mark == (long)l->n_columns);
}

bool source_index_begins_with(const struct source_layout *l, const char *column)
{
	for (size_t i = 0; i < l->n_indexes; i++) {
		const struct strlist *columns = &l->indexes[i].columns;
		if (columns->n && !strcmp(columns->items[0], column))
			return true;
	}
	return false;
}

void source_layout_write_order(struct strbuf *sb, const struct source_layout *l,
			       char quote)
{
	for (size_t i = 0; i < l->n_order; i++) {
		strbuf_addstr(sb, i ? ", " : "");
		sql_quote_name(sb, l->columns[l->order[i]]->name, quote);
	}
}

static long layout_find(const struct source_layout *l, const char *name)
{
	for (size_t i = 0; i < l->n_columns; i++) {
		if (!strcmp(l->columns[i]->name, name))
			return (long)i;
	}
	return -1;
}

struct source_column *source_column_find(const struct source_layout *l,
					 const char *name, bool expression)
{
	for (size_t i = 0; i < l->n_all; i++) {
		struct source_column *c = &l->all[i];
		if (!!c->expression == expression && !strcmp(c->name, name))
			return c;
	}
	return NULL;
}

/* The user's SQL may end in a comment: the line's end closes it. */
void source_column_express(struct source_column *c,
			   const struct source_expression *e)
{
	c->name = xstrdup(e->name);
	c->expression = xstrdup(e->sql);
	c->sql = xstrfmt("(%s\n)", e->sql);
}

static int layout_missing(const struct source_layout *l, const char *what,
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

/* An expression takes the place of a column of its name. */
static int layout_take(struct source_layout *l, const char *name,
		       const char *table, struct error *err)
{
	struct source_column *c = source_column_find(l, name, true);

	if (!c)
		c = source_column_find(l, name, false);
	if (!c)
		return layout_missing(l, "source.columns", name, table, err);
	if (layout_find(l, name) >= 0)
		return error_set(
			err, ERROR_CONFIG,
			"source.columns: \"%s\" is named twice" ERROR_FIX
			": leave one out",
			name);
	l->columns[l->n_columns++] = c;
	return 0;
}

static bool layout_excludes(const struct source_spec *source, const char *name)
{
	return source->exclude && strlist_has(source->exclude, name);
}

/* The columns of a query are expressions. One of the user's stands in for an
 * excluded column. */
static bool layout_leaves_out(const struct source_spec *source,
			      const char *name)
{
	for (size_t i = 0; i < source->n_expressions; i++)
		if (!strcmp(source->expressions[i].name, name))
			return false;
	return source->query && layout_excludes(source, name);
}

/* The columns of a query are expressions, and none takes another's place. A
 * name that is misspelled would let the column through. */
static int layout_check_exclude(const struct source_layout *l,
				const struct source_spec *source,
				struct error *err)
{
	size_t n = source->exclude ? source->exclude->n : 0;

	for (size_t i = 0; i < n && !source->exclude_loose; i++)
		if (!source_column_find(l, source->exclude->items[i],
					source->query != NULL))
			return layout_missing(
				l,
				source->exclude_at ? source->exclude_at
						   : "source.exclude",
				source->exclude->items[i], source->table, err);
	return 0;
}

/* The chosen columns, in the config's order or else the table's. Expressions
 * that replace no column follow. */
static int layout_choose(struct source_layout *l,
			 const struct source_spec *source, struct error *err)
{
	size_t chosen = source->columns ? source->columns->n : 0;
	int rc = chosen ? 0 : layout_check_exclude(l, source, err);

	l->columns = xcalloc(l->n_all + chosen + 1, sizeof(*l->columns));
	for (size_t i = 0; !rc && i < chosen; i++)
		rc = layout_take(l, source->columns->items[i], source->table,
				 err);
	for (size_t i = 0; !rc && !chosen && i < l->n_all; i++) {
		if (!l->all[i].expression &&
		    !layout_excludes(source, l->all[i].name))
			rc = layout_take(l, l->all[i].name, source->table, err);
	}
	for (size_t i = 0; !rc && i < l->n_all; i++) {
		const struct source_column *c = &l->all[i];
		bool out = !chosen && layout_leaves_out(source, c->name);

		if (c->expression && !out && layout_find(l, c->name) < 0)
			l->columns[l->n_columns++] = &l->all[i];
	}
	if (!rc && !l->n_columns)
		return error_set(err, ERROR_SCHEMA,
				 "table %s has no columns; there is nothing to "
				 "copy until it has one",
				 source->table);
	return rc;
}

static int layout_add_key(struct source_layout *l, const char *name,
			  const struct source_spec *source, struct error *err)
{
	const char *table = source->table;
	long at = layout_find(l, name);

	if (!*name)
		return error_set(err, ERROR_SCHEMA,
				 "the primary key of %s is over the beginning "
				 "of a column" ERROR_FIX ": name `key`",
				 table);
	if (at < 0 && !source_column_find(l, name, false))
		return layout_missing(l, "key", name, table, err);
	if (at < 0 && layout_excludes(source, name))
		return error_set(err, ERROR_SCHEMA,
				 "key column \"%s\" of %s is left out by "
				 "source.exclude" ERROR_FIX
				 ": take it out of that list",
				 name, table);
	if (at < 0)
		return error_set(err, ERROR_SCHEMA,
				 "key column \"%s\" of %s is not among "
				 "source.columns" ERROR_FIX ": add it there",
				 name, table);
	for (size_t i = 0; i < l->n_key; i++) {
		if (l->key[i] == (size_t)at)
			return error_set(err, ERROR_CONFIG,
					 "key: \"%s\" is named twice" ERROR_FIX
					 ": leave one out",
					 name);
	}
	if (!l->columns[at]->ordered)
		return error_set(err, ERROR_SCHEMA,
				 "key column \"%s\" of %s has type %s, which "
				 "has no exact order" ERROR_FIX
				 "; name other columns under `key`, or an "
				 "expression that gives it as a text",
				 name, table, l->columns[at]->type.native);
	l->key[l->n_key++] = (size_t)at;
	return 0;
}

/* The place of a column that a unique set may have, or -1: it is read, never
 * NULL, and has one exact order. */
static long layout_unique_place(const struct source_layout *l, const char *name)
{
	long at = layout_find(l, name);
	const struct source_column *c = at < 0 ? NULL : l->columns[at];

	return c && !c->expression && !c->nullable && c->ordered ? at : -1;
}

static bool layout_can_be_key(const struct source_layout *l,
			      const struct source_index *x)
{
	bool can = x->unique && x->columns.n > 0 &&
		   x->columns.n <= LAYOUT_MOST_KEYS;

	for (size_t i = 0; can && i < x->columns.n; i++)
		can = layout_unique_place(l, x->columns.items[i]) >= 0;
	return can;
}

/* Does `a` come before `b`, whatever their order in the catalog is? The smaller
 * set does, then the one whose columns come first in the table. */
static bool layout_precedes(const struct source_layout *l,
			    const struct source_index *a,
			    const struct source_index *b)
{
	if (a->columns.n != b->columns.n)
		return a->columns.n < b->columns.n;
	for (size_t i = 0; i < a->columns.n; i++) {
		const struct source_column *x =
			source_column_find(l, a->columns.items[i], false);
		const struct source_column *y =
			source_column_find(l, b->columns.items[i], false);
		if (x != y)
			return x < y;
	}
	return false;
}

/* The primary key; without one, a set of columns that are unique and never
 * NULL. */
static const struct strlist *layout_own_key(const struct source_layout *l)
{
	const struct source_index *best = NULL;

	for (size_t i = 0; i < l->n_indexes; i++) {
		const struct source_index *x = &l->indexes[i];

		if (x->primary && x->columns.n)
			return &x->columns;
		if (layout_can_be_key(l, x) &&
		    (!best || layout_precedes(l, x, best)))
			best = x;
	}
	return best ? &best->columns : NULL;
}

static int layout_find_key(struct source_layout *l,
			   const struct source_spec *source, struct error *err)
{
	const struct strlist *names = source->key;
	int rc = 0;

	if (!names || !names->n)
		names = layout_own_key(l);
	if (names && names->n > LAYOUT_MOST_KEYS)
		return error_set(err, ERROR_CONFIG,
				 "key: more than %d columns" ERROR_FIX
				 "; name fewer",
				 LAYOUT_MOST_KEYS);
	l->key = xcalloc(LAYOUT_MOST_KEYS, sizeof(*l->key));
	for (size_t i = 0; !rc && names && i < names->n; i++)
		rc = layout_add_key(l, names->items[i], source, err);
	return rc;
}

static bool layout_covers(const struct source_layout *l,
			  const struct source_index *x)
{
	for (size_t i = 0; i < x->columns.n; i++) {
		bool in = false;
		for (size_t k = 0; k < l->n_key; k++) {
			const struct source_column *c = l->columns[l->key[k]];
			in |= !c->expression &&
			      !strcmp(c->name, x->columns.items[i]);
		}
		if (!in)
			return false;
	}
	return x->unique && x->columns.n > 0;
}

bool source_mark_fits(const struct source_column *c, enum strategy strategy)
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
		return strategy == STRATEGY_SEQUENCE;
	case TYPE_DECIMAL:
		return strategy == STRATEGY_SEQUENCE && c->type.precision > 0 &&
		       c->type.scale == 0;
	default:
		return false;
	}
}

static int layout_find_mark(struct source_layout *l,
			    const struct source_rules *rules,
			    const struct source_spec *source,
			    const struct watermark_spec *mark,
			    struct error *err)
{
	const struct source_column *c;

	if (!mark->column)
		return error_set(err, ERROR_CONFIG,
				 "watermark.column is missing" ERROR_FIX
				 ": strategy %s needs one",
				 strategy_name(mark->strategy));
	l->mark = layout_find(l, mark->column);
	if (l->mark < 0) {
		/* Hidden: read, but not delivered. */
		struct source_column *hidden =
			source_column_find(l, mark->column, false);
		if (!hidden)
			return layout_missing(l, "watermark.column",
					      mark->column, source->table, err);
		l->mark = (long)l->n_columns;
		l->columns[l->mark] = hidden;
	}
	c = source_mark(l);
	if (mark->any_type || rules->mark_fits(c, mark->strategy))
		return 0;
	return error_set(
		err, ERROR_CONFIG,
		"watermark.column: \"%s\" of %s is of type %s" ERROR_FIX
		"; strategy %s needs %s",
		c->name, source->table,
		*c->type.native ? c->type.native : "(none)",
		strategy_name(mark->strategy),
		mark->strategy == STRATEGY_TIMESTAMP ? rules->time_types
						     : rules->number_types);
}

static int layout_check_strategy(const struct source_layout *l,
				 const struct source_rules *rules,
				 const struct source_spec *source,
				 const struct watermark_spec *mark,
				 struct error *err)
{
	if (mark->strategy == STRATEGY_XMIN)
		return error_set(err, ERROR_CONFIG,
				 "strategy xmin cannot serve %s: rows of %s "
				 "have no xmin" ERROR_FIX
				 "; use timestamp or sequence",
				 source->table, rules->title);
	if (!l->n_key &&
	    !(mark->keyless && strategy_has_column(mark->strategy)))
		return error_set(err, ERROR_SCHEMA,
				 "%s has no primary key, and no UNIQUE columns "
				 "that are all NOT NULL" ERROR_FIX
				 ": name the columns that tell its rows apart, "
				 "as in `key: [id]`; or load it whole, by "
				 "mode replace without a watermark; or keep "
				 "every row, by mode append",
				 source->table);
	return 0;
}

static void layout_finish(struct source_layout *l)
{
	l->order = xcalloc(l->n_key + 1, sizeof(*l->order));
	if (l->mark >= 0)
		l->order[l->n_order++] = (size_t)l->mark;
	for (size_t i = 0; i < l->n_key; i++) {
		if ((long)l->key[i] != l->mark)
			l->order[l->n_order++] = l->key[i];
	}
	for (size_t i = 0; i < l->n_indexes; i++)
		l->key_unique |= layout_covers(l, &l->indexes[i]);
}

int source_layout_choose(struct source_layout *l,
			 const struct source_rules *rules,
			 const struct source_spec *source,
			 const struct watermark_spec *mark, struct error *err)
{
	int rc = layout_choose(l, source, err);

	l->mark = -1;
	if (!rc)
		rc = layout_find_key(l, source, err);
	if (!rc && mark)
		rc = layout_check_strategy(l, rules, source, mark, err);
	if (!rc && mark)
		rc = layout_find_mark(l, rules, source, mark, err);
	if (rc)
		return rc;
	layout_finish(l);
	l->where = xstrdup(source->where);
	return 0;
}

void source_layout_to_schema(const struct source_layout *l,
			     const struct source_rules *rules,
			     const char *table, struct schema *out)
{
	for (size_t i = 0; i < l->n_columns; i++) {
		const struct source_column *c = l->columns[i];
		struct column *column =
			schema_add(out, c->name, &c->type, c->nullable);
		column->expression = xstrdup(c->expression);
		column->labels = xstrdup(c->labels);
		column->number = c->number;
	}
	schema_set_key(out, l->key, l->n_key);
	out->mark = l->mark < (long)l->n_columns ? l->mark : -1;
	out->definition = xstrdup(l->table.definition);
	out->engine = xstrdup(rules->engine);
	out->table = xstrdup(table);
	out->row_estimate = l->table.rows;
	out->byte_estimate = l->table.bytes;
}

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/data/value.h"
#include "core/plugin/naming.h"
#include "core/plugin/registry.h"
#include "core/sync/parts/changing.h"

/* Rows that are read again, and how often each is read. */
#define TRY_ROWS  20
#define TRY_READS 3

/* The texts of a row. The key and the plain columns are one text, each computed
 * column is another. */
struct try_row {
	char *key, *plain;
	char **computed;
};

struct trial {
	const struct pipeline_settings *p;
	struct source_spec spec;
	struct schema schema; /* for the read that is under way */
	size_t n_columns; /* in each read */
	struct strlist keys; /* as scan.keys takes them */
	struct try_row rows[TRY_READS][TRY_ROWS];
	size_t n[TRY_READS];
};

static bool trial_is_computed(const struct trial *t, size_t column)
{
	return t->schema.columns[column].expression != NULL;
}

static void trial_print(struct strbuf *sb, const struct batch *b, size_t column,
			size_t row)
{
	const struct vector *v = &b->vectors[column];

	if (vector_is_null(v, row))
		strbuf_addstr(sb, "\x1e");
	else
		value_print(sb, v, row);
	strbuf_addch(sb, '\x1f');
}

static void trial_note_keys(struct trial *t, const struct batch *b, size_t row)
{
	for (size_t i = 0; i < t->schema.n_key; i++) {
		struct strbuf sb = STRBUF_INIT;

		value_print(&sb, &b->vectors[t->schema.key[i]], row);
		strlist_add(&t->keys, sb.data);
		strbuf_release(&sb);
	}
}

static void trial_note(struct trial *t, size_t read, const struct batch *b,
		       size_t row)
{
	struct try_row *to = &t->rows[read][t->n[read]++];
	struct strbuf key = STRBUF_INIT, plain = STRBUF_INIT;

	to->computed = xcalloc(t->schema.n_columns + 1, sizeof(char *));
	for (size_t i = 0; i < t->schema.n_key; i++)
		trial_print(&key, b, t->schema.key[i], row);
	for (size_t i = 0; i < t->schema.n_columns; i++) {
		struct strbuf sb = STRBUF_INIT;

		if (!trial_is_computed(t, i)) {
			trial_print(&plain, b, i, row);
			continue;
		}
		trial_print(&sb, b, i, row);
		to->computed[i] = strbuf_detach(&sb);
	}
	to->key = strbuf_detach(&key);
	to->plain = strbuf_detach(&plain);
	if (!read)
		trial_note_keys(t, b, row);
}

static int trial_scan(struct trial *t, size_t read, struct connector *c,
		      struct error *err)
{
	const struct scan scan = { .source = &t->spec,
				   .schema = &t->schema,
				   .keys = read ? &t->keys : NULL };
	struct batch b;
	int rc = c->ops->scan(c, &scan, err);

	batch_init(&b, &t->schema);
	while (!rc && t->n[read] < TRY_ROWS) {
		batch_reset(&b);
		b.max_rows = TRY_ROWS;
		b.max_bytes = 1 << 20;
		rc = c->ops->next(c, &b, err);
		if (rc || !b.n_rows)
			break;
		for (size_t i = 0; i < b.n_rows && t->n[read] < TRY_ROWS; i++)
			trial_note(t, read, &b, i);
		if (!read)
			break;
	}
	batch_release(&b);
	return rc;
}

/* Each read has a connection, and so a transaction, of its own: now() is the
 * same throughout one. */
static int trial_read(struct trial *t, size_t read, struct error *err)
{
	struct connector *c = NULL;
	int rc = registry_open_connector(t->p->source, &c, err);

	schema_release(&t->schema);
	schema_init(&t->schema);
	if (!rc)
		rc = source_describe(c, &t->spec, NULL, &t->schema, err);
	if (!read)
		t->n_columns = t->schema.n_columns;
	/* Altered meanwhile: the run itself has more to say about that. */
	if (!rc && t->schema.n_key && t->schema.n_columns == t->n_columns)
		rc = trial_scan(t, read, c, err);
	if (c)
		c->ops->close(c);
	return rc;
}

static const struct try_row *trial_find(const struct trial *t, size_t read,
					const char *key)
{
	for (size_t i = 0; i < t->n[read]; i++)
		if (!strcmp(t->rows[read][i].key, key))
			return &t->rows[read][i];
	return NULL;
}

/* Find a column that differs from each read to the next, in a row that is
 * otherwise the same. -1: there is none. */
static long trial_judge(const struct trial *t, const struct try_row *first)
{
	const struct try_row *second = trial_find(t, 1, first->key);
	const struct try_row *third = trial_find(t, 2, first->key);

	if (!second || !third || strcmp(first->plain, second->plain) != 0 ||
	    strcmp(second->plain, third->plain) != 0)
		return -1;
	for (size_t i = 0; i < t->schema.n_columns; i++)
		if (trial_is_computed(t, i) &&
		    strcmp(first->computed[i], second->computed[i]) != 0 &&
		    strcmp(second->computed[i], third->computed[i]) != 0)
			return (long)i;
	return -1;
}

static int trial_refuse(const struct trial *t, size_t column, struct error *err)
{
	const struct column *c = &t->schema.columns[column];

	return error_set(err, ERROR_CONFIG,
			 "pipeline %s: column \"%s\" of %s is computed by %s, "
			 "which gave another value at each of three reads of "
			 "an unchanged row: it can be neither compared nor "
			 "verified; leave it out under source.expressions; for "
			 "the time of loading set load.loaded_at: %s",
			 t->p->name, column_source(c), t->p->source_table,
			 c->expression, column_source(c));
}

static void trial_release(struct trial *t)
{
	for (size_t read = 0; read < TRY_READS; read++)
		for (size_t i = 0; i < t->n[read]; i++) {
			struct try_row *row = &t->rows[read][i];

			for (size_t k = 0; k < t->n_columns; k++)
				free(row->computed[k]);
			free(row->computed);
			free(row->key);
			free(row->plain);
		}
	strlist_release(&t->keys);
	schema_release(&t->schema);
}

int changing_try(const struct pipeline_settings *p, struct error *err)
{
	struct trial t = { .p = p };
	int rc = 0;

	if (!p->n_expressions ||
	    engine_has(p->source->url.engine, ENGINE_PAID_READS))
		return 0;
	settings_source_spec(p, &t.spec);
	schema_init(&t.schema);
	for (size_t read = 0; !rc && read < TRY_READS; read++)
		if (!read || t.keys.n)
			rc = trial_read(&t, read, err);
	for (size_t i = 0; !rc && i < t.n[0]; i++) {
		long column = trial_judge(&t, &t.rows[0][i]);

		if (column >= 0)
			rc = trial_refuse(&t, (size_t)column, err);
	}
	trial_release(&t);
	return rc;
}

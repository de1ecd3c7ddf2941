#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/clickhouse/internal.h"

static const char catalog_table_sql[] =
	"SELECT engine, engine_full, comment, toString(uuid), sorting_key\n"
	"FROM system.tables WHERE database = %s AND name = %s";

static const char catalog_columns_sql[] =
	"SELECT name, type, comment, default_kind, "
	"is_in_sorting_key, default_expression\n"
	"FROM system.columns WHERE database = %s AND table = %s\n"
	"ORDER BY position";

void clickhouse_target_catalog_init(struct catalog_table *t)
{
	memset(t, 0, sizeof(*t));
}

void clickhouse_target_catalog_release(struct catalog_table *t)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		free(t->columns[i].name);
		free(t->columns[i].type);
		free(t->columns[i].comment);
		free(t->columns[i].default_kind);
		free(t->columns[i].expression);
	}
	free(t->columns);
	free(t->engine);
	free(t->engine_full);
	free(t->comment);
	free(t->uuid);
	free(t->sorting_key);
	clickhouse_target_catalog_init(t);
}

static int catalog_ask(struct clickhouse *db, const char *sql,
		       const char *shape, const char *database,
		       const char *name, struct clickhouse_rows *out,
		       struct error *err)
{
	struct strbuf text = STRBUF_INIT, a = STRBUF_INIT, b = STRBUF_INIT;
	int rc;

	clickhouse_quote_text(&a, database);
	clickhouse_quote_text(&b, name);
	/* One of the two above: both have two places. */
	for (const char *p = sql; *p; p++) {
		if (p[0] == '%' && p[1] == 's') {
			strbuf_addstr(&text, a.len ? a.data : b.data);
			strbuf_reset(&a);
			p++;
		} else {
			strbuf_addch(&text, *p);
		}
	}
	rc = clickhouse_query(db, text.data, shape, out, err);
	strbuf_release(&text);
	strbuf_release(&a);
	strbuf_release(&b);
	return rc;
}

static void catalog_take_columns(struct catalog_table *t,
				 const struct clickhouse_rows *rows)
{
	t->columns = xcalloc(rows->n_rows + 1, sizeof(*t->columns));
	t->n_columns = rows->n_rows;
	for (size_t i = 0; i < rows->n_rows; i++) {
		struct catalog_column *c = &t->columns[i];
		const char *kind = clickhouse_cell(rows, i, 3);

		c->name = xstrdup(clickhouse_cell(rows, i, 0));
		c->type = xstrdup(clickhouse_cell(rows, i, 1));
		c->comment = xstrdup(clickhouse_cell(rows, i, 2));
		c->default_kind = xstrdup(kind);
		c->expression = xstrdup(clickhouse_cell(rows, i, 5));
		c->has_default = !strcmp(kind, "DEFAULT");
		c->ephemeral = !strcmp(kind, "EPHEMERAL");
		c->computed = c->ephemeral || !strcmp(kind, "MATERIALIZED") ||
			      !strcmp(kind, "ALIAS");
		c->sorting = *clickhouse_cell(rows, i, 4) == '1';
	}
}

int clickhouse_target_catalog_read(struct clickhouse *db, const char *database,
				   const char *name, struct catalog_table *out,
				   struct error *err)
{
	struct clickhouse_rows rows;
	int rc = catalog_ask(db, catalog_table_sql, "ttttt", database, name,
			     &rows, err);

	clickhouse_target_catalog_release(out);
	if (rc)
		return rc;
	if (rows.n_rows) {
		out->exists = true;
		out->engine = xstrdup(clickhouse_cell(&rows, 0, 0));
		out->engine_full = xstrdup(clickhouse_cell(&rows, 0, 1));
		out->comment = xstrdup(clickhouse_cell(&rows, 0, 2));
		out->uuid = xstrdup(clickhouse_cell(&rows, 0, 3));
		out->sorting_key = xstrdup(clickhouse_cell(&rows, 0, 4));
		out->view = !strcmp(out->engine, "View");
	}
	clickhouse_rows_release(&rows);
	if (!out->exists)
		return 0;
	rc = catalog_ask(db, catalog_columns_sql, "tttttt", database, name,
			 &rows, err);
	if (!rc)
		catalog_take_columns(out, &rows);
	clickhouse_rows_release(&rows);
	return rc;
}

const struct catalog_column *
clickhouse_target_catalog_find(const struct catalog_table *t, const char *name)
{
	for (size_t i = 0; i < t->n_columns; i++)
		if (!strcmp(t->columns[i].name, name))
			return &t->columns[i];
	return NULL;
}

bool clickhouse_target_catalog_is_durable(const struct catalog_table *t)
{
	return strstr(t->engine_full, "fsync_after_insert = 1") &&
	       strstr(t->engine_full, "fsync_part_directory = 1");
}

bool clickhouse_target_catalog_is_made_by_us(const struct catalog_table *t)
{
	return !strncmp(t->comment, NAME_MADE_BY, strlen(NAME_MADE_BY));
}

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/clickhouse/internal.h"

/* The table, at position 0, and its columns, which have positions from 1 on. */
static const char catalog_sql[] =
	"SELECT * FROM (\n"
	"  SELECT toUInt64(0) AS at, engine AS a, engine_full AS b,\n"
	"    comment AS c, toString(uuid) AS d, sorting_key AS e, '' AS f\n"
	"  FROM system.tables WHERE database = %s AND name = %s\n"
	"  UNION ALL\n"
	"  SELECT position, name, type, comment, toString(default_kind),\n"
	"    toString(is_in_sorting_key), default_expression\n"
	"  FROM system.columns WHERE database = %s AND table = %s)\n"
	"ORDER BY at";

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

char *clickhouse_target_catalog_sql(const char *database, const char *name)
{
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
	char *sql;

	clickhouse_quote_text(&a, database);
	clickhouse_quote_text(&b, name);
	sql = xstrfmt(catalog_sql, a.data, b.data, a.data, b.data);
	strbuf_release(&a);
	strbuf_release(&b);
	return sql;
}

static void catalog_take_columns(struct catalog_table *t,
				 const struct clickhouse_rows *rows)
{
	t->columns = xcalloc(rows->n_rows + 1, sizeof(*t->columns));
	/* Behind the table itself. */
	for (size_t i = 1; i < rows->n_rows; i++) {
		struct catalog_column *c = &t->columns[t->n_columns++];
		const char *kind = clickhouse_cell(rows, i, 4);

		c->name = xstrdup(clickhouse_cell(rows, i, 1));
		c->type = xstrdup(clickhouse_cell(rows, i, 2));
		c->comment = xstrdup(clickhouse_cell(rows, i, 3));
		c->default_kind = xstrdup(kind);
		c->expression = xstrdup(clickhouse_cell(rows, i, 6));
		c->has_default = !strcmp(kind, "DEFAULT");
		c->ephemeral = !strcmp(kind, "EPHEMERAL");
		c->computed = c->ephemeral || !strcmp(kind, "MATERIALIZED") ||
			      !strcmp(kind, "ALIAS");
		c->sorting = *clickhouse_cell(rows, i, 5) == '1';
	}
}

int clickhouse_target_catalog_read(struct clickhouse *db, const char *database,
				   const char *name, struct catalog_table *out,
				   struct error *err)
{
	struct clickhouse_rows rows;
	char *sql = clickhouse_target_catalog_sql(database, name);
	int rc = clickhouse_query(db, sql, "ttttttt", &rows, err);

	free(sql);
	clickhouse_target_catalog_release(out);
	if (rc)
		return rc;
	/* Columns alone are those of a table that goes just now. */
	if (rows.n_rows && !strcmp(clickhouse_cell(&rows, 0, 0), "0")) {
		out->exists = true;
		out->engine = xstrdup(clickhouse_cell(&rows, 0, 1));
		out->engine_full = xstrdup(clickhouse_cell(&rows, 0, 2));
		out->comment = xstrdup(clickhouse_cell(&rows, 0, 3));
		out->uuid = xstrdup(clickhouse_cell(&rows, 0, 4));
		out->sorting_key = xstrdup(clickhouse_cell(&rows, 0, 5));
		out->view = !strcmp(out->engine, "View");
		catalog_take_columns(out, &rows);
	}
	clickhouse_rows_release(&rows);
	return 0;
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

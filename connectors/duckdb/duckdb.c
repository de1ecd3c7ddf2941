#include <stdlib.h>
#include <string.h>

#include "connectors/common/embedded.h"
#include "connectors/duckdb/source.h"
#include "core/base/alloc.h"

static struct duckdb_source *duckdb_self(struct connector *base)
{
	return (struct duckdb_source *)base;
}

static void duckdb_source_close(struct connector *base)
{
	struct duckdb_source *s = duckdb_self(base);

	if (!s)
		return;
	duckdb_source_leave(s);
	paged_release(&s->paged);
	duck_close(s->db);
	free(s->cells);
	free(s->path);
	free(s->memory_limit);
	free(s->threads);
	free(s->external_access);
	free(s);
}

static int duckdb_source_open(struct connector **out,
			      const struct connection *conn, struct error *err)
{
	struct duckdb_source *s = xcalloc(1, sizeof(*s));
	int rc;

	paged_init(&s->paged, &duckdb_connector, &duckdb_source_dialect);
	s->path = xstrdup(conn->url.path);
	s->db = duck_reader(s->path);
	rc = duckdb_source_read_options(s, &conn->url, err);
	if (!rc && s->path[0] == ':')
		rc = error_set(err, ERROR_CONFIG,
			       "duckdb:%s has no tables to read: name a file",
			       s->path);
	if (!rc)
		rc = duckdb_source_enter(s, err);
	duckdb_source_leave(s);
	if (rc)
		duckdb_source_close(&s->paged.base);
	else
		*out = &s->paged.base;
	return rc;
}

static int duckdb_describe(struct connector *base,
			   const struct source_spec *source,
			   const struct watermark_spec *mark,
			   struct schema *out, struct error *err)
{
	struct duckdb_source *s = duckdb_self(base);
	int rc = duckdb_source_enter(s, err);

	if (!rc)
		rc = paged_describe(base, source, mark, out, err);
	duckdb_source_leave(s);
	return rc;
}

static int duckdb_suggest(struct connector *base, const char *table,
			  enum strategy *strategy, char **column, char **reason,
			  struct error *err)
{
	struct duckdb_source *s = duckdb_self(base);
	int rc = duckdb_source_enter(s, err);

	if (!rc)
		rc = paged_suggest(base, table, strategy, column, reason, err);
	duckdb_source_leave(s);
	return rc;
}

static int duckdb_cut(struct connector *base, const struct source_spec *source,
		      const struct watermark_spec *mark,
		      const struct range *range, int64_t rows,
		      struct range_cut *out, struct error *err)
{
	struct duckdb_source *s = duckdb_self(base);
	int rc;

	duckdb_source_leave(s);
	rc = duckdb_source_enter(s, err);
	if (!rc)
		rc = paged_cut(base, source, mark, range, rows, out, err);
	duckdb_source_leave(s);
	return rc;
}

static int duckdb_scan(struct connector *base, const struct scan *scan,
		       struct error *err)
{
	struct duckdb_source *s = duckdb_self(base);
	int rc;

	duckdb_source_leave(s);
	rc = duckdb_source_enter(s, err);
	if (!rc)
		rc = paged_scan(base, scan, err);
	if (rc)
		duckdb_source_leave(s);
	return rc;
}

static int duckdb_next(struct connector *base, struct batch *out,
		       struct error *err)
{
	struct duckdb_source *s = duckdb_self(base);
	int rc = paged_next(base, out, err);

	if (rc || !out->n_rows)
		duckdb_source_leave(s);
	return rc;
}

static void duckdb_interrupt(struct connector *base)
{
	duck_interrupt_all(duckdb_self(base)->db);
}

static bool duckdb_is_text(const struct source_column *c)
{
	const struct duckdb_source_type *how = c->how;

	return how->kind == TYPE_TEXT;
}

/* By bytes, whatever the column's collation; an ENUM by its text. */
static void duckdb_ordered(struct strbuf *sb, const struct paged_source *base,
			   const struct source_column *c)
{
	(void)base;
	strbuf_addf(sb, "%s%s", duckdb_is_text(c) ? c->output : c->sql,
		    duckdb_is_text(c) ? " COLLATE \"binary\"" : "");
}

/* "0044-03-15 00:00:00 BC" as DuckDB reads it: "0044-03-15 (BC) 00:00:00". */
static char *duckdb_date_text(const char *value)
{
	size_t n = strlen(value), day = strcspn(value, " ");

	if (n < 3 || strcmp(value + n - 3, " BC") != 0)
		return xstrdup(value);
	return xstrfmt("%.*s (BC)%.*s", (int)day, value, (int)(n - 3 - day),
		       value + day);
}

static void duckdb_write_value(struct paged_query *q,
			       const struct paged_source *base,
			       const struct source_column *c, const char *value)
{
	const struct duckdb_source_type *how = c->how;
	char *text = how->kind == TYPE_DATE || how->kind == TYPE_TIMESTAMP ||
				     how->kind == TYPE_TIMESTAMPTZ
			     ? duckdb_date_text(value)
			     : xstrdup(how->kind == TYPE_BYTES &&
						       !strncmp(value, "\\x", 2)
					       ? value + 2
					       : value);

	(void)base;
	if (how->duck == DUCK_DECIMAL)
		strbuf_addf(&q->sql, "CAST(? AS DECIMAL(38,%d))",
			    c->type.scale);
	else
		strbuf_addstr(&q->sql, how->cast);
	paged_push(q, c, text);
	free(text);
}

static const char *const duckdb_plain[] = {
	"ifnull",
	"nullif",
	"timezone",
	"transaction_timestamp",
	"get_current_timestamp",
	"current_localtimestamp",
	"epoch_ms",
	NULL,
};

const struct paged_dialect duckdb_source_dialect = {
	.rules = { .engine = "duckdb",
		   .title = "DuckDB",
		   .time_types = "TIMESTAMP, TIMESTAMP WITH TIME ZONE or DATE "
				 "(of another type, name an expression that "
				 "casts it)",
		   .number_types = "whole numbers",
		   .mark_fits = source_mark_fits },
	.select = "SELECT ",
	.unindexed = "",
	.page_rows = 250000,
	.plain = duckdb_plain,
	.look = duckdb_source_look,
	.ordered = duckdb_ordered,
	.value = duckdb_write_value,
	.hint = paged_no_hint,
	.lookup_keys = 2000,
	.keys = duckdb_source_write_keys,
	.newest = paged_newest,
	.query = duckdb_source_query,
	.explain = duckdb_source_explain,
	.page_open = duckdb_source_page_open,
	.page_read = duckdb_source_page_read,
	.page_close = duckdb_source_page_close,
	.page_type = paged_no_type,
	.position = paged_position,
};

const struct connector_ops duckdb_connector = {
	.name = "duckdb",
	.options = duckdb_source_options,
	.open = duckdb_source_open,
	.tables = duckdb_source_tables,
	.describe = duckdb_describe,
	.inspect = duckdb_source_inspect,
	.suggest = duckdb_suggest,
	.identity = duckdb_source_identity,
	.settle = duckdb_source_settle,
	.cut = duckdb_cut,
	.scan = duckdb_scan,
	.explain = paged_explain,
	.next = duckdb_next,
	.pause = embedded_pause,
	.pressure = embedded_pressure,
	.interrupt = duckdb_interrupt,
	.close = duckdb_source_close,
};

#include <stdlib.h>
#include <string.h>

#include "connectors/common/embedded.h"
#include "connectors/sqlite/source.h"
#include "core/base/alloc.h"

static struct sqlite_source *sqlite_self(struct connector *base)
{
	return (struct sqlite_source *)base;
}

static void sqlite_source_close(struct connector *base)
{
	struct sqlite_source *s = sqlite_self(base);

	if (!s)
		return;
	paged_release(&s->paged);
	for (size_t i = 0; i < s->n_raw; i++)
		strbuf_release(&s->raw[i]);
	free(s->raw);
	strlist_release(&s->declared);
	strlist_release(&s->spelled_keys);
	sqlite_close(s->prober);
	sqlite_close(s->db);
	free(s->path);
	free(s);
}

static int sqlite_source_open(struct connector **out,
			      const struct connection *conn, struct error *err)
{
	const struct sqlite_options options = {
		.read_only = true,
		.busy_timeout_us = SQLITE_BUSY_US,
	};
	struct sqlite_source *s = xcalloc(1, sizeof(*s));
	int rc = 0;

	paged_init(&s->paged, &sqlite_connector, &sqlite_source_dialect);
	s->path = xstrdup(conn->url.path);
	if (s->path[0] == ':')
		rc = error_set(err, ERROR_CONFIG,
			       "sqlite:%s has no tables to read: name a file",
			       s->path);
	if (!rc)
		rc = sqlite_open(&s->db, s->path, &options, err);
	if (!rc)
		rc = sqlite_exec(s->db,
				 "PRAGMA query_only = ON;"
				 "PRAGMA cache_size = -16384",
				 err);
	if (rc)
		sqlite_source_close(&s->paged.base);
	else
		*out = &s->paged.base;
	return rc;
}

static void sqlite_interrupt(struct connector *base)
{
	sqlite_interrupt_all(sqlite_self(base)->db);
}

/* The collation is given, so that keys which another collation calls equal are
 * told apart. If it is the column's own, its index serves. */
static void sqlite_ordered(struct strbuf *sb, const struct paged_source *base,
			   const struct source_column *c)
{
	const struct sqlite_source_type *how = c->how;

	(void)base;
	strbuf_addstr(sb, c->sql);
	if (how->kind != TYPE_INT64 && how->kind != TYPE_FLOAT64)
		strbuf_addstr(sb, " COLLATE BINARY");
}

static void sqlite_write_value(struct paged_query *q,
			       const struct paged_source *base,
			       const struct source_column *c, const char *value)
{
	const struct sqlite_source *s = (const struct sqlite_source *)base;
	struct strbuf sb = STRBUF_INIT;

	strbuf_addch(&q->sql, '?');
	if (c == source_mark(&base->layout) && sqlite_source_mark_is_text(s))
		sqlite_source_notation_convert(&sb, &s->notation, value);
	else
		strbuf_addstr(&sb, value);
	paged_push(q, c, sb.data);
	strbuf_release(&sb);
}

/* An instant or a UUID has many spellings, and is found by the stored one. */
static int sqlite_scan(struct connector *base, const struct scan *scan,
		       struct error *err)
{
	struct sqlite_source *s = sqlite_self(base);
	int rc = 0;

	paged_end_pass(&s->paged);
	if (scan->keys)
		rc = paged_layout_for(&s->paged, scan->source, scan->mark, err);
	if (rc || !scan->keys || !sqlite_source_spells_keys(s))
		return rc ? rc : paged_scan(base, scan, err);
	rc = sqlite_source_spell_keys(s, scan, err);
	return rc ? rc : paged_scan(base, &s->spelled, err);
}

/* Texts may be dates: each value is looked at when it is used. */
static bool sqlite_mark_fits(const struct source_column *c,
			     enum strategy strategy)
{
	return source_mark_fits(c, strategy) ||
	       (strategy == STRATEGY_TIMESTAMP && c->type.kind == TYPE_TEXT);
}

const struct paged_dialect sqlite_source_dialect = {
	.rules = { .engine = "sqlite",
		   .title = "SQLite",
		   .time_types = "dates as text (DATE, DATETIME, TIMESTAMP, "
				 "TEXT); of a number, name an expression such "
				 "as datetime(changed, 'unixepoch')",
		   .number_types = "whole numbers",
		   .mark_fits = sqlite_mark_fits },
	.select = "SELECT ",
	.unindexed = "",
	.page_a_batch = true,
	.look = sqlite_source_look,
	.ordered = sqlite_ordered,
	.value = sqlite_write_value,
	.hint = paged_no_hint,
	.lookup_keys = PAGED_LOOKUP_PARAMETERS,
	.keys = paged_write_keys,
	.newest = paged_newest,
	.query = sqlite_source_query,
	.explain = sqlite_source_explain,
	.page_open = sqlite_source_page_open,
	.page_read = sqlite_source_page_read,
	.page_close = sqlite_source_page_close,
	.page_type = sqlite_source_page_type,
	.position = sqlite_source_position,
};

static const struct url_option sqlite_source_options[] = {
	{ NULL, NULL, NULL },
};

const struct connector_ops sqlite_connector = {
	.name = "sqlite",
	.options = sqlite_source_options,
	.open = sqlite_source_open,
	.tables = sqlite_source_tables,
	.describe = paged_describe,
	.inspect = sqlite_source_inspect,
	.suggest = paged_suggest,
	.identity = sqlite_source_identity,
	.settle = sqlite_source_settle,
	.cut = paged_cut,
	.scan = sqlite_scan,
	.explain = paged_explain,
	.next = paged_next,
	.pause = embedded_pause,
	.pressure = embedded_pressure,
	.interrupt = sqlite_interrupt,
	.close = sqlite_source_close,
};

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/clickhouse/source.h"
#include "connectors/common/question.h"
#include "core/base/alloc.h"
#include "core/data/value.h"

/* What a DateTime64(6) can hold: the years 1900 to 2299. */
#define FIRST_US INT64_C(-2208988800000000)
#define LAST_US	 INT64_C(10413791999999999)

static struct chsrc *clickhouse_self(struct connector *base)
{
	return (struct chsrc *)base;
}

static void clickhouse_source_close(struct connector *base)
{
	struct chsrc *s = clickhouse_self(base);

	if (!s)
		return;
	paged_release(&s->paged);
	clickhouse_close(s->db);
	strbuf_release(&s->text);
	free(s->cells);
	free(s);
}

static const struct url_option clickhouse_source_options[] = {
	{ NULL, NULL, NULL },
};

static int clickhouse_source_open(struct connector **out,
				  const struct connection *conn,
				  struct error *err)
{
	struct chsrc *s = xcalloc(1, sizeof(*s));
	int rc;

	paged_init(&s->paged, &clickhouse_connector, &chsrc_dialect);
	strbuf_init(&s->text);
	rc = clickhouse_check_options(&conn->url, clickhouse_source_options,
				      err);
	if (!rc)
		rc = clickhouse_open(&s->db, conn, false, err);
	if (rc)
		clickhouse_source_close(&s->paged.base);
	else
		*out = &s->paged.base;
	return rc;
}

static void clickhouse_source_interrupt(struct connector *base)
{
	clickhouse_interrupt(clickhouse_self(base)->db);
}

/* The page under way costs the server a thread and its memory. */
static int clickhouse_pause(struct connector *base, struct error *err)
{
	struct chsrc *s = clickhouse_self(base);

	(void)err;
	if (s->paged.pass.scan && scan_is_ordered(s->paged.pass.scan) &&
	    s->paged.pass.streaming) {
		chsrc_page_close(&s->paged);
		s->paged.pass.streaming = false;
	}
	return 0;
}

static int clickhouse_pressure(struct connector *base,
			       const struct pressure_question *q,
			       struct pressure *out, struct error *err)
{
	struct chsrc *s = clickhouse_self(base);
	struct clickhouse_rows rows;
	int rc = 0;

	if (q->lag)
		return error_set(err, ERROR_CONFIG,
				 "ClickHouse does not say how far its replicas "
				 "are behind");
	if (q->active) {
		rc = clickhouse_query(s->db,
				      "SELECT count() - 1 FROM "
				      "system.processes",
				      &rows, err);
		out->active = rc ? 0 : clickhouse_rows_i64(&rows, 0);
		clickhouse_rows_release(&rows);
	}
	return rc ? rc : question_ask(&s->paged, q, out, err);
}

/* An Enum by its text. */
static void clickhouse_ordered(struct strbuf *sb,
			       const struct paged_source *base,
			       const struct source_column *c)
{
	(void)base;
	strbuf_addstr(sb, c->output);
}

static void clickhouse_write_instant(struct strbuf *sb, const char *value)
{
	int64_t us = 0;

	if (!value_parse_timestamp(value, &us))
		value_parse_instant(value, &us);
	us = us < FIRST_US ? FIRST_US : us > LAST_US ? LAST_US : us;
	strbuf_addf(sb, "fromUnixTimestamp64Micro(%" PRId64 ", 'UTC')", us);
}

static void clickhouse_write_call(struct strbuf *sb, const char *function,
				  const char *value, const char *end)
{
	strbuf_addf(sb, "%s(", function);
	clickhouse_quote_text(sb, value);
	strbuf_addf(sb, "%s)", end);
}

static void clickhouse_write_decimal(struct strbuf *sb,
				     const struct source_column *c,
				     const char *value)
{
	char end[16];

	snprintf(end, sizeof(end), ", %d", c->type.scale);
	if (strstr(c->type.native, "Decimal"))
		clickhouse_write_call(sb, "toDecimal256", value, end);
	else if (strstr(c->type.native, "UInt"))
		clickhouse_write_call(sb, "toUInt256", value, "");
	else
		clickhouse_write_call(sb, "toInt256", value, "");
}

static void clickhouse_write_value(struct paged_query *q,
				   const struct paged_source *base,
				   const struct source_column *c,
				   const char *value)
{
	struct strbuf *sb = &q->sql;

	(void)base;
	switch (c->type.kind) {
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
		clickhouse_write_call(sb, "toInt64", value, "");
		break;
	case TYPE_UINT64:
		clickhouse_write_call(sb, "toUInt64", value, "");
		break;
	case TYPE_FLOAT32:
	case TYPE_FLOAT64:
		clickhouse_write_call(sb, "toFloat64", value, "");
		break;
	case TYPE_DECIMAL:
		clickhouse_write_decimal(sb, c, value);
		break;
	case TYPE_DATE:
		clickhouse_write_call(sb, "toDate32", value, "");
		break;
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		clickhouse_write_instant(sb, value);
		break;
	case TYPE_UUID:
		clickhouse_write_call(sb, "toUUID", value, "");
		break;
	case TYPE_BYTES:
		clickhouse_write_call(
			sb, "unhex", value + (strncmp(value, "\\x", 2) ? 0 : 2),
			"");
		break;
	case TYPE_BOOL:
		strbuf_addstr(sb, *value == 't' ? "true" : "false");
		break;
	default:
		clickhouse_quote_text(sb, value);
	}
}

/* (a, b) IN ((1, 2), (3, 4)): found by the sorting key. */
static void clickhouse_write_keys(struct paged_query *q,
				  const struct paged_source *s, size_t first,
				  size_t n)
{
	const struct source_layout *l = &s->layout;

	strbuf_addch(&q->sql, '(');
	paged_write_key(&q->sql, s, true);
	strbuf_addstr(&q->sql, ") IN (");
	for (size_t key = first; key < first + n; key++) {
		strbuf_addstr(&q->sql, key > first ? ", (" : "(");
		for (size_t i = 0; i < l->n_key; i++) {
			strbuf_addstr(&q->sql, i ? ", " : "");
			clickhouse_write_value(
				q, s, l->columns[l->key[i]],
				s->pass.scan->keys->items[key * l->n_key + i]);
		}
		strbuf_addch(&q->sql, ')');
	}
	strbuf_addch(&q->sql, ')');
}

/* max() of no rows is 0 here, not NULL. */
static void clickhouse_newest(struct strbuf *sb,
			      const struct source_column *mark)
{
	strbuf_addf(sb, "if(count() = 0, NULL, toString(max(%s)))", mark->sql);
}

const struct paged_dialect chsrc_dialect = {
	.rules = { .engine = "clickhouse",
		   .title = "ClickHouse",
		   .time_types = "DateTime, DateTime64 up to 6 digits, Date "
				 "or Date32 (of another type, name an "
				 "expression that casts it)",
		   .number_types = "whole numbers",
		   .mark_fits = source_mark_fits },
	.select = "SELECT ",
	.unindexed = "",
	.page_rows = 250000,
	.look = chsrc_look,
	.ordered = clickhouse_ordered,
	.value = clickhouse_write_value,
	.hint = paged_no_hint,
	.lookup_keys = 2000,
	.keys = clickhouse_write_keys,
	.newest = clickhouse_newest,
	.query = chsrc_query,
	.explain = chsrc_explain,
	.page_open = chsrc_page_open,
	.page_read = chsrc_page_read,
	.page_close = chsrc_page_close,
	.position = paged_position,
};

const struct connector_ops clickhouse_connector = {
	.name = "clickhouse",
	.options = clickhouse_source_options,
	.open = clickhouse_source_open,
	.tables = chsrc_tables,
	.describe = paged_describe,
	.inspect = chsrc_inspect,
	.suggest = paged_suggest,
	.identity = chsrc_identity,
	.settle = chsrc_settle,
	.cut = paged_cut,
	.scan = paged_scan,
	.explain = paged_explain,
	.next = paged_next,
	.pause = clickhouse_pause,
	.pressure = clickhouse_pressure,
	.interrupt = clickhouse_source_interrupt,
	.close = clickhouse_source_close,
};

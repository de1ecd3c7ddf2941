#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/clickhouse/source.h"
#include "connectors/common/question.h"
#include "core/base/alloc.h"
#include "core/data/value.h"

/* The range of a DateTime64(6): the years 1900 to 2299. */
#define FIRST_US INT64_C(-2208988800000000)
#define LAST_US	 INT64_C(10413791999999999)

static struct clickhouse_source *clickhouse_self(struct connector *base)
{
	return (struct clickhouse_source *)base;
}

static void clickhouse_source_close(struct connector *base)
{
	struct clickhouse_source *s = clickhouse_self(base);

	if (!s)
		return;
	paged_release(&s->paged);
	clickhouse_close(s->db);
	strbuf_release(&s->text);
	free(s->cells);
	free(s);
}

static int clickhouse_source_open(struct connector **out,
				  const struct connection *conn,
				  struct error *err)
{
	struct clickhouse_source *s = xcalloc(1, sizeof(*s));
	int rc;

	paged_init(&s->paged, &clickhouse_connector,
		   &clickhouse_source_dialect);
	strbuf_init(&s->text);
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
	struct clickhouse_source *s = clickhouse_self(base);

	(void)err;
	if (s->paged.pass.scan && scan_is_ordered(s->paged.pass.scan) &&
	    !scan_is_keyless(s->paged.pass.scan) && s->paged.pass.streaming) {
		clickhouse_source_page_close(&s->paged);
		s->paged.pass.streaming = false;
	}
	return 0;
}

static int clickhouse_pressure(struct connector *base,
			       const struct pressure_question *q,
			       struct pressure *out, struct error *err)
{
	struct clickhouse_source *s = clickhouse_self(base);
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
				      "t", &rows, err);
		out->active = rc ? 0 : clickhouse_rows_i64(&rows, 0);
		clickhouse_rows_release(&rows);
	}
	return rc ? rc : question_ask(&s->paged, q, out, err);
}

static bool clickhouse_is_float(const struct source_column *c)
{
	return c->type.kind == TYPE_FLOAT32 || c->type.kind == TYPE_FLOAT64;
}

/* An Enum is compared by its text. A float is, too, because nothing is below,
 * above or equal to NaN, and the two zeros are one. */
static void clickhouse_ordered(struct strbuf *sb,
			       const struct paged_source *base,
			       const struct source_column *c)
{
	(void)base;
	if (clickhouse_is_float(c))
		strbuf_addf(sb, "if(%s = 0, '0', toString(%s))", c->sql,
			    c->sql);
	else
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

/* As clickhouse_ordered() has it. */
static void clickhouse_write_float(struct strbuf *sb,
				   const struct source_column *c,
				   const char *value)
{
	if (strtod(value, NULL) == 0)
		strbuf_addstr(sb, "'0'");
	else
		clickhouse_write_call(sb,
				      c->type.kind == TYPE_FLOAT32
					      ? "toString(toFloat32"
					      : "toString(toFloat64",
				      value, ")");
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
		clickhouse_write_float(sb, c, value);
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

/* IN compares with values of the column's own type alone. So moments of a type
 * that Tidemark does not make are cast to it. */
static void clickhouse_write_sought(struct strbuf *sb,
				    const struct paged_source *s,
				    const struct source_column *c)
{
	bool moment = c->type.kind == TYPE_TIMESTAMP ||
		      c->type.kind == TYPE_TIMESTAMPTZ;

	if (moment && !strstr(c->type.native, "DateTime64(6"))
		strbuf_addf(sb, "toDateTime64(%s, 6, 'UTC')", c->sql);
	else
		clickhouse_ordered(sb, s, c);
}

/* (a, b) IN ((1, 2), (3, 4)): found by the sorting key. */
static void clickhouse_write_keys(struct paged_query *q,
				  const struct paged_source *s, size_t first,
				  size_t n)
{
	const struct source_layout *l = &s->layout;

	strbuf_addch(&q->sql, '(');
	for (size_t i = 0; i < l->n_key; i++) {
		strbuf_addstr(&q->sql, i ? ", " : "");
		clickhouse_write_sought(&q->sql, s, l->columns[l->key[i]]);
	}
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

/* max() of no rows is 0 in ClickHouse, not NULL. A moment is written as a
 * watermark has it, in UTC whatever the column's zone, without zeros at its
 * fraction's end. */
static void clickhouse_newest(struct strbuf *sb,
			      const struct source_column *mark)
{
	bool moment = mark->type.kind == TYPE_TIMESTAMP ||
		      mark->type.kind == TYPE_TIMESTAMPTZ;

	strbuf_addstr(sb, "if(count() = 0, NULL, ");
	if (moment)
		strbuf_addf(sb,
			    "concat(replaceRegexpOne(toString(toDateTime64("
			    "max(%s), 6, 'UTC')), '[.]?0+$', ''), '%s'))",
			    mark->sql,
			    mark->type.kind == TYPE_TIMESTAMPTZ ? "+00" : "");
	else
		strbuf_addf(sb, "toString(max(%s)))", mark->sql);
}

/* No point is proven to be settled. An insert takes the time of its rows when
 * it begins, and the rows are seen when it ends. No list says reliably which
 * inserts are under way in all replicas. */
const struct paged_dialect clickhouse_source_dialect = {
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
	.clock = "SELECT toUnixTimestamp64Micro(now64(6))",
	.late = "ClickHouse does not tell which inserts are under way: a row "
		"of one may be seen late; watermark.lag covers as long as "
		"they take",
	.look = clickhouse_source_look,
	.ordered = clickhouse_ordered,
	.value = clickhouse_write_value,
	.hint = paged_no_hint,
	.lookup_keys = 2000,
	.keys = clickhouse_write_keys,
	.newest = clickhouse_newest,
	.query = clickhouse_source_query,
	.explain = clickhouse_source_explain,
	.page_open = clickhouse_source_page_open,
	.page_read = clickhouse_source_page_read,
	.page_close = clickhouse_source_page_close,
	.page_type = clickhouse_source_page_type,
	.position = paged_position,
};

const struct connector_ops clickhouse_connector = {
	.name = "clickhouse",
	.options = clickhouse_url_options,
	.grants = clickhouse_source_grants,
	.open = clickhouse_source_open,
	.tables = clickhouse_source_tables,
	.describe = paged_describe,
	.inspect = paged_inspect_clock,
	.suggest = paged_suggest,
	.identity = clickhouse_source_identity,
	.settle = paged_settle,
	.cut = paged_cut,
	.scan = paged_scan,
	.explain = paged_explain,
	.next = paged_next,
	.pause = clickhouse_pause,
	.pressure = clickhouse_pressure,
	.interrupt = clickhouse_source_interrupt,
	.close = clickhouse_source_close,
};

#include "core/data/value.h"
#include "destinations/clickhouse/internal.h"
#include "destinations/common/mark_order.h"

static const struct mark_order_sql version_numbers = {
	.match = { "match(", ", ", ")" },
	.strip = { "replaceRegexpAll(", ", ", ", '')" },
	.text = "String",
};

/* A number that no Decimal holds is sent, and kept, as text. */
static bool version_is_text(const struct type *mark)
{
	int precision, scale;

	return mark->kind == TYPE_DECIMAL &&
	       !clickhouse_target_type_decimal(mark, &precision, &scale);
}

static void version_delivered(struct strbuf *sb, const struct type *type,
			      const char *text)
{
	int64_t us = 0;

	if (type->kind == TYPE_TIMESTAMP || type->kind == TYPE_TIMESTAMPTZ) {
		if (!value_parse_instant(text, &us))
			us = INT64_MIN;
		strbuf_addf(sb, "toInt64('%lld')", (long long)us);
		return;
	}
	strbuf_addstr(sb, type->kind == TYPE_DATE      ? "toDate32("
			  : type->kind == TYPE_DECIMAL ? "toDecimal256("
			  : type->kind == TYPE_TEXT    ? "toString("
			  : type->kind == TYPE_UINT64  ? "toUInt64("
						       : "toInt64(");
	clickhouse_quote_text(sb, text);
	if (type->kind == TYPE_DECIMAL)
		strbuf_addf(sb, ", %d", type->scale);
	strbuf_addch(sb, ')');
}

/* Is the stored version no newer than what was delivered? */
static void version_was_delivered(struct strbuf *sb, const struct type *mark,
				  const char *old, const char *delivered)
{
	bool instant =
		mark->kind == TYPE_TIMESTAMP || mark->kind == TYPE_TIMESTAMPTZ;
	struct strbuf text = STRBUF_INIT;

	if (version_is_text(mark)) {
		clickhouse_quote_text(&text, delivered);
		mark_order_not_less(sb, &version_numbers, text.data, old);
		strbuf_release(&text);
		return;
	}
	strbuf_addf(sb, "%s%s%s <= ", instant ? "toUnixTimestamp64Micro(" : "",
		    old, instant ? ")" : "");
	version_delivered(sb, mark, delivered);
}

void clickhouse_target_version_newer(struct strbuf *sb, const struct type *mark,
				     const char *new, const char *old,
				     const char *delivered)
{
	strbuf_addstr(sb, "(ifNull(");
	if (version_is_text(mark))
		mark_order_not_less(sb, &version_numbers, new, old);
	else
		strbuf_addf(sb, "%s >= %s", new, old);
	strbuf_addstr(sb, ", 1)");
	if (delivered) {
		strbuf_addstr(sb, " OR ifNull(");
		version_was_delivered(sb, mark, old, delivered);
		strbuf_addstr(sb, ", 0)");
	}
	strbuf_addch(sb, ')');
}

#include "clients/mysql.h"
#include "destinations/common/mark_order.h"
#include "destinations/mysql/format.h"
#include "destinations/mysql/internal.h"

static void version_newer_number(struct strbuf *sb, const char *new,
				 const char *old, const char *delivered)
{
	static const struct mark_order_sql numbers = {
		.match = { "(", " REGEXP ", ")" },
		.strip = { "REGEXP_REPLACE(", ", ", ", '')" },
		.text = "CHAR",
	};
	struct strbuf text = STRBUF_INIT;

	strbuf_addstr(sb, "(COALESCE(");
	mark_order_not_less(sb, &numbers, new, old);
	strbuf_addstr(sb, ", TRUE)");
	if (delivered) {
		mysql_client_quote(&text, delivered);
		strbuf_addstr(sb, "\n    OR ");
		mark_order_not_less(sb, &numbers, text.data, old);
		strbuf_release(&text);
	}
	strbuf_addch(sb, ')');
}

void mysql_target_version_newer(struct strbuf *sb, const struct type *mark,
				const struct mysql_target_type *there,
				const char *new, const char *old,
				const char *delivered)
{
	bool text = mysql_target_type_is_text(there->base);

	if (mark_order_of(mark->kind, text) == MARK_ORDER_NUMBER) {
		version_newer_number(sb, new, old, delivered);
		return;
	}
	strbuf_addf(sb, "(%s IS NULL OR %s IS NULL OR %s <= %s", old, new, old,
		    new);
	if (delivered) {
		strbuf_addf(sb, "\n    OR %s <= ", old);
		mysql_target_format_mark(sb, mark->kind, delivered);
	}
	strbuf_addch(sb, ')');
}

#include "core/sync/parts/kept.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

static char *kept_text(const struct pipeline_settings *p, const char *column)
{
	return xstrfmt("column \"%s\" is gone from %s (dropped, renamed or "
		       "left out): %s keeps its old values, and new rows have "
		       "none",
		       column, p->source_table, p->destination_table);
}

static void kept_log(const struct pipeline_settings *p, const char *column)
{
	char *text = kept_text(p, column);

	log_warn("%s", text);
	free(text);
}

void kept_note(const struct pipeline_settings *p, const struct watermark *seen,
	       const struct schema *s, struct strlist *gone)
{
	struct strlist now = STRLIST_INIT;

	watermark_gone_columns(seen, s, &now);
	for (size_t i = 0; i < now.n; i++) {
		if (strlist_has(gone, now.items[i]))
			continue;
		strlist_add(gone, now.items[i]);
		if (!watermark_knows_gone(seen, now.items[i]))
			kept_log(p, now.items[i]);
	}
	strlist_release(&now);
}

void kept_find(const struct watermark *seen, const struct schema *s,
	       const struct strlist *there, struct strlist *out)
{
	struct strlist gone = STRLIST_INIT;

	watermark_gone_columns(seen, s, &gone);
	for (size_t i = 0; i < gone.n; i++)
		if (strlist_has(there, gone.items[i]))
			strlist_add(out, gone.items[i]);
	strlist_release(&gone);
}

void kept_inspect(const struct pipeline_settings *p,
		  const struct watermark *seen, const struct schema *s,
		  const struct strlist *there, struct problems *out)
{
	struct strlist kept = STRLIST_INIT;

	kept_find(seen, s, there, &kept);
	for (size_t i = 0; i < kept.n; i++) {
		char *text = kept_text(p, kept.items[i]);

		problems_add(out, SEVERITY_WARNING, ERROR_NONE, "column-kept",
			     "drop it at the destination, too; or, to be "
			     "stopped by it, set schema: { on_dropped_column: "
			     "stop }",
			     "%s", text);
		free(text);
	}
	strlist_release(&kept);
}

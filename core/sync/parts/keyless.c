#include "core/sync/parts/keyless.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/strbuf.h"
#include "core/data/value.h"

bool keyless_appends(const struct pipeline_settings *p,
		     const struct schema *schema)
{
	return p->mode == LOAD_APPEND && !schema->n_key;
}

int keyless_refuse_again(const struct pipeline_settings *p,
			 const struct schema *schema, struct error *err)
{
	if (!keyless_appends(p, schema))
		return 0;
	return error_set(
		err, ERROR_CONFIG,
		"pipeline %s keeps each row as it is, and its table %s "
		"has no key: rows that are read again would be there "
		"twice" ERROR_FIX "; tidemark %s --full-refresh %s "
		"builds the whole table anew",
		p->name, p->source_table, settings_run(p), settings_call(p));
}

/* The setting that reads rows again, and what to write in its place. */
static const char *keyless_again(const struct pipeline_settings *p,
				 const char **fix)
{
	if (p->lag_us || p->lag_count) {
		*fix = "leave watermark.lag out";
		return "watermark.lag";
	}
	if (p->tail == TAIL_DELIVER) {
		*fix = "write tail: hold";
		return "watermark.tail: deliver";
	}
	if (p->nulls == NULLS_INCLUDE) {
		*fix = "write nulls: skip";
		return "watermark.nulls: include";
	}
	if (p->bad_rows.keep) {
		*fix = "write on_bad_row: halt";
		return "on_bad_row: dead_letter";
	}
	return NULL;
}

int keyless_check(const struct pipeline_settings *p,
		  const struct schema *schema, struct error *err)
{
	const char *fix = NULL, *setting;

	if (!keyless_appends(p, schema))
		return 0;
	setting = keyless_again(p, &fix);
	if (!setting)
		return 0;
	return error_set(
		err, ERROR_CONFIG,
		"table %s has no key, and mode append keeps each of "
		"its rows as it is: by %s rows would be loaded a "
		"second time, and nothing tells them from the first" ERROR_FIX
		": %s, or name the columns that tell its "
		"rows apart, as in `key: [id]`",
		p->source_table, setting, fix);
}

bool keyless_is_beyond(const struct batch *b, enum strategy strategy,
		       const char *last)
{
	struct strbuf first = STRBUF_INIT;
	bool beyond;

	/* A mark that cannot be read says nothing. */
	if (b->schema->mark < 0 || !watermark_is_beyond(strategy, last, NULL))
		return false;
	value_print(&first, &b->vectors[b->schema->mark], 0);
	beyond = watermark_is_beyond(strategy, first.data, last);
	strbuf_release(&first);
	return beyond;
}

#include "destinations/common/place.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/names.h"

char *place_name(const char *prefix, const char *name, char quote)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addstr(&sb, prefix);
	sql_quote_name(&sb, name, quote);
	return strbuf_detach(&sb);
}

char *place_prefix(const char *schema, char quote)
{
	struct strbuf sb = STRBUF_INIT;

	sql_quote_name(&sb, schema, quote);
	strbuf_addch(&sb, '.');
	return strbuf_detach(&sb);
}

void place_fill(struct place *p, const struct target *target,
		const char *schema, const char *table, const char *prefix,
		char quote)
{
	const char *suffix = target->mode == LOAD_APPEND ? NAME_RAW_SUFFIX : "";

	place_release(p);
	p->schema = xstrdup(schema);
	p->table = xstrdup(table);
	p->base = xstrfmt("%s%s", table, suffix);
	p->build = name_stage(target->pipeline);
	p->readable = place_name(prefix, p->table, quote);
	p->rows = place_name(prefix, p->base, quote);
	p->building = place_name(prefix, p->build, quote);
	p->watermark = place_name(prefix, NAME_WATERMARK_TABLE, quote);
}

void place_release(struct place *p)
{
	free(p->schema);
	free(p->table);
	free(p->base);
	free(p->build);
	free(p->readable);
	free(p->rows);
	free(p->building);
	free(p->watermark);
	free(p->retired);
	free(p->stage);
	free(p->copy);
	free(p->fresh);
	memset(p, 0, sizeof(*p));
}

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/sqlite/internal.h"

static char *place_quote(const char *schema, const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%s.", schema);
	sql_quote_name(&sb, name, '"');
	return strbuf_detach(&sb);
}

static int place_check(const struct table_name *name, const char *text,
		       struct error *err)
{
	if (name->catalog || (name->schema && strcasecmp(name->schema, "main")))
		return error_set(err, ERROR_CONFIG,
				 "table %s: an SQLite file has the one schema "
				 "main" ERROR_FIX
				 ": write main.%s, or just the table's name",
				 text, name->name);
	if (!strncasecmp(name->name, "sqlite_", 7) || name_is_own(name->name))
		return error_set(err, ERROR_CONFIG,
				 "table %s: names that begin with sqlite_ or "
				 "_tidemark_ are taken" ERROR_FIX
				 "; choose another",
				 text);
	return 0;
}

int place_set(struct place *out, const struct target *target, struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	int rc = table_name_parse(&name, target->table, err);

	if (!rc)
		rc = place_check(&name, target->table, err);
	if (!rc) {
		place_release(out);
		out->table = xstrdup(name.name);
		out->base = target->mode == LOAD_APPEND
				    ? xstrfmt("%s" NAME_RAW_SUFFIX, name.name)
				    : xstrdup(name.name);
		out->stage = name_stage(target->pipeline);
		out->readable = place_quote("main", out->table);
		out->rows = place_quote("main", out->base);
		out->staging = place_quote("main", out->stage);
		out->copy = place_quote("temp", out->base);
	}
	table_name_release(&name);
	return rc;
}

void place_release(struct place *p)
{
	free(p->table);
	free(p->base);
	free(p->stage);
	free(p->readable);
	free(p->rows);
	free(p->staging);
	free(p->copy);
	memset(p, 0, sizeof(*p));
}

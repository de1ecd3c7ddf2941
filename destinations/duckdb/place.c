#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/data/table_name.h"
#include "destinations/common/names.h"
#include "destinations/duckdb/internal.h"

static char *place_quote(const struct duckdb_target_place *p, const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	sql_quote_name(&sb, p->catalog, '"');
	strbuf_addch(&sb, '.');
	sql_quote_name(&sb, p->schema, '"');
	if (name) {
		strbuf_addch(&sb, '.');
		sql_quote_name(&sb, name, '"');
	}
	return strbuf_detach(&sb);
}

static void place_quote_all(struct duckdb_target_place *p)
{
	p->quoted_schema = place_quote(p, NULL);
	p->quoted_name = place_quote(p, p->name);
	p->quoted_data = place_quote(p, p->data);
	p->quoted_stage = place_quote(p, p->stage);
	p->quoted_mark = place_quote(p, NAME_WATERMARK_TABLE);
}

void duckdb_target_place_copy(struct duckdb_target_place *out,
			      const struct duckdb_target_place *p)
{
	out->catalog = xstrdup("temp");
	out->schema = xstrdup("main");
	out->name = xstrdup(p->name);
	out->data = xstrdup(p->data);
	out->stage = xstrdup(p->stage);
	place_quote_all(out);
}

int duckdb_target_place_init(struct duckdb_target_place *p,
			     const struct duckdb_target_destination *d,
			     const struct target *target, struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	int rc = table_name_parse(&name, target->table, err);

	if (rc)
		return rc;
	if (name.catalog && strcasecmp(name.catalog, d->catalog) != 0) {
		rc = error_set(err, ERROR_CONFIG,
			       "table %s: the database is %s, not %s" ERROR_FIX
			       "; leave the database's name out",
			       target->table, d->catalog, name.catalog);
		goto out;
	}
	rc = target_check_own(target, name.name, err);
	if (rc)
		goto out;
	p->catalog = xstrdup(d->catalog);
	p->schema = xstrdup(name.schema ? name.schema : "main");
	p->name = xstrdup(name.name);
	p->data = target->mode == LOAD_APPEND
			  ? xstrfmt("%s%s", name.name, NAME_RAW_SUFFIX)
			  : xstrdup(name.name);
	p->stage = name_stage(target->pipeline);
	place_quote_all(p);
out:
	table_name_release(&name);
	return rc;
}

void duckdb_target_place_release(struct duckdb_target_place *p)
{
	free(p->catalog);
	free(p->schema);
	free(p->name);
	free(p->data);
	free(p->stage);
	free(p->quoted_schema);
	free(p->quoted_name);
	free(p->quoted_data);
	free(p->quoted_stage);
	free(p->quoted_mark);
	memset(p, 0, sizeof(*p));
}

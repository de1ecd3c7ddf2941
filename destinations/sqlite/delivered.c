#include "core/base/alloc.h"
#include "core/data/value.h"
#include "destinations/sqlite/internal.h"

enum version_order sqlite_target_version_of(const struct target *target,
					    const struct catalog_table *there)
{
	const struct schema *schema = target->schema;
	const struct column *mark;
	const struct catalog_column *c;

	if (schema->mark < 0 || target->overwrite)
		return VERSION_NONE;
	mark = &schema->columns[schema->mark];
	c = sqlite_target_catalog_find(there, mark->name);
	return sqlite_target_type_version(mark->type.kind, c ? c->type : "");
}

int sqlite_target_statements_delivered_at(const struct schema *schema)
{
	return (int)schema->n_columns + 1;
}

/* The source's text becomes what bind.c would have stored. */
static bool delivered_text(const struct sqlite_target *d, const char *text,
			   struct strbuf *out)
{
	const struct schema *s = d->target->schema;
	enum type_kind kind = s->columns[s->mark].type.kind;
	int64_t us;

	if (kind != TYPE_TIMESTAMP && kind != TYPE_TIMESTAMPTZ) {
		strbuf_addstr(out, text);
		return true;
	}
	if (!value_parse_timestamp(text, &us))
		return false;
	if (kind == TYPE_TIMESTAMPTZ)
		sqlite_target_bind_print_instant(out, us);
	else
		value_print_timestamp(out, us, false);
	return true;
}

void sqlite_target_statements_set_delivered(struct sqlite_target *d,
					    const char *text)
{
	const struct schema *s = d->target->schema;
	struct sqlite_statement *all[] = { d->insert, d->remove, d->same };
	bool known;

	strbuf_reset(&d->delivered);
	if (d->target->mode == LOAD_APPEND || d->target->in_place ||
	    d->version == VERSION_NONE ||
	    (s->n_columns == s->n_key &&
	     d->mark.soft_delete == SOFT_DELETE_NONE))
		return;
	known = text && d->target->mode != LOAD_UPDATE &&
		sqlite_target_version_is_readable(d->version, text) &&
		delivered_text(d, text, &d->delivered);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i])
			sqlite_bind_str(
				all[i],
				sqlite_target_statements_delivered_at(s),
				known ? d->delivered.data : NULL,
				(int64_t)d->delivered.len);
}

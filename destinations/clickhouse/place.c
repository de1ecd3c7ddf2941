#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/retry.h"
#include "core/data/table_name.h"
#include "destinations/clickhouse/internal.h"

#define NAME_BYTES 200

static char *place_quote(const char *database, const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	clickhouse_quote_name(&sb, database);
	strbuf_addch(&sb, '.');
	clickhouse_quote_name(&sb, name);
	return strbuf_detach(&sb);
}

static int place_check(const struct table_name *name,
		       const struct target *target, struct error *err)
{
	const char *text = target->table;

	if (name->catalog)
		return error_set(err, ERROR_CONFIG,
				 "table %s" ERROR_FIX
				 ": write database.table, or just the "
				 "table's name",
				 text);
	/* Behind it comes _raw, and in a file's name bytes are escaped. */
	if (strlen(name->name) > NAME_BYTES)
		return error_set(err, ERROR_SCHEMA,
				 "table %.60s...: ClickHouse has no room for "
				 "a name of more than %d bytes" ERROR_FIX
				 "; choose a shorter one",
				 text, NAME_BYTES);
	return target_check_own(target, name->name, err);
}

/* No other run has the same name. Otherwise a run that was paused would find
 * its rows among those of its successor, who drops tables with the names of
 * others. */
static char *place_own(const char *stages, char kind)
{
	return xstrfmt("%s_%c%08" PRIx32, stages, kind,
		       (uint32_t)retry_random());
}

int clickhouse_target_place_set(struct place *out, const char *database,
				const struct target *target, struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	int rc = table_name_parse(&name, target->table, err);

	if (!rc)
		rc = place_check(&name, target, err);
	if (!rc) {
		clickhouse_target_place_release(out);
		out->database = xstrdup(name.schema ? name.schema : database);
		out->table = xstrdup(name.name);
		out->base = xstrfmt("%s" NAME_RAW_SUFFIX, name.name);
		out->stages = name_stage(target->pipeline);
		out->stage = place_own(out->stages, 'n');
		out->input = place_own(out->stages, 'i');
		out->readable = place_quote(out->database, out->table);
		out->rows = place_quote(out->database, out->base);
		out->staging = place_quote(out->database, out->stage);
		out->incoming = place_quote(out->database, out->input);
		out->append = target->mode == LOAD_APPEND;
		out->marks = place_quote(out->database, NAME_WATERMARK_TABLE);
		out->marks_rows =
			place_quote(out->database, CLICKHOUSE_TARGET_MARK_ROWS);
	}
	table_name_release(&name);
	return rc;
}

void clickhouse_target_place_release(struct place *p)
{
	free(p->database);
	free(p->table);
	free(p->base);
	free(p->stages);
	free(p->stage);
	free(p->input);
	free(p->readable);
	free(p->rows);
	free(p->staging);
	free(p->incoming);
	free(p->marks);
	free(p->marks_rows);
	memset(p, 0, sizeof(*p));
}

const char *clickhouse_target_place_loaded(const struct clickhouse_target *d)
{
	return d->target->refresh ? d->place.stage : d->place.base;
}

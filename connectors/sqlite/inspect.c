#include <stdlib.h>
#include <string.h>

#include "connectors/common/tick.h"
#include "connectors/common/trouble.h"
#include "connectors/common/wall_clock.h"
#include "connectors/sqlite/source.h"
#include "core/base/alloc.h"
#include "core/data/table_identity.h"
#include "core/data/table_name.h"

/* SQLite gives a table nothing that tells it from a later one of its name: its
 * numbers are used again. */
int sqlite_source_identity(struct connector *base,
			   const struct source_spec *source, json_t **out,
			   struct error *err)
{
	struct sqlite_source *s = (struct sqlite_source *)base;

	(void)err;
	*out = json_pack("{s:s, s:s}", "engine", "sqlite", "table",
			 source->table);
	table_identity_add_file(*out, s->path);
	if (s->paged.described == source && source_mark(&s->paged.layout))
		json_object_set_new(*out, "mark_meaning",
				    json_string(sqlite_source_mark_is_text(s)
							? "date"
							: "number"));
	return 0;
}

static void inspect_index(struct sqlite_source *s,
			  const struct source_spec *source,
			  struct problems *out)
{
	const struct source_layout *l = &s->paged.layout;
	const struct source_column *mark = source_mark(l);
	struct strbuf fix = STRBUF_INIT;
	char *name;

	if (mark->expression || l->table.view ||
	    source_index_begins_with(l, mark->name))
		return;
	name = xstrfmt("%s_%s", l->table.name, mark->name);
	strbuf_addstr(&fix, "CREATE INDEX ");
	sql_quote_name(&fix, name, '"');
	strbuf_addf(&fix, " ON %s (", l->table.alias);
	free(name);
	source_layout_write_order(&fix, l, '"');
	strbuf_addch(&fix, ')');
	problems_add(out, SEVERITY_WARNING, ERROR_NONE, "mark-without-index",
		     fix.data,
		     "no index of %s begins with \"%s\": every page sorts the "
		     "table anew",
		     source->table, mark->name);
	strbuf_release(&fix);
}

static int inspect_time(struct sqlite_source *s,
			const struct source_spec *source,
			const struct watermark_spec *mark, struct problems *out,
			struct error *err)
{
	const struct watermark none = { .strategy = mark->strategy };
	struct error why = ERROR_INIT;
	int64_t wall;
	int rc = sqlite_source_find_notation(s, &none, &why);

	if (rc && why.code == ERROR_DATA) {
		*why.server_code = '\0'; /* the problem's own */
		problems_add_error(out, CONNECTOR_MARK_NOTATION, &why);
		return 0;
	}
	if (rc) {
		*err = why;
		return rc;
	}
	if (!sqlite_source_mark_is_plain(s))
		tick_report(out, source->table,
			    source_mark(&s->paged.layout)->name,
			    sqlite_source_mark_doubt(s));
	if (sqlite_source_notation_is_instant(&s->notation))
		return 0;
	if (wall_clock_is_unknown(mark->time_zone)) {
		report_zone_unknown(out, source->table,
				    source_mark(&s->paged.layout)->name,
				    " (SQLite's own is UTC)");
		return 0;
	}
	rc = wall_clock_at(mark->time_zone, 0, &wall, &why);
	return report_zone(out, rc, &why, err);
}

static int inspect_ids(struct sqlite_source *s,
		       const struct source_spec *source, struct problems *out,
		       struct error *err)
{
	bool known;
	int64_t last;
	int rc = sqlite_source_last_id(s, &known, &last, err);

	if (!rc && !known)
		problems_add(
			out, SEVERITY_WARNING, ERROR_NONE, "ids-come-again",
			"INTEGER PRIMARY KEY "
			"AUTOINCREMENT, or strategy timestamp",
			"\"%s\" of %s is not AUTOINCREMENT: a new row may "
			"take the id of a deleted one and is not seen "
			"then, so the guarantee is lag",
			source_mark(&s->paged.layout)->name, source->table);
	return rc;
}

/* A foreign key has no name in SQLite, so its columns stand for it. Its action
 * fires the triggers of the table. A trigger that names the mark is taken to
 * set it. */
static const char inspect_cascades_sql[] =
	"SELECT group_concat(\"from\", ', '),\n"
	"  ltrim(CASE WHEN on_update IN ('CASCADE', 'SET NULL', 'SET "
	"DEFAULT')\n"
	"      THEN ', ON UPDATE ' || on_update ELSE '' END ||\n"
	"    CASE WHEN on_delete IN ('SET NULL', 'SET DEFAULT')\n"
	"      THEN ', ON DELETE ' || on_delete ELSE '' END, ', ')\n"
	"FROM pragma_foreign_key_list(?1, 'main')\n"
	"WHERE (on_update IN ('CASCADE', 'SET NULL', 'SET DEFAULT')\n"
	"    OR on_delete IN ('SET NULL', 'SET DEFAULT'))\n"
	"  AND NOT EXISTS (SELECT 1 FROM main.sqlite_schema\n"
	"    WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE\n"
	"      AND instr(lower(sql), lower(?2)) > 0)\n"
	"GROUP BY id";

static int inspect_cascades(struct sqlite_source *s,
			    const struct source_spec *source,
			    struct problems *out, struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	const char *mark = source_mark(l)->name;
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(s->db, &st, inspect_cascades_sql, err);

	if (!rc)
		sqlite_bind_str(st, 1, l->table.name, -1);
	if (!rc)
		sqlite_bind_str(st, 2, mark, -1);
	while (!rc && (rc = sqlite_step(st, err)) == 1) {
		report_cascade(out, source, sqlite_str(st, 0),
			       sqlite_str(st, 1), mark,
			       "let a trigger AFTER UPDATE set the mark, or ");
		rc = 0;
	}
	sqlite_finalize(st);
	return rc;
}

int sqlite_source_inspect(struct connector *base,
			  const struct source_spec *source,
			  const struct watermark_spec *mark,
			  const struct schema *schema, struct problems *out,
			  struct error *err)
{
	struct sqlite_source *s = (struct sqlite_source *)base;
	int rc = paged_inspect(&s->paged, source, mark, out, err);

	(void)schema;
	if (rc || !mark)
		return rc;
	inspect_index(s, source, out);
	if (mark->strategy != STRATEGY_TIMESTAMP)
		return inspect_ids(s, source, out, err);
	rc = inspect_cascades(s, source, out, err);
	return rc ? rc : inspect_time(s, source, mark, out, err);
}

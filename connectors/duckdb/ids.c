/* Does one sequence of the file alone give the ids of the mark? A file that is
 * open here has no other writer, so all of its transactions are over. */
#include <stdlib.h>
#include <string.h>

#include "connectors/common/names.h"
#include "connectors/common/settle.h"
#include "connectors/duckdb/source.h"
#include "core/base/alloc.h"
#include "core/data/number.h"

#define IDS_FIX                                                                \
	"set watermark.lag to more ids than writers hold back, or use "        \
	"strategy timestamp"

/* $1 to $3: schema, table and column. The default names the sequence as its
 * author wrote it. If two sequences fit, none is taken. The sequence's text has
 * the next id (DuckDB 1.5.6). `last_value` does not serve: it is one too high
 * once the file was closed. It is too low where the sequence was used since the
 * last checkpoint. */
static const char ids_sequence_sql[] =
	"SELECT s.sequence_name AS n, s.increment_by AS i, s.cycle AS c,\n"
	"  coalesce(nullif(regexp_extract(s.sql,\n"
	"    ' START (-?\\d+) (NO )?CYCLE;$', 1), ''),\n"
	"    CAST(s.last_value AS VARCHAR), CAST(s.start_value AS VARCHAR)) AS "
	"x\n"
	"FROM duckdb_columns() t JOIN duckdb_sequences() s\n"
	"  ON s.database_name = t.database_name AND t.column_default IN (\n"
	"    'nextval(''' || s.sequence_name || ''')',\n"
	"    'nextval(''\"' || s.sequence_name || '\"'')',\n"
	"    'nextval(''' || s.schema_name || '.' || s.sequence_name || "
	"''')',\n"
	"    'nextval(''' || s.schema_name || '.\"' || s.sequence_name\n"
	"      || '\"'')')\n"
	"WHERE t.database_name = current_database() AND t.schema_name = ?\n"
	"  AND t.table_name = ? AND t.column_name = ?";

static bool ids_are_unique(const struct source_layout *l)
{
	for (size_t i = 0; i < l->n_indexes; i++) {
		const struct source_index *x = &l->indexes[i];
		if (x->unique && x->columns.n == 1 &&
		    !strcmp(x->columns.items[0], source_mark(l)->name))
			return true;
	}
	return false;
}

static int ids_greatest(struct duckdb_source *s, char **out, struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	struct paged_answer a = { 0 };
	char *sql = xstrfmt("SELECT CAST(max(%s) AS VARCHAR) AS m FROM %s AS "
			    "%s",
			    source_mark(l)->sql, l->table.sql, l->table.alias);
	int rc = duckdb_source_ask(s, sql, "?", 0, NULL, &a, err);

	*out = rc ? NULL : xstrdup(paged_cell(&a, 0, 0));
	paged_answer_release(&a);
	free(sql);
	return rc;
}

static void ids_judge(const struct source_layout *l,
		      const struct paged_answer *a, const char *greatest,
		      struct duckdb_source_doubt *out)
{
	const char *column = source_mark(l)->name;
	const char *next = a->n_rows == 1 ? paged_cell(a, 0, 3) : NULL;

	out->fix = IDS_FIX;
	if (a->n_rows != 1) {
		out->code = "ids-not-from-sequence";
		out->reason = xstrfmt(
			"\"%s\" is not filled by one sequence alone (DEFAULT "
			"nextval), so an application may use an id that the "
			"mark has passed",
			column);
	} else if (!ids_are_unique(l)) {
		out->code = "mark-not-unique";
		out->reason = xstrfmt("no unique index is on \"%s\" alone, so "
				      "a row may come later with an id that "
				      "the mark has passed",
				      column);
	} else if (*paged_cell(a, 0, 2) == 't') {
		out->code = "sequence-cycles";
		out->reason = xstrfmt("sequence %s cycles: at its end it gives "
				      "out ids that the mark has passed",
				      paged_cell(a, 0, 0));
	} else if (strcmp(paged_cell(a, 0, 1), "1") != 0) {
		out->code = "sequence-increment";
		out->reason = xstrfmt(
			"sequence %s has INCREMENT BY %s: an application may "
			"hand out the ids between two steps late",
			paged_cell(a, 0, 0), paged_cell(a, 0, 1));
	} else if (greatest && !number_is_greater(next, greatest)) {
		out->code = "ids-by-hand";
		out->reason = xstrfmt("the highest id, %s, is beyond sequence "
				      "%s, whose next id is %s: ids are given "
				      "by hand, and may come behind the mark",
				      greatest, paged_cell(a, 0, 0), next);
	}
}

/* Ids begin anew if the sequence was made anew, or another one fills the
 * column. */
static int ids_check_mark(const struct duckdb_source *s,
			  const struct paged_answer *a, const char *greatest,
			  const struct watermark *from, struct error *err)
{
	const char *next = a->n_rows == 1 ? paged_cell(a, 0, 3) : NULL;

	if (!next || *paged_cell(a, 0, 2) == 't' ||
	    strcmp(paged_cell(a, 0, 1), "1") != 0 ||
	    !number_is_whole(from->value) ||
	    (greatest && !number_is_greater(from->value, greatest)) ||
	    number_is_greater(next, from->value))
		return 0;
	error_set(err, ERROR_SCHEMA,
		  "the mark, %s, is ahead of sequence %s of table %s, whose "
		  "next id is %s: rows that get ids up to the mark would never "
		  "be read",
		  from->value, paged_cell(a, 0, 0), s->paged.described->table,
		  next);
	return settle_way_out(s->paged.described, err);
}

/* `from` may be NULL: no mark is judged. */
static int ids_look(struct duckdb_source *s, const struct watermark *from,
		    struct duckdb_source_doubt *out, struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	const struct source_column *mark = source_mark(l);
	const char *params[] = { l->table.schema, l->table.name,
				 mark->expression ? "" : mark->name };
	struct paged_answer a = { 0 };
	char *greatest = NULL;
	int rc = duckdb_source_ask(s, ids_sequence_sql, "tttt", 3, params, &a,
				   err);

	memset(out, 0, sizeof(*out));
	if (!rc)
		rc = ids_greatest(s, &greatest, err);
	if (!rc && from)
		rc = ids_check_mark(s, &a, greatest, from, err);
	if (!rc)
		ids_judge(l, &a, greatest, out);
	paged_answer_release(&a);
	free(greatest);
	return rc;
}

int duckdb_source_ids_doubt(struct duckdb_source *s,
			    struct duckdb_source_doubt *out, struct error *err)
{
	return ids_look(s, NULL, out, err);
}

int duckdb_source_ids_explain(struct duckdb_source *s,
			      const struct watermark *from, struct settled *out,
			      struct error *err)
{
	struct strbuf reason = STRBUF_INIT;
	struct duckdb_source_doubt doubt;
	int rc = ids_look(s, from, &doubt, err);

	if (!rc && doubt.code) {
		if (out->reason)
			strbuf_addstr(&reason, out->reason);
		reason_add(&reason, "%s (%s)", doubt.reason, doubt.fix);
		settle_weaken(out, GUARANTEE_LAG);
		free(out->reason);
		out->reason = strbuf_detach(&reason);
	}
	free(doubt.reason);
	return rc;
}

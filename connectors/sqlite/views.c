/*
 * Is a view plain? In a plain view each row comes from one row of one table, by
 * columns, filters and functions that always give the same result. Then a row
 * appears or changes only with a write of that row, which set the mark. SQLite
 * gives no tree of a view's text, but the program that it makes of it. Views,
 * subqueries and WITH are resolved there. A view counts as plain only if that
 * is known.
 */
#include <stdlib.h>
#include <string.h>

#include "connectors/common/names.h"
#include "connectors/common/tick.h"
#include "connectors/sqlite/source.h"
#include "core/base/alloc.h"

#define VIEWS_DETAIL 3 /* column of EXPLAIN QUERY PLAN */
#define VIEWS_OPCODE 1 /* column of EXPLAIN */
#define VIEWS_P4     5

/* Opcodes of plain views: a scan of a table or index, tests, results, ORDER BY,
 * and lists of IN. The opcodes of groups, windows, LIMIT, coroutines and
 * virtual tables are left out. */
static const char views_opcodes[] =
	" Init Transaction Halt Goto Noop Explain ReleaseReg "
	"ColumnsUsed OpenRead Rewind Last Next Prev Column Rowid "
	"IdxRowid DeferredSeek FinishSeek SeekGE SeekGT SeekLE "
	"SeekLT SeekRowid NotExists SeekScan SeekHit IdxGE IdxGT "
	"IdxLE IdxLT ResultRow Integer Int64 Real String String8 "
	"Blob Null SoftNull Copy SCopy Add Subtract Multiply "
	"Divide Remainder Concat BitAnd BitOr BitNot ShiftLeft "
	"ShiftRight AddImm MustBeInt RealAffinity Cast Affinity Eq "
	"Ne Lt Le Gt Ge ElseEq And Or Not IsTrue If IfNot IsNull "
	"NotNull IsType ZeroOrNull CollSeq ClrSubtype GetSubtype "
	"SetSubtype Once BeginSubrtn Return OpenEphemeral "
	"MakeRecord IdxInsert NullRow Found NotFound SorterOpen "
	"SorterInsert SorterSort SorterData SorterNext OpenPseudo "
	"Sequence IfNullRow ";
static const char views_groups[] =
	" AggStep AggStep1 AggValue AggFinal AggInverse Count ";
/* Functions of dates are left out: their arguments may be 'now'. */
static const char views_functions[] =
	" abs char coalesce format glob hex ifnull iif instr length "
	"like lower ltrim max min nullif printf quote replace "
	"round rtrim sign substr substring trim typeof unicode "
	"upper ceil ceiling floor trunc concat concat_ws json "
	"json_extract -> ->> json_type json_valid json_array "
	"json_object json_array_length ";

/* `p4` of a call is its name and its number of arguments: "upper(1)". */
static const char *views_judge_step(const char *opcode, const char *p4)
{
	if (tick_lists(views_groups, opcode, strlen(opcode)))
		return TICK_GROUPED;
	if (!strcmp(opcode, "Function") || !strcmp(opcode, "PureFunc"))
		return p4 && tick_lists(views_functions, p4, strcspn(p4, "("))
			       ? NULL
			       : TICK_OTHERS;
	return tick_lists(views_opcodes, opcode, strlen(opcode)) ? NULL
								 : TICK_OTHERS;
}

/* Is the plan one scan of one table, with nothing beside it but its order?
 * *subquery: the program may do its work in a subquery. */
static int views_judge_plan(struct sqlite_statement *st, const char **verdict,
			    bool *subquery, struct error *err)
{
	bool other = false;
	int scans = 0, rc = 0;

	while (!rc && (rc = sqlite_step(st, err)) == 1) {
		const char *line = sqlite_str(st, VIEWS_DETAIL);

		if (!strncmp(line, "SCAN ", 5) || !strncmp(line, "SEARCH ", 7))
			scans++;
		else if (strcmp(line, "USE TEMP B-TREE FOR ORDER BY") != 0)
			other = true;
		*subquery |= strstr(line, "SUBQUERY") != NULL;
		rc = 0;
	}
	*verdict = other || scans != 1 ? TICK_OTHERS : NULL;
	return rc;
}

/* Every column counts: a row must have the same values as long as its mark is
 * the same. */
static int views_judge(struct sqlite_source *s, const struct source_table *view,
		       const char **verdict, struct error *err)
{
	struct sqlite_statement *st = NULL;
	bool subquery = false;
	char *sql = xstrfmt("EXPLAIN QUERY PLAN SELECT * FROM %s", view->sql);
	char *program = xstrfmt("EXPLAIN SELECT * FROM %s", view->sql);
	int rc = sqlite_prepare(s->db, &st, sql, err);

	if (!rc)
		rc = views_judge_plan(st, verdict, &subquery, err);
	sqlite_finalize(st);
	st = NULL;
	if (!rc)
		rc = sqlite_prepare(s->db, &st, program, err);
	while (!rc && (rc = sqlite_step(st, err)) == 1) {
		const char *doubt = views_judge_step(
			sqlite_str(st, VIEWS_OPCODE), sqlite_str(st, VIEWS_P4));
		if (doubt &&
		    (!*verdict || (!subquery && !strcmp(doubt, TICK_GROUPED))))
			*verdict = doubt;
		rc = 0;
	}
	sqlite_finalize(st);
	free(program);
	free(sql);
	return rc;
}

/* The SQL by which the table fills the column; NULL: there is none. */
static int views_default(struct sqlite_source *s, const char *table,
			 const char *column, char **out, struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(
		s->db, &st,
		"SELECT CASE hidden WHEN 0 THEN dflt_value "
		"ELSE '" TICK_UNKNOWN "' END\n"
		"FROM pragma_table_xinfo(?, 'main') WHERE name = ?",
		err);

	if (!rc) {
		sqlite_bind_str(st, 1, table, -1);
		sqlite_bind_str(st, 2, column, -1);
		rc = sqlite_step(st, err);
	}
	if (rc >= 0)
		*out = xstrdup(rc ? sqlite_str(st, 0) : TICK_UNKNOWN);
	sqlite_finalize(st);
	return rc < 0 ? rc : 0;
}

/* The view's text, and the text of all views whose names stand in it, down to
 * the tables. A name in a literal is taken for a view, too. Then rows may be
 * read again for nothing, and none is missed. */
static const char views_definition_sql[] =
	"WITH RECURSIVE named AS (\n"
	"  SELECT name, sql, replace(lower(sql), '\"', '') AS words,\n"
	"    replace(lower(name), '\"', '') AS word\n"
	"  FROM main.sqlite_schema WHERE type = 'view'),\n"
	"below AS (\n"
	"  SELECT name, sql, words FROM named WHERE name = ?\n"
	"  UNION SELECT n.name, n.sql, n.words FROM below b\n"
	"  JOIN named n ON instr(b.words, n.word))\n"
	"SELECT group_concat(sql, char(10))\n"
	"FROM (SELECT sql FROM below ORDER BY name)";

int sqlite_source_view_definition(struct sqlite_source *s,
				  struct source_table *view, struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(s->db, &st, views_definition_sql, err);

	if (!rc) {
		sqlite_bind_str(st, 1, view->name, -1);
		rc = sqlite_step(st, err);
	}
	if (rc == 1)
		view->definition = xstrdup(sqlite_str(st, 0));
	sqlite_finalize(st);
	return rc < 0 ? rc : 0;
}

int sqlite_source_view_mark(struct sqlite_source *s,
			    const struct source_table *view,
			    struct source_column *mark, struct error *err)
{
	struct sqlite_statement *st = NULL;
	const char *table, *column, *verdict = NULL;
	char *sql = NULL, *filled = NULL;
	int rc = views_judge(s, view, &verdict, err);

	if (!rc && !verdict) {
		sql = xstrfmt("SELECT %s FROM %s AS %s", mark->sql, view->sql,
			      view->alias);
		rc = sqlite_prepare(s->db, &st, sql, err);
	}
	if (!rc && st) {
		sqlite_origin(st, 0, &table, &column);
		if (table && column)
			rc = views_default(s, table, column, &filled, err);
		else
			verdict = TICK_UNKNOWN;
	}
	sqlite_finalize(st);
	free(sql);
	if (!rc) {
		free(mark->computed);
		mark->computed = verdict ? xstrdup(verdict) : filled;
	}
	return rc;
}

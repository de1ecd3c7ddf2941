/*
 * Is a view plain? In a plain view each row comes from one row of one table, by
 * columns, filters and functions that always give the same result. Then a row
 * appears or changes only with a write of that row, which set the mark. DuckDB
 * gives the tree of a statement. Views below are followed down to the table. A
 * view counts as plain only if that is known.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/common/names.h"
#include "connectors/common/tick.h"
#include "connectors/duckdb/source.h"
#include "core/base/alloc.h"

#define VIEWS_DEPTH 50
#define VIEWS_TREE  "json_serialize_sql"

/* A view's column, followed down to the column of a table. */
struct views_trace {
	const char *verdict; /* NULL: plain so far */
	bool coarse; /* the column is computed on the way */
	char *schema, *table, *column;
	char *own; /* the schema of the view that names them */
	struct strlist macros; /* they may have the name of a function */
};

static const char views_expressions[] = " COLUMN_REF CONSTANT COMPARISON "
					"CONJUNCTION OPERATOR CAST CASE "
					"BETWEEN STAR FUNCTION ";
static const char views_functions[] =
	" + - * / // % || ~~ !~~ ~~* !~~* ~~~ -> ->> abs ceil ceiling concat "
	"concat_ws contains date_part date_trunc floor greatest ifnull least "
	"left length like_escape list_value lower ltrim md5 not_like_escape "
	"nullif prefix regexp_extract regexp_matches regexp_replace replace "
	"right round row rtrim starts_with strftime struct_extract "
	"struct_pack substr substring suffix trim trunc upper json_extract "
	"json_extract_string ";
/* Names that stand for a function if there is no such column. */
static const char views_values[] =
	" current_catalog current_date current_role current_schema "
	"current_time current_timestamp current_user localtime "
	"localtimestamp session_user user ";

static const char *views_text(const json_t *node, const char *name)
{
	const char *text = json_string_value(json_object_get(node, name));

	return text ? text : "";
}

static bool views_has(const json_t *node, const char *name)
{
	const json_t *value = json_object_get(node, name);

	return json_is_object(value) || json_array_size(value) > 0 ||
	       json_is_true(value);
}

static void views_doubt(struct views_trace *t, const char *verdict)
{
	if (!t->verdict || !strcmp(verdict, TICK_GROUPED))
		t->verdict = verdict;
}

static void views_judge_call(struct views_trace *t, const json_t *call)
{
	const char *name = views_text(call, "function_name");
	bool known = tick_lists(views_functions, name, strlen(name)) &&
		     !*views_text(call, "schema");
	char *text;

	for (size_t i = 0; i < t->macros.n; i++)
		known &= strcasecmp(t->macros.items[i], name) != 0;
	if (known)
		return;
	text = xstrfmt("%s(", name);
	views_doubt(t, tick_doubt(NULL, text) == TICK_IS_GROUPED ? TICK_GROUPED
								 : TICK_OTHERS);
	free(text);
}

static void views_judge_reference(struct views_trace *t, const json_t *column)
{
	const json_t *names = json_object_get(column, "column_names");
	const char *name = json_string_value(json_array_get(names, 0));

	if (json_array_size(names) == 1 && name &&
	    tick_lists(views_values, name, strlen(name)))
		views_doubt(t, TICK_OTHERS);
}

/* An expression, and all that is in it. */
static void views_judge(struct views_trace *t, const json_t *node)
{
	const char *class = views_text(node, "class"), *name;
	json_t *part;
	size_t i;

	if (*class && !tick_lists(views_expressions, class, strlen(class)))
		views_doubt(t, strcmp(class, "WINDOW") != 0 ? TICK_OTHERS
							    : TICK_GROUPED);
	if (!strcmp(class, "FUNCTION"))
		views_judge_call(t, node);
	if (!strcmp(class, "COLUMN_REF"))
		views_judge_reference(t, node);
	if (!strcmp(class, "CONSTANT") || !strcmp(class, "SUBQUERY"))
		return;
	json_array_foreach((json_t *)node, i, part)
	{
		views_judge(t, part);
	}
	json_object_foreach((json_t *)node, name, part)
	{
		views_judge(t, part);
	}
}

static void views_judge_select(struct views_trace *t, const json_t *node)
{
	json_t *modifier;
	size_t i;

	if (strcmp(views_text(node, "type"), "SELECT_NODE") != 0) {
		views_doubt(t, TICK_OTHERS);
		return;
	}
	if (views_has(json_object_get(node, "cte_map"), "map") ||
	    views_has(node, "sample"))
		views_doubt(t, TICK_OTHERS);
	if (views_has(node, "group_expressions") ||
	    views_has(node, "group_sets") || views_has(node, "having") ||
	    strcmp(views_text(node, "aggregate_handling"),
		   "STANDARD_HANDLING") != 0)
		views_doubt(t, TICK_GROUPED);
	json_array_foreach(json_object_get(node, "modifiers"), i, modifier)
	{
		if (strcmp(views_text(modifier, "type"), "ORDER_MODIFIER") != 0)
			views_doubt(t, TICK_OTHERS);
	}
	views_judge(t, json_object_get(node, "select_list"));
	views_judge(t, json_object_get(node, "where_clause"));
	views_judge(t, json_object_get(node, "qualify"));
	views_judge(t, json_object_get(node, "modifiers"));
}

/* Returns the column if the expression is a column itself, whatever its alias.
 * NULL if it is not. */
static const char *views_passed_on(const json_t *expression, const json_t *from)
{
	const json_t *names = json_object_get(expression, "column_names");
	size_t n = json_array_size(names);
	const char *first = json_string_value(json_array_get(names, 0));
	const char *alias = views_text(from, "alias");

	if (!*alias)
		alias = views_text(from, "table_name");
	/* "a.b" may be the field of a struct. */
	if (n == 1 || (n == 2 && !strcasecmp(first, alias)))
		return json_string_value(json_array_get(names, n - 1));
	return NULL;
}

static const char *views_name(const json_t *expression)
{
	const json_t *names = json_object_get(expression, "column_names");
	const char *alias = views_text(expression, "alias");
	const char *last = json_string_value(
		json_array_get(names, json_array_size(names) - 1));

	return *alias || !last ? alias : last;
}

/* The column by its name among the tables behind FROM. With a star and a column
 * of that name nobody knows which table has it. */
static void views_trace_column(struct views_trace *t, const json_t *node)
{
	const json_t *from = json_object_get(node, "from_table");
	const char *found = NULL;
	size_t i, stars = 0, named = 0;
	json_t *e;

	json_array_foreach(json_object_get(node, "select_list"), i, e)
	{
		if (!strcmp(views_text(e, "class"), "STAR")) {
			stars++;
			t->coarse |= views_has(e, "replace_list") ||
				     views_has(e, "rename_list") ||
				     views_has(e, "columns") ||
				     views_has(e, "expr");
		} else if (!strcasecmp(views_name(e), t->column)) {
			named++;
			found = views_passed_on(e, from);
		}
	}
	if (stars + named != 1 || (named && !found)) {
		t->coarse = true;
	} else if (found) {
		free(t->column);
		t->column = xstrdup(found);
	}
}

/* Down to a table or view of the file. */
static void views_descend(struct views_trace *t, const json_t *node, int depth)
{
	const json_t *from = json_object_get(node, "from_table");
	const char *type = views_text(from, "type");

	views_judge_select(t, node);
	if (t->verdict)
		return;
	views_trace_column(t, node);
	if (views_has(from, "sample") || views_has(from, "at_clause") ||
	    depth > VIEWS_DEPTH) {
		views_doubt(t, TICK_OTHERS);
		return;
	}
	t->coarse |= views_has(from, "column_name_alias");
	if (!strcmp(type, "SUBQUERY")) {
		views_descend(t,
			      json_object_get(json_object_get(from, "subquery"),
					      "node"),
			      depth + 1);
		return;
	}
	if (strcmp(type, "BASE_TABLE") != 0) {
		views_doubt(t, TICK_OTHERS);
		return;
	}
	free(t->schema);
	free(t->table);
	t->schema = xstrdup(views_text(from, "schema_name"));
	t->table = xstrdup(views_text(from, "table_name"));
}

/* The rest of "CREATE VIEW s.v AS SELECT ...;". NULL: it names columns, or is
 * written in some other way. */
static const char *views_select(const char *sql)
{
	static const char create[] = "CREATE VIEW ", as[] = " AS ";
	const char *at = sql + strlen(create);

	if (strncasecmp(sql, create, strlen(create)) != 0)
		return NULL;
	while (*at && *at != ' ' && *at != '(') {
		const char *end = *at == '"' ? strchr(at + 1, '"') : at;
		if (!end)
			return NULL;
		at = end + 1;
	}
	return strncasecmp(at, as, strlen(as)) ? NULL : at + strlen(as);
}

/* Places in the text are numbers larger than jansson accepts. */
static int views_parse(struct duckdb_source *s, const char *select,
		       json_t **out, struct error *err)
{
	struct paged_answer a = { 0 };
	int rc = duckdb_source_ask(s, "SELECT " VIEWS_TREE "(?::VARCHAR) AS j",
				   "t", 1, &select, &a, err);

	*out = rc ? NULL
		  : json_loads(paged_cell(&a, 0, 0),
			       JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	paged_answer_release(&a);
	return rc;
}

/* One view of the way. */
static int views_look_into(struct duckdb_source *s, struct views_trace *t,
			   const char *sql, struct error *err)
{
	const char *select = views_select(sql);
	json_t *tree = NULL;
	const json_t *statements;
	int rc = select ? views_parse(s, select, &tree, err) : 0;

	statements = json_object_get(tree, "statements");
	if (!rc && json_array_size(statements) == 1)
		views_descend(
			t,
			json_object_get(json_array_get(statements, 0), "node"),
			0);
	else if (!rc)
		views_doubt(t, TICK_OTHERS);
	json_decref(tree);
	return rc;
}

/* Look for a name without a schema in the view's own schema and in main. If
 * both have it, nobody knows which one is meant. */
static const char views_find_sql[] =
	"SELECT s, v, sql FROM (\n"
	"  SELECT schema_name AS s, view_name AS v, sql FROM duckdb_views()\n"
	"  WHERE database_name = current_database() AND NOT internal\n"
	"  UNION ALL SELECT schema_name, table_name, NULL FROM "
	"duckdb_tables()\n"
	"  WHERE database_name = current_database() AND NOT internal)\n"
	"WHERE lower(v) = lower(?) AND (lower(s) = lower(?)\n"
	"  OR (? = '' AND lower(s) IN ('main', lower(?))))";

static const char views_default_sql[] =
	"SELECT column_default AS d FROM duckdb_columns()\n"
	"WHERE database_name = current_database() AND lower(schema_name)\n"
	"  = lower(?) AND lower(table_name) = lower(?)\n"
	"  AND lower(column_name) = lower(?)";

/* The SQL by which the table fills the column. */
static int views_default(struct duckdb_source *s, const struct views_trace *t,
			 char **out, struct error *err)
{
	const char *params[] = { t->schema, t->table, t->column };
	struct paged_answer a = { 0 };
	int rc = duckdb_source_ask(s, views_default_sql, "?", 3, params, &a,
				   err);

	if (!rc)
		*out = xstrdup(a.n_rows == 1 ? paged_cell(&a, 0, 0)
					     : TICK_UNKNOWN);
	paged_answer_release(&a);
	return rc;
}

/* end: a table was reached, or nothing more can be found out. */
static int views_step(struct duckdb_source *s, struct views_trace *t, bool *end,
		      struct error *err)
{
	const char *params[] = { t->table, t->schema, t->schema, t->own };
	struct paged_answer a = { 0 };
	int rc =
		duckdb_source_ask(s, views_find_sql, "tt?", 4, params, &a, err);

	if (!rc && a.n_rows != 1)
		views_doubt(t, TICK_OTHERS);
	if (!rc && a.n_rows == 1) {
		free(t->schema);
		t->schema = xstrdup(paged_cell(&a, 0, 0));
		free(t->own);
		t->own = xstrdup(t->schema);
		*end = !paged_cell(&a, 0, 2);
		if (!*end)
			rc = views_look_into(s, t, paged_cell(&a, 0, 2), err);
	}
	*end |= t->verdict != NULL;
	paged_answer_release(&a);
	return rc;
}

/* $1, $2: schema and view. Finds its text, and the text of all views whose
 * names stand in it, down to the tables. A name in a literal is taken for a
 * view, too. Then rows may be read again for nothing, and none is missed. */
static const char views_definition_sql[] =
	"WITH RECURSIVE named AS (\n"
	"  SELECT schema_name AS s, view_name AS v, sql,\n"
	"    replace(lower(sql), '\"', '') AS words,\n"
	"    replace(lower(view_name), '\"', '') AS word\n"
	"  FROM duckdb_views()\n"
	"  WHERE database_name = current_database() AND NOT internal),\n"
	"below AS (\n"
	"  SELECT s, v, sql, words FROM named WHERE s = ? AND v = ?\n"
	"  UNION SELECT n.s, n.v, n.sql, n.words FROM below b\n"
	"  JOIN named n ON contains(b.words, n.word))\n"
	"SELECT string_agg(sql, chr(10) ORDER BY s, v) AS d FROM below";

int duckdb_source_view_definition(struct duckdb_source *s,
				  struct source_table *view, struct error *err)
{
	const char *params[] = { view->schema, view->name };
	struct paged_answer a = { 0 };
	int rc = duckdb_source_ask(s, views_definition_sql, "?", 2, params, &a,
				   err);

	if (!rc)
		view->definition = xstrdup(paged_cell(&a, 0, 0));
	paged_answer_release(&a);
	return rc;
}

static int views_macros(struct duckdb_source *s, struct strlist *out,
			struct error *err)
{
	struct paged_answer a = { 0 };
	int rc = duckdb_source_ask(
		s,
		"SELECT function_name AS f FROM duckdb_functions() "
		"WHERE NOT internal\n"
		"  OR function_name = '" VIEWS_TREE "'",
		"t", 0, NULL, &a, err);

	for (size_t i = 0; !rc && i < a.n_rows; i++)
		strlist_add(out, paged_cell(&a, i, 0));
	paged_answer_release(&a);
	return rc;
}

int duckdb_source_view_mark(struct duckdb_source *s,
			    const struct source_table *view,
			    struct source_column *mark, struct error *err)
{
	struct views_trace t = {
		.coarse = mark->expression != NULL,
		.schema = xstrdup(view->schema),
		.table = xstrdup(view->name),
		.column = xstrdup(mark->name),
		.own = xstrdup(view->schema),
	};
	char *filled = NULL;
	bool end = false;
	int rc = views_macros(s, &t.macros, err);

	/* A library may be built without it. */
	bool may = !rc && strlist_has(&t.macros, VIEWS_TREE);

	for (int n = 0; may && !rc && !end && n < VIEWS_DEPTH; n++)
		rc = views_step(s, &t, &end, err);
	if (!end)
		views_doubt(&t, TICK_OTHERS);
	if (!rc && !t.verdict && t.coarse)
		views_doubt(&t, TICK_UNKNOWN);
	if (!rc && !t.verdict)
		rc = views_default(s, &t, &filled, err);
	if (!rc) {
		free(mark->computed);
		mark->computed = t.verdict ? xstrdup(t.verdict) : filled;
	}
	strlist_release(&t.macros);
	free(t.column);
	free(t.table);
	free(t.schema);
	free(t.own);
	return rc;
}

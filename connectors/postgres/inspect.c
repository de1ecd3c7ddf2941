#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/common/tick.h"
#include "connectors/common/trouble.h"
#include "connectors/common/wall_clock.h"
#include "connectors/postgres/activity.h"
#include "connectors/postgres/computed.h"
#include "connectors/postgres/indexes.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/query.h"
#include "connectors/postgres/repeats.h"
#include "connectors/postgres/sequences.h"
#include "connectors/postgres/surroundings.h"
#include "connectors/postgres/zone.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

struct inspection_of {
	struct postgres *c;
	const struct source_spec *source;
	const struct watermark_spec *mark;
	struct problems *out;
};

static void inspect_index(struct inspection_of *x)
{
	const struct source_layout *l = &x->c->layout;
	const struct source_column *mark = source_mark(l);
	enum relation_kind kind = postgres_source_relation(l)->kind;
	struct strbuf fix = STRBUF_INIT;

	if (mark->expression || kind == RELATION_VIEW ||
	    kind == RELATION_FOREIGN ||
	    postgres_source_indexes_begin_with(l, mark->name))
		return;
	strbuf_addf(&fix, "CREATE INDEX %sON %s (",
		    kind == RELATION_PARTITIONED ? "" : "CONCURRENTLY ",
		    l->table.sql);
	source_layout_write_order(&fix, l, '"');
	strbuf_addch(&fix, ')');
	problems_add(x->out, SEVERITY_WARNING, ERROR_NONE, "mark-without-index",
		     fix.data,
		     "no index of %s begins with \"%s\": every page sorts the "
		     "table anew",
		     x->source->table, mark->name);
	strbuf_release(&fix);
}

static int inspect_count_nulls(struct inspection_of *x, int64_t *count,
			       struct error *err)
{
	const struct source_column *mark = source_mark(&x->c->layout);
	struct pg_result *r = NULL;
	struct query q;
	int rc;

	postgres_source_query_init(&q, QUERY_PARAMETERS);
	postgres_source_query_count(&q, &x->c->layout, "count(*)");
	strbuf_addf(&q.sql, "%s IS NULL", mark->sql);
	rc = pg_query(x->c->pg, &r, q.sql.data, "1t", 0, NULL, err);
	if (!rc)
		*count = strtoll(pg_value(r, 0, 0), NULL, 10);
	pg_result_free(r);
	postgres_source_query_release(&q);
	return rc;
}

static int inspect_nulls(struct inspection_of *x, struct error *err)
{
	const struct source_column *mark = source_mark(&x->c->layout);
	int64_t count = 0;
	int rc = 0;

	if (mark->nullable)
		rc = inspect_count_nulls(x, &count, err);
	if (rc || !count)
		return rc;
	report_null_marks(x->out, x->source->table, mark->name, x->mark->nulls,
			  count);
	return 0;
}

static int inspect_activity(struct inspection_of *x, struct error *err)
{
	struct activity a;
	struct strbuf fix = STRBUF_INIT;
	int rc = postgres_source_activity_read(x->c->pg, &a, err);

	if (rc)
		return rc;
	strbuf_addstr(&fix, "GRANT pg_read_all_stats TO ");
	sql_quote_name(&fix, a.role, '"');
	if (!a.may_see)
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
			     "missing-rights", fix.data,
			     "role %s cannot see other sessions' transactions: "
			     "rows that commit late can be missed",
			     a.role);
	if (a.standby)
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE, "standby",
			     "connect to the primary, set watermark.lag, or "
			     "use strategy xmin",
			     "the source is a standby: the primary's open "
			     "transactions do not show here");
	if (a.prepared_us != INT64_MAX)
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
			     "prepared-transactions",
			     "COMMIT PREPARED or ROLLBACK PREPARED it",
			     "prepared transaction '%s' of role %s is open: "
			     "the mark waits for it, and rows past the mark "
			     "are read again in every run",
			     json_string_value(json_object_get(a.prepared_by,
							       "prepared")),
			     json_string_value(
				     json_object_get(a.prepared_by, "role")));
	if (a.hidden) {
		strbuf_reset(&fix);
		strbuf_addf(&fix, "ALTER ROLE %s SET track_activities = on",
			    a.hidden);
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
			     "track-activities-off", fix.data,
			     "a session of role %s has track_activities off, "
			     "or had it when its transaction began: this does "
			     "not show, so the guarantee is lag",
			     a.hidden);
	}
	strbuf_release(&fix);
	postgres_source_activity_release(&a);
	return 0;
}

static void inspect_tick(struct inspection_of *x)
{
	const struct source_column *mark = source_mark(&x->c->layout);

	if (!postgres_source_computed_is_plain(mark))
		tick_report(x->out, x->source->table, mark->name,
			    postgres_source_computed_doubt(mark));
}

static int inspect_zone(struct inspection_of *x, struct error *err)
{
	const struct source_column *mark = source_mark(&x->c->layout);
	struct error why = ERROR_INIT;
	int64_t wall;
	int rc;

	if (postgres_source_wire(mark)->wire->oid != WIRE_TIMESTAMP &&
	    postgres_source_wire(mark)->wire->oid != WIRE_DATE)
		return 0;
	if (wall_clock_is_unknown(x->mark->time_zone)) {
		report_zone_unknown(x->out, x->source->table, mark->name, "");
		return 0;
	}
	rc = postgres_source_zone_wall_clock(x->c->pg, x->mark->time_zone, 0,
					     &wall, &why);
	return report_zone(x->out, rc, &why, err);
}

static void inspect_sequence(struct inspection_of *x,
			     const struct sequence_info *s)
{
	char *grant = xstrfmt("GRANT SELECT ON SEQUENCE %s", s->name);

	if (s->descending)
		problems_add(x->out, SEVERITY_ERROR, ERROR_CONFIG,
			     "sequence-descending",
			     "use strategy xmin or timestamp",
			     "sequence %s of \"%s\" counts down: strategy "
			     "sequence cannot follow it",
			     s->name, source_mark(&x->c->layout)->name);
	if (!s->may_see)
		problems_add(x->out, SEVERITY_INFO, ERROR_NONE,
			     "sequence-hidden", grant,
			     "the role may not see where sequence %s stands: "
			     "setval() may set it back behind the mark "
			     "unnoticed",
			     s->name);
	free(grant);
}

static int inspect_sequences(struct inspection_of *x, struct error *err)
{
	const struct source_column *mark = source_mark(&x->c->layout);
	struct sequence_doubt doubts[SEQUENCE_MOST_DOUBTS];
	size_t n = 0;
	struct sequences found;
	int rc = postgres_source_sequences_find(
		x->c->pg, postgres_source_relation(&x->c->layout), mark, &found,
		err);

	for (size_t i = 0; !rc && i < found.n; i++)
		inspect_sequence(x, &found.items[i]);
	if (!rc)
		n = postgres_source_sequences_doubt(&found, &x->c->layout,
						    doubts);
	for (size_t i = 0; i < n; i++)
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
			     doubts[i].code, doubts[i].fix, "%s",
			     doubts[i].reason);
	postgres_source_sequence_doubts_release(doubts, n);
	postgres_source_sequences_release(&found);
	return rc;
}

/* Reading leaf by leaf needs rights on each leaf. */
static int inspect_leaves(struct inspection_of *x, struct error *err)
{
	struct leaves leaves = { NULL, 0 };
	int rc = postgres_source_leaves_find(
		x->c->pg, postgres_source_relation(&x->c->layout)->oid, &leaves,
		err);

	for (size_t i = 0; !rc && i < leaves.n; i++) {
		const struct leaf *leaf = &leaves.items[i];
		struct strbuf fix = STRBUF_INIT;
		strbuf_addf(&fix, "GRANT SELECT ON %s", leaf->sql);
		if (leaf->kind == RELATION_FOREIGN)
			problems_add(x->out, SEVERITY_ERROR, ERROR_CONFIG,
				     "xmin-of-foreign-table",
				     "watermark.strategy: timestamp",
				     "partition %s of %s is a foreign table, "
				     "which has no xmin",
				     leaf->sql, x->source->table);
		else if (!leaf->readable)
			problems_add(x->out, SEVERITY_ERROR, ERROR_ACCESS,
				     "missing-rights", fix.data,
				     "strategy xmin reads %s by its parts, and "
				     "%s may not be read",
				     x->source->table, leaf->sql);
		strbuf_release(&fix);
	}
	postgres_source_leaves_release(&leaves);
	return rc;
}

/* The index that would vouch for the key; none can for a view, an expression
 * or a table with heirs. */
static bool inspect_write_unique(struct strbuf *sb,
				 const struct source_layout *l)
{
	bool heirs = postgres_source_relation(l)->kind == RELATION_TABLE &&
		     postgres_source_relation(l)->has_children;

	if (heirs || postgres_source_relation(l)->kind == RELATION_VIEW ||
	    postgres_source_relation(l)->kind == RELATION_FOREIGN)
		return false;
	strbuf_addf(sb, "CREATE UNIQUE INDEX %sON %s ",
		    postgres_source_relation(l)->kind == RELATION_PARTITIONED
			    ? ""
			    : "CONCURRENTLY ",
		    l->table.sql);
	for (size_t i = 0; i < l->n_key; i++) {
		const struct source_column *k = l->columns[l->key[i]];
		if (k->expression)
			return false;
		strbuf_addstr(sb, i ? ", " : "(");
		sql_quote_name(sb, k->name, '"');
	}
	strbuf_addch(sb, ')');
	return true;
}

/* Tables that inherit from it, whose rows are its rows, too. */
#define INSPECT_HEIRS                                                          \
	"a unique index holds for the table's own rows, and not for those of " \
	"tables that inherit from it: let all of them take their keys from "   \
	"one sequence"

static bool inspect_has_heirs(const struct source_layout *l)
{
	const struct relation *r = postgres_source_relation(l);

	return r->kind == RELATION_TABLE && r->has_children;
}

static int inspect_repeats(struct inspection_of *x, struct error *err)
{
	const struct source_layout *l = &x->c->layout;
	struct strbuf fix = STRBUF_INIT;
	char *key = NULL;
	bool vouchable = inspect_write_unique(&fix, l);
	int rc = 0;

	if (l->n_key && !l->key_unique)
		rc = postgres_source_repeats_find(
			x->c->pg, l, NULL,
			x->mark && x->mark->nulls == NULLS_SKIP, &key, err);
	if (key)
		report_repeat(x->out, x->source->table, key);
	else if (!rc && l->n_key && !l->key_unique)
		report_unvouched(x->out, x->source->table,
				 vouchable		? fix.data
				 : inspect_has_heirs(l) ? INSPECT_HEIRS
							: NULL);
	strbuf_release(&fix);
	free(key);
	return rc;
}

static int inspect_key(struct inspection_of *x, struct error *err)
{
	const struct source_layout *l = &x->c->layout;

	for (size_t i = 0; i < l->n_key; i++) {
		const struct source_column *k = l->columns[l->key[i]];
		if (k->nullable &&
		    postgres_source_relation(l)->kind != RELATION_VIEW)
			report_nullable_key(x->out, x->source->table, k->name);
	}
	return inspect_repeats(x, err);
}

static void inspect_hidden(struct inspection_of *x,
			   const struct surroundings *around)
{
	char *fix = postgres_source_surroundings_show_rows(around);

	problems_add(x->out, SEVERITY_WARNING, ERROR_NONE, "row-security", fix,
		     "row level security of %s hides rows from role %s: those "
		     "rows are not copied",
		     around->hiding, around->role);
	free(fix);
}

static void inspect_elsewhere(struct inspection_of *x,
			      const struct surroundings *around)
{
	struct strbuf why = STRBUF_INIT, fix = STRBUF_INIT;

	postgres_source_surroundings_explain(around, &why);
	postgres_source_surroundings_go_there(around, &fix);
	problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
		     "rows-from-elsewhere", fix.data,
		     "%s, so the guarantee is lag", why.data);
	strbuf_release(&why);
	strbuf_release(&fix);
}

/* A cascade fires the triggers of the table: one that says the mark's name is
 * taken to set it. */
static const char inspect_cascades_sql[] =
	"SELECT f.conname, concat_ws(', ',\n"
	"  CASE f.confupdtype WHEN 'c' THEN 'ON UPDATE CASCADE'\n"
	"    WHEN 'n' THEN 'ON UPDATE SET NULL'\n"
	"    WHEN 'd' THEN 'ON UPDATE SET DEFAULT' END,\n"
	"  CASE f.confdeltype WHEN 'n' THEN 'ON DELETE SET NULL'\n"
	"    WHEN 'd' THEN 'ON DELETE SET DEFAULT' END)\n"
	"FROM pg_constraint f WHERE f.conrelid = $1 AND f.contype = 'f'\n"
	"  AND (f.confupdtype IN ('c', 'n', 'd')\n"
	"       OR f.confdeltype IN ('n', 'd'))\n"
	"  AND NOT EXISTS (\n"
	"    SELECT FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid\n"
	"    WHERE g.tgrelid = $1 AND NOT g.tgisinternal\n"
	"      AND g.tgenabled IN ('O', 'A') AND g.tgtype & 16 <> 0\n"
	"      AND strpos(concat(p.prosrc, ' ',\n"
	"                        encode(g.tgargs, 'escape')), $2) > 0)\n"
	"ORDER BY 1";

static int inspect_cascades(struct inspection_of *x, struct error *err)
{
	const struct source_column *mark = source_mark(&x->c->layout);
	char *oid = xstrfmt("%u", postgres_source_relation(&x->c->layout)->oid);
	const char *params[] = { oid, mark->name };
	struct pg_result *r = NULL;
	int rc = pg_query(x->c->pg, &r, inspect_cascades_sql, "tt", 2, params,
			  err);

	for (int i = 0; !rc && i < pg_rows(r); i++)
		report_cascade(x->out, x->source, pg_value(r, i, 0),
			       pg_value(r, i, 1), mark->name,
			       "let a trigger BEFORE UPDATE set the mark, use "
			       "strategy xmin, or ");
	pg_result_free(r);
	free(oid);
	return rc;
}

static int inspect_surroundings(struct inspection_of *x, struct error *err)
{
	struct surroundings around;
	int rc = postgres_source_surroundings_find(
		x->c->pg, postgres_source_relation(&x->c->layout)->oid,
		x->source, x->mark ? x->mark->strategy : STRATEGY_NONE, &around,
		err);

	if (rc)
		return rc;
	if (around.hiding)
		inspect_hidden(x, &around);
	/* Without a mark, rows that come late come all the same. */
	if (around.origin != ORIGIN_HERE && x->mark)
		inspect_elsewhere(x, &around);
	if (around.fickle)
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
			     "sql-not-immutable",
			     "use what is stored in the row; a function of "
			     "your own that hangs on its arguments alone may "
			     "be declared IMMUTABLE",
			     SURROUNDINGS_FICKLE, around.fickle);
	postgres_source_surroundings_release(&around);
	return 0;
}

static void inspect_own_sql(const struct inspection_of *x)
{
	if (x->source->where || x->source->n_expressions)
		problems_add(x->out, SEVERITY_INFO, ERROR_NONE,
			     "sql-search-path",
			     "write schema.name for what is not of pg_catalog",
			     "%s runs with an empty search path: qualify the "
			     "names of tables and functions in it",
			     x->source->where ? "source.where"
					      : "source.expressions");
}

int postgres_inspect(struct connector *base, const struct source_spec *source,
		     const struct watermark_spec *mark,
		     const struct schema *schema, struct problems *out,
		     struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	struct inspection_of x = { c, source, mark, out };
	bool readable = false;
	int rc = postgres_layout(c, source, mark, err);

	(void)schema;
	if (!rc)
		rc = postgres_rights_inspect(c, mark, out, &readable, err);
	if (rc || !readable)
		return rc;
	inspect_own_sql(&x);
	rc = inspect_key(&x, err);
	if (!rc)
		rc = inspect_surroundings(&x, err);
	if (rc || !mark)
		return rc;
	if (mark->strategy == STRATEGY_XMIN)
		return inspect_leaves(&x, err);
	inspect_index(&x);
	rc = inspect_nulls(&x, err);
	if (!rc)
		rc = inspect_activity(&x, err);
	if (!rc && mark->strategy == STRATEGY_TIMESTAMP)
		inspect_tick(&x);
	if (!rc && mark->strategy == STRATEGY_TIMESTAMP)
		rc = inspect_zone(&x, err);
	if (!rc && mark->strategy == STRATEGY_TIMESTAMP)
		rc = inspect_cascades(&x, err);
	if (!rc && mark->strategy == STRATEGY_SEQUENCE)
		rc = inspect_sequences(&x, err);
	return rc;
}

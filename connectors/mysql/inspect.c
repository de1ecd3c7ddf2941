#include <stdlib.h>
#include <strings.h>

#include "connectors/common/tick.h"
#include "connectors/common/trouble.h"
#include "connectors/common/wall_clock.h"
#include "connectors/mysql/begun.h"
#include "connectors/mysql/ids.h"
#include "connectors/mysql/server.h"
#include "connectors/mysql/source.h"
#include "connectors/mysql/zone.h"
#include "core/base/alloc.h"

struct inspection {
	struct mysql_source *c;
	const struct source_spec *source;
	const struct watermark_spec *mark;
	struct problems *out;
};

static void inspect_index(struct inspection *x)
{
	const struct source_layout *l = &x->c->paged.layout;
	const struct source_column *mark = source_mark(l);
	struct strbuf fix = STRBUF_INIT;

	if (mark->expression || l->table.view || mysql_source_page_index(l))
		return;
	strbuf_addf(&fix, "ALTER TABLE %s ADD INDEX (", l->table.sql);
	source_layout_write_order(&fix, l, '`');
	strbuf_addch(&fix, ')');
	problems_add(x->out, SEVERITY_WARNING, ERROR_NONE, "mark-without-index",
		     fix.data,
		     "no index of %s is in the order of \"%s\" and then the "
		     "key: every page sorts what is left of the table",
		     x->source->table, mark->name);
	strbuf_release(&fix);
}

static void inspect_right(struct inspection *x, const char *right,
			  const char *user, const char *what)
{
	char *fix = xstrfmt("GRANT %s ON *.* TO %s", right, user);

	problems_add(x->out, SEVERITY_WARNING, ERROR_NONE, "missing-rights",
		     fix,
		     "user %s cannot see %s: rows that commit late can be "
		     "missed",
		     user, what);
	free(fix);
}

/* In the words of the guarantee's reason. */
static void inspect_begun(struct inspection *x,
			  const struct mysql_source_activity *a)
{
	char *fix, *why = mysql_source_begun_explain(a, &fix);

	if (why)
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
			     "transactions-hidden", fix,
			     "%s; the guarantee is lag: what a transaction "
			     "writes with a NOW() that it took before can be "
			     "missed",
			     why);
	free(why);
	free(fix);
}

static int inspect_activity(struct inspection *x, struct error *err)
{
	struct mysql_source_server server;
	struct mysql_source_activity a;
	const char *shares;
	int rc = mysql_source_server_read(x->c->db, &server, err);

	if (rc)
		return rc;
	rc = mysql_source_activity_read(x->c->db,
					x->mark->strategy == STRATEGY_TIMESTAMP,
					&x->c->denied, &a, err);
	if (rc)
		goto out;
	inspect_begun(x, &a);
	if (!a.may_see)
		inspect_right(x, "PROCESS", a.user,
			      "other sessions' transactions");
	if (!a.may_see_xa)
		inspect_right(x, "XA_RECOVER_ADMIN", a.user, "XA transactions");
	shares = mysql_source_server_shares(&server, a.applies);
	if (shares)
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE, "standby",
			     "read from where all writes go, or set "
			     "watermark.lag to how late they may arrive",
			     "the source is %s, so the guarantee is lag",
			     shares);
	if (a.xa)
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
			     "prepared-transactions",
			     "XA COMMIT or XA ROLLBACK it",
			     "an XA transaction is prepared: it holds the "
			     "mark");
	mysql_source_activity_release(&a);
out:
	mysql_source_server_release(&server);
	return rc;
}

static void inspect_engine(struct inspection *x)
{
	const struct source_table *t = &x->c->paged.layout.table;
	char *fix;

	if (t->engine && !strcasecmp(t->engine, "InnoDB"))
		return;
	fix = t->engine ? xstrfmt("ALTER TABLE %s ENGINE = InnoDB", t->sql)
			: xstrdup("read its table itself, with source.where "
				  "and source.expressions");
	problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
		     "engine-not-transactional", fix,
		     t->engine ? "%s is of engine %s: who has written to it "
				 "without commit does not show, so the "
				 "guarantee is not exact"
			       : "%s is a view%s: the engines of its tables "
				 "are not known, so the guarantee is lag",
		     x->source->table, t->engine ? t->engine : "");
	free(fix);
}

/* In the words of the guarantee's reason. */
static int inspect_ids(struct inspection *x, struct error *err)
{
	struct mysql_source_ids ids;
	struct mysql_source_ids_doubt d;
	int rc = mysql_source_ids_read(x->c, &ids, err);

	if (rc)
		return rc;
	mysql_source_ids_doubt(x->c, &ids, &d);
	if (d.code)
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE, d.code,
			     d.fix, "table %s: %s; the guarantee is lag",
			     x->source->table, d.reason);
	mysql_source_ids_doubt_release(&d);
	mysql_source_ids_release(&ids);
	return 0;
}

static int inspect_zone(struct inspection *x, struct error *err)
{
	const struct source_column *mark = source_mark(&x->c->paged.layout);
	struct error why = ERROR_INIT;
	int64_t wall;
	int rc;

	if (mark->expression)
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
			     "mark-expression", MYSQL_SOURCE_COARSE_FIX,
			     MYSQL_SOURCE_COARSE "; the guarantee is lag",
			     mark->name);
	if (!mysql_source_computed_is_plain(mark))
		tick_report(x->out, x->source->table, mark->name,
			    TICK_IS_COARSE);
	if (mark->type.kind == TYPE_TIMESTAMPTZ)
		return 0;
	if (wall_clock_is_unknown(x->mark->time_zone)) {
		report_zone_unknown(x->out, x->source->table, mark->name, "");
		return 0;
	}
	rc = mysql_source_zone_wall_clock(x->c->db, x->mark->time_zone, 0,
					  &wall, &why);
	return report_zone(x->out, rc, &why, err);
}

/* InnoDB fires no trigger for a cascade, nor ON UPDATE CURRENT_TIMESTAMP. */
static const char inspect_cascades_sql[] =
	"SELECT constraint_name, CONCAT_WS(', ',\n"
	"  CASE WHEN update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT')\n"
	"    THEN CONCAT('ON UPDATE ', update_rule) END,\n"
	"  CASE WHEN delete_rule IN ('SET NULL', 'SET DEFAULT')\n"
	"    THEN CONCAT('ON DELETE ', delete_rule) END)\n"
	"FROM information_schema.referential_constraints\n"
	"WHERE constraint_schema = ? AND table_name = ?\n"
	"  AND (update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT')\n"
	"       OR delete_rule IN ('SET NULL', 'SET DEFAULT'))\n"
	"ORDER BY 1";

static int inspect_cascades(struct inspection *x, struct error *err)
{
	const struct source_layout *l = &x->c->paged.layout;
	const char *params[] = { l->table.schema, l->table.name };
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(x->c->db, &r, inspect_cascades_sql, "tt", 2,
				    params, err);

	for (size_t i = 0; !rc && i < mysql_client_rows(r); i++)
		report_cascade(x->out, x->source, mysql_client_value(r, i, 0),
			       mysql_client_value(r, i, 1),
			       source_mark(l)->name, "");
	mysql_client_result_free(r);
	return rc;
}

int mysql_source_inspect(struct connector *base,
			 const struct source_spec *source,
			 const struct watermark_spec *mark,
			 const struct schema *schema, struct problems *out,
			 struct error *err)
{
	struct mysql_source *c = (struct mysql_source *)base;
	struct inspection x = { c, source, mark, out };
	int rc;

	(void)schema;
	paged_end_pass(&c->paged);
	rc = paged_layout_for(&c->paged, source, mark, err);
	if (rc)
		return rc;
	if (!mark)
		return paged_inspect(&c->paged, source, mark, out, err);
	inspect_engine(&x);
	inspect_index(&x);
	rc = paged_inspect(&c->paged, source, mark, out, err);
	if (!rc)
		rc = inspect_activity(&x, err);
	if (!rc && mark->strategy == STRATEGY_TIMESTAMP)
		rc = inspect_zone(&x, err);
	if (!rc && mark->strategy == STRATEGY_TIMESTAMP)
		rc = inspect_cascades(&x, err);
	if (!rc && mark->strategy == STRATEGY_SEQUENCE)
		rc = inspect_ids(&x, err);
	return rc;
}

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/common/names.h"
#include "connectors/postgres/indexes.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/sequences.h"
#include "core/base/alloc.h"

/* Partitions are read through their parent, an extension's tables are its
 * own business, and so are ours. */
static const char suggest_tables_sql[] =
	"SELECT n.nspname, c.relname, c.relkind,\n"
	"  CASE WHEN c.relkind = 'p' THEN (\n"
	"    SELECT sum(l.reltuples) FROM pg_partition_tree(c.oid) t\n"
	"      JOIN pg_class l ON l.oid = t.relid WHERE t.isleaf)\n"
	"  ELSE c.reltuples END::bigint\n"
	"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT "
	"c.relispartition\n"
	"  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'\n"
	"  AND c.relname !~ '^_tidemark_' AND c.relpersistence <> 't'\n"
	"  AND NOT EXISTS (SELECT FROM pg_depend d\n"
	"    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid\n"
	"      AND d.deptype = 'e')\n"
	"ORDER BY n.nspname COLLATE \"C\", c.relname COLLATE \"C\"";

static const char suggest_counts_sql[] =
	"SELECT pg_stat_get_tuples_inserted($1::oid) > 0\n"
	"  AND pg_stat_get_tuples_updated($1::oid) = 0\n"
	"  AND pg_stat_get_tuples_deleted($1::oid) = 0";

struct suggestion {
	enum strategy strategy;
	char *column;
	char *reason;
};

int postgres_tables(struct connector *base, struct table_list *out,
		    struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, suggest_tables_sql, "ttt?", 0, NULL, err);

	if (rc)
		return rc;
	for (int i = 0; i < pg_rows(r); i++)
		table_list_add(
			out, pg_value(r, i, 0), pg_value(r, i, 1),
			postgres_source_relation_kind_name(
				(enum relation_kind) * pg_value(r, i, 2)),
			pg_value(r, i, 3));
	pg_result_free(r);
	return 0;
}

static bool suggest_is_time(const struct source_column *c)
{
	return postgres_source_wire(c)->wire->oid == WIRE_TIMESTAMPTZ ||
	       postgres_source_wire(c)->wire->oid == WIRE_TIMESTAMP;
}

static bool suggest_is_id(const struct source_column *c)
{
	return postgres_source_wire(c)->wire->oid == WIRE_INT8 ||
	       postgres_source_wire(c)->wire->oid == WIRE_INT4;
}

/* The first of `names` that is a column with a time, best one with an index;
 * NULL if there is none. */
static const struct source_column *suggest_find(const struct source_layout *l,
						const char *const *names,
						bool indexed)
{
	for (size_t i = 0; names[i]; i++) {
		for (size_t j = 0; j < l->n_columns; j++) {
			const struct source_column *c = l->columns[j];
			if (!strcasecmp(c->name, names[i]) &&
			    suggest_is_time(c) &&
			    (!indexed ||
			     postgres_source_indexes_begin_with(l, c->name)))
				return c;
		}
	}
	return NULL;
}

static void suggest_timestamp(struct suggestion *s,
			      const struct source_column *c, const char *why)
{
	s->strategy = STRATEGY_TIMESTAMP;
	s->column = xstrdup(c->name);
	s->reason = xstrfmt("%s %s", c->name, why);
}

static void suggest_for_table(struct suggestion *s,
			      const struct source_layout *l)
{
	const struct source_column *c = suggest_find(l, changed_names, true);

	if (c) {
		suggest_timestamp(s, c,
				  "says when a row changed, and has an index");
		return;
	}
	c = suggest_find(l, changed_names, false);
	s->strategy = STRATEGY_XMIN;
	s->column = xstrdup("");
	s->reason = c ? xstrfmt("xmin needs no column; %s would do too, with "
				"an index on it",
				c->name)
		      : xstrdup("no column says when a row changed; xmin finds "
				"every change, at the price of reading the "
				"table");
}

/* One integer key, a time of birth and none of change. */
static bool suggest_looks_like_log(const struct source_layout *l)
{
	return l->n_key == 1 && suggest_is_id(l->columns[l->key[0]]) &&
	       !suggest_find(l, changed_names, false) &&
	       suggest_find(l, made_names, false);
}

/* The looks are not enough: the server has counted what happened. */
static int suggest_is_log(struct postgres *c, const struct source_layout *l,
			  bool *log, struct error *err)
{
	struct pg_result *r = NULL;
	char *oid = xstrfmt("%u", postgres_source_relation(l)->oid);
	const char *params[] = { oid };
	int rc = 0;

	*log = false;
	if (suggest_looks_like_log(l))
		rc = pg_query(c->pg, &r, suggest_counts_sql, "1t", 1, params,
			      err);
	if (!rc && r)
		*log = *pg_value(r, 0, 0) == 't';
	pg_result_free(r);
	free(oid);
	return rc;
}

/* A mark on ids that may come behind it is not exact; xmin is. */
static int suggest_for_log(struct postgres *c, struct suggestion *s,
			   struct source_layout *l, struct error *err)
{
	struct sequence_doubt doubts[SEQUENCE_MOST_DOUBTS];
	struct sequences found;
	size_t n = 0;
	int rc;

	l->mark = (long)l->key[0];
	rc = postgres_source_sequences_find(c->pg, postgres_source_relation(l),
					    source_mark(l), &found, err);
	if (!rc)
		n = postgres_source_sequences_doubt(&found, l, doubts);
	if (!rc && n) {
		s->strategy = STRATEGY_XMIN;
		s->column = xstrdup("");
		s->reason = xstrfmt("%s; xmin finds every change, at the price "
				    "of reading the table",
				    doubts[0].reason);
	} else if (!rc) {
		s->strategy = STRATEGY_SEQUENCE;
		s->column = xstrdup(source_mark(l)->name);
		s->reason = xstrfmt("%s counts up and no row was ever changed; "
				    "use xmin if that is not the rule",
				    s->column);
	}
	postgres_source_sequence_doubts_release(doubts, n);
	postgres_source_sequences_release(&found);
	return rc;
}

static void suggest_for_view(struct suggestion *s,
			     const struct source_layout *l)
{
	const struct source_column *c = suggest_find(l, changed_names, false);

	if (!c)
		c = suggest_find(l, made_names, false);
	for (size_t i = 0; !c && i < l->n_columns; i++) {
		if (suggest_is_time(l->columns[i]))
			c = l->columns[i];
	}
	if (c) {
		suggest_timestamp(s, c,
				  "is a time, and a view has no xmin; check "
				  "that it says when a row changed");
		return;
	}
	for (size_t i = 0; !c && i < l->n_columns; i++) {
		if (suggest_is_id(l->columns[i]))
			c = l->columns[i];
	}
	s->strategy = STRATEGY_SEQUENCE;
	s->column = xstrdup(c ? c->name : "");
	s->reason = xstrfmt("a view has no xmin and this one no time; %s only "
			    "finds rows that are new",
			    c ? c->name : "a counting column");
}

int postgres_suggest(struct connector *base, const char *table,
		     enum strategy *strategy, char **column, char **reason,
		     struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	const struct strlist none = STRLIST_INIT;
	const struct source_spec source = { .table = table,
					    .columns = &none,
					    .key = &none };
	struct suggestion s = { STRATEGY_XMIN, NULL, NULL };
	struct source_layout l;
	bool log = false;
	int rc = postgres_source_layout_read(c->pg, &source, NULL, &l, err);

	if (rc)
		return rc;
	rc = suggest_is_log(c, &l, &log, err);
	if (rc) {
		source_layout_release(&l);
		return rc;
	}
	if (postgres_source_relation(&l)->kind == RELATION_VIEW ||
	    postgres_source_relation(&l)->kind == RELATION_FOREIGN) {
		suggest_for_view(&s, &l);
	} else if (log) {
		rc = suggest_for_log(c, &s, &l, err);
	} else {
		suggest_for_table(&s, &l);
	}
	source_layout_release(&l);
	if (rc)
		return rc;
	*strategy = s.strategy;
	*column = s.column;
	*reason = s.reason;
	return 0;
}

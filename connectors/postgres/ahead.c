#include "clients/pg_ahead.h"
#include "clients/pg_shared.h"
#include "connectors/postgres/activity.h"
#include "connectors/postgres/columns.h"
#include "connectors/postgres/indexes.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/surroundings.h"

/* The questions of settle(): asked early, they settle less, never more. For
 * strategy sequence the transactions have to be asked for behind the highest
 * id: settle() does that itself. */
static void ahead_settle(struct postgres *c, uint32_t oid,
			 const struct source_spec *source,
			 const struct watermark_spec *mark)
{
	if (mark->strategy == STRATEGY_SEQUENCE)
		return;
	postgres_source_surroundings_ahead(c->pg, oid, source, mark->strategy);
	if (mark->strategy == STRATEGY_TIMESTAMP)
		postgres_source_activity_ahead(c->pg);
	if (mark->strategy == STRATEGY_XMIN)
		postgres_source_settle_xmin_ahead(c);
}

static void ahead_table(struct postgres *c, const struct source_spec *source,
			const struct watermark_spec *mark)
{
	uint32_t oid = postgres_source_relation_ahead(c->pg, source->table);

	postgres_source_indexes_ahead(c->pg, oid);
	postgres_source_columns_ahead(c->pg, oid, source);
	postgres_source_leaves_ahead(c->pg, oid);
	if (mark && !mark->any_type)
		ahead_settle(c, oid, source, mark);
	postgres_source_identity_ahead(c->pg);
}

int postgres_source_describe_ahead(struct postgres *c,
				   const struct source_spec *source,
				   const struct watermark_spec *mark,
				   struct error *err)
{
	pg_ahead_drop(c->pg);
	if (source->query)
		return 0;
	pg_shared_allow(c->pg, true);
	ahead_table(c, source, mark);
	pg_shared_allow(c->pg, false);
	return pg_ahead_ask(c->pg, err);
}

/* The tables first, for all else is asked by their oids. */
int postgres_foresee(struct connector *base, const struct source_wish *wishes,
		     size_t n, struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	int rc;

	pg_many_begin(c->pg);
	for (size_t i = 0; i < n; i++)
		if (!wishes[i].source->query)
			postgres_source_relation_ahead(c->pg,
						       wishes[i].source->table);
	rc = pg_many_ask(c->pg, err);
	if (rc)
		return rc;
	pg_many_begin(c->pg);
	for (size_t i = 0; i < n; i++)
		if (!wishes[i].source->query &&
		    postgres_source_relation_ahead(c->pg,
						   wishes[i].source->table) !=
			    RELATION_FOUND_LAST)
			ahead_table(c, wishes[i].source, wishes[i].mark);
	return pg_many_ask(c->pg, err);
}

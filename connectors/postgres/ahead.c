#include "clients/pg_ahead.h"
#include "connectors/postgres/activity.h"
#include "connectors/postgres/columns.h"
#include "connectors/postgres/indexes.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/surroundings.h"

/* The questions of settle(): asked early, they settle less, never more. For
 * strategy sequence the transactions have to be asked for behind the highest
 * id: settle() does that itself. */
static void ahead_settle(struct postgres *c, const struct source_spec *source,
			 const struct watermark_spec *mark)
{
	if (mark->strategy == STRATEGY_SEQUENCE)
		return;
	postgres_source_surroundings_ahead(c->pg, 0, source, mark->strategy);
	if (mark->strategy == STRATEGY_TIMESTAMP)
		postgres_source_activity_ahead(c->pg);
	if (mark->strategy == STRATEGY_XMIN)
		postgres_source_settle_xmin_ahead(c);
}

int postgres_source_describe_ahead(struct postgres *c,
				   const struct source_spec *source,
				   const struct watermark_spec *mark,
				   struct error *err)
{
	pg_ahead_drop(c->pg);
	postgres_source_relation_ahead(c->pg, source->table);
	postgres_source_indexes_ahead(c->pg);
	postgres_source_columns_ahead(c->pg, source);
	postgres_source_leaves_ahead(c->pg, 0);
	if (mark && !mark->any_type)
		ahead_settle(c, source, mark);
	postgres_source_identity_ahead(c->pg);
	return pg_ahead_ask(c->pg, err);
}

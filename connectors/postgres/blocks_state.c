#include "clients/pg_ahead.h"
#include "connectors/common/settle.h"
#include "connectors/postgres/blocks.h"
#include "connectors/postgres/durable.h"
#include "connectors/postgres/repeats.h"
#include "connectors/postgres/replay.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char blocks_begin_sql[] =
	"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
static const char blocks_commit_sql[] = "COMMIT";

void postgres_source_blocks_release(struct blocks *b)
{
	postgres_source_leaves_release(&b->leaves);
	json_decref(b->known);
	free(b->whole);
	memset(b, 0, sizeof(*b));
}

void postgres_source_blocks_transaction_ahead(struct postgres *c)
{
	pg_ahead_add(c->pg, blocks_begin_sql, 0, NULL);
}

void postgres_source_blocks_commit_ahead(struct postgres *c)
{
	pg_ahead_add(c->pg, blocks_commit_sql, 0, NULL);
}

int postgres_source_blocks_transaction(struct postgres *c, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, blocks_begin_sql, NULL, 0, NULL, err);

	pg_result_free(r);
	c->blocks.in_transaction = !rc;
	return rc;
}

int postgres_source_blocks_commit(struct postgres *c, struct error *err)
{
	struct pg_result *r = NULL;
	int rc;

	c->blocks.in_transaction = false;
	rc = pg_query(c->pg, &r, blocks_commit_sql, NULL, 0, NULL, err);
	pg_result_free(r);
	return rc;
}

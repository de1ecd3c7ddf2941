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

void postgres_source_blocks_release(struct blocks *b)
{
	postgres_source_leaves_release(&b->leaves);
	json_decref(b->known);
	free(b->whole);
	memset(b, 0, sizeof(*b));
}

int postgres_source_blocks_transaction(struct postgres *c, struct error *err)
{
	struct blocks *b = &c->blocks;
	int rc = pg_exec(
		c->pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err);

	b->in_transaction = !rc;
	return rc;
}

int postgres_source_blocks_commit(struct postgres *c, struct error *err)
{
	c->blocks.in_transaction = false;
	return pg_exec(c->pg, "COMMIT", err);
}

#include <stdlib.h>
#include <string.h>

#include "connectors/postgres/postgres.h"
#include "core/base/alloc.h"

void postgres_source_pass_release(struct postgres *c)
{
	paged_pass_release(&c->pass);
	watermark_release(&c->durable.mark);
	c->durable.unflushed = 0;
	postgres_source_keyset_release(&c->keyset);
	postgres_source_blocks_release(&c->blocks);
}

int postgres_end_pass(struct postgres *c, struct error *err)
{
	bool open = c->blocks.in_transaction;

	pg_stream_abort(c->pg);
	postgres_source_pass_release(c);
	return open ? pg_exec(c->pg, "ROLLBACK", err) : 0;
}

int postgres_layout(struct postgres *c, const struct source_spec *source,
		    const struct watermark_spec *mark, struct error *err)
{
	const char *column = mark ? mark->column : NULL;
	enum strategy strategy = mark ? mark->strategy : STRATEGY_XMIN;
	int rc;

	if (c->described == source && c->strategy == strategy &&
	    !strcmp(c->mark_column ? c->mark_column : "", column ? column : ""))
		return 0;
	source_layout_release(&c->layout);
	c->described = NULL;
	rc = postgres_source_layout_read(c->pg, source, mark, &c->layout, err);
	if (rc)
		return rc;
	free(c->mark_column);
	c->mark_column = xstrdup(column);
	c->strategy = strategy;
	c->described = source;
	return 0;
}

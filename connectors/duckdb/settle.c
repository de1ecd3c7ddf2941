/*
 * The settled point of a DuckDB file.
 *
 * A process that writes such a file has it for itself. If we could open it
 * read-only, no other process has a transaction open, and none can begin while
 * we have it open. So all earlier writes are there, and later writes carry a
 * later now(). A destination of this very process may have the file open too.
 * It does not load while this question is asked. The writer's clock and ours
 * are compared, on one host. The margin is the same as with other engines.
 *
 * sequence: all ids up to the highest are committed, but only a sequence of the
 * file never gives an id below it: ids.c.
 */
#include <stdlib.h>

#include "connectors/duckdb/source.h"
#include "core/data/table_identity.h"

int duckdb_source_settle(struct connector *base,
			 const struct source_spec *source,
			 const struct schema *schema,
			 const struct watermark_spec *mark,
			 const struct watermark *from, struct settled *out,
			 struct error *err)
{
	struct duckdb_source *s = (struct duckdb_source *)base;
	int rc = duckdb_source_enter(s, err);

	settled_release(out);
	if (!rc)
		rc = paged_settle(base, source, schema, mark, from, out, err);
	if (!rc && mark && mark->strategy == STRATEGY_SEQUENCE)
		rc = duckdb_source_ids_explain(s, from, out, err);
	duckdb_source_leave(s);
	return rc;
}

/* Nothing in a DuckDB file tells a table from one of its name made anew: its
 * numbers are given out again at each opening. */
int duckdb_source_identity(struct connector *base,
			   const struct source_spec *source, json_t **out,
			   struct error *err)
{
	struct duckdb_source *s = (struct duckdb_source *)base;

	(void)err;
	*out = json_pack("{s:s, s:s}", "engine", "duckdb", "table",
			 source->table);
	table_identity_add_file(*out, s->path);
	paged_identify_mark(&s->paged, source, *out);
	return 0;
}

static int inspect_ids(struct duckdb_source *s, struct problems *out,
		       struct error *err)
{
	struct duckdb_source_doubt doubt;
	int rc = duckdb_source_ids_doubt(s, &doubt, err);

	if (!rc && doubt.code)
		problems_add(out, SEVERITY_WARNING, ERROR_NONE, doubt.code,
			     doubt.fix, "%s, so the guarantee is lag",
			     doubt.reason);
	free(doubt.reason);
	return rc;
}

int duckdb_source_inspect(struct connector *base,
			  const struct source_spec *source,
			  const struct watermark_spec *mark,
			  const struct schema *schema, struct problems *out,
			  struct error *err)
{
	struct duckdb_source *s = (struct duckdb_source *)base;
	int rc = duckdb_source_enter(s, err);

	if (!rc)
		rc = paged_inspect_clock(base, source, mark, schema, out, err);
	if (!rc && mark && mark->strategy == STRATEGY_SEQUENCE)
		rc = inspect_ids(s, out, err);
	duckdb_source_leave(s);
	return rc;
}

#include "connectors/postgres/computed.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/tick.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"

#define COMPUTED_OUTPUT "Output: "
#define COMPUTED_WINDOW "WindowAgg"

static const char *const computed_plain[] = {
	"timezone",
	"transaction_timestamp",
	"statement_timestamp",
	"clock_timestamp",
	NULL,
};

/* The planner has looked through views and subqueries: each node of a plan
 * says what it puts out. */
int computed_read(struct pg *pg, const struct relation *relation,
		  struct layout_column *mark, struct error *err)
{
	struct strbuf found = STRBUF_INIT;
	struct pg_result *r = NULL;
	bool window = false;
	char *sql;
	int rc;

	if (relation->kind != RELATION_VIEW)
		return 0;
	sql = xstrfmt("EXPLAIN (VERBOSE, COSTS OFF) SELECT %s FROM %s AS %s",
		      mark->sql, relation->sql, relation->alias);
	rc = pg_query(pg, &r, sql, "t", 0, NULL, err);
	for (int i = 0; !rc && i < pg_rows(r); i++) {
		const char *line = pg_value(r, i, 0);
		const char *at = strstr(line, COMPUTED_OUTPUT);

		if (at && strspn(line, " ") == (size_t)(at - line))
			strbuf_addf(&found, "%s%s", found.len ? ", " : "",
				    at + strlen(COMPUTED_OUTPUT));
		else if (strstr(line, COMPUTED_WINDOW))
			window = true;
	}
	/* It may choose the rows, and not stand in what is put out. */
	if (window)
		strbuf_addstr(&found, ", " TICK_GROUPED);
	free(mark->computed);
	mark->computed = strbuf_detach(&found);
	pg_result_free(r);
	free(sql);
	return rc;
}

bool computed_is_plain(const struct layout_column *mark)
{
	return tick_is_plain(mark->expression, &mark->type, computed_plain) &&
	       tick_is_plain(mark->computed, &mark->type, computed_plain);
}

enum tick_doubt computed_doubt(const struct layout_column *mark)
{
	return tick_doubt(mark->expression, mark->computed);
}

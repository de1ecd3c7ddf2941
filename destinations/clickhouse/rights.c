#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/clickhouse/internal.h"

/* A run's rights on each of its tables. */
static const char *const rights_of_input =
	"SELECT, INSERT, CREATE TABLE, DROP TABLE, TRUNCATE";
static const char *const rights_of_rows = "SELECT, INSERT";
static const char *const rights_of_new_rows = "SELECT, INSERT, CREATE TABLE";
static const char *const rights_of_view = "CREATE VIEW, DROP VIEW";

/* CHECK GRANT answers 1 or 0. It is no SELECT, so each asks for itself. */
static int rights_ask(struct clickhouse_target *d, const char *rights,
		      const char *on, const struct target *target,
		      struct problems *out, struct error *err)
{
	struct clickhouse_rows rows;
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addf(&sql, "CHECK GRANT %s ON %s", rights, on);
	rc = clickhouse_query(d->db, sql.data, "t", &rows, err);
	if (!rc && clickhouse_rows_i64(&rows, 1) == 0) {
		strbuf_reset(&sql);
		strbuf_addf(&sql, "GRANT %s ON ", rights);
		clickhouse_quote_name(&sql, clickhouse_database(d->db));
		strbuf_addstr(&sql, ".* TO ");
		clickhouse_quote_name(&sql, clickhouse_user(d->db));
		problems_add(out, SEVERITY_WARNING, ERROR_NONE,
			     "missing-rights", sql.data,
			     "table %s: the user lacks one of %s on %s, which "
			     "loading takes",
			     target->table, rights, on);
	}
	clickhouse_rows_release(&rows);
	strbuf_release(&sql);
	return rc;
}

int clickhouse_target_plan_warn(struct plan *base, struct error *err)
{
	struct clickhouse_target *d =
		(struct clickhouse_target *)base->destination;
	const struct clickhouse_target_plan *plan =
		(const struct clickhouse_target_plan *)base;
	const struct place *place = base->place;
	const struct {
		const char *rights, *on;
	} needed[] = {
		{ rights_of_input, place->incoming },
		{ plan->table.exists ? rights_of_rows : rights_of_new_rows,
		  place->rows },
		{ base->has_watermark ? rights_of_rows : rights_of_new_rows,
		  place->marks_rows },
		{ rights_of_view, place->readable },
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_SIZE(needed); i++)
		rc = rights_ask(d, needed[i].rights, needed[i].on, base->target,
				&base->inspection.problems, err);
	return rc;
}

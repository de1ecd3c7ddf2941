#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/data/value.h"
#include "destinations/clickhouse/internal.h"

int clickhouse_target_input_make(struct clickhouse_target *d, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (d->input_made)
		return 0;
	clickhouse_target_ddl_input(&sql, d->place.incoming, d->target->preview,
				    d->target->schema);
	rc = clickhouse_exec(d->db, sql.data, err);
	strbuf_release(&sql);
	d->input_made = !rc;
	d->input_full = false;
	return rc;
}

/* The next run finds and drops a left table by its name. */
void clickhouse_target_input_drop(struct clickhouse_target *d)
{
	if (d->input_made)
		clickhouse_execf(d->db, NULL, "DROP %sTABLE IF EXISTS %s%s",
				 d->session ? "TEMPORARY " : "",
				 d->place.incoming, d->session ? "" : " SYNC");
	d->input_made = false;
}

int clickhouse_target_input_fill(struct clickhouse_target *d,
				 const struct batch *b, struct error *err)
{
	struct encoder e;
	struct strbuf sql = STRBUF_INIT;
	int rc = clickhouse_target_input_make(d, err);

	if (!rc && d->input_full)
		rc = clickhouse_execf(d->db, err, "TRUNCATE TABLE %s",
				      d->place.incoming);
	if (rc)
		return rc;
	d->input_full = true;
	clickhouse_target_encoder_init(&e, b, &d->order, d->target->table);
	e.first_seq = d->seen.rows_total + d->refreshed + 1;
	strbuf_addf(&sql, "INSERT INTO %s (", d->place.incoming);
	clickhouse_target_statement_names(&sql, b->schema, "");
	strbuf_addstr(&sql,
		      ", " NAME_VERSION ", " NAME_HASH ", " NAME_RAW_SEQ ")");
	rc = clickhouse_insert(d->db, sql.data, NULL,
			       clickhouse_target_encoder_read,
			       clickhouse_target_encoder_rewind, &e, err);
	clickhouse_target_encoder_release(&e);
	strbuf_release(&sql);
	return rc;
}

static bool input_is_integer(enum type_kind kind)
{
	return kind == TYPE_INT16 || kind == TYPE_INT32 || kind == TYPE_INT64;
}

/* The rows lie in the order of their keys. Rows of the table that may have one
 * of these keys are between the first and the last. */
static void input_write_range(struct strbuf *sb,
			      const struct clickhouse_target *d,
			      const struct batch *b)
{
	size_t key = b->schema->key[0];
	const struct vector *v = &b->vectors[key];

	if (!input_is_integer(v->kind))
		return;
	strbuf_addstr(sb, " WHERE ");
	clickhouse_quote_name(sb, b->schema->columns[key].name);
	strbuf_addstr(sb, " BETWEEN ");
	value_print(sb, v, d->order.rows[0]);
	strbuf_addstr(sb, " AND ");
	value_print(sb, v, d->order.rows[d->order.n - 1]);
}

char *clickhouse_target_input_room(const struct clickhouse_target *d,
				   const struct batch *b)
{
	struct strbuf sql = STRBUF_INIT;

	if (!d->plain || !d->order.n)
		return NULL;
	strbuf_addf(&sql, "SELECT count() FROM (SELECT 1 FROM %s", d->into);
	input_write_range(&sql, d, b);
	strbuf_addstr(&sql, " LIMIT 1)");
	return strbuf_detach(&sql);
}

char *clickhouse_target_input_sent(const struct clickhouse_target *d,
				   const struct batch *b,
				   const struct checkpoint *next)
{
	int64_t before = d->seen.rows_total;
	struct strbuf sql = STRBUF_INIT;

	strbuf_addf(&sql,
		    "SELECT count() FROM (SELECT " NAME_RAW_BATCH
		    ", " NAME_RAW_SEQ " FROM %s",
		    d->into);
	input_write_range(&sql, d, b);
	strbuf_addstr(&sql, ") WHERE " NAME_RAW_BATCH " = ");
	clickhouse_quote_text(&sql, next->batch_id ? next->batch_id : "");
	strbuf_addf(&sql,
		    " AND " NAME_RAW_SEQ " > %" PRId64 " AND " NAME_RAW_SEQ
		    " <= %" PRId64,
		    before, before + (int64_t)b->n_rows);
	return strbuf_detach(&sql);
}

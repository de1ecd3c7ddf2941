#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "destinations/bigquery/internal.h"

/* Once for each handle. */
static void bare_tell(struct bigquery_destination *d)
{
	if (d->bare_told)
		return;
	d->bare_told = true;
	log_warn("the server at BIGQUERY_EMULATOR_HOST has no transactions: "
		 "rows are written first, then the mark. The next run makes "
		 "good what breaks off in between; until then changed rows "
		 "may be missing, and two writers at once are not kept apart: "
		 "for trying out");
}

int bigquery_bare_check(struct bigquery_destination *d,
			const struct target *target, struct error *err)
{
	const char *what = target->preview		 ? "a dry run"
			   : target->refresh		 ? "a refresh"
			   : target->mode == LOAD_UPDATE ? "mode update"
							 : NULL;

	if (!d->bare)
		return 0;
	if (!what) {
		bare_tell(d);
		return 0;
	}
	return error_set(err, ERROR_CONFIG,
			 "table %s: the server at BIGQUERY_EMULATOR_HOST has "
			 "neither scripts nor transactions, which %s is made "
			 "of; modes upsert, delete_insert and append go there",
			 target->table, what);
}

void bigquery_bare_types(const struct bigquery_destination *d,
			 struct bigquery_type *types, size_t n)
{
	for (size_t i = 0; d->bare && i < n; i++)
		types[i].in_base64 = types[i].carrier == CARRIER_BYTES;
}

static int bare_number(struct bigquery_destination *d, const char *sql,
		       const struct bigquery_values *v, int64_t *out,
		       struct error *err)
{
	struct bigquery_numbers n;
	int rc = bigquery_execute(d, sql, v, &n, err);

	if (!rc)
		*out = n.values[0];
	return rc;
}

static int bare_count(struct bigquery_destination *d, const char *quoted,
		      int64_t *out, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addf(&sql, "SELECT COUNT(*) FROM %s", quoted);
	rc = bare_number(d, sql.data, NULL, out, err);
	strbuf_release(&sql);
	return rc;
}

/* How many rows will change, and the statements that do it. */
static int bare_merge(struct bigquery_destination *d,
		      const struct bigquery_values *v, bool delivered,
		      int64_t *changed, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int64_t repeats = 0;
	int rc;

	bigquery_sql_repeats(&sql, d);
	rc = bare_number(d, sql.data, v, &repeats, err);
	if (!rc && repeats)
		rc = bigquery_repeats(d->target, err);
	strbuf_reset(&sql);
	bigquery_sql_changed(&sql, "SELECT COUNT(*)", d, d->into, delivered);
	if (!rc)
		rc = bare_number(d, sql.data, v, changed, err);
	strbuf_reset(&sql);
	bigquery_sql_changed(&sql, "DELETE", d, d->into, delivered);
	if (!rc)
		rc = bigquery_execute(d, sql.data, v, NULL, err);
	if (!rc)
		rc = failpoint("after_delete", err);
	strbuf_reset(&sql);
	bigquery_sql_insert_missing(&sql, d, d->into);
	if (!rc)
		rc = bigquery_execute(d, sql.data, v, NULL, err);
	strbuf_release(&sql);
	return rc;
}

/* Behind the highest number of the table: one that broke off before its mark
 * has taken some that the mark does not know of. */
static int bare_append(struct bigquery_destination *d,
		       const struct bigquery_values *v, bool delivered,
		       struct error *err)
{
	struct bigquery_values numbered = *v;
	struct strbuf sql = STRBUF_INIT;
	int64_t seq = 0;
	char *text;
	int rc;

	strbuf_addf(&sql,
		    "SELECT COALESCE(MAX(" NAME_RAW_SEQ ") + 1, 0) FROM %s",
		    d->into);
	rc = bare_number(d, sql.data, NULL, &seq, err);
	if (seq < d->seen.rows_total)
		seq = d->seen.rows_total;
	text = xstrfmt("%" PRId64, seq);
	for (size_t i = 0; i < numbered.n; i++)
		if (!strcmp(numbered.items[i].name, "seq"))
			numbered.items[i].value = text;
	strbuf_reset(&sql);
	bigquery_sql_merge(&sql, d, d->into, delivered);
	if (!rc)
		rc = bigquery_execute(d, sql.data, &numbered, NULL, err);
	free(text);
	strbuf_release(&sql);
	return rc;
}

static int bare_rows(struct bigquery_destination *d,
		     const struct bigquery_values *v, bool delivered,
		     struct bigquery_numbers *out, struct error *err)
{
	int64_t before = 0, after = 0, changed = 0;
	int rc = bare_count(d, d->into, &before, err);

	if (!rc)
		rc = d->target->mode == LOAD_APPEND
			     ? bare_append(d, v, delivered, err)
			     : bare_merge(d, v, delivered, &changed, err);
	if (!rc)
		rc = bare_count(d, d->into, &after, err);
	out->values[0] = after - before;
	out->values[1] = changed;
	return rc;
}

int bigquery_bare_load(struct bigquery_destination *d,
		       const struct bigquery_values *v, size_t n_rows,
		       bool delivered, struct bigquery_numbers *out,
		       struct error *err)
{
	int64_t marks = 0, staged = 0;
	int rc = writer_check(&d->target->writer, err);

	if (!rc)
		rc = bigquery_bare_marks(d, &d->place,
					 "batch_id = @seen AND fence <= @fence",
					 v, &marks, err);
	if (!rc && marks != 1)
		rc = bigquery_overtaken(d->target->pipeline, err);
	if (!rc && n_rows)
		rc = bare_count(d, d->quoted_stage, &staged, err);
	if (!rc && staged != (int64_t)n_rows)
		rc = error_set(err, ERROR_BUG,
			       "table %s: a staged table has not the rows that "
			       "were put into it; the old ones stay",
			       d->target->table);
	if (!rc && n_rows)
		rc = bare_rows(d, v, delivered, out, err);
	if (!rc)
		rc = failpoint("commit_sent", err);
	if (!rc)
		rc = bigquery_bare_move(d, v, err);
	return rc ? rc : failpoint("commit_acked", err);
}

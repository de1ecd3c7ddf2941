#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/retry.h"
#include "core/base/turn.h"
#include "core/data/digest.h"
#include "destinations/bigquery/internal.h"
#include "destinations/common/refresh.h"
#include "destinations/common/refusals.h"

/* All pipelines of a dataset write to one table of marks, and of two
 * transactions that do BigQuery ends one. So those of this process go one after
 * the other, and those of others are met again. */
static const struct retry_policy script_conflicts = {
	.attempts = 12,
	.backoff_us = US_PER_SECOND / 20,
	.max_backoff_us = 4 * US_PER_SECOND,
};

static void values_add(struct bigquery_values *v, const char *name,
		       const char *type, char *text)
{
	v->texts[v->n] = text;
	v->items[v->n++] = (struct bigquery_parameter){ .name = name,
							.type = type,
							.value = text };
}

void bigquery_values_text(struct bigquery_values *v, const char *name,
			  const char *text)
{
	values_add(v, name, "STRING", xstrdup(text));
}

void bigquery_values_number(struct bigquery_values *v, const char *name,
			    int64_t number)
{
	values_add(v, name, "INT64", xstrfmt("%" PRId64, number));
}

void bigquery_values_release(struct bigquery_values *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->texts[i]);
	v->n = 0;
}

static int script_numbers(struct bigquery_rows *rows,
			  struct bigquery_numbers *out, struct error *failed)
{
	memset(out, 0, sizeof(*out));
	if (!bigquery_rows_next(rows, failed))
		return -(int)failed->code;
	for (size_t i = 0;
	     i < bigquery_rows_columns(rows) && i < ARRAY_SIZE(out->values);
	     i++) {
		const char *text = bigquery_rows_cell(rows, i, NULL);

		out->values[i] = text ? strtoll(text, NULL, 10) : 0;
	}
	return 0;
}

int bigquery_overtaken(const char *pipeline, struct error *err)
{
	return writer_overtaken(pipeline, NAME_WATERMARK_TABLE,
				"nothing was written", NULL, NULL, err);
}

static const char *values_find(const struct bigquery_values *v,
			       const char *name)
{
	for (size_t i = 0; v && i < v->n; i++)
		if (!strcmp(v->items[i].name, name))
			return v->texts[i];
	return "";
}

int bigquery_signature_refuse(const struct target *target, struct error *err)
{
	return target_refuse_altered(
		target,
		"its columns are not those that the run has prepared, or it "
		"was emptied or made anew",
		err);
}

/* If a key is there twice, a row that comes changes both. */
int bigquery_repeats(const struct target *target, struct error *err)
{
	char *advice = target_repeat_advice(target);
	int rc = error_set(err, ERROR_DATA,
			   "table %s: it holds a key of this batch more than "
			   "once, so more rows would change than came; nothing "
			   "was written; %s",
			   target->table, advice);

	free(advice);
	return rc;
}

/* The assertions of our own scripts, by their words. */
static int script_explain(struct bigquery_destination *d,
			  const struct bigquery_values *v, struct error *failed,
			  struct error *err)
{
	const char *table = d->target ? d->target->table : "";

	if (strstr(failed->message, "tidemark: overtaken"))
		return bigquery_overtaken(values_find(v, "pipeline"), err);
	if (strstr(failed->message, "tidemark: built"))
		return error_set(err, ERROR_DATA,
				 "table %s: the new table has not the rows "
				 "that were put into it; the old one "
				 "stays" REFRESH_MISCOUNT,
				 table);
	if (d->target && strstr(failed->message, "tidemark: altered")) {
		d->altered = true;
		return bigquery_signature_refuse(d->target, err);
	}
	if (d->target && strstr(failed->message, "tidemark: keys"))
		return bigquery_repeats(d->target, err);
	if (strstr(failed->message, "tidemark: rows"))
		return error_set(err, ERROR_BUG,
				 "table %s: a staged table has not the rows "
				 "that were put into it; the old ones stay",
				 table);
	if (err)
		*err = *failed;
	return -(int)failed->code;
}

static bool script_wait(int64_t attempt)
{
	return attempt < script_conflicts.attempts &&
	       !clock_sleep_us(retry_delay_us(&script_conflicts, attempt,
					      retry_random()));
}

/* Choose the values that it names: emulators want no others. */
static size_t script_parameters(const char *sql,
				const struct bigquery_values *v,
				struct bigquery_parameter *out)
{
	size_t n = 0;

	for (size_t i = 0; v && i < v->n; i++) {
		size_t length = strlen(v->items[i].name);
		const char *at = sql;

		while ((at = strchr(at, '@')) && at++)
			if (!strncmp(at, v->items[i].name, length) &&
			    at[length] != '_' &&
			    !isalnum((unsigned char)at[length]))
				break;
		if (at)
			out[n++] = v->items[i];
	}
	return n;
}

/* NULL: the script does not touch the marks. */
static struct turn *script_turn(const struct bigquery_destination *d,
				const char *sql)
{
	return strstr(sql, NAME_WATERMARK_TABLE)
		       ? turn_take(bigquery_shown(d->client))
		       : NULL;
}

static int script_run(struct bigquery_destination *d, const char *sql,
		      const struct bigquery_values *v, const char *job_id,
		      bool *taken, struct bigquery_numbers *out,
		      struct error *failed)
{
	struct bigquery_parameter used[ARRAY_SIZE(v->items)];
	const struct bigquery_query query = {
		.sql = sql,
		.parameters = used,
		.n_parameters = script_parameters(sql, v, used),
		.job_id = job_id,
	};
	struct turn *turn = script_turn(d, sql);
	struct bigquery_rows *rows = NULL;
	int rc = bigquery_run(d->client, &query, 1, &rows, taken, failed);

	if (turn)
		turn_end(turn);
	if (!rc && out)
		rc = script_numbers(rows, out, failed);
	bigquery_rows_free(rows);
	return rc;
}

int bigquery_execute(struct bigquery_destination *d, const char *sql,
		     const struct bigquery_values *v,
		     struct bigquery_numbers *out, struct error *err)
{
	for (int64_t attempt = 1;; attempt++) {
		struct error failed = ERROR_INIT;
		int rc = script_run(d, sql, v, NULL, NULL, out, &failed);

		if (!rc)
			return 0;
		if (rc != -ERROR_CONFLICT || !script_wait(attempt))
			return script_explain(d, v, &failed, err);
	}
}

/* The same for the same batch behind the same mark, whoever sends it; another
 * one once that mark was written again, as by a reset. */
static char *script_job_id(const struct bigquery_destination *d,
			   const struct checkpoint *next, int64_t n)
{
	char hash[DIGEST_TEXT_SIZE];
	char *text =
		xstrfmt("%s\n%s\n%" PRId64 "\n%s\n%s\n%s\n%" PRId64,
			d->target->pipeline, d->place.quoted_data, d->seen_us,
			d->seen.batch_id ? d->seen.batch_id : "",
			next->batch_id ? next->batch_id : "",
			d->refresh_id ? d->refresh_id : "",
			d->refresh_id ? d->n_loads : 0);
	char *id;

	digest_hash_text(text, strlen(text), hash);
	id = xstrfmt("tidemark_%s_%" PRId64, hash, n);
	free(text);
	return id;
}

/* A job of that id has ended well. Is its result what stands there now? Others
 * that append to the table may have raised the number of its rows. */
static int script_is_done(struct bigquery_destination *d,
			  const struct checkpoint *next, bool *done,
			  struct error *err)
{
	struct existing now;
	int rc;

	*done = d->target->refresh;
	if (*done)
		return 0;
	memset(&now, 0, sizeof(now));
	rc = bigquery_mark_look(&now, d, &d->place, d->target->pipeline, err);
	*done = !rc && now.has_mark && now.mark.batch_id &&
		!strcmp(now.mark.batch_id,
			next->batch_id ? next->batch_id : "") &&
		now.mark.fence == next->fence &&
		now.mark.rows_total >= next->rows_total && now.mark.watermark &&
		next->watermark && !strcmp(now.mark.watermark, next->watermark);
	existing_release(&now);
	return rc;
}

int bigquery_transact(struct bigquery_destination *d, const char *sql,
		      const struct bigquery_values *v,
		      const struct checkpoint *next,
		      struct bigquery_numbers *out, struct error *err)
{
	int rc = writer_check(&d->target->writer, err);

	if (!rc)
		rc = failpoint("commit_sent", err);
	if (rc)
		return rc;
	for (int64_t attempt = 1;; attempt++) {
		struct error failed = ERROR_INIT;
		char *id = script_job_id(d, next, attempt);
		bool taken = false, done = true;

		rc = script_run(d, sql, v, id, &taken, out, &failed);
		free(id);
		if (!rc && taken)
			rc = script_is_done(d, next, &done, &failed);
		if (!rc && done)
			break;
		/* Try again after another run's try, and after a lost
		 * conflict. */
		if ((taken || rc == -ERROR_CONFLICT) && rc != -ERROR_STOPPED &&
		    script_wait(attempt))
			continue;
		if (!rc)
			return error_set(err, ERROR_CONFLICT,
					 "%s: the batch's jobs are taken",
					 bigquery_shown(d->client));
		return script_explain(d, v, &failed, err);
	}
	return failpoint("commit_acked", err);
}

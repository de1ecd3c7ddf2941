#include "core/serve/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "tidemark_config.h"

/* All samples of one family. */
struct metrics {
	struct strbuf *out;
	enum metrics_form form;
	const struct board_item *items;
	size_t n;
	const char *name; /* the family's, in hand */
	int64_t now_us;
};

const char *metrics_type(enum metrics_form form)
{
	return form == METRICS_OPEN
		       ? "application/openmetrics-text; version=1.0.0; "
			 "charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

static void metrics_head(struct metrics *m, const char *name, const char *type,
			 const char *help)
{
	bool counter = !strcmp(type, "counter");
	const char *suffix =
		counter && m->form == METRICS_PROMETHEUS ? "_total" : "";

	m->name = name;
	/* This one form knows no "info". */
	if (m->form == METRICS_PROMETHEUS && !strcmp(type, "info")) {
		type = "gauge";
		suffix = "_info";
	}
	strbuf_addf(m->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix,
		    help, name, suffix, type);
}

static void metrics_add_label(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		size_t plain = strcspn(text, "\n\"\\");

		strbuf_add(out, text, plain);
		text += plain;
		if (!*text)
			break;
		if (*text == '\n')
			strbuf_addstr(out, "\\n");
		else
			strbuf_addf(out, "\\%c", *text);
	}
}

/* NAME SUFFIX {pipeline="P",LABEL="VALUE"}, and the blank behind it. */
static void metrics_begin(struct metrics *m, const char *suffix,
			  const struct board_item *item, const char *label,
			  const char *value)
{
	strbuf_addstr(m->out, m->name);
	strbuf_addstr(m->out, suffix);
	strbuf_addstr(m->out, "{pipeline=\"");
	metrics_add_label(m->out, item->p->name);
	if (label) {
		strbuf_addstr(m->out, "\",");
		strbuf_addstr(m->out, label);
		strbuf_addstr(m->out, "=\"");
		metrics_add_label(m->out, value);
	}
	strbuf_addstr(m->out, "\"} ");
}

static void metrics_int(struct metrics *m, const char *suffix,
			const struct board_item *item, const char *label,
			const char *value, int64_t number)
{
	char digits[24], *at = digits + sizeof(digits);
	uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

	metrics_begin(m, suffix, item, label, value);
	*--at = '\n';
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (number < 0)
		*--at = '-';
	strbuf_add(m->out, at, (size_t)(digits + sizeof(digits) - at));
}

static void metrics_seconds(struct metrics *m, const struct board_item *item,
			    int64_t us)
{
	metrics_begin(m, "", item, NULL, NULL);
	strbuf_addf(m->out, "%.6f\n", (double)us / (double)US_PER_SECOND);
}

static void metrics_rows(struct metrics *m)
{
	metrics_head(m, "tidemark_rows", "counter",
		     "Rows loaded, by what became of them.");
	for (size_t i = 0; i < m->n; i++) {
		const struct run_counts *sum = &m->items[i].meter.sum;
		const struct {
			const char *op;
			int64_t rows;
		} ops[] = {
			{ "inserted", sum->rows_inserted },
			{ "updated", sum->rows_updated },
			{ "unchanged", sum->rows_unchanged },
			{ "deleted", sum->rows_deleted },
			{ "dead_lettered", sum->rows_dead_lettered },
		};

		for (size_t k = 0; k < ARRAY_SIZE(ops); k++)
			metrics_int(m, "_total", &m->items[i], "op", ops[k].op,
				    ops[k].rows);
	}
}

static int64_t metrics_read(const struct board_item *item)
{
	return item->meter.sum.rows_read;
}

static int64_t metrics_bytes(const struct board_item *item)
{
	return item->meter.bytes;
}

static int64_t metrics_batches(const struct board_item *item)
{
	return item->meter.sum.batches;
}

static void metrics_counter(struct metrics *m, const char *name,
			    int64_t (*of)(const struct board_item *item),
			    const char *help)
{
	metrics_head(m, name, "counter", help);
	for (size_t i = 0; i < m->n; i++)
		metrics_int(m, "_total", &m->items[i], NULL, NULL,
			    of(&m->items[i]));
}

/* meter_batch_bounds and meter_run_bounds, as OpenMetrics writes them. */
static const char *const metrics_batch_le[] = { "0.01", "0.05", "0.1", "0.25",
						"0.5",	"1.0",	"2.5", "5.0",
						"10.0", "30.0", "+Inf" };
static const char *const metrics_run_le[] = { "0.05",	"0.1",	 "0.5",
					      "1.0",	"5.0",	 "30.0",
					      "60.0",	"300.0", "1800.0",
					      "7200.0", "+Inf" };

static void metrics_histogram(struct metrics *m, const struct board_item *item,
			      const struct meter_histogram *h,
			      const char *const *le)
{
	uint64_t below = 0;

	for (size_t i = 0; i <= METER_BUCKETS; i++) {
		below += h->counts[i];
		metrics_int(m, "_bucket", item, "le", le[i], (int64_t)below);
	}
	metrics_begin(m, "_sum", item, NULL, NULL);
	strbuf_addf(m->out, "%.6f\n", h->sum);
	metrics_int(m, "_count", item, NULL, NULL, (int64_t)below);
}

static void metrics_histograms(struct metrics *m)
{
	metrics_head(m, "tidemark_batch_seconds", "histogram",
		     "Time that a batch took to load.");
	for (size_t i = 0; i < m->n; i++)
		metrics_histogram(m, &m->items[i],
				  &m->items[i].meter.batch_seconds,
				  metrics_batch_le);
	metrics_head(m, "tidemark_run_seconds", "histogram",
		     "Time that a run took, with its retries.");
	for (size_t i = 0; i < m->n; i++)
		metrics_histogram(m, &m->items[i],
				  &m->items[i].meter.run_seconds,
				  metrics_run_le);
}

static void metrics_runs(struct metrics *m)
{
	static const enum outcome outcomes[] = { OUTCOME_CAUGHT_UP,
						 OUTCOME_STOPPED,
						 OUTCOME_FAILED, OUTCOME_BUSY,
						 OUTCOME_WAITING };

	metrics_head(m, "tidemark_runs", "counter",
		     "Runs that ended, by how they did.");
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(outcomes); k++)
			metrics_int(m, "_total", &m->items[i], "outcome",
				    outcome_name(outcomes[k]),
				    m->items[i].meter.runs[outcomes[k]]);
}

/* Only codes that came: most never do. */
static void metrics_codes(struct metrics *m, const char *name,
			  const char *label, const char *help,
			  const int64_t *(*of)(const struct board_item *item))
{
	metrics_head(m, name, "counter", help);
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; k < ERROR_CODES; k++) {
			int64_t number = of(&m->items[i])[k];

			if (number)
				metrics_int(m, "_total", &m->items[i], label,
					    error_code_name((enum error_code)k),
					    number);
		}
}

static const int64_t *metrics_failures(const struct board_item *item)
{
	return item->meter.failures;
}

static const int64_t *metrics_retries(const struct board_item *item)
{
	return item->meter.retries;
}

static void metrics_times(struct metrics *m)
{
	metrics_head(m, "tidemark_watermark_lag_seconds", "gauge",
		     "Time since the begin of the last run that caught up.");
	for (size_t i = 0; i < m->n; i++)
		if (m->items[i].known && m->items[i].status.lag_us >= 0)
			metrics_seconds(m, &m->items[i],
					m->items[i].status.lag_us);
	metrics_head(m, "tidemark_last_success_timestamp_seconds", "gauge",
		     "Unix time at which the last run that caught up ended.");
	for (size_t i = 0; i < m->n; i++)
		if (m->items[i].known && m->items[i].status.health.last_success)
			metrics_seconds(m, &m->items[i],
					m->items[i].status.health.last_success);
	metrics_head(m, "tidemark_source_settle_holder_seconds", "gauge",
		     "Age of the transaction that holds the mark back.");
	for (size_t i = 0; i < m->n; i++)
		if (m->items[i].meter.holder_us)
			metrics_seconds(m, &m->items[i],
					m->now_us -
						m->items[i].meter.holder_us);
}

static bool metrics_is_failing(const struct board_item *item)
{
	return item->status.health.state == HEALTH_FAILING;
}

static bool metrics_is_late(const struct board_item *item)
{
	return item->status.health.state == HEALTH_LATE;
}

static bool metrics_is_broken(const struct board_item *item)
{
	return breaker_is_open(&item->status.breaker, clock_now_us());
}

static bool metrics_is_leased(const struct board_item *item)
{
	return item->status.leased;
}

static void metrics_flag(struct metrics *m, const char *name,
			 bool (*is)(const struct board_item *item),
			 const char *help)
{
	metrics_head(m, name, "gauge", help);
	for (size_t i = 0; i < m->n; i++)
		if (m->items[i].known)
			metrics_int(m, "", &m->items[i], NULL, NULL,
				    is(&m->items[i]));
}

static void metrics_wait(struct metrics *m, const struct board_item *item,
			 const struct health_wait *wait)
{
	if (wait->reason)
		metrics_int(m, "", item, "reason", wait->reason, 1);
}

static void metrics_waits(struct metrics *m)
{
	metrics_head(m, "tidemark_waiting", "gauge",
		     "1 while a pipeline waits, by what for.");
	for (size_t i = 0; i < m->n; i++) {
		const struct board_item *item = &m->items[i];

		if (!item->known)
			continue;
		metrics_wait(m, item, &item->status.health.waiting);
		metrics_wait(m, item, &item->status.health.paused);
	}
}

static void metrics_letters(struct metrics *m)
{
	metrics_head(m, "tidemark_dead_letters", "gauge",
		     "Rows that were refused and wait for somebody.");
	for (size_t i = 0; i < m->n; i++)
		if (m->items[i].known && m->items[i].status.letters >= 0)
			metrics_int(m, "", &m->items[i], NULL, NULL,
				    m->items[i].status.letters);
}

/* The newest backfill's. */
static void metrics_chunks(struct metrics *m)
{
	static const char *const states[] = { CHUNK_QUEUED, CHUNK_RUNNING,
					      CHUNK_DONE, CHUNK_FAILED };

	metrics_head(m, "tidemark_chunks", "gauge",
		     "Chunks of backfills that are kept, by their state.");
	for (size_t i = 0; i < m->n; i++) {
		const struct chunk_list *chunks = &m->items[i].status.chunks;

		for (size_t k = 0;
		     m->items[i].known && chunks->n && k < ARRAY_SIZE(states);
		     k++) {
			int64_t number = 0;

			for (size_t c = 0; c < chunks->n; c++)
				number += !strcmp(chunks->items[c].state,
						  states[k]);
			metrics_int(m, "", &m->items[i], "state", states[k],
				    number);
		}
	}
}

static void metrics_verified(struct metrics *m)
{
	metrics_head(m, "tidemark_verify_differences", "gauge",
		     "Keys that differed when a run was last verified.");
	for (size_t i = 0; i < m->n; i++)
		if (m->items[i].meter.verified)
			metrics_int(m, "", &m->items[i], NULL, NULL,
				    m->items[i].meter.differences);
	metrics_head(m, "tidemark_verify_timestamp_seconds", "gauge",
		     "Unix time at which a run was last verified.");
	for (size_t i = 0; i < m->n; i++)
		if (m->items[i].meter.verified)
			metrics_seconds(m, &m->items[i],
					m->items[i].meter.verified_us);
}

static void metrics_gauges(struct metrics *m)
{
	metrics_times(m);
	metrics_flag(m, "tidemark_failing", metrics_is_failing,
		     "1 while the last run of a pipeline failed.");
	metrics_flag(m, "tidemark_late", metrics_is_late,
		     "1 while a pipeline has not caught up for too long.");
	metrics_flag(m, "tidemark_breaker_open", metrics_is_broken,
		     "1 while a pipeline rests after failures in a row.");
	metrics_flag(m, "tidemark_lease_held", metrics_is_leased,
		     "1 while some process runs a pipeline.");
	metrics_waits(m);
	metrics_letters(m);
	metrics_chunks(m);
	metrics_verified(m);
}

void metrics_write(struct strbuf *out, enum metrics_form form,
		   const struct board_view *view)
{
	struct metrics m = { .out = out,
			     .form = form,
			     .items = view->items,
			     .n = view->n,
			     .now_us = clock_now_us() };

	metrics_head(&m, "tidemark_build", "info",
		     "The version of the program.");
	strbuf_addf(out, "tidemark_build_info{version=\"%s\"} 1\n",
		    TIDEMARK_VERSION);
	metrics_rows(&m);
	metrics_counter(&m, "tidemark_rows_read", metrics_read,
			"Rows read from the source.");
	metrics_counter(&m, "tidemark_bytes_read", metrics_bytes,
			"Bytes read from the source.");
	metrics_counter(&m, "tidemark_batches", metrics_batches,
			"Batches loaded.");
	metrics_histograms(&m);
	metrics_runs(&m);
	metrics_codes(&m, "tidemark_run_failures", "code",
		      "Runs that failed, by the code of the error.",
		      metrics_failures);
	metrics_codes(&m, "tidemark_retries", "class",
		      "New tries within runs, by the class of the error.",
		      metrics_retries);
	metrics_gauges(&m);
	if (view->store_error) {
		metrics_head(&m, "tidemark_store_up", "gauge",
			     "1 while the state store answers.");
		strbuf_addf(out, "tidemark_store_up %d\n", !*view->store_error);
	}
	strbuf_addstr(out, "# EOF\n");
}

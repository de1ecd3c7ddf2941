#include <stdlib.h>
#include <string.h>

#include "connectors/bigquery/source.h"
#include "connectors/common/embedded.h"
#include "connectors/common/question.h"
#include "core/base/alloc.h"

/* Options for new tables belong to the destination. They are accepted here and
 * not used. */
static const char *const bigquery_source_option_names[] = {
	"location", "credentials", "partition", "cluster", NULL
};

static const struct url_option bigquery_source_options[] = {
	{ "location", "",
	  "where the dataset is, as in EU; empty: asked of the dataset" },
	{ "credentials", "",
	  "file of a service account; empty: $GOOGLE_APPLICATION_CREDENTIALS, "
	  "or the machine's own account" },
	{ NULL, NULL, NULL },
};

static struct bigquery_source *bigquery_source_self(struct connector *base)
{
	return (struct bigquery_source *)base;
}

static void bigquery_source_close(struct connector *base)
{
	struct bigquery_source *s = bigquery_source_self(base);

	if (!s)
		return;
	paged_end_pass(&s->paged);
	paged_release(&s->paged);
	bigquery_close(s->client);
	free(s->created);
	free(s->question);
	free(s);
}

static int bigquery_source_open(struct connector **out,
				const struct connection *conn,
				struct error *err)
{
	struct bigquery_source *s = xcalloc(1, sizeof(*s));
	int rc;

	paged_init(&s->paged, &bigquery_connector, &bigquery_source_dialect);
	rc = bigquery_open(&s->client, conn, bigquery_source_option_names, err);
	if (rc)
		bigquery_source_close(&s->paged.base);
	else
		*out = &s->paged.base;
	return rc;
}

static void bigquery_source_interrupt(struct connector *base)
{
	bigquery_interrupt(bigquery_source_self(base)->client);
}

static void bigquery_source_ordered(struct strbuf *sb,
				    const struct paged_source *base,
				    const struct source_column *c)
{
	(void)base;
	if (c->type.kind == TYPE_FLOAT64) /* one zero, as with its value */
		strbuf_addf(sb, "CAST(%s + 0.0 AS STRING)", c->sql);
	else
		strbuf_addstr(sb, c->sql);
}

static void bigquery_source_write_value(struct paged_query *q,
					const struct paged_source *base,
					const struct source_column *c,
					const char *value)
{
	const struct bigquery_source_type *how = c->how;
	bool hex = how->kind == TYPE_BYTES && !strncmp(value, "\\x", 2);

	(void)base;
	strbuf_addstr(&q->sql, how->value);
	paged_push(q, c, hex ? value + 2 : value);
}

/* BigQuery has no read-only sessions. So before a question is asked for the
 * first time, the service says once what it would do. */
static int bigquery_source_look_at_question(struct bigquery_source *s,
					    const char *question,
					    struct error *err)
{
	int rc;

	if (!question || (s->question && !strcmp(s->question, question)))
		return 0;
	rc = bigquery_only_reads(s->client, question, err);
	if (!rc) {
		free(s->question);
		s->question = xstrdup(question);
	}
	return rc;
}

static int bigquery_source_pressure(struct connector *base,
				    const struct pressure_question *q,
				    struct pressure *out, struct error *err)
{
	struct bigquery_source *s = bigquery_source_self(base);
	int rc;

	if (q->active || q->lag)
		return error_set(err, ERROR_CONFIG,
				 "BigQuery tells of neither sessions nor "
				 "replicas");
	rc = bigquery_source_look_at_question(s, q->query, err);
	return rc ? rc : question_ask(&s->paged, q, out, err);
}

const struct paged_dialect bigquery_source_dialect = {
	.rules = { .engine = "bigquery",
		   .title = "BigQuery",
		   .time_types = "TIMESTAMP, DATETIME or DATE (of another "
				 "type, name an expression that casts it)",
		   .number_types = "whole numbers",
		   .mark_fits = source_mark_fits },
	.select = "SELECT ",
	.unindexed = "",
	.page_rows = 250000,
	.clock = "SELECT UNIX_MICROS(CURRENT_TIMESTAMP()) AS n",
	.late = "BigQuery does not tell which jobs are still writing: "
		"watermark.lag has to cover how long the longest of them takes",
	.look = bigquery_source_look,
	.ordered = bigquery_source_ordered,
	.value = bigquery_source_write_value,
	.hint = paged_no_hint,
	.lookup_keys = PAGED_LOOKUP_PARAMETERS,
	.keys = paged_write_keys,
	.newest = paged_newest,
	.query = bigquery_source_query,
	.explain = bigquery_source_explain,
	.page_open = bigquery_source_page_open,
	.page_read = bigquery_source_page_read,
	.page_close = bigquery_source_page_close,
	.page_type = bigquery_source_page_type,
	.position = paged_position,
};

static int bigquery_source_grants(const struct connection *conn,
				  const struct source_spec *source,
				  const struct watermark_spec *mark,
				  const struct pressure_question *asked,
				  struct grants *out, struct error *err)
{
	(void)conn;
	(void)source;
	(void)mark;
	(void)asked;
	(void)err;
	grants_add(out, "runs queries: roles/bigquery.jobUser on the project",
		   NULL);
	grants_add(out, "reads: roles/bigquery.dataViewer on the table", NULL);
	return 0;
}

const struct connector_ops bigquery_connector = {
	.name = "bigquery",
	.options = bigquery_source_options,
	.grants = bigquery_source_grants,
	.open = bigquery_source_open,
	.tables = bigquery_source_tables,
	.describe = paged_describe,
	.inspect = paged_inspect_clock,
	.suggest = paged_suggest,
	.identity = bigquery_source_identity,
	.settle = paged_settle,
	.cut = paged_cut,
	.scan = paged_scan,
	.explain = paged_explain,
	.next = paged_next,
	.pause = embedded_pause,
	.pressure = bigquery_source_pressure,
	.interrupt = bigquery_source_interrupt,
	.close = bigquery_source_close,
};

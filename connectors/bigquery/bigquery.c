#include <stdlib.h>
#include <string.h>

#include "connectors/bigquery/source.h"
#include "connectors/common/embedded.h"
#include "connectors/common/question.h"
#include "core/base/alloc.h"

/* Those of new tables, which are the destination's, are taken and not used. */
static const char *const bqsrc_option_names[] = { "location", "credentials",
						  "partition", "cluster",
						  NULL };

static const struct url_option bqsrc_options[] = {
	{ "location", "",
	  "where the dataset is, as in EU; empty: asked of the dataset" },
	{ "credentials", "",
	  "file of a service account; empty: $GOOGLE_APPLICATION_CREDENTIALS, "
	  "or the machine's own account" },
	{ NULL, NULL, NULL },
};

static struct bqsrc *bqsrc_self(struct connector *base)
{
	return (struct bqsrc *)base;
}

static void bqsrc_close(struct connector *base)
{
	struct bqsrc *s = bqsrc_self(base);

	if (!s)
		return;
	paged_end_pass(&s->paged);
	paged_release(&s->paged);
	bigquery_close(s->client);
	free(s->created);
	free(s->question);
	free(s);
}

static int bqsrc_open(struct connector **out, const struct connection *conn,
		      struct error *err)
{
	struct bqsrc *s = xcalloc(1, sizeof(*s));
	int rc;

	paged_init(&s->paged, &bigquery_connector, &bqsrc_dialect);
	rc = bigquery_open(&s->client, conn, bqsrc_option_names, err);
	if (rc)
		bqsrc_close(&s->paged.base);
	else
		*out = &s->paged.base;
	return rc;
}

static void bqsrc_interrupt(struct connector *base)
{
	bigquery_interrupt(bqsrc_self(base)->client);
}

static void bqsrc_ordered(struct strbuf *sb, const struct paged_source *base,
			  const struct source_column *c)
{
	(void)base;
	if (c->type.kind == TYPE_FLOAT64) /* one zero, as with its value */
		strbuf_addf(sb, "CAST(%s + 0.0 AS STRING)", c->sql);
	else
		strbuf_addstr(sb, c->sql);
}

static void bqsrc_write_value(struct paged_query *q,
			      const struct paged_source *base,
			      const struct source_column *c, const char *value)
{
	const struct bqsrc_type *how = c->how;
	bool hex = how->kind == TYPE_BYTES && !strncmp(value, "\\x", 2);

	(void)base;
	strbuf_addstr(&q->sql, how->value);
	paged_push(q, c, hex ? value + 2 : value);
}

/* No session is read-only here: the service says what a question would do,
 * once, before it is asked for the first time. */
static int bqsrc_look_at_question(struct bqsrc *s, const char *question,
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

static int bqsrc_pressure(struct connector *base,
			  const struct pressure_question *q,
			  struct pressure *out, struct error *err)
{
	struct bqsrc *s = bqsrc_self(base);
	int rc;

	if (q->active || q->lag)
		return error_set(err, ERROR_CONFIG,
				 "BigQuery tells of neither sessions nor "
				 "replicas");
	rc = bqsrc_look_at_question(s, q->query, err);
	return rc ? rc : question_ask(&s->paged, q, out, err);
}

const struct paged_dialect bqsrc_dialect = {
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
	.look = bqsrc_look,
	.ordered = bqsrc_ordered,
	.value = bqsrc_write_value,
	.hint = paged_no_hint,
	.lookup_keys = PAGED_LOOKUP_PARAMETERS,
	.keys = paged_write_keys,
	.newest = paged_newest,
	.query = bqsrc_query,
	.explain = bqsrc_explain,
	.page_open = bqsrc_page_open,
	.page_read = bqsrc_page_read,
	.page_close = bqsrc_page_close,
	.page_type = bqsrc_page_type,
	.position = paged_position,
};

static int bqsrc_grants(const struct connection *conn,
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
	.options = bqsrc_options,
	.grants = bqsrc_grants,
	.open = bqsrc_open,
	.tables = bqsrc_tables,
	.describe = paged_describe,
	.inspect = paged_inspect_clock,
	.suggest = paged_suggest,
	.identity = bqsrc_identity,
	.settle = paged_settle,
	.cut = paged_cut,
	.scan = paged_scan,
	.explain = paged_explain,
	.next = paged_next,
	.pause = embedded_pause,
	.pressure = bqsrc_pressure,
	.interrupt = bqsrc_interrupt,
	.close = bqsrc_close,
};

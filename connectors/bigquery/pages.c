#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/bigquery/source.h"
#include "connectors/common/trouble.h"
#include "core/base/alloc.h"

/* Rows of an answer: as many as make about that much. */
#define PAGES_ANSWER  (2 << 20)
#define PAGES_MOST    20000
#define PAGES_LEAST   100
#define PAGES_UNKNOWN 2000

static struct bigquery_source *pages_self(struct paged_source *base)
{
	return (struct bigquery_source *)base;
}

/* One for each; caller frees. */
static struct bigquery_parameter *pages_values(const struct paged_query *q)
{
	struct bigquery_parameter *values =
		xcalloc((size_t)q->n + 1, sizeof(*values));

	for (int i = 0; i < q->n; i++)
		values[i] =
			(struct bigquery_parameter){ .type = "STRING",
						     .value = q->params[i] };
	return values;
}

static int pages_run(struct bigquery_source *s, const struct paged_query *q,
		     size_t rows, struct bigquery_rows **out, struct error *err)
{
	struct bigquery_parameter *values = pages_values(q);
	const struct bigquery_query query = { .sql = q->sql.data,
					      .parameters = values,
					      .n_parameters = (size_t)q->n };
	int rc;

	rc = bigquery_run(s->client, &query, rows, out, NULL, err);
	free(values);
	return rc;
}

static char *pages_cell(const struct bigquery_rows *rows, size_t column)
{
	const char *type = json_string_value(
		json_object_get(bigquery_rows_field(rows, column), "type"));
	const char *text = bigquery_rows_cell(rows, column, NULL);
	struct strbuf sb = STRBUF_INIT;

	if (!text)
		return NULL;
	bigquery_source_type_print(type ? type : "", text, &sb);
	return strbuf_detach(&sb);
}

int bigquery_source_query(struct paged_source *base,
			  const struct paged_query *q, struct paged_answer *out,
			  struct error *err)
{
	struct bigquery_rows *rows = NULL;
	struct error failed = ERROR_INIT;
	size_t capacity = 0;
	int rc = pages_run(pages_self(base), q, PAGES_UNKNOWN, &rows, err);

	memset(out, 0, sizeof(*out));
	while (!rc && bigquery_rows_next(rows, &failed)) {
		size_t n = out->n_columns = bigquery_rows_columns(rows);

		out->cells = xgrow(out->cells, &capacity, (out->n_rows + 1) * n,
				   sizeof(*out->cells));
		for (size_t i = 0; i < n; i++)
			out->cells[out->n_rows * n + i] = pages_cell(rows, i);
		out->n_rows++;
	}
	if (!rc && failed.code)
		rc = error_set(err, failed.code, "%s", failed.message);
	bigquery_rows_free(rows);
	if (rc)
		paged_answer_release(out);
	return rc;
}

/* BigQuery shows no plan, so the cost stands in its place. */
int bigquery_source_explain(struct paged_source *base,
			    const struct paged_query *q, char **plan,
			    char **index, struct error *err)
{
	struct bigquery_parameter *values = pages_values(q);
	const struct bigquery_query query = { .sql = q->sql.data,
					      .parameters = values,
					      .n_parameters = (size_t)q->n };
	int64_t bytes = -1;
	int rc;

	rc = bigquery_dry_run(pages_self(base)->client, &query, &bytes, err);
	*plan = rc ? NULL
		   : xstrfmt("BigQuery reads %" PRId64 " bytes for it", bytes);
	*index = NULL;
	free(values);
	return rc;
}

static size_t pages_rows(const struct paged_source *base)
{
	double bytes = base->pass.row_bytes;
	size_t n = bytes > 0 ? (size_t)(PAGES_ANSWER / bytes) : PAGES_UNKNOWN;

	return n > PAGES_MOST ? PAGES_MOST : n < PAGES_LEAST ? PAGES_LEAST : n;
}

int bigquery_source_page_open(struct paged_source *base,
			      const struct paged_query *q, struct error *err)
{
	struct bigquery_source *s = pages_self(base);

	return pages_run(s, q, pages_rows(base), &s->page, err);
}

void bigquery_source_page_close(struct paged_source *base)
{
	struct bigquery_source *s = pages_self(base);

	bigquery_rows_free(s->page);
	s->page = NULL;
}

/* A column that the SELECT converts has the conversion's type. */
char *bigquery_source_page_type(struct paged_source *base, size_t column)
{
	const struct source_column *c = base->layout.columns[column];
	const json_t *field =
		bigquery_rows_field(pages_self(base)->page, column);
	struct type now;
	bool same;

	if (strcmp(c->output, c->sql) != 0)
		return NULL;
	same = bigquery_source_type_of(field, &now) == c->how;
	if (!same)
		return now.native;
	free(now.native);
	return NULL;
}

/* A result does not tell precision and scale, but one digit more shows that
 * they have changed. */
static bool pages_decimal_fits(const struct type *type, const char *text)
{
	const char *point = strchr(text, '.');

	return type->kind != TYPE_DECIMAL || !point ||
	       strlen(point + 1) <= (size_t)type->scale;
}

static int pages_decode(struct paged_source *base, struct vector *v, size_t row,
			size_t column, struct error *err)
{
	const struct source_column *c = base->layout.columns[column];
	size_t n = 0;
	const char *text =
		bigquery_rows_cell(pages_self(base)->page, column, &n);

	if (text && !pages_decimal_fits(&c->type, text))
		return refuse_altered(base->pass.scan->source->table, c->name,
				      err);
	if (text)
		return bigquery_source_type_take(c->how, v, row, text, n, err);
	vector_set_null(v, row);
	return 0;
}

static int pages_append(struct paged_source *base, struct batch *b,
			struct error *err)
{
	int rc = paged_take_row(base, b, pages_decode, err);

	if (!rc)
		batch_row_done(b);
	return rc;
}

int bigquery_source_page_read(struct paged_source *base, struct batch *b,
			      struct error *err)
{
	struct bigquery_source *s = pages_self(base);

	while (!batch_is_full(b)) {
		struct error failed = ERROR_INIT;
		int rc;

		if (!bigquery_rows_next(s->page, &failed))
			return failed.code ? error_set(err, failed.code, "%s",
						       failed.message)
					   : 1;
		rc = pages_append(base, b, err);
		if (rc)
			return rc;
		base->pass.read++;
	}
	return 0;
}

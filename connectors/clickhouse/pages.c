#include <stdlib.h>
#include <string.h>

#include "connectors/clickhouse/source.h"
#include "core/base/alloc.h"

static struct clickhouse_source *pages_self(struct paged_source *base)
{
	return (struct clickhouse_source *)base;
}

int clickhouse_source_query(struct paged_source *base,
			    const struct paged_query *q,
			    struct paged_answer *out, struct error *err)
{
	struct clickhouse_rows rows;
	int rc = clickhouse_query(pages_self(base)->db, q->sql.data, NULL,
				  &rows, err);

	*out = (struct paged_answer){ 0 };
	if (rc)
		return rc;
	out->n_rows = rows.n_rows;
	out->n_columns = rows.n_columns;
	out->cells = rows.cells;
	return 0;
}

/* The plan in lines. A primary key that leaves out nothing is named as well. */
int clickhouse_source_explain(struct paged_source *base,
			      const struct paged_query *q, char **plan,
			      char **index, struct error *err)
{
	struct clickhouse_rows rows;
	struct strbuf sb = STRBUF_INIT;
	char *sql = xstrfmt("EXPLAIN indexes = 1 %s", q->sql.data);
	int rc = clickhouse_query(pages_self(base)->db, sql, "?", &rows, err);

	*plan = *index = NULL;
	for (size_t i = 0; !rc && i < rows.n_rows; i++) {
		const char *line = clickhouse_cell(&rows, i, 0);

		strbuf_addf(&sb, "%s%s", i ? "\n" : "", line ? line : "");
		if (line && strstr(line, "PrimaryKey") && !*index)
			*index = xstrdup("the table's sorting key");
	}
	if (!rc)
		*plan = strbuf_detach(&sb);
	strbuf_release(&sb);
	clickhouse_rows_release(&rows);
	free(sql);
	return rc;
}

int clickhouse_source_page_open(struct paged_source *base,
				const struct paged_query *q, struct error *err)
{
	struct clickhouse_source *s = pages_self(base);
	const struct source_layout *l = &base->layout;
	size_t n = source_layout_width(l);
	int rc;

	s->cells = xreallocarray(s->cells, n + 1, sizeof(*s->cells));
	for (size_t i = 0; i < n; i++) {
		struct type ignored;

		clickhouse_source_type_of(l->columns[i]->type.native, NULL,
					  &ignored, &s->cells[i]);
		free(ignored.native);
	}
	rc = clickhouse_select(s->db, q->sql.data, n, err);
	s->reading = !rc;
	return rc;
}

/* A column that the SELECT prints is a String, whatever its type. */
char *clickhouse_source_page_type(struct paged_source *base, size_t column)
{
	const struct source_column *c = base->layout.columns[column];
	const char *type = clickhouse_select_type(pages_self(base)->db, column);

	if (!type || strcmp(c->output, c->sql) != 0 ||
	    !strcmp(type, c->type.native))
		return NULL;
	return xstrdup(type);
}

void clickhouse_source_page_close(struct paged_source *base)
{
	struct clickhouse_source *s = pages_self(base);

	if (s->reading)
		clickhouse_select_end(s->db);
	s->reading = false;
}

/* The bytes of a row can be read once. The key stands in the vectors, if it
 * came before the trouble. */
static int pages_keep(struct paged_source *base, struct vector *v, size_t row,
		      size_t column, struct error *err)
{
	(void)base;
	(void)v;
	(void)row;
	(void)column;
	(void)err;
	return 0;
}

static int pages_append(struct clickhouse_source *s, struct batch *b,
			struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	struct vector *hidden = &s->paged.pass.mark.hidden;
	size_t row = b->n_rows;
	int rc = 0;

	batch_reserve_row(b);
	for (size_t i = 0; !rc && i < l->n_columns; i++) {
		rc = clickhouse_source_decode(s, &b->vectors[i], row,
					      &s->cells[i], err);
		if (rc == -ERROR_DATA)
			return paged_blame(&s->paged, b, i, pages_keep, err);
	}
	if (!rc && hidden->validity)
		rc = clickhouse_source_decode(s, hidden, 0,
					      &s->cells[l->n_columns], err);
	if (rc) {
		batch_row_undo(b);
		return rc;
	}
	rc = paged_check_row(&s->paged, b, pages_keep, err);
	if (!rc)
		batch_row_done(b);
	return rc;
}

int clickhouse_source_page_read(struct paged_source *base, struct batch *b,
				struct error *err)
{
	struct clickhouse_source *s = pages_self(base);

	while (!batch_is_full(b)) {
		int rc = clickhouse_next(s->db, err);

		if (rc <= 0)
			return rc < 0 ? rc : 1;
		rc = pages_append(s, b, err);
		if (rc)
			return rc;
		base->pass.read++;
	}
	return 0;
}

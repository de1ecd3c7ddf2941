#include <stdlib.h>

#include "connectors/common/settle.h"
#include "connectors/common/trouble.h"
#include "connectors/postgres/durable.h"
#include "connectors/postgres/keyset.h"
#include "connectors/postgres/shape.h"
#include "core/base/alloc.h"

int postgres_source_keyset_begin(struct postgres *c, struct error *err)
{
	bool ranged = c->pass.scan->range != NULL;
	int rc = ranged ? 0 : postgres_source_keyset_leaves_begin(c, err);

	c->pass.ties = !c->layout.key_unique;
	c->pass.mixes = true;
	if (!rc)
		rc = postgres_source_keyset_check(c, err);
	if (rc)
		return rc;
	paged_pass_start(&c->pass);
	if (!ranged) {
		postgres_source_keyset_leaves_resume(c);
		postgres_source_keyset_leaves_note(c);
	}
	return 0;
}

/* A column: is the row past the settled point? As a query of its own the point
 * is read once, not for each row. */
static void keyset_write_flag(const struct postgres *c, struct query *q,
			      struct strbuf *extra)
{
	const struct source_column *mark = source_mark(&c->layout);
	struct query past;

	postgres_source_query_init(&past, q->values);
	strbuf_addstr(&past.sql, ", ");
	postgres_source_query_ordered(&past, mark);
	strbuf_addstr(&past.sql, " > (SELECT ");
	postgres_source_query_value(&past, mark->cast,
				    c->pass.scan->settled->value);
	strbuf_addch(&past.sql, ')');
	strbuf_addstr(extra, past.sql.data);
	postgres_source_query_adopt(q, &past);
	postgres_source_query_release(&past);
}

/* A key that no index vouches for may repeat: then rows that tie with the last
 * one belong to the page. */
void postgres_source_keyset_write_page(struct postgres *c, struct query *q,
				       size_t rows)
{
	const struct strlist *last = &c->pass.last;
	size_t first = paged_pass_first(&c->pass);
	const struct leaf *leaf = postgres_source_keyset_leaf(c);
	char *limit = xstrfmt("%zu", rows);
	struct strbuf extra = STRBUF_INIT;

	if (c->pass.mixed)
		keyset_write_flag(c, q, &extra);
	postgres_source_query_select(q, &c->layout,
				     leaf && leaf->direct ? leaf->sql : NULL,
				     extra.data);
	strbuf_release(&extra);
	if (leaf && !leaf->direct)
		strbuf_addf(&q->sql, "%s.tableoid = %u AND ",
			    c->layout.table.alias, leaf->oid);
	/* Only one lower bound: of two, the server may start at the wrong
	 * one and read the whole range again for each page. */
	if (last->n)
		postgres_source_query_compare(q, &c->layout, first, ">", last);
	else
		postgres_source_keyset_write_begin(c, q);
	if (!c->pass.mixed)
		postgres_source_keyset_write_end(c, q);
	postgres_source_query_order(q, &c->layout, first);
	strbuf_addstr(&q->sql, " FETCH FIRST (");
	postgres_source_query_value(q, "pg_catalog.int8", limit);
	strbuf_addf(&q->sql, ") ROWS %s",
		    c->layout.key_unique ? "ONLY" : "WITH TIES");
	free(limit);
}

static int keyset_open(struct connector *owner, struct error *err)
{
	struct postgres *c = (struct postgres *)owner;
	const struct leaf *leaf = postgres_source_keyset_leaf(c);
	struct query q;
	int rc = postgres_source_pause_check_ties(c, paged_pass_first(&c->pass),
						  err);

	if (rc)
		return rc;
	postgres_source_query_init(&q, QUERY_STREAM);
	postgres_source_keyset_write_page(c, &q, c->pass.limit);
	rc = postgres_source_shape_stream(c, leaf && leaf->direct ? leaf : NULL,
					  &q, c->pass.mixed ? 1 : 0, err);
	postgres_source_query_release(&q);
	return rc;
}

/* Its rows may have been loaded: the part was detached for a while, or they
 * were in another one. */
static int keyset_refuse_part(const struct postgres *c, struct error *err)
{
	const struct source_spec *source = c->pass.scan->source;

	error_set(err, ERROR_SCHEMA,
		  "%s is a new part of %s, and has rows up to the mark, %s. "
		  "They may have been loaded before, as rows of another part "
		  "or before a DETACH; the table has no key, and nothing "
		  "tells. " ERROR_FIX,
		  postgres_source_keyset_leaf(c)->sql, source->table,
		  c->pass.scan->from->value);
	return settle_way_out(source, err);
}

static int keyset_append(struct postgres *c, struct batch *b, struct error *err)
{
	int rc = postgres_source_rows_append(c, b, err);

	if (!rc && !c->layout.n_key && postgres_source_keyset_leaf(c))
		rc = keyset_refuse_part(c, err);
	if (!rc && c->pass.ties && c->layout.n_key)
		rc = refuse_repeat_row(c->pass.scan->source->table, b,
				       b->n_rows - 1, err);
	c->pass.read++;
	return rc ? rc : postgres_source_rows_failpoints(c, c->pass.read, err);
}

/* Behind the columns of a mixed page. */
static bool keyset_is_past(const struct postgres *c)
{
	const struct pg_field_bytes *past =
		pg_stream_fields(c->pg) + source_layout_width(&c->layout);

	return c->pass.mixed && c->pass.step == PAGED_SETTLED && past->data &&
	       past->n == 1 && *past->data;
}

/* 1: a row of the page's step is the current one; 0: the page ends. */
static int keyset_next(struct postgres *c, struct error *err)
{
	struct paged_pass *p = &c->pass;
	int rc;

	if (p->crossed && p->step != PAGED_SETTLED) {
		p->crossed = false;
		return 1;
	}
	rc = pg_stream_next(c->pg, err);
	p->crossed = rc > 0 && keyset_is_past(c);
	return p->crossed ? 0 : rc;
}

/* Full exactly at the page's end: let the statement end too, so that no
 * transaction waits while the batch is loaded. */
static int keyset_read(struct connector *owner, struct batch *b,
		       struct error *err)
{
	struct postgres *c = (struct postgres *)owner;
	int rc = 0;

	while (!rc && !batch_is_full(b)) {
		rc = keyset_next(c, err);
		if (rc < 0)
			return postgres_source_rows_stream_failed(c, b, err);
		if (!rc)
			return 1;
		rc = keyset_append(c, b, err);
	}
	if (rc || c->pass.ties || c->pass.read < c->pass.limit)
		return rc;
	rc = pg_stream_next(c->pg, err);
	return rc < 0 ? rc : 1;
}

static void keyset_close(struct connector *owner)
{
	pg_stream_abort(((struct postgres *)owner)->pg);
}

static void keyset_position(struct connector *owner, const struct batch *b,
			    size_t column, struct strbuf *out)
{
	const struct postgres *c = (const struct postgres *)owner;
	char *text = running_mark_text(&c->pass.mark, b, b->n_rows - 1, column);

	strbuf_addstr(out, text);
	free(text);
}

static void keyset_next_part(struct connector *owner)
{
	postgres_source_keyset_leaves_next((struct postgres *)owner);
}

static int keyset_count_tail(struct connector *owner, struct batch *out,
			     struct error *err)
{
	return postgres_source_keyset_count_tail((struct postgres *)owner, out,
						 err);
}

static int keyset_hand_over(struct connector *owner, struct batch *b,
			    enum paged_step step, struct error *err)
{
	struct postgres *c = (struct postgres *)owner;

	if (step == PAGED_PARTS)
		postgres_source_keyset_leaves_note(c);
	return postgres_source_durable_hand_over(
		c, b, c->pass.streaming || c->pass.crossed, err);
}

const struct paged_pages postgres_source_pages = {
	.open = keyset_open,
	.read = keyset_read,
	.close = keyset_close,
	.position = keyset_position,
	.next_part = keyset_next_part,
	.count_tail = keyset_count_tail,
	.hand_over = keyset_hand_over,
};

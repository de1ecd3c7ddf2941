#include "connectors/mysql/idle.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/settle.h"
#include "core/base/alloc.h"
#include "core/data/number.h"

/* Is there a row behind the mark, as the first page of a pass would begin? An
 * index answers at once, or nobody asks. User's SQL has no place in a text of
 * several statements. */
static bool idle_write(struct mysql_source *c, const struct watermark *from,
		       struct paged_query *q)
{
	struct paged_source *s = &c->paged;
	const struct source_layout *l = &s->layout;
	const struct scan scan = { .from = from };
	const struct paged_pass pass = { .layout = l, .scan = &scan };
	struct strlist position = STRLIST_INIT;

	if (!from->value || l->where || l->table.view ||
	    !mysql_source_page_index(l))
		return false;
	strbuf_addf(&q->sql, "%s1 FROM %s AS %s", s->dialect->select,
		    l->table.sql, l->table.alias);
	mysql_source_hint(&q->sql, s);
	strbuf_addstr(&q->sql, " WHERE ");
	if (paged_pass_from(&pass, &position))
		paged_write_beyond(q, s, 0, true, position.items);
	else
		paged_write_mark(q, s, ">=", from->value);
	strbuf_addstr(&q->sql, " LIMIT 1");
	strlist_release(&position);
	return true;
}

void mysql_source_idle_foresee(struct mysql_source *c,
			       const struct watermark *from,
			       struct strlist *out)
{
	struct paged_query q;

	paged_query_init(&q);
	if (idle_write(c, from, &q))
		mysql_client_foresee(c->db, out, q.sql.data, q.n,
				     (const char *const *)q.params);
	paged_query_release(&q);
}

/* The question with its values, or NULL. Caller frees. */
static char *idle_text(struct mysql_source *c, const struct watermark *from)
{
	struct strlist one = STRLIST_INIT;
	char *text;

	mysql_source_idle_foresee(c, from, &one);
	text = one.n ? xstrdup(one.items[0]) : NULL;
	strlist_release(&one);
	return text;
}

int mysql_source_idle_take(struct mysql_source *c, const struct watermark *from,
			   struct error *err)
{
	char *text = idle_text(c, from);
	struct mysql_client_result *r = NULL;
	int rc = 0;

	if (text && mysql_client_is_ahead(c->db, text))
		rc = mysql_client_query(c->db, &r, text, "t", 0, NULL, err);
	if (!rc && r && !mysql_client_rows(r)) {
		c->idle = text;
		text = NULL;
	}
	mysql_client_result_free(r);
	free(text);
	return rc;
}

void mysql_source_idle_forget(struct mysql_source *c)
{
	free(c->idle);
	free(c->idle_pass);
	c->idle = c->idle_pass = NULL;
}

void mysql_source_idle_pass(struct mysql_source *c)
{
	free(c->idle_pass);
	c->idle_pass = c->idle;
	c->idle = NULL;
}

/* The tail begins at the settled point, which is the mark or lies behind it. */
static bool idle_has_tail(const struct mysql_source *c, const struct scan *scan)
{
	const struct type *type = &source_mark(&c->paged.layout)->type;
	const char *settled = scan->settled->value;
	int64_t from_us, settled_us;

	if (!settled || !strcmp(settled, scan->from->value))
		return true;
	if (scan->mark->strategy == STRATEGY_SEQUENCE)
		return number_is_greater(settled, scan->from->value);
	return settle_read(type, settled, &settled_us) &&
	       settle_read(type, scan->from->value, &from_us) &&
	       settled_us >= from_us;
}

bool mysql_source_idle_page(struct mysql_source *c)
{
	const struct paged_pass *p = &c->paged.pass;
	const struct scan *scan = p->scan;
	char *text;
	bool same;

	if (!c->idle_pass || scan->range || scan->keys || p->last.n ||
	    !scan->from || !scan->from->value)
		return false;
	if (p->step != PAGED_SETTLED &&
	    (p->step != PAGED_TAIL || !idle_has_tail(c, scan)))
		return false;
	text = idle_text(c, scan->from);
	same = text && !strcmp(text, c->idle_pass);
	free(text);
	return same;
}

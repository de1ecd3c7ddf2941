#include "core/sync/tasks/chunk_first.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/plugin/naming.h"

static int first_settle(struct run *r, struct settled *out, struct error *err)
{
	struct watermark_spec mark;
	struct watermark none;
	struct schema s;
	int rc;

	schema_init(&s);
	watermark_init(&none);
	settings_watermark_spec(r->p, &mark);
	none.strategy = mark.strategy;
	rc = source_describe(r->source, &r->spec, &mark, &s, err);
	if (!rc)
		rc = r->source->ops->settle(r->source, &r->spec, &s, &mark,
					    &none, out, err);
	watermark_release(&none);
	schema_release(&s);
	return rc;
}

int chunk_first_server(struct run *r, const struct chunk *c, struct error *err)
{
	struct settled here;
	int rc;

	if (r->p->strategy != STRATEGY_XMIN)
		return 0;
	settled_init(&here);
	rc = first_settle(r, &here, err);
	/* The point of one server only moves on. */
	if (!rc &&
	    strtoull(here.value, NULL, 10) < strtoull(c->window_to, NULL, 10))
		rc = error_set(err, ERROR_TRANSIENT,
			       "the server has only come as far as transaction "
			       "%s, and the load began at %s: another server "
			       "answers, which is behind",
			       here.value, c->window_to);
	settled_release(&here);
	return rc;
}

void chunk_first_position(const struct run *r, const struct watermark *last,
			  char **out)
{
	struct watermark at;

	if (!last->value)
		last = &r->from;
	free(*out);
	*out = NULL;
	if (!last->value)
		return;
	watermark_init(&at);
	at.strategy = last->strategy;
	at.column = xstrdup(last->column);
	at.value = xstrdup(last->value);
	for (size_t i = 0; i < last->key.n; i++)
		strlist_add(&at.key, last->key.items[i]);
	*out = watermark_to_text(&at);
	watermark_release(&at);
}

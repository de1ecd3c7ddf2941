#include "connectors/common/paged.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/trouble.h"
#include "core/base/alloc.h"

static bool shape_is_same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool shape_is_same_column(const struct source_column *a,
				 const struct source_column *b)
{
	return shape_is_same_text(a->name, b->name) &&
	       shape_is_same_text(a->output, b->output) &&
	       shape_is_same_text(a->type.native, b->type.native) &&
	       a->how == b->how && a->type.kind == b->type.kind &&
	       a->type.precision == b->type.precision &&
	       a->type.scale == b->type.scale &&
	       a->type.digits == b->type.digits;
}

static bool shape_is_same(const struct source_layout *a,
			  const struct source_layout *b)
{
	size_t n = source_layout_width(a);

	if (n != source_layout_width(b))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!shape_is_same_column(a->columns[i], b->columns[i]))
			return false;
	}
	return true;
}

/* Does the catalog still describe the table in the same way? No statement is
 * open. A table that cannot be described any more is not the same. */
static int shape_look_again(struct paged_source *s,
			    const struct source_spec *source,
			    const struct watermark_spec *mark, bool *same,
			    struct error *err)
{
	struct source_layout now = { .mark = -1 };
	struct error why = ERROR_INIT;
	int rc = s->dialect->look(s, source, mark, &now, &why);

	if (!rc)
		rc = source_layout_choose(&now, &s->dialect->rules, source,
					  mark, &why);
	*same = !rc && shape_is_same(&s->layout, &now);
	source_layout_release(&now);
	if (!rc || why.code == ERROR_SCHEMA || why.code == ERROR_CONFIG)
		return 0;
	*err = why;
	return rc;
}

/* The page describes a column in other words than the catalog did. If a second
 * look finds the catalog unchanged, these are the server's words for such a
 * column. They are kept, and have to stay the same. */
static int shape_doubt(struct paged_source *s, struct source_column *c,
		       char *spelled, struct error *err)
{
	const struct scan *scan = s->pass.scan;
	bool same = false;
	int rc = 0;

	s->dialect->page_close(s);
	if (spelled && !c->spelled)
		rc = shape_look_again(s, scan->source, scan->mark, &same, err);
	if (!rc && !same)
		rc = refuse_altered(scan->source->table, c->name, err);
	if (!rc)
		c->spelled = xstrdup(spelled);
	return rc;
}

/* 1: the page has to be opened again. */
static int shape_check(struct paged_source *s, struct error *err)
{
	struct source_layout *l = &s->layout;

	for (size_t i = 0; i < source_layout_width(l); i++) {
		struct source_column *c = l->columns[i];
		char *spelled = s->dialect->page_type(s, i);
		int rc = 0;

		if (!shape_is_same_text(spelled, c->spelled))
			rc = shape_doubt(s, c, spelled, err) ? -(int)err->code
							     : 1;
		free(spelled);
		if (rc)
			return rc;
	}
	return 0;
}

int paged_page_open(struct paged_source *s, const struct paged_query *q,
		    struct error *err)
{
	int rc = 1;

	while (rc > 0) {
		rc = s->dialect->page_open(s, q, err);
		if (!rc)
			rc = shape_check(s, err);
	}
	return rc;
}

char *paged_no_type(struct paged_source *s, size_t column)
{
	(void)s;
	(void)column;
	return NULL;
}

int paged_judge(struct paged_source *s, const struct source_spec *source,
		const struct watermark_spec *mark, int rc, struct error *err)
{
	struct error ignored = ERROR_INIT;
	bool same = true;

	if (!rc)
		return 0;
	paged_end_pass(s);
	if (s->described != source ||
	    (err->code != ERROR_SCHEMA && err->code != ERROR_CONFIG &&
	     err->code != ERROR_DATA && err->code != ERROR_UNKNOWN &&
	     err->code != ERROR_BUG))
		return rc;
	if (shape_look_again(s, source, mark, &same, &ignored) || same)
		return rc;
	error_clear(err);
	return refuse_altered(source->table, NULL, err);
}

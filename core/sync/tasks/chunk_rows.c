#include "core/sync/tasks/chunk_rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/sync/verify/clear.h"

void chunk_form_release(struct chunk_form *f)
{
	compare_release(&f->compare);
	schema_release(&f->source);
	memset(f, 0, sizeof(*f));
}

void chunk_form_keep(struct chunk_form *f, const struct pipeline_settings *p,
		     const struct compare *compare, const struct schema *source)
{
	chunk_form_release(f);
	f->p = p;
	f->compare = *compare;
	f->compare.columns = xcalloc(compare->n, sizeof(*compare->columns));
	for (size_t i = 0; i < compare->n; i++)
		f->compare.columns[i] = compare->columns[i];
	schema_copy(&f->source, source);
}

static bool form_same_type(const struct type *a, const struct type *b)
{
	const char *here = a->native ? a->native : "";
	const char *there = b->native ? b->native : "";

	return a->kind == b->kind && !strcmp(here, there);
}

/* Are batches of `s` read by the columns of the form? There may be more behind
 * them. */
static bool form_reads(const struct chunk_form *f, const struct schema *s)
{
	const struct schema *source = &f->source;

	if (s->n_columns < source->n_columns)
		return false;
	for (size_t i = 0; i < source->n_columns; i++) {
		const struct column *a = &source->columns[i];
		const struct column *b = &s->columns[i];

		if (strcmp(a->name, b->name) != 0 ||
		    !form_same_type(&a->type, &b->type))
			return false;
	}
	return true;
}

static bool form_same_column(const struct compare_column *a,
			     const struct compare_column *b)
{
	for (size_t side = 0; side < COMPARE_SIDES; side++)
		if (a->at[side] != b->at[side] ||
		    a->kind[side] != b->kind[side])
			return false;
	return a->form == b->form;
}

static bool form_is(const struct chunk_form *f, const struct compare *compare,
		    const struct schema *source)
{
	const struct compare *own = &f->compare;
	bool same = own->n == compare->n && own->n_key == compare->n_key &&
		    own->keyless == compare->keyless &&
		    f->source.n_columns == source->n_columns &&
		    form_reads(f, source);

	for (size_t i = 0; same && i < own->n; i++)
		same = form_same_column(&own->columns[i], &compare->columns[i]);
	return same;
}

void chunk_rows_release(struct chunk_rows *x)
{
	roster_release(&x->roster);
	digest_rows_release(&x->slots);
	memset(x, 0, sizeof(*x));
}

void chunk_rows_begin(struct chunk_rows *x, const struct chunk_form *form,
		      const struct pipeline_settings *p,
		      const struct schema *schema, bool all)
{
	chunk_rows_release(x);
	digest_rows_init(&x->slots);
	if (all && form && form->p == p && form_reads(form, schema) &&
	    pass_clears(p, &form->compare))
		x->form = form;
}

void chunk_rows_add(struct chunk_rows *x, const struct batch *b)
{
	if (x->form)
		pass_know(&x->roster, &x->known, &x->form->compare, b,
			  &x->slots);
}

void chunk_rows_give(struct chunk_rows *x, const struct compare *compare,
		     struct pass *pass)
{
	if (!x->form || !form_is(x->form, compare, &pass->schema))
		return;
	pass->cleared = x->roster;
	pass->known = x->known;
	memset(&x->roster, 0, sizeof(x->roster));
	x->form = NULL;
}

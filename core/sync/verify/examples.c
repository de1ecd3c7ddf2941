#include "core/sync/verify/examples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/data/value.h"

/* Significant digits of the numbers of our JSON. */
#define EXAMPLES_DIGITS 15

/* By suspect, of the first VERIFY_EXAMPLES. */
struct examples {
	const struct verify_examples *of;
	json_t *keys[VERIFY_EXAMPLES];
	json_t *found[COMPARE_SIDES][VERIFY_EXAMPLES];
};

/* Numbers that those digits do not tell apart are shown as text. */
static json_t *examples_values(const struct batch *b, size_t row)
{
	json_t *values = value_row_json(b, row, SIZE_MAX);

	for (size_t i = 0; i < b->schema->n_columns; i++) {
		const struct column *c = &b->schema->columns[i];
		struct strbuf text = STRBUF_INIT;
		char digits[32];
		double x;

		if (c->type.kind != TYPE_FLOAT64 ||
		    vector_is_null(&b->vectors[i], row))
			continue;
		value_print(&text, &b->vectors[i], row);
		x = strtod(text.data, NULL);
		snprintf(digits, sizeof(digits), "%.*g", EXAMPLES_DIGITS, x);
		if (isfinite(x) && strtod(digits, NULL) != x)
			json_object_set_new(values, c->name,
					    json_string(text.data));
		strbuf_release(&text);
	}
	return values;
}

static void examples_row(void *ctx, enum compare_side side,
			 const struct batch *b, size_t row,
			 const struct compare_hash *key,
			 const struct compare_hash *all)
{
	struct examples *e = ctx;
	const struct suspects *s = e->of->suspects;
	const struct suspect *x = suspects_find(e->of->suspects, key);
	size_t i = x ? (size_t)(x - s->items) : VERIFY_EXAMPLES;

	(void)all;
	if (i >= VERIFY_EXAMPLES)
		return;
	if (!e->keys[i])
		e->keys[i] = value_key_json(b, row);
	if (e->of->values && !e->found[side][i])
		e->found[side][i] = examples_values(b, row);
}

/* A row that went away meanwhile, or has no key: its name as text. */
static json_t *examples_key_text(const struct examples *e,
				 const struct suspect *x)
{
	const struct schema *s = &e->of->sides[COMPARE_SOURCE].schema;
	json_t *key = json_object();

	for (size_t i = 0; i < e->of->compare->n_key; i++) {
		size_t at = e->of->compare->columns[i].at[COMPARE_SOURCE];

		json_object_set_new(key, s->columns[at].name,
				    json_string(x->texts[COMPARE_SOURCE][i]));
	}
	return key;
}

static void examples_append(const struct examples *e, size_t i, json_t *out)
{
	const struct suspect *x = &e->of->suspects->items[i];
	json_t *key =
		e->keys[i] ? json_incref(e->keys[i]) : examples_key_text(e, x);
	json_t *example = json_pack("{s:o, s:s}", "key", key, "kind",
				    difference_name(suspect_kind(x)));

	if (e->of->values)
		json_object_update_new(
			example,
			json_pack("{s:O?, s:O?}", "source",
				  e->found[COMPARE_SOURCE][i], "destination",
				  e->found[COMPARE_DESTINATION][i]));
	json_array_append_new(out, example);
}

/* Differences first: the examples are of those. */
static size_t examples_sort(const struct examples *e, size_t room)
{
	struct suspects *s = e->of->suspects;
	size_t n = 0;

	for (size_t i = 0; i < s->n && n < room; i++) {
		struct suspect x = s->items[i];

		if (x.past ||
		    (e->of->extra_only && suspect_kind(&x) != DIFFERENCE_EXTRA))
			continue;
		s->items[i] = s->items[n];
		s->items[n++] = x;
	}
	suspects_sieve(s);
	return n;
}

static void examples_release(struct examples *e)
{
	for (size_t i = 0; i < VERIFY_EXAMPLES; i++) {
		json_decref(e->keys[i]);
		for (size_t side = 0; side < COMPARE_SIDES; side++)
			json_decref(e->found[side][i]);
	}
}

int verify_examples_add(const struct verify_examples *x, json_t *out,
			struct error *err)
{
	struct examples e = { .of = x };
	const struct verify_look look = { .compare = x->compare,
					  .row = examples_row,
					  .ctx = &e };
	size_t n = examples_sort(&e, x->most - json_array_size(out));
	int rc = 0;

	for (size_t side = 0;
	     n && !rc && !x->compare->keyless && side < COMPARE_SIDES; side++)
		rc = verify_read_suspects(&x->sides[side], x->suspects, 0, n,
					  &look, err);
	for (size_t i = 0; !rc && i < n; i++)
		examples_append(&e, i, out);
	examples_release(&e);
	return rc;
}

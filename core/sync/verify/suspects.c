#include "core/sync/verify/suspects.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/data/value.h"
#include "core/store/letters.h"
#include "core/sync/parts/range_value.h"

int verify_read_suspects(struct verify_side *s, const struct suspects *suspects,
			 size_t first, size_t end,
			 const struct verify_look *look, struct error *err)
{
	int rc = 0;

	while (!rc && first < end) {
		size_t stop =
			end - first > VERIFY_KEYS ? first + VERIFY_KEYS : end;
		struct strlist keys = STRLIST_INIT;

		for (; first < stop; first++)
			for (size_t i = 0; i < suspects->n_key; i++)
				strlist_add(&keys, suspects->items[first]
							   .texts[s->which][i]);
		rc = verify_read_keys(s, &keys, look, err);
		strlist_release(&keys);
	}
	return rc;
}

static void verify_row_count(void *ctx, enum compare_side side,
			     const struct batch *b, size_t row,
			     const struct compare_hash *key,
			     const struct compare_hash *all)
{
	struct suspect *x = suspects_find(ctx, key);

	(void)b;
	(void)row;
	if (x)
		suspect_count(x, side, all);
}

struct verify_look verify_counting(const struct compare *compare,
				   struct suspects *suspects)
{
	return (struct verify_look){ .compare = compare,
				     .row = verify_row_count,
				     .ctx = suspects };
}

int verify_count_suspects(struct verify_side *s, const struct compare *compare,
			  struct suspects *suspects, struct error *err)
{
	const struct verify_look look = verify_counting(compare, suspects);

	suspects_uncount(suspects, s->which);
	return verify_read_suspects(s, suspects, 0, suspects->n, &look, err);
}

/* The suspects' present rows, and whether their marks lie past the one in
 * `from`. */
struct verify_recount {
	struct suspects *suspects;
	struct digest *now; /* one of each */
	bool *past; /* the same */
	const struct pipeline_settings *p;
	const char *from; /* NULL: everything lies past it */
	long mark; /* the column; -1: none tells */
};

/* A mark that cannot be compared proves nothing: the row is excused. */
static bool verify_mark_is_past(const struct verify_recount *r,
				const struct batch *b, size_t row)
{
	struct strbuf text = STRBUF_INIT;
	int64_t mark, from;
	bool past;

	/* Each change of a row has a newer xmin than any mark before it. */
	if (r->p->strategy == STRATEGY_XMIN || !r->from || r->mark < 0 ||
	    vector_is_null(&b->vectors[r->mark], row))
		return true;
	value_print(&text, &b->vectors[r->mark], row);
	if (r->p->strategy == STRATEGY_SEQUENCE)
		past = range_value_compare(RANGE_NUMBER, text.data, r->from) >
		       0;
	else
		past = !value_parse_instant(text.data, &mark) ||
		       !value_parse_instant(r->from, &from) || mark > from;
	strbuf_release(&text);
	return past;
}

static void verify_row_recount(void *ctx, enum compare_side side,
			       const struct batch *b, size_t row,
			       const struct compare_hash *key,
			       const struct compare_hash *all)
{
	struct verify_recount *r = ctx;
	const struct suspect *x = suspects_find(r->suspects, key);
	const struct digest one = { all->low, all->high, 1 };
	size_t i;

	(void)side;
	if (!x)
		return;
	i = (size_t)(x - r->suspects->items);
	digest_add(&r->now[i], &one);
	r->past[i] |= verify_mark_is_past(r, b, row);
}

static bool verify_judge_changed(struct suspect *x, enum compare_side side,
				 const struct digest *now, bool past)
{
	if (digest_equal(&x->rows[side], now))
		return false;
	if (past || !now->rows) {
		x->past = true;
		return false;
	}
	x->rows[side] = *now;
	x->delivered = false;
	x->changed = true;
	return true;
}

int verify_mark_changed(struct verify_side *s, const struct watermark *from,
			const struct compare *compare,
			struct suspects *suspects, bool *changed,
			struct error *err)
{
	struct verify_recount r = {
		.suspects = suspects,
		.now = xcalloc(suspects->n + 1, sizeof(*r.now)),
		.past = xcalloc(suspects->n + 1, sizeof(*r.past)),
		.p = s->p,
		.from = from->value,
		.mark = verify_side_mark(s),
	};
	const struct verify_look look = { .compare = compare,
					  .row = verify_row_recount,
					  .ctx = &r };
	int rc = verify_read_suspects(s, suspects, 0, suspects->n, &look, err);

	*changed = false;
	for (size_t i = 0; !rc && i < suspects->n; i++)
		*changed |= verify_judge_changed(&suspects->items[i], s->which,
						 &r.now[i], r.past[i]);
	free(r.now);
	free(r.past);
	return rc;
}

static void verify_row_past(void *ctx, enum compare_side side,
			    const struct batch *b, size_t row,
			    const struct compare_hash *key,
			    const struct compare_hash *all)
{
	struct suspect *x = suspects_find(ctx, key);

	(void)side;
	(void)b;
	(void)row;
	(void)all;
	if (x)
		x->past = true;
}

int verify_mark_past(struct verify_side *s, const struct watermark *from,
		     const struct compare *compare, struct suspects *suspects,
		     struct error *err)
{
	const struct verify_look look = { .compare = compare,
					  .row = verify_row_past,
					  .ctx = suspects };

	return verify_read_past(s, from, &look, err);
}

/* The texts of a key, one behind the other. */
static void verify_join(struct strbuf *sb, const char *text)
{
	strbuf_addstr(sb, text ? text : "");
	strbuf_addch(sb, '\x1f');
}

/* As value_print() writes the value: JSON has more digits of a float. */
static void verify_join_json(struct strbuf *sb, const struct column *column,
			     const json_t *part)
{
	struct strbuf text = STRBUF_INIT;
	char *other = NULL;

	if (!json_is_real(part) && !json_is_string(part))
		other = json_dumps(part, JSON_ENCODE_ANY);
	else if (!json_is_real(part))
		strbuf_addstr(&text, json_string_value(part));
	else if (column->type.kind == TYPE_FLOAT32)
		value_print_float32(&text, (float)json_real_value(part));
	else
		value_print_float64(&text, json_real_value(part));
	verify_join(sb, other ? other : text.data);
	strbuf_release(&text);
	free(other);
}

static void verify_add_letter(const struct schema *s,
			      const struct dead_letter *letter,
			      struct strlist *out)
{
	json_t *key = json_loads(letter->key, 0, NULL);
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < s->n_key; i++) {
		const struct column *column = &s->columns[s->key[i]];

		verify_join_json(&sb, column,
				 json_object_get(key, column->name));
	}
	strlist_add(out, sb.data);
	strbuf_release(&sb);
	json_decref(key);
}

int verify_excuse_letters(const struct verify_side *s, struct store *store,
			  struct suspects *suspects, struct error *err)
{
	const struct dead_letter_filter filter = { .pipeline = s->p->name,
						   .names = true };
	struct dead_letter_list letters = { NULL, 0, 0 };
	struct strlist keys = STRLIST_INIT;
	int rc = store_letters_list(store, &filter, &letters, err);

	for (size_t i = 0; i < letters.n; i++)
		verify_add_letter(&s->schema, &letters.items[i], &keys);
	for (size_t i = 0; keys.n && i < suspects->n; i++) {
		struct suspect *x = &suspects->items[i];
		struct strbuf sb = STRBUF_INIT;

		for (size_t k = 0; k < suspects->n_key; k++)
			verify_join(&sb, x->texts[COMPARE_SOURCE][k]);
		x->past |= strlist_has(&keys, sb.data);
		strbuf_release(&sb);
	}
	strlist_release(&keys);
	dead_letter_list_release(&letters);
	return rc;
}

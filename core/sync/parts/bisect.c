#include "core/sync/parts/bisect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* Halves of at most 2^32 rows that are still to be loaded. */
#define BISECT_DEPTH 34

struct bisect_part {
	const uint32_t *rows;
	size_t n;
	bool first; /* its other half comes next */
	bool refused; /* holds a bad row, as far as can be told */
};

/* The parts to come, the first one on top. */
struct bisect_parts {
	struct bisect_part items[BISECT_DEPTH];
	size_t n;
};

void bad_rows_release(struct bad_rows *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].message);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static void bad_rows_add(struct bad_rows *list, uint32_t row,
			 const struct error *why)
{
	struct bad_row *bad;

	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	bad = &list->items[list->n++];
	bad->row = row;
	bad->code = why->code;
	snprintf(bad->server_code, sizeof(bad->server_code), "%s",
		 why->server_code);
	bad->message = xstrdup(why->message);
}

static void bisect_halve(struct bisect_parts *p, const struct bisect_part *part)
{
	size_t half = part->n / 2;

	p->items[p->n++] = (struct bisect_part){
		.rows = part->rows + half,
		.n = part->n - half,
	};
	p->items[p->n++] = (struct bisect_part){
		.rows = part->rows,
		.n = half,
		.first = true,
	};
}

/* If the first half is in, the fault is in the other: that one is not tried
 * before it is cut. (Or in both together; then the cut does no harm.) */
static void bisect_passed(struct bisect_parts *p,
			  const struct bisect_part *part)
{
	if (part->first)
		p->items[p->n - 1].refused = true;
}

/* One part: loaded, cut, or a bad row. */
static int bisect_part(const struct bisect *b, struct bisect_parts *p,
		       struct bad_rows *out, size_t *loaded, struct error *err)
{
	struct bisect_part part = p->items[--p->n];
	struct error why = ERROR_INIT;
	int rc = -ERROR_DATA;

	if (!part.refused || part.n == 1)
		rc = b->load(b->ctx, part.rows, part.n, &why);
	if (!rc) {
		*loaded += part.n;
		bisect_passed(p, &part);
	} else if (rc != -ERROR_DATA) {
		*err = why;
		return rc;
	} else if (part.n > 1) {
		bisect_halve(p, &part);
	} else {
		bad_rows_add(out, *part.rows, &why);
	}
	out->more = out->n > b->most;
	return 0;
}

/* The rows were refused together. */
static int bisect_round(const struct bisect *b, const uint32_t *rows, size_t n,
			const struct error *why, struct bad_rows *out,
			size_t *loaded, struct error *err)
{
	struct bisect_part whole = { .rows = rows, .n = n };
	struct bisect_parts parts = { .n = 0 };
	int rc = 0;

	if (n == 1) {
		bad_rows_add(out, *rows, why);
		return 0;
	}
	bisect_halve(&parts, &whole);
	while (!rc && parts.n && !out->more)
		rc = bisect_part(b, &parts, out, loaded, err);
	return rc;
}

/* Try the rows that failed alone together once more; `list` keeps those that
 * fail. */
static int bisect_again(const struct bisect *b, struct bad_rows *list,
			size_t *loaded, struct error *err)
{
	uint32_t *rows = xcalloc(list->n, sizeof(*rows));
	struct bad_rows still = { NULL, 0, 0, false };
	struct error why = ERROR_INIT;
	int rc;

	for (size_t i = 0; i < list->n; i++)
		rows[i] = list->items[i].row;
	rc = b->load(b->ctx, rows, list->n, &why);
	if (!rc) {
		*loaded += list->n;
	} else if (rc == -ERROR_DATA) {
		rc = bisect_round(b, rows, list->n, &why, &still, loaded, err);
	} else {
		*err = why;
	}
	free(rows);
	bad_rows_release(list);
	*list = still;
	return rc;
}

int bisect_load(const struct bisect *b, const uint32_t *rows, size_t n,
		const struct error *why, struct bad_rows *out,
		struct error *err)
{
	size_t loaded = 0;
	int rc = bisect_round(b, rows, n, why, out, &loaded, err);

	while (!rc && loaded && out->n && !out->more) {
		loaded = 0;
		rc = bisect_again(b, out, &loaded, err);
	}
	return rc;
}

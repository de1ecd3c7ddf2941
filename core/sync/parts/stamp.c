#include "core/sync/parts/stamp.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

int stamp_schema(const struct pipeline_settings *p, const struct schema *source,
		 struct schema *out, struct error *err)
{
	const struct type type = { .kind = TYPE_TIMESTAMPTZ, .digits = 6 };

	schema_copy(out, source);
	if (!p->loaded_at || !*p->loaded_at)
		return 0;
	if (schema_find_folded(source, p->loaded_at) >= 0)
		return error_set(
			err, ERROR_CONFIG,
			"pipeline %s: load.loaded_at is \"%s\", and %s "
			"has a column of that name; choose another "
			"name, or leave the column out under "
			"source.columns",
			p->name, p->loaded_at, p->source_table);
	schema_add(out, p->loaded_at, &type, true);
	out->stamped = true;
	return 0;
}

/* One time for all rows of the batch. */
static void stamp_fill(struct vector *v, size_t n)
{
	int64_t now = clock_now_us();

	v->kind = TYPE_TIMESTAMPTZ;
	v->width = sizeof(now);
	v->data = xcalloc(n + 1, sizeof(now));
	v->validity = xcalloc(n / 8 + 1, 1);
	for (size_t i = 0; i < n; i++)
		vector_set_fixed(v, i, &now);
}

void stamp_begin(struct stamped *s, const struct schema *schema,
		 const struct batch *b)
{
	size_t n = b->schema->n_columns;

	memset(s, 0, sizeof(*s));
	s->batch = b;
	if (!schema->stamped || b->schema->stamped)
		return;
	s->own = *b;
	s->own.schema = schema;
	s->own.vectors = xcalloc(n + 1, sizeof(*s->own.vectors));
	memcpy(s->own.vectors, b->vectors, n * sizeof(*s->own.vectors));
	stamp_fill(&s->own.vectors[n], b->n_rows);
	s->batch = &s->own;
}

void stamp_end(struct stamped *s)
{
	if (s->batch == &s->own) {
		const struct vector *v =
			&s->own.vectors[s->own.schema->n_columns - 1];

		free(v->data);
		free(v->validity);
		free(s->own.vectors);
	}
	memset(s, 0, sizeof(*s));
}

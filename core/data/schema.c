#include "core/data/schema.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"

/* More than any engine has. */
#define SCHEMA_SCALE_MOST  100000
#define SCHEMA_DIGITS_MOST 9

void schema_init(struct schema *s)
{
	memset(s, 0, sizeof(*s));
	s->mark = -1;
	s->row_estimate = -1;
	s->byte_estimate = -1;
}

void schema_release(struct schema *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_columns; i++) {
		free(s->columns[i].name);
		free(s->columns[i].source);
		free(s->columns[i].type.native);
		free(s->columns[i].expression);
		free(s->columns[i].labels);
	}
	free(s->columns);
	free(s->key);
	free(s->engine);
	free(s->table);
	free(s->definition);
	schema_init(s);
}

/* A source tells them: numbers beyond any type are none. */
static void schema_bound(struct type *type)
{
	if (type->precision < 0 || type->scale > SCHEMA_SCALE_MOST ||
	    type->scale < -SCHEMA_SCALE_MOST) {
		type->precision = 0;
		type->scale = 0;
	}
	if (type->digits < 0 || type->digits > SCHEMA_DIGITS_MOST)
		type->digits = SCHEMA_DIGITS_MOST;
}

struct column *schema_add(struct schema *s, const char *name,
			  const struct type *type, bool nullable)
{
	struct column *column;

	s->columns = xgrow(s->columns, &s->columns_capacity, s->n_columns + 1,
			   sizeof(*s->columns));
	column = &s->columns[s->n_columns++];
	column->name = xstrdup(name);
	column->source = NULL;
	column->type = *type;
	schema_bound(&column->type);
	column->type.native = xstrdup(type->native);
	column->nullable = nullable;
	column->expression = NULL;
	column->labels = NULL;
	column->number = 0;
	return column;
}

void schema_copy(struct schema *dst, const struct schema *src)
{
	schema_init(dst);
	dst->engine = xstrdup(src->engine);
	dst->table = xstrdup(src->table);
	dst->definition = xstrdup(src->definition);
	for (size_t i = 0; i < src->n_columns; i++) {
		const struct column *column = &src->columns[i];
		struct column *copy = schema_add(
			dst, column->name, &column->type, column->nullable);
		copy->source = xstrdup(column->source);
		copy->expression = xstrdup(column->expression);
		copy->labels = xstrdup(column->labels);
		copy->number = column->number;
	}
	schema_set_key(dst, src->key, src->n_key);
	dst->mark = src->mark;
	dst->stamped = src->stamped;
	dst->row_estimate = src->row_estimate;
	dst->byte_estimate = src->byte_estimate;
}

long schema_find(const struct schema *s, const char *name)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		if (!strcmp(s->columns[i].name, name))
			return (long)i;
	}
	return -1;
}

const char *column_source(const struct column *c)
{
	return c->source ? c->source : c->name;
}

long schema_find_source(const struct schema *s, const char *name)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		if (!strcmp(column_source(&s->columns[i]), name))
			return (long)i;
	}
	return -1;
}

long schema_find_folded(const struct schema *s, const char *name)
{
	long at = schema_find(s, name);

	for (size_t i = 0; at < 0 && i < s->n_columns; i++)
		if (!strcasecmp(s->columns[i].name, name))
			at = (long)i;
	return at;
}

size_t schema_compared(const struct schema *s)
{
	return s->n_columns - s->stamped;
}

void schema_set_key(struct schema *s, const size_t *key, size_t n_key)
{
	size_t *copy = n_key ? xcalloc(n_key, sizeof(*copy)) : NULL;

	/* Copy before the old one is freed: `key` may be the schema's own. */
	if (n_key)
		memcpy(copy, key, n_key * sizeof(*copy));
	free(s->key);
	s->key = copy;
	s->n_key = n_key;
}

bool schema_is_key(const struct schema *s, size_t column)
{
	for (size_t i = 0; i < s->n_key; i++) {
		if (s->key[i] == column)
			return true;
	}
	return false;
}

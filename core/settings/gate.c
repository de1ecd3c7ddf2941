#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/pattern.h"
#include "core/data/decimal.h"
#include "core/settings/input.h"

static const struct {
	const char *name;
	enum gate_kind kind;
} gate_maps[] = {
	{ "min", GATE_MIN },
	{ "max", GATE_MAX },
	{ "match", GATE_MATCH },
};

static enum gate_kind settings_gate_kind(const char *name)
{
	size_t i = 0;

	while (strcmp(gate_maps[i].name, name) != 0)
		i++;
	return gate_maps[i].kind;
}

/* Check a limit as far as possible before the column's type is known. */
static int settings_check_limit(struct option_context *ctx,
				const struct config_node *node,
				enum gate_kind kind)
{
	struct error why = ERROR_INIT;
	struct pattern *pattern = NULL;
	int rc = 0;

	if (kind == GATE_MATCH) {
		if (pattern_new(&pattern, node->text, &why))
			rc = option_fail(ctx, node->at, "%s", why.message);
		pattern_free(pattern);
	} else if (!*node->text || !strcasecmp(node->text, "nan")) {
		rc = option_fail(ctx, node->at,
				 "expected a number, a date, a time or a text, "
				 "found \"%s\"",
				 node->text);
	}
	return rc;
}

int settings_parse_limits(struct option_context *ctx,
			  const struct option *option,
			  const struct config_node *node, void *base)
{
	struct gate_settings *gate = &((struct pipeline_input *)base)->p.gate;
	enum gate_kind kind = settings_gate_kind(option->name);
	int rc = 0;

	for (size_t i = 0; !rc && i < node->n; i++) {
		const struct config_entry *entry = &node->entries[i];
		size_t length = option_path_push(ctx, entry->key);

		rc = settings_check_limit(ctx, entry->node, kind);
		option_path_pop(ctx, length);
		gate->limits = xreallocarray(gate->limits, gate->n_limits + 1,
					     sizeof(*gate->limits));
		gate->limits[gate->n_limits++] =
			(struct gate_limit){ kind, xstrdup(entry->key),
					     xstrdup(entry->node->text) };
	}
	return rc;
}

void settings_release_gate(struct gate_settings *gate)
{
	for (size_t i = 0; i < gate->n_limits; i++) {
		free(gate->limits[i].column);
		free(gate->limits[i].text);
	}
	free(gate->limits);
	gate->limits = NULL;
	gate->n_limits = 0;
}

static int settings_gate_fail(struct option_context *ctx,
			      const struct config_node *node, const char *path,
			      const char *min, const char *max,
			      const char *column)
{
	size_t length = option_path_push(ctx, path);
	const struct config_node *found = config_node_find(node, path);
	int rc = option_fail(ctx, found ? found->at : node->at,
			     "%.80s is more than the largest allowed, %.80s, "
			     "%s%.80s: nothing would pass",
			     min, max, *column ? "of column " : "of rows",
			     column);

	option_path_pop(ctx, length);
	return rc;
}

/* Numbers only: what else a bound means, its column's type says. */
static bool settings_is_above(const char *a, const char *b)
{
	struct decimal x, y;

	return decimal_parse(&x, a, strlen(a)) &&
	       decimal_parse(&y, b, strlen(b)) && decimal_compare(&x, &y) > 0;
}

/* The `max` of this `min`'s column that is below it, or NULL. */
static const char *settings_max_below(const struct gate_settings *gate,
				      const struct gate_limit *min)
{
	for (size_t i = 0; i < gate->n_limits; i++) {
		const struct gate_limit *max = &gate->limits[i];

		if (max->kind == GATE_MAX &&
		    !strcmp(max->column, min->column) &&
		    settings_is_above(min->text, max->text))
			return max->text;
	}
	return NULL;
}

int settings_check_gate(struct option_context *ctx,
			const struct config_node *node,
			const struct gate_settings *gate)
{
	char min[24], max[24];

	for (size_t i = 0; i < gate->n_limits; i++) {
		const struct gate_limit *limit = &gate->limits[i];
		const char *below = limit->kind == GATE_MIN
					    ? settings_max_below(gate, limit)
					    : NULL;

		if (below)
			return settings_gate_fail(ctx, node, "gate.min",
						  limit->text, below,
						  limit->column);
	}
	if (!gate->max_rows || gate->min_rows <= gate->max_rows)
		return 0;
	snprintf(min, sizeof(min), "%" PRId64, gate->min_rows);
	snprintf(max, sizeof(max), "%" PRId64, gate->max_rows);
	return settings_gate_fail(ctx, node, "gate.min_rows", min, max, "");
}

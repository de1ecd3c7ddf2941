/*
 * One condition of a gate, compiled. Shared by the gate_*.c files.
 */
#ifndef TIDEMARK_CORE_SYNC_GATE_RULE_H
#define TIDEMARK_CORE_SYNC_GATE_RULE_H

#include "core/base/pattern.h"
#include "core/data/decimal.h"
#include "core/sync/gate/gate.h"

#define GATE_SAMPLES 5

struct gate_found {
	size_t n; /* rows that break it */
	size_t rows[GATE_SAMPLES]; /* the first of them */
};

static inline void gate_note(struct gate_found *found, size_t row)
{
	if (found->n < GATE_SAMPLES)
		found->rows[found->n] = row;
	found->n++;
}

struct gate_rule;
/* Notes the rows of a batch that break the rule. */
typedef int (*gate_scan)(struct gate_rule *rule, const struct batch *b,
			 struct gate_found *found, struct error *err);

struct gate_rule {
	enum gate_kind kind;
	const char *name; /* the column's */
	const char *text; /* bound or pattern, as written; or NULL */
	size_t column; /* index in the schema */
	gate_scan scan;
	/* min, max: the bound in the column's type */
	int64_t integer;
	uint64_t natural;
	double real;
	struct decimal decimal;
	size_t text_size;
	struct pattern *pattern;
	struct strbuf scratch;
	struct gate_values *values; /* unique */
};

/* Turns rule->text into a bound of this type and sets rule->scan. NULL, or
 * what the type takes: "an integer from -32768 to 32767". */
const char *gate_bound_set(struct gate_rule *rule, const struct type *type);

struct gate_values *gate_values_new(void);
void gate_values_free(struct gate_values *v); /* NULL is fine */
int gate_unique_scan(struct gate_rule *rule, const struct batch *b,
		     struct gate_found *found, struct error *err);

#endif

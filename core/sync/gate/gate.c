#include "core/sync/gate/gate.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/data/value.h"
#include "core/sync/gate/rule.h"

struct gate {
	const struct pipeline_settings *p;
	const struct schema *schema;
	struct gate_rule *rules;
	size_t n_rules;
};

static const char *const kind_names[] = {
	[GATE_NOT_NULL] = "not_null", [GATE_MIN] = "min",
	[GATE_MAX] = "max",	      [GATE_MATCH] = "match",
	[GATE_UNIQUE] = "unique",
};

static int scan_nulls(struct gate_rule *rule, const struct batch *b,
		      struct gate_found *found, struct error *err)
{
	const struct vector *v = &b->vectors[rule->column];

	(void)err;
	for (size_t row = 0; v->n_nulls && row < b->n_rows; row++)
		if (vector_is_null(v, row))
			gate_note(found, row);
	return 0;
}

/* The text of a value; of another type than text as value_print() has it. */
static const char *match_text(struct gate_rule *rule, const struct vector *v,
			      size_t row, size_t *n)
{
	if (!v->width && v->kind != TYPE_BYTES)
		return (const char *)vector_bytes(v, row, n);
	strbuf_reset(&rule->scratch);
	value_print(&rule->scratch, v, row);
	*n = rule->scratch.len;
	return rule->scratch.data;
}

static int scan_match(struct gate_rule *rule, const struct batch *b,
		      struct gate_found *found, struct error *err)
{
	const struct vector *v = &b->vectors[rule->column];
	bool matches;
	size_t n;

	for (size_t row = 0; row < b->n_rows; row++) {
		const char *text;

		if (vector_is_null(v, row))
			continue;
		text = match_text(rule, v, row, &n);
		if (pattern_match(rule->pattern, text, n, &matches, err)) {
			struct strbuf key = STRBUF_INIT;

			value_print_key(&key, b, row);
			error_prefix(err, "gate: column \"%s\", match %s: %s",
				     rule->name, rule->text, key.data);
			strbuf_release(&key);
			return -(int)err->code;
		}
		if (!matches)
			gate_note(found, row);
	}
	return 0;
}

static void gate_no_column(const struct gate *g, const struct gate_rule *rule,
			   struct problems *problems)
{
	const char **names = xcalloc(g->schema->n_columns + 1, sizeof(*names));
	const char *near;

	for (size_t i = 0; i < g->schema->n_columns; i++)
		names[i] = column_source(&g->schema->columns[i]);
	near = nearest_name(rule->name, names, g->schema->n_columns);
	problems_add(problems, SEVERITY_ERROR, ERROR_SCHEMA, "gate-column",
		     "name a column that is read, or read that one",
		     "pipeline %s: gate.%s names column \"%s\", which is not "
		     "among those read of %s%s%s%s",
		     g->p->name, kind_names[rule->kind], rule->name,
		     g->p->source_table, near ? "; did you mean \"" : "",
		     near ? near : "", near ? "\"?" : "");
	free(names);
}

static void gate_set_bound(const struct gate *g, struct gate_rule *rule,
			   struct problems *problems)
{
	const struct column *c = &g->schema->columns[rule->column];
	const char *takes = gate_bound_set(rule, &c->type);

	if (takes)
		problems_add(problems, SEVERITY_ERROR, ERROR_SCHEMA,
			     "gate-bound", "write a bound of that type",
			     "pipeline %s: gate.%s.%s is \"%s\", but the "
			     "column is %s of %s and takes %s",
			     g->p->name, kind_names[rule->kind], rule->name,
			     rule->text,
			     c->type.native ? c->type.native
					    : type_kind_name(c->type.kind),
			     g->p->source_table, takes);
}

static void gate_set_pattern(const struct gate *g, struct gate_rule *rule,
			     struct problems *problems)
{
	struct error err = ERROR_INIT;

	rule->scan = scan_match;
	strbuf_init(&rule->scratch);
	if (pattern_new(&rule->pattern, rule->text, &err))
		problems_add(problems, SEVERITY_ERROR, err.code, "gate-match",
			     "correct the pattern",
			     "pipeline %s: gate.match.%s of %s: %s", g->p->name,
			     rule->name, g->p->source_table, err.message);
}

static void gate_add(struct gate *g, enum gate_kind kind, const char *name,
		     const char *text, struct problems *problems)
{
	struct gate_rule *rule = &g->rules[g->n_rules++];
	long column = schema_find_source(g->schema, name);

	rule->kind = kind;
	rule->name = name;
	rule->text = text;
	if (column < 0) {
		gate_no_column(g, rule, problems);
		return;
	}
	rule->column = (size_t)column;
	switch (kind) {
	case GATE_NOT_NULL:
		rule->scan = scan_nulls;
		break;
	case GATE_MIN:
	case GATE_MAX:
		gate_set_bound(g, rule, problems);
		break;
	case GATE_MATCH:
		gate_set_pattern(g, rule, problems);
		break;
	case GATE_UNIQUE:
		rule->scan = gate_unique_scan;
		rule->values = gate_values_new();
		break;
	}
}

struct gate *gate_new(const struct pipeline_settings *p,
		      const struct schema *schema, struct problems *problems)
{
	const struct gate_settings *s = &p->gate;
	struct gate *g = xcalloc(1, sizeof(*g));

	g->p = p;
	g->schema = schema;
	g->rules = xcalloc(s->not_null.n + s->n_limits + s->unique.n + 1,
			   sizeof(*g->rules));
	for (size_t i = 0; i < s->not_null.n; i++)
		gate_add(g, GATE_NOT_NULL, s->not_null.items[i], NULL,
			 problems);
	for (size_t i = 0; i < s->n_limits; i++)
		gate_add(g, s->limits[i].kind, s->limits[i].column,
			 s->limits[i].text, problems);
	for (size_t i = 0; i < s->unique.n; i++)
		gate_add(g, GATE_UNIQUE, s->unique.items[i], NULL, problems);
	return g;
}

int gate_open(struct gate **out, const struct pipeline_settings *p,
	      const struct schema *schema, struct error *err)
{
	struct problems problems = { NULL, 0, 0 };
	struct gate *g = gate_new(p, schema, &problems);
	int rc = problems_to_error(&problems, err);

	problems_release(&problems);
	if (rc)
		gate_free(g);
	else
		*out = g;
	return rc;
}

void gate_free(struct gate *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n_rules; i++) {
		pattern_free(g->rules[i].pattern);
		gate_values_free(g->rules[i].values);
		if (g->rules[i].kind == GATE_MATCH)
			strbuf_release(&g->rules[i].scratch);
	}
	free(g->rules);
	free(g);
}

/* "column "amount", min 0: 3 rows (id=7, id=9, ...)" */
static void gate_describe(struct strbuf *sb, const struct gate_rule *rule,
			  const struct batch *b, const struct gate_found *found)
{
	size_t shown = found->n < GATE_SAMPLES ? found->n : GATE_SAMPLES;

	strbuf_addf(sb, "%scolumn \"%s\", %s", sb->len ? "; " : "", rule->name,
		    kind_names[rule->kind]);
	if (rule->text)
		strbuf_addf(sb, " %.100s", rule->text);
	strbuf_addf(sb, ": %zu row%s", found->n, found->n == 1 ? "" : "s");
	for (size_t i = 0; b->schema->n_key && i < shown; i++) {
		strbuf_addstr(sb, i ? "; " : " (");
		value_print_key(sb, b, found->rows[i]);
	}
	if (b->schema->n_key)
		strbuf_addstr(sb, found->n > shown ? "; ...)" : ")");
}

int gate_check(struct gate *g, const struct batch *b, struct error *err)
{
	struct strbuf broken = STRBUF_INIT;
	int rc = 0;

	for (size_t i = 0; !rc && i < g->n_rules; i++) {
		struct gate_rule *rule = &g->rules[i];
		struct gate_found found = { .n = 0 };

		rc = rule->scan(rule, b, &found, err);
		if (!rc && found.n)
			gate_describe(&broken, rule, b, &found);
	}
	if (!rc && broken.len)
		rc = error_set(err, ERROR_DATA,
			       "gate: %s. The batch of %zu rows was not "
			       "loaded and the mark stays before it; mend "
			       "the rows at the source, or change `gate`",
			       broken.data, b->n_rows);
	strbuf_release(&broken);
	return rc;
}

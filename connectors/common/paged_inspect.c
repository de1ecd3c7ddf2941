#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/common/names.h"
#include "connectors/common/paged.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

struct paged_look {
	struct paged_source *s;
	const struct source_spec *source;
	const struct watermark_spec *mark;
	struct problems *out;
};

static int inspect_nulls(struct paged_look *x, struct error *err)
{
	const struct source_column *mark = source_mark(&x->s->layout);
	enum nulls_policy policy = x->mark->nulls;
	int64_t count = 0;
	int rc = 0;

	if (mark->nullable)
		rc = paged_count_nulls(x->s, &count, err);
	if (rc || !count)
		return rc;
	problems_add(x->out,
		     policy == NULLS_ERROR  ? SEVERITY_ERROR
		     : policy == NULLS_SKIP ? SEVERITY_WARNING
					    : SEVERITY_INFO,
		     policy == NULLS_ERROR ? ERROR_DATA : ERROR_NONE,
		     "null-marks",
		     policy == NULLS_ERROR ? "watermark.nulls: include, or skip"
					   : NULL,
		     "%" PRId64 " rows of %s have NULL in \"%s\"%s", count,
		     x->source->table, mark->name,
		     policy == NULLS_SKIP      ? ": they are left out"
		     : policy == NULLS_INCLUDE ? ": they are read on every run"
					       : "");
	return 0;
}

static int inspect_repeats(struct paged_look *x, struct error *err)
{
	struct error found = ERROR_INIT;
	char *key = NULL;
	int rc = paged_find_repeat(x->s, &key, err);

	if (key) {
		paged_refuse_repeat(x->source->table, key, &found);
		problems_add(x->out, SEVERITY_ERROR, ERROR_SCHEMA,
			     "key-repeats", NULL, "%s", found.message);
	} else if (!rc) {
		problems_add(x->out, SEVERITY_WARNING, ERROR_NONE,
			     "key-without-unique-index", NULL,
			     "no unique index of %s vouches for the key: every "
			     "run looks for keys that repeat, and one stops it",
			     x->source->table);
	}
	free(key);
	return rc;
}

int paged_inspect(struct paged_source *s, const struct source_spec *source,
		  const struct watermark_spec *mark, struct problems *out,
		  struct error *err)
{
	struct paged_look x = { s, source, mark, out };
	const struct source_layout *l;
	int rc;

	paged_end_pass(s);
	rc = paged_layout_for(s, source, mark, err);
	if (rc)
		return rc;
	l = &s->layout;
	for (size_t i = 0; i < l->n_key; i++) {
		const struct source_column *k = l->columns[l->key[i]];
		if (k->nullable && !l->table.view)
			problems_add(out, SEVERITY_WARNING, ERROR_NONE,
				     "key-nullable", NULL,
				     "key column \"%s\" of %s may be NULL: "
				     "such a row stops the run",
				     k->name, source->table);
	}
	if (!l->key_unique)
		rc = inspect_repeats(&x, err);
	return rc ? rc : inspect_nulls(&x, err);
}

static bool suggest_is_id(const struct paged_source *s,
			  const struct source_column *c)
{
	return (c->type.kind == TYPE_INT32 || c->type.kind == TYPE_INT64 ||
		c->type.kind == TYPE_UINT64) &&
	       s->dialect->rules.mark_fits(c, STRATEGY_SEQUENCE);
}

static const struct source_column *suggest_find(const struct paged_source *s,
						const struct source_layout *l,
						const char *const *names,
						bool indexed)
{
	for (size_t i = 0; names[i]; i++) {
		for (size_t j = 0; j < l->n_columns; j++) {
			const struct source_column *c = l->columns[j];
			if (!strcasecmp(c->name, names[i]) &&
			    s->dialect->rules.mark_fits(c,
							STRATEGY_TIMESTAMP) &&
			    c->type.kind != TYPE_DATE &&
			    (!indexed || source_index_begins_with(l, c->name)))
				return c;
		}
	}
	return NULL;
}

static enum strategy suggest_choose(const struct paged_source *s,
				    const struct source_layout *l,
				    char **column, char **reason)
{
	const struct source_column *c = suggest_find(s, l, changed_names, true);
	bool indexed = c != NULL;
	const struct source_column *id =
		l->n_key == 1 ? l->columns[l->key[0]] : NULL;

	if (!c)
		c = suggest_find(s, l, changed_names, false);
	if (c) {
		*column = xstrdup(c->name);
		*reason = xstrfmt("%s says when a row changed%s", c->name,
				  indexed ? ", and has an index"
					  : s->dialect->unindexed);
		return STRATEGY_TIMESTAMP;
	}
	if (id && suggest_is_id(s, id)) {
		*column = xstrdup(id->name);
		*reason = xstrfmt("no column says when a row changed; %s only "
				  "finds rows that are new",
				  id->name);
	} else {
		*column = xstrdup("");
		*reason = xstrdup("no column says when a row changed, and none "
				  "counts up: mode replace copies the table "
				  "anew");
	}
	return STRATEGY_SEQUENCE;
}

int paged_suggest(struct connector *base, const char *table,
		  enum strategy *strategy, char **column, char **reason,
		  struct error *err)
{
	struct paged_source *s = (struct paged_source *)base;
	const struct strlist none = STRLIST_INIT;
	const struct source_spec source = { .table = table,
					    .columns = &none,
					    .key = &none };
	struct source_layout l = { .mark = -1 };
	int rc;

	paged_end_pass(s);
	rc = s->dialect->look(s, &source, NULL, &l, err);
	if (!rc)
		rc = source_layout_choose(&l, &s->dialect->rules, &source, NULL,
					  err);
	if (!rc)
		*strategy = suggest_choose(s, &l, column, reason);
	source_layout_release(&l);
	return rc;
}

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/common/names.h"
#include "connectors/common/paged.h"
#include "connectors/common/trouble.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

static int inspect_repeats(struct paged_source *s, const char *table,
			   struct problems *out, struct error *err)
{
	char *key = NULL;
	int rc = paged_find_repeat(s, &key, err);

	if (key)
		report_repeat(out, table, key);
	else if (!rc)
		report_unvouched(out, table, NULL);
	free(key);
	return rc;
}

int paged_inspect(struct paged_source *s, const struct source_spec *source,
		  const struct watermark_spec *mark, struct problems *out,
		  struct error *err)
{
	const struct source_layout *l = &s->layout;
	const struct source_column *c;
	int64_t nulls = 0;
	int rc;

	paged_end_pass(s);
	rc = paged_layout_for(s, source, mark, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < l->n_key; i++) {
		const struct source_column *k = l->columns[l->key[i]];
		if (k->nullable && !l->table.view)
			report_nullable_key(out, source->table, k->name);
	}
	if (l->n_key && !l->key_unique)
		rc = inspect_repeats(s, source->table, out, err);
	if (rc || !mark)
		return rc;
	c = source_mark(l);
	if (c->nullable)
		rc = paged_count_nulls(s, &nulls, err);
	if (!rc && nulls)
		report_null_marks(out, source->table, c->name, mark->nulls,
				  nulls);
	return rc;
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

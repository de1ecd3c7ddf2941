#include <stdlib.h>
#include <string.h>

#include "connectors/sqlite/source.h"
#include "core/base/alloc.h"
#include "core/data/value.h"

struct spelling {
	struct sqlite_source *s;
	struct batch row; /* the one at hand: its key's columns alone */
	char **wanted; /* sorted */
	size_t n;
};

bool sqlite_source_spells_keys(const struct sqlite_source *s)
{
	const struct source_layout *l = &s->paged.layout;

	for (size_t i = 0; i < l->n_key; i++) {
		const struct sqlite_source_type *how =
			l->columns[l->key[i]]->how;

		if (how->raw)
			return true;
	}
	return false;
}

/* The key at hand as one text. Different keys have different texts. */
static char *spelling_print(const struct spelling *sp)
{
	const struct source_layout *l = &sp->s->paged.layout;
	struct strbuf out = STRBUF_INIT, value = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++) {
		strbuf_reset(&value);
		value_print(&value, &sp->row.vectors[l->key[i]], 0);
		strbuf_addf(&out, "%zu:", value.len);
		strbuf_add(&out, value.data, value.len);
	}
	strbuf_release(&value);
	return strbuf_detach(&out);
}

static int spelling_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A text that is no value of the key's type is stored nowhere. */
static void spelling_want(struct spelling *sp, const struct strlist *keys)
{
	const struct source_layout *l = &sp->s->paged.layout;

	sp->wanted = xcalloc(keys->n / l->n_key + 1, sizeof(*sp->wanted));
	for (size_t at = 0; at < keys->n; at += l->n_key) {
		bool fits = true;

		batch_reset(&sp->row);
		batch_reserve_row(&sp->row);
		for (size_t i = 0; fits && i < l->n_key; i++)
			fits = value_set(&sp->row.vectors[l->key[i]], 0,
					 keys->items[at + i]);
		if (fits)
			sp->wanted[sp->n++] = spelling_print(sp);
	}
	qsort(sp->wanted, sp->n, sizeof(*sp->wanted), spelling_compare);
}

/* False: the key cannot be told, and so is not wanted. */
static bool spelling_decode(struct spelling *sp, struct sqlite_statement *st)
{
	const struct source_layout *l = &sp->s->paged.layout;

	batch_reset(&sp->row);
	batch_reserve_row(&sp->row);
	for (size_t i = 0; i < l->n_key; i++) {
		const struct source_column *c = l->columns[l->key[i]];
		const struct sqlite_source_type *how = c->how;
		struct error ignored = ERROR_INIT;

		if (sqlite_is_null(st, (int)i) ||
		    how->decode(&sp->row.vectors[l->key[i]], 0, st, (int)i,
				&c->type, &ignored))
			return false;
	}
	return true;
}

static void spelling_keep(struct spelling *sp, struct sqlite_statement *st)
{
	const struct source_layout *l = &sp->s->paged.layout;
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++) {
		const struct sqlite_source_type *how =
			l->columns[l->key[i]]->how;

		strbuf_reset(&text);
		if (how->raw)
			sqlite_source_stored(st, (int)i, &text);
		else
			value_print(&text, &sp->row.vectors[l->key[i]], 0);
		strlist_add(&sp->s->spelled_keys, text.data);
	}
	strbuf_release(&text);
}

static void spelling_look_at(struct spelling *sp, struct sqlite_statement *st)
{
	char *key;

	if (!spelling_decode(sp, st))
		return;
	key = spelling_print(sp);
	if (bsearch(&key, sp->wanted, sp->n, sizeof(*sp->wanted),
		    spelling_compare))
		spelling_keep(sp, st);
	free(key);
}

static int spelling_read(struct spelling *sp, struct error *err)
{
	struct sqlite_statement *st = NULL;
	struct strbuf names = STRBUF_INIT;
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	paged_write_key(&names, &sp->s->paged, false);
	paged_write_select(&q, &sp->s->paged, names.data);
	strbuf_addstr(&q.sql, "1 = 1");
	rc = sqlite_prepare(sp->s->db, &st, q.sql.data, err);
	while (!rc && (rc = sqlite_read(st, err)) > 0) {
		spelling_look_at(sp, st);
		rc = 0;
	}
	sqlite_finalize(st);
	paged_query_release(&q);
	strbuf_release(&names);
	return rc;
}

int sqlite_source_spell_keys(struct sqlite_source *s, const struct scan *scan,
			     struct error *err)
{
	struct spelling sp = { .s = s };
	int rc;

	strlist_release(&s->spelled_keys);
	batch_init(&sp.row, scan->schema);
	spelling_want(&sp, scan->keys);
	rc = spelling_read(&sp, err);
	s->spelled = *scan;
	s->spelled.keys = &s->spelled_keys;
	for (size_t i = 0; i < sp.n; i++)
		free(sp.wanted[i]);
	free(sp.wanted);
	batch_release(&sp.row);
	return rc;
}

#include <stdlib.h>
#include <string.h>

#include "connectors/postgres/keyset.h"
#include "connectors/postgres/leaf_list.h"
#include "core/base/log.h"

/* In pending: how far the leaf under way has been read. */
#define LEAF "leaf"

void postgres_source_keyset_release(struct keyset *k)
{
	postgres_source_leaves_release(&k->leaves);
	json_decref(k->known);
	memset(k, 0, sizeof(*k));
}

const struct leaf *postgres_source_keyset_leaf(const struct postgres *c)
{
	const struct keyset *k = &c->keyset;

	return c->pass.step == PAGED_PARTS && c->pass.parts
		       ? &k->leaves.items[k->leaf]
		       : NULL;
}

static void leaves_seek(struct postgres *c)
{
	struct keyset *k = &c->keyset;
	const char *table = c->pass.scan->source->table;
	const struct leaf *leaf;

	k->leaf = 0;
	while (k->leaf < k->leaves.n &&
	       postgres_source_leaf_list_has(k->known,
					     k->leaves.items[k->leaf].oid))
		k->leaf++;
	c->pass.parts = k->leaf < k->leaves.n;
	if (!c->pass.parts)
		return;
	leaf = &k->leaves.items[k->leaf];
	if (c->reread)
		return;
	if (leaf->direct)
		log_info("%s is a new part of %s: its rows up to the mark are "
			 "read too",
			 leaf->sql, table);
	else
		log_warn("%s is a new part of %s: its rows up to the mark are "
			 "looked for in the whole table, as the role may not "
			 "read it by itself (GRANT SELECT ON %s, and no row "
			 "level security)",
			 leaf->sql, table, leaf->sql);
}

/* A table without parts is one leaf, while its rows up to the mark are read
 * again. */
static bool leaves_apply(const struct postgres *c)
{
	return postgres_source_leaf_list_applies(
		       postgres_source_relation(&c->layout)) ||
	       c->reread ||
	       json_object_get(c->pass.scan->from->pending, LEAF_LIST);
}

/* Without a mark the pass reads every leaf from its start. */
int postgres_source_keyset_leaves_begin(struct postgres *c, struct error *err)
{
	struct keyset *k = &c->keyset;
	const struct relation *relation = postgres_source_relation(&c->layout);
	const struct watermark *from = c->pass.scan->from;
	int rc;

	if (!leaves_apply(c))
		return 0;
	rc = postgres_source_leaves_find(c->pg, relation->oid, &k->leaves, err);
	if (rc)
		return rc;
	if (from->value && c->reread) {
		k->known = json_array();
	} else if (from->value) {
		json_t *known = postgres_source_leaf_list_known(relation, from,
								LEAF_LIST);
		k->known = json_deep_copy(known);
		json_decref(known);
	}
	leaves_seek(c);
	return 0;
}

void postgres_source_keyset_leaves_resume(struct postgres *c)
{
	struct keyset *k = &c->keyset;
	const json_t *under_way =
		json_object_get(c->pass.scan->from->pending, LEAF);
	json_int_t oid =
		json_integer_value(json_object_get(under_way, "relation"));
	const json_t *at = json_object_get(under_way, "at");
	size_t n = json_array_size(at);

	if (!c->pass.parts || n != c->layout.n_order)
		return;
	/* A state store may hold what others have written. */
	for (size_t j = 0; j < n; j++)
		if (!json_is_string(json_array_get(at, j)))
			return;
	for (size_t i = 0; i < k->leaves.n; i++) {
		if (k->leaves.items[i].oid != oid ||
		    postgres_source_leaf_list_has(k->known,
						  k->leaves.items[i].oid))
			continue;
		k->leaf = i;
		for (size_t j = 0; j < n; j++)
			strlist_add(&c->pass.last,
				    json_string_value(json_array_get(at, j)));
	}
}

/* New reference, or NULL: a part is not UTF-8. */
static json_t *leaves_position(const struct strlist *last)
{
	json_t *at = json_array();

	for (size_t i = 0; i < last->n; i++) {
		if (!json_array_append_new(at, json_string(last->items[i])))
			continue;
		json_decref(at);
		return NULL;
	}
	return at;
}

void postgres_source_keyset_leaves_note(struct postgres *c)
{
	struct keyset *k = &c->keyset;
	struct watermark *w = &c->pass.mark.at;
	const struct leaf *leaf = postgres_source_keyset_leaf(c);
	json_t *list, *at;

	if (!leaves_apply(c))
		return;
	if (!w->pending)
		w->pending = json_object();
	json_object_del(w->pending, LEAF_LIST);
	json_object_del(w->pending, LEAF);
	if (!postgres_source_leaf_list_applies(
		    postgres_source_relation(&c->layout)) &&
	    !c->pass.parts)
		return;
	list = json_array();
	for (size_t i = 0; i < k->leaves.n; i++) {
		uint32_t oid = k->leaves.items[i].oid;
		if (postgres_source_leaf_list_has(k->known, oid))
			json_array_append_new(list, json_integer(oid));
	}
	json_object_set_new(w->pending, LEAF_LIST, list);
	at = leaf && c->pass.last.n ? leaves_position(&c->pass.last) : NULL;
	if (at)
		json_object_set_new(w->pending, LEAF,
				    json_pack("{s:I, s:o}", "relation",
					      (json_int_t)leaf->oid, "at", at));
}

void postgres_source_keyset_leaves_next(struct postgres *c)
{
	struct keyset *k = &c->keyset;

	json_array_append_new(k->known,
			      json_integer(k->leaves.items[k->leaf].oid));
	strlist_release(&c->pass.last);
	leaves_seek(c);
	postgres_source_keyset_leaves_note(c);
}

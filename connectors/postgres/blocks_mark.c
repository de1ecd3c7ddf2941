#include <inttypes.h>
#include <stdlib.h>

#include "connectors/postgres/blocks.h"
#include "connectors/postgres/durable.h"
#include "connectors/postgres/leaf_list.h"
#include "core/base/alloc.h"

json_t *postgres_source_blocks_list_leaves(const struct postgres *c)
{
	return postgres_source_leaf_list_new(
		postgres_source_relation(&c->layout), &c->blocks.leaves);
}

/* Note where a pass that is cut short goes on. A batch may end within a block,
 * whose rows keep their line numbers until the table has another file. */
void postgres_source_blocks_set_pending(struct postgres *c)
{
	struct blocks *b = &c->blocks;
	struct watermark *w = &c->pass.mark.at;
	const struct leaf *leaf = &b->leaves.items[b->leaf];
	json_t *list = postgres_source_blocks_list_leaves(c);
	char *ceiling = xstrfmt("%" PRIu64, b->ceiling);
	int64_t block = b->streaming ? b->last_block : b->block;
	int offset = b->streaming ? b->last_offset + 1 : b->offset;

	json_decref(w->pending);
	w->pending = json_object();
	json_object_set_new(w->pending, "ceiling", json_string(ceiling));
	json_object_set_new(w->pending, "relation", json_integer(leaf->oid));
	json_object_set_new(w->pending, "file", json_integer(leaf->file));
	json_object_set_new(w->pending, "block", json_integer(block));
	if (offset)
		json_object_set_new(w->pending, "offset", json_integer(offset));
	if (list)
		json_object_set_new(w->pending, LEAF_LIST, list);
	if (list && b->known)
		json_object_set(w->pending, "known", b->known);
	free(ceiling);
}

/* The pass is over: its ceiling is the mark. */
void postgres_source_blocks_settle_mark(struct postgres *c)
{
	struct blocks *b = &c->blocks;
	struct watermark *w = &c->pass.mark.at;
	json_t *list = postgres_source_blocks_list_leaves(c);

	free(w->value);
	w->value = xstrfmt("%" PRIu64, b->ceiling);
	json_decref(w->pending);
	w->pending = list ? json_pack("{s:o}", LEAF_LIST, list) : NULL;
}

/* In a pass that was cut short, LEAF_LIST are its own and "known" those of the
 * passes before it. */
void postgres_source_blocks_read_known(struct postgres *c)
{
	struct blocks *b = &c->blocks;
	const struct watermark *from = c->pass.scan->from;
	bool midway = json_object_get(from->pending, "ceiling") != NULL;

	b->known = postgres_source_leaf_list_known(
		postgres_source_relation(&c->layout), from,
		midway ? "known" : LEAF_LIST);
}

/* Take up a pass that was cut short, if its tables are still the same. */
void postgres_source_blocks_resume(struct postgres *c)
{
	struct blocks *b = &c->blocks;
	const json_t *pending = c->pass.scan->from->pending;
	const char *ceiling =
		json_string_value(json_object_get(pending, "ceiling"));
	json_int_t relation =
		json_integer_value(json_object_get(pending, "relation"));
	json_t *list = postgres_source_blocks_list_leaves(c);
	bool same = ceiling &&
		    (!list ||
		     json_equal(list, json_object_get(pending, LEAF_LIST)));

	json_decref(list);
	for (size_t i = 0; same && i < b->leaves.n; i++) {
		struct leaf *leaf = &b->leaves.items[i];
		if (leaf->oid != relation)
			continue;
		b->leaf = i;
		b->ceiling = strtoull(ceiling, NULL, 10);
		b->extracts = 1;
		/* It was durable when it was stored. */
		postgres_source_durable_begin(c, 0);
		/* If the file is gone, no block of the new one has been
		 * read. */
		if (leaf->file !=
		    json_integer_value(json_object_get(pending, "file")))
			continue;
		b->block =
			json_integer_value(json_object_get(pending, "block"));
		b->offset = (int)json_integer_value(
			json_object_get(pending, "offset"));
	}
}

/* A partition that was attached since holds rows of any age. */
void postgres_source_blocks_mark_whole(struct postgres *c)
{
	struct blocks *b = &c->blocks;

	free(b->whole);
	b->whole = xcalloc(b->leaves.n + 1, sizeof(*b->whole));
	for (size_t i = 0; i < b->leaves.n; i++)
		b->whole[i] = b->everything ||
			      !postgres_source_leaf_list_has(
				      b->known, b->leaves.items[i].oid);
}

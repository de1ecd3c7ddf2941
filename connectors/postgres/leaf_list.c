#include "connectors/postgres/leaf_list.h"

bool postgres_source_leaf_list_applies(const struct relation *relation)
{
	return relation->has_children || relation->kind == RELATION_PARTITIONED;
}

json_t *postgres_source_leaf_list_new(const struct relation *relation,
				      const struct leaves *leaves)
{
	json_t *list;

	if (!postgres_source_leaf_list_applies(relation))
		return NULL;
	list = json_array();
	for (size_t i = 0; i < leaves->n; i++)
		json_array_append_new(list, json_integer(leaves->items[i].oid));
	return list;
}

/* Without a list there was nothing to tell apart: a table that had no heirs
 * knew only itself. */
json_t *postgres_source_leaf_list_known(const struct relation *relation,
					const struct watermark *from,
					const char *member)
{
	json_t *known = json_object_get(from->pending, member);

	if (known)
		return json_incref(known);
	if (from->value && relation->has_children &&
	    relation->kind == RELATION_TABLE)
		return json_pack("[I]", (json_int_t)relation->oid);
	return NULL;
}

bool postgres_source_leaf_list_has(const json_t *known, uint32_t oid)
{
	size_t i;
	json_t *item;

	if (!known)
		return true;
	json_array_foreach(known, i, item)
	{
		if (json_integer_value(item) == oid)
			return true;
	}
	return false;
}

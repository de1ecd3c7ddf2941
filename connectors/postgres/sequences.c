#include "connectors/postgres/sequences.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* pg_depend: 'a' and 'i' link a serial or identity column to its sequence, a
 * default depends on the sequences that it calls. */
static const char sequences_sql[] =
	"WITH col AS (\n"
	"  SELECT attrelid, attnum FROM pg_attribute\n"
	"  WHERE attrelid = $1::oid AND attname = $2),\n"
	"seq(oid) AS (\n"
	"  SELECT d.objid FROM pg_depend d JOIN col\n"
	"    ON d.refobjid = col.attrelid AND d.refobjsubid = col.attnum\n"
	"  WHERE d.classid = 'pg_class'::regclass\n"
	"    AND d.refclassid = 'pg_class'::regclass\n"
	"    AND d.deptype IN ('a', 'i')\n"
	"  UNION\n"
	"  SELECT d.refobjid FROM pg_attrdef ad JOIN col\n"
	"    ON ad.adrelid = col.attrelid AND ad.adnum = col.attnum\n"
	"  JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass\n"
	"    AND d.objid = ad.oid AND d.refclassid = 'pg_class'::regclass)\n"
	"SELECT s.seqrelid::regclass, s.seqcache, s.seqincrement < 0,\n"
	"  s.seqcycle,\n"
	"  CASE WHEN has_sequence_privilege(s.seqrelid, 'USAGE, SELECT')\n"
	"       THEN pg_sequence_last_value(s.seqrelid) END,\n"
	"  pg_relation_filenode(s.seqrelid),\n"
	"  concat_ws(' ', s.seqtypid, s.seqstart, s.seqincrement, s.seqmin,\n"
	"    s.seqmax, s.seqcache, s.seqcycle, c.relpersistence)\n"
	"FROM pg_sequence s JOIN seq ON seq.oid = s.seqrelid\n"
	"  JOIN pg_class c ON c.oid = s.seqrelid ORDER BY 1";

int sequences_find(struct pg *pg, const struct relation *relation,
		   const struct layout_column *column, struct sequences *out,
		   struct error *err)
{
	struct pg_result *r = NULL;
	char *oid = xstrfmt("%u", relation->oid);
	const char *params[] = { oid, column->name };
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!column->expression)
		rc = pg_query(pg, &r, sequences_sql, 2, params, err);
	free(oid);
	if (rc || !r)
		return rc;
	out->n = (size_t)pg_rows(r);
	out->items = xcalloc(out->n ? out->n : 1, sizeof(*out->items));
	for (int i = 0; i < pg_rows(r); i++) {
		struct sequence_info *s = &out->items[i];
		s->name = xstrdup(pg_value(r, i, 0));
		s->cache = strtoll(pg_value(r, i, 1), NULL, 10);
		s->descending = *pg_value(r, i, 2) == 't';
		s->cycles = *pg_value(r, i, 3) == 't';
		s->last = xstrdup(pg_value(r, i, 4));
		s->file = strtoll(pg_value(r, i, 5), NULL, 10);
		s->definition = xstrdup(pg_value(r, i, 6));
	}
	pg_result_free(r);
	return 0;
}

json_t *sequences_note(const struct sequences *s)
{
	json_t *note = json_object();

	for (size_t i = 0; i < s->n; i++)
		json_object_set_new(note, s->items[i].name,
				    json_pack("[I, s]",
					      (json_int_t)s->items[i].file,
					      s->items[i].definition));
	return note;
}

/* RESTART gives a sequence another file, and so does every change of its
 * definition, which leaves its position; setval() changes neither. */
bool sequence_restarted(const struct sequence_info *s, const json_t *note)
{
	const json_t *before = json_object_get(note, s->name);
	const char *definition = json_string_value(json_array_get(before, 1));

	return definition && !strcmp(definition, s->definition) &&
	       json_integer_value(json_array_get(before, 0)) != s->file;
}

void sequences_release(struct sequences *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->items[i].name);
		free(s->items[i].last);
		free(s->items[i].definition);
	}
	free(s->items);
	memset(s, 0, sizeof(*s));
}

#include <stdlib.h>
#include <string.h>

#include "connectors/common/settle.h"
#include "connectors/mysql/source.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

/* Compared with the mark's table, this one is the same, another, or has other
 * partitions. */
enum lineage {
	LINEAGE_SAME,
	LINEAGE_PARTS, /* some of its partitions are others */
	LINEAGE_OTHER, /* made anew, or rebuilt */
};

static bool lineage_has_part(const json_t *parts, const json_t *id)
{
	const char *name;
	json_t *known;

	json_object_foreach((json_t *)parts, name, known)
	{
		if (json_equal(known, id))
			return true;
	}
	return false;
}

/* A partition keeps its id while other partitions come, go, and are
 * exchanged. */
static enum lineage lineage_of_parts(const json_t *before, const json_t *now)
{
	size_t kept = 0;
	const char *name;
	json_t *id;

	json_object_foreach((json_t *)now, name, id) kept +=
		lineage_has_part(before, id);
	if (kept == json_object_size(now))
		return LINEAGE_SAME;
	return kept ? LINEAGE_PARTS : LINEAGE_OTHER;
}

/* The time of creation counts only where one of them has no id: it also changes
 * when a partition is added. */
static enum lineage lineage_find(const json_t *before, const json_t *now)
{
	const json_t *was = json_object_get(before, "table_id");
	const json_t *is = json_object_get(now, "table_id");

	if (json_is_object(was) && json_is_object(is))
		return lineage_of_parts(was, is);
	if (!was || !is) {
		was = json_object_get(before, "table_created");
		is = json_object_get(now, "table_created");
	}
	return was && is && !json_equal(was, is) ? LINEAGE_OTHER : LINEAGE_SAME;
}

/* The row where the mark stands: its mark and its key. */
static void lineage_write_position(struct paged_query *q,
				   const struct paged_source *s,
				   const struct watermark *from)
{
	const struct source_layout *l = &s->layout;

	paged_write_mark(q, s, "=", from->value);
	for (size_t i = 0; i < l->n_key; i++) {
		if ((long)l->key[i] == l->mark)
			continue;
		strbuf_addstr(&q->sql, " AND ");
		paged_write_compare(q, s, l->columns[l->key[i]], "=",
				    from->key.items[i]);
	}
}

/* Is there a row at the mark (`position`), or else one at or below its
 * value? */
static int lineage_look(struct mysql_source *c, const struct watermark *from,
			bool position, bool *found, struct error *err)
{
	struct paged_answer r = { 0 };
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	paged_write_select(&q, &c->paged, "1");
	if (position)
		lineage_write_position(&q, &c->paged, from);
	else
		paged_write_mark(&q, &c->paged, "<=", from->value);
	strbuf_addstr(&q.sql, " LIMIT 1");
	rc = mysql_source_query(&c->paged, &q, &r, err);
	*found = !rc && r.n_rows > 0;
	paged_answer_release(&r);
	paged_query_release(&q);
	return rc;
}

static int lineage_refuse(const struct mysql_source *c,
			  const struct watermark *from, const char *what,
			  struct error *err)
{
	const struct source_spec *source = c->paged.described;
	struct strbuf word = STRBUF_INIT;

	watermark_add_word(from, &word);
	error_set(err, ERROR_SCHEMA,
		  "%s " ERROR_FIX
		  "If it was just rebuilt, `tidemark watermark set %s "
		  "%s` keeps the mark. Else:",
		  what, source && source->call ? source->call : "PIPELINE",
		  word.data);
	strbuf_release(&word);
	return settle_way_out(source, err);
}

/* Ask the rows. If none lies at or below the mark, the run is going to read all
 * of them. If the very row of the mark is still there with its time, these are
 * the rows that earlier runs read. An id proves nothing: another table has it
 * too. */
static int lineage_ask_rows(struct mysql_source *c,
			    const struct watermark_spec *mark,
			    const struct watermark *from, bool *read,
			    struct error *err)
{
	bool found = false;
	int rc = lineage_look(c, from, false, &found, err);

	*read = !found;
	if (rc || !found)
		return rc;
	if (mark->strategy != STRATEGY_TIMESTAMP || !from->key.n ||
	    from->key.n != c->paged.layout.n_key)
		return 0;
	return lineage_look(c, from, true, read, err);
}

/* The same of one partition. */
static int lineage_ask_part(struct mysql_source *c,
			    const struct watermark_spec *mark,
			    const struct watermark *from, const char *part,
			    bool *read, struct error *err)
{
	struct source_table *t = &c->paged.layout.table;
	struct strbuf sql = STRBUF_INIT;
	char *whole = t->sql;
	int rc;

	strbuf_addf(&sql, "%s PARTITION (", whole);
	sql_quote_name(&sql, part, '`');
	strbuf_addch(&sql, ')');
	t->sql = sql.data;
	rc = lineage_ask_rows(c, mark, from, read, err);
	t->sql = whole;
	strbuf_release(&sql);
	return rc;
}

/* Partitions that the mark does not know hold rows of any age. */
static int lineage_check_parts(struct mysql_source *c,
			       const struct watermark_spec *mark,
			       const struct watermark *from, struct error *err)
{
	const json_t *before = json_object_get(from->identity, "table_id");
	json_t *now = json_object_get(c->identity, "table_id");
	const char *name;
	json_t *id;

	json_object_foreach(now, name, id)
	{
		bool read = true;
		char *what;
		int rc = 0;
		if (!lineage_has_part(before, id))
			rc = lineage_ask_part(c, mark, from, name, &read, err);
		if (rc)
			return rc;
		if (read)
			continue;
		what = xstrfmt("partition %s of %s is not the one that the "
			       "mark knows: it was exchanged, truncated or "
			       "rebuilt (REORGANIZE, OPTIMIZE), and it has "
			       "rows at or below the mark that may never have "
			       "been read.",
			       name, c->paged.layout.table.name);
		rc = lineage_refuse(c, from, what, err);
		free(what);
		return rc;
	}
	return 0;
}

/* These servers know no table that is the same after OPTIMIZE and another
 * after DROP and CREATE. */
static int lineage_check_table(struct mysql_source *c,
			       const struct watermark_spec *mark,
			       const struct watermark *from, struct error *err)
{
	bool read = true;
	char *what;
	int rc = lineage_ask_rows(c, mark, from, &read, err);

	if (rc || read)
		return rc;
	what = xstrfmt("%s is not the table that the mark was taken of: it was "
		       "dropped and created again, truncated, or rebuilt "
		       "(OPTIMIZE, or an ALTER that copies), and its rows do "
		       "not tell which.",
		       c->paged.layout.table.name);
	rc = lineage_refuse(c, from, what, err);
	free(what);
	return rc;
}

int mysql_source_check_lineage(struct mysql_source *c,
			       const struct watermark_spec *mark,
			       const struct watermark *from, struct error *err)
{
	if (!from->value)
		return 0;
	switch (lineage_find(from->identity, c->identity)) {
	case LINEAGE_PARTS:
		return lineage_check_parts(c, mark, from, err);
	case LINEAGE_OTHER:
		return lineage_check_table(c, mark, from, err);
	case LINEAGE_SAME:
		break;
	}
	return 0;
}

#include <stdlib.h>
#include <string.h>

#include "connectors/common/settle.h"
#include "connectors/mysql/source.h"
#include "core/base/alloc.h"
#include "core/base/shell.h"

/* What changes when the table is made anew, and also when it is rebuilt. */
static const char *const lineage_members[] = { "table_id", "table_created" };

static bool lineage_is_other(const json_t *before, const json_t *now)
{
	for (size_t i = 0; i < ARRAY_SIZE(lineage_members); i++) {
		const char *was = json_string_value(
			json_object_get(before, lineage_members[i]));
		const char *is = json_string_value(
			json_object_get(now, lineage_members[i]));
		if (was && is && strcmp(was, is) != 0)
			return true;
	}
	return false;
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

/* Is there a row at the mark's position, or else at or below the mark? */
static int lineage_look(struct mysrc *c, const struct watermark *from,
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
	rc = mysrc_query(&c->paged, &q, &r, err);
	*found = !rc && r.n_rows > 0;
	paged_answer_release(&r);
	paged_query_release(&q);
	return rc;
}

static int lineage_refuse(const struct mysrc *c, const struct watermark *from,
			  struct error *err)
{
	struct watermark plain;
	struct strbuf word = STRBUF_INIT;
	char *text;

	watermark_init(&plain);
	watermark_copy(&plain, from);
	json_decref(plain.identity);
	plain.identity = NULL;
	text = watermark_to_text(&plain);
	/* The mark holds a key: what stands in it is data, not a command. */
	shell_add_word(&word, text);
	error_set(err, ERROR_SCHEMA,
		  "%s is not the table that the mark was taken of: it was "
		  "dropped and created again, truncated, or rebuilt (OPTIMIZE, "
		  "or an ALTER that copies), and its rows do not tell "
		  "which. " ERROR_FIX
		  "If it was just rebuilt, `tidemark watermark set PIPELINE "
		  "%s` keeps the mark. Else " SETTLE_WAY_OUT,
		  c->paged.layout.table.name, word.data);
	strbuf_release(&word);
	free(text);
	watermark_release(&plain);
	return -ERROR_SCHEMA;
}

/*
 * These servers know no table that is the same after OPTIMIZE and another
 * after DROP and CREATE. So the rows are asked: if none lies at or below the
 * mark, all of them are going to be read; if the very row where the mark stands
 * is still there, with its time, these are the rows that were read. An id
 * proves nothing: another table has it too.
 */
int mysrc_check_lineage(struct mysrc *c, const struct watermark_spec *mark,
			const struct watermark *from, struct error *err)
{
	bool found = false;
	int rc;

	if (!from->value || !lineage_is_other(from->identity, c->identity))
		return 0;
	rc = lineage_look(c, from, false, &found, err);
	if (rc || !found)
		return rc;
	if (mark->strategy == STRATEGY_TIMESTAMP &&
	    from->key.n == c->paged.layout.n_key) {
		rc = lineage_look(c, from, true, &found, err);
		if (rc || found)
			return rc;
	}
	return lineage_refuse(c, from, err);
}

#include <stdlib.h>
#include <string.h>

#include "connectors/duckdb/source.h"
#include "core/base/alloc.h"

/* A key in its form for a list, and the SQL that makes a value of "?". */
static char *lookup_text(const struct paged_source *s, size_t key, size_t i,
			 char **sql)
{
	const struct source_layout *l = &s->layout;
	struct paged_query q;
	char *text;

	paged_query_init(&q);
	s->dialect->value(&q, s, l->columns[l->key[i]],
			  s->pass.scan->keys->items[key * l->n_key + i]);
	text = xstrdup(q.params[0]);
	if (sql)
		*sql = xstrdup(q.sql.data);
	paged_query_release(&q);
	return text;
}

/* A separator that no text of the list holds, and that cannot begin at a text's
 * end. */
static void lookup_separator(const struct strlist *texts, struct strbuf *out)
{
	strbuf_addch(out, '\x1f');
	for (size_t i = 0; i < texts->n; i++)
		while (strstr(texts->items[i], out->data))
			strbuf_addch(out, '\x1e');
}

/* "unnest(string_split(?, ?)) AS k0"; returns the SQL that makes a value of
 * k0. */
static char *lookup_write_list(struct paged_query *q,
			       const struct paged_source *s, size_t first,
			       size_t n, size_t i)
{
	struct strlist texts = STRLIST_INIT;
	struct strbuf separator = STRBUF_INIT, list = STRBUF_INIT;
	char *sql = NULL;

	for (size_t key = first; key < first + n; key++) {
		char *text = lookup_text(s, key, i, sql ? NULL : &sql);

		strlist_add(&texts, text);
		free(text);
	}
	lookup_separator(&texts, &separator);
	for (size_t key = 0; key < texts.n; key++) {
		strbuf_addstr(&list, key ? separator.data : "");
		strbuf_addstr(&list, texts.items[key]);
	}
	strbuf_addf(&q->sql, "unnest(string_split(?, ?)) AS k%zu", i);
	paged_push(q, NULL, list.data);
	paged_push(q, NULL, separator.data);
	strlist_release(&texts);
	strbuf_release(&separator);
	strbuf_release(&list);
	return sql;
}

/* "CAST(k0 AS BIGINT)" of "CAST(? AS BIGINT)" */
static void lookup_write_value(struct strbuf *sb, const char *sql, size_t i)
{
	size_t before = strcspn(sql, "?");

	strbuf_add(sb, sql, before);
	strbuf_addf(sb, "k%zu%s", i, sql + before + 1);
}

/* (a, b) IN (SELECT CAST(k0 AS BIGINT), k1 FROM (SELECT unnest(...) AS k0,
 * unnest(...) AS k1)) is a hash join, which scans the table once. Conditions on
 * thousands of keys would each be tried on each row. */
void duckdb_source_write_keys(struct paged_query *q,
			      const struct paged_source *s, size_t first,
			      size_t n)
{
	const struct source_layout *l = &s->layout;
	struct strbuf values = STRBUF_INIT;
	struct paged_query lists;

	paged_query_init(&lists);
	strbuf_addch(&q->sql, '(');
	for (size_t i = 0; i < l->n_key; i++) {
		char *sql;

		strbuf_addstr(&q->sql, i ? ", " : "");
		s->dialect->ordered(&q->sql, s, l->columns[l->key[i]]);
		strbuf_addstr(&lists.sql, i ? ", " : "");
		sql = lookup_write_list(&lists, s, first, n, i);
		strbuf_addstr(&values, i ? ", " : "");
		lookup_write_value(&values, sql, i);
		free(sql);
	}
	strbuf_addf(&q->sql, ") IN (SELECT %s FROM (SELECT %s))", values.data,
		    lists.sql.data);
	for (int i = 0; i < lists.n; i++)
		paged_push(q, NULL, lists.params[i]);
	paged_query_release(&lists);
	strbuf_release(&values);
}

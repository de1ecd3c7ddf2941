#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/common/tick.h"
#include "connectors/sqlite/source.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"

bool sqlite_source_mark_is_text(const struct sqlite_source *s)
{
	return s->paged.layout.mark >= 0 &&
	       s->paged.strategy == STRATEGY_TIMESTAMP;
}

static const char *const marks_plain[] = {
	"ifnull", "iif", "nullif", "max", "min", "datetime", "strftime", NULL,
};

/* Modifiers that move a date, and formats without seconds. */
static bool marks_moves(const char *literal, size_t n)
{
	if (strchr("+-", *literal) || !strncasecmp(literal, "start of", 8) ||
	    !strncasecmp(literal, "weekday", 7))
		return true;
	return memchr(literal, '%', n) && !memmem(literal, n, "%f", 2) &&
	       !memmem(literal, n, "%S", 2) && !memmem(literal, n, "%s", 2) &&
	       !memmem(literal, n, "%T", 2);
}

static bool marks_is_plain(const struct sqlite_source *s, const char *text)
{
	const struct type type = { .kind = s->notation.separator
						   ? TYPE_TIMESTAMP
						   : TYPE_DATE };
	const char *at = text ? strchr(text, '\'') : NULL;

	while (at && type.kind != TYPE_DATE) {
		const char *end = strchr(at + 1, '\'');

		if (!end || marks_moves(at + 1, (size_t)(end - at - 1)))
			return false;
		at = strchr(end + 1, '\'');
	}
	return tick_is_plain(text, &type, marks_plain);
}

bool sqlite_source_mark_is_plain(const struct sqlite_source *s)
{
	const struct source_column *mark = source_mark(&s->paged.layout);

	return marks_is_plain(s, mark->expression) &&
	       marks_is_plain(s, mark->computed);
}

enum tick_doubt sqlite_source_mark_doubt(const struct sqlite_source *s)
{
	const struct source_column *mark = source_mark(&s->paged.layout);

	return tick_doubt(mark->expression, mark->computed);
}

int sqlite_source_refuse_notation(const struct sqlite_source *s,
				  const char *text, struct error *err)
{
	struct strbuf like = STRBUF_INIT;
	int rc;

	sqlite_source_notation_print(&like, &s->notation, clock_now_us());
	rc = error_set(err, ERROR_DATA,
		       "the mark '%.40s' is not written as the others, such as "
		       "%s: marks are compared as texts. " ERROR_FIX
		       "Write all of them "
		       "alike, or name an expression, such as datetime(...), "
		       "as watermark.column",
		       text, like.data);
	snprintf(err->server_code, sizeof(err->server_code), "%s",
		 CONNECTOR_MARK_NOTATION);
	strbuf_release(&like);
	return rc;
}

/* The greatest value; infinity and numbers do not count. NUMERIC columns would
 * take '0' for the number. */
static int marks_greatest(struct sqlite_source *s, char **out,
			  struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	const char *mark = source_mark(l)->sql;
	char *sql =
		xstrfmt("SELECT %s FROM %s AS %s WHERE %s > '/' AND %s < ':'"
			" ORDER BY %s COLLATE BINARY DESC LIMIT 1",
			mark, l->table.sql, l->table.alias, mark, mark, mark);
	int rc = sqlite_source_value(s, sql, out, err);

	free(sql);
	return rc;
}

/* " UNION ALL SELECT mark, key WHERE mark >= low AND mark < high". With `zone`
 * only marks with another ending. */
static void marks_range(struct sqlite_source *s, struct paged_query *q,
			const char *low, const char *high, const char *zone)
{
	const struct source_layout *l = &s->paged.layout;
	const char *mark = source_mark(l)->sql;

	strbuf_addf(&q->sql, "%sSELECT %s, ", q->sql.len ? " UNION ALL " : "",
		    mark);
	paged_write_key(&q->sql, &s->paged, false);
	strbuf_addf(&q->sql, " FROM %s AS %s WHERE %s < ?", l->table.sql,
		    l->table.alias, mark);
	paged_push(q, NULL, high);
	if (low) {
		strbuf_addf(&q->sql, " AND %s >= ?", mark);
		paged_push(q, NULL, low);
	}
	if (zone) {
		strbuf_addf(&q->sql, " AND substr(%s, -%zu) <> ?", mark,
			    strlen(zone));
		paged_push(q, NULL, zone);
	}
}

/* Look where rows can lie that sort below the mark and may be later. */
static void marks_write_ranges(struct sqlite_source *s, struct paged_query *q,
			       const char *from)
{
	const struct notation *n = &s->notation;
	struct strbuf low = STRBUF_INIT, day = STRBUF_INIT, next = STRBUF_INIT;
	int64_t us = 0;

	/* Numbers; then what no date begins with. */
	marks_range(s, q, NULL, "", NULL);
	marks_range(s, q, "", "/", NULL);
	if (!n->separator || sqlite_source_notation_is_endless(from) ||
	    !sqlite_source_notation_parse(from, &us))
		return;
	us += n->zone_us;
	value_print_timestamp(&day, us, false);
	day.data[day.len = 10] = '\0';
	strbuf_addf(&next, "%s%c", day.data, n->separator);
	/* A day alone, and "13:00" before "T09:00". */
	marks_range(s, q, day.data, next.data, NULL);
	/* In the same second: fractions of another length. */
	strbuf_add(&low, from, 19);
	marks_range(s, q, low.data, from, NULL);
	/* Other zones: they differ by 26 hours at most. */
	strbuf_reset(&low);
	value_print_timestamp(&low, us - 2 * US_PER_DAY, false);
	low.data[low.len = 10] = '\0';
	if (*n->zone)
		marks_range(s, q, low.data, from, n->zone);
	strbuf_release(&low);
	strbuf_release(&day);
	strbuf_release(&next);
}

static int marks_refuse_row(struct sqlite_source *s,
			    struct sqlite_statement *st, struct error *err)
{
	const struct source_layout *l = &s->paged.layout;
	struct strbuf key = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++) {
		const char *text = sqlite_str(st, (int)i + 1);
		strbuf_addf(&key, "%s%s=%.64s", i ? ", " : "",
			    l->columns[l->key[i]]->name, text ? text : "NULL");
	}
	sqlite_source_refuse_notation(s, sqlite_str(st, 0), err);
	error_prefix(err, "table %s, column \"%s\", key %s",
		     s->paged.described->table, source_mark(l)->name, key.data);
	strbuf_release(&key);
	return -ERROR_DATA;
}

static int marks_check_hidden(struct sqlite_source *s, const char *from,
			      struct error *err)
{
	struct sqlite_statement *st = NULL;
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	marks_write_ranges(s, &q, from);
	rc = sqlite_prepare(s->db, &st, q.sql.data, err);
	for (int i = 0; !rc && i < q.n; i++)
		sqlite_source_bind(st, i + 1, TYPE_TEXT, q.params[i]);
	while (!rc && (rc = sqlite_read(st, err)) > 0) {
		bool text = sqlite_class_of(st, 0) == SQLITE_CLASS_TEXT;
		rc = text && sqlite_source_notation_fits(&s->notation,
							 sqlite_str(st, 0))
			     ? 0
			     : marks_refuse_row(s, st, err);
	}
	sqlite_finalize(st);
	paged_query_release(&q);
	return rc;
}

int sqlite_source_find_notation(struct sqlite_source *s,
				const struct watermark *from, struct error *err)
{
	const struct source_column *mark = source_mark(&s->paged.layout);
	struct strbuf value = STRBUF_INIT;
	char *text = NULL;
	int rc = marks_greatest(s, &text, err);

	if (rc)
		return rc;
	sqlite_source_notation_default(mark->type.kind, &s->notation);
	if (text && !sqlite_source_notation_of(text, &s->notation)) {
		sqlite_source_notation_default(mark->type.kind, &s->notation);
		rc = sqlite_source_refuse_notation(s, text, err);
		error_prefix(err, "table %s, column \"%s\"",
			     s->paged.described->table, mark->name);
	}
	free(text);
	if (!rc && from->value) {
		sqlite_source_notation_convert(&value, &s->notation,
					       from->value);
		rc = marks_check_hidden(s, value.data, err);
	}
	strbuf_release(&value);
	return rc;
}

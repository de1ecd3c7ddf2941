#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/common/names.h"
#include "connectors/mysql/source.h"
#include "core/base/alloc.h"

static const char suggest_tables_sql[] =
	"SELECT table_schema, table_name, table_type, table_rows\n"
	"FROM information_schema.tables\n"
	"WHERE table_schema NOT IN ('mysql', 'information_schema',\n"
	"    'performance_schema', 'sys')\n"
	"  AND table_name NOT LIKE '|_tidemark|_%' ESCAPE '|'\n"
	"  AND table_type IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED')\n"
	"ORDER BY BINARY table_schema, BINARY table_name";

struct suggestion {
	enum strategy strategy;
	char *column;
	char *reason;
};

int mysrc_tables(struct connector *base, struct table_list *out,
		 struct error *err)
{
	struct mysrc *c = (struct mysrc *)base;
	const char *database = mydb_database(c->db);
	struct mydb_result *r = NULL;
	int rc;

	mysrc_end_pass(c);
	rc = mydb_query(c->db, &r, suggest_tables_sql, 0, NULL, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < mydb_rows(r); i++) {
		struct strbuf name = STRBUF_INIT;
		struct table_info *t;
		const char *rows = mydb_value(r, i, 3);
		if (*database && strcmp(mydb_value(r, i, 0), database) != 0)
			continue;
		out->items = xgrow(out->items, &out->capacity, out->n + 1,
				   sizeof(*out->items));
		t = &out->items[out->n++];
		table_write(&name, mydb_value(r, i, 0), mydb_value(r, i, 1));
		t->name = strbuf_detach(&name);
		t->kind = xstrdup(strcmp(mydb_value(r, i, 2), "VIEW") ? "table"
								      : "view");
		t->row_estimate = rows ? strtoll(rows, NULL, 10) : -1;
	}
	mydb_result_free(r);
	return 0;
}

static bool suggest_is_time(const struct mysrc_column *c)
{
	return c->type.kind == TYPE_TIMESTAMPTZ ||
	       c->type.kind == TYPE_TIMESTAMP;
}

static bool suggest_is_id(const struct mysrc_column *c)
{
	return c->how->order == ORDER_PLAIN &&
	       (c->type.kind == TYPE_INT32 || c->type.kind == TYPE_INT64 ||
		c->type.kind == TYPE_UINT64);
}

static bool suggest_has_index(const struct mysrc_layout *l, const char *column)
{
	for (size_t i = 0; i < l->n_indexes; i++) {
		const char *first = json_string_value(
			json_array_get(l->indexes[i].columns, 0));
		if (first && !strcmp(first, column))
			return true;
	}
	return false;
}

static const struct mysrc_column *suggest_find(const struct mysrc_layout *l,
					       const char *const *names,
					       bool indexed)
{
	for (size_t i = 0; names[i]; i++) {
		for (size_t j = 0; j < l->n_columns; j++) {
			const struct mysrc_column *c = l->columns[j];
			if (!strcasecmp(c->name, names[i]) &&
			    suggest_is_time(c) &&
			    (!indexed || suggest_has_index(l, c->name)))
				return c;
		}
	}
	return NULL;
}

static void suggest_choose(const struct mysrc_layout *l, struct suggestion *s)
{
	const struct mysrc_column *c = suggest_find(l, changed_names, true);
	bool indexed = c != NULL;
	const struct mysrc_column *id =
		l->n_key == 1 ? l->columns[l->key[0]] : NULL;

	if (!c)
		c = suggest_find(l, changed_names, false);
	s->strategy = c ? STRATEGY_TIMESTAMP : STRATEGY_SEQUENCE;
	if (c) {
		s->column = xstrdup(c->name);
		s->reason = xstrfmt("%s says when a row changed%s", c->name,
				    indexed ? ", and has an index"
					    : "; give it an index");
	} else if (id && suggest_is_id(id)) {
		s->column = xstrdup(id->name);
		s->reason = xstrfmt("no column says when a row changed; %s "
				    "only finds rows that are new",
				    id->name);
	} else {
		s->column = xstrdup("");
		s->reason = xstrdup("no column says when a row changed, and "
				    "none counts up: mode replace copies the "
				    "table anew");
	}
}

int mysrc_suggest(struct connector *base, const char *table,
		  enum strategy *strategy, char **column, char **reason,
		  struct error *err)
{
	struct mysrc *c = (struct mysrc *)base;
	const struct strlist none = STRLIST_INIT;
	const struct source_spec source = { .table = table,
					    .columns = &none,
					    .key = &none };
	struct suggestion s = { STRATEGY_SEQUENCE, NULL, NULL };
	struct mysrc_layout l;
	int rc;

	mysrc_end_pass(c);
	rc = mysrc_layout_read(c->db, &source, NULL, &l, err);
	if (rc)
		return rc;
	suggest_choose(&l, &s);
	mysrc_layout_release(&l);
	*strategy = s.strategy;
	*column = s.column;
	*reason = s.reason;
	return 0;
}

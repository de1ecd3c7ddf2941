#include "core/sync/in_place.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/data/table_name.h"
#include "core/plugin/registry.h"

static bool in_place_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* The end of the word, or of the quoted name or text, that begins at `at`. */
static const char *in_place_word_end(const char *at)
{
	const char *end;

	if (strchr("'\"`", *at)) {
		end = strchr(at + 1, *at);
		return end ? end + 1 : at + strlen(at);
	}
	for (end = at; in_place_is_word(*end);)
		end++;
	return end > at ? end : at + 1;
}

/* The word is the column's name, and neither a function's nor a type's. */
static bool in_place_names(const char *at, const char *end, const char *column,
			   const char *sql)
{
	size_t quoted = *at == '"' || *at == '`', n = (size_t)(end - at);

	if (n - 2 * quoted != strlen(column) ||
	    strncasecmp(at + quoted, column, n - 2 * quoted) != 0)
		return false;
	return end[strspn(end, " \t\r\n")] != '(' &&
	       (at - sql < 2 || strncmp(at - 2, "::", 2) != 0);
}

bool in_place_reads(const char *sql, const char *column)
{
	const char *at = sql, *end;

	for (; *at; at = end) {
		end = in_place_word_end(at);
		if (in_place_names(at, end, column, sql))
			return true;
	}
	return false;
}

/* Only of a server is it known which one it is. */
static bool in_place_may_be(const struct pipeline_settings *p)
{
	struct table_name from = { 0 }, to = { 0 };
	bool may = !*p->source->url.path &&
		   !strcmp(p->source->url.engine, p->destination->url.engine) &&
		   !table_name_parse(&from, p->source_table, NULL) &&
		   !table_name_parse(&to, p->destination_table, NULL) &&
		   !strcmp(from.name, to.name);

	table_name_release(&from);
	table_name_release(&to);
	return may;
}

/* A name may be written in several ways; the rest tells tables apart. */
static bool in_place_same(const json_t *a, const json_t *b)
{
	json_t *x = json_copy((json_t *)a), *y = json_copy((json_t *)b);
	bool known = json_object_get(x, "system_identifier") ||
		     json_object_get(x, "server");
	bool same;

	json_object_del(x, "table");
	json_object_del(y, "table");
	same = known && json_equal(x, y);
	json_decref(x);
	json_decref(y);
	return same;
}

static int in_place_ask(struct connector *c, const struct pipeline_settings *p,
			json_t **identity, struct error *err)
{
	const struct source_spec spec = { .table = p->destination_table,
					  .columns = &p->columns,
					  .key = &p->key };
	struct watermark_spec mark;
	struct schema schema;
	int rc;

	schema_init(&schema);
	settings_watermark_spec(p, &mark);
	rc = c->ops->describe(c, &spec, &mark, &schema, err);
	if (!rc)
		rc = c->ops->identity(c, &spec, identity, err);
	schema_release(&schema);
	return rc;
}

static int in_place_refuse(const struct pipeline_settings *p, struct error *err)
{
	if (p->strategy != STRATEGY_TIMESTAMP)
		return error_set(err, ERROR_CONFIG,
				 "source and destination of %s are the same "
				 "table: only by a timestamp that each change "
				 "moves can mode update tell that a row was "
				 "changed since it was read",
				 p->name);
	if (p->nulls == NULLS_INCLUDE)
		return error_set(err, ERROR_CONFIG,
				 "source and destination of %s are the same "
				 "table: of a row without %s nothing says "
				 "whether it was changed since it was read; "
				 "set watermark.nulls to skip, or fill it",
				 p->name, p->mark_column);
	for (size_t i = 0; i < p->n_expressions; i++) {
		const struct source_expression *e = &p->expressions[i];

		if (in_place_reads(e->sql, e->name))
			return error_set(err, ERROR_CONFIG,
					 "source and destination of %s are the "
					 "same table: " IN_PLACE_READS,
					 p->name, e->name, e->name);
	}
	return 0;
}

int in_place_find(const struct pipeline_settings *p, const json_t *identity,
		  bool *out, struct error *err)
{
	struct connector *c = NULL;
	json_t *other = NULL;
	int rc = 0;

	*out = p->in_place;
	if (!*out && in_place_may_be(p)) {
		rc = registry_open_connector(p->destination, &c, err);
		if (!rc)
			rc = in_place_ask(c, p, &other, err);
		*out = !rc && in_place_same(identity, other);
	}
	if (c)
		c->ops->close(c);
	json_decref(other);
	if (rc && !error_may_pass(err->code)) {
		error_clear(err);
		rc = 0;
	}
	return rc || !*out ? rc : in_place_refuse(p, err);
}

#include "core/store/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/strbuf.h"
#include "core/plugin/registry.h"

int store_find(const struct store_ops **out, const struct connection *conn,
	       struct error *err)
{
	int rc = registry_store(conn->url.engine, out, err);

	return rc ? rc
		  : registry_check_options(&conn->url, (*out)->options, err);
}

int store_open(struct store **out, const struct connection *conn,
	       struct error *err)
{
	const struct store_ops *ops;
	int rc = store_find(&ops, conn, err);

	return rc ? rc : ops->open(out, conn, err);
}

void store_close(struct store *s)
{
	if (s)
		s->ops->close(s);
}

int store_run(struct store *s, const char *sql, const char *const *params,
	      int n_params, const char *shape, store_row row, void *ctx,
	      struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	int rc;

	for (;;) {
		size_t n = strcspn(sql, "@");

		strbuf_add(&text, sql, n);
		sql += n;
		if (!*sql)
			break;
		strbuf_addstr(&text, s->ops->dialect->now_sql);
		sql++;
	}
	rc = s->ops->run(s, text.data, params, n_params, shape, row, ctx, err);
	strbuf_release(&text);
	return rc;
}

int store_exec(struct store *s, const char *sql, const char *const *params,
	       int n_params, struct error *err)
{
	return store_run(s, sql, params, n_params, NULL, NULL, NULL, err);
}

int store_end(struct store *s, int rc, struct error *err)
{
	if (!rc)
		rc = s->ops->commit(s, err);
	if (rc)
		s->ops->rollback(s);
	return rc;
}

int store_note_any(void *ctx, const char *const *values, struct error *err)
{
	(void)values;
	(void)err;
	*(bool *)ctx = true;
	return 0;
}

const char *store_number(char out[STORE_NUMBER_SIZE], int64_t value)
{
	snprintf(out, STORE_NUMBER_SIZE, "%" PRId64, value);
	return out;
}

int64_t store_number_of(const char *text)
{
	return text ? strtoll(text, NULL, 10) : 0;
}

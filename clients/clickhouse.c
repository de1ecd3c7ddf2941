#include "clients/clickhouse.h"

#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse_errors.h"
#include "clients/clickhouse_handle.h"
#include "core/base/alloc.h"

/* A small answer is one that is read whole. */
#define ANSWER_BYTES ((size_t)64 << 20)
#define USER_HEADER  "X-ClickHouse-User: "
/* The oldest that its makers still support. */
#define OLDEST_YEAR  25
#define OLDEST_MONTH 8

void clickhouse_quote_name(struct strbuf *sb, const char *name)
{
	strbuf_addch(sb, '`');
	for (; *name; name++) {
		if (*name == '`' || *name == '\\')
			strbuf_addch(sb, '\\');
		strbuf_addch(sb, *name);
	}
	strbuf_addch(sb, '`');
}

void clickhouse_quote_text(struct strbuf *sb, const char *text)
{
	strbuf_addch(sb, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			strbuf_addch(sb, '\\');
		strbuf_addch(sb, *text);
	}
	strbuf_addch(sb, '\'');
}

/* wait_end_of_query: the answer comes when the statement is over, so that its
 * status tells of every failure on the way. */
char *clickhouse_path(const struct clickhouse *c, bool whole, const char *query)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addstr(&sb, "/?database=");
	http_add_escaped(&sb, c->database);
	strbuf_addf(&sb, "&wait_end_of_query=%d&readonly=%d", whole,
		    c->writes ? 0 : 2);
	clickhouse_settings_write(&sb, c->writes);
	if (c->session)
		strbuf_addf(&sb, "&session_id=%s&session_timeout=300",
			    c->session);
	if (query) {
		strbuf_addstr(&sb, "&query=");
		http_add_escaped(&sb, query);
	}
	return strbuf_detach(&sb);
}

static int clickhouse_run(struct clickhouse *c, struct http_request *request,
			  const char *path, struct http_response *response,
			  struct error *err)
{
	int rc;

	request->method = "POST";
	request->path = path;
	request->headers = c->headers;
	rc = http_do(c->http, request, ANSWER_BYTES, response, err);
	return rc ? rc : clickhouse_check(c->http, response, err);
}

static int clickhouse_ask(struct clickhouse *c, const char *sql, bool once,
			  struct http_response *response, struct error *err)
{
	struct http_request request = { .body = sql,
					.n_body = strlen(sql),
					.once = once };
	char *path = clickhouse_path(c, true, NULL);
	int rc = clickhouse_run(c, &request, path, response, err);

	free(path);
	return rc;
}

static int clickhouse_do(struct clickhouse *c, const char *sql, bool once,
			 struct error *err)
{
	struct http_response response;
	int rc;

	clickhouse_forget_ahead(c);
	http_response_init(&response);
	rc = clickhouse_ask(c, sql, once, &response, err);
	if (!rc)
		rc = clickhouse_check_other(c->http, &response,
					    !response.body.len,
					    "an empty answer", err);
	http_response_release(&response);
	return rc;
}

int clickhouse_exec(struct clickhouse *c, const char *sql, struct error *err)
{
	return clickhouse_do(c, sql, false, err);
}

int clickhouse_exec_once(struct clickhouse *c, const char *sql,
			 struct error *err)
{
	return clickhouse_do(c, sql, true, err);
}

int clickhouse_execf(struct clickhouse *c, struct error *err, const char *fmt,
		     ...)
{
	struct strbuf sql = STRBUF_INIT;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	strbuf_vaddf(&sql, fmt, ap);
	va_end(ap);
	rc = clickhouse_exec(c, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

static int clickhouse_check_type(const struct clickhouse *c,
				 const struct http_response *r,
				 struct error *err)
{
	char *type = http_response_header(r, "Content-Type");
	bool text = !r->body.len || (type && strstr(type, "tab-separated"));

	free(type);
	return clickhouse_check_other(c->http, r, text, "a table of text", err);
}

/* An exception may be all of a text that began as a success. */
static int clickhouse_check_shape(const struct clickhouse *c,
				  const struct http_response *r,
				  const char *shape,
				  struct clickhouse_rows *rows,
				  struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = clickhouse_rows_check(rows, shape, c->shown, &why);

	if (!rc)
		return 0;
	rc = clickhouse_fail_text(err, c->shown, r->body.data, r->body.len);
	if (!rc)
		rc = error_set(err, why.code, "%s", why.message);
	clickhouse_rows_release(rows);
	return rc;
}

int clickhouse_query_anew(struct clickhouse *c, const char *sql,
			  const char *shape, struct clickhouse_rows *out,
			  struct error *err)
{
	struct http_response response;
	char *whole = xstrfmt("%s\nFORMAT TabSeparated", sql);
	int rc;

	memset(out, 0, sizeof(*out));
	http_response_init(&response);
	rc = clickhouse_ask(c, whole, false, &response, err);
	if (!rc)
		rc = clickhouse_check_type(c, &response, err);
	if (!rc) {
		rc = clickhouse_rows_parse(out, response.body.data,
					   response.body.len, err);
		if (rc)
			error_prefix(err, "%s", c->shown);
	}
	if (!rc)
		rc = clickhouse_check_shape(c, &response, shape, out, err);
	http_response_release(&response);
	free(whole);
	return rc;
}

int clickhouse_query(struct clickhouse *c, const char *sql, const char *shape,
		     struct clickhouse_rows *out, struct error *err)
{
	char *text = clickhouse_take_ahead(c, sql);
	int rc;

	if (!text)
		return clickhouse_query_anew(c, sql, shape, out, err);
	rc = clickhouse_rows_parse(out, text, strlen(text), err);
	if (rc)
		error_prefix(err, "%s", c->shown);
	else
		rc = clickhouse_rows_check(out, shape, c->shown, err);
	if (rc)
		clickhouse_rows_release(out);
	free(text);
	return rc;
}

static void clickhouse_add_token(struct strbuf *sb, const char *token)
{
	strbuf_addstr(sb, " SETTINGS async_insert = 0, "
			  "insert_null_as_default = 0");
	if (token) {
		strbuf_addstr(sb, ", insert_deduplication_token = ");
		clickhouse_quote_text(sb, token);
	}
}

int clickhouse_insert(struct clickhouse *c, const char *sql, const char *token,
		      http_source source, void (*rewind)(void *ctx), void *ctx,
		      struct error *err)
{
	struct http_request request = {
		.source = source,
		.rewind = rewind,
		.ctx = ctx,
		.size = -1,
		.pack = c->packs,
	};
	struct http_response response;
	struct strbuf query = STRBUF_INIT;
	char *path;
	int rc;

	clickhouse_forget_ahead(c);
	strbuf_addstr(&query, sql);
	clickhouse_add_token(&query, token);
	/* A column that has got another type meanwhile is an error. A cast
	 * could lose a part of the value. */
	strbuf_addstr(&query, ", input_format_native_allow_types_conversion = "
			      "0 FORMAT Native");
	path = clickhouse_path(c, true, query.data);
	http_response_init(&response);
	rc = clickhouse_run(c, &request, path, &response, err);
	if (!rc)
		rc = clickhouse_check_other(c->http, &response,
					    !response.body.len,
					    "an empty answer", err);
	http_response_release(&response);
	strbuf_release(&query);
	free(path);
	return rc;
}

int clickhouse_insert_select(struct clickhouse *c, const char *insert,
			     const char *token, const char *select,
			     struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addstr(&sql, insert);
	clickhouse_add_token(&sql, token);
	/* Without this, the analyzer of older servers confuses names from a
	 * WITH with stored columns in subqueries. */
	strbuf_addf(&sql, ", enable_global_with_statement = 0\n%s", select);
	rc = clickhouse_exec(c, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

static int clickhouse_check_version(struct clickhouse *c, struct error *err)
{
	struct clickhouse_rows r;
	const char *text;
	char *dot;
	long year, month;
	int rc = clickhouse_query(c, clickhouse_settings_sql, "?", &r, err);

	if (rc)
		return rc;
	text = r.n_rows ? clickhouse_cell(&r, 0, 0) : "";
	year = strtol(text ? text : "", &dot, 10);
	month = *dot == '.' ? strtol(dot + 1, NULL, 10) : 0;
	if (year < OLDEST_YEAR || (year == OLDEST_YEAR && month < OLDEST_MONTH))
		rc = error_set(err, ERROR_ACCESS,
			       "%s is of version %.40s; %d.%d is the oldest "
			       "that its makers support and that is spoken to",
			       c->shown, text ? text : "", OLDEST_YEAR,
			       OLDEST_MONTH);
	else
		rc = clickhouse_settings_check(c, text, err);
	clickhouse_rows_release(&r);
	return rc;
}

static int clickhouse_connect(struct clickhouse *c,
			      const struct connection *conn,
			      const struct url_server *s, struct error *err)
{
	bool tls = !strcmp(conn->url.scheme, "clickhouses");
	const char *host = s->host ? s->host : "localhost";
	const char *bracket = strchr(host, ':') ? "[" : "";
	unsigned port = s->port ? s->port : tls ? 8443 : 8123;
	const char *password = conn->password ? conn->password : s->password;
	char *base = xstrfmt("%s://%s%s%s:%u", tls ? "https" : "http", bracket,
			     host, *bracket ? "]" : "", port);
	int rc;

	c->shown = xstrfmt("ClickHouse at %s:%u", host, port);
	c->database = xstrdup(s->database ? s->database : "default");
	c->user = xstrfmt(USER_HEADER "%s", s->user ? s->user : "default");
	c->key = xstrfmt("X-ClickHouse-Key: %s", password ? password : "");
	c->headers[0] = c->user;
	c->headers[1] = password ? c->key : "X-Tidemark: 1";
	c->headers[2] = "Content-Type: application/octet-stream";
	if (strpbrk(c->user, "\r\n") || strpbrk(c->key, "\r\n"))
		rc = error_set(err, ERROR_CONFIG,
			       "%s: the user's name or password has a line's "
			       "end in it",
			       c->shown);
	else
		rc = http_open(&c->http, conn, base, c->shown, err);
	if (rc && !tls && err && err->code == ERROR_CONFIG)
		error_hint(err, "write clickhouses:// for TLS");
	free(base);
	if (rc)
		return rc;
	http_heed_stop(c->http, true);
	rc = clickhouse_check_version(c, err);
	http_heed_stop(c->http, false);
	return rc;
}

int clickhouse_open(struct clickhouse **out, const struct connection *conn,
		    bool writes, struct error *err)
{
	struct clickhouse *c = xcalloc(1, sizeof(*c));
	struct url_server server;
	int rc;

	c->writes = writes;
	http_response_init(&c->response);
	strbuf_init(&c->waiting);
	rc = clickhouse_take_options(&conn->url, &c->packs, err);
	if (!rc)
		rc = url_server_parse(&server, &conn->url, err);
	if (!rc) {
		rc = clickhouse_connect(c, conn, &server, err);
		url_server_release(&server);
	}
	if (rc)
		clickhouse_close(c);
	else
		*out = c;
	return rc;
}

void clickhouse_close(struct clickhouse *c)
{
	if (!c)
		return;
	clickhouse_select_end(c);
	clickhouse_forget_ahead(c);
	http_close(c->http);
	http_response_release(&c->response);
	strbuf_release(&c->waiting);
	free(c->shown);
	free(c->database);
	free(c->session);
	free(c->user);
	free(c->key);
	free(c);
}

void clickhouse_interrupt(struct clickhouse *c)
{
	http_interrupt(c->http);
}

void clickhouse_use_session(struct clickhouse *c, const char *id)
{
	free(c->session);
	c->session = xstrdup(id);
}

const char *clickhouse_database(const struct clickhouse *c)
{
	return c->database;
}

const char *clickhouse_user(const struct clickhouse *c)
{
	return c->user + strlen(USER_HEADER);
}

const char *clickhouse_shown(const struct clickhouse *c)
{
	return c->shown;
}

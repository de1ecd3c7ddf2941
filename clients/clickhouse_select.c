#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse.h"
#include "clients/clickhouse_errors.h"
#include "clients/clickhouse_handle.h"
#include "core/base/alloc.h"

#define READ_BYTES    ((size_t)64 << 10)
#define VALUE_BYTES   ((size_t)1 << 30)
#define FAILURE_BYTES ((size_t)64 << 10)
#define ROW_BEGINS    1
/* Limit for names and types, and the cost of keeping each one. */
#define HEAD_BYTES ((size_t)16 << 20)
#define HEAD_COST  ((size_t)64)

void clickhouse_select_end(struct clickhouse *c)
{
	if (!c->sql)
		return;
	http_end(c->http);
	strbuf_reset(&c->waiting);
	c->taken = 0;
	free(c->path);
	free(c->sql);
	strlist_release(&c->types);
	c->path = c->sql = NULL;
}

/* The rest of the answer says what went wrong. */
static int select_fail(struct clickhouse *c, struct error *err)
{
	struct http_response *r = &c->response;
	struct error ignored = ERROR_INIT;
	int rc = http_drain(c->http, r, FAILURE_BYTES, true, &ignored);

	if (!clickhouse_check(c->http, r, err) && rc)
		error_set(err, ignored.code, "%s", ignored.message);
	clickhouse_select_end(c);
	return err && err->code
		       ? -(int)err->code
		       : error_set(err, ERROR_TRANSIENT,
				   "%s: the answer is no rows", c->shown);
}

static int select_check_type(struct clickhouse *c, struct error *err)
{
	char *type = http_response_header(&c->response, "Content-Type");
	bool rows = type && !strncmp(type, "application/octet-stream", 24);

	free(type);
	return clickhouse_check_other(c->http, &c->response, rows, "rows", err);
}

/* Wait until at least `n` bytes are there, or the answer ends. Returns how many
 * there are. */
static int select_fill(struct clickhouse *c, size_t n, size_t *there,
		       struct error *err)
{
	size_t got = 1;
	int rc = 0;

	if (c->taken && c->waiting.len - c->taken < n) {
		memmove(c->waiting.data, c->waiting.data + c->taken,
			c->waiting.len - c->taken);
		c->waiting.len -= c->taken;
		c->taken = 0;
	}
	while (!rc && got && c->waiting.len - c->taken < n) {
		char *to = strbuf_reserve(&c->waiting, READ_BYTES);

		rc = http_read(c->http, to, READ_BYTES, &got, err);
		c->waiting.len += got;
	}
	*there = c->waiting.len - c->taken;
	return rc;
}

/* An exception stands in the middle, where a row would begin. */
static int select_broken(struct clickhouse *c, struct error *err)
{
	size_t there = 0;
	int rc = select_fill(c, FAILURE_BYTES, &there, NULL);

	(void)rc;
	if (!clickhouse_fail_text(err, c->shown, c->waiting.data + c->taken,
				  there))
		error_set(err, ERROR_TRANSIENT,
			  "%s: the answer breaks off in the middle of a row",
			  c->shown);
	clickhouse_select_end(c);
	return err ? -(int)err->code : -ERROR_TRANSIENT;
}

int clickhouse_next(struct clickhouse *c, struct error *err)
{
	size_t there = 0;
	int rc = 0;

	if (c->waiting.len == c->taken)
		rc = select_fill(c, 1, &there, err);
	if (rc)
		return rc;
	if (c->waiting.len == c->taken)
		return 0;
	if (c->waiting.data[c->taken] != ROW_BEGINS)
		return select_broken(c, err);
	c->taken++;
	return 1;
}

int clickhouse_take(struct clickhouse *c, size_t n, const uint8_t **out,
		    struct error *err)
{
	size_t there = c->waiting.len - c->taken;
	int rc = 0;

	if (there < n)
		rc = select_fill(c, n, &there, err);
	if (rc)
		return rc;
	if (there < n)
		return select_broken(c, err);
	*out = (const uint8_t *)c->waiting.data + c->taken;
	c->taken += n;
	return 0;
}

int clickhouse_take_length(struct clickhouse *c, size_t *out, struct error *err)
{
	const uint8_t *byte = NULL;
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 63; shift += 7) {
		int rc = clickhouse_take(c, 1, &byte, err);

		if (rc || !byte)
			return rc;
		value |= (uint64_t)(*byte & 0x7f) << shift;
		if (*byte & 0x80)
			continue;
		if (value > VALUE_BYTES)
			break;
		*out = (size_t)value;
		return 0;
	}
	return error_set(err, ERROR_DATA, "%s: a value of more than %zu bytes",
			 c->shown, VALUE_BYTES);
}

static int select_take_text(struct clickhouse *c, struct strlist *out,
			    size_t *left, struct error *err)
{
	const uint8_t *text = NULL;
	size_t n = 0;
	char *copy;
	int rc = clickhouse_take_length(c, &n, err);

	if (!rc && n + HEAD_COST > *left)
		return error_set(err, ERROR_ACCESS,
				 "%s: the names and types of the rows take "
				 "more than %zu bytes",
				 c->shown, HEAD_BYTES);
	if (!rc)
		rc = clickhouse_take(c, n, &text, err);
	if (rc)
		return rc;
	*left -= n + HEAD_COST;
	copy = xstrndup((const char *)text, n);
	strlist_add(out, copy);
	free(copy);
	return 0;
}

/* How many columns there are, their names and their types. An answer without
 * any is one without rows. */
static int select_read_head(struct clickhouse *c, size_t width,
			    struct error *err)
{
	struct strlist names = STRLIST_INIT, types = STRLIST_INIT;
	size_t n = 0, left = HEAD_BYTES;
	int rc = select_fill(c, 1, &n, err);

	if (rc || !n)
		return rc;
	rc = clickhouse_take_length(c, &n, err);
	if (!rc && n != width + 1)
		rc = error_set(err, ERROR_TRANSIENT,
			       "%s: the answer has %zu columns where %zu are "
			       "due",
			       c->shown, n, width + 1);
	for (size_t i = 0; !rc && i < n; i++)
		rc = select_take_text(c, &names, &left, err);
	for (size_t i = 0; !rc && i < n; i++)
		rc = select_take_text(c, &types, &left, err);
	strlist_release(&names);
	c->types = types;
	return rc;
}

int clickhouse_select(struct clickhouse *c, const char *sql, size_t width,
		      struct error *err)
{
	int rc;

	clickhouse_select_end(c);
	clickhouse_forget_ahead(c);
	c->path = clickhouse_path(c, false, NULL);
	c->sql = xstrfmt("SELECT toUInt8(%d), %s\n"
			 "FORMAT RowBinaryWithNamesAndTypes",
			 ROW_BEGINS, sql + strlen("SELECT "));
	c->request = (struct http_request){ .method = "POST",
					    .path = c->path,
					    .headers = c->headers,
					    .body = c->sql,
					    .n_body = strlen(c->sql) };
	rc = http_begin(c->http, &c->request, &c->response, err);
	if (!rc && c->response.status != 200)
		return select_fail(c, err);
	if (!rc)
		rc = select_check_type(c, err);
	if (!rc)
		rc = select_read_head(c, width, err);
	if (rc)
		clickhouse_select_end(c);
	return rc;
}

const char *clickhouse_select_type(const struct clickhouse *c, size_t column)
{
	/* The first is what rows begin with. */
	return column + 1 < c->types.n ? c->types.items[column + 1] : NULL;
}

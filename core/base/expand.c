#include "core/base/expand.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/secret.h"
#include "core/base/trust.h"
#include "core/base/url_secrets.h"

#define EXPAND_FILE_LIMIT (64 * 1024)
#define FILE_READ_SIZE	  (16 * 1024)

static int file_fail(const char *path, struct error *err)
{
	return error_set(err, ERROR_CONFIG, "cannot read %s: %s", path,
			 strerror(errno));
}

static int file_read_all(struct strbuf *out, int fd, const char *path,
			 size_t limit, struct error *err)
{
	size_t start = out->len;

	for (;;) {
		char *room = strbuf_reserve(out, FILE_READ_SIZE);
		ssize_t n = room ? read(fd, room, FILE_READ_SIZE) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return file_fail(path, err);
		if (n == 0)
			return 0;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
		if (out->len - start > limit)
			return error_set(err, ERROR_CONFIG,
					 "%s is larger than %zu KiB", path,
					 limit / 1024);
	}
}

int file_read(struct strbuf *out, const char *path, size_t limit,
	      struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return file_fail(path, err);
	rc = file_read_all(out, fd, path, limit, err);
	close(fd);
	return rc;
}

static int expand_file(struct strbuf *out, const char *path, struct error *err)
{
	struct strbuf content = STRBUF_INIT;
	int rc = file_read(&content, path, EXPAND_FILE_LIMIT, err);

	if (!rc)
		rc = trust_check(path, TRUST_SECRET, "a file with a secret",
				 err);
	if (rc)
		goto out;
	if (content.len && content.data[content.len - 1] == '\n')
		content.data[--content.len] = '\0';
	if (content.len && content.data[content.len - 1] == '\r')
		content.data[--content.len] = '\0';
	if (strlen(content.data) != content.len) {
		rc = error_set(err, ERROR_CONFIG, "%s holds a NUL byte", path);
		goto out;
	}
	secret_add(content.data);
	strbuf_addstr(out, content.data);
out:
	strbuf_release(&content);
	return rc;
}

static bool expand_is_name(const char *name, size_t n)
{
	if (!n || isdigit((unsigned char)*name))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

static int expand_variable(struct strbuf *out, char *inside, struct error *err)
{
	char *fallback = strstr(inside, ":-");
	size_t n = fallback ? (size_t)(fallback - inside) : strlen(inside);
	const char *value;

	if (!expand_is_name(inside, n))
		return error_set(err, ERROR_CONFIG,
				 "${%.60s}: not a variable's name; expected "
				 "${VAR}, ${VAR:-text} or ${file:PATH} "
				 "($${ is a literal ${)",
				 inside);
	inside[n] = '\0';
	value = getenv(inside);
	if (value && (*value || !fallback))
		strbuf_addstr(out, value);
	else if (fallback)
		strbuf_addstr(out, fallback + 2);
	else
		return error_set(err, ERROR_CONFIG,
				 "${%s}: the environment variable %s is not "
				 "set; set it, or write ${%s:-text}",
				 inside, inside, inside);
	return 0;
}

/* One reference, `*at` on its "${"; left behind its "}". */
static int expand_reference(struct strbuf *out, const char **at,
			    struct error *err)
{
	const char *end = strchr(*at, '}');
	char *inside;
	int rc;

	if (!end)
		return error_set(err, ERROR_CONFIG,
				 "\"${\" without its \"}\" (a literal one is "
				 "written $${)");
	inside = xstrndup(*at + 2, (size_t)(end - *at - 2));
	if (!strncmp(inside, "file:", 5))
		rc = expand_file(out, inside + 5, err);
	else
		rc = expand_variable(out, inside, err);
	free(inside);
	*at = end + 1;
	return rc;
}

/* Does an "@" come before the path begins? Skip references. */
static bool expand_at_follows(const char *raw)
{
	for (; *raw && !strchr("/?#", *raw); raw++) {
		const char *end =
			strncmp(raw, "${", 2) ? NULL : strchr(raw, '}');
		if (*raw == '@')
			return true;
		raw = end ? end : raw;
	}
	return false;
}

/* Find the user:password part of a URL that begins in `out` and goes on in
 * `rest`. NULL if the reference is not inside it. */
static const char *expand_user_part(const struct strbuf *out, const char *rest)
{
	const char *start = strstr(out->data, "://");

	if (!start || strpbrk(start + 3, "/?#@") || !expand_at_follows(rest))
		return NULL;
	return start + 3;
}

/* Does `out` end in the value of a secret in a URL's query? */
static bool expand_in_secret(const struct strbuf *out)
{
	const char *query = strstr(out->data, "://");
	const char *item, *last, *equals;

	query = query ? strchr(query, '?') : NULL;
	if (!query)
		return false;
	last = strrchr(query, '&');
	item = last ? last + 1 : query + 1;
	equals = strchr(item, '=');
	return equals && secret_is_key(item, (size_t)(equals - item));
}

/* A "%" that already begins an escape is left alone. */
static void expand_percent_encode(struct strbuf *out, const char *value)
{
	for (; *value; value++) {
		bool escape = *value == '%' &&
			      isxdigit((unsigned char)value[1]) &&
			      isxdigit((unsigned char)value[2]);

		if (!escape && strchr(":/?#[]@% &+=", *value))
			strbuf_addf(out, "%%%02X", (unsigned char)*value);
		else
			strbuf_addch(out, *value);
	}
}

/* A password with an "@", a "/" or a "&" must not end its part of a URL. Nor
 * may it stand in an error text as if it were a host or an option. */
static int expand_into(struct strbuf *out, const char **at, struct error *err)
{
	struct strbuf value = STRBUF_INIT;
	const char *end = strchr(*at, '}');
	const char *user = end ? expand_user_part(out, end + 1) : NULL;
	bool secret = user ? strchr(user, ':') != NULL : expand_in_secret(out);
	int rc = expand_reference(&value, at, err);

	if (!rc && secret)
		secret_add(value.data);
	if (!rc && (user || secret))
		expand_percent_encode(out, value.data);
	else if (!rc)
		strbuf_add(out, value.data, value.len);
	strbuf_release(&value);
	return rc;
}

int expand_text(struct strbuf *out, const char *raw, struct error *err)
{
	int rc = 0;

	while (!rc && *raw) {
		if (!strncmp(raw, "$${", 3)) {
			strbuf_addstr(out, "${");
			raw += 3;
		} else if (!strncmp(raw, "${", 2)) {
			rc = expand_into(out, &raw, err);
		} else {
			strbuf_addch(out, *raw++);
		}
	}
	return rc;
}

void expand_escape(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if (!strncmp(text, "${", 2))
			strbuf_addch(out, '$');
		strbuf_addch(out, *text);
	}
}

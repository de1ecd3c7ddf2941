#include "clients/bigquery_auth.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <jwt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/bigquery_reply.h"
#include "clients/http.h"
#include "clients/libraries.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/secret.h"
#include "core/base/trust.h"

#define AUTH_SCOPE	   "https://www.googleapis.com/auth/bigquery"
#define AUTH_GRANT	   "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
#define AUTH_METADATA_HOST "metadata.google.internal"
#define AUTH_METADATA_PATH                                                     \
	"/computeMetadata/v1/instance/service-accounts/default/token"
#define AUTH_JWT_S 3600
/* A token is not used when it has less left than that. */
#define AUTH_LEFT_US	 (60 * US_PER_SECOND)
#define AUTH_MOST_FILE	 ((size_t)64 << 10)
#define AUTH_MOST_ANSWER ((size_t)256 << 10)

struct bigquery_auth {
	struct http *http;
	char *path; /* where `http` gives tokens */
	char *email, *key, *audience; /* the account's; NULL: metadata server */
	char *header;
	int64_t until_us;
};

static int auth_read(const char *path, char **out, size_t *n, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	ssize_t got = -1;

	if (fd < 0)
		rc = error_set(err, ERROR_CONFIG,
			       "the credentials file %s cannot be read: %s",
			       path, strerror(errno));
	else
		rc = trust_check(path, TRUST_SECRET, "the credentials file",
				 err);
	if (!rc) {
		*out = xcalloc(1, AUTH_MOST_FILE);
		got = read(fd, *out, AUTH_MOST_FILE - 1);
		*n = got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* "https://host:port" and "/path" of an address. */
static void auth_split(const char *address, char **base, char **path)
{
	const char *host = strstr(address, "://");
	size_t n = host ? (size_t)(host - address) + 3 : 0;

	n += strcspn(address + n, "/");
	*base = xstrndup(address, n);
	*path = xstrdup(address[n] ? address + n : "/");
}

static int auth_open_at(struct bigquery_auth *a, const struct connection *conn,
			const char *address, const char *shown,
			struct error *err)
{
	char *base;
	int rc;

	auth_split(address, &base, &a->path);
	rc = http_open(&a->http, conn, base, shown, err);
	free(base);
	return rc;
}

static int auth_account(struct bigquery_auth *a, const struct connection *conn,
			const json_t *file, const char *path, struct error *err)
{
	const char *type = NULL, *email = NULL, *key = NULL, *uri = NULL;
	char *shown;
	int rc;

	if (json_unpack((json_t *)file, "{s:s, s:s, s:s, s:s}", "type", &type,
			"client_email", &email, "private_key", &key,
			"token_uri", &uri) ||
	    strcmp(type, "service_account") != 0)
		return error_set(err, ERROR_CONFIG,
				 "%s is not the file of a service account: it "
				 "needs type, client_email, private_key and "
				 "token_uri",
				 path);
	secret_add(key);
	a->email = xstrdup(email);
	a->key = xstrdup(key);
	a->audience = xstrdup(uri);
	shown = xstrfmt("the token server of %s", email);
	rc = auth_open_at(a, conn, uri, shown, err);
	free(shown);
	if (rc)
		error_prefix(err, "%s: token_uri", path);
	return rc;
}

static int auth_open_file(struct bigquery_auth *a,
			  const struct connection *conn, const char *path,
			  struct error *err)
{
	json_t *file = NULL;
	char *text = NULL;
	size_t n = 0;
	int rc = auth_read(path, &text, &n, err);

	if (!rc) {
		file = json_loadb(text, n, 0, NULL);
		rc = auth_account(a, conn, file, path, err);
	}
	if (text)
		explicit_bzero(text, n);
	free(text);
	json_decref(file);
	return rc;
}

static int auth_open_metadata(struct bigquery_auth *a,
			      const struct connection *conn, struct error *err)
{
	const char *host = getenv("GCE_METADATA_HOST");

	a->path = xstrdup(AUTH_METADATA_PATH);
	return http_open_metadata(&a->http, conn,
				  host && *host ? host : AUTH_METADATA_HOST,
				  "the metadata server", err);
}

int bigquery_auth_open(struct bigquery_auth **out,
		       const struct connection *conn, const char *path,
		       struct error *err)
{
	struct bigquery_auth *a = xcalloc(1, sizeof(*a));
	int rc = path ? auth_open_file(a, conn, path, err)
		      : auth_open_metadata(a, conn, err);

	if (rc)
		bigquery_auth_close(a);
	else
		*out = a;
	return rc;
}

void bigquery_auth_close(struct bigquery_auth *a)
{
	if (!a)
		return;
	http_close(a->http);
	free(a->path);
	free(a->email);
	free(a->key);
	free(a->audience);
	free(a->header);
	free(a);
}

void bigquery_auth_interrupt(struct bigquery_auth *a)
{
	http_interrupt(a->http);
}

void bigquery_auth_forget(struct bigquery_auth *a)
{
	a->until_us = 0;
}

/* RFC 7523; developers.google.com/identity/protocols/oauth2/service-account */
static int auth_sign(const struct bigquery_auth *a, char **out,
		     struct error *err)
{
	long now = (long)(clock_now_us() / US_PER_SECOND);
	const unsigned char *key = (const unsigned char *)a->key;
	jwt_t *jwt = NULL;
	char *text = NULL;
	int bad = library_load(&library_jwt, err);

	if (bad)
		return bad;
	bad = jwt_new(&jwt);
	if (!bad)
		bad = jwt_add_grant(jwt, "iss", a->email) ||
		      jwt_add_grant(jwt, "scope", AUTH_SCOPE) ||
		      jwt_add_grant(jwt, "aud", a->audience) ||
		      jwt_add_grant_int(jwt, "iat", now) ||
		      jwt_add_grant_int(jwt, "exp", now + AUTH_JWT_S) ||
		      jwt_set_alg(jwt, JWT_ALG_RS256, key, (int)strlen(a->key));
	if (!bad)
		text = jwt_encode_str(jwt);
	*out = xstrdup(text);
	free(text);
	jwt_free(jwt);
	if (*out)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "the private_key of %s cannot sign: it is no RSA key "
			 "in PEM",
			 a->email);
}

static int auth_ask(struct bigquery_auth *a, struct http_response *answer,
		    struct error *err)
{
	const char *const form[] = {
		"Content-Type: application/x-www-form-urlencoded", NULL
	};
	const char *const flavor[] = { "Metadata-Flavor: Google", NULL };
	struct http_request request = { .method = "GET", .path = a->path };
	char *jwt = NULL, *body = NULL;
	int rc = 0;

	request.headers = flavor;
	if (a->email) {
		rc = auth_sign(a, &jwt, err);
		body = xstrfmt("grant_type=%s&assertion=%s", AUTH_GRANT,
			       jwt ? jwt : "");
		request.method = "POST";
		request.headers = form;
		request.body = body;
		request.n_body = strlen(body);
	}
	if (!rc)
		rc = http_do(a->http, &request, AUTH_MOST_ANSWER, answer, err);
	free(jwt);
	free(body);
	return rc;
}

/* Only Google's metadata server may be believed; any other server at this
 * address is refused. */
static int auth_check_flavor(const struct bigquery_auth *a,
			     const struct http_response *answer,
			     struct error *err)
{
	char *flavor = http_response_header(answer, "Metadata-Flavor");
	int rc = 0;

	if (!a->email && (!flavor || strcmp(flavor, "Google") != 0))
		rc = error_set(err, ERROR_ACCESS,
			       "%s: what answers at its address is not it",
			       http_shown(a->http));
	free(flavor);
	return rc;
}

/* Off such a machine there is none. */
static int auth_no_metadata(const struct bigquery_auth *a, int rc,
			    struct error *err)
{
	if (!a->email)
		error_hint(err, "Name the file of a service account: "
				"credentials=PATH in the URL, or "
				"GOOGLE_APPLICATION_CREDENTIALS");
	return rc;
}

static int auth_take(struct bigquery_auth *a, const json_t *reply,
		     struct error *err)
{
	const char *token =
		json_string_value(json_object_get(reply, "access_token"));
	long long seconds = bigquery_reply_number(reply, "expires_in", 0);

	if (!token || !*token || strpbrk(token, "\r\n") || seconds <= 0)
		return error_set(err, ERROR_ACCESS,
				 "%s: the answer has no access_token",
				 http_shown(a->http));
	secret_add(token);
	free(a->header);
	a->header = xstrfmt("Authorization: Bearer %s", token);
	if (seconds > AUTH_JWT_S)
		seconds = AUTH_JWT_S;
	a->until_us = clock_monotonic_us() + seconds * US_PER_SECOND;
	return 0;
}

static int auth_fetch(struct bigquery_auth *a, struct error *err)
{
	struct http_response answer;
	json_t *reply = NULL;
	char *type = NULL;
	int rc;

	http_response_init(&answer);
	rc = auth_ask(a, &answer, err);
	if (rc)
		rc = auth_no_metadata(a, rc, err);
	if (!rc)
		rc = auth_check_flavor(a, &answer, err);
	if (!rc) {
		type = http_response_header(&answer, "Content-Type");
		rc = bigquery_reply_parse(&reply, answer.body.data,
					  answer.body.len, type, answer.status,
					  http_shown(a->http), err);
	}
	if (!rc && answer.status / 100 != 2) {
		rc = bigquery_reply_refused(reply, answer.status,
					    http_shown(a->http), err);
		if (rc == -ERROR_DATA && err)
			rc = -(int)(err->code = ERROR_ACCESS);
	}
	if (!rc)
		rc = auth_take(a, reply, err);
	json_decref(reply);
	free(type);
	http_response_release(&answer);
	return rc;
}

int bigquery_auth_header(struct bigquery_auth *a, const char **out,
			 struct error *err)
{
	int rc = 0;

	if (!a->header || clock_monotonic_us() > a->until_us - AUTH_LEFT_US)
		rc = auth_fetch(a, err);
	*out = a->header;
	return rc;
}

#include "clients/http_options.h"

#include "clients/http.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/libraries.h"
#include "clients/tls.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "tidemark_config.h"

#define MS_US		     INT64_C(1000)
#define LEAST_BYTES_A_SECOND 64L

/* The host within scheme://host:port/path, an address without its brackets. */
static const char *http_host(const char *base, size_t *n)
{
	const char *host = strstr(base, "://");

	host = host ? host + 3 : base;
	if (*host == '[') {
		*n = strcspn(++host, "]");
		return host;
	}
	*n = strcspn(host, ":/");
	return host;
}

/* Is it a name or an address, and could no part of it be another part of a
 * URL? */
static bool http_host_is_plain(const char *host, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)host[i]) &&
		    !strchr(".-_:%", host[i]))
			return false;
	}
	return n > 0;
}

static int http_check_file(const char *path, const char *what,
			   const char *shown, struct error *err)
{
	if (!path || access(path, R_OK) == 0)
		return 0;
	return error_set(err, ERROR_CONFIG, "%s: %s %s cannot be read", shown,
			 what, path);
}

static int http_check_base(const struct http_options *o,
			   const struct connection *conn, const char *shown,
			   struct error *err)
{
	bool https = !strncmp(o->base, "https://", 8);
	size_t n;
	const char *host = http_host(o->base, &n);
	int rc;

	if (!http_host_is_plain(host, n))
		return error_set(err, ERROR_CONFIG,
				 "%s: '%.*s' is no name of a host", shown,
				 (int)n, host);
	if (!https && !o->local)
		return error_set(err, ERROR_CONFIG,
				 "%s: without TLS only a server on this "
				 "machine is spoken to; use https",
				 shown);
	if (https && conn->tls_mode == TLS_DISABLED)
		return error_set(err, ERROR_CONFIG,
				 "%s: tls.mode disabled, and the URL asks for "
				 "TLS",
				 shown);
	if ((rc = http_check_file(o->ca, "tls.ca", shown, err)) ||
	    (rc = http_check_file(o->cert, "tls.cert", shown, err)))
		return rc;
	return http_check_file(o->key, "tls.key", shown, err);
}

static int http_options_make(struct http_options *out,
			     const struct connection *conn, const char *base,
			     bool metadata, const char *shown,
			     struct error *err)
{
	struct http_options o = {
		.base = xstrdup(base),
		.any_name = conn->tls_mode == TLS_VERIFY_CA,
		.ca = xstrdup(conn->tls_ca),
		.cert = xstrdup(conn->tls_cert),
		.key = xstrdup(conn->tls_key),
		.connect_timeout_us = conn->connect_timeout_us,
		.silence_timeout_us = conn->silence_timeout_us,
	};
	size_t n;
	const char *host = http_host(base, &n);
	int rc;

	o.local = metadata || tls_is_local(host, n);
	rc = http_check_base(&o, conn, shown, err);
	if (!rc)
		rc = library_load(&library_curl, err);
	if (rc)
		http_options_release(&o);
	else
		*out = o;
	return rc;
}

int http_options_init(struct http_options *out, const struct connection *conn,
		      const char *base, const char *shown, struct error *err)
{
	return http_options_make(out, conn, base, false, shown, err);
}

/* cloud.google.com/compute/docs/metadata/overview: the server has no TLS, and
 * requests to it do not leave the machine. */
static bool http_is_metadata(const char *host)
{
	static const char *const known[] = { "metadata.google.internal",
					     "169.254.169.254" };
	const char *named = getenv("GCE_METADATA_HOST");

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(host, known[i]))
			return true;
	return named && *named && !strcmp(host, named);
}

int http_options_init_metadata(struct http_options *out,
			       const struct connection *conn, const char *host,
			       const char *shown, struct error *err)
{
	char *base;
	int rc;

	if (!http_is_metadata(host))
		return error_set(err, ERROR_CONFIG,
				 "%s: '%s' is no metadata server", shown, host);
	base = xstrfmt("http://%s", host);
	rc = http_options_make(out, conn, base, true, shown, err);
	free(base);
	return rc;
}

void http_options_release(struct http_options *o)
{
	free(o->base);
	free(o->ca);
	free(o->cert);
	free(o->key);
}

static void http_apply_tls(const struct http_options *o, CURL *easy)
{
	const char *ca = o->ca ? o->ca : tls_authorities();
	const char *directory = tls_authorities_directory();

	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, o->any_name ? 0L : 2L);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
	if (ca)
		curl_easy_setopt(easy, CURLOPT_CAINFO, ca);
	/* By default, libcurl also trusts a directory that its build named. */
	if (o->ca || directory)
		curl_easy_setopt(easy, CURLOPT_CAPATH,
				 o->ca ? NULL : directory);
	if (o->cert)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, o->cert);
	if (o->key)
		curl_easy_setopt(easy, CURLOPT_SSLKEY, o->key);
}

/* A duration for libcurl, where 0 would mean its own default. */
static long http_units(int64_t us, int64_t unit)
{
	int64_t n = (us + unit - 1) / unit;

	return n < 1 ? 1 : n > INT32_MAX ? INT32_MAX : (long)n;
}

/* Fewer bytes than this for so long count as silence, in both directions. A
 * peer that sends a byte now and then must not be waited for without end. */
static void http_apply_timeouts(const struct http_options *o, CURL *easy)
{
	if (o->connect_timeout_us > 0)
		curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
				 http_units(o->connect_timeout_us, MS_US));
	if (o->silence_timeout_us <= 0)
		return;
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, LEAST_BYTES_A_SECOND);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
			 http_units(o->silence_timeout_us, US_PER_SECOND));
}

void http_options_apply(const struct http_options *o, CURL *easy,
			const char *path)
{
	char *url = xstrfmt("%s%s", o->base, path);

	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR,
			 o->local ? "http,https" : "https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "tidemark/" TIDEMARK_VERSION);
	if (o->local)
		curl_easy_setopt(easy, CURLOPT_PROXY, "");
	http_apply_tls(o, easy);
	http_apply_timeouts(o, easy);
	free(url);
}

/* With whom the HTTP client speaks without TLS, and with nobody else. */
#include "clients/http.h"
#include "clients/tls.h"
#include "tests/unit/unit.h"

static const struct {
	const char *base, *ca;
	enum tls_mode mode;
	enum error_code code;
} bases[] = {
	{ "http://127.0.0.1:8123", NULL, TLS_AUTO, ERROR_NONE },
	{ "http://localhost:8123", NULL, TLS_AUTO, ERROR_NONE },
	{ "http://[::1]:8123", NULL, TLS_AUTO, ERROR_NONE },
	{ "https://db.example", NULL, TLS_AUTO, ERROR_NONE },
	{ "http://db.example:8123", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "http://db.example:8123", NULL, TLS_DISABLED, ERROR_CONFIG },
	{ "http://127.db.example:8123", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "http://localhost.example", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "http://@db.example", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "http:///db.example", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "http://127.0.0.1@db.example", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "https://db.example", NULL, TLS_DISABLED, ERROR_CONFIG },
	{ "https://db.example", "/nowhere/ca.pem", TLS_AUTO, ERROR_CONFIG },
};

static void only_loopback_goes_without_tls(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		struct connection conn = { .tls_mode = bases[i].mode,
					   .tls_ca = (char *)bases[i].ca };
		struct http *http = NULL;
		struct error err = ERROR_INIT;
		int rc = http_open(&http, &conn, bases[i].base, "it", &err);

		if (rc != -(int)bases[i].code)
			print_message("%s\n", bases[i].base);
		assert_int_equal(rc, -(int)bases[i].code);
		http_close(http);
	}
	assert_true(tls_is_local("127.0.0.2", 9));
	assert_false(tls_is_local("127.example", 11));
}

/* Plain http leaves the machine for nobody but its metadata server. */
static void metadata_goes_without_tls(void **state)
{
	static const struct {
		const char *named, *host;
		enum error_code code;
	} cases[] = {
		{ NULL, "metadata.google.internal", ERROR_NONE },
		{ NULL, "169.254.169.254", ERROR_NONE },
		{ "", "169.254.169.254", ERROR_NONE },
		{ "meta.example:8080", "meta.example:8080", ERROR_NONE },
		{ "meta.example:8080", "meta.example", ERROR_CONFIG },
		{ "@meta.example", "@meta.example", ERROR_CONFIG },
		{ NULL, "169.254.169.253", ERROR_CONFIG },
		{ NULL, "metadata.google.internal.example", ERROR_CONFIG },
		{ NULL, "127.0.0.1", ERROR_CONFIG },
		{ "", "", ERROR_CONFIG },
	};
	struct connection conn = { .tls_mode = TLS_AUTO };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http *http = NULL;
		struct error err = ERROR_INIT;
		int rc;

		unsetenv("GCE_METADATA_HOST");
		if (cases[i].named)
			setenv("GCE_METADATA_HOST", cases[i].named, 1);
		rc = http_open_metadata(&http, &conn, cases[i].host, "it",
					&err);
		if (rc != -(int)cases[i].code)
			fail_msg("%s: %s", cases[i].host, err.message);
		http_close(http);
	}
	unsetenv("GCE_METADATA_HOST");
	assert_int_not_equal(http_open(&(struct http *){ NULL }, &conn,
				       "http://169.254.169.254", "it",
				       &(struct error)ERROR_INIT),
			     0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_loopback_goes_without_tls),
		cmocka_unit_test(metadata_goes_without_tls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

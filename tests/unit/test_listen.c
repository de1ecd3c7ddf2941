#include "tests/unit/unit.h"

#include "core/base/listen.h"

static const struct {
	const char *text;
	enum listen_kind kind;
	bool local;
	const char *again; /* as it is written again; NULL: refused */
} cases[] = {
	{ "off", LISTEN_OFF, true, "off" },
	{ "127.0.0.1:9464", LISTEN_TCP, true, "127.0.0.1:9464" },
	{ "127.8.9.1:1", LISTEN_TCP, true, "127.8.9.1:1" },
	{ "localhost:9464", LISTEN_TCP, true, "127.0.0.1:9464" },
	{ "LOCALHOST:0", LISTEN_TCP, true, "127.0.0.1:0" },
	{ "[::1]:9464", LISTEN_TCP, true, "[::1]:9464" },
	{ "[0:0:0:0:0:0:0:1]:9464", LISTEN_TCP, true, "[::1]:9464" },
	{ "[::ffff:127.0.0.1]:80", LISTEN_TCP, true, "[::ffff:127.0.0.1]:80" },
	{ "[::ffff:10.0.0.1]:80", LISTEN_TCP, false, "[::ffff:10.0.0.1]:80" },
	{ "0.0.0.0:65535", LISTEN_TCP, false, "0.0.0.0:65535" },
	{ "[::]:80", LISTEN_TCP, false, "[::]:80" },
	{ "10.0.0.7:80", LISTEN_TCP, false, "10.0.0.7:80" },
	/* Its first digits are not those of loopback. */
	{ "[::ffff:10.127.0.0]:80", LISTEN_TCP, false,
	  "[::ffff:10.127.0.0]:80" },
	{ "[::127.0.0.1]:80", LISTEN_TCP, false, "[::127.0.0.1]:80" },
	{ "unix:/run/t.sock", LISTEN_UNIX, true, "unix:/run/t.sock" },
	{ "unix:t.sock?mode=0600", LISTEN_UNIX, true, "unix:t.sock" },
	{ "unix:t.sock?mode=0660", LISTEN_UNIX, true, "unix:t.sock?mode=0660" },
	{ "", LISTEN_TCP, false, NULL },
	{ "OFF", LISTEN_TCP, false, NULL },
	{ ":9464", LISTEN_TCP, false, NULL },
	{ "9464", LISTEN_TCP, false, NULL },
	{ "127.0.0.1", LISTEN_TCP, false, NULL },
	{ "127.0.0.1:", LISTEN_TCP, false, NULL },
	{ "127.0.0.1:65536", LISTEN_TCP, false, NULL },
	{ "127.0.0.1:4294967297", LISTEN_TCP, false, NULL },
	{ "127.0.0.1:+1", LISTEN_TCP, false, NULL },
	{ "127.0.0.1:80 ", LISTEN_TCP, false, NULL },
	{ "127.0.0.1:80/", LISTEN_TCP, false, NULL },
	{ "127.0.0.1:80:80", LISTEN_TCP, false, NULL },
	{ "127.1:80", LISTEN_TCP, false, NULL },
	{ "0x7f000001:80", LISTEN_TCP, false, NULL },
	{ "example.org:80", LISTEN_TCP, false, NULL },
	{ "::1:80", LISTEN_TCP, false, NULL },
	{ "[::1]", LISTEN_TCP, false, NULL },
	{ "[::1:80", LISTEN_TCP, false, NULL },
	{ "[::1]80", LISTEN_TCP, false, NULL },
	{ "[127.0.0.1]:80", LISTEN_TCP, false, NULL },
	{ "[fe80::1%eth0]:80", LISTEN_TCP, false, NULL },
	{ "http://127.0.0.1:80", LISTEN_TCP, false, NULL },
	{ "unix:", LISTEN_UNIX, false, NULL },
	{ "unix:?mode=0600", LISTEN_UNIX, false, NULL },
	{ "unix:t.sock?mode=0777", LISTEN_UNIX, false, NULL },
	{ "unix:t.sock?", LISTEN_UNIX, false, NULL },
};

static void test_addresses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf why = STRBUF_INIT, again = STRBUF_INIT;
		struct listen_address a;
		bool fits = listen_parse(&a, cases[i].text, &why);

		if (fits != (cases[i].again != NULL))
			fail_msg("\"%s\": %s", cases[i].text,
				 fits ? "accepted" : why.data);
		assert_int_equal(fits, !why.len);
		if (fits) {
			listen_add_text(&again, &a);
			assert_string_equal(again.data, cases[i].again);
			assert_int_equal(a.kind, cases[i].kind);
			if (listen_is_local(&a) != cases[i].local)
				fail_msg("\"%s\" is taken for %s", again.data,
					 cases[i].local ? "far" : "local");
		}
		strbuf_release(&again);
		strbuf_release(&why);
	}
}

static void test_modes(void **state)
{
	struct listen_address a;
	struct strbuf why = STRBUF_INIT;

	(void)state;
	assert_true(listen_parse(&a, "unix:a", &why));
	assert_int_equal(a.mode, 0600);
	assert_true(listen_parse(&a, "unix:a?mode=0660", &why));
	assert_int_equal(a.mode, 0660);
	assert_string_equal(a.path, "a");
}

/* The longest path, and one byte more. */
static void test_long_path(void **state)
{
	char text[5 + LISTEN_PATH_SIZE + 1] = "unix:";
	struct listen_address a;
	struct strbuf why = STRBUF_INIT;

	(void)state;
	memset(text + 5, 'a', LISTEN_PATH_SIZE - 1);
	assert_true(listen_parse(&a, text, &why));
	assert_string_equal(a.path, text + 5);
	text[5 + LISTEN_PATH_SIZE - 1] = 'a';
	assert_false(listen_parse(&a, text, &why));
	strbuf_release(&why);
}

static const struct {
	const char *text, *host; /* NULL: refused */
	bool port;
} hosts[] = {
	{ "localhost", "localhost", false },
	{ "LocalHost:80", "localhost", true },
	{ "127.0.0.1:9464", "127.0.0.1", true },
	{ "[::1]", "::1", false },
	{ "[0::0:1]:80", "::1", true },
	{ "[::FFFF:7f00:1]", "::ffff:127.0.0.1", false },
	{ "my_host-1.example.org", "my_host-1.example.org", false },
	{ "", NULL, false },
	{ ":80", NULL, false },
	{ "a:", NULL, false },
	{ "a:b", NULL, false },
	{ "a:80:80", NULL, false },
	{ "a:123456", NULL, false },
	{ "[]", NULL, false },
	{ "[a]", NULL, false },
	{ "[::1]x", NULL, false },
	{ "::1", NULL, false },
	{ "a b", NULL, false },
	{ "a/b", NULL, false },
	{ "a@b", NULL, false },
	{ "a\xc3\xa4", NULL, false },
	{ ".a", NULL, false },
	{ "*.example.org", NULL, false },
	{ "a,b", NULL, false },
};

static void test_hosts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		char host[LISTEN_HOST_SIZE];
		bool port = false;
		bool fits = host_parse(hosts[i].text, strlen(hosts[i].text),
				       host, &port);

		if (fits != (hosts[i].host != NULL))
			fail_msg("\"%s\"", hosts[i].text);
		if (!fits)
			continue;
		assert_string_equal(host, hosts[i].host);
		assert_int_equal(port, hosts[i].port);
	}
}

static void test_host_bytes(void **state)
{
	char host[LISTEN_HOST_SIZE], long_name[LISTEN_HOST_SIZE];

	(void)state;
	assert_false(host_parse("localhost\0.evil", 15, host, NULL));
	assert_true(host_parse("localhost:80,evil", 9, host, NULL));
	memset(long_name, 'a', sizeof(long_name));
	assert_false(host_parse(long_name, sizeof(long_name), host, NULL));
	assert_true(host_parse(long_name, sizeof(long_name) - 1, host, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),  cmocka_unit_test(test_modes),
		cmocka_unit_test(test_long_path),  cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_host_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

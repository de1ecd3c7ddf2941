/* The parts of clients/pg that need no server: error classes, and how to
 * connect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "clients/libraries.h"
#include "clients/pg_ahead.h"
#include "clients/pg_named.h"
#include "clients/pg_parameters.h"
#include "clients/pg_row.h"
#include "clients/pg_session.h"
#include "clients/pg_shared.h"
#include "clients/pg_sqlstate.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"

struct state_case {
	const char *state;
	enum error_code code;
};

static const struct state_case states[] = {
	{ "08006", ERROR_TRANSIENT }, { "57P01", ERROR_TRANSIENT },
	{ "57P03", ERROR_TRANSIENT }, { "40001", ERROR_CONFLICT },
	{ "40P01", ERROR_CONFLICT },  { "55P03", ERROR_CONFLICT },
	{ "53300", ERROR_TRANSIENT }, { "57014", ERROR_TRANSIENT },
	{ "28P01", ERROR_ACCESS },    { "28000", ERROR_ACCESS },
	{ "3D000", ERROR_ACCESS },    { "42501", ERROR_ACCESS },
	{ "53100", ERROR_ACCESS },    { "53200", ERROR_ACCESS },
	{ "25006", ERROR_ACCESS },    { "22012", ERROR_DATA },
	{ "22P02", ERROR_DATA },      { "23505", ERROR_DATA },
	{ "23514", ERROR_DATA },      { "P0001", ERROR_DATA },
	{ "42P01", ERROR_SCHEMA },    { "42703", ERROR_SCHEMA },
	{ "42804", ERROR_SCHEMA },    { "42601", ERROR_BUG },
	{ "40002", ERROR_DATA },      { "40003", ERROR_TRANSIENT },
	{ "XX000", ERROR_UNKNOWN },   { "0Z003", ERROR_UNKNOWN },
	{ "ZX123", ERROR_DATA },      { "U0001", ERROR_DATA },
	{ "45000", ERROR_DATA },      { "", ERROR_UNKNOWN },
};

static void pg_states(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (pg_sqlstate_code(states[i].state) != states[i].code)
			fail_msg("%s is %s", states[i].state,
				 error_code_name(
					 pg_sqlstate_code(states[i].state)));
	}
}

static void pg_verbose_text(void **state)
{
	char text[] = "connection to server at \"h\", port 1 failed: FATAL:  "
		      "28P01: no such luck\nLOCATION:  auth_failed, "
		      "auth.c:331\nagain\n";
	char plain[] = "could not connect: Connection refused\n";
	char code[6];

	(void)state;
	assert_true(pg_take_sqlstate(text, code));
	assert_string_equal(code, "28P01");
	pg_one_line(text);
	assert_string_equal(text, "connection to server at \"h\", port 1 "
				  "failed: FATAL:  no such luck again");
	assert_false(pg_take_sqlstate(plain, code));
	assert_string_equal(code, "");
	assert_int_equal(pg_connect_code(plain), ERROR_TRANSIENT);
	assert_int_equal(pg_connect_code("server does not support SSL, but SSL "
					 "was required"),
			 ERROR_ACCESS);
	assert_int_equal(pg_connect_code("SSL SYSCALL error: EOF detected"),
			 ERROR_TRANSIENT);
}

static const char *const refused_parameters[] = {
	"invalid port number: \"99999999\"",
	"invalid integer value \"soon\" for connection option "
	"\"connect_timeout\"",
	"connection to server at \"h\", port 1 failed: invalid integer value "
	"\"soon\" for connection option \"keepalives_idle\"",
	"invalid sslmode value: \"maybe\"",
	"could not match 2 port numbers to 3 hosts",
	"definition of service \"x\" not found",
};

static void pg_bad_parameters(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused_parameters); i++)
		assert_int_equal(pg_connect_code(refused_parameters[i]),
				 ERROR_CONFIG);
	assert_int_equal(pg_connect_code("connection to server at \"h\", port "
					 "5432 failed: received invalid "
					 "response to SSL negotiation: H"),
			 ERROR_ACCESS);
}

struct tls_case {
	const char *host;
	enum tls_mode mode;
	bool has_sslmode;
	const char *expected; /* NULL: left to the user */
};

static const struct tls_case tls_cases[] = {
	{ NULL, TLS_AUTO, false, "prefer" },
	{ "/run/postgresql", TLS_AUTO, false, "prefer" },
	{ "localhost", TLS_AUTO, false, "prefer" },
	{ "127.0.0.2", TLS_AUTO, false, "prefer" },
	{ "::1", TLS_AUTO, false, "prefer" },
	{ "db.example", TLS_AUTO, false, "verify-full" },
	{ "localhost.example", TLS_AUTO, false, "verify-full" },
	{ "127.", TLS_AUTO, false, "verify-full" },
	{ "localhost,db.example", TLS_AUTO, false, "verify-full" },
	{ "localhost,127.0.0.1", TLS_AUTO, false, "prefer" },
	{ "127.0.0.1.2", TLS_AUTO, false, "verify-full" },
	{ "db.example", TLS_AUTO, true, NULL },
	{ "db.example", TLS_REQUIRED, true, "require" },
	{ "localhost", TLS_VERIFY_CA, false, "verify-ca" },
	{ "db.example", TLS_DISABLED, false, "disable" },
};

static const char *pg_given(const struct pg_parameters *p, const char *keyword)
{
	const char *value = NULL;

	for (size_t i = 0; i < p->n; i++) {
		if (!strcmp(p->keywords[i], keyword))
			value = p->values[i];
	}
	return value;
}

static void pg_tls(void **state)
{
	struct connection conn = { .silence_timeout_us = 5000000 };

	(void)state;
	conn.url.text = (char *)"postgresql://x";
	for (size_t i = 0; i < ARRAY_SIZE(tls_cases); i++) {
		const struct tls_case *t = &tls_cases[i];
		struct pg_target target = { .host = NULL };
		struct pg_parameters p;
		const char *mode;
		pg_target_note(&target, "host", t->host);
		target.has_sslmode = t->has_sslmode;
		conn.tls_mode = t->mode;
		pg_parameters_fill(&p, &conn, &target, "source", 160000);
		mode = pg_given(&p, "sslmode");
		if (strcmp(mode ? mode : "", t->expected ? t->expected : ""))
			fail_msg("case %zu: %s", i, mode);
		pg_parameters_release(&p);
		pg_target_release(&target);
	}
}

/* A server nobody verified gets no password in clear, if libpq can say so. */
static void pg_clear_passwords(void **state)
{
	struct connection conn = { .silence_timeout_us = 5000000 };

	(void)state;
	conn.url.text = (char *)"postgresql://x";
	for (size_t i = 0; i < ARRAY_SIZE(tls_cases); i++) {
		const struct tls_case *t = &tls_cases[i];
		struct pg_target target = { .host = NULL };
		bool refused = t->expected && strncmp(t->expected, "verify", 6);

		pg_target_note(&target, "host", t->host);
		target.has_sslmode = t->has_sslmode;
		conn.tls_mode = t->mode;
		for (int libpq = 150000; libpq <= 160000; libpq += 10000) {
			struct pg_parameters p;

			pg_parameters_fill(&p, &conn, &target, "source", libpq);
			if (!pg_given(&p, "require_auth") !=
			    (libpq < 160000 || !refused))
				fail_msg("case %zu, %d", i, libpq);
			pg_parameters_release(&p);
		}
		pg_target_release(&target);
	}
}

static const struct {
	const char *host, *address, *expected;
} address_cases[] = {
	{ "localhost", "10.0.0.1", "verify-full" },
	{ "db.example", "127.0.0.1", "prefer" },
	/* where an address is empty, the host counts */
	{ "localhost,db.example", "127.0.0.1,", "verify-full" },
	{ "localhost,db.example", ",::1", "prefer" },
	{ NULL, ",10.0.0.1", "verify-full" },
};

static void pg_addresses(void **state)
{
	struct connection conn = { .silence_timeout_us = 5000000 };

	(void)state;
	conn.url.text = (char *)"postgresql://x";
	for (size_t i = 0; i < ARRAY_SIZE(address_cases); i++) {
		struct pg_target target = { .host = NULL };
		struct pg_parameters p;

		pg_target_note(&target, "host", address_cases[i].host);
		pg_target_note(&target, "hostaddr", address_cases[i].address);
		pg_parameters_fill(&p, &conn, &target, "source", 160000);
		assert_string_equal(pg_given(&p, "sslmode"),
				    address_cases[i].expected);
		pg_parameters_release(&p);
		pg_target_release(&target);
	}
}

static void pg_order(void **state)
{
	struct connection conn = { .silence_timeout_us = 5000000,
				   .password = (char *)"secret-word",
				   .tls_ca = (char *)"ca.pem" };
	struct pg_target target = { .host = NULL };
	struct pg_parameters p;
	bool url = false;

	(void)state;
	conn.url.text = (char *)"postgresql://x";
	pg_parameters_fill(&p, &conn, &target, "source", 150000);
	assert_string_equal(pg_given(&p, "password"), "secret-word");
	assert_string_equal(pg_given(&p, "application_name"),
			    "tidemark/source");
	assert_string_equal(pg_given(&p, "tcp_user_timeout"), "5000");
	assert_string_equal(pg_given(&p, "sslrootcert"), "ca.pem");
	/* The URL may change keepalives, but not what we must set. */
	for (size_t i = 0; i < p.n; i++) {
		url |= !strcmp(p.keywords[i], "dbname");
		assert_int_equal(url, !strstr(p.keywords[i], "keepalives") &&
					      !strstr(p.keywords[i], "tcp_"));
	}
	assert_null(p.keywords[p.n]);
	pg_parameters_release(&p);
	pg_target_release(&target);
}

static const struct {
	const char *file, *directory;
	int libpq;
	const char *expected;
} root_cases[] = {
	{ "/x/ca.pem", NULL, 150000, "/x/ca.pem" },
	{ "/x/ca.pem", NULL, 160000, "/x/ca.pem" },
	{ "/x/ca.pem", "", 160000, "/x/ca.pem" },
	{ "/x/ca.pem", "/x", 150000, "/x/ca.pem" },
	{ "/x/ca.pem", "/x", 160000, "system" },
};

static void pg_set_variable(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/* Only libpq 16 can look into a directory. The user's own file goes first. */
static void pg_authorities(void **state)
{
	struct connection conn = { .tls_mode = TLS_VERIFY_FULL };
	struct pg_target target = { .host = NULL };

	(void)state;
	conn.url.text = (char *)"postgresql://db.example";
	setenv("HOME", "/nowhere", 1);
	for (size_t i = 0; i < ARRAY_SIZE(root_cases); i++) {
		struct pg_parameters p;

		pg_set_variable("SSL_CERT_FILE", root_cases[i].file);
		pg_set_variable("SSL_CERT_DIR", root_cases[i].directory);
		pg_parameters_fill(&p, &conn, &target, "source",
				   root_cases[i].libpq);
		assert_string_equal(pg_given(&p, "sslrootcert"),
				    root_cases[i].expected);
		pg_parameters_release(&p);
	}
	pg_set_variable("SSL_CERT_FILE", NULL);
	pg_set_variable("SSL_CERT_DIR", NULL);
}

/* Bytes of one message, and its fields joined with '|', NULL as '-'. */
#define ROW_HEADER	"PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0"
#define ROW_BYTES(text) (text), sizeof(text) - 1

struct row_case {
	bool begun;
	const char *bytes;
	size_t n;
	const char *fields; /* "end": the trailer; NULL: refused */
	size_t width;
};

static const struct row_case row_cases[] = {
	{ true, ROW_BYTES("\0\2\0\0\0\1a\0\0\0\2bc"), "a|bc", 2 },
	{ true, ROW_BYTES("\0\2\0\0\0\0\377\377\377\377"), "|-", 2 },
	{ true, ROW_BYTES("\0\0"), "", 0 },
	{ true, ROW_BYTES("\377\377"), "end", 2 },
	{ false, ROW_BYTES(ROW_HEADER "\0\1\0\0\0\1a"), "a", 1 },
	{ false, ROW_BYTES(ROW_HEADER "\377\377"), "end", 1 },
	/* a field more, a field less, and none at all */
	{ true, ROW_BYTES("\0\2\0\0\0\1a\0\0\0\1b"), NULL, 1 },
	{ true, ROW_BYTES("\0\2\0\0\0\1a\0\0\0\1b"), NULL, 3 },
	{ true, ROW_BYTES("\0\0"), NULL, 1 },
	/* cut, too long, and not of this format */
	{ true, ROW_BYTES(""), NULL, 1 },
	{ true, ROW_BYTES("\0\1\0\0\0\2a"), NULL, 1 },
	{ true, ROW_BYTES("\0\1\0\0\0\1ab"), NULL, 1 },
	{ true, ROW_BYTES("\0\2\0\0\0\1a"), NULL, 2 },
	{ true, ROW_BYTES("\0\1\377\377\377\376"), NULL, 1 },
	{ true, ROW_BYTES("\377\376"), NULL, 1 },
	{ false, ROW_BYTES("\0\1\0\0\0\1a"), NULL, 1 },
	{ false, ROW_BYTES("PGCOPY\n\377\r\n\0\0\1\0\0\0\0\0\0\0\0"), NULL, 1 },
};

static void pg_copy_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row_cases); i++) {
		const struct row_case *c = &row_cases[i];
		struct pg_row row = { .width = c->width, .begun = c->begun };
		struct strbuf got = STRBUF_INIT;
		struct error err = ERROR_INIT;
		int rc = pg_row_read(&row, (const uint8_t *)c->bytes, c->n,
				     &err);

		for (size_t k = 0; k < row.n_fields; k++)
			strbuf_addf(&got, "%s%.*s", k ? "|" : "",
				    row.fields[k].data ? (int)row.fields[k].n
						       : 1,
				    row.fields[k].data
					    ? (const char *)row.fields[k].data
					    : "-");
		if (!rc)
			strbuf_addstr(&got, "end");
		if (c->fields ? rc < 0 || strcmp(got.data, c->fields) != 0
			      : rc != -ERROR_TRANSIENT)
			fail_msg("case %zu: %d, %s", i, rc, got.data);
		strbuf_release(&got);
		pg_row_release(&row);
	}
}

static void named_is(struct pg_named *n, const char *sql,
		     enum pg_named_step step, const char *name)
{
	char is[PG_NAMED_SIZE] = "";

	assert_int_equal(pg_named_step(n, sql, is), step);
	assert_string_equal(is, name);
}

/* A text is prepared when it comes for the second time. */
static void pg_names(void **state)
{
	struct pg_named *n = pg_named_new();

	(void)state;
	named_is(n, "a", PG_NAMED_NOT, "");
	named_is(n, "b", PG_NAMED_NOT, "");
	named_is(n, "a", PG_NAMED_PREPARE, "t1");
	named_is(n, "a", PG_NAMED_EXECUTE, "t1");
	pg_named_not_yet(n, "a");
	named_is(n, "a", PG_NAMED_PREPARE, "t1");
	named_is(n, "b", PG_NAMED_PREPARE, "t2");
	pg_named_lost(n);
	named_is(n, "a", PG_NAMED_PREPARE, "t3");
	named_is(n, "b", PG_NAMED_PREPARE, "t4");
	pg_named_forget(n, "b");
	named_is(n, "b", PG_NAMED_NOT, "");
	named_is(n, "a", PG_NAMED_EXECUTE, "t3");
	pg_named_free(n);
}

/* Texts that came once make room; those that came twice stay, and then there
 * is no room. No name is given twice. */
static void pg_names_make_room(void **state)
{
	struct pg_named *n = pg_named_new();
	char text[16], name[PG_NAMED_SIZE];

	(void)state;
	named_is(n, "kept", PG_NAMED_NOT, "");
	named_is(n, "kept", PG_NAMED_PREPARE, "t1");
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "once %d", i);
		assert_int_equal(pg_named_step(n, text, name), PG_NAMED_NOT);
	}
	named_is(n, "once 999", PG_NAMED_PREPARE, "t1001");
	named_is(n, "once 0", PG_NAMED_NOT, "");
	named_is(n, "kept", PG_NAMED_EXECUTE, "t1");
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "twice %d", i / 2);
		pg_named_step(n, text, name);
	}
	named_is(n, "new", PG_NAMED_NOT, "");
	named_is(n, "new", PG_NAMED_NOT, "");
	named_is(n, "kept", PG_NAMED_EXECUTE, "t1");
	pg_named_free(n);
}

/* A session that was pinned once, without its server. */
static struct pg *sharing_pg(void)
{
	static const struct connection conn = { .name = (char *)"shop" };
	struct pg *pg = pg_new(&conn);

	pg->server = xstrdup("since 12:00");
	pg->slot.key = xstrdup("shop");
	return pg;
}

/* libpq's. 2 is the status of an answer with rows. */
struct pg_result *PQmakeEmptyPGresult(struct pg_conn *conn, int status);

static void shared_put_at(struct pg *pg, const char *sql, int64_t asked_us)
{
	pg->asked_us = asked_us;
	pg_shared_put(pg, sql, 0, NULL, PQmakeEmptyPGresult(NULL, 2), true);
}

/* Are both given, behind each other? */
static void shared_pair_is(struct pg *pg, bool first, bool behind)
{
	pg_ahead_drop(pg);
	pg_shared_allow(pg, true);
	pg_ahead_add(pg, "sessions", 0, NULL);
	pg_ahead_add_behind(pg, "prepared");
	pg_shared_allow(pg, false);
	assert_int_equal(pg->ahead->items[0].given, first);
	assert_int_equal(pg->ahead->items[1].given, behind);
}

static void pg_shared_order(void **state)
{
	struct error err = ERROR_INIT;
	struct pg *pg;

	(void)state;
	assert_int_equal(library_load(&library_pq, &err), 0);
	pg = sharing_pg();
	shared_pair_is(pg, false, false);
	shared_put_at(pg, "prepared", 10);
	shared_pair_is(pg, false, false);
	shared_put_at(pg, "sessions", 10);
	shared_pair_is(pg, true, true);
	/* An answer that comes late is no newer for it. */
	shared_put_at(pg, "sessions", 20);
	shared_pair_is(pg, true, false);
	shared_put_at(pg, "prepared", 20);
	shared_put_at(pg, "prepared", 15);
	shared_pair_is(pg, true, true);
	/* Whoever does not allow it has to ask. */
	pg_ahead_drop(pg);
	pg_ahead_add(pg, "sessions", 0, NULL);
	assert_false(pg->ahead->items[0].given);
	pg_shared_clear();
	pg_end(pg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pg_states),
		cmocka_unit_test(pg_verbose_text),
		cmocka_unit_test(pg_bad_parameters),
		cmocka_unit_test(pg_copy_rows),
		cmocka_unit_test(pg_tls),
		cmocka_unit_test(pg_authorities),
		cmocka_unit_test(pg_clear_passwords),
		cmocka_unit_test(pg_addresses),
		cmocka_unit_test(pg_order),
		cmocka_unit_test(pg_names),
		cmocka_unit_test(pg_names_make_room),
		cmocka_unit_test(pg_shared_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

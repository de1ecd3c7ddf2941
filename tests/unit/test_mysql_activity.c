/* connectors/mysql: who else writes to the source, by what the server says.
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "connectors/mysql/server.h"
#include "connectors/mysql/transactions.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

#define HEAD                                                                   \
	"\n=====\n2026-11-21 16:41:33 0x7f INNODB MONITOR OUTPUT\n=====\n"     \
	"LATEST DETECTED DEADLOCK\n*** (1) TRANSACTION:\n"                     \
	"TRANSACTION 5, ACTIVE 9 sec\n------------\nTRANSACTIONS\n"            \
	"------------\nTrx id counter 1648\n"                                  \
	"LIST OF TRANSACTIONS FOR EACH SESSION:\n"
#define TAIL                                                                   \
	"--------\nFILE I/O\n--------\nI/O thread 0 state: waiting\n"          \
	"----------------------------\nEND OF INNODB MONITOR OUTPUT\n"         \
	"============================\n"
#define OURS                                                                   \
	"---TRANSACTION (0x7f), ACTIVE 0 sec\n0 lock struct(s)\n"              \
	"MariaDB thread id 7, OS thread handle 1, query id 4 localhost app\n"
#define IDLE "---TRANSACTION (0x7e), not started\n0 lock struct(s)\n"
#define WRITER                                                                 \
	"---TRANSACTION 1644, ACTIVE 2 sec\n1 lock struct(s)\n"                \
	"MySQL thread id 96, OS thread handle 2, query id 5 localhost root\n"
#define WAITER                                                                 \
	"---TRANSACTION 1650, ACTIVE 3 sec inserting\nmysql tables in use 1\n" \
	"LOCK WAIT 2 lock struct(s)\nMySQL thread id 98, query id 9 root\n"    \
	"INSERT INTO t VALUES ('x, not started, thread id 7')\n"
#define PREPARED                                                               \
	"---TRANSACTION 1645, ACTIVE (PREPARED) 60 sec recovered trx\n"        \
	"1 lock struct(s)\n"
#define READER                                                                 \
	"---TRANSACTION 375301074803048, ACTIVE 1 sec\n0 lock struct(s)\n"     \
	"MySQL thread id 99, query id 9 root\n"

static const struct {
	const char *status;
	bool whole;
	const char *open; /* joined by ", " */
	int64_t age_s; /* the oldest one's; -1: none */
} statuses[] = {
	{ HEAD TAIL, true, "", -1 },
	{ HEAD IDLE OURS IDLE TAIL, true, "", -1 },
	{ HEAD OURS WRITER TAIL, true, "transaction 1644", 2 },
	{ HEAD WRITER IDLE WAITER TAIL, true,
	  "transaction 1644, transaction 1650", 3 },
	{ HEAD PREPARED OURS TAIL, true, "transaction 1645", 60 },
	{ HEAD READER TAIL, true, "99 since ?", 1 },
	{ HEAD WRITER "... truncated...\n" TAIL, false, "", -1 },
	{ HEAD WRITER, false, "", -1 },
	{ "=====\nEND OF INNODB MONITOR OUTPUT\n", false, "", -1 },
	{ HEAD WRITER "---TRANSACTION 9, COMMITTED IN MEMORY\n" TAIL, false, "",
	  -1 },
	{ HEAD WRITER "---TRANSACTION 9, ACTIVE\nx 4 sec\n" TAIL, false, "",
	  -1 },
};

static void test_status(void **state)
{
	const int64_t now = 1700000000 * US_PER_SECOND;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct mysql_source_activity a = { .now_us = now + 700000,
						   .oldest_us = INT64_MAX,
						   .open = json_array() };
		struct strbuf open = STRBUF_INIT;
		json_t *one;
		size_t n;
		bool whole = mysql_source_transactions_parse(
			&a, statuses[i].status, 7);
		json_array_foreach(a.open, n, one) strbuf_addf(
			&open, "%s%s", n ? ", " : "", json_string_value(one));
		if (whole != statuses[i].whole)
			fail_msg("status %zu: whole is %d", i, whole);
		assert_string_equal(open.len ? open.data : "",
				    statuses[i].open);
		assert_int_equal(a.oldest_us,
				 statuses[i].age_s < 0
					 ? INT64_MAX
					 : now - statuses[i].age_s *
							   US_PER_SECOND);
		strbuf_release(&open);
		mysql_source_activity_release(&a);
	}
}

static const struct {
	struct mysql_source_server server;
	bool applies;
	const char *expected; /* NULL: nothing arrives from elsewhere */
} servers[] = {
	{ { .read_only = (char *)"0", .innodb_read_only = (char *)"0" },
	  false,
	  NULL },
	{ { .read_only = (char *)"OFF",
	    .wsrep_on = (char *)"0",
	    .wsrep_provider = (char *)"none" },
	  false,
	  NULL },
	{ { .read_only = (char *)"1" }, false, "read-only" },
	{ { .read_only = (char *)"READ_ONLY_NO_LOCK" }, false, "read-only" },
	{ { .innodb_read_only = (char *)"1" }, false, "read-only" },
	{ { .has_primary = true }, false, "a replica" },
	{ { .read_only = (char *)"0" }, true, "a replica" },
	{ { .wsrep_on = (char *)"1", .wsrep_provider = (char *)"/l/galera.so" },
	  true,
	  "Galera" },
	{ { .wsrep_on = (char *)"ON", .wsrep_provider = (char *)"none" },
	  false,
	  NULL },
	{ { .group_name = (char *)"", .group_single_primary = (char *)"0" },
	  false,
	  NULL },
	{ { .group_name = (char *)"aaaa", .group_single_primary = (char *)"0" },
	  true,
	  "more than one primary" },
	{ { .group_name = (char *)"aaaa",
	    .group_single_primary = (char *)"1",
	    .read_only = (char *)"0" },
	  true,
	  NULL },
	{ { .group_name = (char *)"aaaa",
	    .group_single_primary = (char *)"1",
	    .read_only = (char *)"1" },
	  true,
	  "read-only" },
};

static void test_servers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		const char *got = mysql_source_server_shares(
			&servers[i].server, servers[i].applies);
		if (!got != !servers[i].expected ||
		    (got && !strstr(got, servers[i].expected)))
			fail_msg("server %zu: %s", i, got ? got : "nothing");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_servers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

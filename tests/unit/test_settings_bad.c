#include "tests/unit/unit.h"

#include "tests/unit/config_text.h"

static const struct {
	const char *text, *error;
} cases[] = {
	/* the text itself */
	{ "", "t.yaml is empty" },
	{ "# nothing\n", "t.yaml is empty" },
	{ "a: [1\nb: 2", "t.yaml:3:1: not valid YAML: " },
	{ "a:\n  b: 1\n c: 2\n", "t.yaml:3:2: not valid YAML: " },
	{ "a: \"\\q\"\n", "t.yaml:1:5: not valid YAML: " },
	{ "a: \"\\ud83d\"\n", "t.yaml:1:5: not valid YAML: " },
	{ "version: 1\nversion: 1\n",
	  "t.yaml:2:1: key \"version\" is already given in line 1" },
	{ "a: {b: 1, \"b\": 2}\n",
	  "t.yaml:1:11: key \"b\" is already given in line 1" },
	{ "version: 1\n---\nversion: 1\n", "t.yaml:2:1: a second document" },
	{ "version: &a 1\n", "t.yaml:1:10: anchors (&name) are not allowed" },
	{ "a: *b\n", "t.yaml:1:4: aliases (*name) are not allowed" },
	{ "version: !!int 1\n", "t.yaml:1:10: tags (!name) are not allowed" },
	{ "? [a]\n: 1\n", "t.yaml:1:3: a key is to be plain text" },
	{ "a: \"x\\0y\"\n", "t.yaml:1:4: a NUL character is not allowed" },
	{ "a: 1\nb: \xff\n", "t.yaml:2:4: not valid UTF-8" },
	{ "just text\n", "t.yaml:1:1: expected a map of version, state" },
	{ "[1, 2]\n", "t.yaml:1:1: expected a map of version, state" },
	/* the top level */
	{ "versoin: 1\n",
	  "t.yaml:1:1: unknown key \"versoin\" in the top level; did you mean "
	  "\"version\"? allowed: version, state, log, jobs, alert, "
	  "serve, notify, connections, defaults, pipelines" },
	{ COMPLETE "log: { row_values: 1 }\n",
	  "t.yaml:7:20: log.row_values: \"1\" is not allowed; allowed: "
	  "false, true" },
	{ COMPLETE "state: { letters_keep: long }\n",
	  "t.yaml:7:24: state.letters_keep: expected a duration such as 500ms, "
	  "10s or 1h30m, found \"long\"" },
	{ "version: 2\n" COMPLETE, "t.yaml:1:10: version: must be 1, found 2" },
	{ "version: one\n",
	  "t.yaml:1:10: version: expected a count such as 20000, found "
	  "\"one\"" },
	{ "version:\n", "t.yaml:1:1: version: expected a count such as 20000, "
			"found nothing" },
	{ "pipelines: {}\n",
	  "t.yaml:1:1: \"connections\" is missing; write connections: "
	  "{ shop: postgresql://app@db.example/shop }" },
	{ CONNECTIONS, "t.yaml:1:1: \"pipelines\" is missing" },
	{ CONNECTIONS "pipelines: {}\n",
	  "t.yaml:2:12: pipelines: there is no pipeline" },
	{ CONNECTIONS "pipelines: []\n",
	  "t.yaml:2:12: pipelines: expected a map of names to pipelines, "
	  "found a list" },
	{ COMPLETE "state: 'sqlite:'\n",
	  "t.yaml:7:8: state: sqlite: without a file path" },
	{ COMPLETE "state: {url: 'sqlite:s', lease: 10ms}\n",
	  "t.yaml:7:33: state.lease: must be between 1s and 1d, found 10ms" },
	{ COMPLETE "state: {keep: 30}\n",
	  "t.yaml:7:15: state.keep: expected a duration such as 500ms, 10s or "
	  "1h30m, found \"30\"" },
	/* serve */
	{ COMPLETE "serve: 9464\n", "t.yaml:7:8: serve: expected a map" },
	{ COMPLETE "serve: { port: 1 }\n",
	  "t.yaml:7:10: unknown key \"port\" in serve; allowed: listen, token, "
	  "hosts, watchdog" },
	{ COMPLETE "serve: { listen: localhost }\n",
	  "t.yaml:7:18: serve.listen: \"localhost\" has no port; write "
	  "localhost:9464" },
	{ COMPLETE "serve:\n  listen: 127.0.0.1:99999\n",
	  "t.yaml:8:11: serve.listen: expected an address such as "
	  "127.0.0.1:9464 or [::1]:9464, unix:PATH, or off, found "
	  "\"127.0.0.1:99999\"" },
	{ COMPLETE "serve: { listen: 'db.example:9464' }\n",
	  "t.yaml:7:18: serve.listen: \"db.example\" is no address" },
	{ COMPLETE "serve: { listen: '::1:9464' }\n",
	  "t.yaml:7:18: serve.listen: expected an address" },
	{ COMPLETE "serve: { listen: 'unix:' }\n",
	  "t.yaml:7:18: serve.listen: the path of a socket has 1 to 107" },
	{ COMPLETE "serve: { listen: 'unix:/t.sock?mode=0666' }\n",
	  "t.yaml:7:18: serve.listen: \"?mode=0666\" is not allowed behind the "
	  "path; allowed: ?mode=0600, ?mode=0660" },
	{ COMPLETE "serve: { listen: '0.0.0.0:9464' }\n",
	  "t.yaml:7:18: serve.listen: 0.0.0.0:9464 can be reached from other "
	  "machines, and there is no token. Set serve.token to "
	  "\"${file:PATH}\", or listen on 127.0.0.1 or on unix:PATH behind a "
	  "proxy or an SSH tunnel, or write off" },
	{ COMPLETE "serve: { listen: '[::]:9464', token: '' }\n",
	  "t.yaml:7:18: serve.listen: [::]:9464 can be reached from other" },
	{ COMPLETE "serve: { token: short }\n",
	  "t.yaml:7:17: serve.token: has 5 characters; it takes 16 to 1024" },
	{ COMPLETE "serve: { token: 'sixteen and more characters' }\n",
	  "t.yaml:7:17: serve.token: has a space, a line break or another" },
	{ COMPLETE "serve: { hosts: ['localhost:80'] }\n",
	  "t.yaml:7:17: serve.hosts: \"localhost:80\" is no name or address of "
	  "a host" },
	{ COMPLETE "serve: { hosts: '*' }\n",
	  "t.yaml:7:17: serve.hosts: \"*\" is no name or address of a host" },
	{ COMPLETE "serve: { watchdog: 0s }\n",
	  "t.yaml:7:20: serve.watchdog: must be between 1s and 1d, found 0s" },
	/* connections */
	{ "connections: {s: postgre://h/d}\npipelines: {}\n",
	  "t.yaml:1:18: connections.s: unknown URL scheme \"postgre\" (did "
	  "you mean \"postgres\"?)" },
	{ "connections: {s: 'host=h password=hunter22'}\n"
	  "pipelines: {}\n",
	  "t.yaml:1:18: connections.s: a libpq key=value string is no "
	  "connection URL" },
	{ "connections: {s: {password: x}}\npipelines: {}\n",
	  "t.yaml:1:18: connections.s: \"url\" is missing; write url: "
	  "postgresql://user@host/database" },
	{ "connections: {s: [x]}\npipelines: {}\n",
	  "t.yaml:1:18: connections.s: expected a connection URL or a map, "
	  "found a list" },
	{ "connections: {s: {url: postgresql://h/d, tls: {mode: verify}}}\n"
	  "pipelines: {}\n",
	  "t.yaml:1:54: connections.s.tls.mode: \"verify\" is not allowed; "
	  "did you mean \"verify-ca\"? allowed: auto, disabled, required, "
	  "verify-ca, verify-full" },
	{ "connections: {s: {url: postgresql://h/d, timeout: {connect: 0s}}}\n"
	  "pipelines: {}\n",
	  "t.yaml:1:61: connections.s.timeout.connect: must be between 1ms and "
	  "1d, found 0s" },
	{ "connections: {s: {url: 'sqlite:x', password: x}}\npipelines: {}\n",
	  "t.yaml:1:46: connections.s.password: sqlite:x is a file and takes "
	  "no password" },
	{ "connections: {s: {url: postgresql://a:b@h/d, password: x}}\n"
	  "pipelines: {}\n",
	  "t.yaml:1:56: connections.s.password: the URL holds a password too" },
	{ "connections: {s: {url: postgresql://h/d, tls: {key: k}}}\n"
	  "pipelines: {}\n",
	  "t.yaml:1:47: connections.s.tls: cert and key go together" },
	/* expansion */
	{ "connections: {s: '${TIDEMARK_NOT_SET}'}\n",
	  "t.yaml:1:18: ${TIDEMARK_NOT_SET}: the environment variable "
	  "TIDEMARK_NOT_SET is not set" },
	{ "connections:\n  s: 'x${A'\n",
	  "t.yaml:2:6: \"${\" without its \"}\"" },
	{ "connections:\n  s: ${1A}\n",
	  "t.yaml:2:6: ${1A}: not a variable's name" },
	{ "connections:\n  s: ${file:/no/such}\n",
	  "t.yaml:2:6: cannot read /no/such: No such file" },
	/* pipelines */
	{ CONNECTIONS "pipelines: {p: 1}\n",
	  "t.yaml:2:16: pipelines.p: expected a map, found \"1\"" },
	{ CONNECTIONS "pipelines: {-p: {}}\n",
	  "t.yaml:2:13: \"-p\" is no name for a pipeline" },
	{ CONNECTIONS "pipelines: {p: {}}\n",
	  "t.yaml:2:16: pipelines.p: \"source\" is missing; write source: "
	  "{ connection: NAME, table: SCHEMA.TABLE }" },
	{ PIPELINE, "t.yaml:4:5: pipelines.p: \"watermark\" is missing; write "
		    "watermark: { strategy: timestamp, column: updated_at }" },
	{ COMPLETE "    watermrk: {}\n",
	  "t.yaml:7:5: unknown key \"watermrk\" in pipelines.p; did you mean "
	  "\"watermark\"? allowed: source, destination, watermark, key, load" },
	{ CONNECTIONS "pipelines:\n  p:\n    source: {connection: s}\n",
	  "t.yaml:4:13: pipelines.p.source: \"table\" is missing" },
	{ CONNECTIONS "pipelines:\n  p:\n    source: {connection: s, table: "
		      "''}\n",
	  "t.yaml:4:36: pipelines.p.source.table: must not be empty" },
	{ CONNECTIONS
	  "pipelines:\n  p:\n    source: {connection: z, table: t}\n"
	  "    destination: {connection: w, table: t}\n"
	  "    watermark: {strategy: xmin}\n",
	  "t.yaml:4:26: pipelines.p.source.connection: no connection \"z\"; "
	  "did you mean \"s\"? there are: s, w, m" },
	{ CONNECTIONS
	  "pipelines:\n  p:\n    source: {connection: s, table: a.b.c.d}\n"
	  "    destination: {connection: w, table: t}\n"
	  "    watermark: {strategy: xmin}\n",
	  "t.yaml:4:36: pipelines.p.source.table: table name 'a.b.c.d': more "
	  "than three parts" },
	{ COMPLETE "    key: id\n",
	  "t.yaml:7:10: pipelines.p.key: expected a list such as [a, b], found "
	  "\"id\"" },
	{ COMPLETE "    key: [a, a]\n",
	  "t.yaml:7:14: pipelines.p.key: \"a\" is given twice" },
	{ COMPLETE "    key: [a, {b: 1}]\n",
	  "t.yaml:7:14: pipelines.p.key: expected a list of names, found a "
	  "map" },
	/* watermark */
	{ PIPELINE "    watermark: {strategy: xmn}\n",
	  "t.yaml:6:27: pipelines.p.watermark.strategy: \"xmn\" is not "
	  "allowed; did you mean \"xmin\"? allowed: timestamp, xmin, "
	  "sequence" },
	{ PIPELINE "    watermark: {column: id}\n",
	  "t.yaml:6:16: pipelines.p.watermark: \"strategy\" is missing" },
	{ PIPELINE "    watermark: {strategy: timestamp}\n",
	  "t.yaml:6:16: pipelines.p.watermark.column: strategy timestamp needs "
	  "the name of its column; write column: updated_at" },
	{ PIPELINE "    watermark: {strategy: sequence}\n",
	  "strategy sequence needs the name of its column; write column: id" },
	{ PIPELINE "    watermark: {strategy: xmin, column: id}\n",
	  "t.yaml:6:41: pipelines.p.watermark.column: strategy xmin takes no "
	  "column" },
	{ PIPELINE "    watermark: {strategy: xmin, lag: 1m}\n",
	  "t.yaml:6:38: pipelines.p.watermark.lag: strategy xmin takes no "
	  "lag" },
	{ PIPELINE "    watermark: {strategy: sequence, column: id, lag: 1m}\n",
	  "t.yaml:6:54: pipelines.p.watermark.lag: a sequence's lag is a count "
	  "such as 1000, found \"1m\"" },
	{ PIPELINE "    watermark: {strategy: timestamp, column: u, lag: 5}\n",
	  "t.yaml:6:54: pipelines.p.watermark.lag: a timestamp's lag is a "
	  "duration such as 30s or 10m, found \"5\"" },
	{ PIPELINE "    watermark: {strategy: timestamp, column: u, lag: x}\n",
	  "a timestamp's lag is a duration such as 30s or 10m, found \"x\"" },
	{ PIPELINE "    watermark: {strategy: timestamp, column: u, "
		   "time_zone: +25:00}\n",
	  "t.yaml:6:60: pipelines.p.watermark.time_zone: expected auto, UTC" },
	{ PIPELINE "    watermark: {strategy: xmin, time_zone: UTC}\n",
	  "only strategy timestamp has a time zone" },
	{ PIPELINE "    watermark: {strategy: xmin, settle: on}\n",
	  "\"on\" is not allowed; allowed: auto, off" },
	{ CONNECTIONS
	  "pipelines:\n  p:\n    source: {connection: m, table: t}\n"
	  "    destination: {connection: w, table: t}\n"
	  "    watermark: {strategy: xmin}\n",
	  "t.yaml:6:27: pipelines.p.watermark.strategy: xmin is PostgreSQL's "
	  "own row version and a mysql source has none; use timestamp" },
	{ CONNECTIONS "pipelines:\n  p:\n    source: {connection: m, table: t, "
		      "zero_dates: skip}\n",
	  "t.yaml:4:51: pipelines.p.source.zero_dates: \"skip\" is not "
	  "allowed; "
	  "allowed: error, null" },
	{ CONNECTIONS "pipelines:\n  p:\n    source: {connection: m, table: t, "
		      "zero_dates: }\n",
	  "pipelines.p.source.zero_dates: expected " },
	{ CONNECTIONS
	  "pipelines:\n  p:\n"
	  "    source: {connection: s, table: t, zero_dates: null}\n"
	  "    destination: {connection: w, table: t}\n"
	  "    watermark: {strategy: xmin}\n",
	  "t.yaml:4:51: pipelines.p.source.zero_dates: only MySQL and MariaDB "
	  "have zero dates, and this source is postgres" },
	/* keys that are not built yet */
	{ COMPLETE "    load: {keep_raw: 30d}\n",
	  "t.yaml:7:22: pipelines.p.load.keep_raw: not supported yet" },
	/* gates */
	{ COMPLETE "    gate: {min_rows: -1}\n",
	  "t.yaml:7:22: pipelines.p.gate.min_rows: expected a count" },
	{ COMPLETE "    gate: {min_rows: 3, max_rows: 2}\n",
	  "t.yaml:7:22: pipelines.p.gate.min_rows: 3 is more than the largest "
	  "allowed, 2, of rows: nothing would pass" },
	{ COMPLETE "    gate: {not_null: a}\n",
	  "t.yaml:7:22: pipelines.p.gate.not_null: expected a list such as "
	  "[a, b], found \"a\"" },
	{ COMPLETE "    gate: {unique: [a, a]}\n",
	  "t.yaml:7:24: pipelines.p.gate.unique: \"a\" is given twice" },
	{ COMPLETE "    gate: {min: 0}\n",
	  "t.yaml:7:17: pipelines.p.gate.min: expected a map of columns to "
	  "bounds, found \"0\"" },
	{ COMPLETE "    gate: {min: {amount: }}\n",
	  "t.yaml:7:18: pipelines.p.gate.min.amount: expected text, found "
	  "nothing" },
	{ COMPLETE "    gate: {min: {amount: [1]}}\n",
	  "t.yaml:7:26: pipelines.p.gate.min.amount: expected text, found a "
	  "list" },
	{ COMPLETE "    gate: {max: {amount: NaN}}\n",
	  "t.yaml:7:26: pipelines.p.gate.max.amount: expected a number, a "
	  "date, a time or a text, found \"NaN\"" },
	{ COMPLETE "    gate: {max: {a: 1.5, b: 9}, min: {a: 1.50, b: 10}}\n",
	  "t.yaml:7:38: pipelines.p.gate.min: 10 is more than the largest "
	  "allowed, 9, of column b: nothing would pass" },
	{ COMPLETE "    gate: {match: {code: '[A-'}}\n",
	  "t.yaml:7:26: pipelines.p.gate.match.code: \"[A-\" is no regular "
	  "expression: missing terminating ] for character class (at character "
	  "4)" },
	{ COMPLETE "    gate: {min_row: 0}\n",
	  "unknown key \"min_row\" in pipelines.p.gate; did you mean "
	  "\"min_rows\"?" },
	{ COMPLETE "    on_bad_row: {dead_letter: {limit: 101%}}\n",
	  "t.yaml:7:39: pipelines.p.on_bad_row.dead_letter.limit: expected a "
	  "count or a share such as 0.1% (of at most 100%), found \"101%\"" },
	{ COMPLETE "    on_bad_row: {dead_letter: {limit: few}}\n",
	  "(of at most 100%), found \"few\"" },
	{ COMPLETE "    on_bad_row: {dead_letter: {limit: -1}}\n",
	  "found \"-1\"" },
	{ COMPLETE "    on_bad_row: {dead_letter: {limit: 1.%}}\n",
	  "found \"1.%\"" },
	{ COMPLETE "    on_bad_row: {dead_letters: {}}\n",
	  "did you mean \"dead_letter\"?" },
	{ COMPLETE "    on_bad_row: {}\n", "\"dead_letter\" is missing" },
	{ COMPLETE "    on_bad_row: stop\n",
	  "\"stop\" is not allowed; allowed: halt, dead_letter" },
	{ COMPLETE "    pace: {rows_per_second: -5}\n",
	  "t.yaml:7:29: pipelines.p.pace.rows_per_second: expected a count" },
	{ COMPLETE "    pace: {replica_lag: 5s, replicas: [s, nobody]}\n",
	  "pipelines.p.pace.replicas: no connection \"nobody\"" },
	{ COMPLETE "    pace: {replicas: [s]}\n",
	  "pipelines.p.pace.replicas: says whom to ask, but pace.replica_lag "
	  "does not say" },
	{ COMPLETE "    pace: {replica_lag: 5s, replicas: [w]}\n",
	  "pipelines.p.pace.replicas: connection w is a file" },
	{ COMPLETE "    pace: {probe: {connection: s}}\n",
	  "pipelines.p.pace.probe: \"query\" is missing; write query: " },
	{ COMPLETE "    pace: {probe: {connection: x, query: q, below: 1}}\n",
	  "pipelines.p.pace.probe.connection: no connection \"x\"" },
	{ COMPLETE "    pace: {probe: {connection: s, query: q, below: 0}}\n",
	  "pipelines.p.pace.probe.below: " },
	{ COMPLETE "    retry: {breaker: {failures: 1001}}\n",
	  "t.yaml:7:33: pipelines.p.retry.breaker.failures: must be between 0 "
	  "and 1000, found 1001" },
	{ COMPLETE "    schedule: every 1\n",
	  "t.yaml:7:15: pipelines.p.schedule: expected every 5m, manual, or a "
	  "map with every or cron; \"1\" is not a duration from 1s to 366d" },
	{ COMPLETE "    schedule: {cron: '0 3 * *'}\n",
	  "t.yaml:7:22: pipelines.p.schedule.cron: \"0 3 * *\" is not five "
	  "fields" },
	{ COMPLETE "    schedule: {cron: every 5m}\n",
	  "t.yaml:7:22: pipelines.p.schedule.cron: \"every 5m\" is no cron "
	  "expression" },
	{ COMPLETE "    schedule: {cron: '@daily', time_zone: Europe/Rom}\n",
	  "t.yaml:7:43: pipelines.p.schedule.time_zone: this system knows no "
	  "time zone \"Europe/Rom\"" },
	{ COMPLETE "    schedule: {every: 1h, time_zone: Europe/Rome}\n",
	  "t.yaml:7:38: pipelines.p.schedule.time_zone: goes with cron alone" },
	{ COMPLETE "    schedule: {every: 1h, cron: '@daily'}\n",
	  "t.yaml:7:15: pipelines.p.schedule: has both every and cron" },
	{ COMPLETE "    schedule: {every: 10s, jitter: 10s}\n",
	  "t.yaml:7:36: pipelines.p.schedule.jitter: must be less than the "
	  "time "
	  "between two runs" },
	{ COMPLETE "    schedule: {at: noon}\n",
	  "t.yaml:7:16: unknown key \"at\" in pipelines.p.schedule" },
	{ COMPLETE "    soft_delete: gone\n    load: {mode: append}\n",
	  "t.yaml:7:18: pipelines.p.soft_delete: rows of load mode append "
	  "cannot be marked" },
	/* values */
	{ COMPLETE "    batch: {rows: 0}\n",
	  "t.yaml:7:19: pipelines.p.batch.rows: must be between 1 and "
	  "10000000, "
	  "found 0" },
	{ COMPLETE "    batch: {rows: -1}\n",
	  "expected a count such as 20000, found \"-1\"" },
	{ COMPLETE "    batch: {bytes: 32mb}\n",
	  "t.yaml:7:20: pipelines.p.batch.bytes: expected a size such as "
	  "32MiB, found \"32mb\"" },
	{ COMPLETE "    batch: {bytes: 1KiB}\n",
	  "must be between 64KiB and 1GiB, found 1KiB" },
	{ COMPLETE "    batch: 5\n",
	  "t.yaml:7:12: pipelines.p.batch: expected a map, found \"5\"" },
	{ COMPLETE "    logic_version: 0\n",
	  "t.yaml:7:20: pipelines.p.logic_version: must be at least 1, found "
	  "0" },
	{ COMPLETE "    tenant: [a]\n",
	  "t.yaml:7:13: pipelines.p.tenant: expected text, found a list" },
	{ COMPLETE "    schema: {on_new_column: widen}\n",
	  "\"widen\" is not allowed; allowed: add, stop" },
	{ COMPLETE "    retry: {backoff: 2m}\n",
	  "t.yaml:7:22: pipelines.p.retry.backoff: is longer than "
	  "retry.max_backoff" },
	/* defaults */
	{ COMPLETE "defaults: {batch: {rows: x}}\n",
	  "t.yaml:7:26: defaults.batch.rows: expected a count" },
	{ COMPLETE "defaults: {btch: {}}\n",
	  "t.yaml:7:12: unknown key \"btch\" in defaults; did you mean "
	  "\"batch\"?" },
	{ COMPLETE "defaults: {gate: {match: {a: '('}}}\n",
	  "t.yaml:7:30: defaults.gate.match.a: \"(\" is no regular "
	  "expression" },
	/* one table, one writer */
	{ COMPLETE "  q:\n"
		   "    source: {connection: s, table: public.u}\n"
		   "    destination: {connection: w, table: '\"t\"'}\n"
		   "    watermark: {strategy: xmin}\n",
	  "t.yaml:9:41: pipelines.q.destination.table: pipeline \"p\" writes "
	  "to this table already" },
	{ CONNECTIONS
	  "pipelines:\n  p:\n    source: {connection: s, table: public.t}\n"
	  "    destination: {connection: s, table: public.t}\n"
	  "    watermark: {strategy: xmin}\n",
	  "t.yaml:5:41: pipelines.p.destination.table: source and destination "
	  "are the same table" },
	/* mode update */
	{ PIPELINE "    watermark: {strategy: xmin}\n"
		   "    load: {mode: update}\n    verify: window\n",
	  "t.yaml:8:13: pipelines.p.verify: mode update fills columns of rows "
	  "that others write" },
	{ CONNECTIONS
	  "pipelines:\n  p:\n    source: {connection: s, table: public.t}\n"
	  "    destination: {connection: s, table: t}\n"
	  "    watermark: {strategy: xmin}\n    load: {mode: update}\n",
	  "t.yaml:6:27: pipelines.p.watermark.strategy: source and destination "
	  "are the same table: only by a timestamp" },
	{ CONNECTIONS "pipelines:\n  p:\n"
		      "    source: {connection: s, table: t, columns: [id]}\n"
		      "    destination: {connection: w, table: t}\n"
		      "    watermark: {strategy: timestamp, column: at}\n"
		      "    load: {mode: update}\n",
	  "t.yaml:4:48: pipelines.p.source.columns: mode update compares the "
	  "mark's column \"at\"" },
};

static void test_cases(void **state)
{
	size_t wrong = 0;

	(void)state;
	unsetenv("TIDEMARK_NOT_SET");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = ERROR_INIT;
		struct settings s;

		if (!config_text(&s, cases[i].text, false, &err)) {
			settings_release(&s);
			print_error("accepted:\n%s\n", cases[i].text);
			wrong++;
			continue;
		}
		if (err.code == ERROR_CONFIG &&
		    strstr(err.message, cases[i].error))
			continue;
		print_error("expected: %s\n  gives: %s\n", cases[i].error,
			    err.message);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static const struct {
	const char *connections, *error;
} exposed[] = {
	{ "s: postgresql://a:hunter22@h/d",
	  "t.yaml:1:18: connections.s: a password is written out, and "
	  "t.yaml can be read by others, or write ${VAR} or ${file:PATH} "
	  "instead" },
	{ "s: {url: postgresql://h/d, password: hunter22}",
	  "t.yaml:1:52: connections.s.password: a password is written out" },
	{ "s: {url: postgresql://h/d, password: '${T_NO:-hunter22}'}",
	  "connections.s.password: a password is written out" },
	{ "s: postgresql://h/d?password=hunter22",
	  "connections.s: a password is written out" },
	{ "s: {url: postgresql://h/d, password: '${T_PW}'}", NULL },
	{ "s: 'postgresql://a:${T_PW}@h/d'", NULL },
	{ "s: postgresql://a@h/d", NULL },
};

static void test_exposed_password(void **state)
{
	(void)state;
	setenv("T_PW", "hunter22", 1);
	for (size_t i = 0; i < ARRAY_SIZE(exposed); i++) {
		struct error err = ERROR_INIT, quiet = ERROR_INIT;
		struct settings s;
		char *text = xstrfmt(
			"connections: {%s, w: 'sqlite:w.db'}\n"
			"pipelines: {p: {source: {connection: s, table: t},"
			"destination: {connection: w, table: t},"
			"watermark: {strategy: xmin}}}\n",
			exposed[i].connections);
		int rc = config_text(&s, text, true, &err);

		assert_int_equal(rc, exposed[i].error ? -ERROR_CONFIG : 0);
		if (rc && !strstr(err.message, exposed[i].error))
			fail_msg("%s", err.message);
		assert_null(strstr(err.message, "hunter22"));
		if (!rc)
			settings_release(&s);
		assert_int_equal(config_text(&s, text, false, &quiet), 0);
		settings_release(&s);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_exposed_password),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

"""Bad input: what was found, where, what is allowed, the nearest name; and
no secret in any answer."""

import os
import re
import sqlite3

import pytest

import workload
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_SCHEMA, sync_items)
from servers import CANARY, free_port

CONFIG = """version: 1
state: sqlite:DIR/state.db
connections:
  shop: { url: "postgresql://app@127.0.0.1:1/shop", password: "${TIDEMARK_TEST_PASSWORD}" }
  warehouse: sqlite:DIR/warehouse.db
pipelines:
  orders:
    source: { connection: shop, table: public.orders }
    destination: { connection: warehouse, table: main.orders }
    key: [id]
    watermark:
      strategy: timestamp
      column: updated_at
    load: { mode: upsert }
    batch: { rows: 20000 }
    retry: { attempts: 1 }
"""

# old text, new text, line, words that the answer must have
BAD_CONFIGS = (
    ("strategy: timestamp", "stratgy: timestamp", 12, ["stratgy", "strategy"]),
    ("strategy: timestamp", "strategy: timestmap", 12,
     ["timestmap", "timestamp", "xmin", "sequence"]),
    ("load: { mode: upsert }", "load: { mode: upsrt }", 14,
     ["upsrt", "upsert", "append", "delete_insert", "replace"]),
    ("load: { mode: upsert }", "load: { moed: upsert }", 14, ["moed", "mode"]),
    ("connection: shop", "connection: shpo", 8, ["shpo", "shop"]),
    ("rows: 20000", "rows: many", 15, ["many"]),
    ("rows: 20000", "rows: -1", 15, ["-1"]),
    ("rows: 20000", "rows: 0", 15, ["0"]),
    ("rows: 20000", "rows: [1]", 15, ["rows"]),
    ("version: 1", "version: 2", 1, ["2", "1"]),
    ("version: 1", "verison: 1", 1, ["verison", "version"]),
    ("pipelines:", "pipeline:", 6, ["pipeline", "pipelines"]),
    ("table: public.orders", "tabel: public.orders", 8, ["tabel", "table"]),
    ("      column: updated_at\n", "", 12, ["column"]),
    ("key: [id]", "key: {}", 10, ["key"]),
    ("key: [id]", "key: [id]\n    schedule: every 7", 11,
     ["schedule", "not a duration"]),
    ("key: [id]", "key: [id]\n    gate: { match: { code: '[A-' } }", 11,
     ["gate.match.code", "[A-", "missing terminating ]"]),
    ("key: [id]", "key: [id]\n    gate: { min: { a: 2 }, max: { a: 1.5 } }", 11,
     ["gate.min", "2", "1.5"]),
    ("key: [id]", "key: [id]\n    gate: { min_rows: 2, max_rows: 1 }", 11,
     ["gate.min_rows", "nothing would pass"]),
    ("key: [id]", "key: [id]\n    on_bad_row: { dead_letter: { limit: 1/3 } }",
     11, ["on_bad_row.dead_letter.limit", "1/3", "0.1%"]),
    ("sqlite:DIR/warehouse.db", "sqlit:DIR/warehouse.db", 5,
     ["sqlit", "sqlite"]),
    ("column: updated_at", "column: updated_at\n      lag: soon", 14,
     ["soon", "lag"]),
    ("column: updated_at", "column: updated_at\n      nulls: ignore", 14,
     ["ignore", "error", "include", "skip"]),
    ("column: updated_at", "column: updated_at\n      column: id", 14,
     ["column"]),
    ("key: [id]", "key: [id", 0, []),
    ("key: [id]", "\tkey: [id]", 10, []),
    ("${TIDEMARK_TEST_PASSWORD}", "${NO_SUCH_VARIABLE}", 4,
     ["NO_SUCH_VARIABLE"]),
    ("${TIDEMARK_TEST_PASSWORD}", "${file:/no/such/file}", 4,
     ["/no/such/file"]),
)


@pytest.mark.parametrize("old, new, line, words", BAD_CONFIGS,
                         ids=[each[1][:30] for each in BAD_CONFIGS])
def test_bad_config(tidemark, old, new, line, words):
    assert old in CONFIG
    text = CONFIG.replace(old, new, 1).replace("DIR", tidemark.dir)
    tidemark.write_config(text)
    done = tidemark("check").expect(EXIT_CONFIG)
    place = re.search(r"tidemark\.yaml:(\d+):(\d+)", done.err)
    assert place, done
    if line:
        assert int(place[1]) == line, done
    assert int(place[2]) >= 1
    for word in words:
        assert word in done.err, done
    assert not os.path.exists(tidemark.state_file)


@pytest.mark.parametrize("args, words", (
    (["rnu"], ["rnu", "run"]),
    (["run", "--max-batchs", "1"], ["--max-batchs", "--max-batches"]),
    (["run", "ordres"], ["ordres", "orders"]),
    (["run", "--max-batches", "x"], ["x"]),
    (["run", "--max-batches"], ["--max-batches"]),
    (["run", "--watch", "soon"], ["soon"]),
    (["status", "ordres"], ["ordres", "orders"]),
    (["check", "ordres"], ["ordres", "orders"]),
    (["watermark", "shwo"], ["shwo", "show"]),
    (["watermark", "reset"], ["PIPELINE"]),
    (["watermark", "reset", "ordres"], ["ordres", "orders"]),
    (["verify", "sqlite:a", "sqlite:b"], ["verify needs --table"]),
    (["verify", "sqlite:a", "--table", "t"], ["DESTINATION_URL"]),
    (["verify", "items", "--table", "t"], ["--table goes with SOURCE_URL"]),
    (["copy"], ["copy"]),
    (["copy", "sqlite:a", "sqlite:b"], ["--table"]),
    (["help", "rnu"], ["rnu", "run"]),
    (["--nonsense"], ["--nonsense"]),
    ([], ["COMMAND"]),
))
def test_bad_command_line(tidemark, args, words):
    tidemark.write_config(CONFIG.replace("DIR", tidemark.dir))
    done = tidemark(*args).expect(EXIT_CONFIG)
    for word in words:
        assert word.lower() in (done.err + done.out).lower(), done


def test_missing_config(tidemark):
    done = tidemark("run").expect(EXIT_CONFIG)
    assert "tidemark.yaml" in done.err


def test_config_from_the_environment_and_by_option(tidemark, work_dir):
    other = work_dir / "other.yaml"
    other.write_text("version: 7\n")
    other.chmod(0o600)
    done = tidemark("check", env={"TIDEMARK_CONFIG": str(other)})
    assert "other.yaml:1" in done.expect(EXIT_CONFIG).err
    done = tidemark("-c", str(other), "check").expect(EXIT_CONFIG)
    assert "other.yaml:1" in done.err


def test_readable_literal_password_is_refused(tidemark, work_dir):
    text = CONFIG.replace("DIR", tidemark.dir).replace(
        "${TIDEMARK_TEST_PASSWORD}", "literal-" + CANARY)
    path = work_dir / "holds-secret"
    path.write_text(text)
    path.chmod(0o644)
    done = tidemark("-c", str(path), "check").expect(EXIT_CONFIG)
    assert "chmod" in done.err or "others" in done.err or "read" in done.err
    path.chmod(0o600)
    tidemark("-c", str(path), "run", env={"TIDEMARK_TEST_PASSWORD": None}
             ).expect(EXIT_ACCESS)


def test_password_in_the_url_is_refused_when_readable(tidemark, work_dir):
    text = CONFIG.replace("DIR", tidemark.dir).replace(
        "postgresql://app@", f"postgresql://app:{CANARY}@")
    path = work_dir / "holds-secret"
    path.write_text(text)
    path.chmod(0o640)
    tidemark("-c", str(path), "check").expect(EXIT_CONFIG)


def test_secret_from_a_file(tidemark, source, make_destination, work_dir):
    workload.create_items(source, rows=3)
    secret = work_dir / "holds-secret"
    secret.write_text(CANARY + "\n")
    secret.chmod(0o600)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.connections["source"]["password"] = "${file:%s}" % secret
    tidemark.write_config().run()


RETRY = {"attempts": 2, "backoff": "50ms", "max_backoff": "100ms"}


@pytest.mark.parametrize("end", ("source", "warehouse"))
@pytest.mark.parametrize("fault, word", (
    ("password", "password"),
    ("refused", "127.0.0.1"),
    ("unknown host", "nowhere.invalid"),
    ("no database", "no_such_database"),
))
def test_unreachable(tidemark, source, make_destination, end, fault, word):
    destination = make_destination("postgres")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp", retry=RETRY)
    url = tidemark.connections[end]["url"]
    port = str(source.cluster.port)
    tidemark.connections[end]["url"] = {
        "password": url,
        "refused": url.replace(f":{port}/", f":{free_port()}/"),
        "unknown host": url.replace("127.0.0.1", "nowhere.invalid"),
        "no database": url.rsplit("/", 1)[0] + "/no_such_database",
    }[fault]
    if fault == "password":
        tidemark.connections[end]["password"] = "wrong-" + "${X:-pass}"
    tidemark.write_config()
    done = tidemark("run", "--json").expect(EXIT_ACCESS)
    error = done.pipeline()["error"]["message"]
    assert word in error and done.pipeline()["outcome"] == "failed"
    assert "wrong-pass" not in done.out + done.err
    assert "items" not in destination.tables()


def test_database_that_is_closed(tidemark, source, make_destination):
    """For maintenance: nothing that would be wrong in the config."""
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    closed = f"ALTER DATABASE {source.database} ALLOW_CONNECTIONS "
    with source.cluster.admin() as admin:
        admin.execute(closed + "false")
        tidemark("run").expect(EXIT_ACCESS)
        admin.execute(closed + "true")
    tidemark.run()


@pytest.mark.parametrize("end", ("source", "warehouse"))
@pytest.mark.parametrize("more, words", (
    ("port=99999999", "port"),
    ("keepalives_idle=soon", "keepalives_idle"),
    ("sslmode=maybe", "sslmode"),
    ("no_such_option=1", "no_such_option"),
    ("options=-c%20no_such%3Don", "no_such"),
    ("options=-c%20DateStyle%3Dyesterday", "DateStyle"),
))
def test_bad_connection_parameter(tidemark, source, make_destination, end,
                                  more, words):
    """A fault in the config is not tried again."""
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, make_destination("postgres"), "timestamp")
    tidemark.connections[end]["url"] += "?" + more
    tidemark.write_config()
    done = tidemark("run", "--json").expect(EXIT_CONFIG)
    assert words in done.pipeline()["error"]["message"]
    assert "try 1 of" not in done.err, done


def test_no_secret_on_the_command_line(tidemark, source, make_destination):
    """While it runs, neither `ps` nor the server shows the password."""
    workload.create_items(source, rows=60000)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp",
               batch={"rows": 200})
    running = tidemark.start("-v", "run", "--json")
    seen = []
    while running.alive() and len(seen) < 20:
        try:
            with open(f"/proc/{running.process.pid}/cmdline", "rb") as line:
                seen.append(line.read())
        except FileNotFoundError:
            break
    running.wait()
    assert seen and all(CANARY.encode() not in line for line in seen)


def test_verbose_and_json_logs_hold_no_secret(tidemark, source,
                                              make_destination):
    """Outcome and work_dir search every byte; here the most is said."""
    workload.create_items(source, rows=10)
    destination = make_destination("postgres")
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.connections["source"] = source.cluster.url(
        source.database).replace(CANARY, "${TIDEMARK_TEST_PASSWORD}")
    tidemark.write_config()
    tidemark("-v", "--log-format", "json", "run").expect(0)
    tidemark("-v", "check").expect(0)
    tidemark("-v", "status", "--json").expect(0)
    assert os.stat(tidemark.state_file).st_mode & 0o077 == 0


@pytest.mark.parametrize("change, code, words", (
    ({"table": "public.itmes"}, EXIT_SCHEMA, ["itmes", "items"]),
    ({"columns": ["id", "nmae", "updated_at"]}, EXIT_SCHEMA, ["nmae", "name"]),
    ({"where": "no_such_column = 1"}, EXIT_CONFIG,
     ["source.where", "no_such_column"]),
    ({"expressions": {"x": "no_such_function(id)"}}, EXIT_CONFIG,
     ["source.expressions.x", "no_such_function"]),
    # one value for each row, or rows would be made up or left out
    ({"expressions": {"x": "generate_series(1, id)"}}, EXIT_CONFIG,
     ["source.expressions.x", "one value for each row"]),
    ({"expressions": {"x": "count(*)"}}, EXIT_CONFIG,
     ["source.expressions.x", "one value for each row"]),
    # a mark that runs ahead of itself
    ({"expressions": {"updated_at": "make_timestamptz(2024, 1, 1, 0, 0, 0)"}},
     EXIT_CONFIG, ["watermark.column", "does not depend on the row"]),
))
def test_bad_names_at_the_source(tidemark, source, make_destination, change,
                                 code, words):
    workload.create_items(source, rows=3)
    destination = make_destination("postgres")
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.pipelines["items"]["source"].update(change)
    tidemark.write_config()
    message = tidemark.run(expect=code).pipeline()["error"]["message"]
    for word in words:
        assert word in message, message
    assert "items" not in destination.tables()


@pytest.mark.parametrize("column, word", (
    ("updated_ta", "updated_at"), ("name", "name")))
def test_bad_mark_column(tidemark, source, make_destination, column, word):
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp",
               watermark={"column": column})
    done = tidemark("run", "--json")
    assert done.code in (EXIT_CONFIG, EXIT_SCHEMA), done
    assert word in done.pipeline()["error"]["message"]


def test_bad_key_column(tidemark, source, make_destination):
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp",
               key=["idd"])
    done = tidemark.run(expect=EXIT_SCHEMA)
    assert "idd" in done.pipeline()["error"]["message"]


def test_no_right_to_read(tidemark, source, make_destination, cluster):
    workload.create_items(source, rows=3)
    with cluster.admin(source.database) as admin:
        admin.execute("ALTER TABLE items OWNER TO postgres")
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp",
               retry=RETRY)
    done = tidemark.run(expect=EXIT_ACCESS)
    assert "items" in done.pipeline()["error"]["message"]


def test_failpoints_are_refused_by_a_users_build(tidemark):
    tidemark.write_config(CONFIG.replace("DIR", tidemark.dir))
    done = tidemark("check", failpoints="after_merge=kill")
    assert "failpoint" in done.expect(EXIT_CONFIG).err.lower()


@pytest.mark.parametrize("value", ("nonsense=kill", "after_merge=explode",
                                   "after_merge", "after_merge=kill@x"))
def test_bad_failpoints(tidemark_failpoints, value):
    tidemark_failpoints.write_config(
        CONFIG.replace("DIR", tidemark_failpoints.dir))
    tidemark_failpoints("check", failpoints=value).expect(EXIT_CONFIG)


@pytest.mark.parametrize("word", ["source", "target", "state"])
def test_a_file_has_no_options(tidemark, word):
    """A word behind "?" that nobody reads is refused, with exit 2."""
    place = tidemark.dir
    with sqlite3.connect(f"{place}/a.db") as db:
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)")
    ends = {"source": f"sqlite:{place}/a.db", "target": f"sqlite:{place}/b.db",
            "state": f"sqlite:{place}/s.db"}
    ends[word] += "?x=1"
    tidemark.write_config(f"""version: 1
state: {ends["state"]}
connections: {{ a: "{ends["source"]}", b: "{ends["target"]}" }}
pipelines:
  p:
    source: {{ connection: a, table: t }}
    destination: {{ connection: b, table: t }}
    watermark: {{ strategy: sequence, column: id }}
    load: {{ mode: upsert }}
""")
    done = tidemark("run").expect(EXIT_CONFIG)
    assert "sqlite: unknown option x in the URL; it has none" in done.err
    assert not os.path.exists(f"{place}/b.db")

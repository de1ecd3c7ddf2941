"""The output of each command for people and, with --json, for programs."""

import json
import os
import sqlite3
import subprocess

import pytest

import oracle
import servers
import workload
from conftest import ROOT
from bench import EXIT_ACCESS, EXIT_CONFIG, EXIT_OK, EXIT_SCHEMA, sync_items

RUN_KEYS = {
    "pipeline", "outcome", "run_id", "attempt_id", "batches", "rows_read",
    "rows_inserted", "rows_updated", "rows_unchanged", "rows_deleted",
    "rows_dead_lettered", "watermark_before", "watermark_after", "guarantee",
    "held_by", "seconds", "error"}
STATUS_KEYS = {"pipeline", "watermark", "lag_seconds", "held_by", "last_run",
               "lease", "breaker", "dead_letters", "chunks"}
COMMANDS = ("run", "check", "status", "runs", "backfill", "worker", "copy",
            "init", "watermark", "pace", "migrate", "schema", "plugins",
            "completion", "version", "help")


@pytest.fixture
def synced(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.destination = destination
    return tidemark


def test_run_json(synced):
    result = synced.run().pipeline()
    assert RUN_KEYS <= set(result)
    assert result["error"] is None and result["watermark_before"] is None
    assert result["watermark_after"]["strategy"] == "timestamp"
    assert isinstance(result["seconds"], (int, float))
    again = synced.run().pipeline()
    assert again["watermark_before"] == result["watermark_after"]
    assert again["attempt_id"] != result["attempt_id"]


def test_run_id_is_stable_over_retries(synced, source):
    """The same window, failed and tried again, is the same run."""
    source.execute("ALTER TABLE items RENAME TO hidden")
    first = synced.run(expect=EXIT_SCHEMA).pipeline()
    second = synced.run(expect=EXIT_SCHEMA).pipeline()
    assert first["attempt_id"] != second["attempt_id"]
    assert first["run_id"] == second["run_id"]


def test_failed_run_json(synced, source):
    source.execute("DROP TABLE items")
    result = synced.run(expect=EXIT_SCHEMA).pipeline()
    assert result["outcome"] == "failed"
    assert set(result["error"]) >= {"code", "message"}
    assert result["error"]["code"] == "schema"


def test_the_first_characters_of_an_id(synced):
    """As people copy them from a line that was cut."""
    first = synced.run().pipeline()["run_id"]
    synced.run()
    ids = sorted({each["run_id"] for each in synced(
        "runs", "list", "--json", "--limit", "100").json()["runs"]})
    shown = synced("runs", "show", ids[0][:8], "--json").expect(EXIT_OK)
    assert shown.json()["runs"][0]["run_id"] == ids[0]
    assert shown.json()["runs"][0]["attempts"]
    synced("runs", "replay", first[:8]).expect(EXIT_OK)
    none = synced("runs", "show", ids[0][:3]).expect(EXIT_CONFIG)
    assert f"no run {ids[0][:3]}" in none.err
    db = sqlite3.connect(synced.state_file)
    twin = ids[0][:-1] + ("0" if ids[0][-1] != "0" else "1")
    with db:
        db.execute("INSERT INTO runs SELECT ?, pipeline, tenant, "
                   "logic_version, window_from, window_to, state, created_at, "
                   "updated_at FROM runs WHERE run_id = ?", (twin, ids[0]))
    several = synced("runs", "show", ids[0][:-1]).expect(EXIT_CONFIG)
    assert ids[0] in several.err and twin in several.err
    assert "several runs begin with" in several.err
    synced("runs", "show", ids[0]).expect(EXIT_OK)


def test_backfill_takes_one_pipeline(synced):
    two = synced("backfill", "items", "others").expect(EXIT_CONFIG)
    assert "others" in two.err


def test_run_for_people(synced):
    done = synced("run").expect(0)
    assert "50" in done.out and "items" in done.out
    assert "\x1b" not in done.out + done.err and "\r" not in done.out + done.err
    again = synced("run").expect(0)
    assert "0" in again.out and "items" in again.out


def test_failure_never_looks_like_success(synced, source):
    source.execute("DROP TABLE items")
    done = synced("run").expect(EXIT_SCHEMA)
    assert "items" in done.err
    assert "caught up" not in done.out and "caught_up" not in done.out


def test_json_logs(synced, source):
    source.execute("DROP TABLE items")
    done = synced("-v", "--log-format", "json", "run").expect(EXIT_SCHEMA)
    lines = [json.loads(line) for line in done.err.splitlines()]
    assert lines and all(isinstance(line, dict) for line in lines)


def test_quiet(synced):
    assert synced("-q", "run").expect(0).err == ""


def test_status(synced):
    before = synced("status", "--json").expect(0).pipeline()
    assert before["watermark"] is None and before["last_run"] is None
    synced.run()
    after = synced("status", "--json").expect(0).pipeline()
    assert STATUS_KEYS <= set(after)
    assert after["watermark"]["strategy"] == "timestamp"
    assert after["last_run"] is not None and after["lease"] is None
    assert after["dead_letters"] == 0
    assert "items" in synced("status").expect(0).out


def test_status_after_a_kill(synced, source, tidemark_failpoints):
    """The ledger tells the truth about a run that died."""
    tidemark_failpoints.connections = synced.connections
    tidemark_failpoints.pipelines = synced.pipelines
    assert tidemark_failpoints.killed(failpoints="before_watermark=kill")
    synced.run()
    db = sqlite3.connect(synced.state_file)
    states = {row[0] for row in db.execute(
        "SELECT state FROM attempts").fetchall()}
    db.close()
    assert states == {"FAILED", "SUCCEEDED"}


def test_check_writes_nothing(synced):
    done = synced("check", "--json").expect(0)
    result = done.pipeline()
    assert result["ok"] is True
    assert {each["name"] for each in result["columns"]} == set(oracle.ITEMS)
    for column in result["columns"]:
        assert set(column) >= {"name", "source_type", "destination_type",
                               "mapping"}
    assert not os.path.exists(synced.destination.path) or \
        synced.destination.tables() == []
    assert "items" in synced("check").expect(0).out


def test_check_names_a_missing_index(synced, source):
    source.execute("DROP INDEX items_updated_at_id_idx")
    result = synced("check", "--json").expect(0).pipeline()
    problem = [each for each in result["problems"]
               if "index" in each["code"] + each["message"]]
    assert problem and problem[0]["severity"] == "warning"
    assert "CREATE INDEX" in problem[0]["fix"].upper()
    assert "updated_at" in problem[0]["fix"]
    source.execute(problem[0]["fix"].rstrip(";"))
    result = synced("check", "--json").expect(0).pipeline()
    assert not [each for each in result["problems"]
                if "index" in each["code"]]


def test_check_goes_on_after_a_bad_pipeline(synced, source):
    pipelines = synced.pipelines
    bad = json.loads(json.dumps(pipelines["items"]))
    bad["source"]["table"] = "public.missing"
    bad["destination"]["table"] = "main.missing"
    synced.pipelines = {"bad": bad, **pipelines}
    synced.write_config()
    done = synced("check", "--json").expect(EXIT_SCHEMA)
    assert [each["ok"] for each in done.json()["pipelines"]] == [False, True]


def test_watermark_show_set_reset(synced):
    def show():
        return synced("watermark", "show", "--json").expect(0).pipeline()

    assert show()["watermark"] is None
    synced.run()
    shown = show()
    assert shown["from"] in ("destination", "state")
    assert shown["watermark"] == synced.destination.watermark("items")
    synced("watermark", "reset", "items").expect(0)
    assert show()["watermark"] is None
    synced("watermark", "set", "items",
           json.dumps(shown["watermark"])).expect(0)
    assert show()["watermark"] == shown["watermark"]
    assert "updated_at" in synced("watermark", "show").expect(0).out
    assert synced.run().pipeline()["rows_read"] == 0


def proposed(tidemark, source, destination):
    password = tidemark.env["TIDEMARK_TEST_PASSWORD"]
    tidemark.env.update(PGPASSWORD=password, SOURCE_PASSWORD=password)
    url = (source.server.url(source.database)
           if hasattr(source, "server") else source.url())
    tidemark("init", url, destination.url()).expect(0)
    with open(tidemark.config, encoding="utf-8") as file:
        return file.read()


def test_init_writes_a_config_that_runs(synced, source, make_destination):
    destination = make_destination("duckdb")
    source.execute(
        "CREATE TABLE log (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        " line text)", "INSERT INTO log (line) VALUES ('a'), ('b')",
        "CREATE TABLE plain (code text PRIMARY KEY, label text)",
        "INSERT INTO plain VALUES ('x', 'y')")
    os.remove(synced.config)
    password = {"PGPASSWORD": synced.env["TIDEMARK_TEST_PASSWORD"]}
    done = synced("init", source.url(), destination.url(), env=password)
    done.expect(0)
    with open(synced.config, encoding="utf-8") as file:
        text = file.read()
    assert "#" in text
    for table in ("items", "log", "plain"):
        assert table in text
    ran = synced("run", "--json", env=password).expect(0)
    assert {each["outcome"] for each in ran.json()["pipelines"]} == {
        "caught_up"}
    assert sum(each["rows_inserted"] for each in ran.json()["pipelines"]) == 53
    again = synced("init", source.url(), destination.url(), env=password)
    assert again.code == EXIT_CONFIG, "init has overwritten a config"


@pytest.mark.parametrize("ids,exact", (
    ("GENERATED ALWAYS AS IDENTITY", True),
    ("GENERATED ALWAYS AS IDENTITY (INCREMENT BY 50)", False),
    ("GENERATED ALWAYS AS IDENTITY (CACHE 20)", False),
    ("NOT NULL", False)))
def test_init_of_a_log(tidemark, source, make_destination, ids, exact):
    """A mark on its ids where that is exact, else xmin, which is."""
    source.execute(
        f"CREATE TABLE log (id bigint {ids} PRIMARY KEY, created_at "
        "timestamptz DEFAULT now())")
    source.execute("INSERT INTO log (created_at) VALUES (now())"
                   if "IDENTITY" in ids else "INSERT INTO log VALUES (1)")
    servers.wait_for(lambda: source.query(
        "SELECT pg_stat_get_tuples_inserted('log'::regclass) > 0") == [(True,)])
    text = proposed(tidemark, source, make_destination("duckdb"))
    assert ("strategy: sequence" in text) == exact
    assert ("strategy: xmin" in text) != exact
    assert "guarantee lag" not in text
    ran = tidemark("run", "--json").expect(0).pipeline()
    assert ran["guarantee"] == "exact", ran["guarantee_reason"]


@pytest.mark.parametrize("engine", ("mysql", "mariadb", "sqlite"))
def test_init_copies_a_small_table(tidemark, make_source, make_destination,
                                   engine):
    """A mark of ids would not see a row that changes."""
    source = make_source(engine)
    source.execute("CREATE TABLE log (id bigint PRIMARY KEY, line text)",
                   "INSERT INTO log VALUES (1, 'a')")
    text = proposed(tidemark, source, make_destination("duckdb"))
    assert "mode: replace" in text and "key: [id]" in text
    assert "nothing says when a row changed: every run copies all" in text
    source.execute("UPDATE log SET line = 'b'")
    ran = tidemark("run", "--json").expect(0).pipeline()
    assert ran["guarantee"] == "exact"
    tidemark("verify").expect(0)


def test_migrate_twice(synced):
    first = synced("migrate").expect(0)
    second = synced("migrate").expect(0)
    assert first.out != second.out
    synced.run()


def test_changed_migration_is_refused(synced):
    """The store has a migration that this binary does not hold."""
    synced.run()
    db = sqlite3.connect(synced.state_file)
    table = next(row[0] for row in db.execute(
        "SELECT name FROM sqlite_master WHERE name LIKE '%migration%' "
        "AND type = 'table'"))
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    checksum = next(name for name in columns if "checksum" in name)
    db.execute(f"UPDATE {table} SET {checksum} = 'changed'")
    db.commit()
    db.close()
    done = synced("run", "--json").expect(EXIT_CONFIG)
    assert "migration" in (done.err + done.out).lower()
    assert "1" in done.err + done.out


def test_newer_state_is_refused(synced):
    synced.run()
    db = sqlite3.connect(synced.state_file)
    table = next(row[0] for row in db.execute(
        "SELECT name FROM sqlite_master WHERE name LIKE '%migration%' "
        "AND type = 'table'"))
    names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    number = names[0]
    others = ", ".join(names[1:])
    db.execute(f"INSERT INTO {table} ({number}, {others}) SELECT 9999, "
               f"{others} FROM {table} LIMIT 1")
    db.commit()
    db.close()
    done = synced("run", "--json").expect(EXIT_CONFIG)
    assert "9999" in done.err + done.out


def test_schema_is_a_json_schema(tidemark):
    schema = json.loads(tidemark("schema").expect(0).out)
    assert "$schema" in schema
    text = json.dumps(schema)
    for key in ("pipelines", "watermark", "strategy", "delete_insert",
                "on_new_column"):
        assert key in text


def test_plugins(tidemark):
    out = tidemark("plugins").expect(0).out
    for engine in ("postgres", "sqlite", "duckdb"):
        assert engine in out
    listed = json.loads(tidemark("plugins", "--json").expect(0).out)
    assert "duckdb" in json.dumps(listed)


def test_version(tidemark):
    out = tidemark("version").expect(0).out
    assert "tidemark" in out and "0.1.0" in out
    assert "0.1.0" in tidemark("--version").expect(0).out


def test_failpoints_are_not_for_users(tidemark):
    """The build that they get refuses to be told where to die."""
    done = tidemark("version", failpoints="mid_load=kill").expect(EXIT_CONFIG)
    assert "built without failpoints" in done.err and done.out == ""


@pytest.mark.parametrize("word, mode", (
    ("merge", "upsert"), ("Incremental", "upsert"), ("insert", "append"),
    ("full_refresh", "replace"), ("overwrite", "replace"),
    ("delete-insert", "delete_insert")))
def test_words_of_other_tools(tidemark, word, mode):
    done = tidemark("copy", "sqlite:a.db", "sqlite:b.db", "--table", "t",
                    "--mode", word).expect(EXIT_CONFIG)
    assert f'"{word}" is not allowed; did you mean "{mode}"?' in done.err


def test_a_connection_without_its_password(tidemark, source):
    url = source.url().replace(f":{servers.CANARY}@", "@")
    assert servers.CANARY not in url
    done = tidemark("copy", url, "sqlite:b.db", "--table", "t")
    assert done.code == EXIT_ACCESS, done
    assert "no password supplied" in done.err
    assert 'password: "${SHOP_PASSWORD}"' in done.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(tidemark, command):
    by_option = tidemark(command, "--help").expect(0).out
    assert f"tidemark {command}" in by_option
    assert "xample" in by_option
    by_command = tidemark("help", command).expect(0).out
    assert by_command == by_option


def test_help_lists_every_command(tidemark):
    out = tidemark("help").expect(0).out
    for command in COMMANDS:
        assert command in out


def test_reference_is_what_help_says(tidemark):
    """docs/commands.md is written by the tables that parse the flags."""
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert tidemark("help", "--reference").expect(0).out == page, \
        "write docs/commands.md with: tidemark help --reference"


@pytest.mark.parametrize("command", ("serve", "completion"))
def test_commands_to_come_are_not_pretended(tidemark, command):
    tidemark(command).expect(EXIT_CONFIG)


def test_closed_descriptors_are_not_taken(synced):
    """Output goes into no file or pipe of ours that took the place of stdout."""
    done = subprocess.run(["sh", "-c", '"$0" run <&- >&- 2>&-',
                           synced.binary], cwd=synced.dir, check=False,
                          env=synced.command_env())
    assert done.returncode == 1, "printed to somewhere"
    assert synced.run().pipeline()["rows_read"] == 0


def test_unwritable_stdout_is_a_failure(synced):
    """A full disk behind stdout is no success."""
    synced.run()
    with open("/dev/full", "wb") as full:
        done = subprocess.run([synced.binary, "status", "--json"], stdout=full,
                              stderr=subprocess.PIPE, cwd=synced.dir,
                              env=synced.command_env(), check=False)
    assert done.returncode != 0

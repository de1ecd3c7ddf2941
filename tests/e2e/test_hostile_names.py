"""Names that a stranger chose: of tables, columns and pipelines. None is read
as a reference, as YAML, as a command line or by a terminal. Each is an answer
of the server's, never an error of Tidemark's own."""

import os
import re
import shlex

import pytest

import workload
from bench import (EXIT_BUG, EXIT_OK, EXIT_SCHEMA, items_settings, sync_items)

# A table of ClickHouse says no key, so that init only tells of it.
PROPOSING = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
ENGINES = (*PROPOSING, "clickhouse")
# Characters that a terminal obeys, or that turn the text around them about.
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f"
                      "\u2028-\u202e\u2066-\u206f\ufeff]")
LEAKED = "leaked"


def reference_names(work_dir):
    """They lead to a file and to a variable that hold LEAKED. The path is
    relative: MySQL's names have at most 64 characters."""
    (work_dir / "key").write_text(LEAKED + "\n", encoding="ascii")
    return ["${file:key}", "${HOSTILE}", "$${HOSTILE}", "$$${HOSTILE}",
            "${HOSTILE:-other}"]


YAML_NAMES = ["${", "x${HOSTILE", "$", "null", "~", "true", "<<", "- a", "a: b", "# no comment", "&a",
              "*a", "!a", "{a: b}", "[a]", "a, b", "%TAG", "---", "it's",
              'quo"te', 'a", "b', "x: {y: z}", "back\\nslash", "1e3", "y"]
SHELL_NAMES = ["-c", "--help", "$(touch pwned)", "`touch pwned`", "'; true; '"]
CONTROL_NAMES = ["c\x9b2Jd", "nel\x85x", "turn\u202eback", "is\u2066olate",
                 "mark\u200f", "arab\u061c", "line\u2028pipelines: {}",
                 "new\nline", "tab\tin", "esc\x1b[2J", "\ufeffbom", "del\x7f"]
SQL_NAMES = ["a.b", "a b", " lead", "back`tick", "per%cent", "%s%n", "ünï"]


def quoted(engine, name):
    if engine in ("mariadb", "mysql"):
        return "`" + name.replace("`", "``") + "`"
    if engine == "clickhouse":
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
    return '"' + name.replace('"', '""') + '"'


def make_table(end, name, column=None):
    """A table with one row; the key's column has the same name."""
    table, key = quoted(end.engine, name), quoted(end.engine, column or name)
    stamp = {"clickhouse": "DateTime64(6, 'UTC')", "mariadb": "timestamp(6)",
             "mysql": "timestamp(6)"}.get(end.engine, "timestamptz")
    tail = ("ENGINE = MergeTree ORDER BY " + key
            if end.engine == "clickhouse" else "")
    zone = "+00:00" if stamp == "timestamptz" else ""
    primary = "" if tail else " PRIMARY KEY"
    integer = "Int64" if tail else "bigint"
    end.execute(
        f"CREATE TABLE {table} ({key} {integer} NOT NULL{primary}, updated_at "
        f"{stamp} NOT NULL) {tail}",
        f"INSERT INTO {table} VALUES (1, '2024-01-02 03:04:05{zone}')")


def any_end(make_source, make_destination, engine):
    return (make_destination if engine == "clickhouse" else make_source)(engine)


def controls(*texts):
    """Line breaks apart, those that a terminal obeys."""
    return set(CONTROLS.findall("".join(texts)))


def source_url(source):
    url = source.connection()
    if isinstance(url, dict):
        url = url["url"].replace("@", ":${TIDEMARK_TEST_PASSWORD}@", 1)
    return url


def init(tidemark, source, target):
    """The config that `init` writes."""
    password = tidemark.env["TIDEMARK_TEST_PASSWORD"]
    tidemark.env.update(HOSTILE=LEAKED, PGPASSWORD=password,
                        MYSQL_PWD=password)
    done = tidemark("init", source_url(source), target).expect(EXIT_OK)
    with open(tidemark.config, encoding="utf-8") as file:
        text = file.read()
    assert not controls(text, done.err)
    return text


@pytest.mark.parametrize("engine", PROPOSING)
def test_a_name_is_no_reference(tidemark, make_source, work_dir, engine):
    """A file or a variable that it seems to name is not read, and so not sent
    to the server."""
    source = make_source(engine)
    names = reference_names(work_dir)
    for name in names:
        make_table(source, name)
    init(tidemark, source, f"sqlite:{work_dir}/w.db")
    done = tidemark("check", "--json")
    assert LEAKED not in done.out + done.err
    found = done.expect(EXIT_OK).json()["pipelines"]
    assert {each["columns"][0]["name"] for each in found} == set(names)


@pytest.mark.parametrize("engine", PROPOSING)
def test_init_says_names_as_they_are(tidemark, make_source, work_dir,
                                     engine):
    source = make_source(engine)
    names = CONTROL_NAMES
    if engine in ("postgres", "sqlite"):  # The quick ones.
        names = [*YAML_NAMES, *SHELL_NAMES, *CONTROL_NAMES, *SQL_NAMES]
    for name in names:
        make_table(source, name)
    init(tidemark, source, f"sqlite:{work_dir}/w.db")
    done = tidemark("check", "--json")
    assert not controls(done.out, done.err)
    found = done.expect(EXIT_OK).json()["pipelines"]
    assert {each["columns"][0]["name"] for each in found} == set(names)
    assert not os.path.exists(work_dir / "pwned")


# No engine takes all of them as names.
ODD_NAMES = ["g\t", "g ", "x" * 65, "x" * 300, "\U0001f418"]


def odd_pipelines(tidemark, source, destination, name):
    """Where a name may stand."""
    plain = items_settings(source, destination, "timestamp")
    table = '"' + name.replace('"', '""') + '"'
    for place, more in (
            ("table", {"source": {**plain["source"], "table": table}}),
            ("mark", {"watermark": {**plain["watermark"], "column": name}}),
            ("target", {"destination": {**plain["destination"],
                                        "table": table}}),
            ("stamp", {"load": {"mode": "upsert", "loaded_at": name}})):
        settings = {**plain, "retry": {"attempts": 1}, **more}
        if place != "target":
            settings["destination"] = {
                **plain["destination"],
                "table": f"to_{len(tidemark.pipelines)}"}
        tidemark.pipeline(f"{place} {ODD_NAMES.index(name)}", **settings)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("role", ("source", "destination"))
def test_an_odd_name_is_no_error_of_ours(tidemark, make_source,
                                         make_destination, engine, role):
    """It is taken, or the tables do not agree."""
    ends = ("sqlite", engine) if role == "destination" else (engine, "sqlite")
    source = any_end(make_source, make_destination, ends[0])
    destination = make_destination(ends[1])
    make_table(source, "items", "id")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for name in ODD_NAMES:
        odd_pipelines(tidemark, source, destination, name)
    tidemark.write_config()
    found = tidemark("run", "--json").json()["pipelines"]
    wrong = [(each["pipeline"], each["error"]) for each in found
             if each["error"] and each["error"]["exit_code"] != EXIT_SCHEMA]
    assert not wrong


@pytest.mark.parametrize("mode", ("upsert", "append"))
@pytest.mark.parametrize("engine", ENGINES)
def test_init_leaves_out_what_is_ours(tidemark, make_source, make_destination,
                                      work_dir, engine, mode):
    """Marks, and the rows behind a view."""
    source, end = make_source("sqlite"), make_destination(engine)
    make_table(source, "items", "id")
    sync_items(tidemark, source, end, "timestamp", mode, to="copied")
    tidemark.run()
    assert "_tidemark_watermark" in end.tables()
    if engine == "clickhouse" or mode == "append":
        assert "copied_raw" in end.tables()
    os.remove(tidemark.config)
    make_table(end, "other", "id")
    text = init(tidemark, end, f"sqlite:{work_dir}/w.db")
    assert "other }" in text and "copied" in text
    assert "_tidemark_" not in text and "_raw" not in text


def test_init_leaves_out_a_state_store(tidemark, source, make_destination,
                                       work_dir):
    """Its tables, and no other of their names."""
    tidemark.top["state"] = source.connection()
    for name in ("items", "runs"):
        make_table(source, name, "id")
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.run()
    os.remove(tidemark.config)
    text = init(tidemark, source, f"sqlite:{work_dir}/w.db")
    assert re.findall("source: .* table: (.*) }", text) == ["public.items",
                                                            "public.runs"]


def test_init_of_a_state_file(tidemark, source, make_destination):
    make_table(source, "items", "id")
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.run()
    done = tidemark("init", f"sqlite:{tidemark.state_file}", "sqlite:w.db",
                    "--stdout").expect(EXIT_SCHEMA)
    assert "no tables but Tidemark's own" in done.err


def test_a_mark_of_a_hostile_name(tidemark, make_source, make_destination,
                                  work_dir):
    """The command that a message gives for it is one word to a shell."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    make_table(source, "items", "id")
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    name = "$(touch pwned); 'x"
    destination.execute(
        "INSERT INTO _tidemark_watermark SELECT '" + name.replace("'", "''") +
        "', " + ", ".join(each for each in destination.columns_of(
            "main._tidemark_watermark") if each != "pipeline") +
        " FROM _tidemark_watermark")
    problems = tidemark("check", "--json").expect(EXIT_OK).pipeline()[
        "problems"]
    fix, = [each["fix"] for each in problems
            if each["code"] == "table-of-others"]
    words = shlex.split(fix.split("tidemark ", 1)[1])
    assert words == ["watermark", "forget", "items", name]
    tidemark(*words).expect(EXIT_OK)
    assert not os.path.exists(work_dir / "pwned")
    assert destination.query("SELECT pipeline FROM _tidemark_watermark") == [
        ("items",)]


TEXT_COMMANDS = (("check",), ("run",), ("status",), ("runs", "list"),
                 ("dead-letters", "list"), ("dead-letters", "show"),
                 ("watermark", "show"), ("verify",))


def test_terminals_obey_no_name(tidemark, make_source, make_destination):
    """Nor a value of a key, nor what a server says of them."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    hostile = "c\x9b2J\u202e\u2028x\x1b[2J"
    source.execute(
        f'CREATE TABLE "{hostile}" ("{hostile}" text NOT NULL PRIMARY KEY, '
        "updated_at timestamptz NOT NULL)",
        f"INSERT INTO \"{hostile}\" VALUES ('{hostile}', "
        "'2024-01-02 03:04:05+00:00'), ('b', '2024-01-02 03:04:05+00:00')")
    destination.execute(
        f'CREATE TABLE "{hostile}" ("{hostile}" text NOT NULL PRIMARY KEY '
        f"CHECK (\"{hostile}\" = 'b'), updated_at text)")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("turn\u202eback\x9b2J", **{
        **items_settings(source, destination, "timestamp"),
        "source": {"connection": "source", "table": f'"{hostile}"'},
        "destination": {"connection": "warehouse", "table": f'"{hostile}"'},
        "on_bad_row": "dead_letter"})
    tidemark.write_config()
    tidemark.run()
    letter, = tidemark("dead-letters", "list", "--json").json()["dead_letters"]
    assert letter["key"] == {hostile: hostile}
    for command in TEXT_COMMANDS:
        more = [letter["id"]] if command[-1:] == ("show",) and \
            command[0] == "dead-letters" else []
        for flag in ([], ["--json"]):
            done = tidemark("-v", *command, *more, *flag)
            assert done.out and not controls(done.out, done.err), command
            assert done.code != EXIT_BUG, done

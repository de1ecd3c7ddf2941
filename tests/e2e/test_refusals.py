"""Bad input at the ends: `check` names the table, the column and what to do
about it, in `fix`; `run` refuses in the same words."""

import pytest

from bench import EXIT_CONFIG, EXIT_DATA, EXIT_SCHEMA

ENGINES = ("postgres", "mariadb", "sqlite")

TABLES = {
    "postgres": [
        "CREATE TABLE items (id bigint PRIMARY KEY, name text, doc json,"
        " at timestamptz DEFAULT now())",
        "CREATE TABLE keyless (id bigint, name text, at timestamptz)",
    ],
    "mariadb": [
        "CREATE TABLE items (id bigint PRIMARY KEY, name varchar(40),"
        " doc float, at timestamp(6) NULL DEFAULT CURRENT_TIMESTAMP(6))",
        "CREATE TABLE keyless (id bigint, name varchar(40),"
        " at timestamp(6) NULL)",
    ],
    "sqlite": [
        "CREATE TABLE items (id integer PRIMARY KEY AUTOINCREMENT, name text,"
        " doc json, at timestamptz DEFAULT (strftime("
        "'%Y-%m-%d %H:%M:%f+00:00', 'now')))",
        "CREATE TABLE keyless (id integer, name text, at timestamptz)",
    ],
}
ROWS = "INSERT INTO items (id, name) VALUES (1, 'a'), (2, 'b')"
VIEW = "CREATE VIEW seen AS SELECT * FROM items"
AT = {"strategy": "timestamp", "column": "at"}

# For each case: its name, its engines, statements at the source, the pipeline's
# settings, the exit status. Then words of the message, and words of the fix.
CASES = (
    ("no-such-table", ENGINES, [], {"table": "itmes"}, EXIT_SCHEMA,
     ["itmes"], "items"),
    ("nothing-near", ENGINES, [], {"table": "zzzzzzzzzzzzzzzz"}, EXIT_SCHEMA,
     ["zzzzzzzzzzzzzzzz"], ""),
    ("no-such-column", ENGINES, [], {"columns": ["id", "nmae", "at"]},
     EXIT_SCHEMA, ["items", '"nmae"'], "name"),
    ("no-such-key", ENGINES, [], {"key": ["zzzzzzzz"]}, EXIT_SCHEMA,
     ["items", '"zzzzzzzz"'], '"id"'),
    ("key-is-left-out", ENGINES, [],
     {"columns": ["name", "at"], "key": ["id"]}, EXIT_SCHEMA,
     ["items", '"id"'], "add it there"),
    ("no-key", ENGINES, [], {"table": "keyless"}, EXIT_SCHEMA,
     ["keyless"], "key: [id]"),
    ("key-repeats", ENGINES,
     ["INSERT INTO keyless VALUES (1, 'a', '2024-01-01 00:00:00'),"
      " (1, 'b', '2024-01-01 00:00:00')"],
     {"table": "keyless", "key": ["id"]}, EXIT_SCHEMA, ["keyless", "id"],
     "`key`"),
    ("key-without-order", ("postgres", "mariadb"), [], {"key": ["doc"]},
     EXIT_SCHEMA, ["items", '"doc"'], "`key`"),
    ("xmin-of-a-view", ("postgres",), [VIEW],
     {"table": "seen", "key": ["id"], "watermark": {"strategy": "xmin"}},
     EXIT_CONFIG, ["seen", "xmin"], "timestamp"),
    ("no-such-mark", ENGINES, [],
     {"watermark": {"strategy": "timestamp", "column": "att"}}, EXIT_SCHEMA,
     ["items", '"att"'], '"at"'),
    ("mark-of-text", ("postgres", "mariadb"), [],
     {"watermark": {"strategy": "timestamp", "column": "name"}}, EXIT_CONFIG,
     ["items", '"name"'], "timestamp"),
    ("mark-is-no-number", ENGINES, [],
     {"watermark": {"strategy": "sequence", "column": "name"}}, EXIT_CONFIG,
     ["items", '"name"'], "strategy sequence needs"),
    ("null-marks", ENGINES, ["UPDATE items SET at = NULL WHERE id = 2"],
     {"watermark": {**AT, "nulls": "error"}}, EXIT_DATA, ["items", '"at"'],
     "watermark.nulls"),
    ("where", ENGINES, [], {"where": "nmae = 'a'"}, EXIT_CONFIG,
     ["items", "source.where", "nmae"], ""),
    ("where-is-no-sql", ENGINES, [], {"where": "name = = 'a'"}, EXIT_CONFIG,
     ["items", "source.where"], ""),
    ("expression", ENGINES, [], {"expressions": {"x": "no_such(id)"}},
     EXIT_CONFIG, ["items", "source.expressions.x"], ""),
)


def set_up(tidemark, source, destination, settings):
    settings = dict(settings)
    of_source = {"connection": "source",
                 "table": f"{source.schema}.{settings.pop('table', 'items')}"}
    for name in ("columns", "where", "expressions"):
        if name in settings:
            of_source[name] = settings.pop(name)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("refused", source=of_source,
                      destination={"connection": "warehouse", "table":
                                   f"{destination.schema}.target"},
                      **{"watermark": AT, "load": {"mode": "upsert"},
                         **settings})
    tidemark.write_config()


def refused(tidemark, code, names, fix):
    """Both commands stop, and say where and what to do."""
    checked = tidemark("check", "--json").expect(code).pipeline("refused")
    problem = next(each for each in checked["problems"]
                   if each["severity"] == "error")
    assert not [word for word in names if word not in problem["message"]], \
        problem
    assert problem["fix"] and fix in problem["fix"], problem
    assert problem["fix"] not in problem["message"], problem
    shown = tidemark("check").expect(code).out
    assert f"refused:   fix: {problem['fix']}" in shown, shown
    done = tidemark("run").expect(code)
    said = [line for line in done.err.splitlines() if "refused: " in line]
    assert said and not [word for word in (*names, fix)
                         if word not in said[-1]], done


@pytest.mark.parametrize(
    "engine,before,settings,code,names,fix",
    [pytest.param(engine, *case[2:], id=f"{case[0]}-{engine}")
     for case in CASES for engine in case[1]])
def test_refused_source(tidemark, make_source, make_destination, engine,
                        before, settings, code, names, fix):
    source = make_source(engine)
    source.execute(*TABLES[engine], ROWS, *before)
    set_up(tidemark, source, make_destination("sqlite"), settings)
    refused(tidemark, code, names, fix)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("table,settings,code,names,fix", (
    ("CREATE VIEW target AS SELECT 1 AS id", {}, EXIT_SCHEMA, ["target"],
     "another"),
    ("CREATE TABLE target (id bigint, name varchar(40))", {}, EXIT_SCHEMA,
     ["target", "unique"], "UNIQUE"),
    ("CREATE TABLE target (id bigint PRIMARY KEY, name varchar(40))",
     {"load": {"mode": "replace"}}, EXIT_SCHEMA, ["target"],
     "--full-refresh"),
), ids=("view", "no-unique-index", "not-ours"))
def test_refused_target(tidemark, make_source, make_destination, engine,
                        table, settings, code, names, fix):
    source, destination = make_source("sqlite"), make_destination(engine)
    source.execute(*TABLES["sqlite"], ROWS)
    destination.execute(table)
    set_up(tidemark, source, destination, settings)
    refused(tidemark, code, names, fix)


@pytest.mark.parametrize("engine,settings,key,words", (
    ("mariadb", {"watermark": {"strategy": "xmin"}}, "watermark.strategy",
     ["xmin", "timestamp"]),
    ("sqlite", {"watermark": {"strategy": "xmin"}}, "watermark.strategy",
     ["xmin", "timestamp"]),
    ("postgres", {"columns": ["id", "id"]}, "source.columns",
     ['"id"', "twice"]),
    ("postgres", {"key": ["id", "id"]}, "key", ['"id"', "twice"]),
))
def test_refused_config(tidemark, make_source, make_destination, engine,
                        settings, key, words):
    """Before anything is asked: by file, line, pipeline and key."""
    set_up(tidemark, make_source(engine), make_destination("sqlite"), settings)
    for command in ("check", "run"):
        done = tidemark(command).expect(EXIT_CONFIG)
        assert f": pipelines.refused.{key}: " in done.err, done
        assert not [word for word in words if word not in done.err], done


# A column of SQLite takes every value.
@pytest.mark.parametrize("engine", ("postgres", "mariadb"))
def test_columns_that_do_not_fit(tidemark, make_source, make_destination,
                                 engine):
    source, destination = make_source("postgres"), make_destination(engine)
    source.execute(*TABLES["postgres"], ROWS)
    destination.execute(
        "CREATE TABLE target (id bigint PRIMARY KEY, name date, doc text,"
        " at timestamp)")
    set_up(tidemark, source, destination, {})
    refused(tidemark, EXIT_SCHEMA, ["target", "name"], "")


@pytest.mark.parametrize("engine", ENGINES)
def test_mark_of_another_column(tidemark, make_source, make_destination,
                                engine):
    source, destination = make_source(engine), make_destination("sqlite")
    source.execute(*TABLES[engine], ROWS)
    set_up(tidemark, source, destination, {})
    tidemark.run()
    set_up(tidemark, source, destination,
           {"watermark": {"strategy": "sequence", "column": "id"}})
    refused(tidemark, EXIT_SCHEMA, ["items", '"at"', '"id"'],
            "watermark reset refused")


def test_source_that_is_another(tidemark, make_source, make_destination):
    source, destination = make_source("postgres"), make_destination("sqlite")
    source.execute(*TABLES["postgres"], ROWS)
    set_up(tidemark, source, destination, {})
    tidemark.run()
    source.execute("DROP TABLE items", *TABLES["postgres"][:1], ROWS)
    refused(tidemark, EXIT_SCHEMA, ["public.items"],
            "run --full-refresh refused")


def test_ids_behind_the_mark(tidemark, make_source, make_destination):
    source, destination = make_source("sqlite"), make_destination("sqlite")
    source.execute(*TABLES["sqlite"], ROWS)
    set_up(tidemark, source, destination,
           {"watermark": {"strategy": "sequence", "column": "id"}})
    tidemark.run()
    source.execute("DELETE FROM items", "UPDATE sqlite_sequence SET seq = 0")
    refused(tidemark, EXIT_SCHEMA, ["main.items"], "watermark reset")

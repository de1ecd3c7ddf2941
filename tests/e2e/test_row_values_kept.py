"""A row's value is in no log, whatever its form, in no column of the ledger,
and in nothing that `status` and `runs` print."""

import sqlite3

import pytest

import workload
from bench import EXIT_OK, sync_items
from canon import quote_table

CANARY = "kanarie 9917731662"
# Columns of the state store that are there to keep rows.
KEPT = {("dead_letters", "row_json"), ("dead_letters", "row_key")}

# engine of the target, how it refuses the canary
REFUSED = {
    "partition": ("postgres", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name text)",
        "CREATE TABLE {schema}.parts (id bigint, name text)"
        " PARTITION BY LIST (name)",
        "CREATE FUNCTION {schema}.f() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN INSERT INTO {schema}.parts VALUES (NEW.id, NEW.name);"
        " RETURN NEW; END $$",
        "CREATE TRIGGER t BEFORE INSERT ON {table} FOR EACH ROW"
        " EXECUTE FUNCTION {schema}.f()"]),
    "foreign": ("postgres", [
        "CREATE TABLE {schema}.names (name text PRIMARY KEY)",
        "CREATE TABLE {table} (id bigint PRIMARY KEY,"
        " name text REFERENCES {schema}.names)"]),
    "exclusion": ("postgres", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name text,"
        " EXCLUDE USING btree (name WITH =))"]),
    "not_null": ("postgres", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name text,"
        " n integer GENERATED ALWAYS AS (nullif(id, id)) STORED NOT NULL)"]),
    "generated": ("postgres", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name text,"
        " n integer GENERATED ALWAYS AS (name::integer) STORED)"]),
    "json": ("postgres", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name text,"
        " CHECK (name::jsonb IS NOT NULL))"]),
    "enum": ("postgres", [
        "CREATE TYPE {schema}.mood AS ENUM ('sad')",
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name text,"
        " CHECK (name::{schema}.mood IS NOT NULL))"]),
    "inet": ("postgres", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name text,"
        " CHECK (name::inet IS NOT NULL))"]),
    "index": ("postgres", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name text)",
        "CREATE INDEX ON {table} ((name::integer))"]),
    "short": ("postgres", [
        "CREATE DOMAIN {schema}.short AS text CHECK (length(VALUE) < 3)",
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name text,"
        " CHECK (name::{schema}.short IS NOT NULL))"]),
    "mysql_cast": ("mysql", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name longtext,"
        " n bigint GENERATED ALWAYS AS (CAST(name AS signed)) STORED)"]),
    "mariadb_date": ("mariadb", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name longtext,"
        " d date GENERATED ALWAYS AS (CAST(name AS date)) STORED)"]),
    "mysql_json": ("mysql", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name longtext,"
        " j json GENERATED ALWAYS AS (CAST(name AS json)) STORED)"]),
    "duckdb_foreign": ("duckdb", [
        "CREATE TABLE {schema}.names (name text PRIMARY KEY)",
        "CREATE TABLE {table} (id bigint PRIMARY KEY,"
        " name text REFERENCES {schema}.names (name))"]),
    "sqlite_check": ("sqlite", [
        "CREATE TABLE {table} (id bigint PRIMARY KEY, name text,"
        " CHECK (name <> 'kanarie 9917731662' AND length(name) < 3))"]),
}

# A source's value that Tidemark itself cannot take, and the column's name.
UNFIT = {
    "number": ("n integer", "'kanarie 9917731662'"),
    "encoding": ("v text", "CAST(x'6b616e617269652039393137373331363632ff' AS text)"),
    "stamp": ("t timestamp", "'kanarie 9917731662'"),
    "date": ("d date", "'kanarie 9917731662'"),
    "decimal": ("d decimal(9, 2)", "'kanarie 9917731662'"),
}

GATES = {
    "match": {"match": {"name": "^[a-z]$"}},
    "min": {"min": {"name": "z"}},
    "max": {"max": {"name": "a"}},
    "unique": {"unique": ["name"]},
}


def ledger(tidemark):
    """All texts of the state store that are not there to keep rows."""
    with sqlite3.connect(tidemark.state_file) as db:
        tables = [name for name, in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'")]
        texts = []
        for table in tables:
            rows = db.execute(f'SELECT * FROM "{table}"')
            names = [each[0] for each in rows.description]
            texts += [f"{table}.{name}: {value}" for row in rows
                      for name, value in zip(names, row)
                      if (table, name) not in KEPT]
    return texts


def told(tidemark):
    """Everything that is said about a run that fails, again and again."""
    runs = [tidemark("-v", "--log-format", form, "run", *more)
            for form, more in (("json", ()), ("logfmt", ("--json",)),
                               ("text", ()))]
    assert all(done.code != EXIT_OK for done in runs), runs[0]
    said = [done.out + done.err for done in runs]
    for command in (("status",), ("status", "--fail"), ("status", "--json"),
                    ("runs", "list"), ("dead-letters", "list")):
        done = tidemark("-v", *command)
        said.append(done.out + done.err)
    for run in tidemark("runs", "list", "--json").json()["runs"]:
        done = tidemark("runs", "show", run["run_id"], "--json")
        said.append(done.out + done.err)
    return said + ledger(tidemark)


def check_hidden(tidemark):
    for text in told(tidemark):
        for piece in ("kanarie", "9917731662", "6b616e617269"):
            assert piece not in text, text
    state = tidemark("status", "--json").pipeline()
    assert state["state"] == "failing" and state["last_error"]["message"]
    return state["last_error"]


def connect(tidemark, source, destination, columns=None, **settings):
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline(
        "people", key=["id"], retry={"attempts": 1, "breaker": {"failures": 0}},
        source={"connection": "source", "table": f"{source.schema}.people"},
        destination={"connection": "warehouse",
                     "table": f"{destination.schema}.people"},
        watermark={"strategy": "sequence", "column": "id"}, **settings)
    return tidemark.write_config()


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("on_bad_row", ("halt", {"dead_letter": {"limit": 0}}),
                         ids=("halt", "letters"))
def test_refused(tidemark, make_source, make_destination, what, on_bad_row):
    engine, statements = REFUSED[what]
    source, destination = make_source("sqlite"), make_destination(engine)
    source.execute("CREATE TABLE people (id integer PRIMARY KEY, name text)")
    source.execute(*(f"INSERT INTO people VALUES ({n}, '{CANARY}')"
                     for n in (1, 2)))
    table = (quote_table(f"{destination.schema}.people")
             if engine in ("postgres", "duckdb") else "people")
    for sql in statements:
        destination.execute(sql.replace("{table}", table).replace(
            "{schema}", destination.schema))
    connect(tidemark, source, destination, on_bad_row=on_bad_row)
    error = check_hidden(tidemark)
    assert error["code"] in ("data", "unknown"), error


@pytest.mark.parametrize("what", UNFIT)
def test_unfit(tidemark, make_source, make_destination, what):
    column, value = UNFIT[what]
    source, destination = make_source("sqlite"), make_destination("postgres")
    source.execute(f"CREATE TABLE people (id integer PRIMARY KEY, {column})",
                   f"INSERT INTO people VALUES (1, {value})")
    connect(tidemark, source, destination)
    error = check_hidden(tidemark)
    assert "id=1" in error["message"], error


@pytest.mark.parametrize("what", GATES)
def test_gate(tidemark, make_source, make_destination, what):
    source = make_source("postgres")
    source.execute("CREATE TABLE people (id integer PRIMARY KEY, name text)")
    source.execute(*(f"INSERT INTO people VALUES ({n}, '{CANARY}')"
                     for n in (1, 2)))
    connect(tidemark, source, make_destination("sqlite"), gate=GATES[what])
    error = check_hidden(tidemark)
    assert "name" in error["message"], error

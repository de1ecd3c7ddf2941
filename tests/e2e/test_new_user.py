"""A new user's first hour: `init` for a database of many kinds of tables, then
`check`, `run` and `verify`. Nothing is left out without a word."""

import re

import pytest
import yaml

import varied_tables
from bench import EXIT_OK, EXIT_SCHEMA
from servers import APP, CANARY

# All that has rows of its own, but partitions and what an extension brings.
POSTGRES_RELATIONS = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n
ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND
n.nspname IN ('public', 'other')
"""
MYSQL_RELATIONS = """
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_schema = database()
"""


def relations_of(source, sql):
    mark = '"' if source.engine == "postgres" else "`"
    return {".".join(mark + part.replace(mark, 2 * mark) + mark
                     for part in row) for row in source.query(sql)}


def fill_postgres(source):
    of = source.cluster
    text = varied_tables.POSTGRES.replace("{wide}", varied_tables.WIDE).replace(
        "{thousand}", varied_tables.THOUSAND)
    source.execute(*text.split(";\n"))
    with of.admin(source.database) as admin:
        admin.execute(varied_tables.FOREIGN.format(
            port=of.port, database=source.database, user=APP, password=CANARY))
    source.execute(*varied_tables.FAR.split(";\n"))
    return relations_of(source, POSTGRES_RELATIONS)


def fill_mysql(source):
    source.execute(*varied_tables.MYSQL.replace(
        "{wide}", varied_tables.WIDE).split(";\n"))
    return relations_of(source, MYSQL_RELATIONS)


def urls_of(tidemark, source, destination):
    """As they are typed: with the password's place."""
    password = tidemark.env["TIDEMARK_TEST_PASSWORD"]
    for end, name in ((source, "SOURCE"), (destination, "DESTINATION")):
        at = end.connection()
        tidemark.env[f"{name}_PASSWORD"] = password
        yield (at["url"].replace("@", ":${%s_PASSWORD}@" % name, 1)
               if isinstance(at, dict) else at)


def quoted(end, name):
    """A name of the config for SQL: `a.B` or `a."B.c"`."""
    mark = "`" if end.engine in ("mysql", "mariadb") else '"'
    parts = re.findall(r'"((?:[^"]|"")*)"|([^."]+)', name)
    return ".".join(mark + (quote.replace('""', '"') or plain).replace(
        mark, 2 * mark) + mark for quote, plain in parts)


def check_counts(source, destination, pipelines):
    """By each side's own count."""
    for name, pipeline in pipelines.items():
        here, there = ([tuple(map(int, row)) for row in end.query(
            "SELECT count(*) FROM " + quoted(end, pipeline[side]["table"]))]
            for end, side in ((source, "source"),
                              (destination, "destination")))
        assert here == there, name


@pytest.mark.parametrize("start, engine", (
    ("postgres", "duckdb"), ("postgres", "postgres"), ("mysql", "duckdb"),
    ("mariadb", "postgres")))
def test_first_hour(tidemark, make_source, make_destination, start, engine):
    source, destination = make_source(start), make_destination(engine)
    relations = (fill_postgres if start == "postgres" else fill_mysql)(source)
    assert len(relations) >= (50 if start == "postgres" else 15)
    made = tidemark("init", *urls_of(tidemark, source, destination)).expect(
        EXIT_OK)
    with open(tidemark.config, encoding="utf-8") as config:
        text = config.read()
    pipelines = yaml.safe_load(text)["pipelines"]
    caught = {quoted(source, each["source"]["table"])
              for each in pipelines.values()}
    left = relations - caught
    assert left == ({'"public"."nothing"'} if start == "postgres" else set())
    assert caught <= relations and len(caught) == len(pipelines)
    for told in (text, made.err):
        assert told.count("has no columns; there is nothing") == len(left)
    checked = tidemark("check").expect(EXIT_OK).out.splitlines()
    assert len(checked) < 30, checked
    # A parent whose own key is in order has heirs.
    assert (start == "postgres") == any("inherit from it" in line
                                        for line in checked), checked
    assert checked[-1].startswith(f"{len(pipelines)} pipelines: "), checked
    for told in tidemark.run().json()["pipelines"]:
        assert told["outcome"] == "caught_up", told
    check_counts(source, destination, pipelines)
    tidemark("verify").expect(EXIT_OK)
    source.execute("INSERT INTO plain VALUES ('x', 1)",
                   "UPDATE kinds SET title = 'two' WHERE code = 'b'")
    tidemark.run()
    check_counts(source, destination, pipelines)
    tidemark("verify").expect(EXIT_OK)


def test_table_without_columns(tidemark, source, make_destination):
    """Named by hand it is refused for what it is."""
    source.execute("CREATE TABLE nothing ()")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", make_destination("sqlite").connection())
    tidemark.pipeline(
        "nothing", load={"mode": "replace"},
        source={"connection": "source", "table": "public.nothing"},
        destination={"connection": "warehouse", "table": "main.nothing"})
    tidemark.write_config()
    for command in ("check", "run"):
        done = tidemark(command).expect(EXIT_SCHEMA)
        assert "public.nothing has no columns" in done.out + done.err, done

"""Relations that are no tables with a primary key: `init`, `check`,
`run` and `verify` of each, and a word about what is left out."""

import pytest

from bench import EXIT_DATA, EXIT_OK

POSTGRES = (
    "CREATE TABLE base (id int PRIMARY KEY, t text, n numeric)",
    "INSERT INTO base SELECT i, 't' || i % 3, i / 7.0"
    " FROM generate_series(1, 50) i",
    "CREATE VIEW seen AS SELECT t, n FROM base",
    "CREATE MATERIALIZED VIEW kept AS SELECT t, count(*) AS c FROM base"
    " GROUP BY t",
    "CREATE TABLE parts (t text, since timestamptz DEFAULT now())"
    " PARTITION BY LIST (t)",
    "CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN ('a')",
    "CREATE TABLE parts_b PARTITION OF parts DEFAULT",
    "INSERT INTO parts VALUES ('a'), ('a'), ('b'), (NULL)",
    "CREATE TABLE parent (t text)", "INSERT INTO parent VALUES ('p')",
    "CREATE TABLE child (u int) INHERITS (parent)",
    "INSERT INTO child VALUES ('c', 1), ('c', 1)",
    "CREATE TABLE nothing ()", "INSERT INTO nothing DEFAULT VALUES",
    "CREATE TABLE made (a int, b int GENERATED ALWAYS AS (a * 2) STORED)",
    "INSERT INTO made VALUES (1), (1), (NULL)",
    "CREATE DOMAIN small AS int CHECK (VALUE < 100)",
    "CREATE TYPE mood AS ENUM ('sad', 'glad')",
    "CREATE TABLE kinds (d small, e mood, a int[], r int4range,"
    " m tstzrange, j jsonb, s json, f float8, x text)",
    "INSERT INTO kinds VALUES (1, 'sad', '{1,2,NULL}', '[1,5)',"
    " '[2024-01-01 00:00+00,)', '{\"a\": [1]}', '{\"b\":1}', 'NaN', 'NaN'),"
    " (1, 'sad', '{1,2,NULL}', '[1,5)', '[2024-01-01 00:00+00,)',"
    " '{\"a\": [1]}', '{\"b\":1}', 'NaN', 'NaN'),"
    " (NULL, NULL, NULL, 'empty', NULL, NULL, NULL, '-0', '')",
)


@pytest.fixture
def relations(source):
    source.execute(*POSTGRES)
    with source.cluster.admin(source.database) as db:
        db.execute("CREATE EXTENSION file_fdw")
        db.execute("CREATE SERVER files FOREIGN DATA WRAPPER file_fdw")
        db.execute("CREATE FOREIGN TABLE far (n int, t text) SERVER files"
                   " OPTIONS (program 'printf 1,x\\\\n1,x\\\\n2,NaN',"
                   " format 'csv')")
        db.execute("GRANT SELECT ON far TO PUBLIC")
    source.execute("CREATE TABLE lookup (code text NOT NULL, name text)",
                   "INSERT INTO lookup VALUES ('a', 'A'), ('b', NULL)")
    return source


def init(tidemark, source, destination):
    """The text of the config."""
    password = tidemark.env["TIDEMARK_TEST_PASSWORD"]
    for name in ("PGPASSWORD", "MYSQL_PWD", "SOURCE_PASSWORD",
                 "DESTINATION_PASSWORD"):
        tidemark.env[name] = password
    tidemark("init", source.url(), destination.url()).expect(EXIT_OK)
    with open(tidemark.config, encoding="utf-8") as config:
        return config.read()


def go_through(tidemark):
    checked = tidemark("check", "--json").expect(EXIT_OK).json()["pipelines"]
    assert not [each for one in checked for each in one["problems"]
                if each["severity"] == "error"]
    tidemark("run", "--json").expect(EXIT_OK)
    tidemark("verify").expect(EXIT_OK)
    again = tidemark("run", "--json").expect(EXIT_OK).json()["pipelines"]
    for each in again:
        assert (each["rows_inserted"], each["rows_updated"]) == (0, 0), each


@pytest.mark.parametrize("engine", ("postgres", "duckdb", "sqlite", "mysql"))
def test_every_relation_of_postgres(tidemark, relations, make_destination,
                                    engine):
    destination = make_destination(engine)
    text = init(tidemark, relations, destination)
    assert "nothing has no columns" in text
    for name in ("base", "seen", "kept", "parts", "parent", "child", "made",
                 "kinds", "far", "lookup"):
        assert f"public.{name}" in text, name
    if engine == "mysql":
        # It has no NaN among its numbers, and says so of the row.
        done = tidemark("run", "kinds").expect(EXIT_DATA)
        assert "row without a key: column f" in done.err
        relations.execute("UPDATE kinds SET f = 1")
    go_through(tidemark)


@pytest.mark.parametrize("start, engine", (
    ("mysql", "postgres"), ("mariadb", "duckdb"), ("sqlite", "mysql"),
    ("duckdb", "sqlite")))
def test_views_and_tables_without_keys(tidemark, make_source, make_destination,
                                       start, engine):
    source = make_source(start)
    source.execute(
        "CREATE TABLE plain (t varchar(9), n int)",
        "INSERT INTO plain VALUES ('NaN', 1), ('NaN', 1), (NULL, NULL)",
        "CREATE VIEW seen AS SELECT t, count(*) AS c FROM plain GROUP BY t",
        "CREATE TABLE lookup (code varchar(3) NOT NULL UNIQUE, t varchar(9))",
        "INSERT INTO lookup VALUES ('a', 'A'), ('b', NULL)",
        "CREATE VIEW beside AS SELECT code, t FROM lookup")
    destination = make_destination(engine)
    text = init(tidemark, source, destination)
    for name in ("plain", "seen", "lookup", "beside"):
        assert f".{name}" in text, text
    go_through(tidemark)
    assert sorted(destination.query("SELECT t, n FROM plain"), key=str) == [
        ("NaN", 1), ("NaN", 1), (None, None)]

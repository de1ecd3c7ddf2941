"""source.query: a SELECT in place of a table. It is read as a table is, and
never said to be `exact` by its mark."""

import pytest

from bench import EXIT_ACCESS, EXIT_BUG, EXIT_CONFIG, EXIT_OK, EXIT_SCHEMA
from looks import verify

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb", "clickhouse",
           "bigquery")
# Names of types: a whole number, a text, a time without zone; and what follows
# a table.
TYPES = {
    "postgres": ("bigint", "text", "timestamptz", ""),
    "sqlite": ("bigint", "text", "timestamp", ""),
    "duckdb": ("bigint", "text", "timestamp", ""),
    "clickhouse": ("Int64", "String", "DateTime64(6, 'UTC')",
                   "ENGINE = MergeTree ORDER BY id"),
    "bigquery": ("INT64", "STRING", "TIMESTAMP", ""),
}
QUERY = """SELECT o.id, o.n * 2 AS twice, p.name, o.seen
FROM {at}.orders o JOIN {at}.people p ON p.id = o.person
WHERE o.n > 0 -- the end"""


@pytest.fixture
def shop(make_source, make_destination):
    """A source of any engine with orders of people."""
    def make(engine):
        made = (make_destination if engine in ("clickhouse", "bigquery")
                else make_source)(engine)
        number, text, time, tail = TYPES.get(
            engine, ("bigint", "varchar(50)", "datetime(6)", ""))
        at = made.schema
        made.execute(
            f"CREATE TABLE {at}.people (id {number}, name {text}) {tail}",
            f"CREATE TABLE {at}.orders (id {number}, person {number},"
            f" n {number}, seen {time}) {tail}",
            f"INSERT INTO {at}.people VALUES (1, 'Ada'), (2, 'Bob')")
        order(made, 1, 1, 5, "2024-01-01 00:00:01")
        order(made, 2, 2, 6, "2024-01-01 00:00:02")
        order(made, 3, 2, 0, "2024-01-01 00:00:03")
        order(made, 4, 1, 7, "2024-01-01 00:00:04")
        return made
    return make


def order(source, key, person, n, at):
    source.execute(f"INSERT INTO {source.schema}.orders VALUES"
                   f" ({key}, {person}, {n}, '{at}')")


def configure(tidemark, shop, destination, query=QUERY, **settings):
    tidemark.connect("source", shop.connection())
    tidemark.connect("warehouse", destination.connection())
    settings.setdefault("key", ["id"])
    settings.setdefault("watermark", {"strategy": "timestamp", "column": "seen",
                                      "time_zone": "UTC"})
    more = settings.pop("source", {})
    tidemark.pipeline("shop", source={
        "connection": "source", "query": query.format(at=shop.schema),
        **more}, destination={"connection": "warehouse",
                              "table": f"{destination.schema}.shop"},
        **settings)
    return tidemark.write_config()


def loaded(destination):
    return sorted(destination.rows(f"{destination.schema}.shop", {
        "id": "int", "twice": "int", "name": "text"}))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_join(tidemark, shop, make_destination, engine):
    source, destination = shop(engine), make_destination("sqlite")
    configure(tidemark, source, destination, batch={"rows": 2})
    checked = tidemark("check", "--json").expect(EXIT_OK).pipeline()
    assert checked["ok"], checked
    result = tidemark.run().pipeline()
    assert loaded(destination) == [(1, 10, "Ada"), (2, 12, "Bob"),
                                   (4, 14, "Ada")]
    assert result["guarantee"] == "lag", result
    assert result["guarantee_reason"]
    order(source, 5, 2, 8, "2024-01-01 00:00:05")
    result = tidemark.run().pipeline()
    assert (5, 16, "Bob") in loaded(destination)
    assert result["rows_inserted"] == 1
    assert verify(tidemark)["shop"]["equal"]
    destination.execute("UPDATE shop SET twice = 0 WHERE id = 2",
                        "DELETE FROM shop WHERE id = 4")
    tidemark("verify", "--repair").expect(EXIT_OK)
    tidemark("run", "--dry-run").expect(EXIT_OK)
    tidemark("backfill", "shop", "--chunk-rows", "2").expect(EXIT_OK)
    assert len(loaded(destination)) == 4 and verify(tidemark)["shop"]["equal"]
    # Another query is another set of rows: all are read again.
    configure(tidemark, source, destination, QUERY.replace("* 2", "* 3"))
    done = tidemark.run()
    assert done.pipeline()["rows_updated"] == 4, done
    assert (1, 15, "Ada") in loaded(destination)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("engine", ENGINES)
def test_other_ways_to_read_it(tidemark, shop, make_destination, engine):
    """By a number; whole, without a key; with columns and conditions."""
    source, destination = shop(engine), make_destination("sqlite")
    configure(tidemark, source, destination, key=[], load={"mode": "replace"},
              watermark={"strategy": "none"})
    tidemark.run()
    assert len(loaded(destination)) == 3
    source.execute(f"DELETE FROM {source.schema}.orders WHERE id = 1"
                   if engine != "clickhouse" else
                   f"ALTER TABLE {source.schema}.orders DELETE WHERE id = 1"
                   " SETTINGS mutations_sync = 1")
    tidemark.run()
    assert [row[0] for row in loaded(destination)] == [2, 4]
    other = make_destination("sqlite")
    configure(tidemark, source, other, "SELECT person, count(*) AS orders,"
              " sum(n) AS n FROM {at}.orders GROUP BY person",
              key=["person"], source={"where": "orders > 1",
                                      "expressions": {"n": "n + 100"}},
              watermark={"strategy": "sequence", "column": "person"})
    result = tidemark.run().pipeline()
    assert result["rows_read"] == 1 and result["guarantee"] == "lag"
    assert other.rows("shop", {"person": "int", "orders": "int",
                               "n": "int"}) == [(2, 2, 106)]


@pytest.mark.parametrize("query, words", (
    ("SELECT 1 AS id; SELECT 2 AS id", "source.query"),
    ("SELECT id, seen FROM {at}.orders;", "source.query"),
    ("INSERT INTO {at}.orders VALUES (9) RETURNING id", "source.query"),
    ("WITH gone AS (DELETE FROM {at}.orders RETURNING id, seen)"
     " SELECT * FROM gone", "source.query"),
    ("SELECT id, id, seen FROM {at}.orders", "two columns are called"),
    ("SELECT id, seen, n + 1 FROM {at}.orders", "has no name"),
    ("SELECT id, seen FROM {at}.orders WHERE id = $1", "source.query"),
    ("SELECT id, seen FROM {at}.nowhere", "source.query"),
    ("SELECT id, seen FROM orders", "source.query"),
    ("SELEKT 1", "source.query"),
    ("DROP TABLE {at}.orders", "source.query"),
))
def test_refused_by_the_server(tidemark, shop, make_destination, query, words):
    source, destination = shop("postgres"), make_destination("sqlite")
    configure(tidemark, source, destination, query)
    done = tidemark("run")
    assert done.code == EXIT_CONFIG, done
    assert words in done.err
    assert len(source.rows("public.orders", {"id": "int"})) == 4


@pytest.mark.parametrize("engine", ("mariadb", "sqlite", "duckdb"))
def test_a_function_that_writes_or_a_second_statement(tidemark, shop,
                                                      make_destination,
                                                      engine):
    source, destination = shop(engine), make_destination("sqlite")
    for query in ("SELECT 1 AS id; DELETE FROM {at}.orders",
                  "SELECT 1 AS id) AS x; DELETE FROM {at}.orders; SELECT (1",
                  "DELETE FROM {at}.orders RETURNING id",
                  "SELECT ? AS id"):
        configure(tidemark, source, destination, query)
        done = tidemark("run")
        assert done.code in (EXIT_CONFIG, EXIT_ACCESS, EXIT_SCHEMA), done
    assert len(source.rows(f"{source.schema}.orders", {"id": "int"})) == 4


def test_a_function_of_the_source_cannot_write(tidemark, shop,
                                               make_destination):
    source, destination = shop("postgres"), make_destination("sqlite")
    source.execute("CREATE FUNCTION public.wipe() RETURNS bigint LANGUAGE sql"
                   " AS 'DELETE FROM public.orders; SELECT 1::bigint'")
    configure(tidemark, source, destination,
              "SELECT public.wipe() AS id, now() AS seen")
    done = tidemark("run")
    assert done.code not in (EXIT_OK, EXIT_BUG), done
    assert "25006" in done.err  # a read-only transaction
    assert len(source.rows("public.orders", {"id": "int"})) == 4


@pytest.mark.parametrize("change, words", (
    ({"source": {"table": "public.orders"}}, "leave out source.table"),
    ({"watermark": {"strategy": "xmin"}}, "no xmin"),
    ({"load": {"mode": "update"}}, "mode update"),
    ({"query": " "}, "must not be empty"),
))
def test_refused_by_the_config(tidemark, shop, make_destination, change, words):
    source, destination = shop("postgres"), make_destination("postgres")
    configure(tidemark, source, destination, **change)
    done = tidemark("check")
    assert done.code == EXIT_CONFIG and words in done.err, done


def test_a_query_without_a_key_needs_mode_replace(tidemark, shop,
                                                  make_destination):
    source, destination = shop("postgres"), make_destination("sqlite")
    configure(tidemark, source, destination, key=[])
    done = tidemark("run")
    assert done.code == EXIT_SCHEMA and "key" in done.err, done


def test_two_configs_with_other_queries(tidemark, shop, make_destination):
    """They share a name, and would overwrite each other's rows for ever."""
    source, destination = shop("postgres"), make_destination("sqlite")
    for text in ("* 2", "* 3", "* 2"):
        configure(tidemark, source, destination, QUERY.replace("* 2", text))
        tidemark.run()
    configure(tidemark, source, destination, QUERY.replace("* 2", "* 3"))
    said = tidemark("run").expect(EXIT_SCHEMA).err
    assert "back and forth" in said, said


def test_from_a_table_to_a_query(tidemark, shop, make_destination):
    """It is another source: the run stops, and says how to go on."""
    source, destination = shop("postgres"), make_destination("sqlite")
    configure(tidemark, source, destination)
    tidemark.pipelines["shop"]["source"] = {"connection": "source",
                                            "table": "public.orders"}
    tidemark.write_config()
    tidemark.run()
    configure(tidemark, source, destination,
              "SELECT id, person, n, seen FROM public.orders")
    done = tidemark("run")
    assert done.code == EXIT_SCHEMA and "watermark reset" in done.err, done

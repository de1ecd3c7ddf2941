"""source.pre_check: a run reads when the source says so, and else waits for
the next one without a failure."""

import pytest

import workload
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_OK, EXIT_SCHEMA, sync_items)
from looks import verify
from oracle import check_items

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb", "clickhouse",
           "bigquery")
# A table, its key and a mark, and a row of another one that says "ready".
PLACES = {
    "clickhouse": ("CREATE TABLE {t} (id Int64, n Int64) ENGINE = MergeTree"
                   " ORDER BY id", "system.one"),
    "bigquery": ("CREATE TABLE {t} (id INT64 NOT NULL, n INT64)", None),
}


@pytest.fixture
def place(make_source, make_destination):
    """A source of any engine with a table `items` of two rows, and a table
    `loads` that says which loads are over."""
    def make(engine):
        made = (make_destination if engine in PLACES else make_source)(engine)
        ddl = PLACES.get(engine, (
            "CREATE TABLE {t} (id bigint PRIMARY KEY, n bigint)",))[0]
        at = made.schema
        made.execute(ddl.format(t=f"{at}.items"), ddl.format(t=f"{at}.loads"),
                     f"INSERT INTO {at}.items VALUES (1, 10), (2, 20)")
        return made
    return make


def configure(tidemark, source, destination, query):
    sync_items(tidemark, source, destination, "sequence",
               watermark={"column": "id"}, key=["id"])
    tidemark.pipelines["items"]["source"]["pre_check"] = query
    return tidemark.write_config()


def state(tidemark):
    return tidemark("status", "--json").pipeline()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_waits_until_it_is_told_to_read(tidemark, place,
                                              make_destination, engine):
    source, destination = place(engine), make_destination("sqlite")
    loads = f"{source.schema}.loads"
    configure(tidemark, source, destination, f"SELECT count(*) FROM {loads}")
    done = tidemark("run", "--json").expect(EXIT_OK)
    result = done.pipeline()
    assert result["outcome"] == "waiting" and result["rows_read"] == 0
    assert result["error"] is None
    assert "source.pre_check" in result["waiting"]["reason"]
    assert "waiting: source.pre_check" in done.err
    now = state(tidemark)
    assert now["state"] == "waiting" and now["last_success"] is None
    assert now["waiting"]["reason"] == "pre_check" and now["waiting"]["since"]
    assert now["watermark"] is None
    assert tidemark("status", "--fail").expect(EXIT_OK)
    source.execute(f"INSERT INTO {loads} VALUES (1, 1)")
    assert tidemark.run().pipeline()["rows_inserted"] == 2
    now = state(tidemark)
    assert now["state"] == "ok" and now["waiting"] is None
    # A truth value, NULL and no row at all.
    for query, outcome in ((f"SELECT count(*) > 5 FROM {loads}", "waiting"),
                           (f"SELECT count(*) < 5 FROM {loads}", "caught_up"),
                           (f"SELECT max(n) FROM {loads} WHERE id > 5",
                            "waiting"),
                           (f"SELECT n FROM {loads} WHERE id > 5", "waiting"),
                           ("SELECT -0.5", "caught_up")):
        if engine == "clickhouse" and "max" in query:
            continue  # it is 0 there, and no NULL
        configure(tidemark, source, destination, query)
        assert tidemark.run().pipeline()["outcome"] == outcome, query


@pytest.mark.parametrize("query, code", (
    ("SELECT 1, 2", EXIT_CONFIG),
    ("SELECT n FROM public.items", EXIT_CONFIG),
    ("SELECT 'ready'", EXIT_CONFIG),
    ("SELECT 1; SELECT 1", EXIT_CONFIG),
    ("SELEKT 1", EXIT_CONFIG),
    ("", EXIT_CONFIG),
    ("SELECT 1 FROM public.nowhere", EXIT_SCHEMA),
    # The session is read-only.
    ("WITH gone AS (DELETE FROM public.items RETURNING 1)"
     " SELECT count(*) FROM gone", None),
))
def test_a_query_that_gives_no_answer_fails_the_run(tidemark, place,
                                                    make_destination, query,
                                                    code):
    source, destination = place("postgres"), make_destination("sqlite")
    configure(tidemark, source, destination, query)
    done = tidemark("run")
    assert done.code == code or (code is None and done.code in (
        EXIT_CONFIG, EXIT_ACCESS)), done
    assert "source.pre_check" in done.err
    assert source.rows("items", {"id": "int"}) == [(1,), (2,)]


def test_an_error_shows_no_value(tidemark, place, make_destination):
    """The answer may be a value of a row."""
    source, destination = place("postgres"), make_destination("sqlite")
    configure(tidemark, source, destination, "SELECT 'ann@example.org'")
    done = tidemark("run", "--json").expect(EXIT_CONFIG)
    assert "is to return a number" in done.err
    assert "ann@example" not in done.err + done.out
    assert "ann@example" not in tidemark("status", "--json").out
    tidemark.top["log"] = {"row_values": True}
    assert 'not "ann@example.org"' in tidemark.write_config()("run").err


def test_other_commands_do_not_ask(tidemark, make_source, make_destination):
    """A dry run says what a run would do. A repair or a backfill, which somebody
    asks for, is done at once."""
    source, destination = make_source("postgres"), make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    destination.execute("DELETE FROM items WHERE id = 7")
    tidemark.pipelines["items"]["source"]["pre_check"] = "SELECT false"
    tidemark.write_config()
    done = tidemark("run", "--dry-run").expect(EXIT_OK)
    assert "a run would wait" in done.out
    assert tidemark.run("--verify").pipeline()["outcome"] == "waiting"
    tidemark("verify", "--repair").expect(EXIT_OK)
    tidemark("backfill", "items").expect(EXIT_OK)
    assert verify(tidemark)["items"]["equal"]
    check_items(source, destination)


def test_nothing_is_opened_for_long_and_a_failure_stays_one(
        tidemark, place, make_destination):
    """A wait mends no failure, and a table that is not there yet is not asked
    for."""
    source, destination = place("postgres"), make_destination("sqlite")
    configure(tidemark, source, destination, "SELECT true")
    source.execute("DROP TABLE public.items")
    tidemark("run").expect(EXIT_SCHEMA)
    configure(tidemark, source, destination, "SELECT false")
    assert tidemark.run().pipeline()["outcome"] == "waiting"
    now = state(tidemark)
    assert now["state"] == "failing" and now["waiting"]["reason"] == "pre_check"
    attempts = tidemark("runs", "--json").json()["runs"][0]["attempts"]
    assert [a["outcome"] for a in attempts][-1] in ("waiting", "failed")

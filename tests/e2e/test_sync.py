"""The main job: a table kept equal, in every destination."""

import os

import pytest

import oracle
import workload
from bench import EXIT_DATA, items_settings, sync_items, written
from oracle import check_items

ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql")
STRATEGIES = ("timestamp", "xmin", "sequence")

every_engine = pytest.mark.parametrize("engine", ENGINES)
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


@pytest.mark.threads
@pytest.mark.thinned(3)
@every_engine
@pytest.mark.parametrize("kind,strategy", workload.SOURCES)
def test_first_load_then_delta_then_nothing(
        tidemark, make_source, make_destination, engine, kind, strategy):
    source, destination = make_source(kind), make_destination(engine)
    workload.create_items(source, rows=3000)
    sync_items(tidemark, source, destination, strategy, batch={"rows": 500})
    first = tidemark.run().pipeline()
    assert first["outcome"] == "caught_up"
    assert first["rows_inserted"] == 3000
    assert first["watermark_before"] is None
    check_items(source, destination)

    workload.change_items(source, "id % 100 < 7")
    workload.fill_items(source, 3001, 3100,
                        stamp=workload.dialect(source).now)
    delta = tidemark.run().pipeline()
    assert delta["rows_inserted"] == 100
    assert delta["rows_updated"] == 210
    check_items(source, destination)

    workload.settle(source)
    tidemark.run()
    nothing = tidemark.run().pipeline()
    assert (nothing["rows_read"], nothing["outcome"]) == (0, "caught_up")
    check_items(source, destination)


def test_unchanged_rows_do_not_move(tidemark, source, make_destination):
    """A re-read row that is the same is not written: its ctid stays."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=500)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    before = destination.physical("public.items")
    source.execute("UPDATE items SET quantity = 7777 WHERE id = 3",
                   "UPDATE items SET updated_at = now() WHERE id = 3")
    tidemark("watermark", "reset", "items").expect(0)
    result = tidemark.run().pipeline()
    assert (result["rows_read"], result["rows_updated"]) == (500, 1)
    after = destination.physical("public.items")
    assert len(set(before) - set(after)) == 1


@every_engine
def test_older_version_never_replaces_a_newer(tidemark, source,
                                              make_destination, engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    # The destination is ahead: as after another writer or a restored source.
    source.execute("UPDATE items SET name = 'newer', updated_at = "
                   "'2024-05-01 00:00:00+00' WHERE id = 5")
    tidemark.run()
    source.execute("UPDATE items SET name = 'older', updated_at = "
                   "'2024-04-01 00:00:00+00' WHERE id = 5")
    tidemark("watermark", "reset", "items").expect(0)
    result = tidemark.run().pipeline()
    assert written(result) == 0
    rows = destination.rows(f"{destination.schema}.items",
                            {"id": "int", "name": "text"})
    assert (5, "newer") in rows


@every_engine
def test_columns_expressions_and_where(tidemark, source, make_destination,
                                       engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.pipelines["items"]["source"].update(
        columns=["id", "name", "updated_at"],
        expressions={"cents": "pg_catalog.round(amount * 100)::bigint",
                     "name": "pg_catalog.upper(name)"},
        where="quantity < 10")
    tidemark.write_config().run()
    there = destination.rows(f"{destination.schema}.items",
                             {"id": "int", "name": "text", "cents": "int"})
    here = source.query("SELECT id, upper(name), round(amount * 100)::bigint "
                        "FROM items WHERE quantity < 10")
    oracle.check_rows(here, there)
    assert 0 < len(here) < 300
    assert "quantity" not in destination.columns_of(
        f"{destination.schema}.items")


@every_engine
def test_full_refresh_forgets_deleted_rows(tidemark, source, make_destination,
                                           engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id <= 50")
    assert written(tidemark.run().pipeline()) == 0
    tidemark.run("--full-refresh")
    check_items(source, destination)


@pytest.mark.thinned(3)
@every_engine
@every_strategy
def test_replace_follows_deletes(tidemark, source, make_destination, engine,
                                 strategy):
    destination = make_destination(engine)
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, destination, strategy, "replace",
               batch={"rows": 70})
    tidemark.run()
    check_items(source, destination)
    source.execute("DELETE FROM items WHERE id % 3 = 0")
    tidemark.run()
    check_items(source, destination)


def test_replace_is_atomic_for_readers(tidemark, source, make_destination):
    """A reader sees the old table or the new one, never a part."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=20000)
    sync_items(tidemark, source, destination, "timestamp", "replace",
               batch={"rows": 1000})
    tidemark.run()
    running = tidemark.start("run", "--json")
    seen = set()
    with destination.connect() as reader:
        while running.alive():
            seen.add(reader.execute("SELECT count(*) FROM public.items")
                     .fetchone()[0])
    running.wait().expect(0)
    assert seen == {20000}


@every_engine
def test_max_batches_stops_and_goes_on(tidemark, source, make_destination,
                                       engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=1000)
    sync_items(tidemark, source, destination, "timestamp", batch={"rows": 200})
    first = tidemark.run("--max-batches", "2").pipeline()
    assert (first["outcome"], first["batches"]) == ("stopped", 2)
    loaded = len(destination.rows(f"{destination.schema}.items", {"id": "int"}))
    assert loaded == first["rows_inserted"] < 1000
    second = tidemark.run().pipeline()
    assert second["rows_inserted"] == 1000 - loaded
    assert second["watermark_before"] == first["watermark_after"]
    check_items(source, destination)


def test_several_pipelines_one_fails(tidemark, source, make_destination):
    destination = make_destination("postgres")
    for table in ("a_items", "b_items", "c_items"):
        workload.create_items(source, table, rows=50)
    source.execute("ALTER TABLE b_items ALTER updated_at DROP NOT NULL",
                   "UPDATE b_items SET updated_at = NULL WHERE id = 7")
    for table in ("a_items", "b_items", "c_items"):
        sync_items(tidemark, source, destination, "timestamp", name=table,
                   table=table)
    done = tidemark.run(expect=EXIT_DATA)
    assert [each["outcome"] for each in done.json()["pipelines"]] == [
        "caught_up", "failed", "caught_up"]
    error = done.pipeline("b_items")["error"]
    assert "b_items" in error["message"] and "updated_at" in error["message"]
    for table in ("a_items", "c_items"):
        oracle.check_equal(source, destination, table, f"public.{table}",
                           oracle.ITEMS)


def test_only_the_named_pipeline_runs(tidemark, source, make_destination):
    destination = make_destination("postgres")
    for table in ("a_items", "b_items"):
        workload.create_items(source, table, rows=10)
        sync_items(tidemark, source, destination, "timestamp", name=table,
                   table=table)
    done = tidemark.run("b_items")
    assert [each["pipeline"] for each in done.json()["pipelines"]] == ["b_items"]
    assert "a_items" not in destination.tables()


@every_engine
def test_state_store_in_postgres(tidemark, source, make_destination,
                                 make_database, engine):
    destination, state = make_destination(engine), make_database("state")
    workload.create_items(source, rows=100)
    tidemark.top["state"] = state.connection()
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    assert tidemark.run().pipeline()["rows_read"] == 0
    check_items(source, destination)
    oracle.check_leftovers(state)


@every_engine
def test_lost_state_costs_nothing(tidemark, source, make_destination, engine):
    """A transactional destination knows by itself where it is."""
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    os.remove(tidemark.state_file)
    assert tidemark.run().pipeline()["rows_read"] == 0


@every_engine
def test_copy_needs_no_config_and_resumes(tidemark, source, make_destination,
                                          engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    password = dict.fromkeys(("PGPASSWORD", "MYSQL_PWD"),
                             tidemark.env["TIDEMARK_TEST_PASSWORD"])

    def copy():
        return tidemark("copy", source.url(), destination.url(), "--table",
                        "public.items", "--to", f"{destination.schema}.items",
                        "--watermark", "timestamp:updated_at", "--json",
                        env=password).expect(0).pipeline()

    assert copy()["rows_inserted"] == 100
    assert copy()["rows_read"] == 0
    workload.fill_items(source, 101, 110, stamp="now()")
    assert copy()["rows_inserted"] == 10
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", oracle.ITEMS)


@every_engine
def test_empty_table(tidemark, source, make_destination, engine):
    destination = make_destination(engine)
    workload.create_items(source)
    sync_items(tidemark, source, destination, "timestamp")
    result = tidemark.run().pipeline()
    assert (result["outcome"], result["rows_read"]) == ("caught_up", 0)
    check_items(source, destination)
    workload.fill_items(source, 1, 5)
    assert tidemark.run().pipeline()["rows_inserted"] == 5
    check_items(source, destination)


@pytest.mark.threads
@every_strategy
def test_partitioned_parent(tidemark, source, make_destination, strategy):
    destination = make_destination("postgres")
    source.execute(
        "CREATE SEQUENCE items_seq",
        """CREATE TABLE items (id bigint, region text, name text,
           seq bigint NOT NULL DEFAULT nextval('items_seq'),
           updated_at timestamptz NOT NULL DEFAULT now(),
           PRIMARY KEY (id, region)) PARTITION BY LIST (region)""",
        "CREATE TABLE items_north PARTITION OF items FOR VALUES IN ('north')",
        """CREATE TABLE items_south PARTITION OF items FOR VALUES IN ('south')
           PARTITION BY RANGE (id)""",
        "CREATE TABLE items_s1 PARTITION OF items_south FOR VALUES FROM (0) TO (500)",
        "CREATE TABLE items_s2 PARTITION OF items_south FOR VALUES FROM (500) TO (9999)",
        """INSERT INTO items SELECT n, CASE n % 2 WHEN 0 THEN 'north' ELSE
           'south' END, 'n' || n FROM generate_series(1, 1200) n""")
    columns = {"id": "int", "region": "text", "name": "text", "seq": "int"}
    sync_items(tidemark, source, destination, strategy, batch={"rows": 100})
    assert tidemark.run().pipeline()["rows_inserted"] == 1200
    # One moves to another leaf, one is new.
    source.execute(
        "UPDATE items SET id = 5001, name = 'moved', updated_at = now(), "
        "seq = nextval('items_seq') WHERE id = 1",
        "INSERT INTO items (id, region, name) VALUES (6000, 'north', 'new')")
    tidemark.run()
    there = destination.rows("public.items", columns)
    here = source.rows("public.items", columns)
    assert set(here) <= set(there)
    assert len(there) == len(here) + 1  # the old key of the one that moved


@pytest.mark.thinned(2)
@pytest.mark.parametrize("strategy", ("timestamp", "sequence"))
@every_engine
def test_view_as_source(tidemark, source, make_destination, strategy, engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=200)
    source.execute("CREATE VIEW items_view AS SELECT id, name, seq, updated_at "
                   "FROM items WHERE quantity < 25")
    columns = {"id": "int", "name": "text", "seq": "int",
               "updated_at": "timestamptz"}
    sync_items(tidemark, source, destination, strategy, table="items_view",
               key=["id"], batch={"rows": 50})
    tidemark.run()
    oracle.check_equal(source, destination, "items_view",
                       f"{destination.schema}.items_view", columns)
    workload.change_items(source, "id < 10")
    tidemark.run()
    there = destination.rows(f"{destination.schema}.items_view", columns)
    assert set(source.rows("items_view", columns)) <= set(there)


def test_xmin_on_a_view_is_refused(tidemark, source, make_destination):
    workload.create_items(source, rows=5)
    source.execute("CREATE VIEW items_view AS SELECT * FROM items")
    sync_items(tidemark, source, make_destination("sqlite"), "xmin",
               table="items_view", key=["id"])
    error = tidemark.run(expect=2).pipeline()["error"]["message"]
    assert "xmin" in error and "items_view" in error


@every_engine
def test_append_keeps_every_version(tidemark, source, make_destination, engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp", "append")
    tidemark.run()
    source.execute("UPDATE items SET quantity = -1, updated_at = "
                   "'2024-07-01 00:00:00+00' WHERE id <= 10")
    tidemark.run()
    check_items(source, destination)
    raw = destination.raw(f"{destination.schema}.items")
    versions = destination.rows(raw, {"id": "int", "quantity": "int"})
    assert len(versions) == 110
    extra = set(destination.columns_of(raw)) - set(oracle.ITEMS)
    assert extra == {"_tidemark_batch", "_tidemark_seq", "_tidemark_loaded_at"}


@every_engine
def test_append_holds_the_tail(tidemark, source, make_destination, engine):
    """Rows that are not settled wait, so the raw table gets each version once."""
    destination = make_destination(engine)
    workload.create_items(source, rows=10)
    workload.fill_items(source, 11, 15, stamp="now() + interval '1 hour'")
    sync_items(tidemark, source, destination, "timestamp", "append")
    assert tidemark.run().pipeline()["rows_inserted"] == 10
    assert tidemark.run().pipeline()["rows_read"] == 0
    tidemark.pipelines["items"] = items_settings(
        source, destination, "timestamp", "append",
        watermark={"tail": "deliver"})
    tidemark.write_config()
    assert tidemark.run().pipeline()["rows_inserted"] == 5
    assert tidemark.run().pipeline()["rows_inserted"] == 0
    raw = destination.raw(f"{destination.schema}.items")
    assert len(destination.rows(raw, {"id": "int"})) == 15

"""load.loaded_at: the target has the time of loading, and no row is another
one, read again, or written again, for its sake."""

import datetime

import pytest

import workload
from bench import EXIT_CONFIG, sync_items
from looks import verify

ROWS = 20
PLACES = [(engine, "upsert") for engine in (
    "postgres", "mariadb", "mysql", "sqlite", "duckdb", "clickhouse",
    "bigquery")] + [
    (engine, mode) for engine in ("postgres", "mariadb", "sqlite", "duckdb",
                                  "clickhouse", "bigquery")
    for mode in ("append", "delete_insert")]


def loaded(destination):
    """id -> when it was loaded, of rows that have a time."""
    rows = destination.rows(f"{destination.schema}.items",
                            {"id": "int", "loaded": "timestamptz"})
    return {key: at for key, at in rows if at is not None}


def add_column(tidemark, name="loaded"):
    tidemark.pipelines["items"]["load"]["loaded_at"] = name
    tidemark.write_config()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine, mode", PLACES)
def test_written_rows_have_their_time(tidemark, source, make_destination,
                                      engine, mode):
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    workload.settle(source)
    tidemark.run()
    add_column(tidemark)
    done = tidemark.run().pipeline()
    assert done["rows_read"] == 0 and loaded(destination) == {}
    looked = tidemark("check", "--json").expect(0).pipeline()
    assert looked["ok"] and looked["ddl"] == []
    workload.touch_items(source, "id IN (3, 4)")
    if mode == "append":  # it waits for the tail
        workload.settle(source)
    done = tidemark.run().pipeline()
    assert done["rows_inserted"] + done["rows_updated"] == 2
    first = loaded(destination)
    assert set(first) == {3, 4} and first[3] == first[4]
    result = verify(tidemark)["items"]
    assert result["equal"] and result["kept"] == []
    # An unchanged row is neither written nor stamped again.
    tidemark("watermark", "reset", "items").expect(0)
    done = tidemark.run().pipeline()
    assert done["rows_read"] == done["rows_unchanged"] == ROWS
    assert loaded(destination) == first
    if mode != "append":
        table = "items_raw" if engine == "clickhouse" else "items"
        destination.execute(f"DELETE FROM {table} WHERE id = 7")
        tidemark("verify", "--repair").expect(0)
        assert set(loaded(destination)) == {3, 4, 7}
    now = datetime.datetime.now(datetime.timezone.utc)
    assert abs(as_time(first[3]) - now) < datetime.timedelta(minutes=5)


def as_time(value):
    if isinstance(value, int):
        return datetime.datetime.fromtimestamp(value / 1e6,
                                               datetime.timezone.utc)
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    return value if value.tzinfo else value.replace(
        tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize("engine", ("postgres", "mariadb", "sqlite", "duckdb",
                                    "clickhouse", "bigquery"))
def test_a_table_that_is_made_with_it(tidemark, source, make_destination,
                                      engine):
    """And replaced: all rows are written then."""
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp", "replace")
    add_column(tidemark)
    tidemark.run()
    first = loaded(destination)
    assert len(first) == ROWS and len(set(first.values())) == 1
    tidemark.run()
    assert min(loaded(destination).values()) > max(first.values())
    assert verify(tidemark)["items"]["equal"]
    assert tidemark("run", "--dry-run").expect(0)


def test_a_key_alone(tidemark, source, make_destination):
    source.execute("CREATE TABLE items (id bigint PRIMARY KEY)",
                   "INSERT INTO items SELECT generate_series(1, 5)")
    for engine in ("postgres", "mariadb", "sqlite", "duckdb", "clickhouse"):
        destination = make_destination(engine)
        sync_items(tidemark, source, destination, "sequence",
                   watermark={"column": "id"})
        add_column(tidemark)
        tidemark("watermark", "reset", "items")
        tidemark.run("--full-refresh")
        first = loaded(destination)
        assert len(first) == 5
        tidemark("watermark", "reset", "items").expect(0)
        assert tidemark.run().pipeline()["rows_unchanged"] == 5
        assert loaded(destination) == first


@pytest.mark.parametrize("change, words", (
    ({"load": {"mode": "update", "loaded_at": "x"}}, "mode update"),
    ({"load": {"loaded_at": "_tidemark_at"}}, "_tidemark_"),
    ({"load": {"loaded_at": "updated_at"}}, "column of the source"),
    ({"load": {"loaded_at": "gone"}, "soft_delete": "gone"}, "soft_delete"),
    ({"load": {"loaded_at": "name"}}, "has a column of that name"),
    ({"load": {"loaded_at": "NAME"}}, "has a column of that name"),
))
def test_names_that_are_taken(tidemark, source, make_destination, change,
                              words):
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.pipelines["items"].update(change)
    tidemark.write_config()
    said = tidemark("run").expect(EXIT_CONFIG).err
    assert words in said, said


def test_a_source_that_gets_such_a_column(tidemark, source, make_destination):
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    add_column(tidemark)
    tidemark.run()
    source.execute("ALTER TABLE items ADD loaded timestamptz")
    assert "has a column of that name" in tidemark("run").expect(
        EXIT_CONFIG).err

"""Settings that shape the rows change. All rows are read again, and the run
says why. Two configs of one name stop instead of taking turns."""

import json
import pathlib
import shutil

import pytest

import workload
from bench import EXIT_OK, EXIT_SCHEMA, sync_items, written
from oracle import check_items

ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql", "clickhouse",
           "bigquery")
FILES = ("sqlite", "duckdb")
STRATEGIES = ("timestamp", "xmin", "sequence")


def column(destination, name, where="1 = 1"):
    return [row[0] for row in destination.query(
        f"SELECT {name} FROM {destination.schema}.items WHERE {where} "
        "ORDER BY id")]


def problems(tidemark, expect=EXIT_OK):
    done = tidemark("check", "--json").expect(expect).json()
    return {p["code"]: p for p in done["pipelines"][0]["problems"]}


def run_again(tidemark, *words, rows=50):
    """Everything is read, once; `check` says so before, the log why."""
    told = problems(tidemark)["rows-again"]["message"]
    done = tidemark("run", "--json").expect(EXIT_OK)
    for word in words:
        assert word in told and word in done.err, (told, done.err)
    assert done.err.count("every row") == 1, done.err
    assert done.json()["pipelines"][0]["rows_read"] == rows
    again = tidemark("run", "--json").expect(EXIT_OK)
    assert again.json()["pipelines"][0]["rows_read"] == 0
    assert "every row" not in again.err
    assert "rows-again" not in problems(tidemark)


@pytest.fixture
def synced(tidemark, source, make_destination):
    def make(engine="sqlite", strategy="timestamp", mode="upsert", **more):
        destination = make_destination(engine)
        if not source.query("SELECT to_regclass('items')")[0][0]:
            workload.create_items(source, rows=50)
        sync_items(tidemark, source, destination, strategy, mode)
        tidemark.pipelines["items"]["source"].update(more)
        tidemark.write_config().run()
        return destination
    return make


def change(tidemark, **settings):
    tidemark.pipelines["items"]["source"].update(settings)
    return tidemark.write_config()


@pytest.mark.thinned(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("engine", ENGINES)
def test_wider_where(tidemark, source, synced, engine, strategy):
    destination = synced(engine, strategy, where="id <= 20")
    assert len(column(destination, "id")) == 20
    run_again(change(tidemark, where="id <= 50"), "source.where")
    check_items(source, destination)


@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_edited_expression(tidemark, synced, mode):
    destination = synced("postgres", mode=mode,
                         expressions={"twice": "quantity * 2"})
    run_again(change(tidemark, expressions={"twice": "quantity * 3"}),
              'the expression of column "twice"')
    assert column(destination, "twice") == [
        3 * n for n in column(destination, "quantity")]
    if mode == "append":  # rows that are the same are not there twice
        raw = destination.query("SELECT count(*) FROM items_raw")[0][0]
        zeros = column(destination, "quantity").count(0)
        assert raw == 50 + 50 - zeros


def test_raised_logic_version(tidemark, source, synced):
    destination = synced()
    destination.execute("UPDATE items SET name = 'by old logic'")
    tidemark.pipelines["items"]["logic_version"] = 2
    run_again(tidemark.write_config(), "logic_version")
    check_items(source, destination)


def test_renamed_label(tidemark, source, synced):
    source.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    workload.create_items(source, rows=50)
    source.execute("ALTER TABLE items ADD m mood DEFAULT 'sad', "
                   "ADD moods mood[] DEFAULT '{sad}'")
    destination = synced("postgres")
    source.execute("ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'")
    run_again(tidemark, 'the type of column "m"',
              'the type of column "moods"')
    assert set(column(destination, "m::text")) == {"blue"}
    assert set(column(destination, "moods::text")) == {"{blue}"}


@pytest.mark.parametrize("kind", ("mariadb", "mysql"))
def test_renamed_label_of_mysql(tidemark, make_source, make_destination, kind):
    source, destination = make_source(kind), make_destination("sqlite")
    workload.create_items(source, rows=50)
    source.execute("ALTER TABLE items ADD m ENUM('sad', 'happy') "
                   "DEFAULT 'sad'")
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("ALTER TABLE items MODIFY m ENUM('sad', 'happy', 'blue')",
                   "UPDATE items SET m = 'blue'",
                   "ALTER TABLE items MODIFY m ENUM('blue', 'happy')")
    run_again(tidemark, 'the type of column "m"')
    assert set(column(destination, "m")) == {"blue"}


@pytest.mark.parametrize("kind", ("mariadb", "mysql"))
def test_zero_dates_are_null_from_now_on(tidemark, make_source,
                                         make_destination, kind):
    source = make_source(kind)
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.run()
    run_again(change(tidemark, zero_dates=None), "source.zero_dates")


@pytest.mark.parametrize("how", (
    "amount TYPE numeric(14,2) USING amount * 2",
    "quantity TYPE bigint USING quantity + 1"))
def test_altered_type(tidemark, source, synced, how):
    destination = synced("postgres")
    source.execute(f"ALTER TABLE items ALTER {how}")
    run_again(tidemark, f'the type of column "{how.split()[0]}"')
    check_items(source, destination)


@pytest.mark.parametrize("kind", ("postgres", "mariadb", "mysql", *FILES))
def test_replaced_view(tidemark, make_source, make_destination, kind):
    source, destination = make_source(kind), make_destination("sqlite")
    workload.create_items(source, rows=50)
    replace = "" if kind == "sqlite" else "OR REPLACE"
    view = f"CREATE {replace} VIEW chosen AS SELECT * FROM items WHERE id <= "
    source.execute(view + "20")
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.pipelines["items"]["key"] = ["id"]
    change(tidemark, table=f"{source.schema}.chosen").run()
    if not replace:
        source.execute("DROP VIEW chosen")
    source.execute(view + "50")
    run_again(tidemark, "the query of the view")
    check_items(source, destination,
                pipeline=None if kind in FILES else "items")


@pytest.mark.parametrize("kind", ("", "MATERIALIZED"))
def test_replaced_view_below_a_view(tidemark, source, make_destination, kind):
    """Other rows with the marks of those that are known: the query of the
    view that is named stays what it was."""
    workload.create_items(source, rows=50)
    source.execute("CREATE TABLE green AS SELECT * FROM items",
                   "UPDATE green SET quantity = -1")
    lowest = "CREATE OR REPLACE VIEW lowest AS SELECT * FROM "
    source.execute(lowest + "green",
                   "CREATE VIEW middle AS SELECT * FROM lowest",
                   f"CREATE {kind} VIEW top AS SELECT * FROM middle")
    destination = make_destination("postgres")
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.pipelines["items"]["key"] = ["id"]
    change(tidemark, table=f"{source.schema}.top").run()
    assert tidemark.run().pipeline()["rows_read"] == 0
    source.execute(lowest + "items")
    if kind:
        source.execute("REFRESH MATERIALIZED VIEW top")
    run_again(tidemark, "the query of the view")
    check_items(source, destination)


@pytest.mark.parametrize("kind", FILES)
def test_replaced_view_of_a_file_below_a_view(tidemark, make_source,
                                              make_destination, kind):
    """A view that the named one does not reach may change as it likes."""
    source, destination = make_source(kind), make_destination("sqlite")
    workload.create_items(source, rows=50)
    low = 'CREATE VIEW "Low ""est" AS SELECT * FROM items WHERE id > '
    source.execute(low + "1",
                   'CREATE VIEW middle AS SELECT * FROM "low ""EST"',
                   "CREATE VIEW beside AS SELECT 1 AS n",
                   "CREATE VIEW top AS SELECT * FROM middle")
    sync_items(tidemark, source, destination, "timestamp", key=["id"])
    change(tidemark, table=f"{source.schema}.top").run()
    source.execute("DROP VIEW beside", "CREATE VIEW beside AS SELECT 2 AS n")
    assert tidemark.run().pipeline()["rows_read"] == 0
    source.execute('DROP VIEW "Low ""est"', low + "0")
    run_again(tidemark, "the query of the view")
    check_items(source, destination, pipeline=None)


def test_edit_that_is_taken_back(tidemark, source, synced):
    """Each of both reads everything; only what goes on like that stops."""
    destination = synced(where="id <= 50")
    run_again(change(tidemark, where="id <= 49"), "source.where", rows=49)
    run_again(change(tidemark, where="id <= 50"), "source.where")
    change(tidemark, where="id <= 49")
    error = tidemark("run", "--json").expect(EXIT_SCHEMA).json()
    message = error["pipelines"][0]["error"]["message"]
    assert "back and forth" in message and "watermark reset items" in message
    found = problems(tidemark, EXIT_SCHEMA)["config-of-other"]
    assert found["message"] == message and "reset items" in found["fix"]
    tidemark("watermark", "reset", "items").expect(EXIT_OK)
    assert tidemark.run().pipeline()["rows_read"] == 49
    assert tidemark.run().pipeline()["rows_read"] == 0
    check_items(source, destination)


def test_two_configs_of_one_name(tidemark, source, synced):
    destination = synced(where="id <= 30")
    other = str(pathlib.Path(tidemark.dir, "other.yaml"))
    shutil.copy(tidemark.config, other)
    # The same by another path is the same.
    done = tidemark("run", "-c", other, "--json").expect(EXIT_OK).json()
    assert written(done["pipelines"][0]) == 0
    tidemark("run", "-c", tidemark.config).expect(EXIT_OK)
    there = pathlib.Path(other)
    text = there.read_text(encoding="utf-8")
    there.write_text(text.replace("id <= 30", "id <= 50"), encoding="utf-8")
    error = tidemark("run", "-c", other, "--json").expect(EXIT_SCHEMA).json()
    message = error["pipelines"][0]["error"]["message"]
    for part in (tidemark.config, other, "watermark reset items"):
        assert part in message, message
    tidemark("backfill", "items", "-c", other).expect(EXIT_SCHEMA)
    assert len(column(destination, "id")) == 30
    # It takes the other's place.
    tidemark("watermark", "reset", "items", "-c", other).expect(EXIT_OK)
    tidemark("run", "-c", other).expect(EXIT_OK)
    check_items(source, destination)


def test_two_configs_of_other_columns(tidemark, source, synced):
    """Neither reads old rows again for less columns."""
    synced(columns=["id", "name", "updated_at"])
    config = pathlib.Path(tidemark.config)
    other = config.with_name("other.yaml")
    text = config.read_text(encoding="utf-8")
    assert text.count('"name"') == 1, text
    other.write_text(text.replace('"name"', '"quantity"'), encoding="utf-8")
    error = tidemark("run", "-c", str(other), "--json").expect(EXIT_SCHEMA)
    assert "another config" in error.pipeline()["error"]["message"]


def test_config_that_has_moved(tidemark, source, synced):
    """Edited and moved: the old one is not there any more."""
    destination = synced(where="id <= 30")
    config = pathlib.Path(tidemark.config)
    moved = config.with_name("moved.yaml")
    text = config.read_text(encoding="utf-8")
    config.unlink()
    moved.write_text(text.replace("id <= 30", "id <= 50"), encoding="utf-8")
    done = tidemark("run", "-c", str(moved), "--json").expect(EXIT_OK)
    assert "source.where changed" in done.err
    check_items(source, destination)


def test_mark_of_an_older_version(tidemark, source, synced):
    """It says nothing about that: no row is read again for it."""
    destination = synced()
    mark = destination.watermark("items")
    assert mark.pop("shape")
    tidemark("watermark", "set", "items", json.dumps(mark)).expect(EXIT_OK)
    done = tidemark("run", "--json").expect(EXIT_OK)
    assert done.json()["pipelines"][0]["rows_read"] == 0, done
    assert destination.watermark("items")["shape"]
    tidemark("verify").expect(EXIT_OK)
    check_items(source, destination)


def test_what_shapes_no_row(tidemark, synced):
    synced()
    pipeline = tidemark.pipelines["items"]
    pipeline["batch"] = {"rows": 7}
    pipeline["watermark"]["lag"] = "1s"
    tidemark.write_config().run()
    assert "rows-again" not in problems(tidemark)
    done = tidemark("run", "--json").expect(EXIT_OK)
    assert "every row" not in done.err


def test_chunk_begins_anew(tidemark_failpoints, source, make_destination):
    """A chunk that was cut off goes on with rows of another shape."""
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp", batch={"rows": 10})
    tidemark.run()
    destination.execute("UPDATE items SET name = 'damaged'")
    tidemark("backfill", "items", "--json",
             failpoints="after_merge=kill@3")
    source.execute("ALTER TABLE items ALTER amount TYPE numeric(14,2) "
                   "USING amount + 1")
    tidemark("backfill", "items", "--json").expect(EXIT_OK)
    check_items(source, destination)

"""Chunks of a backfill and replays deliver rows past a pipeline's mark. A
transaction that began before them and commits behind them leaves the newest
version of a row with an older mark. This version counts."""

import contextlib
import json
import signal

import pytest

import workload
from bench import EXIT_OK, sync_items, written
from oracle import check_items
from servers import wait_for

DESTINATIONS = ("postgres", "sqlite", "duckdb", "mariadb", "mysql",
                "clickhouse", "bigquery")
SOURCES = ("postgres", "mariadb", "mysql")
BEFORE = {"postgres": ("SELECT now()",),
          "mysql": ("START TRANSACTION", "SET @t = now(6)",
                    "UPDATE items SET updated_at = @t WHERE id = 1")}
LATE = ("UPDATE items SET name = 'late', quantity = 500, updated_at = {stamp}"
        " WHERE id = 7")


class Late:
    """A transaction that takes its now(), and changes row 7 in the end."""

    def __init__(self, source):
        self.postgres = source.engine == "postgres"
        self.db = (source.connect(autocommit=False) if self.postgres
                   else source.connect())
        for sql in BEFORE["postgres" if self.postgres else "mysql"]:
            self.execute(sql)

    def execute(self, sql):
        with self.db.cursor() as cursor:
            cursor.execute(sql)

    def commit(self):
        self.execute(LATE.format(stamp="now()" if self.postgres else "@t"))
        self.execute("COMMIT")
        self.db.close()


@contextlib.contextmanager
def late_commit(source):
    """Its row is committed behind what the body does."""
    late = Late(source)
    yield
    late.commit()
    workload.settle(source)


def late_rows(destination, name="late"):
    return int(destination.query(
        f"SELECT count(*) FROM {destination.schema}.items WHERE id = 7 "
        f"AND name LIKE '{name}'")[0][0])


def changed_rows(destination):
    return late_rows(destination, "%!")


def prepare(tidemark, source, destination, **settings):
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp", **settings)


def caught_up(tidemark, source, destination):
    """The next run brings the row, and the one behind it has nothing to do."""
    tidemark.run()
    check_items(source, destination)
    assert written(tidemark.run().pipeline()) == 0


@pytest.mark.thinned(3)
@pytest.mark.parametrize("mode", ("upsert", "delete_insert"))
@pytest.mark.parametrize("target", DESTINATIONS)
@pytest.mark.parametrize("engine", SOURCES)
def test_late_commit_behind_a_chunk(tidemark, make_source, make_destination,
                                    engine, target, mode):
    source, destination = make_source(engine), make_destination(target)
    prepare(tidemark, source, destination, mode=mode)
    tidemark.run()
    with late_commit(source):
        workload.change_items(source, "id = 7")
        tidemark("backfill", "items", "--json").expect(EXIT_OK)
        assert changed_rows(destination) == 1, "the chunk has not brought it"
    caught_up(tidemark, source, destination)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("target", DESTINATIONS)
@pytest.mark.parametrize("engine", SOURCES)
def test_late_commit_behind_a_chunk_without_a_mark(tidemark, make_source,
                                                   make_destination, engine,
                                                   target):
    """The next run begins with nothing but what the chunks have delivered."""
    source, destination = make_source(engine), make_destination(target)
    prepare(tidemark, source, destination)
    tidemark.run()
    tidemark("watermark", "reset", "items").expect(EXIT_OK)
    with late_commit(source):
        workload.change_items(source, "id = 7")
        tidemark("backfill", "items", "--json").expect(EXIT_OK)
    caught_up(tidemark, source, destination)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("target", DESTINATIONS)
def test_older_mark_behind_a_replay(tidemark, source, make_destination,
                                    target):
    """Its window lies past a mark that was set back; then the row gets an
    older mark, which is still past that."""
    destination = make_destination(target)
    prepare(tidemark, source, destination)
    tidemark.run()
    before = destination.watermark("items")
    workload.change_items(source, "id = 7")
    workload.settle(source)
    run = tidemark.run().pipeline()["run_id"]
    before.pop("pending", None)
    tidemark("watermark", "set", "items", json.dumps(before)).expect(EXIT_OK)
    tidemark("runs", "replay", run, "--json").expect(EXIT_OK)
    source.execute("UPDATE items SET name = 'late', updated_at = updated_at - "
                   "interval '1 ms' WHERE id = 7")
    caught_up(tidemark, source, destination)


def test_chunk_that_sleeps_over_a_late_commit(
        tidemark_failpoints, source, make_destination):
    """A chunk has read a row past the mark, and stands still. The newest
    version, with an older mark, is committed, and a run delivers it and moves
    on. The chunk then loads this version, and not the one it has read."""
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    prepare(tidemark, source, destination)
    tidemark.run()
    late = Late(source)
    workload.change_items(source, "id = 7")
    sleeper = tidemark.start("backfill", "items", "--json",
                             failpoints="stage_full=stop@1")
    wait_for(sleeper.stopped, what="the chunk's load")
    late.commit()
    workload.settle(source)
    tidemark.run()
    assert late_rows(destination) == 1
    sleeper.signal(signal.SIGCONT)
    sleeper.wait().expect(EXIT_OK)
    caught_up(tidemark, source, destination)

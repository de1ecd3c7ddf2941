"""The state store on a bad day: lost, newer than the binary, locked,
read-only, corrupt, its disk full. Exit 2 or 3 says what to do, and the
destination's own mark keeps the data right."""

import contextlib
import os
import signal
import sqlite3
import subprocess

import pytest

import poison
import workload
from bad_days import (ENGINES, HASTY, MANY_BATCHES, WAREHOUSES, fill_up,
                      mounted)
from bench import EXIT_ACCESS, EXIT_CONFIG, EXIT_OK
from paced_items import wait_until_held
from servers import wait_for
from state import StateStore

STORES = ("sqlite", "postgres")
every_store = pytest.mark.parametrize("store", STORES)


def lose(state):
    if state.end:
        state.end.execute("DROP SCHEMA tidemark CASCADE")
        return
    for suffix in ("", "-wal", "-shm"):
        path = state.tidemark.state_file + suffix
        if os.path.exists(path):
            os.unlink(path)


@contextlib.contextmanager
def locked(state):
    if state.end:
        with state.end.connect(autocommit=False) as db:
            db.execute("LOCK TABLE tidemark.attempts, tidemark.runs")
            yield
            db.rollback()
        return
    with contextlib.closing(sqlite3.connect(
            state.tidemark.state_file, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


@pytest.fixture
def make_store(tidemark, make_database):
    def make(store):
        made = StateStore(tidemark, make_database("state")
                          if store == "postgres" else None)
        tidemark.top["state"] = made.terms("30s")
        return made
    return make


def more_rows(day, first, last):
    """Settled rows past those that there are."""
    workload.fill_items(day.source, first, last,
                        stamp=workload.dialect(day.source).instant(
                            "2024-06-01 00:00:00"))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("mode", ("upsert", "append"))
@pytest.mark.parametrize("engine", (*ENGINES, *WAREHOUSES))
@every_store
def test_lost_between_runs(make_store, make_day, store, engine, mode):
    """The destination's mark says how far it got: nothing comes twice."""
    state = make_store(store)
    day = make_day(destination=engine, mode=mode, rows=500,
                   batch={"rows": 100})
    day.tidemark.run()
    lose(state)
    more_rows(day, 501, 540)
    assert day.recovers()["rows_read"] == 40


@pytest.mark.parametrize("engine", ("sqlite", "postgres", "mariadb"))
def test_file_lost_in_mid_run(make_day, stopped_run, engine):
    day = make_day(destination=engine, rows=6000, batch=MANY_BATCHES,
                   retry=HASTY)
    running = stopped_run(day.tidemark)
    lose(StateStore(day.tidemark))
    running.signal(signal.SIGCONT)
    done = running.wait()
    assert done.code in (EXIT_OK, EXIT_ACCESS), done
    day.check_covered()
    day.recovers()


def test_file_lost_before_a_letter(make_day):
    """The letter would be all there is of the row: no mark goes past it."""
    day = make_day(destination="postgres", rows=100, batch={"rows": 50},
                   on_bad_row="dead_letter")
    day.tidemark.run()
    poison.refuse_below_zero(day.destination, day.to)
    poison.poison(day.source, "id = 7")
    workload.settle(day.source)
    with day.destination.connect(autocommit=False) as db:
        db.execute("LOCK TABLE items IN EXCLUSIVE MODE")
        running = day.tidemark.start("run", "--json")
        state = StateStore(day.tidemark)
        wait_for(lambda: len(state.attempts()) == 2, what="the attempt")
        lose(state)
        db.rollback()
    message = running.wait().expect(EXIT_ACCESS).pipeline()["error"][
        "message"]
    assert "moved or deleted" in message, message
    assert day.tidemark.run().pipeline()["rows_dead_lettered"] == 1


@every_store
def test_newer_schema(make_store, make_day, store):
    """Exit 2, naming the version found and the one that is known."""
    state = make_store(store)
    day = make_day(rows=100)
    day.tidemark.run()
    state.execute("INSERT INTO {t}tidemark_migrations (number, name, "
                  "checksum, applied_at) SELECT max(number) + 1, 'from afar', "
                  "'00', 0 FROM {t}tidemark_migrations")
    more_rows(day, 101, 120)
    for command in ("run", "status", "check"):
        done = day.tidemark(command).expect(EXIT_CONFIG)
        assert "from afar" in done.out + done.err, done
        assert "newer tidemark" in done.out + done.err, done
    assert day.count() == 100, "a row was loaded all the same"
    state.execute("DELETE FROM {t}tidemark_migrations "
                  "WHERE name = 'from afar'")
    day.recovers()


@every_store
def test_locked(make_store, make_day, store):
    state = make_store(store)
    day = make_day(rows=100, retry=HASTY)
    day.tidemark.run()
    more_rows(day, 101, 120)
    with locked(state):
        day.fails(expect=EXIT_ACCESS)
    day.recovers()


def test_locked_chunks(make_store, make_day):
    """Whoever adds chunks locks them first, and is told who has them."""
    state = make_store("postgres")
    day = make_day(rows=100, retry=HASTY)
    day.tidemark.run()
    with state.end.connect(autocommit=False) as db:
        db.execute("LOCK TABLE tidemark.chunks IN ROW EXCLUSIVE MODE")
        done = day.tidemark("backfill", "items").expect(EXIT_ACCESS)
        db.rollback()
    assert "is locked by another process: PostgreSQL backend" in done.err
    day.tidemark("backfill", "items").expect(EXIT_OK)


@every_store
def test_store_that_is_away(make_store, make_day, store, tmp_path):
    """For a moment of a run that is under way: its lease is renewed by the next
    attempt, and the run goes on."""
    state = make_store(store)
    pause = tmp_path / "pause"
    pause.touch()
    day = make_day(rows=100, pace={"pause_file": str(pause)})
    day.tidemark.top["state"] = state.terms("15s")
    day.tidemark.write_config()
    running = day.tidemark.start("run", "--json")
    wait_until_held(day.tidemark, "pause_file")
    state.execute("ALTER TABLE {t}leases RENAME TO leases_away")
    wait_for(lambda: b"could not be renewed" in running.text["err"],
             what="a renewal that fails")
    state.execute("ALTER TABLE {t}leases_away RENAME TO leases")
    until = state.lease()[3]
    wait_for(lambda: state.lease()[3] > until, what="a renewal")
    pause.unlink()
    assert running.wait().expect(EXIT_OK).pipeline()["rows_read"] == 100


def test_read_only_database(make_store, make_day, cluster):
    state = make_store("postgres")
    day = make_day(rows=100, retry=HASTY)
    day.tidemark.run()
    more_rows(day, 101, 120)
    alter = (f"ALTER DATABASE {state.end.database} %s "
             "default_transaction_read_only")
    with cluster.admin() as admin:
        admin.execute(alter % "SET" + " = on")
        message = day.fails(expect=EXIT_ACCESS)
        assert "read-only" in message, message
        admin.execute(alter % "RESET")
    day.recovers()


def test_read_only_file(tidemark, make_day, small_disk):
    tidemark.top["state"] = f"sqlite:{small_disk}/state.db"
    day = make_day(rows=100, retry=HASTY)
    day.tidemark.run()
    more_rows(day, 101, 120)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    message = day.fails(expect=EXIT_ACCESS)
    assert "state.db" in message and "read" in message, message
    assert "rights" in message, message
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    day.recovers()


DAMAGES = {
    "overwritten": lambda file: (file.seek(0), file.write(b"\x5a" * 200)),
    "cut": lambda file: file.truncate(5000),
    "page": lambda file: (file.seek(4096 + 8), file.write(b"\xff" * 12000)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_corrupt_file(make_day, damage):
    """Exit 3 and what to do; moved away, the rest comes."""
    day = make_day(rows=100, retry=HASTY)
    day.tidemark.run()
    with contextlib.closing(sqlite3.connect(day.tidemark.state_file)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    with open(day.tidemark.state_file, "r+b") as file:
        DAMAGES[damage](file)
    more_rows(day, 101, 120)
    message = day.fails(expect=EXIT_ACCESS)
    assert day.tidemark.state_file in message, message
    assert "move" in message, message
    os.rename(day.tidemark.state_file, day.tidemark.state_file + ".bad")
    assert day.recovers()["rows_read"] <= 20


@every_store
def test_table_missing(make_store, make_day, store):
    """Somebody has dropped a table of the store."""
    state = make_store(store)
    day = make_day(rows=100, retry=HASTY)
    day.tidemark.run()
    state.execute("DROP TABLE {t}batches")
    more_rows(day, 101, 120)
    message = day.fails(expect=EXIT_ACCESS)
    assert "no mark is lost" in message, message
    lose(state)
    day.recovers()


def test_no_right_to_the_schema(make_store, make_day, cluster):
    """PostgreSQL then says that there are no such tables."""
    state = make_store("postgres")
    day = make_day(rows=100, retry=HASTY)
    day.tidemark.run()
    more_rows(day, 101, 120)
    with cluster.admin(state.end.database) as admin:
        admin.execute("ALTER SCHEMA tidemark OWNER TO postgres")
        message = day.fails(expect=EXIT_ACCESS)
        assert "may not use the schema" in message, message
        admin.execute("ALTER SCHEMA tidemark OWNER TO app")
    day.recovers()


def test_disk_full(tidemark, make_day, small_disk):
    """The store's file lies on a disk without room."""
    tidemark.top["state"] = f"sqlite:{small_disk}/state.db"
    day = make_day(rows=2000, batch={"rows": 20, "target": "1ms"},
                   retry=HASTY)
    day.tidemark.run("--max-batches", "2")
    ballast = small_disk / "ballast"
    fill_up(ballast)
    message = day.fails(expect=EXIT_ACCESS)
    assert "state.db" in message and "Make room" in message, message
    ballast.unlink()
    day.recovers()

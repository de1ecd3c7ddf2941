"""ClickHouse remembers batches, to know one that comes again. Meanwhile hands
may have changed their rows. A run that ends well has loaded what it says, and
no version twice.
"""

import re
import signal

import pytest

import workload
from bench import EXIT_ACCESS, EXIT_STATE
from clickhouse_items import MARK_IN, ROWS_IN, check, items
from servers import wait_for

__all__ = ["items"]  # a fixture


@pytest.mark.parametrize("where", ("id = 7", "id > 0"))
@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_rows_deleted_between_load_and_mark(tidemark, items, mode, where):
    """The server remembers batches, also those whose rows are gone."""
    source, destination = items(mode, rows=20, retry={"attempts": 1})
    destination.server.fault({"match": MARK_IN, "skip": 1, "do": "status",
                              "status": 500, "times": 100})
    tidemark.run(expect=EXIT_ACCESS)
    assert destination.query("SELECT count() FROM items") == [(20,)]
    destination.server.fault()
    destination.execute(f"DELETE FROM items_raw WHERE {where}")
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("mode", ("upsert", "append"))
@pytest.mark.parametrize("how", ("at once", "in two runs", "in two tries"))
def test_marks_and_rows_deleted(tidemark, items, mode, how):
    """As one begins anew who keeps the table; the run may be interrupted."""
    source, destination = items(mode, rows=60)
    tidemark.run()
    destination.execute("DROP TABLE _tidemark_watermark_raw SYNC",
                        "DROP TABLE _tidemark_watermark SYNC",
                        "DELETE FROM items_raw WHERE id > 0")
    if how == "in two runs":
        tidemark.run("--max-batches", "1")
    elif how == "in two tries":
        destination.server.fault({"match": ROWS_IN, "skip": 2, "do": "status",
                                  "status": 500})
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_older_marks_and_rows(tidemark, items, mode):
    """As of a backup: all behind it comes again."""
    source, destination = items(mode, rows=60)
    tidemark.run()
    destination.execute("DELETE FROM items_raw WHERE id > 20",
                        "ALTER TABLE _tidemark_watermark_raw DELETE WHERE "
                        "rows_total > 20 SETTINGS mutations_sync = 2")
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_rows_deleted_between_rounds(tidemark, items, mode):
    """One process loads the batch again and again, as its mark cannot be
    written; in between its rows are deleted."""
    source, destination = items(mode, rows=20, retry={"attempts": 1})
    destination.server.fault({"match": MARK_IN, "skip": 1, "do": "status",
                              "status": 500, "times": 100000})
    run = tidemark.start("run", "--watch", "500ms")

    def loaded():
        return "items" in destination.tables() and \
            destination.query("SELECT count() FROM items") == [(20,)]

    for _ in range(3):
        wait_for(loaded, step=0.05, what="the rows")
        destination.execute("DELETE FROM items_raw WHERE id > 0")
    destination.server.fault()
    wait_for(lambda: destination.query(
        "SELECT count() FROM _tidemark_watermark WHERE watermark IS NOT NULL"
    ) == [(1,)], step=0.05, what="the mark")
    run.signal(signal.SIGTERM)
    run.wait()
    check(source, destination)


LOOK_AGAIN = r"SELECT _tidemark_version[\s\S]*_tidemark_batch = "


def start_until_the_look(tidemark, destination, seconds):
    """A run behind its load, which has to wait before it may look whether that
    is there."""
    destination.server.forget()
    destination.server.fault({"match": LOOK_AGAIN, "do": "status",
                              "status": 503, "retry_after": str(seconds)})
    run = tidemark.start("run", "--json")
    wait_for(lambda: any(re.match(LOOK_AGAIN, sql) for sql in
                         destination.server.statements()), step=0.01,
             what="the look")
    return run


@pytest.mark.parametrize("successor", ("--full-refresh", "--deletes"))
def test_who_was_overtaken_does_not_send_again(tidemark, items, successor):
    """Paused behind its load and before it looks whether that is there, and its
    successor has taken the row out again."""
    source, destination = items("append", rows=20)
    tidemark.top["state"] = {"url": f"sqlite:{tidemark.dir}/state.db",
                             "lease": "3s"}
    tidemark.write_config().run()
    workload.fill_items(source, 21, 21)
    workload.settle(source)
    run = start_until_the_look(tidemark, destination, 3)
    run.signal(signal.SIGSTOP)
    assert destination.query("SELECT count() FROM items") == [(21,)]
    source.execute("DELETE FROM items WHERE id = 21")
    tidemark.long_lease()
    if successor == "--deletes":
        tidemark.run("--wait", "100s")
        tidemark("verify", "--repair", "--deletes", "apply", "--yes").expect(0)
    else:
        tidemark.run("--wait", "100s", successor)
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_STATE)
    check(source, destination)


def test_only_what_is_missing_is_sent_again(tidemark, items):
    source, destination = items("append", rows=20)
    tidemark.run()
    workload.fill_items(source, 21, 40)
    workload.settle(source)
    run = start_until_the_look(tidemark, destination, 2)
    destination.execute("DELETE FROM items_raw WHERE id IN (25, 26)")
    run.wait().expect(0)
    check(source, destination)
    assert destination.query("SELECT count() FROM items_raw") == [(40,)]


def test_repaired_rows_are_sent_once(tidemark, items):
    """Also where a column of the table prints its values in another way."""
    source, destination = items("append", rows=20)
    tidemark.run()
    destination.execute(
        "ALTER TABLE items_raw MODIFY COLUMN updated_at Nullable(DateTime64(6,"
        " 'Europe/Berlin')) SETTINGS mutations_sync = 2",
        "ALTER TABLE items_raw UPDATE name = 'wrong' WHERE id < 6 "
        "SETTINGS mutations_sync = 2")
    tidemark("verify", "--repair", "--yes").expect(0)
    assert destination.query("SELECT count() FROM items_raw") == [(25,)]

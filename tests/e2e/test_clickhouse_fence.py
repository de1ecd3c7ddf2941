"""Writers of ClickHouse are overtaken: stopped at whatever point, or killed
while the server still works for them. They put no older row over a newer one.
No transaction holds a batch and its mark there.
"""

import re
import signal

import pytest

import workload
from bench import EXIT_STATE, Tidemark, sync_items
from clickhouse_items import MARK_IN, ROWS_IN, check
from servers import wait_for

# The mark is before these.
BETWEEN = "'2024-04-01 00:00:00+00:00'"
LATER = "'2024-05-01 00:00:00+00:00'"
PAIRS = (("xmin", "upsert"), ("timestamp", "append"), ("xmin", "append"),
         ("timestamp", "upsert"))


@pytest.fixture
def make_items(failpoint_binary, work_dir, make_source, make_clickhouse):
    """A pipeline out of Postgres with a short lease, by the build with
    failpoints."""
    def make(strategy, mode, rows=20):
        tidemark = Tidemark(failpoint_binary, work_dir)
        source, destination = make_source("postgres"), make_clickhouse()
        workload.create_items(source, rows=rows)
        sync_items(tidemark, source, destination, strategy, mode,
                   retry={"attempts": 1})
        tidemark.top["state"] = {"url": f"sqlite:{tidemark.dir}/state.db",
                                 "lease": "3s"}
        tidemark.write_config()
        return tidemark, source, destination
    return make


def stop_at(tidemark, point):
    run = tidemark.start("run", "--json", failpoints=f"{point}=stop@1")
    wait_for(lambda: run.stopped() or not run.alive(), step=0.005, what=point)
    assert run.alive(), run.wait()
    return run


def take_over(destination):
    """As a later run does it, whose fencing token is higher."""
    destination.execute(
        "INSERT INTO _tidemark_watermark_raw SELECT * REPLACE (fence + 7 AS "
        "fence, _tidemark_version + 99 AS _tidemark_version) FROM "
        "_tidemark_watermark_raw FINAL")


def rename_all(source):
    """With a time before LATER, as by a transaction that was long."""
    source.execute(f"UPDATE items SET name = 'newer', updated_at = {BETWEEN}")


@pytest.mark.thinned(2)
@pytest.mark.parametrize("filled", (False, True), ids=("new", "filled"))
@pytest.mark.parametrize("point", ("mid_load", "before_merge"))
@pytest.mark.parametrize("strategy, mode", PAIRS)
def test_stopped_behind_its_look(make_items, strategy, mode, point, filled):
    """Its successor has loaded the same rows in newer versions."""
    tidemark, source, destination = make_items(strategy, mode)
    if filled:
        tidemark.run()
        source.execute(f"UPDATE items SET name = 'old', updated_at = {LATER}")
    run = stop_at(tidemark, point)
    rename_all(source)
    tidemark.long_lease().run("--wait", "100s")
    run.signal(signal.SIGCONT)
    said = run.wait().expect(EXIT_STATE)
    assert "lease of this run" in said.err or "taken over" in said.err
    check(source, destination)
    tidemark.run()
    check(source, destination)
    assert destination.query("SELECT count() FROM system.tables WHERE database "
                             "= currentDatabase() AND name LIKE "
                             "'%tidemark_stage%'") == [(0,)]


@pytest.mark.parametrize("strategy, mode", PAIRS[:2])
def test_mark_moves_behind_the_look(make_items, strategy, mode):
    """The condition is in the statement that loads: also when its table of the
    batch is still there."""
    tidemark, _, destination = make_items(strategy, mode)
    run = stop_at(tidemark, "before_merge")
    take_over(destination)
    run.signal(signal.SIGCONT)
    said = run.wait().expect(EXIT_STATE)
    assert "taken over" in said.err and "nothing was written" in said.err
    assert destination.query("SELECT count() FROM items_raw") == [(0,)]


@pytest.mark.parametrize("strategy, mode", PAIRS[:2])
def test_mark_moves_behind_the_rows(make_items, strategy, mode):
    """No transaction takes them back: the message says that they are there."""
    tidemark, _, destination = make_items(strategy, mode)
    run = stop_at(tidemark, "commit_sent")
    take_over(destination)
    run.signal(signal.SIGCONT)
    said = run.wait().expect(EXIT_STATE)
    assert "taken over" in said.err and "nothing was written" not in said.err
    assert "rows had been written" in said.err
    assert destination.query("SELECT count() FROM items_raw") == [(20,)]


@pytest.mark.parametrize("strategy, mode", PAIRS[:3])
def test_statement_outlives_its_client(make_items, strategy, mode):
    """The server works on for who was killed; its successor waits for that
    before it looks at the table."""
    tidemark, source, destination = make_items(strategy, mode)
    destination.server.forget()
    destination.server.fault({"match": ROWS_IN, "do": "slow", "each": 0.1})
    run = tidemark.start("run")
    wait_for(lambda: any(re.match(ROWS_IN, sql) for sql in
                         destination.server.statements()), step=0.01,
             what="the statement")
    run.kill()
    assert destination.query("SELECT count() FROM items_raw") == [(0,)]
    rename_all(source)
    tidemark.long_lease().run("--wait", "100s")
    check(source, destination)
    marks = [sql for sql in destination.server.statements()
             if re.match(MARK_IN, sql)]
    assert len(marks) > 1
    tidemark.run()
    check(source, destination)


DURABLE = "SELECT count() FROM system.tables WHERE database = " \
    "currentDatabase() AND engine LIKE '%MergeTree' AND engine_full LIKE " \
    "'%fsync_after_insert = 1, fsync_part_directory = 1%'"


@pytest.mark.parametrize("mode", ("upsert", "append", "replace"))
def test_rows_are_on_the_disk_before_their_mark(make_items, mode):
    """Also in tables that were made without that."""
    tidemark, source, destination = make_items("timestamp", mode)
    tidemark.run()
    assert destination.query(DURABLE) == [(2,)]
    for table in ("items_raw", "_tidemark_watermark_raw"):
        destination.execute(f"ALTER TABLE {table} RESET SETTING "
                            "fsync_after_insert, fsync_part_directory")
    assert destination.query(DURABLE) == [(0,)]
    tidemark.run()
    assert destination.query(DURABLE) == [(2,)]
    check(source, destination)


@pytest.mark.parametrize("step", (1, 2))
@pytest.mark.parametrize("strategy, mode", PAIRS[:2])
def test_killed_behind_a_new_column(make_items, strategy, mode, step):
    """The next run may find the column there. It reads all rows for it anyway,
    because the mark was forgotten before."""
    tidemark, source, destination = make_items(strategy, mode)
    tidemark.run()
    source.execute("ALTER TABLE items ADD COLUMN extra int DEFAULT 5")
    workload.settle(source)
    tidemark.start("run", failpoints=f"mid_alter=kill@{step}").wait().expect(-9)
    tidemark.run()
    assert destination.query("SELECT DISTINCT extra FROM items") == [(5,)]
    check(source, destination)

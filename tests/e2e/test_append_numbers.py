"""Mode append: the rows of a raw table are numbered, and the highest number of
a key is what its view shows. A backfill and a run that is under way number the
rows of one table side by side.
"""

import os
import signal

import pytest

import oracle
import workload
from bench import sync_items
from servers import wait_for

ENGINES = ("postgres", "mysql", "sqlite", "clickhouse", "bigquery")


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_go_on_behind_a_backfill(tidemark, source, make_destination,
                                         engine):
    """The run has looked at its mark before the chunk ends, and loads behind
    it; what changes later is the newest all the same."""
    destination = make_destination(engine)
    pause = os.path.join(tidemark.dir, "pause")

    def sync(**settings):
        sync_items(tidemark, source, destination, "timestamp", "append",
                   **settings)

    workload.create_items(source, rows=300)
    sync()
    tidemark.run()
    workload.change_items(source, "id > 295")
    workload.settle(source)
    sync(pace={"pause_file": pause})
    with open(pause, "w", encoding="ascii"):
        held = tidemark.start("run", "--json")
    wait_for(lambda: "held" in held.text["err"].decode(), 20,
             what="a run that is held")
    sync()
    source.execute("UPDATE items SET name = 'silent' WHERE id <= 200")
    tidemark("backfill", "items", "--to", "2024-06-01").expect(0)
    os.unlink(pause)
    held.wait(60).expect(0)
    for _ in range(2):
        workload.change_items(source, "id > 180 AND id <= 200")
        workload.settle(source)
        assert tidemark.run().pipeline()["rows_inserted"] == 20
        oracle.check_equal(source, destination, "items",
                           f"{destination.schema}.items", oracle.ITEMS)
    tidemark("verify").expect(0)


@pytest.mark.parametrize("engine", ("clickhouse", "bigquery"))
def test_backfill_between_look_and_mark(tidemark_failpoints, source,
                                        make_destination, engine):
    """The run knows where its mark stands; the chunk raises the number of rows
    before it moves it. Both end well."""
    tidemark, destination = tidemark_failpoints, make_destination(engine)
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, destination, "timestamp", "append")
    tidemark.run()
    workload.change_items(source, "id > 295")
    workload.settle(source)
    run = tidemark.start("run", "--json", failpoints="before_merge=stop@1")
    wait_for(run.stopped, 30, what="a run that has looked at its mark")
    source.execute("UPDATE items SET name = 'silent' WHERE id <= 200")
    tidemark("backfill", "items", "--to", "2024-06-01").expect(0)
    run.signal(signal.SIGCONT)
    run.wait(60).expect(0)
    workload.change_items(source, "id > 180 AND id <= 200")
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_inserted"] == 20
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", oracle.ITEMS)

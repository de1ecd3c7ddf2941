"""Mode append: the rows of a raw table are numbered, and the highest number of
a key is what its view shows. A backfill and a run that is under way number the
rows of one table side by side.
"""

import os
import re
import signal

import pytest

import oracle
import workload
from bench import sync_items
from clickhouse_items import MARK_IN
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
    wait_for(lambda: "held" in held.text["err"].decode(),
             what="a run that is held")
    sync()
    source.execute("UPDATE items SET name = 'silent' WHERE id <= 200")
    tidemark("backfill", "items", "--to", "2024-06-01").expect(0)
    os.unlink(pause)
    held.wait().expect(0)
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
    wait_for(run.stopped, what="a run that has looked at its mark")
    source.execute("UPDATE items SET name = 'silent' WHERE id <= 200")
    tidemark("backfill", "items", "--to", "2024-06-01").expect(0)
    run.signal(signal.SIGCONT)
    run.wait().expect(0)
    workload.change_items(source, "id > 180 AND id <= 200")
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_inserted"] == 20
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", oracle.ITEMS)


def test_mark_moves_while_it_is_raised(tidemark, source, make_clickhouse):
    """A chunk of a backfill hands its numbers on to a mark that a run moves in
    that moment: the chunk looks again."""
    destination = make_clickhouse()
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, destination, "timestamp", "append")
    tidemark.run()
    source.execute("UPDATE items SET name = 'silent' WHERE id <= 200")
    workload.change_items(source, "id > 295")
    workload.settle(source)
    raises = MARK_IN + r"[^)]*\)\s+SELECT 'items'"
    destination.server.forget()
    destination.server.fault({"match": raises, "do": "hold"})
    backfill = tidemark.start("backfill", "items", "--to", "2024-06-01")
    wait_for(lambda: any(re.match(raises, sql) for sql in
                         destination.server.statements()), step=0.02,
             what="a chunk that ends")
    assert tidemark.run().pipeline()["rows_inserted"] == 5
    assert backfill.alive(), backfill.wait()
    destination.server.fault()
    assert "another attempt" not in backfill.wait().expect(0).err
    workload.change_items(source, "id > 180 AND id <= 200")
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_inserted"] == 20
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", oracle.ITEMS)

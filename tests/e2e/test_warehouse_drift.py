"""ClickHouse and BigQuery, where no ALTER is part of a transaction: a key whose
type changes at the source, a target that somebody alters while a run loads."""

import re
import signal

import pytest

import oracle
import workload
from bad_days import WAREHOUSES
from bench import EXIT_ACCESS, EXIT_OK, EXIT_SCHEMA, sync_items
from oracle import check_items
from servers import wait_for

ROWS = 300
MODES = ("upsert", "append", "delete_insert")


def picture(end):
    return (sorted(end.rows("items", {"id": "int", "name": "text"})),
            end.query("SELECT watermark, batch_id FROM _tidemark_watermark"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("engine", WAREHOUSES)
def test_type_of_a_key_changes(tidemark, source, make_destination, engine,
                               mode):
    """Said with its column before a row moves; a refresh makes it anew."""
    end = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, end, "timestamp", mode)
    tidemark.run()
    before = picture(end)
    source.execute("ALTER TABLE items ALTER id DROP IDENTITY IF EXISTS",
                   "ALTER TABLE items ALTER id TYPE text")
    workload.touch_items(source, "seq % 2 = 0", "items")
    workload.settle(source)
    for command in ("check", "run"):
        done = tidemark(command, "--json").expect(EXIT_SCHEMA)
        assert re.search(r"column \W*id\b", done.out), done
    assert done.pipeline()["rows_read"] == 0
    assert picture(end) == before
    tidemark.run("--full-refresh")
    oracle.check_equal(source, end, "items", f"{end.schema}.items",
                       {**oracle.ITEMS, "id": "text"})


def alter(end, mode, how):
    """What somebody does to it by hand."""
    table = "items_raw" if mode == "append" else "items"
    if how == "drop":
        end.execute(f"ALTER TABLE {table} DROP COLUMN name")
    else:
        end.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * EXCEPT "
                    f"(quantity), DATE '2024-01-01' AS quantity FROM {table}")


@pytest.mark.parametrize("how", ("drop", "type"))
@pytest.mark.parametrize("mode", MODES)
def test_target_is_altered_while_a_run_loads(tidemark_failpoints, source,
                                             make_destination, mode, how):
    """Between two batches: the second is refused, with neither its rows nor
    its mark; and the next run, or a refresh, brings everything."""
    tidemark = tidemark_failpoints
    end = make_destination("bigquery")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, end, "timestamp", mode, batch={"rows": 100},
               on_bad_row="dead_letter")
    run = tidemark.start("run", "--json", failpoints="before_merge=stop@2")
    wait_for(run.stopped, 60, 0.01, "the second batch")
    alter(end, mode, how)
    mark = end.query("SELECT watermark, batch_id FROM _tidemark_watermark")
    run.signal(signal.SIGCONT)
    done = run.wait().expect(EXIT_SCHEMA)
    message = done.pipeline()["error"]["message"]
    assert ("name" if how == "drop" else "quantity") in message, message
    assert (done.pipeline()["rows_inserted"],
            done.pipeline()["rows_dead_lettered"]) == (100, 0)
    assert end.query("SELECT watermark, batch_id FROM "
                     "_tidemark_watermark") == mark
    again = tidemark("run", "--json")
    if how == "type":
        again.expect(EXIT_SCHEMA)
        tidemark.run("--full-refresh")
    else:
        again.expect(EXIT_OK)
    check_items(source, end)


def test_refresh_that_cannot_begin(tidemark, source, make_destination):
    """It does not stand in anybody's way: ClickHouse's is among its own."""
    end = make_destination("bigquery")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, end, "timestamp")
    tidemark.run()
    end.front.faults({"match": "DELETE .*/tables/", "kind": "status",
                      "status": 403, "reason": "accessDenied",
                      "message": "planted", "times": 1000})
    tidemark.run("--full-refresh", expect=EXIT_ACCESS)
    (batch,), = end.query("SELECT batch_id FROM _tidemark_watermark")
    assert batch.startswith("left-refresh-"), batch
    end.front.faults()
    tidemark.run()
    check_items(source, end)

"""ClickHouse and BigQuery, where no ALTER is part of a transaction. A key
changes its type at the source, and somebody alters a target while a run
loads."""

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


# Changes that somebody makes to a table by hand, and the run's exit code.
ALTERATIONS = {
    "drop": (["ALTER TABLE {t} DROP COLUMN name"], EXIT_OK),
    "again": (["ALTER TABLE {t} DROP COLUMN name",
               "ALTER TABLE {t} ADD COLUMN name STRING"], EXIT_OK),
    "anew": (["CREATE OR REPLACE TABLE {t} AS SELECT * FROM {t} "
              "WHERE id > 50"], EXIT_OK),
    "type": (["CREATE OR REPLACE TABLE {t} AS SELECT * EXCEPT (quantity), "
              "DATE '2024-01-01' AS quantity FROM {t}"], EXIT_SCHEMA),
    "emptied": (["DELETE FROM {t} WHERE TRUE"], EXIT_SCHEMA),
}


def alter(tidemark, end, mode, how, failpoint):
    """Do it while a run waits at the failpoint; how the run ended."""
    statements, code = ALTERATIONS[how]
    table = "items_raw" if mode == "append" else "items"
    run = tidemark.start("run", "--json", failpoints=failpoint)
    wait_for(run.stopped, step=0.01, what="the failpoint")
    end.execute(*(each.format(t=table) for each in statements))
    run.signal(signal.SIGCONT)
    done = run.wait().expect(code)
    assert "was altered while the run loaded it" in done.err, done
    assert done.pipeline()["rows_dead_lettered"] == 0, done
    return done


def check_again(tidemark, source, end, how, done):
    """The next run, or a refresh, brings everything."""
    if how == "type":
        assert "column quantity" in done.pipeline()["error"]["message"], done
    elif how == "emptied":
        assert "it is empty, but" in done.pipeline()["error"]["message"], done
    else:
        tidemark("run", "--json").expect(EXIT_OK)
        check_items(source, end)
        return
    tidemark("run", "--json").expect(EXIT_SCHEMA)
    tidemark.run("--full-refresh")
    check_items(source, end)


def prepare(source, tidemark, end, mode):
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, end, "timestamp", mode, batch={"rows": 100},
               on_bad_row="dead_letter",
               retry={"attempts": 3, "backoff": "10ms"})


@pytest.mark.thinned(2)
@pytest.mark.parametrize("how", ALTERATIONS)
@pytest.mark.parametrize("mode", MODES)
def test_target_is_altered_while_a_run_loads(tidemark_failpoints, source,
                                             make_destination, mode, how):
    """Between two batches: the second is not written, and the run looks at
    the table anew. If rows lost values, all are read again."""
    end = make_destination("bigquery")
    prepare(source, tidemark_failpoints, end, mode)
    done = alter(tidemark_failpoints, end, mode, how, "before_merge=stop@2")
    check_again(tidemark_failpoints, source, end, how, done)


@pytest.mark.parametrize("how", ("again", "anew"))
def test_target_is_altered_before_the_first_batch(tidemark_failpoints, source,
                                                  make_destination, how):
    """After the run has looked at it: the rows of the run before count."""
    end = make_destination("bigquery")
    prepare(source, tidemark_failpoints, end, "upsert")
    tidemark_failpoints.run()
    workload.touch_items(source, "seq % 2 = 0", "items")
    workload.settle(source)
    done = alter(tidemark_failpoints, end, "upsert", how,
                 "stage_created=stop@1")
    check_again(tidemark_failpoints, source, end, how, done)


def test_table_is_altered_that_a_refresh_replaces(tidemark_failpoints, source,
                                                  make_destination):
    """The column that somebody adds meanwhile is not lost."""
    end = make_destination("bigquery")
    prepare(source, tidemark_failpoints, end, "upsert")
    tidemark_failpoints.run()
    run = tidemark_failpoints.start("run", "--full-refresh", "--json",
                                    failpoints="before_merge=stop@4")
    wait_for(run.stopped, step=0.01, what="the swap")
    end.execute("ALTER TABLE items ADD COLUMN more INT64")
    run.signal(signal.SIGCONT)
    assert "was altered while" in run.wait().expect(EXIT_OK).err
    assert "more" in end.columns_of("items")
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

"""A backfill in a whole Airflow: planned, fanned out, killed, equal."""

import hashlib
import json

import pytest

import workload
from bench import PASSWORD_VARIABLE, sync_items
from oracle import check_items
from real import RealAirflow, kill_task, programs
from servers import CANARY, wait_for

ASSET = "postgres://warehouse/items"
DAG = """
from datetime import timedelta
from airflow.sdk import DAG, Asset, task
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow_provider_tidemark.backfill import tidemark_backfill
from airflow_provider_tidemark.hook import TidemarkHook

asset = Asset({asset!r})

with DAG("fanned_out", schedule="@once"):
    @task
    def tell_all():
        hook = TidemarkHook()
        hook.log.info("variables %s", hook.env)

    tell_all() >> tidemark_backfill(
        pipeline="items", chunk_rows={rows}, asset=asset, retries=9,
        retry_delay=timedelta(0), deferrable={wait}, busy_delay=1,
        verify_since="1")

with DAG("after", schedule=[asset]):
    EmptyOperator(task_id="consume")
"""


@pytest.fixture
def make_airflow(make_database, work_dir, tidemark, installed):
    """An Airflow with the DAG above, over the test's config."""
    made = []

    def make(rows, wait=False, **settings):
        airflow = RealAirflow(
            make_database("airflow"), work_dir / "airflow", installed,
            json.dumps({"conn_type": "tidemark", "extra": json.dumps({
                "binary": tidemark.binary, "config": tidemark.config,
                "env": {PASSWORD_VARIABLE: CANARY}})}), **settings)
        (airflow.home / "dags/dags.py").write_text(
            DAG.format(asset=ASSET, rows=rows, wait=wait))
        made.append(airflow)
        return airflow

    yield make
    for airflow in made:
        airflow.stop()


def damage(tidemark, source, destination, make_database, rows):
    """A table that only a backfill mends. Several machines share the store."""
    workload.create_items(source, rows=rows)
    sync_items(tidemark, source, destination, "sequence",
               batch={"rows": 20})
    tidemark.top["state"] = {**make_database("state").connection(),
                             "lease": "60s"}
    tidemark.write_config().run()
    destination.execute("UPDATE items SET quantity = 99 WHERE id % 3 = 0")


def test_fanned_out(make_airflow, make_database, tidemark, source):
    """Four tasks, one of them killed while it loads."""
    destination = make_database("warehouse")
    damage(tidemark, source, destination, make_database, 400)
    airflow = make_airflow(rows=100, CORE__PARALLELISM="4")
    with destination.connect(autocommit=False) as lock:
        lock.execute("LOCK TABLE items IN SHARE MODE")
        airflow.start()
        scheduler = airflow.running["scheduler"].pid
        found = wait_for(lambda: all_of(programs(scheduler), 4), step=0.5,
                         what="four tasks")
        killed = sorted(found)[1]
        kill_task(found[killed])
        lock.commit()
    assert wait_for(lambda: airflow.ended("fanned_out"), step=0.5,
                    what="the DAG's run") == "success", \
        airflow.states("fanned_out")
    check_items(source, destination)
    chunks = airflow.xcoms("fanned_out", "backfill.chunk")
    assert {each["chunk_id"]: each["state"] for each in chunks.values()} == \
        dict.fromkeys(found, "done")
    assert {chunks[index]["chunk_id"]: tries > 1 for index, tries in
            airflow.tries("fanned_out", "backfill.chunk").items()} == {
        name: name == killed for name in found}
    told = airflow.xcoms("fanned_out", "backfill.finish")[-1]
    assert (told["chunks_done"], told["rows_backfilled"]) == (4, 400)
    assert told["equal"] is True and told["verified"]["compared"] == 400
    event, = airflow.events(ASSET)
    assert (event["rows"], event["mark"], event["pipeline"]) == (
        400, "400", "items")
    assert wait_for(lambda: airflow.ended("after"), step=0.5,
                    what="the asset's reader") == "success"
    said = airflow.log("fanned_out")
    assert "airflow-provider-tidemark" in airflow.providers()
    assert PASSWORD_VARIABLE in said and "***" in said
    assert CANARY not in said and f"{killed}: done" in said


def all_of(found, n):
    return len(found) == n and found


def digest(end):
    """A sum over all rows, as the server itself writes them."""
    told = hashlib.sha256()
    with end.connect() as db, db.cursor() as cursor, cursor.copy(
            "COPY (SELECT * FROM items ORDER BY id) TO STDOUT") as rows:
        for piece in rows:
            told.update(piece)
    return told.hexdigest()


@pytest.mark.only_full
def test_a_million_rows(make_airflow, make_database, tidemark, source):
    """16 tasks. Somebody else has the first one's chunk, two are killed by
    SIGKILL, and so is the scheduler."""
    destination = make_database("warehouse")
    damage(tidemark, source, destination, make_database, 1_000_000)
    names = [each["chunk_id"] for each in tidemark(
        "backfill", "items", "--queue", "--chunk-rows", "62500",
        "--json").json()["chunks"]]
    assert len(names) == 16
    airflow = make_airflow(rows=62500, wait=True, CORE__PARALLELISM="4",
                           SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL="20")
    with destination.connect(autocommit=False) as lock:
        lock.execute("LOCK TABLE items IN SHARE MODE")
        holder = tidemark.start("worker", "--chunk", names[0])
        wait_for(lambda: destination.query(
            "SELECT 1 FROM pg_locks WHERE NOT granted"), what="its first batch")
        airflow.start("triggerer")
        wait_for(lambda: "deferred" in airflow.states("fanned_out").values(),
                 step=0.5, what="a task that waits")
        scheduler = airflow.running["scheduler"].pid
        found = wait_for(lambda: all_of(programs(scheduler), 4), step=0.5,
                         what="four tasks")
        for killed in sorted(found)[:2]:
            kill_task(found[killed])
        airflow.kill_alone("scheduler")
        holder.kill()
        lock.commit()
    airflow.begin("scheduler")
    assert wait_for(lambda: airflow.ended("fanned_out"), step=1,
                    what="the DAG's run") == "success", \
        airflow.states("fanned_out")
    assert digest(source) == digest(destination)
    chunks = list(airflow.xcoms("fanned_out", "backfill.chunk").values())
    assert sorted(each["chunk_id"] for each in chunks) == sorted(names)
    assert sum(each["rows"] for each in chunks) == 1_000_000
    assert all(each["verified"] and each["state"] == "done"
               for each in chunks)
    told = airflow.xcoms("fanned_out", "backfill.finish")[-1]
    assert (told["chunks_done"], told["equal"]) == (16, True)
    event, = airflow.events(ASSET)
    assert (event["rows"], event["mark"]) == (1_000_000, "1000000")

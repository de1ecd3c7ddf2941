"""A backfill in pieces: planned, one chunk a task, finished."""

import threading

import pytest

import workload
from airflow.sdk import Asset
from airflow_provider_tidemark.backfill import (TidemarkBackfillOperator,
                                                TidemarkChunkOperator,
                                                TidemarkFinishBackfillOperator,
                                                TidemarkPlanBackfillOperator)
from airflow_provider_tidemark.operators import FAILED_KEY
from bench import sync_items
from oracle import check_items
from servers import wait_for


@pytest.fixture
def damaged(tidemark_failpoints, source, make_destination):
    """90 rows that only a backfill mends; chunks of 30."""
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    workload.create_items(source, rows=90)
    sync_items(tidemark, source, destination, "sequence", batch={"rows": 10})
    tidemark.top["state"] = {"url": tidemark.top["state"], "lease": "1s"}
    tidemark.write_config().run()
    destination.execute("UPDATE items SET quantity = 99 WHERE id % 3 = 0")
    tidemark.destination = destination
    return tidemark


@pytest.fixture
def ids(airflow, damaged):
    return airflow(TidemarkPlanBackfillOperator, pipeline="items",
                   chunk_rows=30).expect("success").returned


def test_planned_loaded_finished(airflow, damaged, source, ids):
    assert len(ids) == 3
    for chunk in ids:
        told = airflow(TidemarkChunkOperator, chunk="{{ id }}",
                       context={"id": chunk}).expect("success").returned
        assert (told["rows"], told["state"], told["attempts"]) == (
            30, "done", 1)
    asset = Asset("postgres://warehouse/items")
    ended = airflow(TidemarkFinishBackfillOperator, pipeline="{{ name }}",
                    chunks=ids, assets={"*": asset},
                    context={"name": "items"}).expect("success")
    told = ended.returned
    assert (told["chunks_done"], told["rows_backfilled"], told["not_done"]) \
        == (3, 90, [])
    assert told["equal"] is True and told["verified"]["compared"] == 90
    extra = ended.event(asset)
    assert (extra["rows"], extra["mark"]) == (90, "90")
    check_items(source, damaged.destination)
    # Airflow tries again where the answer was lost.
    for chunk in ids:
        again = airflow(TidemarkChunkOperator, chunk=chunk).expect("success")
        assert again.returned["attempts"] == 1
    assert airflow(TidemarkPlanBackfillOperator, pipeline="items",
                   chunk_rows=30).returned == ids


def test_in_one_task(airflow, damaged, source):
    asset = Asset("postgres://warehouse/items")
    ended = airflow(TidemarkBackfillOperator, pipeline="items", workers=2,
                    chunk_rows="30", from_value="{{ first }}", to_value="61",
                    assets={"items": asset}, context={"first": "31"})
    assert ended.expect("success").returned["chunks_done"] == 1
    assert ended.event(asset)["rows"] == 30
    rest = airflow(TidemarkBackfillOperator, pipeline="items")
    assert rest.expect("success").returned["rows_backfilled"] == 90
    check_items(source, damaged.destination)


def test_a_chunk_that_fails_for_good(airflow, damaged, source, ids):
    """The others go on, and the end says which one it was."""
    damaged.destination.execute(
        "ALTER TABLE items ADD CONSTRAINT poison CHECK (id <> 42) NOT VALID")
    states = [airflow(TidemarkChunkOperator, chunk=chunk) for chunk in ids]
    assert [each.state for each in states] == ["success", "failed", "success"]
    assert states[1].pushed[FAILED_KEY]["error_code"] == "data"
    end = airflow.operator(TidemarkFinishBackfillOperator, pipeline="items",
                           chunks=ids)
    ended = airflow.run(end).expect("failed")
    assert "1 of 3 chunks of items are not done" in str(ended.why)
    assert ids[1] in str(ended.why) and "poison" in str(ended.why)
    assert ids[0] not in str(ended.why)
    assert [each["chunk_id"] for each in
            ended.pushed[FAILED_KEY]["not_done"]] == [ids[1]]
    damaged.destination.execute("ALTER TABLE items DROP CONSTRAINT poison")
    airflow(TidemarkChunkOperator, chunk=ids[1]).expect("success")
    airflow.run(end).expect("success")
    check_items(source, damaged.destination)


def test_the_end_does_not_trust_success_alone(airflow, damaged, ids):
    """Chunks that nobody loaded, and one that the store does not know."""
    for chunk in ids[1:]:
        airflow(TidemarkChunkOperator, chunk=chunk).expect("success")
    ended = airflow(TidemarkFinishBackfillOperator, pipeline="items",
                    chunks=[*ids, "items/gone/1"]).expect("failed")
    assert f"{ids[0]}: queued" in str(ended.why)
    assert "items/gone/1: unknown: it is no longer in the store" in str(
        ended.why)


def test_no_plan_is_no_success(airflow, damaged):
    """The end runs whatever became of the plan, and the DAG's state is its."""
    end = airflow.operator(TidemarkFinishBackfillOperator, pipeline="items",
                           chunks=None)
    for states in ({}, {"plan": "failed", "chunk": "upstream_failed"},
                   {"plan": "success", "chunk": "skipped"}):
        ended = airflow.run(end, states=states).expect("failed")
        assert "the task that plans the backfill has failed" in str(ended.why)
    # A branch above has chosen another way.
    airflow.run(end, states={"plan": "skipped",
                             "chunk": "skipped"}).expect("skipped")


def test_a_zombie_wakes_after_its_chunk_was_taken_over(
        airflow, damaged, source, ids, connect):
    """The fence refuses it, and its task waits and finds the chunk done."""
    zombie = airflow.operator(TidemarkChunkOperator, chunk=ids[0],
                              env={"TIDEMARK_FAILPOINTS": "mid_load=stop@1"})
    ended = []
    thread = threading.Thread(
        target=lambda: ended.append(airflow.run(zombie)))
    thread.start()
    process = wait_for(lambda: zombie._hook and zombie._hook.process,
                       what="the zombie's process").process
    wait_for(lambda: stopped(process.pid), what="its first batch")
    other = airflow.operator(TidemarkChunkOperator, chunk=ids[0])
    done = wait_for(lambda: taken_over(airflow, other), what="its lease")
    assert (done.returned["state"], done.returned["attempts"]) == ("done", 2)
    process.send_signal(18)
    thread.join()
    late = ended[0].expect("deferred")
    zombie.env = None
    again = airflow.run(zombie, resume=late).expect("success")
    assert again.returned["attempts"] == 2
    for chunk in ids[1:]:
        airflow(TidemarkChunkOperator, chunk=chunk).expect("success")
    check_items(source, damaged.destination)


def stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def taken_over(airflow, operator):
    """Deferred while the lease of the other lasts."""
    ended = airflow.run(operator)
    assert ended.state in ("deferred", "success")
    return ended.state == "success" and ended


def test_more_chunks_than_airflow_maps(airflow, damaged, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__MAX_MAP_LENGTH", "2")
    ended = airflow(TidemarkPlanBackfillOperator, pipeline="items",
                    chunk_rows=30).expect("failed")
    assert "give a larger chunk_rows than 30" in str(ended.why)
    # The message's ways out. Without one the chunks stay as they were cut.
    larger = airflow.operator(TidemarkPlanBackfillOperator, pipeline="items",
                              chunk_rows=60)
    airflow.run(larger).expect("failed")
    assert "tidemark backfill items --cancel" in str(ended.why)
    damaged("backfill", "items", "--cancel").expect(0)
    assert len(airflow.run(larger).expect("success").returned) == 2
    larger.chunk_rows, larger.again = 90, True
    assert len(airflow.run(larger).expect("success").returned) == 1


def test_a_window_without_rows(airflow, damaged):
    """Airflow skips the chunks' task then. The end is green, and says why."""
    plan = airflow(TidemarkPlanBackfillOperator, pipeline="items",
                   from_value="1000", to_value="2000").expect("success")
    assert plan.returned == []
    assert "there are no rows in this window" in plan.log
    end = airflow(TidemarkFinishBackfillOperator, pipeline="items",
                  chunks=plan.returned, since="1000", verify=False)
    assert end.expect("success").returned["chunks"] == 0
    assert "there were no rows in its window" in end.log

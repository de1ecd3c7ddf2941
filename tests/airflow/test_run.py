"""TidemarkRunOperator and TidemarkVerifyOperator: what each exit code does."""

import contextlib
import os

import pytest

import workload
from airflow.sdk import Asset
from airflow_provider_tidemark.operators import (FAILED_KEY,
                                                 TidemarkRunOperator,
                                                 TidemarkVerifyOperator)
from bench import EXIT_OK, items_settings, sync_items
from oracle import check_items
from servers import wait_for


@pytest.fixture
def items(tidemark_failpoints, source, make_destination):
    """A pipeline of 50 rows that has not run yet."""
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "sequence", batch={"rows": 10})
    tidemark.destination = destination
    return tidemark


def test_a_run_tells_counts_marks_and_assets(airflow, items, source):
    asset = Asset("postgres://warehouse/items")
    ended = airflow(TidemarkRunOperator, pipelines="{{ wanted }}",
                    assets={"items": asset}, asset_alias="all",
                    context={"wanted": "items"}).expect("success")
    check_items(source, items.destination)
    told = ended.returned
    assert (told["rows_read"], told["rows_inserted"]) == (50, 50)
    pipeline, = told["pipelines"]
    assert pipeline["mark"]["value"] == "50"
    assert "shape" not in pipeline["mark"] and told["left_out"] == 0
    extra = ended.event(asset)
    assert (extra["rows"], extra["mark"], extra["guarantee"]) == (
        50, "50", "exact")
    alias = ended.events[airflow.operators[0].asset_alias]
    assert [each.dest_asset_key.uri for each in alias.asset_alias_events] == [
        asset.uri]
    assert "50 rows read" in ended.log


def test_nothing_new_is_no_event_of_an_alias(airflow, items):
    items.run()
    ended = airflow(TidemarkRunOperator, asset_alias="all").expect("success")
    assert ended.returned["rows_read"] == 0
    alias = ended.events[airflow.operators[0].asset_alias]
    assert alias.asset_alias_events == []


@contextlib.contextmanager
def held(tidemark, *words):
    """Another process has the pipelines, and stands still. It is killed in any
    case: a server waits for a client that stands."""
    holder = tidemark.start("run", *words, failpoints="mid_load=stop@1")
    try:
        wait_for(holder.stopped, what="its first batch")
        yield
    finally:
        holder.kill()


def test_another_process_has_it(airflow, items, source):
    """The task waits in the triggerer, and then does the work."""
    task = airflow.operator(TidemarkRunOperator)
    with held(items):
        waiting = airflow.run(task).expect("deferred")
        assert waiting.why.method_name == "resume"
        name, words = waiting.why.trigger.serialize()
        assert name.endswith("trigger.TidemarkBusyTrigger")
        assert words == {"seconds": 30}
        again = airflow.run(task, resume=waiting).expect("deferred")
        assert again.why.kwargs == waiting.why.kwargs  # since the first look
        task.busy_timeout = 1e-9
        late = airflow.run(task, resume=again).expect("failed")
        assert "busy_timeout" in str(late.why)
        assert late.pushed[FAILED_KEY]["exit_code"] == 6
        task.deferrable = False
        airflow.run(task).expect("retry")
    airflow.run(task, resume=again).expect("success")
    check_items(source, items.destination)


CASES = {
    "config": ({"source": {"connection": "none", "table": "items"}}, "failed"),
    "schema": ({"watermark": {"strategy": "sequence", "column": "gone"}},
               "failed"),
}


@pytest.mark.parametrize("case", CASES)
def test_errors_that_stay(airflow, items, case):
    change, state = CASES[case]
    items.pipelines["items"].update(change)
    items.write_config()
    ended = airflow(TidemarkRunOperator).expect(state)
    assert "exit code" in str(ended.why)


def test_a_row_is_refused(airflow, items, source):
    """The counts of a task that fails are an XCom all the same."""
    items.run()
    items.destination.execute(
        "ALTER TABLE items ADD CONSTRAINT poison CHECK (id <> 55) NOT VALID")
    workload.fill_items(source, 51, 60)
    ended = airflow(TidemarkRunOperator).expect("failed")
    assert "poison" in str(ended.why) and "a row is refused" in str(ended.why)
    pipeline, = ended.pushed[FAILED_KEY]["pipelines"]
    assert pipeline["error"]["code"] == "data"


def test_a_server_is_away(airflow, items):
    items.connections["warehouse"] = "postgresql://app@127.0.0.1:1/none"
    items.write_config()
    ended = airflow(TidemarkRunOperator).expect("retry")
    assert "exit code 3" in str(ended.why)


def test_one_error_that_may_pass_among_those_that_stay(airflow, items, source):
    """Whatever the order of the config, the other pipelines get their try."""
    broken = items_settings(source, items.destination, "sequence",
                            to="public.other")
    broken["watermark"]["column"] = "gone"
    items.pipelines = {"broken": broken, **items.pipelines}
    items.write_config()
    airflow(TidemarkRunOperator).expect("failed")
    with held(items, "items", "--full-refresh"):
        airflow(TidemarkRunOperator).expect("deferred")
        airflow(TidemarkRunOperator, deferrable=False).expect("retry")


def test_differences(airflow, items, source):
    items.run()
    items.destination.execute("UPDATE items SET quantity = 99 WHERE id = 7",
                              "DELETE FROM items WHERE id = 9")
    ended = airflow(TidemarkVerifyOperator, pipelines=["items"])
    ended.expect("failed")
    told = ended.pushed[FAILED_KEY]
    assert (told["missing"], told["different"]) == (1, 1)
    assert len(told["pipelines"][0]["examples"]) == 2
    part = airflow(TidemarkVerifyOperator, since="{{ mark }}",
                   context={"mark": "20"}).expect("success")
    assert part.returned["compared"] == 31
    asset = Asset("postgres://warehouse/items")
    mended = airflow(TidemarkVerifyOperator, repair=True,
                     assets={"items": asset}).expect("success")
    assert mended.returned["repaired"] == 2
    assert mended.event(asset)["rows"] == 2
    check_items(source, items.destination)
    assert items("verify", "-q").code == EXIT_OK


def test_words_are_no_flags(airflow, items):
    """A rendered value cannot become another flag or another command."""
    for bad in ("--full-refresh", "-h", "$(id)"):
        ended = airflow(TidemarkRunOperator, pipelines="{{ it }}",
                        context={"it": bad}).expect("failed")
        assert f'no pipeline "{bad}"' in str(ended.why)
    assert not os.path.exists(items.state_file)
    with pytest.raises(ValueError, match="report"):
        airflow.operator(TidemarkVerifyOperator, deletes="all")
    with pytest.raises(ValueError, match="busy_delay"):
        airflow.operator(TidemarkRunOperator, busy_delay=0)

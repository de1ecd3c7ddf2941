"""Events of assets: none is lost where a task waits or is tried again."""

import pytest

import workload
from airflow.sdk import Asset
from airflow_provider_tidemark.operators import (TidemarkRunOperator,
                                                 TidemarkVerifyOperator)
from bench import items_settings, sync_items
from oracle import check_items
from servers import wait_for

WAREHOUSE = Asset("postgres://warehouse/all")


@pytest.fixture
def two(tidemark_failpoints, source, make_destination):
    """Pipelines of 20 rows. One has a name that no URI takes as it is."""
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "sequence", batch={"rows": 10})
    tidemark.pipelines["größe a"] = items_settings(
        source, destination, "sequence", to="public.other")
    tidemark.destination = destination
    return tidemark.write_config()


def told(ended, airflow):
    """pipeline -> rows and the URI, as the alias tells them."""
    alias = ended.events[airflow.operators[-1].asset_alias]
    return {each.extra["pipeline"]: (each.extra["rows"],
                                     each.dest_asset_key.uri)
            for each in alias.asset_alias_events}


ITEMS = "tidemark://tidemark_default/items"
OTHER = "tidemark://tidemark_default/gr%C3%B6%C3%9Fe%20a"


def test_a_name_that_is_no_uri(airflow, two):
    ended = airflow(TidemarkRunOperator, asset_alias="all").expect("success")
    assert told(ended, airflow) == {"items": (20, ITEMS),
                                    "größe a": (20, OTHER)}


def test_one_asset_of_several_pipelines(airflow, two):
    ended = airflow(TidemarkRunOperator,
                    assets={"*": WAREHOUSE}).expect("success")
    extra = ended.event(WAREHOUSE)
    assert (extra["rows"], extra["left_out"]) == (40, 0)
    assert {each["pipeline"]: each["mark"] for each in extra["pipelines"]} == {
        "items": "20", "größe a": "20"}
    one = airflow(TidemarkVerifyOperator, pipelines="items",
                  assets={"*": WAREHOUSE}).expect("success")
    assert one.event(WAREHOUSE)["pipeline"] == "items"


def test_rows_that_were_loaded_before_the_wait(airflow, two, source):
    """Another process has one of the pipelines; the other one is loaded."""
    holder = two.start("run", "items", failpoints="mid_load=stop@1")
    try:
        wait_for(holder.stopped, what="its first batch")
        task = airflow.operator(TidemarkRunOperator, asset_alias="all",
                                assets={"größe a": WAREHOUSE})
        waiting = airflow.run(task).expect("deferred")
        assert waiting.why.kwargs["rows"] == {"größe a": 20}
        waiting = airflow.run(task, resume=waiting).expect("deferred")
    finally:
        holder.kill()
    ended = airflow.run(task, resume=waiting).expect("success")
    check_items(source, two.destination)
    assert told(ended, airflow) == {"items": (20, ITEMS),
                                    "größe a": (20, WAREHOUSE.uri)}
    assert ended.event(WAREHOUSE)["rows"] == 20


def test_rows_that_a_failed_try_has_loaded(airflow, two):
    """It tells nobody. So the next one tells each pipeline that it ran."""
    good = two.pipelines["items"]["watermark"]["column"]
    two.pipelines["items"]["watermark"]["column"] = "gone"
    two.write_config()
    task = airflow.operator(TidemarkRunOperator, asset_alias="all")
    failed = airflow.run(task).expect("failed")
    assert failed.pushed["tidemark_result"]["rows_inserted"] == 20
    two.pipelines["items"]["watermark"]["column"] = good
    two.write_config()
    ended = airflow.run(task, try_number=2).expect("success")
    assert told(ended, airflow) == {"items": (20, ITEMS), "größe a": (0, OTHER)}
    verify = airflow.operator(TidemarkVerifyOperator, asset_alias="all")
    compared = airflow.run(verify, try_number=2)
    assert told(compared.expect("success"), airflow) == {}

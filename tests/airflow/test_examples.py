"""The DAGs that come with the provider, as Airflow's DAG processor reads them."""

import pytest

from airflow.dag_processing.dagbag import DagBag
from conftest import PROVIDER


@pytest.fixture(scope="module")
def bag():
    found = DagBag(str(PROVIDER / "airflow_provider_tidemark/example_dags"),
                   safe_mode=False)
    assert found.import_errors == {}
    return found


def test_the_schedule(bag):
    run = bag.dags["example_tidemark_schedule"].task_dict["run"]
    assert [outlet.name for outlet in run.outlets] == ["shop"]


def test_the_backfill(bag):
    """One chunk a task, whatever became of the others."""
    tasks = bag.dags["example_tidemark_backfill"].task_dict
    plan, chunk, finish = (tasks[f"backfill.{name}"]
                           for name in ("plan", "chunk", "finish"))
    assert chunk.is_mapped and chunk.upstream_task_ids == {plan.task_id}
    assert finish.upstream_task_ids == {plan.task_id, chunk.task_id}
    assert finish.trigger_rule == "all_done"
    assert chunk.partial_kwargs["max_active_tis_per_dag"] == 8
    assert chunk.partial_kwargs["retries"] == plan.retries == 3


def test_the_comparison(bag):
    verify = bag.dags["example_tidemark_verify"].task_dict["verify"]
    assert verify.repair and verify.max_deletes == "1%"

"""The names that Airflow 2 and 3 keep in different places."""

# One import of each pair fails, whichever Airflow it is.
# mypy: disable-error-code="no-redef, import-not-found, attr-defined"
# ruff: noqa: I001
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

try:
    from airflow.sdk import Asset, AssetAlias, BaseOperator, TaskGroup
except ImportError:
    from airflow.datasets import Dataset as Asset, DatasetAlias as AssetAlias
    from airflow.models.baseoperator import BaseOperator
    from airflow.utils.task_group import TaskGroup

try:
    from airflow.sdk import BaseHook  # since 3.1
except ImportError:
    from airflow.hooks.base import BaseHook

try:
    from airflow.sdk.exceptions import (AirflowException, AirflowFailException,
                                        AirflowSkipException)
except ImportError:
    from airflow.exceptions import (AirflowException, AirflowFailException,
                                    AirflowSkipException)

try:
    from airflow.sdk.log import mask_secret
except ImportError:
    try:
        from airflow.sdk.execution_time.secrets_masker import mask_secret
    except ImportError:
        from airflow.utils.log.secrets_masker import mask_secret

from airflow.configuration import conf
from airflow.triggers.base import BaseTrigger, TriggerEvent

# A dictionary in Airflow 3 and a class of its own in Airflow 2.
Context = Any



def states_of(context: Context, tasks: Iterable[str]) -> set[str]:
    """The states of other tasks of the same run of the DAG."""
    ti = context["ti"]
    if hasattr(ti, "get_task_states"):
        by_run = ti.get_task_states(dag_id=ti.dag_id, task_ids=sorted(tasks),
                                    run_ids=[ti.run_id])
        return {str(state) for states in by_run.values()
                for state in states.values()}
    wanted = set(tasks)
    return {str(each.state) for each in
            context["dag_run"].get_task_instances()
            if each.task_id in wanted}


__all__ = ["AirflowException", "AirflowFailException", "AirflowSkipException",
           "Asset", "AssetAlias", "BaseHook", "BaseOperator", "BaseTrigger",
           "Context", "TaskGroup", "TriggerEvent", "conf", "mask_secret",
           "states_of"]

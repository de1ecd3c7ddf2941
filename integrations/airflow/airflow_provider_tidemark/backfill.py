"""Operators that load a window once more, and the group that fans it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import outcome as outcomes
from ._airflow import (
    AirflowFailException,
    AirflowSkipException,
    Asset,
    Context,
    TaskGroup,
    conf,
    states_of,
)
from .operators import ANY, FAILED_KEY, TidemarkOperator, as_list, options
from .process import Outcome

CHUNK_KEYS = ("chunk_id", "pipeline", "from", "to", "nulls", "state", "rows",
              "attempts", "seconds", "verified", "error_code")
MOST_FAILED = 20


def small_chunk(outcome: Outcome) -> dict[str, Any] | None:
    """The JSON of a chunk as an XCom."""
    if not outcome.result:
        return None
    return {key: outcome.result[key] for key in CHUNK_KEYS
            if key in outcome.result}


class _WindowOperator(TidemarkOperator):
    """An operator that knows the window of a backfill.

    pipeline    its name
    from_value  a value of the mark column, inclusive
    to_value    the same, exclusive
    chunk_rows  rows of a chunk, about
    again       load the window from the beginning, even if it is done
    """

    template_fields = (*TidemarkOperator.template_fields, "pipeline",
                       "from_value", "to_value", "chunk_rows")

    def __init__(self, *, pipeline: str, from_value: str | None = None,
                 to_value: str | None = None,
                 chunk_rows: int | str | None = None, again: bool = False,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.from_value = from_value
        self.to_value = to_value
        self.chunk_rows = chunk_rows
        self.again = again

    def window(self) -> list[str]:
        """The window's flags."""
        flags = options(**{"from": self.from_value, "to": self.to_value,
                           "chunk_rows": self.chunk_rows})
        return [*flags, *(["--again"] if self.again else [])]


class TidemarkBackfillOperator(_WindowOperator):
    """Load a window once more, in one task: ``tidemark backfill``.

    workers  work on so many chunks at once
    """

    template_fields = (*_WindowOperator.template_fields, "workers")

    def __init__(self, *, workers: int | str = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.workers = workers

    def work(self, context: Context, since: float) -> dict[str, Any]:
        """Work on all chunks; the XCom has their sums."""
        outcome = self.call("backfill", self.pipeline, flags=[
            *self.window(), *options(workers=self.workers)])
        told: dict[str, Any] = self.settle(
            context, f"tidemark backfill of {self.pipeline}", outcome, since,
            sums(self.pipeline, chunks_of(outcome)))
        self.tell_assets(context, [told])
        return told


class TidemarkPlanBackfillOperator(_WindowOperator):
    """Queue the chunks of a window: ``tidemark backfill --queue``. The XCom is
    the list of their ids, over which TidemarkChunkOperator is mapped."""

    def work(self, context: Context, since: float) -> list[str]:
        """Chunks that are done already are in the list: they say so at once."""
        outcome = self.call("backfill", self.pipeline,
                            flags=[*self.window(), "--queue"])
        ids: list[str] = self.settle(
            context, f"tidemark backfill of {self.pipeline}, --queue", outcome,
            since, [each["chunk_id"] for each in chunks_of(outcome)])
        most = conf.getint("core", "max_map_length", fallback=1024)
        if len(ids) > most:
            raise AirflowFailException(
                f"the window has {len(ids)} chunks, and Airflow maps over "
                f"{most} at most: give a larger chunk_rows than "
                f"{self.chunk_rows or 250000}, or raise [core] max_map_length."
                " These chunks stay as they were cut. Forget them first: "
                f"tidemark backfill {self.pipeline} --cancel (or again=True)")
        return ids


class TidemarkChunkOperator(TidemarkOperator):
    """Load one chunk of a backfill: ``tidemark worker --chunk``. If it is done
    already, the task says so and succeeds.

    chunk  its id
    """

    template_fields = (*TidemarkOperator.template_fields, "chunk")

    def __init__(self, *, chunk: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.chunk = chunk

    def work(self, context: Context, since: float) -> dict[str, Any]:
        """Its rows and its state are the XCom."""
        outcome = self.call("worker", flags=[f"--chunk={self.chunk}"])
        told: dict[str, Any] = self.settle(
            context, f"tidemark worker of chunk {self.chunk}", outcome, since,
            small_chunk(outcome))
        return told


class TidemarkFinishBackfillOperator(TidemarkOperator):
    """Say whether each chunk of a backfill is done, and compare both sides.

    pipeline  the pipeline's name
    chunks    the ids, as TidemarkPlanBackfillOperator returned them
    verify    compare the pipeline's rows, with ``tidemark verify``
    since     compare rows with this mark or a later one
    flags     more flags of verify
    """

    template_fields = (*TidemarkOperator.template_fields, "pipeline", "chunks",
                       "since")

    def __init__(self, *, pipeline: str, chunks: Any, verify: bool = True,
                 since: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.chunks = chunks
        self.verify = verify
        self.since = since

    def work(self, context: Context, since: float) -> dict[str, Any]:
        """Fail for good with the chunks that are not done; else compare."""
        if self.chunks is None:
            if states_of(context, self.upstream_task_ids) == {"skipped"}:
                raise AirflowSkipException(
                    f"the backfill of {self.pipeline} was skipped")
            raise AirflowFailException(
                f"there is no list of chunks of {self.pipeline}: the task that "
                "plans the backfill has failed, and its log says why")
        status = self.hook().call("status", self.pipeline)
        told: dict[str, Any] = self.settle(
            context, f"tidemark status of {self.pipeline}", status, since,
            self._done(status) if status.code == 0 else None)
        for each in outcomes.pipelines_of(status):
            told["mark"] = outcomes.mark_value(each.get("watermark"))
        self._refuse_unfinished(context, told)
        if not told["chunks"]:
            self.log.warning("the backfill of %s has no chunks: there were no "
                             "rows in its window", self.pipeline)
        if self.verify:
            outcome = self.call("verify", self.pipeline,
                                flags=options(since=self.since))
            told["verified"] = outcomes.small(outcome)
            self.settle(context, f"tidemark verify of {self.pipeline}",
                        outcome, since, told)
            told["equal"] = True
        self.tell_assets(context, [told])
        return told

    def _done(self, status: Outcome) -> dict[str, Any]:
        """The sums over the chunks of this backfill, whatever others are in
        the store."""
        known = {each["chunk_id"]: each
                 for pipeline in outcomes.pipelines_of(status)
                 for each in pipeline.get("chunks") or []}
        gone = {"state": "unknown", "error": "it is no longer in the store"}
        return sums(self.pipeline, [
            known.get(name, {**gone, "chunk_id": name})
            for name in as_list(self.chunks)])

    def _refuse_unfinished(self, context: Context,
                           told: Mapping[str, Any]) -> None:
        left = told["not_done"]
        if not left:
            return
        context["ti"].xcom_push(key=FAILED_KEY, value=dict(told))
        said = [f"{each['chunk_id']}: {each['state']}: "
                f"{each['error'] or 'no error is recorded'}" for each in left]
        raise AirflowFailException("\n".join([
            f"{told['chunks'] - told['chunks_done']} of {told['chunks']} "
            f"chunks of {self.pipeline} are not done. Mend the cause, then "
            "clear their tasks:", *said]))


def chunks_of(outcome: Outcome) -> list[dict[str, Any]]:
    """The chunks of a command's JSON."""
    found = (outcome.result or {}).get("chunks")
    return found if isinstance(found, list) else []


def sums(pipeline: str, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts over chunks, and those that are not done."""
    done = [each for each in chunks if each.get("state") == "done"]
    left = [each for each in chunks if each.get("state") != "done"]
    return {
        "pipeline": pipeline, "chunks": len(chunks), "chunks_done": len(done),
        "rows_backfilled": sum(int(each.get("rows") or 0) for each in done),
        "not_done": [{key: each.get(key) for key in
                      ("chunk_id", "state", "error")}
                     for each in left[:MOST_FAILED]],
    }


def tidemark_backfill(
        group_id: str = "backfill", *, pipeline: str,
        from_value: str | None = None, to_value: str | None = None,
        chunk_rows: int | str | None = None, again: bool = False,
        verify: bool = True, verify_since: str | None = None,
        asset: Asset | str | None = None,
        at_once: int | None = None,
        chunk_arguments: Mapping[str, Any] | None = None,
        **arguments: Any) -> TaskGroup:
    """A group of tasks that loads a window once more, one chunk a task:
    ``plan``, ``chunk`` (mapped) and ``finish``.

    A chunk that fails keeps no other from being loaded. ``finish`` runs in any
    case, and says which chunks are not done.

    group_id         the group's name in the DAG
    pipeline         the pipeline's name
    from_value       a value of the mark column, inclusive
    to_value         the same, exclusive
    chunk_rows       rows of a chunk, about
    again            load the window from the beginning, even if it is done
    verify           compare both sides in ``finish``
    verify_since     compare rows with this mark or a later one alone
    asset            the asset that ``finish`` updates
    at_once          at most so many chunks at once, over all runs of the DAG
    chunk_arguments  more arguments of the chunks' tasks, such as ``pool``
    arguments        arguments of all tasks, such as ``tidemark_conn_id``,
                     ``config`` and ``retries``; not ``flags``, for each
                     runs another command
    """
    arguments = {"retries": 3, **arguments}
    with TaskGroup(group_id=group_id) as group:
        plan = TidemarkPlanBackfillOperator(
            task_id="plan", pipeline=pipeline, from_value=from_value,
            to_value=to_value, chunk_rows=chunk_rows, again=again,
            **arguments)
        mapped = TidemarkChunkOperator.partial(
            task_id="chunk", max_active_tis_per_dag=at_once,
            **{"map_index_template": "{{ task.chunk }}", **arguments,
               **(chunk_arguments or {})}).expand(chunk=plan.output)
        finish = TidemarkFinishBackfillOperator(
            task_id="finish", pipeline=pipeline, chunks=plan.output,
            verify=verify, since=verify_since,
            assets={ANY: asset} if asset else None,
            trigger_rule="all_done", **arguments)
        mapped >> finish
    return group

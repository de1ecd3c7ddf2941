"""The end of a task, from that of its command: the code and the JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from ._airflow import AirflowException, AirflowFailException
from .process import Outcome

BUSY = 6
# Another try may end otherwise: a server is away, a signal came, or no cause is
# known. Every other code ends in the same way until somebody has looked.
AGAIN = frozenset({1, 3, 8})
MEANINGS = {
    1: "a bug, or an error that no table has", 2: "the config is wrong",
    3: "a server is away or refuses", 4: "the tables do not fit",
    5: "a row is refused", BUSY: "another process has it",
    7: "both sides differ", 8: "stopped by a signal",
}
# The exit code of each kind of error. The JSON of verify has the kind alone.
KINDS = {"bug": 1, "unknown": 1, "config": 2, "access": 3, "transient": 3,
         "conflict": 3, "schema": 4, "data": 5, "state": BUSY, "different": 7,
         "stopped": 8}
# A shell adds 128 to a signal's number, and the program may be a script.
SHELL_SIGNALS = range(128 + 1, 128 + 65)
# An XCom is kept in Airflow's database: it has no more pipelines than this.
MOST_PIPELINES = 100
MOST_EXAMPLES = 10
RUN_COUNTS = ("batches", "rows_read", "rows_inserted", "rows_updated",
              "rows_unchanged", "rows_deleted", "rows_dead_lettered",
              "rows_held")
VERIFY_COUNTS = ("source_rows", "destination_rows", "compared", "missing",
                 "extra", "different", "unsettled", "repaired", "deleted")


def pipelines_of(outcome: Outcome) -> list[dict[str, Any]]:
    """The pipelines of a command's JSON."""
    found = (outcome.result or {}).get("pipelines")
    return found if isinstance(found, list) else []


def codes(outcome: Outcome) -> set[int]:
    """The exit code, and those of all pipelines that failed beside it."""
    every = {outcome.code}
    for each in pipelines_of(outcome):
        error = each.get("error") or {}
        kind = str(error.get("code"))
        every.add(error.get("exit_code") or KINDS.get(kind, 0))
    return every - {0}


def signal_of(code: int) -> int | None:
    """The number of the signal that ended the program, or None."""
    if code in SHELL_SIGNALS:
        return code - 128
    return -code if code < 0 else None


def message(what: str, outcome: Outcome) -> str:
    """The words of the exception that ends a task."""
    meaning = MEANINGS.get(outcome.code)
    number = signal_of(outcome.code)
    if number:
        meaning = f"ended by signal {number}"
    head = f"{what}: exit code {outcome.code}" + (
        f" ({meaning})" if meaning else "")
    return "\n".join([head, *outcome.errors])


def is_busy(outcome: Outcome) -> bool:
    """Some pipeline or chunk is worked on by another process."""
    return BUSY in codes(outcome)


def fail(what: str, outcome: Outcome) -> NoReturn:
    """End the task: with another try, if one of the errors may pass."""
    said = message(what, outcome)
    if signal_of(outcome.code) or codes(outcome) & (AGAIN | {BUSY}):
        raise AirflowException(said)
    raise AirflowFailException(said)


def mark(watermark: dict[str, Any] | None) -> dict[str, Any] | None:
    """A mark without Tidemark's own keys."""
    if not watermark:
        return None
    return {key: watermark[key] for key in
            ("strategy", "column", "value", "key") if key in watermark}


def small(outcome: Outcome) -> dict[str, Any]:
    """The JSON of run or verify as an XCom: counts, marks, first examples."""
    every = pipelines_of(outcome)
    # Pipelines that failed are the last to be left out, then those with rows.
    chosen = sorted(every, key=lambda each: (not each.get("error"),
                                             not written(each)))
    names = {each.get("pipeline") for each in chosen[:MOST_PIPELINES]}
    summary: dict[str, Any] = {"exit_code": outcome.code}
    for name in (*RUN_COUNTS, *VERIFY_COUNTS):
        values = [each[name] for each in every if name in each]
        if values:
            summary[name] = sum(values)
    summary["pipelines"] = [small_pipeline(each) for each in every
                            if each.get("pipeline") in names]
    summary["left_out"] = max(0, len(every) - MOST_PIPELINES)
    return summary


def small_pipeline(each: dict[str, Any]) -> dict[str, Any]:
    """One pipeline of it."""
    kept = {name: each[name] for name in (
        "pipeline", "outcome", "run_id", "equal", *RUN_COUNTS, *VERIFY_COUNTS,
        "guarantee", "seconds", "error") if name in each}
    if "watermark_after" in each:
        kept["mark"] = mark(each["watermark_after"])
    if each.get("examples"):
        kept["examples"] = each["examples"][:MOST_EXAMPLES]
    if each.get("verified"):
        kept["verified"] = {name: value for name, value in
                            each["verified"].items() if name != "examples"}
    return kept


def written(each: dict[str, Any]) -> int:
    """Rows that the command changed at the destination."""
    return sum(int(each.get(name) or 0) for name in (
        "rows_inserted", "rows_updated", "rows_deleted", "repaired",
        "deleted", "rows_backfilled"))


def event(each: dict[str, Any]) -> dict[str, Any]:
    """The extra of an asset's event, from one pipeline's result."""
    told = {"pipeline": each.get("pipeline"), "rows": written(each)}
    for name in ("run_id", "rows_read", "guarantee", "equal", "compared",
                 "chunks", "mark"):
        if name in each:
            told[name] = each[name]
    if "watermark_after" in each:
        told["mark"] = mark_value(each["watermark_after"])
    return told


def event_of_several(told: list[dict[str, Any]]) -> dict[str, Any]:
    """The extra of an asset that stands for several pipelines."""
    if len(told) == 1:
        return told[0]
    return {"rows": sum(each["rows"] for each in told),
            "pipelines": told[:MOST_PIPELINES],
            "left_out": max(0, len(told) - MOST_PIPELINES)}


def mark_value(watermark: dict[str, Any] | None) -> str | None:
    """The value alone; None: there is no mark, or it has none."""
    return (watermark or {}).get("value")


def names(given: Iterable[Any]) -> str:
    """Some names in a message."""
    every = [str(each) for each in given]
    return ", ".join(every) if every else "all pipelines"

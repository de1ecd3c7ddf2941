"""Operators that run and compare pipelines."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence, Sized
from datetime import timedelta
from typing import Any, NoReturn, Union
from urllib.parse import quote

from . import outcome as outcomes
from ._airflow import (
    AirflowFailException,
    Asset,
    AssetAlias,
    BaseOperator,
    Context,
)
from .hook import GRACE_SECONDS, TidemarkHook
from .process import Outcome
from .trigger import TidemarkBusyTrigger

# The key of the XCom that a task leaves when it fails. The usual key is for
# tasks that succeed.
FAILED_KEY = "tidemark_result"
# In the place of a pipeline's name, which may be a template. All has a word of
# its own, so that a list that came out empty is not taken for it.
ANY = "*"
# Arguments that may come out empty: without them the task does no more.
MAY_BE_EMPTY = frozenset({"env", "flags", "chunks"})
Names = Union[str, Sequence[str]]
Seconds = Union[float, timedelta]


def seconds(given: Seconds, name: str) -> float:
    """A duration in seconds, of more than none."""
    value = given.total_seconds() if isinstance(given, timedelta) \
        else float(given)
    if value <= 0:
        raise ValueError(f"{name} is {value} s: give it more than 0")
    return value


class TidemarkOperator(BaseOperator):
    """The part that all operators share. It is no task by itself.

    tidemark_conn_id  the connection, or None
    config            the config file, in place of the connection's
    directory         the directory to run in: that of the config
    env               more environment variables. Airflow shows them to whoever
                      may see the task: passwords belong into the connection
    flags             more flags of the command
    assets            the asset of each pipeline, or of "*". It is updated
                      when the task succeeds
    asset_alias       an alias to which the task adds an asset for each
                      pipeline that got rows,
                      ``tidemark://CONNECTION/PIPELINE``
    deferrable        wait in the triggerer while another process has the
                      pipeline. If False, the try fails, and ``retries`` decide
    busy_delay        so long, then look again
    busy_timeout      after so long fail for good
    stop_grace        seconds that the program has, after SIGTERM, for the
                      batch in hand
    """

    template_fields: Sequence[str] = ("config", "directory", "env", "flags")
    ui_color = "#d8efec"

    def __init__(self, *,
                 tidemark_conn_id: str | None =
                 TidemarkHook.default_conn_name,
                 config: str | None = None, directory: str | None = None,
                 env: Mapping[str, str] | None = None,
                 flags: Names = (),
                 assets: Mapping[str, Asset | str] | None = None,
                 asset_alias: AssetAlias | str | None = None,
                 deferrable: bool = True, busy_delay: Seconds = 30,
                 busy_timeout: Seconds = timedelta(days=1),
                 stop_grace: Seconds = GRACE_SECONDS, **kwargs: Any) -> None:
        self.assets = {name: as_asset(asset)
                       for name, asset in (assets or {}).items()}
        self.asset_alias = AssetAlias(asset_alias) \
            if isinstance(asset_alias, str) else asset_alias
        outlets = [*as_list(kwargs.pop("outlets", None)),
                   *self.assets.values()]
        if self.asset_alias:
            outlets.append(self.asset_alias)
        super().__init__(outlets=outlets, **kwargs)
        self.tidemark_conn_id = tidemark_conn_id
        self.config = config
        self.directory = directory
        self.env = env
        self.flags = flags
        self.deferrable = deferrable
        self.busy_delay = seconds(busy_delay, "busy_delay")
        self.busy_timeout = seconds(busy_timeout, "busy_timeout")
        self.stop_grace = seconds(stop_grace, "stop_grace")
        self._hook: TidemarkHook | None = None
        self._emptied: set[str] = set()
        # Rows of each pipeline that earlier looks of this try have written.
        self._rows: dict[str, int] = {}

    def render_template_fields(self, context: Context,
                               jinja_env: Any = None) -> None:
        """Also note the arguments that were given and came out empty."""
        given = {name for name in self.template_fields
                 if not is_empty(getattr(self, name))}
        super().render_template_fields(context, jinja_env)
        self._emptied |= {name for name in given - MAY_BE_EMPTY
                          if is_empty(getattr(self, name))}

    def execute(self, context: Context) -> Any:
        """Airflow begins a try."""
        return self._work(context, time.time())

    def resume(self, context: Context, event: Any = None,
               since: float | None = None,
               rows: Mapping[str, int] | None = None) -> Any:
        """The trigger fired: look again."""
        since = time.time() if since is None else since
        self._rows = dict(rows or {})
        self.log.info("looking again, %.0f s after the first look",
                      time.time() - since)
        return self._work(context, since)

    def _work(self, context: Context, since: float) -> Any:
        """Refuse what would silently be another task than the one meant."""
        # Airflow renders a mapped task by itself, and notes nothing.
        empty = self._emptied | {name for name in self.template_fields
                                 if getattr(self, name) == ""}
        if empty:
            raise AirflowFailException(
                f"{', '.join(sorted(empty))}: empty, although given. Look at "
                "its template or XCom, or leave the argument out")
        return self.work(context, since)

    def work(self, context: Context, since: float) -> Any:
        """Run the command; each operator says which."""
        raise NotImplementedError

    def hook(self) -> TidemarkHook:
        """Made late, when templates are rendered."""
        self._hook = TidemarkHook(
            self.tidemark_conn_id, config=self.config,
            directory=self.directory, env=self.env, grace=self.stop_grace)
        return self._hook

    def on_kill(self) -> None:
        """Airflow wants the task to end."""
        if self._hook:
            self._hook.stop()

    def call(self, command: str, *words: str,
             flags: Sequence[str] = ()) -> Outcome:
        """Run a command; the task's own flags come last."""
        return self.hook().call(command, *words,
                                flags=[*flags, *as_list(self.flags)])

    def settle(self, context: Context, what: str, outcome: Outcome,
               since: float, told: Any) -> Any:
        """Return what the task tells, or wait, or fail."""
        if outcome.code != 0:
            self._end(context, what, outcome, since, told)
        if outcome.result is None:
            raise AirflowFailException(
                f"{what}: exit code 0, but no JSON. Nobody knows what was done:"
                " is the program Tidemark?")
        return told

    def _end(self, context: Context, what: str, outcome: Outcome,
             since: float, told: Any) -> NoReturn:
        waited = time.time() - since
        busy = self.deferrable and outcomes.is_busy(outcome)
        if busy and waited < self.busy_timeout:
            self._wait(what, outcome, since)
        if told is not None:
            context["ti"].xcom_push(key=FAILED_KEY, value=told)
        if busy:
            raise AirflowFailException(
                f"{outcomes.message(what, outcome)}\nwaited for "
                f"{waited:.0f} s, busy_timeout is {self.busy_timeout:.0f} s")
        outcomes.fail(what, outcome)

    def _wait(self, what: str, outcome: Outcome, since: float) -> NoReturn:
        self.log.info("%s\nlooking again in %.0f s",
                      outcomes.message(what, outcome), self.busy_delay)
        self.defer(trigger=TidemarkBusyTrigger(self.busy_delay),
                   method_name="resume",
                   kwargs={"since": since, "rows": self._sums(outcome)})
        raise AssertionError("defer() returned")

    def tell_assets(self, context: Context,
                    pipelines: Sequence[dict[str, Any]],
                    loads: bool = True) -> None:
        """Give the events of the assets their rows, mark and guarantee.

        loads  the command can change rows
        """
        events = context["outlet_events"]
        # A try that failed may have loaded rows, and could tell nobody.
        after_failure = loads and context["ti"].try_number > 1
        shared: dict[str, list[dict[str, Any]]] = {}
        for each in pipelines:
            name = str(each.get("pipeline"))
            extra = outcomes.event(each)
            extra["rows"] += self._rows.get(name, 0)
            known = self.assets.get(name) or self.assets.get(ANY)
            if known:
                told = shared.setdefault(known.uri, [])
                told.append(extra)
                events[known].extra = outcomes.event_of_several(told)
            if self.asset_alias and (extra["rows"] or after_failure):
                events[self.asset_alias].add(
                    known or self._asset_of(name), extra=extra)

    def _sums(self, outcome: Outcome) -> dict[str, int]:
        """The rows of this look and of those before it."""
        sums = dict(self._rows)
        for each in outcomes.pipelines_of(outcome):
            name, rows = str(each.get("pipeline")), outcomes.written(each)
            if rows:
                sums[name] = sums.get(name, 0) + rows
        return sums

    def _asset_of(self, pipeline: str) -> Asset:
        """The asset of a table for which nobody has named one. Airflow 2, and
        Airflow 3 on MySQL, take a URI of ASCII alone."""
        return as_asset(
            f"tidemark://{self.tidemark_conn_id}/{quote(pipeline)}")


class TidemarkRunOperator(TidemarkOperator):
    """Sync pipelines until they have caught up: ``tidemark run``.

    pipelines     names; "*": all of the config
    verify        compare what was loaded, and fail if it differs
    full_refresh  read everything into new tables and swap them in
    """

    template_fields = (*TidemarkOperator.template_fields, "pipelines")

    def __init__(self, *, pipelines: Names = ANY, verify: bool = False,
                 full_refresh: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipelines = pipelines
        self.verify = verify
        self.full_refresh = full_refresh

    def work(self, context: Context, since: float) -> dict[str, Any]:
        """One run; the counts and marks are the XCom."""
        flags = [flag for flag, wanted in (
            ("--verify", self.verify),
            ("--full-refresh", self.full_refresh)) if wanted]
        wanted = names_of(self.pipelines)
        outcome = self.call("run", *wanted, flags=flags)
        told: dict[str, Any] = self.settle(
            context, f"tidemark run of {outcomes.names(wanted)}", outcome,
            since, outcomes.small(outcome))
        self.tell_assets(context, outcomes.pipelines_of(outcome))
        return told


class TidemarkVerifyOperator(TidemarkOperator):
    """Compare source and destination: ``tidemark verify``. The task fails for
    good if they differ.

    pipelines    names; "*": all of the config
    since        compare rows with this mark or a later one
    sample       compare a random share of the keys, such as "1%"
    repair       load missing and different rows again
    deletes      "report" or "apply": rows that the source has no longer
    max_deletes  delete nothing if it would be more, such as "1%"
    """

    template_fields = (*TidemarkOperator.template_fields, "pipelines", "since",
                       "sample", "max_deletes")

    def __init__(self, *, pipelines: Names = ANY, since: str | None = None,
                 sample: str | None = None, repair: bool = False,
                 deletes: str | None = None,
                 max_deletes: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if deletes not in (None, "report", "apply"):
            raise ValueError(
                f'deletes is {deletes!r}: say "report" or "apply"')
        self.pipelines = pipelines
        self.since = since
        self.sample = sample
        self.repair = repair
        self.deletes = deletes
        self.max_deletes = max_deletes

    def work(self, context: Context, since: float) -> dict[str, Any]:
        """One comparison; its counts are the XCom."""
        flags = options(since=self.since, sample=self.sample,
                        deletes=self.deletes, max_deletes=self.max_deletes)
        if self.repair:
            flags.append("--repair")
        wanted = names_of(self.pipelines)
        outcome = self.call("verify", *wanted, flags=flags)
        told: dict[str, Any] = self.settle(
            context, f"tidemark verify of {outcomes.names(wanted)}", outcome,
            since, outcomes.small(outcome))
        self.tell_assets(context, outcomes.pipelines_of(outcome),
                         loads=self.repair or self.deletes == "apply")
        return told


def as_list(given: Any) -> list[Any]:
    """One, several or none, as a list."""
    if given is None:
        return []
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        return [given]
    return list(given)


def names_of(pipelines: Any) -> list[Any]:
    """The names on the command line, where none means all."""
    names = as_list(pipelines)
    if names == [ANY]:
        return []
    if not names:
        raise AirflowFailException(
            f"pipelines is {pipelines!r}, so there is nothing to do. Leave it "
            f'out, or say "{ANY}", for all of the config')
    return names


def is_empty(given: Any) -> bool:
    """None, an empty text, or a list or object with nothing in it."""
    return given is None or (isinstance(given, Sized) and len(given) == 0)


def as_asset(given: Asset | str) -> Asset:
    """An asset, or the one that has this URI."""
    return Asset(given) if isinstance(given, str) else given


def options(**given: Any) -> list[str]:
    """Flags of those that have a value. They are one word each, so that a value
    such as -5 is not taken for a flag."""
    return [f"--{name.replace('_', '-').strip('-')}={value}"
            for name, value in given.items() if value not in (None, "")]

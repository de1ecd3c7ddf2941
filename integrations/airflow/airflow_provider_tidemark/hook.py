"""The connection to Tidemark: its program, config and passwords."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from typing import Any

from ._airflow import AirflowFailException, BaseHook, mask_secret
from .process import Outcome, Process

PASSWORD_VARIABLE = "TIDEMARK_PASSWORD"  # noqa: S105 - the variable's name
KEYS = ("binary", "config", "directory", "env")
# Airflow's own secrets, which are not for the programs that it starts.
PRIVATE = ("AIRFLOW__", "AIRFLOW_CONN_", "AIRFLOW_VAR_")
GRACE_SECONDS = 60.0


class TidemarkHook(BaseHook):
    """Run commands of Tidemark as a connection says.

    tidemark_conn_id  the connection, or None: there is none
    config            the config file, in place of the connection's
    directory         the directory to run in, in place of the connection's
    env               more environment variables
    grace             seconds that a command has, after SIGTERM, to load the
                      batch in hand
    """

    conn_name_attr = "tidemark_conn_id"
    default_conn_name = "tidemark_default"
    conn_type = "tidemark"
    hook_name = "Tidemark"

    def __init__(self, tidemark_conn_id: str | None = default_conn_name, *,
                 config: str | None = None, directory: str | None = None,
                 env: Mapping[str, str] | None = None,
                 grace: float = GRACE_SECONDS) -> None:
        super().__init__()
        self.tidemark_conn_id = tidemark_conn_id
        self.grace = grace
        extra, password = self._connection()
        self.config = config or extra.get("config")
        self.directory = directory or extra.get("directory")
        self.binary = extra.get("binary")
        secrets = self._secrets(extra.get("env"), password)
        for value in secrets.values():
            mask_secret(value)
        self.env = {**secrets, **_texts(env or {}, "env of the task")}
        self.process: Process | None = None

    def _connection(self) -> tuple[dict[str, Any], str | None]:
        """Its extra, and its password."""
        if self.tidemark_conn_id is None:
            return {}, None
        found = self.get_connection(self.tidemark_conn_id)
        try:
            extra = json.loads(found.extra or "{}")
        except ValueError as error:
            self._refuse(f"its extra is not JSON: {error}")
        if not isinstance(extra, dict):
            self._refuse("its extra is not a JSON object")
        extra = {key: value for key, value in extra.items()
                 if value not in (None, "")}
        for key in extra:
            if key not in KEYS:
                self._refuse(f'its extra has an unknown key "{key}"; there '
                             f"are: {', '.join(KEYS)}")
        return extra, found.password

    def _refuse(self, why: str) -> None:
        raise AirflowFailException(
            f"connection {self.tidemark_conn_id}: {why}")

    def _secrets(self, given: Any, password: str | None) -> dict[str, str]:
        """The connection's variables. Its form keeps them as text."""
        where = f"env of connection {self.tidemark_conn_id}"
        if isinstance(given, str):
            try:
                given = json.loads(given)
            except ValueError as error:
                raise AirflowFailException(f"{where} is not JSON") from error
        variables = _texts(given or {}, where)
        if password:
            variables.setdefault(PASSWORD_VARIABLE, password)
        return variables

    def program(self) -> str:
        """The path of the program: the connection's, that of the wheel in this
        environment, or the first in $PATH."""
        if self.binary:
            return str(self.binary)
        wheel = _program_of_wheel()
        if wheel:
            return wheel
        path = os.pathsep.join((sysconfig.get_path("scripts"),
                                os.environ.get("PATH", os.defpath)))
        found = shutil.which("tidemark", path=path)
        if not found:
            raise AirflowFailException(
                "there is no tidemark on this worker: install its wheel beside "
                "Airflow, or write its path into the connection's extra: "
                '{"binary": "/usr/bin/tidemark"}')
        return found

    def environment(self) -> dict[str, str]:
        """The variables of the program: this process's without Airflow's
        secrets, and the connection's."""
        inherited = {name: value for name, value in os.environ.items()
                     if not name.startswith(PRIVATE)}
        return {**inherited, **self.env}

    def _place(self) -> str | None:
        """The directory to run in: a config may have relative paths."""
        place = self.directory
        if not place and self.config:
            place = os.path.dirname(self._config_path(self.config))
        if place and not os.path.isdir(place):
            raise AirflowFailException(
                f"there is no directory {place} on this worker")
        return place or None

    def _config_path(self, config: str) -> str:
        """A relative path begins in the directory to run in."""
        return os.path.abspath(os.path.join(self.directory or "", config))

    def call(self, command: str, *words: str,
             flags: Sequence[str] = ()) -> Outcome:
        """Run a command to its end. Its log goes to the task's log line by
        line.

        command  such as "run"
        words    names, such as those of pipelines
        flags    such as "--full-refresh"
        """
        line = [command, "--json", "--log-format=json"]
        if self.config:
            line.append(f"--config={self._config_path(self.config)}")
        line += [*flags, "--", *words]
        line = [_word(each, command) for each in line]
        program, place = self.program(), self._place()
        self.log.info("$ tidemark %s", " ".join(line))
        try:
            self.process = Process(program, line, self.environment(), place,
                                   self.log)
        except (OSError, ValueError) as error:
            raise AirflowFailException(f"cannot run {program}: {error}") \
                from error
        return self.process.wait(self.grace)

    def stop(self) -> None:
        """Stop the command behind the batch in hand, or, once the grace is
        over, at once. Nothing is lost either way."""
        if self.process:
            self.process.stop(self.grace)

    def test_connection(self) -> tuple[bool, str]:
        """Airflow's button "Test": can the program be run here?"""
        try:
            outcome = self.call("version")
        except AirflowFailException as error:
            return False, str(error)
        if outcome.code != 0 or not outcome.result:
            return False, "\n".join(outcome.errors) or \
                f"exit code {outcome.code}"
        return True, f"Tidemark {outcome.result.get('version')}"

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """The connection's form in Airflow before 3.2."""
        from . import _ui_field_behaviour  # noqa: PLC0415

        behaviour = _ui_field_behaviour()
        return {name.replace("-", "_"): value
                for name, value in behaviour.items()}


def _program_of_wheel() -> str | None:
    """The program in the package tidemark, if that is ours: the index of Python
    packages has another project of this name."""
    spec = importlib.util.find_spec("tidemark")
    for place in (spec and spec.submodule_search_locations) or ():
        program = os.path.join(place, "_program", "tidemark")
        if os.access(program, os.X_OK):
            why = importlib.import_module("tidemark._launch").refusal()
            if why:
                raise AirflowFailException(why)
            return program
    return None


def _word(given: Any, command: str) -> str:
    """One word of a command line. A template may give anything."""
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    if not isinstance(given, str) or not given or "\0" in given:
        raise AirflowFailException(
            f"tidemark {command}: {given!r} is no name and no flag. Look at "
            "the templates and XComs of this task's arguments")
    try:
        os.fsencode(given)
    except UnicodeEncodeError:
        raise AirflowFailException(
            f"tidemark {command}: {given!r} has a character that this worker "
            "cannot pass on: is its locale UTF-8?") from None
    return given


def _texts(given: Any, where: str) -> dict[str, str]:
    """Variables and their values, all of them text."""
    if not isinstance(given, Mapping):
        raise AirflowFailException(
            f'{where} is no object such as {{"SHOP_PASSWORD": "..."}}')
    for name, value in given.items():
        if not isinstance(name, str) or "=" in name or not name:
            raise AirflowFailException(
                f"{where}: {name!r} is no variable's name")
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            raise AirflowFailException(
                f"{where}: the value of {name} is no text")
    return {name: str(value) for name, value in given.items()}

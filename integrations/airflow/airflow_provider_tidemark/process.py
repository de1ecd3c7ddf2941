"""The program while it runs: its log is streamed, its answer is read."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Union

LAUNCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_launch.py")
LEVELS = {"error": logging.ERROR, "warn": logging.WARNING,
          "info": logging.INFO, "debug": logging.DEBUG}
# Errors that are kept for the task's message; its log has all of them.
MOST_ERRORS = 20
MOST_CHARACTERS = 4000
POLL_SECONDS = 0.05

Logger = Union[logging.Logger, Any]


@dataclass
class Outcome:
    """The end of one command.

    code     its exit code; negative: the number of the signal that ended it
    result   the object that it printed, or None
    errors   the lines of its log that say an error, the last ones
    """

    code: int
    result: dict[str, Any] | None = None
    errors: list[str] = field(default_factory=list)


class Process:
    """One command. It has a session, and so a process group, of its own."""

    def __init__(self, program: str, words: Sequence[str],
                 env: Mapping[str, str], directory: str | None,
                 log: Logger) -> None:
        self.log = log
        self.errors: deque[str] = deque(maxlen=MOST_ERRORS)
        self.text = b""
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", LAUNCH, str(os.getpid()), program,
             *words], env=dict(env), cwd=directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        self.readers = [
            threading.Thread(target=self._read_result, daemon=True),
            threading.Thread(target=self._read_log, daemon=True)]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:
            raise RuntimeError("a pipe is missing")
        return pipe

    def _read_result(self) -> None:
        with self._pipe(self.process.stdout) as pipe:
            self.text = pipe.read()

    def _read_log(self) -> None:
        with self._pipe(self.process.stderr) as pipe:
            for line in pipe:
                with suppress(Exception):  # the program must not stand still
                    self._log(line.decode(errors="replace").rstrip("\n"))

    def _log(self, line: str) -> None:
        try:
            event = json.loads(line)
            level, message = str(event["level"]), event["message"]
            name = event.get("pipeline")
        except (ValueError, KeyError, TypeError, AttributeError,
                RecursionError):
            # The system's loader and a crash know no JSON.
            level, message, name = "error", line, ""
        said = f"{name}: {message}" if name else str(message)
        # Half a character is a text of Python, and no file takes it.
        said = said.encode(errors="replace").decode()
        if level == "error":
            self.errors.append(said if len(said) <= MOST_CHARACTERS
                               else said[:MOST_CHARACTERS] + " ...")
        self.log.log(LEVELS.get(level, logging.INFO), "%s", said)

    def wait(self, grace: float) -> Outcome:
        """Wait for its end. An exception in this thread, such as Airflow's
        timeout of the task, stops it first."""
        try:
            for reader in self.readers:
                reader.join()
        except BaseException:
            self.stop(grace)
            raise
        finally:
            code = self.process.wait()
        return Outcome(code, self._result(), list(self.errors))

    def _result(self) -> dict[str, Any] | None:
        try:
            result = json.loads(self.text)
        except ValueError:
            return None
        return result if isinstance(result, dict) else None

    def stop(self, grace: float) -> None:
        """Send SIGTERM, wait, then SIGKILL. It takes no lock and writes no
        log, since a signal handler calls it in the middle of wait()."""
        self._signal(signal.SIGTERM)
        end = time.monotonic() + grace
        while self._lives() and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
        if self._lives():
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self._lives():
            os.killpg(self.process.pid, number)

    def _lives(self) -> bool:
        """Without reaping it, which is wait()'s part."""
        try:
            return os.waitid(os.P_PID, self.process.pid, os.WEXITED |
                             os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False

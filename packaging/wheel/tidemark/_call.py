"""The calls: start the program, pass signals on, read what it prints."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import threading
from collections import deque
from types import FrameType
from typing import IO, Any, Mapping, Optional, Sequence, Union

from ._errors import BY_CODE, Crashed, Error, TimedOut
from ._launch import PROGRAM, refusal

Path = Union[str, "os.PathLike[str]"]

LEVELS = {"error": logging.ERROR, "warn": logging.WARNING,
          "info": logging.INFO, "debug": logging.DEBUG}
# Errors that are kept for the message; the log has all of them.
MOST_ERRORS = 20

log = logging.getLogger("tidemark")


class _Process:
    """The program while it runs."""

    def __init__(self, command: list[str], env: Optional[Mapping[str, str]],
                 cwd: Optional[Path]) -> None:
        self.command = command
        self.errors: deque[dict[str, Any]] = deque(maxlen=MOST_ERRORS)
        self.text = b""
        # In a session of its own. A terminal would send Ctrl-C to both, and the
        # second signal, ours, ends the program before its batch is loaded.
        self.process = subprocess.Popen(
            command, env={**os.environ, **(env or {})}, cwd=cwd,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True)
        self.readers = [
            threading.Thread(target=self._read_result, daemon=True),
            threading.Thread(target=self._read_log, daemon=True)]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def _pipe(pipe: Optional[IO[bytes]]) -> IO[bytes]:
        assert pipe is not None
        return pipe

    def _read_result(self) -> None:
        with self._pipe(self.process.stdout) as pipe:
            self.text = pipe.read()

    def _read_log(self) -> None:
        with self._pipe(self.process.stderr) as pipe:
            for line in pipe:
                self._log(line.decode(errors="replace").rstrip("\n"))

    def _log(self, line: str) -> None:
        try:
            event = json.loads(line)
            level, message = event["level"], event["message"]
        except (ValueError, KeyError, TypeError):
            # The system's loader and a crash know no JSON.
            event, level, message = {"message": line}, "error", line
        if level == "error":
            self.errors.append(event)
        name = event.get("pipeline")
        log.log(LEVELS.get(level, logging.INFO), "%s%s",
                f"{name}: " if name else "", message, extra={"tidemark": event})

    def wait(self, timeout: Optional[float] = None) -> int:
        code = self.process.wait(timeout)
        for reader in self.readers:
            reader.join()
        return code

    def stop(self, number: int) -> None:
        self.process.send_signal(number)

    def result(self) -> Any:
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    def error(self, kind: type[Error], code: int) -> Error:
        said = [event.get("message", "") for event in self.errors]
        kinds = [event["code"] for event in self.errors if event.get("code")]
        return kind(code, kinds[0] if kinds else "",
                    "\n".join(said) or f"exit code {code}", self.result(),
                    self.command)


class _Signals:
    """Hands a SIGTERM that would end this interpreter to the program, and
    dies of it once the program has ended."""

    def __init__(self, process: _Process) -> None:
        self.process = process
        self.came = False
        self.ours = False

    def __enter__(self) -> None:
        # Only the main thread may set one, and a handler of the user's stays.
        self.ours = (
            threading.current_thread() is threading.main_thread() and
            signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
        if self.ours:
            signal.signal(signal.SIGTERM, self._take)

    def _take(self, number: int, _frame: Optional[FrameType]) -> None:
        self.came = True
        self.process.stop(number)

    def __exit__(self, *_: object) -> None:
        if self.ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if self.came:
            os.kill(os.getpid(), signal.SIGTERM)


def _wait_stopped(process: _Process, grace: Optional[float]) -> int:
    """The program was asked to stop. Whoever asks again, it ends at once."""
    try:
        return process.wait(grace)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.stop(signal.SIGINT)
        return process.wait()


def _finish(process: _Process, timeout: Optional[float], grace: float) -> Any:
    kind: Optional[type[Error]] = None
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        kind = TimedOut
        process.stop(signal.SIGTERM)
        code = _wait_stopped(process, grace)
    except BaseException:
        process.stop(signal.SIGINT)
        _wait_stopped(process, None)
        raise
    if code == 0:
        return process.result()
    if kind is None or code != 8:
        kind = BY_CODE.get(code, Crashed)
    raise process.error(kind, code)


def call(command: str, *words: str, config: Optional[Path] = None,
         flags: Sequence[str] = (), env: Optional[Mapping[str, str]] = None,
         cwd: Optional[Path] = None, timeout: Optional[float] = None,
         grace: float = 60) -> Any:
    """Run `tidemark COMMAND WORDS...` and return its JSON, parsed; None, if it
    printed none.

    config   the config file; else as the command looks for it
    flags    more flags, such as ["--max-seconds", "60"]
    env      variables beside those of this process
    cwd      the directory to run in
    timeout  seconds until the run is asked to stop. It ends behind the batch in
             hand, and TimedOut is raised. Nothing is lost; run it again.
    grace    seconds that it has for this, then it ends at once

    A KeyboardInterrupt is passed on. It is raised again once the program has
    ended behind the batch in hand; another one ends it at once. SIGTERM, where
    this process has no handler for it, is passed on as well.
    """
    line = [PROGRAM, command, "--json", "--log-format", "json"]
    if config is not None:
        line += ["--config", os.fspath(config)]
    line += [*flags, "--", *words]
    why = refusal()
    if why:
        raise Crashed(2, "", why, None, line)
    try:
        process = _Process(line, env, cwd)
    except OSError as error:
        raise Crashed(2, "", f"cannot run {PROGRAM}: {error}", None,
                      line) from error
    with _Signals(process):
        return _finish(process, timeout, grace)


def run(*pipelines: str, config: Optional[Path] = None,
        flags: Sequence[str] = (), env: Optional[Mapping[str, str]] = None,
        cwd: Optional[Path] = None, timeout: Optional[float] = None,
        grace: float = 60) -> dict[str, Any]:
    """Sync these pipelines, or all, until they have caught up. The parameters
    are those of call()."""
    return _object(call("run", *pipelines, config=config, flags=flags, env=env,
                        cwd=cwd, timeout=timeout, grace=grace))


def verify(*pipelines: str, config: Optional[Path] = None,
           flags: Sequence[str] = (), env: Optional[Mapping[str, str]] = None,
           cwd: Optional[Path] = None, timeout: Optional[float] = None,
           grace: float = 60) -> dict[str, Any]:
    """Compare source and destination of these pipelines, or of all. Different
    is raised if they are not equal; its `result` names the keys. The parameters
    are those of call()."""
    return _object(call("verify", *pipelines, config=config, flags=flags,
                        env=env, cwd=cwd, timeout=timeout, grace=grace))


def _object(result: Any) -> dict[str, Any]:
    return result if isinstance(result, dict) else {}

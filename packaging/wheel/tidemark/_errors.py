"""One exception for each exit code, as docs/running.md lists them."""

from __future__ import annotations

from typing import Any, Optional


class Error(Exception):
    """A command that did not do all it was asked for.

    code     the exit code; negative: the number of the signal that ended it
    kind     the kind of the first error, such as "transient"; "" if unknown
    message  the words of the program about it
    result   the JSON that it printed all the same; None: it printed none
    command  the words it was started with
    """

    def __init__(self, code: int, kind: str, message: str,
                 result: Optional[Any], command: list[str]) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind
        self.message = message
        self.result = result
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.code, self.kind, self.message, self.result,
                             self.command))


class Failed(Error):
    """1: an internal error; of `status --fail`: one is failing or late."""


class Config(Error):
    """2: usage or config."""


class Access(Error):
    """3: a server is unreachable, denies access or is out of room."""


class Schema(Error):
    """4: the tables disagree."""


class Data(Error):
    """5: data refused."""


class Busy(Error):
    """6: another process has the pipeline."""


class Different(Error):
    """7: `verify` found differences."""


class Stopped(Error):
    """8: stopped by a signal after a clean checkpoint."""


class TimedOut(Stopped):
    """Stopped because `timeout` was over."""


class Crashed(Error):
    """No exit code of ours: a signal, or the system could not start it."""


BY_CODE: dict[int, type[Error]] = {
    1: Failed, 2: Config, 3: Access, 4: Schema, 5: Data, 6: Busy,
    7: Different, 8: Stopped,
}

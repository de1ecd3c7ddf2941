"""Data directories of servers: made once in a run of the tests, and copied for
every further server. MySQL works two seconds on one, a copy takes a tenth.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess

# Set by tests/run, which takes the directory away at the end.
DIRECTORY = "TIDEMARK_TEST_TEMPLATES"


@contextlib.contextmanager
def alone(path):
    """One process at a time: the others wait for what it makes."""
    with open(path, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def copy(source, target):
    # With the owner, who is the server's user. Into a directory that is there
    # already, too: a disk that is mounted.
    subprocess.run(["cp", "-a", "-T", source, target], check=True,
                   stdin=subprocess.DEVNULL)


def fill(name, data, make, own=()):
    """Let `data` become what `make()` makes there. `own` are files that no
    server may share with another."""
    parent = os.environ.get(DIRECTORY)
    if not parent:
        make()
        return
    template = pathlib.Path(parent) / name
    with alone(f"{template}.lock"):
        if not template.exists():
            make()
            part = f"{template}.part"
            shutil.rmtree(part, ignore_errors=True)
            copy(data, part)
            for file in own:
                pathlib.Path(part, file).unlink(missing_ok=True)
            os.rename(part, template)
            return
    copy(template, data)

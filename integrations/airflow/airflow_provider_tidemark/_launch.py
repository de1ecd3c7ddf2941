"""Become the program, which is to end when the task that started it is gone.

    _launch.py PARENT PROGRAM WORD...

Airflow ends a task that does not hurry by SIGKILL. The program has a session of
its own and would live on. Linux sends it SIGHUP instead: it loads the batch in
hand, gives up its lease and ends. SIGTERM would come once for each thread of
the task, and the program ends at once when a second one comes.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
EXIT_CONFIG, EXIT_STOPPED = 2, 8


def main() -> None:
    """Ask for the signal, look whether it comes too late, and become it."""
    parent, program, *words = sys.argv[1:]
    if sys.platform == "linux":
        # Whoever started Airflow by nohup ignores it, and so do its children.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGHUP)
    if os.getppid() != int(parent):
        sys.exit(EXIT_STOPPED)
    try:
        os.execv(program, [program, *words])  # noqa: S606 - no shell
    except OSError as error:
        sys.stderr.write(f"cannot run {program}: {error.strerror}\n")
        sys.exit(EXIT_CONFIG)


main()

"""Where the program is, and whether this system can run it.

The command `tidemark` imports this file alone, without the package around it.
"""

import os
import sys

try:
    from . import _build
except ImportError:
    import _build  # type: ignore[import-not-found,no-redef]

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_program",
                       "tidemark")
INSTEAD = "Build it from source there, or use the container: docs/install.md"


def refusal() -> str:
    """Why this system is too old for the program; empty: it is not."""
    wanted = "glibc {}.{} or newer".format(*_build.GLIBC)
    try:
        name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").split(" ")
        found = tuple(int(part) for part in version.split(".")[:2])
    except (ValueError, OSError):
        return f"this wheel needs {wanted}, and this system has none. {INSTEAD}"
    if found < _build.GLIBC:
        return (f"this wheel needs {wanted}, and this system has {name} "
                f"{version}. {INSTEAD}")
    return ""


def main() -> None:
    """Become the program."""
    why = refusal()
    if not why:
        try:
            os.execv(PROGRAM, ["tidemark", *sys.argv[1:]])
        except OSError as error:
            why = (f"cannot run {PROGRAM}: {error.strerror}. This wheel is for "
                   f"another system, or damaged: install its file again")
    sys.stderr.write(f"tidemark: {why}\n")
    sys.exit(2)

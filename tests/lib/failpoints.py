"""Which failpoints the code has, and the cases that the crash suite makes."""

import itertools
import pathlib
import re

from workload import SOURCES

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODES = ("upsert", "append", "delete_insert", "replace")
ENGINES = ("postgres", "sqlite", "duckdb")


def failpoints():
    """Every name that the code calls, in the order of their declaration."""
    called = set()
    for folder in ("cli", "clients", "connectors", "core", "destinations",
                   "stores"):
        for path in (ROOT / folder).rglob("*.c"):
            called.update(re.findall(r'failpoint\(\s*"([a-z_]+)"',
                                     path.read_text(encoding="utf-8")))
    header = (ROOT / "core/base/failpoint.h").read_text(encoding="utf-8")
    order = re.findall(r"[a-z_]+", header.split("The names are API:")[1])
    return sorted(called, key=order.index)


def cases(full):
    """(failpoint, mode, engine, source, strategy): every failpoint meets
    every mode x destination, the sources and their strategies take turns;
    `full`: all combinations."""
    names = failpoints()
    every = itertools.product(names, MODES, ENGINES, SOURCES)
    return [(*case[:3], *case[3]) for case in every
            if full or SOURCES.index(case[3]) == (
                names.index(case[0]) + MODES.index(case[1])
                + 3 * ENGINES.index(case[2])) % len(SOURCES)]

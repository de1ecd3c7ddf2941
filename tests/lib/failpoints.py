"""Which failpoints the code has, and the cases that the crash suite makes."""

import itertools
import pathlib
import re

from workload import SOURCES

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODES = ("upsert", "append", "delete_insert", "replace")
# Met only where rows are refused: test_crash_dead_letters.py.
ELSEWHERE = {"piece_loaded", "letters_saved"}
ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql")


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
    return sorted(called - ELSEWHERE, key=order.index)


def is_met(names, name, mode, engine):
    """MariaDB meets each failpoint in one mode, MySQL, which goes the same
    way, every third one; the others meet each in every mode."""
    turn = names.index(name)
    if engine == "mariadb":
        return MODES[turn % len(MODES)] == mode
    if engine == "mysql":
        return turn % 3 == 0 and MODES[turn // 3 % len(MODES)] == mode
    return True


def cases(full):
    """(failpoint, mode, engine, source, strategy): the failpoints meet every
    mode x destination (but see is_met), the sources and their strategies take
    turns; `full`: all combinations."""
    names = failpoints()
    every = itertools.product(names, MODES, ENGINES, SOURCES)
    return [(*case[:3], *case[3]) for case in every
            if full or is_met(names, *case[:3]) and SOURCES.index(case[3]) == (
                names.index(case[0]) + MODES.index(case[1])
                + 3 * ENGINES.index(case[2])) % len(SOURCES)]


def errors():
    """(failpoint, mode, engine) where an error is to be survived: upsert and
    append; of MariaDB and MySQL each failpoint meets one of the two."""
    names = failpoints()
    return [(name, mode, engine) for name in names
            for mode in ("upsert", "append") for engine in ENGINES
            if engine not in ("mariadb", "mysql") or (
                names.index(name) + (mode == "append")
                + (engine == "mysql")) % 2 == 0]

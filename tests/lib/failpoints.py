"""The failpoints of the code, and the cases that the crash suite makes of them."""

import collections
import functools
import itertools
import pathlib
import re

import pairwise

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("cli", "clients", "connectors", "core", "destinations", "stores")
ACTIONS = ("kill", "error", "hang", "stop")
MODES = ("upsert", "append", "delete_insert", "replace")
# Met only where rows are refused, test_crash_dead_letters.py, by a load in
# streams, test_streams.py, or by a source in PostgreSQL, test_foresight.py. SQL
# around a load meets the first three, test_hooks.py.
ELSEWHERE = ("hook_owed", "hook_due", "hook_done", "piece_loaded",
             "letters_saved", "streams_queued", "streams_loaded",
             "streams_written", "table_found")
STRATEGIES = {"postgres": ("timestamp", "xmin", "sequence"),
              "mariadb": ("timestamp", "sequence"),
              "mysql": ("timestamp", "sequence"),
              "sqlite": ("timestamp", "sequence"),
              "duckdb": ("timestamp", "sequence")}
SOURCES = tuple(STRATEGIES)
DESTINATIONS = ("postgres", "mariadb", "mysql", "sqlite", "duckdb",
                "clickhouse", "bigquery")
STORES = ("sqlite", "postgres")
SERVERS = ("postgres", "mariadb", "mysql")
# No transaction holds a batch and its mark: a batch is in before its mark is.
BEHIND = ("clickhouse",)
# The size of a case's table, and of its first batch.
ROWS, BATCH = 120, 20
FIRST, DELTA = "first load", "delta"

Case = collections.namedtuple(
    "Case", "failpoint mode source strategy destination store")

# Passed once a run; the others once a batch, or more.
ONCE = ("config_loaded", "lease_taken", "run_recorded", "ceiling_taken",
        "snapshot_opened", "first_row", "stage_created", "stage_dropped",
        "lease_released", "mid_alter", "in_recovery")
# Where a table is built aside and swapped in, these are of the swap.
ONCE_SWAPPED = ("stage_full", "before_merge", "after_delete",
                "before_watermark", "after_watermark")


def called():
    """Every name that the code calls."""
    found = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.c"):
            found.update(re.findall(r'failpoint\(\s*"([a-z_]+)"',
                                    path.read_text(encoding="utf-8")))
    return found


def documented():
    """The names of the API, in the order in which a run meets them."""
    header = (ROOT / "core/base/failpoint.h").read_text(encoding="utf-8")
    names = header.split("The names are API:")[1].split("*/")[0]
    return re.findall(r"[a-z_]+", names)


FAILPOINTS = tuple(name for name in documented() if name not in ELSEWHERE)


def why_not(failpoint, mode, destination):
    """Why no run of `mode` into `destination` comes by there; None: it does."""
    if destination == "bigquery" and failpoint in (
            "after_delete", "after_merge", "before_watermark",
            "after_watermark"):
        return "a step of one request, a script that is a transaction there"
    if failpoint == "after_delete" and mode == "append":
        return "append deletes nothing"
    if (failpoint, mode) == ("stage_dropped", "replace") and destination in (
            "sqlite", "clickhouse"):
        return "a refresh makes its stage anew, and the swap takes it away"
    if mode == "replace" and destination in SERVERS and failpoint in (
            "stage_full", "after_delete"):
        return "rows go straight into the new table"
    if (failpoint, mode, destination) == ("after_delete", "replace", "duckdb"):
        return "the new table takes the old one's place"
    if destination == "clickhouse" and mode != "replace":
        if failpoint in ("stage_created", "stage_full"):
            return "a batch is brought to the server and compared there"
        if failpoint == "after_delete" and mode != "delete_insert":
            return "a row is replaced by a newer one"
    if destination != "sqlite" or mode == "replace":
        return None
    if failpoint in ("stage_created", "stage_full"):
        return "rows go straight into the table"
    if failpoint == "after_delete" and mode == "upsert":
        return "one statement upserts a row"
    return None


def phases(case):
    """In which runs of the case the failpoint is met: into an empty table
    rows go as they are."""
    if case.mode in ("upsert", "delete_insert"):
        if case.destination in SERVERS and case.failpoint in (
                "stage_full", "before_merge", "after_delete"):
            return (DELTA,)
        if case.destination in ("duckdb", "clickhouse") \
                and case.failpoint == "after_delete":
            return (DELTA,)
    return FIRST, DELTA


def nth(case):
    """The occurrence in the first load at which the run dies. It is not the one
    of the first batch, if there are others."""
    once = ONCE + ONCE_SWAPPED if case.mode == "replace" else ONCE
    # No batch of a refresh has a mark there.
    if case.mode == "replace" and case.destination in BEHIND:
        once += ("commit_sent", "commit_acked")
    # By xmin a table goes over by blocks: here in one batch.
    return 1 if case.failpoint in once or case.strategy == "xmin" else 2


def turn(case):
    """A number that spreads what is not multiplied out."""
    return (FAILPOINTS.index(case.failpoint) + MODES.index(case.mode)
            + SOURCES.index(case.source)
            + 3 * DESTINATIONS.index(case.destination))


def dealt(failpoint, mode, source, destination):
    """A case whose strategy and state store are whose turn it is."""
    case = Case(failpoint, mode, source, None, destination, None)
    strategies = STRATEGIES[source]
    return case._replace(strategy=strategies[turn(case) % len(strategies)],
                         store=STORES[turn(case) // 2 % len(STORES)])


def product():
    """Failpoint x mode x source x destination, where it is met."""
    return [dealt(*choice) for choice in itertools.product(
        FAILPOINTS, MODES, SOURCES, DESTINATIONS)
        if not why_not(choice[0], choice[1], choice[3])]


def everything():
    """All that a case may be."""
    every = itertools.starmap(Case, itertools.product(
        FAILPOINTS, MODES, SOURCES, STRATEGIES["postgres"], DESTINATIONS,
        STORES))
    return [case for case in every if case.strategy in STRATEGIES[case.source]
            and not why_not(case.failpoint, case.mode, case.destination)]


@functools.cache
def pairs():
    """A few of them, in which each two choices meet."""
    return pairwise.cover(everything())


def shared(action):
    """Hang and error take turns at the pairs. Each action meets every
    failpoint, mode, source, destination and store."""
    return pairs()[("hang", "error").index(action)::2]


def each_source_in_turn(every):
    """One source for each failpoint x mode x destination."""
    return [case for case in every if SOURCES.index(case.source) ==
            (FAILPOINTS.index(case.failpoint) + MODES.index(case.mode)
             + 2 * DESTINATIONS.index(case.destination)) % len(SOURCES)]


def each_mode_in_turn(every):
    """One case for each failpoint x destination."""
    chosen = {}
    for case in each_source_in_turn(every):
        key = case.failpoint, case.destination
        if turn(case) % len(MODES) == 0 or key not in chosen:
            chosen[key] = case
    return list(chosen.values())


def each_destination_in_turn(every):
    """One case for each failpoint."""
    chosen = {}
    for case in each_mode_in_turn(every):
        at = FAILPOINTS.index(case.failpoint)
        if case.failpoint not in chosen or \
                DESTINATIONS.index(case.destination) == \
                at % len(DESTINATIONS):
            chosen[case.failpoint] = case
    return list(chosen.values())


def cases(action, full):
    """The cases of an action. For kill they are multiplied out, or pairwise.
    For the other actions the source and the destination matter less."""
    if action == "stop":
        return (each_mode_in_turn if full else each_destination_in_turn)(
            product())
    if action != "kill" and full:
        return each_source_in_turn(product())
    if full:
        return product()
    return pairs() if action == "kill" else shared(action)

"""Die at every failpoint that the code has, run again, compare.

By default each failpoint meets every mode x destination with the strategies
in turn (so every pair of choices occurs); --full runs all combinations.
"""

import collections
import itertools
import pathlib
import re
import signal

import pytest

import oracle
import workload
from bench import EXIT_ACCESS, EXIT_OK, sync_items

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRATEGIES = ("timestamp", "xmin", "sequence")
MODES = ("upsert", "append", "delete_insert", "replace")
ENGINES = ("postgres", "sqlite", "duckdb")
ROWS = 300

# failpoint -> the cases that reached it and those that did not
reached = collections.defaultdict(list)
missed = collections.defaultdict(list)


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


def choose(full):
    every = list(itertools.product(failpoints(), MODES, ENGINES, STRATEGIES))
    if full:
        return every
    return [case for case in every if STRATEGIES.index(case[3]) == (
        failpoints().index(case[0]) + MODES.index(case[1])
        + ENGINES.index(case[2])) % len(STRATEGIES)]


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        cases = choose(metafunc.config.getoption("--full"))
        metafunc.parametrize("case", cases, ids="-".join)


class Victim:
    """One pipeline that is going to die."""

    def __init__(self, tidemark, source, destination, mode, strategy):
        self.tidemark = sync_items(
            tidemark, source, destination, strategy, mode,
            batch={"rows": 60},
            retry={"attempts": 4, "backoff": "5ms", "max_backoff": "10ms"})
        self.source, self.destination, self.mode = source, destination, mode
        self.to = f"{destination.schema}.items"
        self.columns = dict(oracle.ITEMS)

    def change(self):
        """A delta with a new column, so that the target is altered too."""
        self.source.execute(
            "ALTER TABLE items ADD color text",
            "UPDATE items SET quantity = quantity + 100, color = 'c' || id, "
            "seq = nextval('items_seq'), updated_at = '2024-06-01' "
            "WHERE id % 4 = 0",
            "INSERT INTO items (name, updated_at) SELECT 'new ' || n, "
            "'2024-06-02' FROM generate_series(1, 80) n")
        self.columns["color"] = "text"

    def check_crashed(self):
        columns = {name: kind for name, kind in self.columns.items()
                   if name != "color"}
        oracle.check_crashed(self.source, self.destination, "items", self.to,
                             columns, "items")

    def recover(self):
        """One more run, and everything is as it should be."""
        self.tidemark.run()
        self.check()
        if self.mode != "replace":
            again = self.tidemark.run().pipeline()
            assert again["rows_read"] == 0, again

    def check(self):
        oracle.check_equal(self.source, self.destination, "items", self.to,
                           self.columns, pipeline="items")
        if self.mode == "append":
            raw = self.destination.rows(self.destination.raw(self.to),
                                        self.columns)
            assert len(raw) == len(set(raw)), "a version was appended twice"


@pytest.fixture
def victim(tidemark_failpoints, source, make_destination):
    def make(mode, engine, strategy):
        workload.create_items(source, rows=ROWS)
        return Victim(tidemark_failpoints, source, make_destination(engine),
                      mode, strategy)
    return make


def test_killed_at(victim, case):
    failpoint, mode, engine, strategy = case
    target = victim(mode, engine, strategy)
    hit = target.tidemark.killed(failpoints=f"{failpoint}=kill@2")
    target.check_crashed()
    target.recover()
    target.change()
    if target.tidemark.killed(failpoints=f"{failpoint}=kill@1"):
        hit = True
        target.check_crashed()
    target.recover()
    (reached if hit else missed)[failpoint].append("-".join(case[1:]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", ("upsert", "append"))
@pytest.mark.parametrize("failpoint", failpoints())
def test_error_at(victim, failpoint, mode, engine):
    """A transient error there is retried, or exits 3 and loses nothing."""
    target = victim(mode, engine, "timestamp")
    done = target.tidemark("run", "--json", failpoints=f"{failpoint}=error")
    assert done.code in (EXIT_OK, EXIT_ACCESS), done
    if done.code == EXIT_ACCESS and done.out:
        assert done.pipeline()["outcome"] == "failed"
    target.recover()


@pytest.mark.parametrize("engine", ENGINES)
def test_killed_again_and_again(victim, engine):
    """A run that dies at every third batch still gets there."""
    target = victim("upsert", engine, "timestamp")
    kills = 0
    while target.tidemark.killed(failpoints="after_watermark=kill@3"):
        target.check_crashed()
        kills += 1
        assert kills < 20, "no progress over twenty kills"
    assert kills >= 2
    target.recover()


@pytest.mark.parametrize("engine", ENGINES)
def test_unclear_commit(victim, engine):
    """Killed after COMMIT was sent: whether it took effect or not, the next
    run finds out from the destination itself."""
    target = victim("upsert", engine, "timestamp")
    assert target.tidemark.killed(failpoints="commit_sent=kill@2") or \
        target.tidemark.killed(failpoints="commit_acked=kill@2")
    target.check_crashed()
    target.recover()


def test_exit_action_is_not_a_success(victim):
    target = victim("upsert", "sqlite", "timestamp")
    done = target.tidemark("run", "--json", failpoints="mid_load=exit")
    assert done.code not in (EXIT_OK, -signal.SIGKILL), done
    target.recover()


def test_every_failpoint_was_reached(request):
    """Last: a failpoint that no case reached tests nothing."""
    cases = {case for case in choose(request.config.getoption("--full"))}
    seen = sum(map(len, reached.values())) + sum(map(len, missed.values()))
    if seen < len(cases):
        pytest.skip("only a part of the cases was run")
    never = [name for name in failpoints() if not reached[name]]
    for name in failpoints():
        print(f"{name}: reached in {len(reached[name])} cases, "
              f"not in {len(missed[name])}: {' '.join(missed[name][:12])}")
    assert not never, f"no case reaches {never}"

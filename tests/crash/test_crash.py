"""Die at every failpoint that the code has, run again, compare.

By default each failpoint meets every mode x destination with the strategies
in turn (so every pair of choices occurs); --full runs all combinations.
"""

import signal

import pytest

import failpoints
import oracle
import workload
from bench import EXIT_ACCESS, EXIT_OK, sync_items
from failpoints import ENGINES

ROWS = 300


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        cases = failpoints.cases(metafunc.config.getoption("--full"))
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


def test_killed_at(victim, case, record_property):
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
    record_property("failpoint", (failpoint, "-".join(case[1:]), hit))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", ("upsert", "append"))
@pytest.mark.parametrize("failpoint", failpoints.failpoints())
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

"""Die at every failpoint that the code has, run again, compare.

By default each failpoint meets every mode x destination, the sources and
their strategies taking turns; --full runs all combinations.
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
        at = workload.dialect(self.source).instant("2024-06-02 00:00:00")
        self.source.execute("ALTER TABLE items ADD color text")
        workload.update_items(
            self.source, "id % 4 = 0", "quantity = quantity + 100, "
            "color = concat('c', id)", "2024-06-01 00:00:00")
        workload.fill_items(self.source, ROWS + 1, ROWS + 80, stamp=at)
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
def victim(tidemark_failpoints, make_source, make_destination):
    def make(mode, engine, kind="postgres", strategy="timestamp"):
        source = make_source(kind)
        workload.create_items(source, rows=ROWS)
        return Victim(tidemark_failpoints, source, make_destination(engine),
                      mode, strategy)
    return make


def test_killed_at(victim, case, record_property):
    failpoint, *choices = case
    target = victim(*choices)
    hit = target.tidemark.killed(failpoints=f"{failpoint}=kill@2")
    target.check_crashed()
    target.recover()
    target.change()
    if target.tidemark.killed(failpoints=f"{failpoint}=kill@1"):
        hit = True
        target.check_crashed()
    target.recover()
    record_property("failpoint", (failpoint, "-".join(case[1:]), hit))


@pytest.mark.parametrize("failpoint,mode,engine", failpoints.errors())
def test_error_at(victim, failpoint, mode, engine):
    """A transient error there is retried, or exits 3 and loses nothing."""
    target = victim(mode, engine)
    done = target.tidemark("run", "--json", failpoints=f"{failpoint}=error")
    assert done.code in (EXIT_OK, EXIT_ACCESS), done
    if done.code == EXIT_ACCESS and done.out:
        assert done.pipeline()["outcome"] == "failed"
    target.recover()


@pytest.mark.parametrize("engine", ENGINES)
def test_killed_again_and_again(victim, engine):
    """A run that dies at every third batch still gets there."""
    target = victim("upsert", engine)
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
    target = victim("upsert", engine)
    assert target.tidemark.killed(failpoints="commit_sent=kill@2") or \
        target.tidemark.killed(failpoints="commit_acked=kill@2")
    target.check_crashed()
    target.recover()


def test_exit_action_is_not_a_success(victim):
    target = victim("upsert", "sqlite")
    done = target.tidemark("run", "--json", failpoints="mid_load=exit")
    assert done.code not in (EXIT_OK, -signal.SIGKILL), done
    target.recover()

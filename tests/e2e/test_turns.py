"""The pipeline with which a run begins: the one that waited longest."""

import contextlib
import signal
import sqlite3

import pytest

import workload
from bench import EXIT_STOPPED, sync_items
from servers import wait_for

NAMES = ("a", "b", "c")


@pytest.fixture
def three(tidemark_failpoints, make_source, make_destination):
    """Pipelines over one table, into a file each: nobody waits for one that is
    locked."""
    tidemark, source = tidemark_failpoints, make_source("sqlite")
    workload.create_items(source, rows=40)
    for name in NAMES:
        destination = make_destination("sqlite")
        sync_items(tidemark, source, destination, "timestamp", name=name,
                   batch={"rows": 10})
        tidemark.connect(name, destination.connection())
        tidemark.pipelines[name]["destination"]["connection"] = name
    tidemark.top["jobs"] = 1
    return tidemark.write_config()


def begun(tidemark):
    """The pipelines of the attempts so far, in the order they began in."""
    with contextlib.closing(sqlite3.connect(tidemark.state_file)) as db:
        return "".join(name for name, in db.execute(
            "SELECT pipeline FROM attempts ORDER BY started_at"))


def test_who_is_killed_gets_to_the_others(three):
    """As where memory never is enough for one table."""
    for _ in range(4):
        assert three.killed(failpoints="before_watermark=kill")
    assert begun(three) == "abca"
    three.run()
    assert begun(three) == "abca" + "bca"


def test_who_is_stopped_gets_to_the_others(three):
    run = three.start("run", "--json", failpoints="before_watermark=stop@2")
    wait_for(lambda: run.stopped() or not run.alive(), step=0.01,
             what="the failpoint")
    run.signal(signal.SIGTERM)
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_STOPPED)
    three.run()
    assert begun(three) == "a" + "bca"


def test_who_waited_longest_begins(three):
    """First whoever never ran, in the order of the config. JSON keeps to it."""
    three.run("b")
    three.run()
    three("run", "c", failpoints="before_watermark=error")
    results = three.run().json()["pipelines"]
    assert [result["pipeline"] for result in results] == list(NAMES)
    assert begun(three) == "b" + "acb" + "c" + "abc"


def test_clock_that_went_back(three):
    """A lease that seems to be taken tomorrow was not the last."""
    assert three.killed("a", failpoints="before_watermark=kill")
    with contextlib.closing(sqlite3.connect(three.state_file)) as db, db:
        db.execute("UPDATE leases SET since = since + 86400000000")
    for _ in range(3):
        assert three.killed(failpoints="before_watermark=kill")
    assert sorted(begun(three)) == list("aabc")


def test_who_runs_elsewhere_is_waited_for_last(three):
    """Runs that overlap do the others meanwhile."""
    one = three.start("run", "--json", failpoints="before_watermark=stop@1")
    wait_for(lambda: one.stopped() or not one.alive(), step=0.01,
             what="the failpoint")
    two = three.start("run", "--json", "--wait", "30s")
    wait_for(lambda: b"waiting for" in two.text["err"] or not two.alive(),
             step=0.01, what="the other job")
    assert begun(three) == "abc"
    one.signal(signal.SIGCONT)
    one.wait().expect(0)
    two.wait().expect(0)

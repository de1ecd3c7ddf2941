"""The run history that `tidemark serve` leaves behind in a long life."""

import sqlite3
import time

import pytest

from servers import wait_for
from test_serve import configure, fill, stop


@pytest.fixture
def served(tidemark, source, make_destination):
    """Two tables that nobody runs by himself."""
    destination = make_destination("sqlite")
    configure(tidemark, source, destination, fill(source, "a", "b"),
              schedule="manual")
    return source, destination


def history(tidemark):
    """How many batches each attempt of `a` has, in order."""
    with sqlite3.connect(tidemark.state_file) as db:
        return [batches for batches, in db.execute(
            "SELECT batches FROM attempts WHERE pipeline = 'a' ORDER BY seq")]


def test_runs_that_find_nothing_are_thinned_out(tidemark, served):
    """An hour later. The first and the last of those in a row stay."""
    for _ in range(7):
        tidemark.run("a")
    assert history(tidemark) == [1] + 6 * [0]
    running = tidemark.start("serve")
    time.sleep(2)  # it has looked, and they are too young
    stop(running)
    assert len(history(tidemark)) == 7
    begin = (int(time.time()) - 70 * 60) // 300 * 300 * 1_000_000
    with sqlite3.connect(tidemark.state_file) as db:
        db.execute("UPDATE attempts SET ended_at = ended_at - started_at + "
                   f"{begin} + seq, started_at = {begin} + seq")
    running = tidemark.start("serve")
    wait_for(lambda: len(history(tidemark)) < 7, what="fewer of them")
    stop(running)
    assert history(tidemark) == [1, 0, 0]

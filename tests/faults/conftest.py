"""Fixtures of the suite of bad days."""

import pytest

from bad_days import Day, mounted
from servers import wait_for


@pytest.fixture
def make_day(tidemark, make_source, make_destination):
    """A pipeline between two engines, its source filled."""
    def make(source="postgres", destination="sqlite", rows=2000, **more):
        return Day(tidemark, make_source(source),
                   make_destination(destination), rows, **more)
    return make


@pytest.fixture
def stopped_run(failpoint_binary):
    """Start a run that stops itself behind some batches. SIGCONT lets it go on:
    it is not over before that, however busy the machine is."""
    def start(tidemark, batches=3, **more):
        plain, tidemark.binary = tidemark.binary, failpoint_binary
        running = tidemark.start(
            "run", "--json", failpoints=f"state_saved=stop@{batches}", **more)
        tidemark.binary = plain
        wait_for(lambda: running.stopped() or not running.alive(), 60, 0.005,
                 "the first batches")
        assert running.alive(), running.wait()
        return running
    return start


@pytest.fixture
def small_disk(work_dir):
    """A file system of 24 MiB in memory."""
    with mounted(work_dir / "disk", "24m") as why:
        if why:
            pytest.skip(why)
        yield work_dir / "disk"

"""Fixtures of the suite of bad days."""

import pytest

import workload
from bad_days import Day, mounted
from bench import Tidemark, sync_items
from prey import Prey
from servers import wait_for

# Their rows come from a run of our own.
LOADED = ("clickhouse", "bigquery")


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
        wait_for(lambda: running.stopped() or not running.alive(), step=0.005,
                 what="the first batches")
        assert running.alive(), running.wait()
        return running
    return start


@pytest.fixture
def small_disk(work_dir):
    """A file system of 24 MiB in memory."""
    with mounted(work_dir / "disk", "24m") as why:
        if why:
            pytest.skip(why)
        (work_dir / "disk").chmod(0o755)
        yield work_dir / "disk"


@pytest.fixture
def make_filled(tidemark_binary, work_dir, make_source, make_destination):
    """An end with `items` in it."""
    def make(engine):
        end = make_source("sqlite" if engine in LOADED else engine)
        workload.create_items(end, rows=20)
        if engine not in LOADED:
            return end
        loaded = make_destination(engine)
        (work_dir / "filling").mkdir()
        sync_items(Tidemark(tidemark_binary, work_dir / "filling"), end,
                   loaded, "timestamp").run()
        return loaded
    return make


@pytest.fixture
def prey(sanitized_binary, work_dir, make_filled, make_database,
         make_destination):
    made = []

    def make(lie, source="postgres", destination="sqlite", part="source",
             **more):
        ends = {"source": make_filled(source),
                "warehouse": make_destination(destination)}
        ends["state"] = make_database("state") if part == "state" else None
        made.append(Prey(sanitized_binary, work_dir, ends["source"],
                         ends["warehouse"], part, ends[part], lie,
                         **more))
        return made[-1]

    yield make
    for each in made:
        each.rogue.__exit__()

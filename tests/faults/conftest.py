"""Fixtures of the suite of bad days."""

import pytest

from bad_days import Day, mounted
from proxy import Proxy


@pytest.fixture
def make_day(tidemark, make_source, make_destination):
    """A pipeline between two engines, its source filled."""
    def make(source="postgres", destination="sqlite", rows=2000, **more):
        return Day(tidemark, make_source(source),
                   make_destination(destination), rows, **more)
    return make


@pytest.fixture
def make_proxy():
    made = []

    def make(end):
        server = getattr(end, "cluster", None) or end.server
        made.append(Proxy(server.port))
        return made[-1]

    yield make
    for proxy in made:
        proxy.__exit__()


@pytest.fixture
def small_disk(work_dir):
    """A file system of 24 MiB in memory."""
    with mounted(work_dir / "disk", "24m") as why:
        if why:
            pytest.skip(why)
        yield work_dir / "disk"

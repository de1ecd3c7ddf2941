"""The same deaths on the way into ClickHouse, where no transaction holds rows
and mark together: the mark is written after the batch, and a batch that is in
already comes again as if nothing had been.

Not part of the matrix that docs/reliability.md counts: its cases are of
destinations with transactions.
"""

import pytest

import failpoints
from test_crash import die, test_error, test_hang, test_stop
from test_crash import test_kill as kill

__all__ = ["test_kill", "test_error", "test_hang", "test_stop"]
# By default only every so manieth case of the spread.
EVERY = {"kill": 1, "error": 3, "hang": 6, "stop": 6}


def pytest_generate_tests(metafunc):
    action = metafunc.function.__name__.rsplit("_", 1)[1]
    if "case" in metafunc.fixturenames:
        full = metafunc.config.getoption("--full")
        cases = failpoints.beside("clickhouse", full)
        metafunc.parametrize("case", cases[::1 if full else EVERY[action]],
                             ids="-".join)


def test_kill(play, case, on_record):
    kill(play, case, on_record)


@pytest.mark.parametrize("mode", failpoints.MODES[:3])
def test_killed_between_load_and_mark(play, mode):
    """Again and again at the same place: the batch is in each time, and goes
    in once."""
    case = failpoints.dealt("before_watermark", mode, "postgres", "clickhouse")
    victim = play(case)
    for _ in range(3):
        die(victim, "before_watermark", 1, {"deaths": 0})
    victim.recover()

"""Accidents on the way into ClickHouse that other engines do not have. No
transaction holds rows and mark together. The mark is written after the batch,
and a batch that is in already may come again without harm.
"""

import pytest

import failpoints
from test_crash import die
from test_crash import test_stop as stop


@pytest.mark.parametrize("mode", failpoints.MODES[:3])
def test_killed_between_load_and_mark(play, mode):
    """Again and again at the same place: the batch is in each time, and goes
    in once."""
    case = failpoints.dealt("before_watermark", mode, "postgres", "clickhouse")
    victim = play(case)
    for _ in range(3):
        die(victim, "before_watermark", 1, {"deaths": 0})
    victim.recover()


@pytest.mark.parametrize("point, mode", (
    ("mid_alter", "upsert"), ("stage_created", "replace")))
def test_stopped_while_tables_are_made(play, point, mode):
    """The woken run has an older plan than its successor. It neither makes a
    table nor takes the mark back."""
    stop(play, failpoints.dealt(point, mode, "mariadb", "clickhouse"),
         {"deaths": 0})

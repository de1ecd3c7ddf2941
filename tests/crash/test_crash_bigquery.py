"""Die on the way to BigQuery, run again, compare: at every point that a run
comes by, and where only the service's answer is lost.

The mark and the rows are one request there, a script that is a transaction: no
process can die between them.
"""

import itertools
import signal

import pytest

from bench import EXIT_ACCESS, EXIT_BUG, EXIT_OK, EXIT_STATE
from failpoints import FAILPOINTS, MODES, Case
from servers import wait_for

WITHIN = ("after_delete", "after_merge", "before_watermark", "after_watermark")
POINTS = tuple(name for name in FAILPOINTS if name not in WITHIN)
SOURCES = ("postgres", "mariadb", "sqlite")


def case(point, mode):
    at = POINTS.index(point) + MODES.index(mode)
    return Case(point, mode, SOURCES[at % 3],
                ("timestamp", "sequence")[at % 2], "bigquery", "sqlite")


def cases():
    return [case(*each) for each in itertools.product(POINTS, MODES)]


@pytest.fixture
def victim(stage, play, make_bigquery):
    stage.make_bigquery = make_bigquery
    return play


@pytest.mark.thinned(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", POINTS)
def test_kill(victim, point, mode):
    """In the first load, and in a delta with a new column while somebody
    writes."""
    one = victim(case(point, mode))
    one.leave_what(point)
    assert one.killed(point), f"{point} was not reached"
    one.check_crashed()
    one.recover()
    one.changes()
    one.leave_what(point)
    with one.writing():
        assert one.killed(point), f"{point} was not reached"
        one.check_crashed()
        one.tidemark.run()
    one.recover_from_writer()
    assert one.figures["lost"] == one.figures["doubled"] == 0


@pytest.mark.parametrize("point,mode", (
    ("mid_load", "upsert"), ("stage_full", "delete_insert"),
    ("commit_sent", "append"), ("commit_acked", "replace")))
def test_stop(victim, point, mode):
    """Paused for longer than its lease, and woken up when another has done the
    work: it changes nothing any more."""
    one = victim(case(point, mode), lease="1s")
    paused = one.start("run", "--json", failpoints=f"{point}=stop@1")
    wait_for(lambda: paused.stopped() or not paused.alive(), 60, 0.002,
             "the failpoint")
    assert paused.alive(), paused.wait()
    one.tidemark("run", "--json", "--wait", "30s").expect(EXIT_OK)
    before = one.picture()
    paused.signal(signal.SIGCONT)
    assert paused.wait().code == EXIT_STATE
    assert one.picture() == before
    one.recover()


# What the requests of a load are answered with: nothing, although they are
# done; refusals that may pass; answers that are none.
BAD_DAYS = (
    {"match": "POST /bigquery/v2/projects/[^/]+/jobs", "kind": "lost"},
    {"match": "POST /upload", "kind": "lost"},
    {"match": "POST /upload", "kind": "cut"},
    {"match": "GET .*/queries/", "kind": "lost"},
    {"match": "POST .*/jobs", "kind": "status", "status": 503},
    {"match": "POST .*/jobs", "kind": "status", "status": 500},
    {"match": "POST .*/jobs", "kind": "status", "status": 429,
     "retry_after": 1, "reason": "rateLimitExceeded"},
    {"match": "POST .*/tables", "kind": "status", "status": 503,
     "retry_after": 1},
    {"match": "POST .*/jobs", "kind": "truncated"},
    {"match": "GET .*/queries/", "kind": "truncated"},
    {"match": "GET .*/queries/", "kind": "html"},
)


@pytest.mark.parametrize("day", BAD_DAYS,
                         ids=lambda day: f"{day['kind']}{day.get('status', '')}"
                         f"-{day['match'].split()[0]}")
def test_bad_day(victim, day):
    """Each answer of a kind goes wrong once, one after the other, and the run
    gets there, with each row once."""
    one = victim(case("mid_load", "append"))
    if not one.destination.front.ours:
        pytest.skip("only our front has bad days")
    for skip in range(0, 6, 2):
        one.destination.front.faults({**day, "skip": skip})
        done = one.tidemark("run", "--json")
        assert done.code in (EXIT_OK, EXIT_ACCESS), done
        one.check_crashed()
    one.destination.front.faults()
    one.recover()
    assert one.figures["lost"] == one.figures["doubled"] == 0


@pytest.mark.parametrize("mode,statement", (
    ("upsert", "MERGE"), ("upsert", "COMMIT"), ("append", "INSERT"),
    ("append", "COMMIT"), ("delete_insert", "DELETE"),
    ("delete_insert", "INSERT")))
def test_script_that_breaks_off(victim, mode, statement):
    """Behind the mark's move: neither that nor a row is there."""
    one = victim(case("mid_load", mode))
    front = one.destination.front
    if not front.ours:
        pytest.skip("only our front breaks off")
    one.killed("mid_load")  # the tables are made
    front.faults({"match": "POST .*v2/projects/[^/]+/jobs",
                  "kind": "statement", "times": 1000,
                  "statement": statement, "within": "tidemark_before"})
    done = one.tidemark("run", "--json")
    assert done.code == EXIT_ACCESS and "planted" in done.out, done
    one.check_crashed()
    front.faults()
    one.recover()


def test_stage_that_lacks_a_row(victim):
    """A load job that says it took all: the script counts again."""
    one = victim(case("mid_load", "upsert"))
    if not one.destination.front.ours:
        pytest.skip("only our front loses rows")
    one.destination.front.faults(
        {"match": "POST /upload", "kind": "short", "times": 1000})
    done = one.tidemark("run", "--json")
    assert done.code == EXIT_BUG and "has not the rows" in done.out, done
    one.check_crashed()
    one.destination.front.faults()
    one.recover()


def test_killed_while_the_script_runs(victim):
    """The service goes on with what a dead process has sent, and the next run
    asks for that job instead of running it twice."""
    one = victim(case("commit_sent", "append"))
    if not one.destination.front.ours:
        pytest.skip("only our front can be slow")
    one.destination.front.faults(
        {"match": "GET .*/queries/tidemark_[0-9a-f]+_1", "kind": "hang",
         "seconds": 5})
    run = one.start("run", "--json")
    one.destination.front.wait_for("_1?")
    run.kill()
    one.check_crashed()
    one.destination.front.faults()
    one.recover()

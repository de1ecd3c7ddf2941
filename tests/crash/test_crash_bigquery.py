"""Accidents on the way to BigQuery that other engines do not have. The
service's answer is lost, the script breaks off, or a job goes on without us.

The mark and the rows are one request there, a script that is a transaction. No
process can die between them.
"""

import signal
import time

import pytest

from bench import EXIT_ACCESS, EXIT_BUG, EXIT_OK
from failpoints import dealt
from servers import wait_for


@pytest.fixture
def victim(play):
    """Play a case that is not in the matrix."""
    return lambda point, mode: play(dealt(point, mode, "postgres", "bigquery"))


# A request on a connection that was used before libcurl sends again by itself.
TWICE = {"times": 2}
# Answers to the requests of a load. Some requests are done without an answer,
# some are refused and may pass, and some get an answer that is none.
BAD_DAYS = (
    {"match": "POST /bigquery/v2/projects/[^/]+/jobs", "kind": "lost", **TWICE},
    {"match": "POST /upload", "kind": "lost", **TWICE},
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
    one = victim("mid_load", "append")
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
    one = victim("mid_load", mode)
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


@pytest.mark.parametrize("told,words", (
    (False, "has not the rows"), (True, "and BigQuery took")))
def test_stage_that_lacks_a_row(victim, told, words):
    """A load job that says so; and one that says it took all: the script counts
    again."""
    one = victim("mid_load", "upsert")
    if not one.destination.front.ours:
        pytest.skip("only our front loses rows")
    one.destination.front.faults(
        {"match": "POST /upload", "kind": "short", "told": told,
         "times": 1000})
    done = one.tidemark("run", "--json")
    assert done.code == EXIT_BUG and words in done.out, done
    one.check_crashed()
    one.destination.front.faults()
    one.recover()


def test_killed_while_the_script_runs(victim):
    """The service goes on with what a dead process has sent, and the next run
    asks for that job instead of running it twice."""
    one = victim("commit_sent", "append")
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


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_script_whose_answer_is_lost(victim, mode):
    """It has moved the mark: sent once more under another id, it would find
    itself overtaken."""
    one = victim("commit_sent", mode)
    front = one.destination.front
    if not front.ours:
        pytest.skip("only our front loses answers")
    run = one.start("run", "--json", failpoints="commit_sent=stop@2")
    wait_for(run.stopped, step=0.01, what="the second batch")
    front.faults({"match": "POST /bigquery/v2/projects/[^/]+/jobs",
                  "kind": "lost", **TWICE})
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_OK)
    one.recover()
    assert one.figures["lost"] == one.figures["doubled"] == 0


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_load_job_that_ends_late(victim, mode):
    """Its answer is lost, and it has not ended: it is waited for by its id.
    Sent once more, it would fill the stage again when that has the rows of
    the next batch, as many as its own."""
    one = victim("before_merge", mode)
    front = one.destination.front
    if not front.ours:
        pytest.skip("only our front can be slow")
    front.faults({"match": "POST /upload", "kind": "lost", "seconds": 3,
                  **TWICE})
    run = one.start("run", "--json", failpoints="before_merge=stop@2")
    wait_for(run.stopped, step=0.01, what="the second batch")
    time.sleep(3.5)
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_OK)
    one.recover()
    assert one.figures["lost"] == one.figures["doubled"] == 0

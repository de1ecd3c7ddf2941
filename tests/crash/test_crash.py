"""Die at every failpoint, run again, compare with what other clients say.

The cases are those of failpoints.py: a pairwise choice, or with --full the
whole product. A case whose failpoint is not reached fails.
"""

import signal
import time

import pytest

import failpoints
from bench import (EXIT_ACCESS, EXIT_OK, EXIT_STATE, EXIT_STOPPED,
                   check_accounting)
from servers import wait_for

# At these points an error each time does not fail the run. It comes too late,
# the destination says that the batch is in all the same, or each try gets
# further.
SURVIVED = ("lease_released", "commit_sent", "state_saved", "stage_dropped",
            "mid_alter")
# Errors at these points leave no message: a new connection finds the batch in,
# and the lease ends by itself. test_kill() shows that they are reached.
SILENT = ("commit_sent", "lease_released")
# Nothing is held yet, or any more.
UNLEASED = ("config_loaded", "lease_released")


def pytest_generate_tests(metafunc):
    action = metafunc.function.__name__.rsplit("_", 1)[1]
    if "case" in metafunc.fixturenames:
        full = metafunc.config.getoption("--full")
        metafunc.parametrize("case", failpoints.cases(action, full),
                             ids="-".join)


def die(victim, failpoint, n, told):
    assert victim.killed(failpoint, n), f"{failpoint} was not reached"
    told["deaths"] += 1
    victim.check_crashed()


def test_kill(play, case, on_record):
    """In the first load from a quiet source, then in a delta with a new
    column, beside somebody who goes on writing."""
    victim = play(case, on_record)
    victim.leave_what(case.failpoint)
    if failpoints.FIRST in failpoints.phases(case):
        die(victim, case.failpoint, failpoints.nth(case), on_record)
    victim.recover()
    if failpoints.DELTA not in failpoints.phases(case):
        return
    victim.changes()
    victim.leave_what(case.failpoint)
    with victim.writing() as writer:
        die(victim, case.failpoint, 1, on_record)
        victim.tidemark.run()
    on_record["writes"] = writer.committed
    victim.recover_from_writer()


def start_where_it_is_reached(victim, case):
    """Failpoints that the first load does not meet are met by the next."""
    victim.leave_what(case.failpoint)
    if failpoints.FIRST not in failpoints.phases(case):
        victim.tidemark.run()
        victim.changes()


def test_error(play, case, on_record):
    """An error that stays ends the run with exit 3; one that comes once is
    got over."""
    victim = play(case, on_record)
    start_where_it_is_reached(victim, case)
    done = victim.tidemark("run", "--json",
                           failpoints=f"{case.failpoint}=error")
    assert done.code in (EXIT_OK, EXIT_ACCESS), done
    assert done.code == EXIT_ACCESS or case.failpoint in SURVIVED, done
    if case.failpoint not in SILENT:
        assert f"failpoint {case.failpoint}" in done.out + done.err, done
    for result in done.json()["pipelines"] if done.out else []:
        check_accounting(result)
        assert result["outcome"] == ("failed" if done.code else "caught_up")
    on_record["deaths"] += 1
    victim.check_crashed()
    victim.recover()


def test_hang(play, case, on_record):
    """Stuck there: another run is told that it is busy; once the process is
    gone, the next goes on at once."""
    victim = play(case, on_record)
    start_where_it_is_reached(victim, case)
    stuck = victim.start(
        "run", "--json", failpoints=f"{case.failpoint}=hang@1")
    wait_for(lambda: f"{case.failpoint}: hangs".encode() in stuck.text["err"]
             or not stuck.alive(), step=0.002, what="the failpoint")
    assert stuck.alive(), stuck.wait()
    if case.failpoint not in UNLEASED:
        busy = victim.tidemark.run(expect=EXIT_STATE).pipeline()
        assert busy["outcome"] == "busy", busy
        assert busy["held_by"]["pid"] == stuck.process.pid
    on_record["deaths"] += 1
    end(stuck, gently=failpoints.turn(case) % 2)
    victim.check_crashed()
    victim.recover()


def end(stuck, gently):
    """By SIGKILL; or as people do: a SIGTERM, and when it does not help, a
    second one."""
    if not gently:
        assert stuck.kill().code == -signal.SIGKILL
        return
    stuck.signal(signal.SIGTERM)
    time.sleep(0.05)
    assert stuck.alive()
    # Two that come before the first is looked at are one.
    for _ in range(60):
        if not stuck.alive():
            break
        stuck.signal(signal.SIGTERM)
        time.sleep(0.5)
    stuck.wait().expect(EXIT_STOPPED)


def test_stop(play, case, on_record):
    """Paused there for longer than its lease: another takes over; woken up,
    the first changes nothing any more."""
    victim = play(case, on_record)
    start_where_it_is_reached(victim, case)
    victim.configure(lease="2s")
    paused = victim.start(
        "run", "--json", failpoints=f"{case.failpoint}=stop@1")
    wait_for(lambda: paused.stopped() or not paused.alive(),
             step=0.002, what="the failpoint")
    assert paused.alive(), paused.wait()
    on_record["deaths"] += 1
    victim.configure()
    next_one = victim.tidemark("run", "--json", "--wait", "30s")
    before = victim.picture() if next_one.code == EXIT_OK else None
    paused.signal(signal.SIGCONT)
    woken = paused.wait()
    check_woken(case, next_one, woken, paused.process.pid)
    if before and case.failpoint != "config_loaded":
        assert victim.picture() == before
    victim.recover()


def check_woken(case, next_one, woken, pid):
    """The successor cannot take a file from a paused process that has locked
    it, and says so. The first run has lost its lease, and writes nothing all
    the same."""
    if case.failpoint in UNLEASED:
        assert next_one.code == woken.code == EXIT_OK, (next_one, woken)
        return
    if next_one.code == EXIT_STATE:
        assert case.destination in ("sqlite", "duckdb"), next_one
        assert str(pid) in next_one.pipeline()["error"]["message"], next_one
    else:
        next_one.expect(EXIT_OK)
    assert woken.code == EXIT_STATE, woken


@pytest.mark.parametrize("engine", failpoints.DESTINATIONS)
def test_again_and_again(play, engine):
    """A run that dies at every third batch still gets there."""
    point = "after_watermark" if not failpoints.why_not(
        "after_watermark", "upsert", engine) else "commit_acked"
    victim = play(failpoints.Case(point, "upsert", "postgres", "timestamp",
                                  engine, "sqlite"))
    kills = 0
    while victim.killed(point, 3):
        victim.check_crashed()
        kills += 1
        assert kills < 20, "no progress over twenty kills"
    assert kills >= 1
    victim.recover()


def test_exit_is_no_success(play):
    victim = play(failpoints.Case("mid_load", "upsert", "postgres",
                                  "timestamp", "sqlite", "sqlite"))
    done = victim.tidemark("run", "--json", failpoints="mid_load=exit")
    assert done.code not in (EXIT_OK, -signal.SIGKILL), done
    victim.recover()

"""`tidemark serve` and the clocks of machines: set, or apart from each other."""

import os
import time

import pytest

from state import StateStore
from servers import wait_for
from test_serve import (logged, served,  # noqa: F401: a fixture
                        starts, stop, wait_equal)

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


@pytest.mark.parametrize("shift", ("-3600s", "+3600s"))
def test_a_clock_that_is_set(tidemark, served, shift):
    """Neither an hour without a run, nor one run after the other."""
    source, destination = served
    clock = os.path.join(tidemark.dir, "clock")
    for name in "ab":
        tidemark.pipelines[name]["schedule"] = "every 3s"
    tidemark.write_config()
    with open(clock, "w", encoding="ascii") as file:
        file.write("+0s")
    running = tidemark.start("serve", env={
        "LD_PRELOAD": FAKETIME,
        "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1"})
    wait_equal(source, destination, "a", "b")
    # The runs of turns that come again have ended.
    wait_for(lambda: StateStore(tidemark).query(
        "SELECT count(*) FROM {t}leases "
        "WHERE until = 0 AND ran_open = 0 AND ran_at > 0") == [(2,)],
             what="the end of the first runs")
    with open(clock, "w", encoding="ascii") as file:
        file.write(shift)
    wait_for(lambda: logged(running, "clock was set"), what="the jump")
    turns = {name: len(starts(tidemark, name)) for name in "ab"}
    for name, n in turns.items():
        wait_for(lambda name=name, n=n: len(starts(tidemark, name)) > n + 2,
                 what="turns")
    stop(running)
    times = starts(tidemark, "a")[turns["a"] + 1:]
    # However late they are, no more than one for each 3 s.
    assert len(times) <= (times[-1] - times[0]) / 3_000_000 + 2, times


@pytest.mark.parametrize("store", ("postgres", "sqlite"))
def test_a_clock_that_is_set_in_a_run(tidemark, served, make_database, store):
    """The run began at a time that is to come now. The next turn is none the
    later for that, and comes once."""
    source, _ = served
    clock = os.path.join(tidemark.dir, "clock")
    state = StateStore(
        tidemark, make_database("state") if store == "postgres" else None)
    tidemark.top["state"] = state.terms("30s")
    for name in "ab":
        tidemark.pipelines[name]["schedule"] = "every 2s"
    tidemark.write_config()
    with open(clock, "w", encoding="ascii") as file:
        file.write("+0s")

    def ended():
        return state.ready() and state.query(
            "SELECT ran_at FROM {t}leases WHERE name = 'a' AND ran_open = 0 "
            "AND until = 0 AND ran_at > 0")

    with source.connect(autocommit=False) as db:
        db.execute("LOCK TABLE a IN ACCESS EXCLUSIVE MODE")
        running = tidemark.start("serve", env={
            "LD_PRELOAD": FAKETIME,
            "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1"})
        wait_for(lambda: source.query(
            "SELECT FROM pg_locks WHERE NOT granted"), what="the first run")
        with open(clock, "w", encoding="ascii") as file:
            file.write("-3600s")
        wait_for(lambda: logged(running, "clock was set"), what="the jump")
        db.rollback()
    wait_for(ended, what="the end of the first run")

    def runs():
        return state.query("SELECT count(*) FROM {t}attempts "
                           "WHERE pipeline = 'a'")[0][0]

    begun, ran = time.monotonic(), runs()
    wait_for(lambda: runs() > ran + 3, what="turns")
    turns = (time.monotonic() - begun) / 2
    assert runs() - ran <= turns + 2, (turns, runs() - ran)
    stop(running)


def test_a_clock_that_was_wrong_from_the_start(tidemark, served,
                                               make_database):
    """It is more than a year behind. Nobody makes up for the times of a cron
    expression that lie between: they were before this pipeline."""
    state = StateStore(tidemark, make_database("state"))
    tidemark.top["state"] = state.terms("30s")
    tidemark.pipelines["a"]["schedule"] = {"cron": "0 0 1 1 *"}
    tidemark.write_config()
    running = tidemark.start("serve", env={
        "LD_PRELOAD": FAKETIME, "FAKETIME": "-400d",
        "DONT_FAKE_MONOTONIC": "1"})
    wait_for(lambda: state.ready() and state.query(
        "SELECT count(*) FROM {t}attempts WHERE pipeline = 'b' "
        "AND outcome = 'caught_up'")[0][0] > 2, what="runs of the other")
    stop(running)
    assert state.query("SELECT count(*) FROM {t}attempts "
                       "WHERE pipeline = 'a'") == [(0,)]


def now(state):
    """By the store's clock, in seconds."""
    return state.query("SELECT extract(epoch FROM clock_timestamp())"
                       "::float8")[0][0]


def test_machines_whose_clocks_are_apart(tidemark, served, make_database):
    """Three of them, with one store: its clock says when a turn is. The clock of
    one is 91 s ahead of it, that of another 61 s behind."""
    source, destination = served
    state = StateStore(tidemark, make_database("state"))
    tidemark.top["state"] = state.terms("30s")
    for name in "ab":
        tidemark.pipelines[name]["schedule"] = "every 2s"
    tidemark.write_config()
    begun = now(state)
    running = [tidemark.start("serve", env=fake) for fake in (
        {}, *({"LD_PRELOAD": FAKETIME, "FAKETIME": shift,
               "DONT_FAKE_MONOTONIC": "1"} for shift in ("+91s", "-61s")))]

    def runs():
        return state.ready() and state.query(
            "SELECT count(*) FROM {t}attempts WHERE pipeline = 'a' "
            "AND outcome = 'caught_up'")[0][0]

    wait_for(lambda: runs() >= 8, what="eight runs")
    turns = (now(state) - begun) / 2
    ran = runs()
    for each in running:
        stop(each)
    # One comes at once, and perhaps one more between the two looks.
    assert ran <= turns + 2, (ran, turns)
    wait_equal(source, destination, "a", "b")

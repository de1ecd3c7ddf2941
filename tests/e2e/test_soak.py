"""Writers never rest, `run --watch` syncs and is killed every few seconds;
when the writers stop, two more runs leave both sides equal."""

import contextlib
import random
import sqlite3
import time

import oracle
import workload
from bench import items_settings, written
from servers import wait_for

STRATEGIES = ("timestamp", "xmin", "sequence")
ENGINES = ("postgres", "sqlite", "duckdb")
MODES = ("upsert", "append", "delete_insert")
ROWS = 5000


def target(destination, strategy):
    return f"{destination.schema}.items_{strategy}"


def configure(tidemark, source, destinations, turn):
    """Three strategies into three destinations are nine pipelines. The modes
    are dealt out so that each meets every strategy and every destination. Three
    turns make every pair of them."""
    tidemark.connect("source", source.connection())
    for column, destination in enumerate(destinations):
        tidemark.connect(destination.engine, destination.connection())
        for row, strategy in enumerate(STRATEGIES):
            settings = items_settings(
                source, destination, strategy,
                MODES[(row + column + turn) % 3],
                to=target(destination, strategy), batch={"rows": 500})
            settings["destination"]["connection"] = destination.engine
            tidemark.pipeline(f"{destination.engine}_{strategy}", **settings)
    tidemark.write_config()


def ledger(tidemark, sql, mode="ro"):
    with contextlib.closing(sqlite3.connect(
            f"file:{tidemark.state_file}?mode={mode}", uri=True)) as db:
        return db.execute(sql).fetchall()


def at_work(tidemark, running):
    """Only looks: a writer would tidy up what the kill has left."""
    try:
        return ledger(tidemark,
                      "SELECT count(*) > 0 FROM attempts WHERE state = "
                      f"'RUNNING' AND pid = {running.process.pid}")[0][0]
    except sqlite3.OperationalError:
        return False  # not made yet, or nobody has it open


def passes_of(tidemark):
    """How often each pipeline got to its end."""
    found = dict(ledger(
        tidemark, "SELECT pipeline, count(*) FROM attempts "
                  "WHERE state = 'SUCCEEDED' GROUP BY 1", mode="rw"))
    return [found.get(name, 0) for name in tidemark.pipelines]


def watch_and_kill(tidemark, seconds, chance, *args):
    """How many times it was killed, and how many of these in mid-run. Most
    kills are aimed there, because a watch mostly rests. On a busy machine this
    goes on for as long as it takes, and each watch lives longer. A watch begins
    with the first pipeline, and the last must have its turn, too."""
    end = time.monotonic() + seconds
    kills = in_run = 0
    patience = 1.0
    while time.monotonic() < end or (
            time.monotonic() < end + 120 and
            min(passes_of(tidemark)) < seconds / 10 + 2):
        patience *= 1.0 if time.monotonic() < end else 1.5
        running = tidemark.start("run", "--watch", "1s", *args)
        time.sleep(chance.uniform(0.7, 4.0) * patience)
        if chance.random() < 0.75:
            wait_for(lambda: at_work(tidemark, running) or
                     not running.alive(), what="a run to kill")
            time.sleep(chance.uniform(0, 0.1))
        assert running.alive(), running.wait()
        running.kill()
        kills += 1
        in_run += at_work(tidemark, running)
    return kills, in_run


def check_worked(tidemark, kills, in_run, seconds):
    """It was killed while it worked, and every pipeline got on meanwhile."""
    assert kills >= seconds / 5 and in_run > kills / 5, (kills, in_run)
    passes = passes_of(tidemark)
    assert min(passes) >= seconds / 10 + 2, passes


def pytest_generate_tests(metafunc):
    if "turn" in metafunc.fixturenames:
        full = metafunc.config.getoption("--full")
        metafunc.parametrize("turn", range(3) if full else (0,))


def test_soak(tidemark, source, make_destination, full, turn,
              record_property):
    seconds = 60 if full else 12
    destinations = [make_destination(engine) for engine in ENGINES]
    workload.create_items(source, rows=ROWS)
    configure(tidemark, source, destinations, turn)
    with workload.Writers(source, threads=3, seed=turn + 1) as writers:
        kills, in_run = watch_and_kill(tidemark, seconds,
                                       random.Random(turn + 7))
    workload.settle(source)
    rest = tidemark.run().json()["pipelines"]
    for result in tidemark.run().json()["pipelines"]:
        assert result["rows_read"] == written(result) == 0, result
    check_worked(tidemark, kills, in_run, seconds)
    for destination in destinations:
        for strategy in STRATEGIES:
            oracle.check_equal(
                source, destination, "items", target(destination, strategy),
                oracle.ITEMS, pipeline=f"{destination.engine}_{strategy}")
    record_property("figures", f"{seconds} s: {writers.figures()}; {kills} "
                    f"kills, {in_run} in mid-run; left for the end: "
                    f"{sum(each['rows_read'] for each in rest)} rows")


def test_append_soak(tidemark, source, make_destination):
    """The raw table gets each settled version once, killed or not."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=500)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("items", **items_settings(
        source, destination, "timestamp", "append", batch={"rows": 100}))
    tidemark.write_config()
    with workload.Writers(source, threads=2, seed=9):
        watch_and_kill(tidemark, 6, random.Random(3))
    workload.settle(source)
    wait_for(lambda: (last := tidemark.run().pipeline())["rows_read"] ==
             last["rows_held"] == 0, step=0.2, what="the last rows to settle")
    oracle.check_equal(source, destination, "items", "public.items",
                       oracle.ITEMS, pipeline="items")
    twice = destination.query(
        "SELECT count(*) FROM (SELECT id, seq, updated_at FROM items_raw "
        "GROUP BY 1, 2, 3 HAVING count(*) > 1) versions")
    assert twice == [(0,)], "a version was appended more than once"

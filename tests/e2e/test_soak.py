"""Writers never rest, `run --watch` syncs and is killed every few seconds;
when the writers stop, two more runs leave both sides equal."""

import random
import time

import oracle
import workload
from bench import items_settings, written
from servers import wait_for

STRATEGIES = ("timestamp", "xmin", "sequence")
ENGINES = ("postgres", "sqlite", "duckdb")


def configure(tidemark, source, destinations):
    """Three strategies into three destinations: nine pipelines."""
    tidemark.connect("source", source.connection())
    for destination in destinations:
        tidemark.connect(destination.engine, destination.connection())
        for strategy in STRATEGIES:
            settings = items_settings(
                destination, strategy, table="items",
                to=f"{destination.schema}.items_{strategy}",
                batch={"rows": 500})
            settings["destination"]["connection"] = destination.engine
            tidemark.pipeline(f"{destination.engine}_{strategy}", **settings)
    tidemark.write_config()


def watch_and_kill(tidemark, seconds, chance):
    """Returns how many times it was killed, and how often while alive."""
    end = time.monotonic() + seconds
    kills = 0
    while time.monotonic() < end:
        running = tidemark.start("run", "--watch", "1s")
        time.sleep(chance.uniform(0.7, 4.0))
        assert running.alive(), running.wait()
        running.kill()
        kills += 1
    return kills


def test_soak(tidemark, source, make_destination, full):
    seconds = 60 if full else 20
    destinations = [make_destination(engine) for engine in ENGINES]
    workload.create_items(source, rows=5000)
    configure(tidemark, source, destinations)
    with workload.Writers(source, threads=3) as writers:
        kills = watch_and_kill(tidemark, seconds, random.Random(7))
    assert kills >= seconds / 5 and writers.committed > 50
    workload.settle(source)
    tidemark.run()
    second = tidemark.run()
    for result in second.json()["pipelines"]:
        assert result["rows_read"] == 0, result
        assert written(result) == 0
    for destination in destinations:
        for strategy in STRATEGIES:
            oracle.check_equal(
                source, destination, "items",
                f"{destination.schema}.items_{strategy}", oracle.ITEMS,
                pipeline=f"{destination.engine}_{strategy}")


def test_append_soak(tidemark, source, make_destination):
    """The raw table gets each settled version once, killed or not."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=500)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("items", **items_settings(
        destination, "timestamp", "append", batch={"rows": 100}))
    tidemark.write_config()
    with workload.Writers(source, threads=2, seed=9):
        watch_and_kill(tidemark, 6, random.Random(3))
    workload.settle(source)
    wait_for(lambda: tidemark.run().pipeline()["rows_read"] == 0, 20, 0.2,
             "the last rows to settle")
    oracle.check_equal(source, destination, "items", "public.items",
                       oracle.ITEMS, pipeline="items")
    twice = destination.query(
        "SELECT count(*) FROM (SELECT id, seq, updated_at FROM items_raw "
        "GROUP BY 1, 2, 3 HAVING count(*) > 1) versions")
    assert twice == [(0,)], "a version was appended more than once"

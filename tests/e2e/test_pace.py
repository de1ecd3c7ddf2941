"""How gently a run reads: its rates, and the file that holds it, with nothing
open at either end meanwhile."""

import os
import signal
import time

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DIFFERENT, EXIT_OK, EXIT_STATE,
                   EXIT_STOPPED)
from oracle import check_items
from paced_items import batches, paced, paused, wait_until_held
from servers import wait_for
from sessions import transactions

WAYS = (("postgres", "timestamp"), ("postgres", "xmin"),
        ("mariadb", "timestamp"))
WAY_NAMES = [f"{engine}-{strategy}" for engine, strategy in WAYS]


@pytest.mark.parametrize("engine, strategy", WAYS, ids=WAY_NAMES)
def test_rows_per_second(tidemark, make_source, make_destination, engine,
                         strategy):
    """It reads no faster. tests/unit/test_bucket.c shows that it waits no longer
    than it must."""
    source, destination = make_source(engine), make_destination("postgres")
    workload.create_items(source, rows=4000)
    paced(tidemark, source, destination, strategy, rows_per_second=1000)
    done = tidemark.run()
    seen = batches(tidemark)
    assert sum(rows for _, rows in seen) == 4000
    assert max(rows for _, rows in seen) <= 200, seen
    assert 3.5 <= seen[-1][0] - seen[0][0], seen
    assert done.err.count("held back by pace.rows_per_second: no more than "
                          "1000 rows/s") == 1, done
    check_items(source, destination)


def test_batch_larger_than_its_second(tidemark, source, make_destination):
    """A row of 3 seconds is read whole, and paid for before the next one."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=3)
    source.execute("UPDATE items SET payload = repeat('x', 60000)::bytea")
    paced(tidemark, source, destination, bytes_per_second="20KiB")
    tidemark.run()
    seen = batches(tidemark)
    assert [rows for _, rows in seen] == [1, 1, 1]
    for (before, _), (after, _) in zip(seen, seen[1:]):
        assert 2.3 <= after - before, seen
    check_items(source, destination)


@pytest.mark.parametrize("engine, strategy", WAYS, ids=WAY_NAMES)
def test_pause_file(tidemark, make_source, make_destination, engine, strategy):
    """It holds a run in the middle of a page: no transaction is open, the
    lease goes on beyond its time, and nothing is read."""
    source, destination = make_source(engine), make_destination("postgres")
    workload.create_items(source, rows=3000)
    # More than the sockets hold: the server is in the midst of the page too.
    source.execute("UPDATE items SET payload = repeat('x', 2000)"
                   + ("::bytea" if engine == "postgres" else ""))
    file = os.path.join(tidemark.dir, "pause")
    paced(tidemark, source, destination, strategy, pause_file=file,
          bytes_per_second="1MiB")
    running = tidemark.start("run", "--json")
    wait_for(lambda: os.path.exists(tidemark.state_file)
             and tidemark("runs", "--json").json()["runs"]
             and len(batches(tidemark)) > 1, step=0.1, what="two batches")
    open(file, "w", encoding="ascii").close()
    held = wait_until_held(tidemark, "pause_file")
    assert file in held["reason"]
    before = len(batches(tidemark))
    assert not transactions(source) and not transactions(destination)
    time.sleep(1.5)
    assert len(batches(tidemark)) == before
    assert not transactions(source) and not transactions(destination)
    assert tidemark("run", "--json").expect(EXIT_STATE).pipeline()[
        "outcome"] == "busy"
    text = tidemark("status").expect(EXIT_OK).out
    assert f"held by pace.pause_file since {held['since']}" in text
    os.remove(file)
    done = running.wait().expect(EXIT_OK)
    assert done.err.count("held by pace.pause_file since") == 1, done
    assert done.err.count("no longer held by pace.pause_file") == 1, done
    assert done.pipeline()["rows_read"] >= 3000
    assert paused(tidemark) is None
    check_items(source, destination)


def test_chunks_are_held(tidemark, source, make_destination):
    """The hold of a backfill's workers is told like a run's, until it is over
    or its worker is dead."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=400)
    file = os.path.join(tidemark.dir, "pause")
    paced(tidemark, source, destination, "sequence", pause_file=file)
    tidemark.run()
    open(file, "w", encoding="ascii").close()
    tidemark("backfill", "items", "--queue", "--chunk-rows", "200").expect(
        EXIT_OK)
    workers = [tidemark.start("worker", "--chunks", "--once")
               for _ in range(2)]

    def held(n):
        now = tidemark("status", "--json").expect(EXIT_OK).pipeline()
        of_chunks = [chunk["paused"] for chunk in now["chunks"]
                     if chunk["paused"]]
        assert now["backfill"]["held"] == len(of_chunks)
        assert now["backfill"]["paused"] == min(
            of_chunks, key=lambda hold: hold["since"], default=None)
        return now["backfill"] if len(of_chunks) == n else None

    two = wait_for(lambda: held(2), step=0.2, what="two chunks that are held")
    assert two["paused"]["by"] == "pause_file"
    assert file in two["paused"]["reason"]
    assert not transactions(source) and not transactions(destination)
    text = tidemark("status").expect(EXIT_OK).out
    assert "2 running (2 held), 0 left" in text
    assert f"held by pace.pause_file since {two['paused']['since']}: {file}" \
        in text
    workers[0].kill()
    wait_for(lambda: held(1), step=0.2, what="the dead worker's hold to end")
    os.remove(file)
    workers[1].wait().expect(EXIT_OK)
    assert held(0)["done"] == 2
    check_items(source, destination)


def test_signal_ends_the_wait(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=10)
    file = os.path.join(tidemark.dir, "pause")
    paced(tidemark, source, destination, pause_file=file)
    open(file, "w", encoding="ascii").close()
    running = tidemark.start("run", "--json")
    wait_until_held(tidemark, "pause_file")
    running.signal(signal.SIGTERM)
    done = running.wait().expect(EXIT_STOPPED)
    result = done.pipeline()
    assert (result["outcome"], result["rows_read"]) == ("stopped", 0)
    assert paused(tidemark) is None
    os.remove(file)
    tidemark.run()
    check_items(source, destination)


def pace_of(tidemark, *words):
    done = tidemark("pace", "items", *words, "--json").expect(EXIT_OK)
    return done.pipeline()


def test_pace_is_changed_while_it_runs(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=4000)
    paced(tidemark, source, destination, rows_per_second=1)
    assert pace_of(tidemark)["set"] is None
    assert pace_of(tidemark)["changed_by"] is None
    assert pace_of(tidemark, "rows_per_second=100", "max_active=900")[
        "pace"] == {"rows_per_second": 100, "bytes_per_second": 0,
                    "replica_lag": "0s", "max_active": 900, "pause_file": ""}
    running = tidemark.start("run", "--json")
    wait_for(lambda: os.path.exists(tidemark.state_file)
             and len(batches(tidemark)) > 3, step=0.1, what="batches")
    held = wait_until_held(tidemark, "rows_per_second")
    assert held["reason"] == "no more than 100 rows/s"
    file = os.path.join(tidemark.dir, "pause")
    open(file, "w", encoding="ascii").close()
    pace_of(tidemark, f"pause_file={file}")
    wait_until_held(tidemark, "pause_file")
    seen = pace_of(tidemark, "--clear", "rows_per_second=1000000")
    assert seen["set"] == {"rows_per_second": "1000000"}, seen
    assert "@" in seen["changed_by"] and seen["changed_at"], seen
    assert seen["changed_by"] in tidemark("pace", "items").out
    done = running.wait().expect(EXIT_OK)
    assert max(rows for _, rows in batches(tidemark)) > 1000
    assert done.err.count("\"tidemark pace\" has set") == 3, done
    text = tidemark("pace").expect(EXIT_OK).out
    assert "1000000" in text and "config" in text
    assert pace_of(tidemark, "--clear")["pace"]["rows_per_second"] == 1
    check_items(source, destination)


PACE_ERRORS = (
    (("rows_per_secnd=5",), 'did you mean "rows_per_second"?'),
    (("rows_per_second=fast",), 'rows_per_second: expected a count such as '
                                '20000, found "fast"'),
    (("replicas=a",), "none of the keys of pace that can be changed here"),
    (("max_active=5", "rows_per_second"), "is no KEY=VALUE"),
    (("--clear", "replica_lag=-1s"), "replica_lag: expected a duration"),
)


def test_pace_refuses(tidemark, source, make_destination):
    """Nothing is changed by a call of which a part is wrong."""
    paced(tidemark, source, make_destination("postgres"))
    pace_of(tidemark, "max_active=7")
    for words, text in PACE_ERRORS:
        done = tidemark("pace", "items", *words).expect(EXIT_CONFIG)
        assert text in done.err, done
        assert pace_of(tidemark)["set"] == {"max_active": "7"}
    assert "PIPELINE" in tidemark("pace", "--clear").expect(EXIT_CONFIG).err
    assert '"itms"' in tidemark("pace", "itms", "max_active=5").expect(
        EXIT_CONFIG).err


def test_batches_adapt_to_the_target(tidemark, source, make_destination):
    """A destination takes 1 ms a row. Batches come down to the rows that load
    in batch.target, and no further while a rate gives way as well."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=5000)
    paced(tidemark, source, destination, rows_per_second=8000)
    tidemark.pipelines["items"]["batch"] = {"rows": 50}
    tidemark.write_config()
    tidemark.run("--max-batches", "1")
    before = len(batches(tidemark))
    destination.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(0.001); RETURN new; END $$",
        f"CREATE TRIGGER slow BEFORE INSERT ON {destination.schema}.items "
        "FOR EACH ROW EXECUTE FUNCTION slow()")
    tidemark.pipelines["items"]["batch"] = {"rows": 1600, "target": "400ms"}
    tidemark.write_config()
    tidemark.run()
    sizes = [rows for _, rows in batches(tidemark)[before:]]
    assert sizes[0] == 1600 and sizes[1] in (800, 1600), sizes
    assert all(200 <= rows <= 500 for rows in sizes[3:-1]), sizes
    check_items(source, destination)


def test_what_is_read_again_to_verify(tidemark, source, make_destination):
    """`run --verify` reads the window a second time, from the same buckets,
    and is held by the same things, with nothing open at either end."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=3000)
    source.execute("UPDATE items SET payload = repeat('x', 2000)::bytea")
    file = os.path.join(tidemark.dir, "pause")
    paced(tidemark, source, destination, rows_per_second=500, pause_file=file)
    running = tidemark.start("run", "--json", "--verify")
    wait_for(lambda: "items" in destination.tables() and destination.query(
        "SELECT 1 FROM items HAVING count(*) = 3000"),
             step=0.1, what="the load")
    time.sleep(1)  # in the midst of the look, which takes 6 s
    open(file, "w", encoding="ascii").close()
    wait_until_held(tidemark, "pause_file")
    assert not transactions(source) and not transactions(destination)
    time.sleep(1.2)  # more than the lease
    assert not transactions(source) and not transactions(destination)
    assert tidemark("run", "--json").expect(EXIT_STATE).pipeline()[
        "outcome"] == "busy"
    os.remove(file)
    done = running.wait().expect(EXIT_OK)
    found = done.pipeline()["verified"]
    assert found["equal"] and found["rows"] == 3000, found
    assert done.err.count("held back by pace.rows_per_second") == 1, done
    assert done.err.count("no longer held by pace.pause_file") == 1, done
    assert paused(tidemark) is None


def test_second_looks_are_paced(tidemark, source, make_destination):
    """Rows that differ are looked for at the source again, all of them."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=600)
    paced(tidemark, source, destination, rows_per_second=300)
    tidemark.run()
    destination.execute("CREATE TRIGGER spoil AFTER UPDATE ON items BEGIN "
                        "UPDATE items SET quantity = 777; END")
    workload.touch_items(source, "true")
    workload.settle(source)
    begun = time.monotonic()
    done = tidemark.run("--verify", expect=EXIT_DIFFERENT)
    assert done.pipeline()["verified"]["different"] >= 590
    # The load, the window, its keys.
    assert time.monotonic() - begun >= 3 * 600 / 300 - 1


@pytest.mark.parametrize("engine", ("postgres", "mysql", "sqlite"))
def test_verify_is_paced(tidemark, make_source, make_destination, engine):
    """As a run is, by the config's pace or by what `tidemark pace` has set,
    until that is changed; a signal ends the wait."""
    source, destination = make_source(engine), make_destination("postgres")
    workload.create_items(source, rows=1000)
    paced(tidemark, source, destination)
    tidemark.run()
    file = os.path.join(tidemark.dir, "pause")
    tidemark("pace", "items", "rows_per_second=400",
             f"pause_file={file}").expect(EXIT_OK)
    begun = time.monotonic()
    done = tidemark("verify", "--json").expect(EXIT_OK)
    assert done.pipeline()["source_rows"] == 1000
    assert time.monotonic() - begun >= 1000 / 400 - 1
    assert done.err.count("held back by pace.rows_per_second") == 1, done
    open(file, "w", encoding="ascii").close()
    running = tidemark.start("verify", "--json")
    wait_for(lambda: b"held by pace.pause_file" in running.text["err"],
             what="the hold")
    tidemark("pace", "items", "--clear").expect(EXIT_OK)
    assert running.wait().expect(EXIT_OK).pipeline()["equal"]
    tidemark("pace", "items", f"pause_file={file}").expect(EXIT_OK)
    running = tidemark.start("verify")
    wait_for(lambda: b"held by pace.pause_file" in running.text["err"],
             what="the hold")
    running.signal(signal.SIGTERM)
    running.wait().expect(EXIT_STOPPED)


def test_chunks_are_verified_by_their_pace(tidemark, source,
                                           make_destination):
    """Rows that are read again, for comparing, come out of the same buckets.
    Mode append reads its rows again in any case."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=600)
    paced(tidemark, source, destination)
    tidemark.pipelines["items"]["load"] = {"mode": "append"}
    tidemark.write_config()
    tidemark.run()
    tidemark.pipelines["items"]["pace"] = {"rows_per_second": 300}
    tidemark.write_config()
    begun = time.monotonic()
    tidemark("backfill", "items", "--chunk-rows", "600").expect(EXIT_OK)
    # The load, and the look.
    assert time.monotonic() - begun >= 2 * 600 / 300 - 1

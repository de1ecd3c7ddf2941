"""The first load of a table by several streams (`load.streams`): equal to that
of one stream, whatever happens meanwhile."""

import signal
import sqlite3
import threading

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_SCHEMA, EXIT_STOPPED,
                   Tidemark, sync_items, written)
from oracle import check_items
from servers import wait_for

ROWS = 6000
SAID = "is loaded by 3 streams"


@pytest.fixture
def failing(failpoint_binary, work_dir):
    return Tidemark(failpoint_binary, work_dir)


def fill(source, rows=ROWS):
    """Each row has a mark of its own, and the server knows about how many
    there are."""
    workload.create_items(source, rows=rows)
    if source.engine == "postgres":
        source.execute("UPDATE items SET updated_at = timestamptz "
                       "'2024-01-01' + id * interval '1 second'",
                       "ANALYZE items")
    else:
        source.execute("UPDATE items SET updated_at = TIMESTAMP "
                       "'2024-01-01 00:00:00' + INTERVAL id SECOND",
                       "ANALYZE TABLE items")


def configure(tidemark, source, destination, strategy="timestamp", streams=3,
              mode="upsert", **more):
    sync_items(tidemark, source, destination, strategy, mode, **more)
    tidemark.pipelines["items"]["load"]["streams"] = streams
    tidemark.top["log"] = {"row_values": True}
    return tidemark.write_config()


def ranges(tidemark):
    with sqlite3.connect(tidemark.state_file) as db:
        return db.execute("SELECT state, count(*) FROM chunks GROUP BY state "
                          "ORDER BY state").fetchall()


def check_end(tidemark, source, destination, forgotten=True):
    """Nothing is left of the ranges, and one more run has nothing to do."""
    check_items(source, destination)
    left = ranges(tidemark)
    assert left == [] or (not forgotten and [x for x, _ in left] == ["done"])
    assert written(tidemark.run().pipeline()) == 0
    assert tidemark("verify", "items", "--json").expect(EXIT_OK)


PAIRS = (
    ("postgres", "postgres"), ("postgres", "mysql"), ("postgres", "mariadb"),
    ("postgres", "clickhouse"), ("postgres", "duckdb"), ("mysql", "postgres"),
    ("mysql", "mysql"), ("mysql", "duckdb"), ("mariadb", "postgres"),
    ("mariadb", "mariadb"), ("mysql", "clickhouse"))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("strategy, engine, to", [
    (strategy, *pair) for strategy in ("timestamp", "sequence", "xmin")
    for pair in PAIRS if strategy != "xmin" or pair[0] == "postgres"])
def test_equal_to_one_stream(tidemark, make_source, make_destination, engine,
                             to, strategy):
    """The same rows, each read once, and the same mark."""
    source, destination = make_source(engine), make_destination(to)
    fill(source)
    configure(tidemark, source, destination, strategy)
    done = tidemark.run()
    assert SAID in done.err
    result = done.pipeline()
    assert result["rows_inserted"] == result["rows_read"] == ROWS
    check_end(tidemark, source, destination)
    marks = [tidemark("watermark", "show", "--json").json()]
    tidemark("watermark", "reset", "items").expect(EXIT_OK)
    tidemark.pipelines["items"]["load"]["streams"] = 1
    tidemark.write_config()
    once = tidemark.run()
    assert SAID not in once.err
    assert written(once.pipeline()) == 0
    marks.append(tidemark("watermark", "show", "--json").json())
    positions = [str(mark).split("'value': ")[1].split(", 'pending")[0]
                 .split(", 'columns")[0] for mark in marks]
    # A transaction's number goes on by itself.
    assert positions[0] == positions[1] or strategy == "xmin"


@pytest.mark.thinned(3)
@pytest.mark.parametrize("to", ("postgres", "mysql", "clickhouse", "duckdb"))
@pytest.mark.parametrize("strategy", ("timestamp", "sequence", "xmin"))
def test_under_writers(tidemark, source, make_destination, to, strategy):
    """Long transactions come last with older marks; the table is rewritten.
    The writers cannot reach so many rows that too few are left to split."""
    destination = make_destination(to)
    fill(source, 2 * ROWS)
    configure(tidemark, source, destination, strategy, batch={"rows": 600})
    done = threading.Event()
    failed = []

    def rewrite():
        try:
            while not done.wait(0.05):
                source.execute("VACUUM FULL items")
        except Exception as error:
            failed.append(error)

    with workload.Writers(source, seed=7):
        rewriting = threading.Thread(target=rewrite)
        rewriting.start()
        said = tidemark.run().err
        done.set()
        rewriting.join()
    assert not failed, failed
    assert SAID in said
    workload.settle(source)
    tidemark.run()
    check_end(tidemark, source, destination)


@pytest.mark.parametrize("to, strategy", (
    ("postgres", "timestamp"), ("postgres", "xmin"), ("duckdb", "timestamp")))
def test_rows_that_move(tidemark, source, make_destination, to, strategy):
    """Keys change and rows go to other partitions while ranges are read: no
    row of the source is lost. Half of the rows stay, however long the first
    look takes: enough to be split."""
    destination = make_destination(to)
    source.execute(
        "CREATE TABLE items (id bigint, name text, updated_at timestamptz NOT "
        "NULL, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
        *(f"CREATE TABLE items_{n} PARTITION OF items FOR VALUES FROM "
          f"({n * 10000}) TO ({(n + 1) * 10000})" for n in range(4)),
        "INSERT INTO items SELECT n, 'a', timestamptz '2024-01-01' "
        "+ n * interval '1 second' FROM generate_series(1, 6000) n",
        "ANALYZE items")
    configure(tidemark, source, destination, strategy, batch={"rows": 200})
    done = threading.Event()
    failed = []

    def move():
        try:
            n = 0
            while not done.is_set():
                n += 1
                source.execute(
                    "UPDATE items SET id = (id + 10000) % 40000, name = "
                    f"'moved {n}', updated_at = now() WHERE id % 50 = {n % 25}")
        except Exception as error:
            failed.append(error)

    moving = threading.Thread(target=move)
    moving.start()
    said = tidemark.run().err
    done.set()
    moving.join()
    assert not failed, failed
    assert SAID in said
    workload.settle(source)
    tidemark.run()
    there = set(destination.query("SELECT id, name FROM items"))
    assert set(source.query("SELECT id, name FROM items")) <= there
    ids = [row[0] for row in destination.query("SELECT id FROM items")]
    assert len(ids) == len(set(ids))
    assert written(tidemark.run().pipeline()) == 0


def make_partitioned(source):
    numbers = ("WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s "
               "WHERE n < 1000) SELECT n + {0}, 'a', TIMESTAMP "
               "'2024-01-01 00:00:00' + INTERVAL n + {0} SECOND FROM s")
    source.execute(
        "CREATE TABLE items (id bigint, name varchar(40), updated_at "
        "datetime(6) NOT NULL, PRIMARY KEY (id), KEY (updated_at)) PARTITION "
        "BY RANGE (id) (" + ", ".join(
            f"PARTITION p{n} VALUES LESS THAN ({(n + 1) * 10000})"
            for n in range(4)) + ")",
        *(f"INSERT INTO items {numbers.format(first)}"
          for first in range(0, ROWS, 1000)),
        "ANALYZE TABLE items")


MOVES = ("UPDATE items SET id = (id + 10000) % 40000, name = 'moved {n}', "
         "updated_at = utc_timestamp(6) WHERE id % 50 = {n} % 25",)
# A mark is kept, as long as its row is there.
REWRITES = ("ALTER TABLE items FORCE", "OPTIMIZE TABLE items",
            "ALTER TABLE items REBUILD PARTITION p0", "ANALYZE TABLE items")


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine, to", (("mysql", "postgres"),
                                        ("mysql", "mysql"),
                                        ("mariadb", "duckdb"),
                                        ("mariadb", "mariadb")))
@pytest.mark.parametrize("statements", (MOVES, REWRITES),
                         ids=("moves", "rewrites"))
def test_rows_that_move_in_mysql(tidemark, make_source, make_destination,
                                 engine, to, statements):
    source, destination = make_source(engine), make_destination(to)
    make_partitioned(source)
    configure(tidemark, source, destination, batch={"rows": 200})
    done = threading.Event()
    failed = []

    def disturb():
        try:
            n = 0
            while not done.wait(0.02):
                n += 1
                statement = statements[n % len(statements)].format(n=n)
                if statement.startswith("UPDATE"):
                    source.execute(statement)
                else:
                    source.query(statement)
        except Exception as error:
            failed.append(error)

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    said = tidemark.run().err
    done.set()
    disturbing.join()
    assert not failed, failed
    assert SAID in said
    workload.settle(source)
    tidemark.run()
    there = set(destination.query("SELECT id, name FROM items"))
    assert set(source.query("SELECT id, name FROM items")) <= there
    ids = [row[0] for row in destination.query("SELECT id FROM items")]
    assert len(ids) == len(set(ids))
    assert written(tidemark.run().pipeline()) == 0


@pytest.mark.parametrize("engine", ("mysql", "mariadb"))
def test_rebuilt_in_the_middle_of_ranges(failing, make_source,
                                         make_destination, engine):
    """The server has another table then, and the rows at which the ranges
    stopped have other marks. These ranges begin anew."""
    source, destination = make_source(engine), make_destination("postgres")
    fill(source)
    configure(failing, source, destination, batch={"rows": 300})
    assert failing.killed(failpoints="before_watermark=kill@7")
    assert destination.query(
        "SELECT FROM _tidemark_watermark WHERE pipeline LIKE 'items/%' AND "
        "watermark::json->>'value' IS NOT NULL")
    workload.touch_items(source, "id < 5990")
    source.query("OPTIMIZE TABLE items")
    workload.settle(source)
    failing.run()
    check_end(failing, source, destination)


POINTS = ("streams_queued=kill@1", "before_watermark=kill@1",
          "before_watermark=kill@5", "after_merge=kill@4",
          "commit_acked=kill@7", "streams_loaded=kill@1",
          "streams_written=kill@1")


@pytest.mark.thinned(3)
@pytest.mark.parametrize("to, strategy", (
    ("postgres", "timestamp"), ("mysql", "timestamp"),
    ("clickhouse", "timestamp"), ("duckdb", "timestamp"),
    ("postgres", "xmin"), ("duckdb", "xmin")))
@pytest.mark.parametrize("point", POINTS)
def test_killed_and_resumed(failing, source, make_destination, to, strategy,
                            point):
    destination = make_destination(to)
    fill(source)
    configure(failing, source, destination, strategy, batch={"rows": 300})
    if not failing.killed(failpoints=point):
        assert to == "clickhouse", "the point was not reached"
        pytest.skip("this engine has no such point")
    workload.touch_items(source, "id % 7 = 0")
    source.execute("VACUUM FULL items")
    workload.settle(source)
    failing.run()
    # Killed behind the mark: the next first load forgets them.
    check_end(failing, source, destination, "written" not in point)


def test_ranges_that_are_done_stay_done(failing, source, make_destination):
    destination = make_destination("postgres")
    fill(source)
    configure(failing, source, destination)
    assert failing.killed(failpoints="streams_loaded=kill@1")
    assert ranges(failing)[0][0] == "done" and len(ranges(failing)) == 1
    done = failing.run()
    assert done.pipeline()["rows_read"] <= 2
    check_end(failing, source, destination)
    total, = destination.query("SELECT rows_total FROM _tidemark_watermark")
    assert total[0] >= ROWS


@pytest.mark.parametrize("strategy", ("timestamp", "xmin"))
def test_partition_is_attached_between_ranges(failing, source,
                                              make_destination, strategy):
    """It brings rows of any age, where ranges were read already."""
    destination = make_destination("postgres")
    source.execute(
        "CREATE TABLE items (id bigint, part int, name text, updated_at "
        "timestamptz NOT NULL, PRIMARY KEY (id, part)) PARTITION BY LIST (part)",
        "CREATE TABLE items_0 PARTITION OF items FOR VALUES IN (0)",
        "CREATE TABLE items_1 (LIKE items INCLUDING ALL)",
        "INSERT INTO items SELECT n, 0, 'a', timestamptz '2024-01-01' "
        "+ n * interval '1 second' FROM generate_series(1, 6000) n",
        "INSERT INTO items_1 SELECT n, 1, 'b', timestamptz '2024-01-01' "
        "+ n * interval '1 second' FROM generate_series(1, 6000, 2) n",
        "ANALYZE items")
    configure(failing, source, destination, strategy)
    assert failing.killed(failpoints="streams_loaded=kill@1")
    source.execute(
        "ALTER TABLE items ATTACH PARTITION items_1 FOR VALUES IN (1)")
    failing.run()
    assert (sorted(destination.query("SELECT id, part FROM items"))
            == sorted(source.query("SELECT id, part FROM items")))
    assert written(failing.run().pipeline()) == 0


@pytest.mark.parametrize("how", ("reset", "one stream", "other rows"))
def test_another_load_in_between(failing, source, make_destination, how):
    """A range that was done counts only for the load it belongs to."""
    destination = make_destination("postgres")
    fill(source)
    configure(failing, source, destination)
    assert failing.killed(failpoints="streams_loaded=kill@1")
    destination.execute("DELETE FROM items WHERE id % 10 = 3")
    if how == "reset":
        failing("watermark", "reset", "items").expect(EXIT_OK)
    elif how == "one stream":
        failing.pipelines["items"]["load"]["streams"] = 1
    else:
        failing.pipelines["items"]["source"]["where"] = "id > 0"
    failing.write_config()
    failing.run()
    check_end(failing, source, destination)


def test_sessions_are_killed(tidemark, source, make_destination):
    """Each stream begins its range where it was."""
    destination = make_destination("postgres")
    fill(source)
    configure(tidemark, source, destination, batch={"rows": 100})
    tidemark.pipelines["items"]["source"]["where"] = \
        "pg_sleep(0.0002) IS NOT NULL"
    tidemark.write_config()
    call = tidemark.start("run", "--json")
    for end in (source, destination):
        wait_for(lambda: len(destination.query(
            "SELECT FROM _tidemark_watermark WHERE pipeline LIKE 'items/%'"))
            if destination.tables() else False, what="a range's mark")
        end.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> "
                    "pg_backend_pid() AND application_name LIKE 'tidemark%'")
    done = call.wait().expect(EXIT_OK)
    assert SAID in done.err
    del tidemark.pipelines["items"]["source"]["where"]
    tidemark.write_config()
    tidemark.run()
    check_end(tidemark, source, destination)


@pytest.mark.parametrize("engine, to", (("postgres", "postgres"),
                                        ("mysql", "mysql")))
@pytest.mark.parametrize("end", ("source", "destination"))
def test_session_of_one_stream_is_killed(tidemark, make_source,
                                         make_destination, engine, to, end):
    """The others do not notice, and its range goes on."""
    source, destination = make_source(engine), make_destination(to)
    fill(source)
    configure(tidemark, source, destination, batch={"rows": 100})
    pause = {"postgres": "pg_sleep(0.0005) IS NOT NULL",
             "mysql": "sleep(0.0005) = 0"}[engine]
    tidemark.pipelines["items"]["source"]["where"] = pause
    tidemark.write_config()
    call = tidemark.start("run", "--json")
    wait_for(lambda: len(destination.query(
        "SELECT pipeline FROM _tidemark_watermark WHERE pipeline LIKE 'items/%'"))
        > 1 if destination.tables() else False, what="marks of ranges")
    assert kill_one(source if end == "source" else destination)
    done = call.wait().expect(EXIT_OK)
    assert SAID in done.err
    del tidemark.pipelines["items"]["source"]["where"]
    tidemark.write_config()
    tidemark.run()
    check_end(tidemark, source, destination)


def kill_one(end):
    """The youngest session of ours: a stream's, for theirs come last."""
    if end.engine == "postgres":
        return end.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
            "datname = current_database() AND pid <> pg_backend_pid() AND "
            "application_name LIKE 'tidemark%' "
            "ORDER BY backend_start DESC LIMIT 1")
    found = end.query(
        "SELECT id FROM information_schema.processlist WHERE db = database() "
        "AND id <> connection_id() ORDER BY id DESC LIMIT 1")
    end.execute(f"KILL {found[0][0]}")
    return found


def test_range_that_is_refused(tidemark, source, make_destination):
    """The other streams end in order; the error names the range; the next run
    reads what is left."""
    destination = make_destination("postgres")
    fill(source)
    configure(tidemark, source, destination, batch={"rows": 300})
    tidemark.run()
    tidemark("watermark", "reset", "items").expect(EXIT_OK)
    destination.execute("DELETE FROM items", "ALTER TABLE items ADD CONSTRAINT "
                        "small CHECK (id <> 100)")
    refused = tidemark("run", "--json").expect(EXIT_DATA)
    assert SAID in refused.err
    result = refused.pipeline()
    assert result["pipeline"] == "items" and result["outcome"] == "failed"
    message = result["error"]["message"]
    assert "public.items, the range of updated_at from" in message, message
    assert "small" in message, message
    assert ("failed", 1) in ranges(tidemark)
    assert not tidemark("status", "--json").json()["pipelines"][0].get("running")
    there, = destination.query("SELECT count(*) FROM items")
    destination.execute("ALTER TABLE items DROP CONSTRAINT small")
    done = tidemark.run()
    assert done.pipeline()["rows_inserted"] == ROWS - there[0]
    assert done.pipeline()["rows_read"] <= ROWS - there[0]
    check_end(tidemark, source, destination)


def test_server_that_is_behind(failing, source, make_destination):
    """A range is not read where the source has not come as far as the load's
    begin: there, a number as of another server."""
    destination = make_destination("postgres")
    fill(source)
    configure(failing, source, destination, "xmin", batch={"rows": 300})
    failing.pipelines["items"]["retry"] = {"attempts": 1}
    failing.write_config()
    assert failing.killed(failpoints="before_watermark=kill@3")
    with sqlite3.connect(failing.state_file) as db:
        db.execute("UPDATE chunks SET window_to = '999999999' WHERE number = 1")
    refused = failing("run", "--json")
    assert refused.code != EXIT_OK
    assert "another server answers, which is behind" in refused.err
    failing("watermark", "reset", "items").expect(EXIT_OK)
    failing.run()
    check_end(failing, source, destination)


def test_stopped_by_a_signal(tidemark, source, make_destination):
    destination = make_destination("postgres")
    fill(source)
    configure(tidemark, source, destination, batch={"rows": 100})
    tidemark.pipelines["items"]["source"]["where"] = \
        "pg_sleep(0.0002) IS NOT NULL"
    tidemark.write_config()
    call = tidemark.start("run")
    wait_for(lambda: SAID in call.text["err"].decode(), what="the streams")
    call.signal(signal.SIGTERM)
    call.wait().expect(EXIT_STOPPED)
    assert SAID in tidemark.run().err
    check_end(tidemark, source, destination)


@pytest.mark.parametrize("to, strategy, mode, more", (
    ("postgres", "timestamp", "append", {}),
    ("postgres", "timestamp", "replace", {}),
    ("postgres", "timestamp", "upsert", {"watermark": {"nulls": "include"}}),
    ("postgres", "timestamp", "upsert", {"gate": {"max_rows": 100000}}),
    ("sqlite", "timestamp", "upsert", {})))
def test_one_stream_all_the_same(tidemark, source, make_destination, to,
                                 strategy, mode, more):
    destination = make_destination(to)
    fill(source)
    configure(tidemark, source, destination, strategy, mode=mode, **more)
    said = tidemark.run().err
    assert SAID not in said and "is loaded by one stream: " in said
    check_items(source, destination)


@pytest.mark.parametrize("streams", (0, 33, "many", -1, 1.5))
def test_refused_counts(tidemark, source, make_destination, streams):
    configure(tidemark, source, make_destination("postgres"), streams=streams)
    refused = tidemark("run").expect(EXIT_CONFIG)
    assert "streams" in refused.err


@pytest.mark.parametrize("engine", ("postgres", "mysql", "mariadb"))
def test_ids_begin_anew_between_ranges(failing, make_source, make_destination,
                                       engine):
    """Rows with the ids of ranges that are done are told, or read."""
    source, destination = make_source(engine), make_destination("postgres")
    kind = {"postgres": "bigint GENERATED BY DEFAULT AS IDENTITY"}.get(
        engine, "bigint AUTO_INCREMENT")
    fresh = ("INSERT INTO items (name) WITH RECURSIVE s(n) AS (SELECT 1 UNION "
             "ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT '{0}' FROM s")
    analyze = "ANALYZE items" if engine == "postgres" else "ANALYZE TABLE items"
    source.execute(f"CREATE TABLE items (id {kind}, name varchar(40), "
                   "PRIMARY KEY (id))",
                   *[fresh.format("old")] * 6, analyze)
    configure(failing, source, destination, "sequence")
    failing.pipelines["items"]["watermark"]["column"] = "id"
    failing.write_config()
    assert failing.killed(failpoints="streams_loaded=kill@1")
    source.execute("TRUNCATE items" + (" RESTART IDENTITY"
                                       if engine == "postgres" else ""),
                   *[fresh.format("new")] * 7)
    workload.settle(source)
    done = failing("run")
    if done.code == EXIT_OK:
        assert (dict(source.query("SELECT id, name FROM items"))
                == dict(destination.query("SELECT id, name FROM items")))
    else:
        done.expect(EXIT_SCHEMA)

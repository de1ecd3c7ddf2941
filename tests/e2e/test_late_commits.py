"""Rows that become visible after rows with a higher mark were read."""

import pytest

import oracle
import workload
from bench import sync_items, written
from oracle import check_items
from servers import wait_for

STRATEGIES = ("timestamp", "xmin", "sequence")
ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql", "clickhouse",
           "bigquery")

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def insert(db, name):
    db.execute("INSERT INTO items (name) VALUES (%s)", [name])


def names(destination):
    return {row[0] for row in destination.rows(f"{destination.schema}.items",
                                               {"name": "text"})}


@pytest.fixture(params=ENGINES)
def destination(request, make_destination):
    return make_destination(request.param)


@pytest.fixture
def synced(tidemark, source, destination):
    """A pipeline that has caught up with 50 old rows."""
    def make(strategy, mode="upsert", **settings):
        workload.create_items(source, rows=50)
        sync_items(tidemark, source, destination, strategy, mode, **settings)
        tidemark.run()
        return tidemark
    return make


@pytest.mark.thinned(5)
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
@every_strategy
def test_late_commit(synced, source, destination, strategy, mode):
    """An open transaction has taken its now() and its sequence value; others
    commit after it and are synced; then it commits."""
    tidemark = synced(strategy, mode)
    with source.connect(autocommit=False) as late:
        insert(late, "late")
        with source.connect() as early:
            insert(early, "early")
        workload.settle(source)
        tidemark.run()
        if mode != "append":
            assert "early" in names(destination), "a long transaction stalls"
        assert "late" not in names(destination)
        tidemark.run()
        late.commit()
    workload.settle(source)
    tidemark.run()
    assert {"late", "early"} <= names(destination)
    check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.thinned(3)
@every_strategy
def test_late_commit_with_no_xid_yet(synced, source, destination, strategy):
    """A transaction that has only read so far may still write its old now()."""
    tidemark = synced(strategy)
    with source.connect(autocommit=False) as late:
        late.execute("SELECT now()")
        with source.connect() as early:
            insert(early, "early")
        workload.settle(source)
        tidemark.run()
        insert(late, "late")
        late.commit()
    workload.settle(source)
    tidemark.run()
    check_items(source, destination)
    tidemark.run()
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.thinned(3)
@every_strategy
def test_late_commit_of_a_savepoint(synced, source, destination, strategy):
    """The row's xmin is the subtransaction's, higher than its parent's."""
    tidemark = synced(strategy)
    with source.connect(autocommit=False) as late:
        insert(late, "parent")
        with source.connect() as early:
            insert(early, "between")
        late.execute("SAVEPOINT one")
        insert(late, "in savepoint")
        late.execute("SAVEPOINT two")
        insert(late, "rolled back")
        late.execute("ROLLBACK TO two")
        with source.connect() as early:
            insert(early, "after")
        workload.settle(source)
        tidemark.run()
        late.execute("RELEASE one")
        late.execute("UPDATE items SET quantity = 999, seq = "
                     "nextval('items_seq'), updated_at = now() WHERE id = 7")
        tidemark.run()
        late.commit()
    workload.settle(source)
    tidemark.run()
    check_items(source, destination)
    assert "rolled back" not in names(destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.thinned(3)
@every_strategy
def test_late_commit_of_a_prepared_transaction(synced, source, destination,
                                               strategy):
    """It has no session any more, and commits when somebody says so."""
    tidemark = synced(strategy)
    with source.connect(autocommit=False) as late:
        insert(late, "prepared")
        late.execute("PREPARE TRANSACTION 'tidemark_late'")
    insert_now = source.connect()
    insert(insert_now, "early")
    workload.settle(source)
    tidemark.run()
    assert "prepared" not in names(destination)
    insert_now.execute("COMMIT PREPARED 'tidemark_late'")
    insert_now.close()
    workload.settle(source)
    tidemark.run()
    assert {"prepared", "early"} <= names(destination)
    check_items(source, destination)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("mode", ("upsert", "append"))
@pytest.mark.parametrize("first", ("an insert", "a look"))
@every_strategy
def test_prepared_between_two_runs(tidemark, source, make_destination,
                                   strategy, first, mode):
    """One run sees the transaction as a session's. The next runs see it as a
    prepared one under another name, with an xid or without one at first."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, strategy, mode)
    tidemark.run()
    with source.connect(autocommit=False) as late:
        number = late.execute("SELECT nextval('items_seq')").fetchone()[0]
        insert_late = (f"INSERT INTO items (name, seq, updated_at) "
                       f"VALUES ('late', {number}, now())")
        if first == "an insert":
            late.execute(insert_late)
        source.execute("INSERT INTO items (name) VALUES ('early')")
        workload.settle(source)
        tidemark.run()
        if first == "a look":
            late.execute(insert_late)
        late.execute("PREPARE TRANSACTION 'tidemark_between'")
    source.execute("INSERT INTO items (name) VALUES ('beside')")
    workload.settle(source)
    tidemark.run()
    held = tidemark.run().pipeline()
    assert held["held_by"]["prepared"] == "tidemark_between", held
    assert held["guarantee"] == "exact", held
    if mode != "append":
        assert {"early", "beside"} <= names(destination)
    status = tidemark("status", "--json").expect(0).pipeline()
    assert status["held_by"]["prepared"] == "tidemark_between", status
    source.execute("COMMIT PREPARED 'tidemark_between'")
    workload.settle(source)
    tidemark.run()
    assert {"late", "early", "beside"} <= names(destination)
    check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.thinned(3)
@every_strategy
def test_late_commit_while_a_page_is_read(tidemark, source, make_destination,
                                          strategy):
    """The page's snapshot does not see the row, and its transaction is over
    when the page ends. Only a settled point from before the snapshot knows that
    the row was still to come."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, strategy)
    tidemark.pipelines["items"]["source"]["where"] = (
        "pg_catalog.pg_sleep(0.01)::text IS NOT NULL")
    tidemark.write_config().run()
    with source.connect(autocommit=False) as late:
        insert(late, "late")
        with source.connect() as early:
            early.execute("INSERT INTO items (name) SELECT 'early ' || n "
                          "FROM generate_series(1, 150) n")
        workload.settle(source)
        running = tidemark.start("run", "--json")
        wait_for(lambda: source.query(
            # The server shows only the beginning of a page's statement.
            "SELECT 1 FROM pg_stat_activity "
            "WHERE application_name = 'tidemark/source' AND state = 'active' "
            "AND query_start < clock_timestamp() - interval '300 ms'"),
                 what="a page under way")
        late.commit()
        assert running.alive(), "the page was over too soon"
        running.wait().expect(0)
    tidemark.run()
    check_items(source, destination)


@pytest.mark.thinned(3)
@every_strategy
def test_held_by_names_the_transaction(tidemark, source, make_destination,
                                       strategy):
    """While somebody holds the mark back, the run says who."""
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, make_destination("sqlite"), strategy)
    tidemark.run()
    with source.connect(autocommit=False) as late:
        insert(late, "late")
        pid = late.info.backend_pid
        with source.connect() as early:
            insert(early, "early")
        workload.settle(source)
        tidemark.run()
        held = tidemark.run().pipeline()["held_by"]
        assert held and held["pid"] == pid, held
        late.rollback()
    workload.settle(source)
    tidemark.run()
    assert tidemark.run().pipeline()["held_by"] is None


def test_a_row_from_the_future_drags_nothing(synced, source, destination):
    """A row dated 2099 is delivered; later rows are not lost behind it."""
    tidemark = synced("timestamp")
    source.execute("INSERT INTO items (name, updated_at) VALUES "
                   "('future', '2099-01-01 00:00:00+00')")
    tidemark.run()
    assert "future" in names(destination)
    source.execute("INSERT INTO items (name) VALUES ('present')")
    workload.settle(source)
    tidemark.run()
    assert "present" in names(destination)
    again = tidemark.run().pipeline()
    assert (again["rows_read"], written(again)) == (1, 0)
    check_rows = destination.rows(f"{destination.schema}.items", oracle.ITEMS)
    oracle.check_rows(source.rows("items", oracle.ITEMS), check_rows)


@pytest.mark.thinned(3)
@every_strategy
def test_rows_held_back_are_reported(synced, source, destination, strategy):
    """tail: hold, which append defaults to: how many wait, and for what."""
    tidemark = synced(strategy, "append")
    assert tidemark.run().pipeline()["rows_held"] == 0
    with source.connect(autocommit=False) as late:
        insert(late, "late")
        source.execute("INSERT INTO items (name) VALUES ('a'), ('b')")
        workload.settle(source)
        done = tidemark.run()
        held = done.pipeline()
        assert held["rows_held"] == 2 and "a" not in names(destination)
        assert held["held_by"]["pid"] == late.info.backend_pid
        for text in (held["guarantee_reason"], done.err):
            assert "2 rows past the settled mark are held back" in text
        late.rollback()
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_held"] == 0
    check_items(source, destination)


def test_row_from_the_future_that_is_held(synced, source, destination):
    tidemark = synced("timestamp", "append")
    source.execute("INSERT INTO items (name, updated_at) VALUES "
                   "('future', '2099-01-01 00:00:00+00')")
    held = tidemark.run().pipeline()
    assert held["rows_held"] == 1 and held["held_by"] is None
    assert "1 row " in held["guarantee_reason"]
    assert "2099-01-01" in held["guarantee_reason"]


def test_open_second_of_a_coarse_column(synced, source, destination, tidemark):
    """timestamp(0) rounds: the current second may still get rows."""
    source.execute(
        "CREATE TABLE coarse (id bigint PRIMARY KEY, "
        "updated_at timestamptz(0) NOT NULL DEFAULT now())",
        "CREATE INDEX ON coarse (updated_at, id)")
    sync_items(tidemark, source, destination, "timestamp", table="coarse",
               name="coarse")
    for number in range(1, 40):
        source.execute(f"INSERT INTO coarse VALUES ({number})")
        if number % 4 == 0:
            tidemark.run("coarse")
    workload.settle(source)
    workload.settle(source)
    tidemark.run("coarse")
    columns = {"id": "int", "updated_at": "timestamptz"}
    oracle.check_equal(source, destination, "coarse",
                       f"{destination.schema}.coarse", columns)


def test_lag_covers_application_clocks(synced, source, destination):
    """With a lag, a row stamped by a clock that is behind is still found."""
    tidemark = synced("timestamp", watermark={"lag": "1m"})
    source.execute("INSERT INTO items (name) VALUES ('now')")
    workload.settle(source)
    tidemark.run()
    source.execute("INSERT INTO items (name, updated_at) VALUES "
                   "('slow clock', now() - interval '30 s')")
    tidemark.run()
    assert "slow clock" in names(destination)


def test_sequence_lag_covers_reserved_ids(synced, source, destination):
    """An application reserves ids in blocks and uses them later."""
    tidemark = synced("sequence", watermark={"lag": 50})
    source.execute("SELECT setval('items_seq', 1000)",
                   "INSERT INTO items (name) VALUES ('high')")
    tidemark.run()
    tidemark.run()
    source.execute("INSERT INTO items (name, seq) VALUES ('reserved', 980)")
    tidemark.run()
    assert "reserved" in names(destination)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
@every_strategy
def test_partition_attached_with_old_rows(tidemark, source, destination,
                                          strategy, mode):
    """Rows below the mark that come with a partition of their own."""
    source.execute(
        "CREATE TABLE parts (id bigint PRIMARY KEY, seq bigint NOT NULL, "
        "updated_at timestamptz NOT NULL) PARTITION BY RANGE (id)",
        "CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE old (LIKE parts INCLUDING ALL)",
        "INSERT INTO old SELECT n, n - 150, timestamptz '2023-01-01 00:00:00Z'"
        " + n * interval '1 s' FROM generate_series(100, 199) n",
        "INSERT INTO parts SELECT n, n, timestamptz '2024-01-01 00:00:00Z'"
        " + n * interval '1 s' FROM generate_series(0, 99) n")
    sync_items(tidemark, source, destination, strategy, mode, table="parts",
               name="parts", batch={"rows": 30})
    tidemark.run()
    source.execute("ALTER TABLE parts ATTACH PARTITION old "
                   "FOR VALUES FROM (100) TO (200)")
    tidemark.run("--max-batches", "1")
    tidemark.run("--max-batches", "1")
    tidemark.run()
    columns = {"id": "int", "seq": "int", "updated_at": "timestamptz"}
    oracle.check_equal(source, destination, "parts",
                       f"{destination.schema}.parts", columns,
                       pipeline="parts")
    assert tidemark.run().pipeline()["rows_read"] == 0

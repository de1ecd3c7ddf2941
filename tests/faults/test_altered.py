"""Columns change their type between two pages of a command. The command looks
at the table anew. Nothing is decoded, or rounded, by the former type."""

import signal

import pytest

from bad_days import MANY_BATCHES
from bench import EXIT_OK, EXIT_SCHEMA
from servers import wait_for

ROWS = 3000
# Rows that no page has reached when the table is altered.
LATER = "id > 2000"
# With `sequence` a MySQL table that was rebuilt stops the run: docs/engines.
SOURCES = (("postgres", "timestamp"), ("postgres", "sequence"),
           ("postgres", "xmin"), ("mariadb", "timestamp"),
           ("mysql", "timestamp"))
RETRY = {"attempts": 3, "backoff": "10ms"}


@pytest.fixture
def begin(make_day, failpoint_binary):
    """A day whose command has stopped itself at a page's end, where no
    statement is open: the table can be altered."""
    def make(source, destination, *command, page=3, loaded=False, **more):
        day = make_day(source, destination, ROWS, batch=MANY_BATCHES,
                       retry=RETRY, **more)
        add_seen(day)
        if loaded:
            day.tidemark.run()
        return day, stop_at_page(day.tidemark, failpoint_binary, page,
                                 *(command or ("run", "--json")))
    return make


@pytest.fixture
def begin_pipeline(tidemark, failpoint_binary):
    """The same for a table of the test's own, by timestamp."""
    def make(source, destination, table, column):
        tidemark.connect("source", source.connection())
        tidemark.connect("warehouse", destination.connection())
        tidemark.pipeline("items", **{
            "source": {"connection": "source", "table": table},
            "destination": {"connection": "warehouse",
                            "table": f"{destination.schema}.{table}"},
            "key": ["id"], "retry": RETRY, "batch": MANY_BATCHES,
            "watermark": {"strategy": "timestamp", "column": column,
                          "time_zone": "UTC"}}).write_config()
        return stop_at_page(tidemark, failpoint_binary, 1, "run", "--json")
    return make


def stop_at_page(tidemark, binary, page, *command):
    plain, tidemark.binary = tidemark.binary, binary
    running = tidemark.start(*command, failpoints=f"page_end=stop@{page}")
    tidemark.binary = plain
    wait_for(lambda: running.stopped() or not running.alive(), step=0.005,
             what="the page's end")
    assert running.alive(), running.wait()
    return running


def add_seen(day):
    """A column of instants to the second."""
    kind = ("timestamp(0)" if day.source.engine == "postgres"
            else "datetime(0)")
    day.source.execute(f"ALTER TABLE items ADD seen {kind}",
                       "UPDATE items SET seen = '2024-02-03 04:05:06'")
    day.columns["seen"] = "timestamp"


def retype(day, column, kind, value):
    """Rows that are written from then on only fit the new type."""
    verb = ("ALTER COLUMN {} TYPE" if day.source.engine == "postgres"
            else "MODIFY {}").format(column)
    day.source.execute(f"ALTER TABLE items {verb} {kind}",
                       f"UPDATE items SET {column} = {value} WHERE {LATER}")


def to_scale(day):
    retype(day, "amount", "decimal(14,4)", "id + 0.1234")


def to_fraction(day):
    retype(day, "seen", "timestamp(6)" if day.source.engine == "postgres"
           else "datetime(6)", "'2024-02-03 04:05:06.789012'")


def to_bigint(day):
    retype(day, "quantity", "bigint", "5000000000 + id")


WIDER = {each.__name__: each for each in (to_scale, to_fraction, to_bigint)}


def goes_on(running):
    running.signal(signal.SIGCONT)
    return running.wait()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("change", WIDER)
@pytest.mark.parametrize("kind", SOURCES, ids="-".join)
def test_wider_type_in_mid_run(begin, kind, change):
    """The next try widens the target, and what it reads is exact."""
    day, running = begin(kind[0], "postgres", strategy=kind[1])
    WIDER[change](day)
    done = goes_on(running).expect(EXIT_OK)
    assert "altered while" in done.err, done
    day.check()
    assert day.tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("command", ("refresh", "backfill"))
@pytest.mark.parametrize("source", ("postgres", "mysql"))
def test_wider_type_in_other_passes(begin, source, command):
    """A pass that begins anew, and a range's."""
    day, running = begin(source, "postgres", *{
        "refresh": ("run", "--full-refresh", "--json"),
        "backfill": ("backfill", "items", "--chunk-rows", "1500", "--json"),
    }[command], loaded=True)
    to_scale(day)
    done = goes_on(running).expect(EXIT_OK)
    assert "altered while" in done.err, done
    if command == "backfill":
        day.tidemark.run()
    day.check()


@pytest.mark.parametrize("strategy", ("timestamp", "xmin"))
def test_bits_of_another_type(begin, strategy):
    """Eight bytes of a double are no bigint."""
    day, running = begin("postgres", "sqlite", strategy=strategy)
    retype(day, "seq", "double precision", "id + 0.5")
    done = goes_on(running)
    assert done.code in (EXIT_OK, EXIT_SCHEMA), done
    assert "altered while" in done.err, done
    there = {float(seq) for seq, in day.destination.query(
        "SELECT seq FROM items")}
    known = {n + half for n in range(1, ROWS + 1) for half in (0, 0.5)}
    assert there <= known, sorted(there - known)[:5]


@pytest.mark.parametrize("strategy", ("timestamp", "xmin"))
def test_column_of_the_same_name(begin, strategy):
    """Dropped and added again: none of its old values stays."""
    day, running = begin("postgres", "postgres", strategy=strategy)
    day.source.execute("ALTER TABLE items DROP COLUMN quantity",
                       "ALTER TABLE items ADD quantity integer DEFAULT 7")
    goes_on(running).expect(EXIT_OK)
    day.tidemark.run()
    day.check()


@pytest.mark.parametrize("strategy", ("timestamp", "xmin"))
def test_rewritten_while_waited_for(begin, strategy):
    """A statement that waits for ALTER TABLE has its snapshot from before:
    the rewritten rows are invisible to it, and must not count as gone."""
    day, running = begin("postgres", "postgres", "run", "--full-refresh",
                         "--json", loaded=True, strategy=strategy)
    with day.source.connect(autocommit=False) as writer:
        writer.execute("ALTER TABLE items ALTER quantity TYPE integer "
                       "USING quantity + 0")
        running.signal(signal.SIGCONT)
        wait_for(lambda: day.source.query(
            "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = "
            "'items'::regclass"), step=0.01, what="the run to wait")
        writer.commit()
    running.wait().expect(EXIT_OK)
    day.check()


@pytest.mark.parametrize("declared", (
    ("Decimal(9,2)", "Decimal(18,4)", "9.1234"),
    ("Int32", "Int64", "5000000000"),
    ("DateTime64(0, 'UTC')", "DateTime64(6, 'UTC')",
     "'2024-02-03 04:05:06.789012'")), ids=("scale", "width", "fraction"))
def test_wider_type_of_clickhouse(tidemark, begin_pipeline, make_clickhouse,
                                  make_destination, declared):
    source, destination = make_clickhouse(), make_destination("postgres")
    before, after, value = declared
    source.execute(
        f"CREATE TABLE t (id Int64, v {before}, at DateTime64(6, 'UTC')) "
        "ENGINE = MergeTree ORDER BY id",
        f"INSERT INTO t SELECT number, CAST(1 AS {before}), "
        "toDateTime64('2024-01-01 00:00:00', 6, 'UTC') + number "
        "FROM numbers(1000)")
    running = begin_pipeline(source, destination, "t", "at")
    source.execute(f"ALTER TABLE t MODIFY COLUMN v {after}",
                   f"INSERT INTO t VALUES (5000, {value}, "
                   "'2024-03-01 00:00:00')")
    done = goes_on(running).expect(EXIT_OK)
    assert "altered while" in done.err, done
    tidemark.run()
    found = destination.query("SELECT v::text FROM t WHERE id = 5000")
    assert found[0][0].startswith(value.strip("'")), found


@pytest.mark.parametrize("declared", (
    ("NUMERIC(9,2)", "NUMERIC(18,4)", "9.1234"),
    ("INT64", "NUMERIC", "5.25")), ids=("scale", "kind"))
def test_wider_type_of_bigquery(tidemark, begin_pipeline, make_destination,
                                declared):
    source = make_destination("bigquery")
    destination = make_destination("postgres")
    before, after, value = declared
    source.execute(
        f"CREATE TABLE t (id INT64 NOT NULL, v {before}, at TIMESTAMP)",
        "INSERT INTO t SELECT n, 1, TIMESTAMP_SECONDS(1700000000 + n) "
        "FROM UNNEST(GENERATE_ARRAY(1, 1000)) AS n")
    running = begin_pipeline(source, destination, "t", "at")
    source.execute(f"ALTER TABLE t ALTER COLUMN v SET DATA TYPE {after}",
                   f"INSERT INTO t VALUES (5000, {value}, "
                   "'2024-03-01 00:00:00+00')")
    done = goes_on(running).expect(EXIT_OK)
    assert "altered while" in done.err, done
    tidemark.run()
    found = destination.query("SELECT v::text FROM t WHERE id = 5000")
    assert found[0][0].startswith(value), found


def test_wider_type_of_sqlite(tidemark, begin_pipeline, make_source,
                              make_destination):
    """SQLite can only make the table anew."""
    source, destination = make_source("sqlite"), make_destination("postgres")
    source.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v DECIMAL(12,2), at DATETIME)",
        "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
        "SELECT i + 1 FROM n WHERE i < 1000) SELECT i, 1.5, "
        "datetime('2024-01-01', i || ' seconds') FROM n")
    running = begin_pipeline(source, destination, "t", "at")
    source.execute(
        "CREATE TABLE u (id INTEGER PRIMARY KEY, v DECIMAL(14,4), at DATETIME)",
        "INSERT INTO u SELECT * FROM t", "DROP TABLE t",
        "ALTER TABLE u RENAME TO t",
        "UPDATE t SET v = 1.2345 WHERE id IN (1, 900)")
    done = goes_on(running).expect(EXIT_OK)
    assert "altered while" in done.err, done
    tidemark.run()
    assert destination.query("SELECT v::text FROM t WHERE id IN (1, 900)") \
        == [("1.2345",)] * 2

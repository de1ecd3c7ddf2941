"""Objects of others under Tidemark's names, in ClickHouse. A view runs with the
rights of whoever reads it, a constraint with those of whoever writes. A
materialized view sees each row and may refuse it."""

import pytest

import workload
from bench import EXIT_OK, sync_items
from test_others_objects import COMMANDS, refused

ROWS = "_tidemark_watermark_raw"
COLUMNS = """pipeline String, watermark Nullable(String), batch_id String,
  fence Int64, rows_total Int64, updated_at DateTime64(6, 'UTC'),
  target String, target_rows Int64, table_uuid String,
  _tidemark_version UInt64, _tidemark_deleted UInt8"""
REPLACING = ("ENGINE = ReplacingMergeTree(_tidemark_version,"
             " _tidemark_deleted) ORDER BY pipeline")
VIEW = ("CREATE VIEW _tidemark_watermark AS SELECT * EXCEPT (_tidemark_version,"
        f" _tidemark_deleted) FROM {ROWS}")
EMPTY = "CREATE TABLE likeness (" + COLUMNS + ") " + REPLACING

# An object that somebody made before the first run, and words of the message.
ATTACKS = {
    "view": ([EMPTY, f"CREATE VIEW {ROWS} AS SELECT * FROM likeness"],
             "is of engine View"),
    "null": ([f"CREATE TABLE {ROWS} ({COLUMNS}) ENGINE = Null"],
             "is of engine Null"),
    "url": ([f"CREATE TABLE {ROWS} ({COLUMNS}) ENGINE ="
             " URL('http://127.0.0.1:9/marks', CSV)"], "is of engine URL"),
    "constraint": (["CREATE TABLE secrets (a String) ENGINE = Memory",
                    f"CREATE TABLE {ROWS} ({COLUMNS}, CONSTRAINT c CHECK"
                    " pipeline NOT IN (SELECT a FROM secrets)) " + REPLACING],
                   "has a constraint"),
    "ttl": ([f"CREATE TABLE {ROWS} ({COLUMNS}) {REPLACING}"
             " TTL toDateTime(updated_at) + INTERVAL 1 SECOND"], "has a TTL"),
    "computed": ([f"CREATE TABLE {ROWS} ({COLUMNS}, host String MATERIALIZED"
                  f" hostName()) {REPLACING}"], "has computed columns"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_marks_that_somebody_made_beforehand(tidemark, source, make_clickhouse,
                                             attack):
    destination = make_clickhouse()
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    statements, named = ATTACKS[attack]
    destination.execute(*statements, VIEW)
    refused(tidemark, named, *COMMANDS)


def test_materialized_view_of_our_marks(tidemark, source, make_clickhouse):
    """One that fails leaves the row written and the run without knowing. One of
    a table of rows is the usual way to go on from it, and stays."""
    destination = make_clickhouse()
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    destination.execute("CREATE MATERIALIZED VIEW ids ENGINE = MergeTree ORDER"
                        " BY id AS SELECT id FROM items_raw")
    tidemark.run()
    tidemark("check").expect(EXIT_OK)
    destination.execute("CREATE MATERIALIZED VIEW spy ENGINE = MergeTree ORDER"
                        f" BY pipeline AS SELECT pipeline FROM {ROWS}")
    refused(tidemark, "feeds spy", *COMMANDS)
    destination.execute("DROP TABLE spy")
    tidemark.run()


def test_view_of_marks_is_not_read(tidemark, source, make_clickhouse):
    """It is there for people, whoever has made it."""
    destination = make_clickhouse()
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp", "append")
    tidemark.run()
    destination.execute(
        f"INSERT INTO {ROWS} SELECT * REPLACE ('gone' AS pipeline) FROM {ROWS}",
        "DROP VIEW _tidemark_watermark", "CREATE VIEW _tidemark_watermark AS"
        f" SELECT * FROM {ROWS} WHERE throwIf(1, 'it was read')")
    for command in ("run", "check", "verify", "watermark forget items gone"):
        tidemark(*command.split()).expect(EXIT_OK)

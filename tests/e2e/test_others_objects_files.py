"""A file that somebody else has made beforehand, or has been at: what is in its
schema runs whenever Tidemark reads or writes there."""

import pytest

import workload
from bench import EXIT_OK, EXIT_SCHEMA, sync_items
from test_others_objects import COMMANDS, refused, refused_state
from test_target_altered import alter

MARK = "_tidemark_watermark"
# As if there were a row, which no write changes.
SQLITE_VIEW = (
    f"CREATE VIEW {MARK} AS SELECT 'items' AS pipeline, NULL AS watermark,"
    " '' AS batch_id, 0 AS fence, 0 AS rows_total, '' AS updated_at,"
    " 0 AS created_target, 'items' AS target, 0 AS target_rows",
    f"CREATE TRIGGER helper INSTEAD OF UPDATE ON {MARK} BEGIN SELECT 1; END",
    f"CREATE TRIGGER more INSTEAD OF INSERT ON {MARK} BEGIN SELECT 1; END")
KEEP_OLD = (f"CREATE TRIGGER helper AFTER UPDATE ON {MARK} BEGIN"
            f" UPDATE {MARK} SET watermark = old.watermark"
            " WHERE pipeline = old.pipeline; END")


def sync(tidemark, source, destination, mode="upsert"):
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp", mode)


@pytest.mark.parametrize("made", (SQLITE_VIEW, (
    f"CREATE VIRTUAL TABLE {MARK} USING fts5(pipeline, watermark, batch_id,"
    " fence, rows_total, updated_at, created_target, target, target_rows)",)),
    ids=("view", "virtual"))
def test_sqlite_marks_that_are_no_table(tidemark, source, make_destination,
                                        made):
    destination = make_destination("sqlite")
    sync(tidemark, source, destination)
    destination.execute(*made)
    refused(tidemark, "is not a table", *COMMANDS)


def test_sqlite_trigger_on_our_marks(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    sync(tidemark, source, destination)
    tidemark.run()
    destination.execute(KEEP_OLD)
    refused(tidemark, "has trigger helper", *COMMANDS)
    destination.execute("DROP TRIGGER helper")
    tidemark.run()


def test_sqlite_trigger_that_comes_between_two_batches(
        tidemark_failpoints, source, make_destination):
    destination = make_destination("sqlite")
    done = alter(tidemark_failpoints, source, destination, KEEP_OLD)
    assert "has trigger helper" in done.expect(EXIT_SCHEMA).err, done

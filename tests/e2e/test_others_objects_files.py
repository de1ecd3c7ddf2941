"""A file that somebody else has made beforehand, or has been at: what is in its
schema runs whenever Tidemark reads or writes there."""

import pytest

import workload
from bench import EXIT_SCHEMA, sync_items
from ends import SqliteEnd
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


def state_file(tidemark, source, make_destination):
    """A state store that a run has made."""
    sync(tidemark, source, make_destination("sqlite"))
    tidemark.run()
    return SqliteEnd(tidemark.state_file)


STATE_COMMANDS = ("run", "status", "migrate", "runs")


def test_sqlite_state_with_a_trigger(tidemark, source, make_destination):
    """Whichever of its tables it is on."""
    state = state_file(tidemark, source, make_destination)
    tables = [name for name, in state.query(
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
        " AND name NOT LIKE 'sqlite%'")]
    assert len(tables) >= 9
    for table in tables:
        state.execute(f"CREATE TRIGGER helper BEFORE INSERT ON {table} BEGIN"
                      " SELECT RAISE(IGNORE); END")
        done = tidemark("status")
        assert done.code == EXIT_SCHEMA, (table, done)
        assert "has trigger helper" in done.err, done
        if table == "leases":
            refused_state(tidemark, "has trigger helper", *STATE_COMMANDS)
        state.execute("DROP TRIGGER helper")
    tidemark.run()


def test_sqlite_state_with_a_view_in_the_place_of_a_table(
        tidemark, source, make_destination):
    """One beside the tables, for a report of the user's, does no harm."""
    state = state_file(tidemark, source, make_destination)
    state.execute("CREATE VIEW report AS SELECT * FROM attempts")
    tidemark.run()
    state.execute("DROP TABLE paces",
                  "CREATE VIEW paces AS SELECT * FROM attempts")
    refused_state(tidemark, "paces is not a table", *STATE_COMMANDS)

"""A file that somebody else has made beforehand, or has been at: what is in its
schema runs whenever Tidemark reads or writes there."""

import pytest

import workload
from bench import EXIT_SCHEMA, sync_items
from ends import SqliteEnd
from oracle import check_items
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


def test_duckdb_view_in_the_place_of_marks(tidemark, source, make_destination):
    destination = make_destination("duckdb")
    sync(tidemark, source, destination)
    destination.execute(f"CREATE VIEW {MARK} AS SELECT 'items' AS pipeline")
    refused(tidemark, "is not a table", *COMMANDS)


SHADOWS = ('max(x) AS 42', 'lower(x) AS \'x\'', '"||"(a, b) AS \'x\'',
           '"+"(a, b) AS 7', 'starts_with(a, b) AS true',
           'current_database() AS \'x\'', 'greatest(a, b) AS 1',
           'duckdb_tables() AS TABLE SELECT 1 AS x')

DROP_SHADOWS = [f"DROP MACRO {'TABLE ' * ('TABLE' in each)}"
                f"{each.split('(')[0]}" for each in SHADOWS]


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_duckdb_macros_under_the_names_of_functions(
        tidemark, source, make_destination, mode):
    """They stay the file's own: no statement of Tidemark's calls them. A table
    goes on to call those that are nobody else's."""
    destination = make_destination("duckdb")
    destination.execute(
        "CREATE SCHEMA helpers", "CREATE SEQUENCE helpers.numbers",
        "CREATE MACRO helpers.positive(x) AS x > 0",
        *(f"CREATE MACRO {each}" for each in SHADOWS))
    sync(tidemark, source, destination, mode)
    tidemark.run()
    tidemark.run("--full-refresh")
    table = "items" if mode == "upsert" else "items_raw"
    destination.execute(
        f"ALTER TABLE {table} ADD COLUMN more BIGINT"
        " DEFAULT nextval('helpers.numbers')",
        f"ALTER TABLE {table} ADD COLUMN less BOOLEAN"
        " DEFAULT helpers.positive(3)")
    workload.change_items(source, "id = 1")
    workload.fill_items(source, 4, 5)
    workload.settle(source)
    tidemark.run()
    destination.execute(*DROP_SHADOWS)
    check_items(source, destination)


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

"""Targets that somebody has been at: rows changed, deleted, inserted by hand,
the mark deleted or edited, the whole restored from an older backup."""

import os
import shutil

import pytest

import workload
from bad_days import ENGINES, HASTY, WAREHOUSES
from bench import EXIT_DATA, EXIT_OK, EXIT_SCHEMA, EXIT_STATE
from test_state import more_rows

every_engine = pytest.mark.parametrize("engine", (*ENGINES, *WAREHOUSES))
SOURCES = (("postgres", "timestamp"), ("postgres", "xmin"),
           ("postgres", "sequence"), ("mariadb", "timestamp"),
           ("mysql", "sequence"))


MARKS = "_tidemark_watermark"


def change(day, table, what, where="1 = 1"):
    """Rows of a table, by hand."""
    end = day.destination
    end.execute(f"ALTER TABLE {table}_raw UPDATE {what} WHERE {where} "
                "SETTINGS mutations_sync = 2" if end.engine == "clickhouse"
                else f"UPDATE {end.schema}.{table} SET {what} WHERE {where}")


def delete(day, table, where="1 = 1"):
    end = day.destination
    end.execute(f"ALTER TABLE {table}_raw DELETE WHERE {where} "
                "SETTINGS mutations_sync = 2" if end.engine == "clickhouse"
                else f"DELETE FROM {end.schema}.{table} WHERE {where}")


def update_mark(day, old, new):
    """Edit the stored mark as text, by hand."""
    column = {"postgres": "watermark::text"}.get(day.destination.engine,
                                                 "watermark")
    cast = {"postgres": "::jsonb"}.get(day.destination.engine, "")
    change(day, MARKS, f"watermark = replace({column}, '{old}', '{new}'){cast}")


@every_engine
def test_rows_edited_by_hand(make_day, engine):
    """A changed, a deleted, an added row: later runs go on beside them, and
    --full-refresh mends all."""
    day = make_day(destination=engine, rows=300)
    day.tidemark.run()
    change(day, "items", "name = 'by hand'", "id = 7")
    delete(day, "items", "id IN (8, 9)")
    into = day.to + "_raw" * (engine == "clickhouse")
    day.destination.execute(
        f"INSERT INTO {into} (id, name, quantity, seq, updated_at) SELECT "
        f"900, name, 1, seq, updated_at FROM {day.to} WHERE id = 10")
    more_rows(day, 301, 320)
    result = day.tidemark.run().pipeline()
    assert result["rows_inserted"] == 20, result
    assert day.count() == 300 - 2 + 1 + 20
    workload.update_items(day.source, "id IN (7, 8)", "quantity = 77",
                          "2024-06-02 00:00:00")
    day.tidemark.run()
    day.tidemark.run("--full-refresh")
    day.check()


@every_engine
@pytest.mark.thinned(2)
@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_mark_deleted(make_day, engine, mode):
    """All rows are read again, and none is doubled."""
    day = make_day(destination=engine, mode=mode, rows=300, retry=HASTY)
    day.tidemark.run()
    delete(day, MARKS)
    more_rows(day, 301, 320)
    done = day.tidemark("run", "--json")
    if done.code != EXIT_OK:  # it may ask; it may not guess
        done.expect(EXIT_SCHEMA)
        assert "--full-refresh" in done.pipeline()["error"]["message"], done
        day.tidemark.run("--full-refresh")
    day.check()


@every_engine
def test_mark_edited_into_the_past(make_day, engine):
    day = make_day(destination=engine, rows=300, retry=HASTY)
    day.tidemark.run()
    update_mark(day, "2024-03-01", "2023-03-01")
    more_rows(day, 301, 320)
    assert day.tidemark.run().pipeline()["rows_read"] == 320
    day.check()


@every_engine
def test_mark_edited_into_the_future(make_day, engine):
    """A mark that the source cannot have given out: exit 4, nothing done."""
    day = make_day(destination=engine, rows=300, retry=HASTY)
    day.tidemark.run()
    update_mark(day, "2024-03-01", "2199-03-01")
    more_rows(day, 301, 320)
    done = day.tidemark("run", "--json").expect(EXIT_SCHEMA)
    assert "2199-03-01" in done.pipeline()["error"]["message"], done
    assert day.count() == 300
    day.tidemark("watermark", "reset", "items").expect(EXIT_OK)
    day.recovers()


@every_engine
def test_mark_edited_into_nonsense(make_day, engine):
    day = make_day(destination=engine, rows=300, retry=HASTY)
    day.tidemark.run()
    update_mark(day, "updated_at", "no such column")
    more_rows(day, 301, 320)
    done = day.tidemark("run", "--json")
    assert done.code in (EXIT_SCHEMA, EXIT_DATA, EXIT_STATE), done
    assert "items" in done.pipeline()["error"]["message"], done
    day.tidemark("watermark", "reset", "items").expect(EXIT_OK)
    day.recovers()


def tables_of(end):
    """Without the views."""
    if end.engine == "clickhouse":
        return [row[0] for row in end.query(
            "SELECT name FROM system.tables WHERE engine <> 'View' AND "
            "database = currentDatabase()")]
    return [row[0] for row in end.query(
        f"SELECT table_name FROM {end.schema}.INFORMATION_SCHEMA.TABLES "
        "WHERE table_type = 'BASE TABLE'")]


def backup(end, directory):
    """A backup for a later restore; Tidemark does not make it."""
    if end.engine in ("sqlite", "duckdb"):
        shutil.copy(end.path, directory / "backup")
    elif end.engine == "postgres":
        end.cluster.drop_database(end.database + "_backup")
        end.cluster.create_database(end.database + "_backup", end.database)
    elif end.engine in WAREHOUSES:
        for table in tables_of(end):
            end.execute(f"CREATE TABLE {end.schema}.backup_{table} AS " + (
                f"SELECT * FROM {end.schema}.{table}"
                if end.engine == "bigquery" else f"{end.schema}.{table}"))
            if end.engine == "clickhouse":
                end.execute(f"INSERT INTO backup_{table} SELECT * FROM {table}")
    else:
        for table in end.tables():
            if end.is_view(table):
                continue
            end.execute(f"CREATE TABLE `backup_{table}` LIKE `{table}`",
                        f"INSERT INTO `backup_{table}` SELECT * FROM `{table}`")


def restore(end, directory):
    if end.engine in ("sqlite", "duckdb"):
        for suffix in ("-wal", "-shm", ".wal"):
            if os.path.exists(end.path + suffix):
                os.unlink(end.path + suffix)
        shutil.copy(directory / "backup", end.path)
    elif end.engine == "postgres":
        end.cluster.drop_database(end.database)
        with end.cluster.admin() as admin:
            admin.execute(f"ALTER DATABASE {end.database}_backup "
                          f"RENAME TO {end.database}")
    elif end.engine in WAREHOUSES:
        for table in tables_of(end):
            if not table.startswith("backup_"):
                continue
            name = table.removeprefix("backup_")
            end.execute(f"DROP TABLE {end.schema}.{name}",
                        f"RENAME TABLE {table} TO {name}"
                        if end.engine == "clickhouse" else
                        f"ALTER TABLE {end.schema}.{table} RENAME TO {name}")
    else:
        for table in end.tables():
            if table.startswith("backup_"):
                end.execute(
                    f"DROP TABLE `{table.removeprefix('backup_')}`",
                    f"RENAME TABLE `{table}` TO "
                    f"`{table.removeprefix('backup_')}`")


@pytest.mark.thinned(5)
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
@pytest.mark.parametrize("kind", SOURCES, ids="-".join)
@every_engine
def test_restored_from_an_older_backup(make_day, work_dir, engine, kind,
                                       mode):
    """Its mark is older than the store's: what came since comes again."""
    source, strategy = kind
    day = make_day(source, engine, rows=300, mode=mode, strategy=strategy,
                   batch={"rows": 100})
    day.tidemark.run()
    backup(day.destination, work_dir)
    more_rows(day, 301, 350)
    workload.update_items(day.source, "id % 10 = 0", "quantity = 77",
                          "2024-06-02 00:00:00")
    day.tidemark.run()
    more_rows(day, 351, 360)
    restore(day.destination, work_dir)
    day.recovers()

"""What hands and servers do to ClickHouse's tables at the worst moments: exit 0
is not said of rows that are not there, or are others."""

import re

import pytest

from bench import EXIT_ACCESS, EXIT_SCHEMA
from servers import wait_for
from clickhouse_items import MARK_IN, NOW, ROWS_IN, change, check, items

__all__ = ["items"]  # a fixture
STAGE = r"CREATE TABLE IF NOT EXISTS `\w+`\.`_tidemark_stage"


def alter_meanwhile(tidemark, destination, batches):
    """A run, in whose middle a column gets too small for its values."""
    destination.server.forget()
    destination.server.fault({"match": ROWS_IN, "skip": batches - 1,
                              "do": "status", "status": 503,
                              "retry_after": "2"})
    run = tidemark.start("run", "--json")
    wait_for(lambda: sum(bool(re.match(ROWS_IN, sql)) for sql in
                         destination.server.statements()) >= batches, 30,
             0.02, "the batch")
    destination.execute("ALTER TABLE items_raw MODIFY COLUMN quantity "
                        "Nullable(Int8) SETTINGS mutations_sync = 2")
    return run.wait().expect(EXIT_SCHEMA).pipeline()["error"]["message"]


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_type_that_changes_while_rows_come(tidemark, items, mode):
    """The server does not make of a value what the column can hold."""
    source, destination = items(mode, rows=60)
    source.execute("UPDATE items SET quantity = 1000000 + id WHERE id > 20")
    assert "Int8" in alter_meanwhile(tidemark, destination, 2)
    assert destination.query("SELECT count() FROM items "
                             "WHERE id > 20") == [(0,)]


@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_type_that_changes_while_rows_are_compared(tidemark, items, mode):
    source, destination = items(mode, rows=20)
    tidemark.run()
    source.execute(f"UPDATE items SET quantity = 1000000 + id, "
                   f"updated_at = {NOW} WHERE id > 10")
    assert "Int8" in alter_meanwhile(tidemark, destination, 1)
    assert destination.query("SELECT max(quantity) FROM items "
                             "WHERE id > 10") == [(20,)]


@pytest.mark.parametrize("mode", ("upsert", "replace"))
def test_stage_that_cannot_be_made(tidemark, items, mode):
    """Who could not begin a refresh does not stand in anybody's way."""
    source, destination = items(mode, rows=60)
    tidemark.run()
    destination.server.fault({"match": STAGE, "do": "refuse", "times": 100})
    tidemark.run(*(["--full-refresh"] if mode == "upsert" else []),
                 expect=EXIT_ACCESS)
    (_, batch), = destination.query(
        "SELECT pipeline, batch_id FROM _tidemark_watermark")
    assert not batch.startswith("refresh-"), batch
    destination.server.fault()
    change(source)
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("where", ("id = 7", "id > 0"))
@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_rows_deleted_between_load_and_mark(tidemark, items, mode, where):
    """The server remembers batches, also those whose rows are gone."""
    source, destination = items(mode, rows=20, retry={"attempts": 1})
    destination.server.fault({"match": MARK_IN, "skip": 1, "do": "status",
                              "status": 500, "times": 100})
    tidemark.run(expect=EXIT_ACCESS)
    assert destination.query("SELECT count() FROM items") == [(20,)]
    destination.server.fault()
    destination.execute(f"DELETE FROM items_raw WHERE {where}")
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_marks_and_rows_deleted(tidemark, items, mode):
    """As one begins anew who keeps the table."""
    source, destination = items(mode, rows=60)
    tidemark.run()
    destination.execute("DROP TABLE _tidemark_watermark_raw SYNC",
                        "DROP TABLE _tidemark_watermark SYNC",
                        "DELETE FROM items_raw WHERE id > 0")
    tidemark.run()
    check(source, destination)

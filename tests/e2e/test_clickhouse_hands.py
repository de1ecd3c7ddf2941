"""Hands and servers change ClickHouse's tables at the worst moments. No run
ends with exit 0 over rows that are missing or wrong."""

import re

import pytest

from bench import EXIT_ACCESS, EXIT_OK
from servers import wait_for
from clickhouse_items import MARK_IN, NOW, ROWS_IN, change, check, items

__all__ = ["items"]  # a fixture
STAGE = r"CREATE TABLE IF NOT EXISTS `\w+`\.`_tidemark_stage"


def alter_meanwhile(tidemark, destination, batches, column="Nullable(Int8)"):
    """A run, in whose middle a column gets another type."""
    destination.server.forget()
    destination.server.fault({"match": ROWS_IN, "skip": batches - 1,
                              "do": "hold"})
    run = tidemark.start("run", "--json")
    wait_for(lambda: sum(bool(re.match(ROWS_IN, sql)) for sql in
                         destination.server.statements()) >= batches,
             step=0.02, what="the batch")
    destination.execute(f"ALTER TABLE items_raw MODIFY COLUMN quantity "
                        f"{column} SETTINGS mutations_sync = 2")
    destination.server.fault()
    return run.wait()


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_type_that_changes_while_rows_come(tidemark, items, mode):
    """The server does not make of a value what the column can hold: the run
    looks at the table anew, and widens the column."""
    source, destination = items(mode, rows=60)
    source.execute("UPDATE items SET quantity = 1000000 + id WHERE id > 20")
    done = alter_meanwhile(tidemark, destination, 2).expect(0)
    assert "a column was altered" in done.err
    check(source, destination)


@pytest.mark.parametrize("column", ("Nullable(Int8)", "Nullable(Int128)"))
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_type_that_changes_while_rows_are_compared(tidemark, items, mode,
                                                   column):
    """Into a type that is too small nothing is written. The second try meets
    the type that it needs."""
    source, destination = items(mode, rows=20)
    tidemark.run()
    source.execute(f"UPDATE items SET quantity = 1000000 + id, "
                   f"updated_at = {NOW} WHERE id > 10")
    done = alter_meanwhile(tidemark, destination, 1, column).expect(EXIT_OK)
    assert "a column was altered" in done.err
    check(source, destination)


@pytest.mark.parametrize("rows", (1, 10))
def test_altered_table_is_no_rows_fault(tidemark, items, rows):
    """No row is set aside for it."""
    source, destination = items("upsert", rows=20, retry={"attempts": 1},
                                on_bad_row="dead_letter")
    tidemark.run()
    source.execute(f"UPDATE items SET quantity = 1000000 + id, "
                   f"updated_at = {NOW} WHERE id > {20 - rows}")
    done = alter_meanwhile(tidemark, destination, 1).expect(EXIT_ACCESS)
    assert done.pipeline()["rows_dead_lettered"] == 0
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("mode", ("upsert", "replace"))
def test_stage_that_cannot_be_made(tidemark, items, mode):
    """A run that could not begin a refresh does not stand in anybody's way."""
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

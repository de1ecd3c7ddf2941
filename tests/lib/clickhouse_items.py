"""One table on its way to ClickHouse: what the tests of it share."""

import pytest

import oracle
import workload
from bench import sync_items

ROWS = 60
MODES = ("upsert", "append", "delete_insert", "replace")
# A batch is uploaded into a table of its writer's, and loaded from there.
UPLOAD_IN = r"INSERT INTO `\w+`\.`_tidemark_stage_\w+` .* FORMAT Native"
ROWS_IN = r"INSERT INTO `\w+`\.`items_raw`"
MARK_IN = r"INSERT INTO `\w+`\.`_tidemark_watermark_raw`"
NOW = "'2024-06-01 10:00:00.25+00:00'"


@pytest.fixture
def items(tidemark, make_source, make_clickhouse):
    """A pipeline out of an SQLite file."""
    def make(mode="upsert", rows=ROWS, **settings):
        source, destination = make_source("sqlite"), make_clickhouse()
        workload.create_items(source, rows=rows)
        settings.setdefault("batch", {"rows": 20})
        settings.setdefault("retry", {"attempts": 3, "backoff": "1ms",
                                      "max_backoff": "2ms"})
        sync_items(tidemark, source, destination, "timestamp", mode,
                   **settings)
        return source, destination
    return make


def check(source, destination):
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", oracle.ITEMS)


def change(source):
    source.execute(f"UPDATE items SET quantity = quantity + 1000, updated_at ="
                   f" {NOW} WHERE id % 10 = 3")

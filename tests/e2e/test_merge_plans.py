"""PostgreSQL plans a load by its statistics of the table. Wrong statistics may
cost as much as reading the table once, but never once for each row of the
batch."""

import re

import pytest

import workload
from bench import sync_items
from looks import verify

ROWS = 3000
PLAN = re.compile(r"plan:\n((?:\t.*\n)+)")


class Plans:
    """The plans that auto_explain has written since, for the statements of the
    database that join the stage."""

    def __init__(self, end):
        self.log = end.cluster.log
        with end.cluster.admin(end.database) as db:
            for setting in ("session_preload_libraries = auto_explain",
                            "auto_explain.log_min_duration = 0"):
                db.execute(f"ALTER DATABASE {end.database} SET {setting}")

    def __enter__(self):
        with open(self.log, encoding="utf-8") as log:
            self.begin = log.seek(0, 2)
        return self

    def __exit__(self, *_):
        with open(self.log, encoding="utf-8") as log:
            log.seek(self.begin)
            found = PLAN.findall(log.read())
        self.joins = [plan for plan in found
                      if "Scan on _tidemark_stage" in plan]


def empty_all_but_last(end):
    """The table keeps its pages, and is known for one row."""
    end.execute(f"DELETE FROM items WHERE id < {ROWS}", "VACUUM ANALYZE items")


@pytest.mark.parametrize("mode", ["upsert", "delete_insert"])
def test_a_table_that_seems_empty(tidemark, source, make_destination, mode):
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp", mode).run()
    empty_all_but_last(destination)
    workload.touch_items(source, "true")
    tidemark.run()
    workload.touch_items(source, "true")
    with Plans(destination) as plans:
        assert tidemark.run().pipeline()["rows_updated"] == ROWS
    assert plans.joins
    assert not [plan for plan in plans.joins if "Nested Loop" in plan]
    source.execute(f"DELETE FROM items WHERE id <= {ROWS // 2}")
    with Plans(destination) as plans:
        verify(tidemark, "--deletes", "apply", "--max-deletes", "60%")
    assert plans.joins
    assert not [plan for plan in plans.joins if "Nested Loop" in plan]


def test_a_few_rows_of_many(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp").run()
    destination.execute("VACUUM ANALYZE items")
    workload.touch_items(source, "id % 100 = 7")
    with Plans(destination) as plans:
        assert tidemark.run().pipeline()["rows_updated"] == ROWS // 100
    assert plans.joins
    assert not [plan for plan in plans.joins if "Seq Scan on items" in plan]

"""Run twice: the second run writes nothing and leaves the same content.

Every source x strategy x mode x destination. A `replace` rewrites by its nature; for
it the content is what must stay.
"""

import pytest

import oracle
import workload
from bench import sync_items, written
from canon import rows_digest

MODES = ("upsert", "append", "delete_insert", "replace")
ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql", "clickhouse",
           "bigquery")
ROWS = 700
CHANGED_AT = "2024-06-01 10:00:00.25"


class Case:
    """One pipeline with its two ends."""

    def __init__(self, tidemark, source, destination, strategy, mode):
        self.tidemark = sync_items(tidemark, source, destination, strategy,
                                   mode, batch={"rows": 200})
        self.source, self.destination, self.mode = source, destination, mode
        self.to = f"{destination.schema}.items"

    def run(self):
        return self.tidemark.run().pipeline()

    def check(self):
        oracle.check_equal(self.source, self.destination, "items", self.to,
                           oracle.ITEMS, pipeline="items")

    def content(self):
        return rows_digest(self.destination.rows(self.to, oracle.ITEMS))

    def raw_rows(self):
        if self.mode != "append":
            return None
        raw = self.destination.raw(self.to)
        return len(self.destination.rows(raw, {"id": "int"}))

    def physical(self):
        """Where the rows lie, where that can be seen from outside."""
        if not hasattr(self.destination, "physical") or self.mode == "replace":
            return None
        return self.destination.physical(self.to)

    def change(self):
        """New rows, changed rows, one changed to the mark of another."""
        workload.update_items(
            self.source, "id % 10 = 3",
            "quantity = quantity + 1000, name = 'changed'", CHANGED_AT)
        workload.fill_items(
            self.source, ROWS + 1, ROWS + 50,
            stamp=workload.dialect(self.source).instant(CHANGED_AT))

    def check_second_run_writes_nothing(self):
        before = self.content(), self.raw_rows(), self.physical()
        result = self.run()
        if self.mode != "replace":
            assert written(result) == 0, result
        assert (self.content(), self.raw_rows(), self.physical()) == before
        self.check()


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.mark.thinned(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind,strategy", workload.SOURCES)
def test_second_run_writes_nothing(tidemark, make_source, make_destination,
                                   kind, strategy, mode, engine):
    source = make_source(kind)
    workload.create_items(source, rows=ROWS)
    case = Case(tidemark, source, make_destination(engine), strategy, mode)

    first = case.run()
    assert first["outcome"] == "caught_up"
    assert first["rows_inserted"] == ROWS
    assert first["batches"] > 1
    assert first["guarantee"] == workload.guarantee(kind, strategy)
    case.check()
    case.check_second_run_writes_nothing()

    case.change()
    delta = case.run()
    case.check()
    if mode != "replace":
        assert 120 <= written(delta) <= 240, delta
    case.check_second_run_writes_nothing()

    content, raw_rows = case.content(), case.raw_rows()
    tidemark("watermark", "reset", "items").expect(0)
    again = case.run()
    assert again["rows_read"] == ROWS + 50
    assert again["rows_inserted"] == 0 or mode in ("replace", "delete_insert")
    assert (case.content(), case.raw_rows()) == (content, raw_rows)
    case.check()
    case.check_second_run_writes_nothing()

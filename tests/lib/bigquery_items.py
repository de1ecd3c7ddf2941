"""One table on its way to BigQuery: what the tests of it share."""

import pytest

import oracle
import workload
from bench import EXIT_OK

ROWS = 300


@pytest.fixture
def end(make_destination):
    return make_destination("bigquery")


@pytest.fixture
def items(source):
    workload.create_items(source, rows=ROWS)
    return source


@pytest.fixture
def front(end):
    if not end.front.ours:
        pytest.skip("only our front can be made to do that")
    yield end.front
    end.front.faults()


def check(source, end, pipeline="items"):
    oracle.check_equal(source, end, "items", f"{end.schema}.items",
                       oracle.ITEMS, pipeline=pipeline)


def copy(tidemark, source, end, *more, expect=EXIT_OK, **options):
    """As the first page of the manual has it."""
    url = source.cluster.url(source.database)
    return tidemark("copy", url, end.url(**options), "--table", "public.items",
                    "--watermark", "timestamp:updated_at",
                    *more, env={"PGPASSWORD": None}).expect(expect)

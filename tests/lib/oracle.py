"""The judge: were the promises kept? Uses psycopg, sqlite3 and Python's own
DuckDB, never Tidemark, and compares whole rows as canonical values.
"""

import collections

from ends import open_copy
from servers import wait_for

# name -> kind of every column of workload.Items, in order
ITEMS = {
    "id": "int",
    "name": "text",
    "amount": "decimal",
    "quantity": "int",
    "active": "bool",
    "ratio": "float",
    "payload": "bytes",
    "document": "json",
    "born": "date",
    "seq": "int",
    "updated_at": "timestamptz",
}


def describe_difference(source, destination, limit=5):
    left, right = collections.Counter(source), collections.Counter(destination)
    missing = list((left - right).elements())
    extra = list((right - left).elements())
    return (f"source {len(source)} rows, destination {len(destination)}; "
            f"{len(missing)} missing or older, {len(extra)} extra or other\n"
            f"  only in source: {missing[:limit]}\n"
            f"  only in destination: {extra[:limit]}")


def check_rows(source_rows, destination_rows):
    if collections.Counter(source_rows) != collections.Counter(destination_rows):
        raise AssertionError(describe_difference(source_rows, destination_rows))


def check_keys(rows, n_key=1):
    """One row a key."""
    counted = collections.Counter(row[:n_key] for row in rows)
    double = [key for key, n in counted.items() if n > 1]
    assert not double, f"keys more than once: {double[:5]}"


def check_leftovers(end):
    """No stage, no session, and so no open transaction."""
    stages = [name for name in end.tables() if "_tidemark_stage" in name]
    assert not stages, f"staging tables left behind: {stages}"
    try:
        wait_for(lambda: not end.sessions(), what="sessions to end")
    except TimeoutError:
        raise AssertionError(f"sessions left open: {end.sessions()}") from None


def check_mark(source, table, columns, watermark, column="updated_at"):
    """The mark is a value that the source has had, not one from elsewhere."""
    if watermark is None or watermark.get("value") is None:
        return
    strategy = watermark["strategy"]
    value = watermark["value"]
    if strategy == "xmin":
        ahead = source.query("SELECT pg_snapshot_xmax(pg_current_snapshot())"
                             f"::text::bigint - {int(value)}")[0][0]
        assert ahead >= 0, f"the mark {value} is an xid not given out yet"
        return
    kind = "timestamptz" if strategy == "timestamp" else "bigint"
    bound = source.literal(kind, value)
    beyond = source.query(f"SELECT count(*) FROM {table} HAVING "
                          f"max({watermark['column']}) < {bound}")
    assert not beyond, f"the mark {value} is past every row"


def check_covered(source, destination, table, to, columns, watermark):
    """Promises 1 and 4 for a quiet source: every row at or below the mark is
    there, at its version. `destination` may have just crashed."""
    if watermark is None or watermark.get("value") is None:
        return
    if watermark["strategy"] == "xmin":
        bound = (f"xmin::text::bigint < {int(watermark['value'])} % 4294967296")
    else:
        kind = ("timestamptz" if watermark["strategy"] == "timestamp"
                else "bigint")
        # The rows at the mark itself are covered only up to the key in it.
        mark = source.literal(kind, watermark["value"])
        bound = f"{watermark['column']} < {mark}"
    here = source.rows(f"(SELECT * FROM {table} WHERE {bound}) AS covered",
                       columns)
    lost = set(here) - set(destination.rows(to, columns))
    assert not lost, (f"{len(lost)} rows below the mark {watermark['value']} "
                      f"are not in the destination: {list(lost)[:5]}")


def check_equal(source, destination, table, to, columns, n_key=1,
                pipeline=None, leftovers=True):
    """Both sides are equal, one row a key, nothing else left behind."""
    here = source.rows(table, columns)
    there = destination.rows(to, columns)
    check_keys(there, n_key)
    check_rows(here, there)
    if leftovers:
        check_leftovers(source)
        check_leftovers(destination)
    if pipeline:
        check_mark(source, table, columns, destination.watermark(pipeline))


def check_items(source, destination, columns=ITEMS, pipeline="items", **more):
    """The table and the pipeline that workload.py and bench.py make."""
    check_equal(source, destination, "items", f"{destination.schema}.items",
                columns, pipeline=pipeline, **more)


def check_crashed(source, destination, table, to, columns, pipeline):
    """Check the rules that hold right after a kill, before any repair."""
    end = open_copy(destination)
    if "_tidemark_watermark" not in end.tables():
        return
    watermark = end.watermark(pipeline)
    if watermark is not None:
        check_mark(source, table, columns, watermark)
        check_covered(source, end, table, to, columns, watermark)

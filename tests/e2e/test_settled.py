"""Facts that keep the settled point of a timestamp from being known, and others
that do not."""

import datetime
import json

import pytest

import workload
from bench import EXIT_SCHEMA, sync_items


@pytest.fixture
def items(tidemark, source, make_destination):
    workload.create_items(source, rows=10)

    def make(**settings):
        return sync_items(tidemark, source, make_destination("sqlite"),
                          "timestamp", **settings)
    return make


def problems(tidemark):
    return {each["code"]: each for each in
            tidemark("check", "--json").pipeline()["problems"]}


def expressed(sql, items):
    tidemark = items()
    pipeline = tidemark.pipelines["items"]
    pipeline["source"]["expressions"] = {"mark": sql}
    pipeline["watermark"]["column"] = "mark"
    pipeline["watermark"]["time_zone"] = "UTC"
    return tidemark.write_config()


@pytest.mark.parametrize("sql", (
    "coalesce(updated_at, updated_at)",
    "greatest(items.updated_at, \"updated_at\")",
    "updated_at AT TIME ZONE 'UTC'",
    "updated_at::date", "updated_at::timestamptz(3)"))
def test_expression_as_fine_as_its_type(items, sql):
    result = expressed(sql, items).run().pipeline()
    assert result["guarantee"] == "exact", result["guarantee_reason"]


@pytest.mark.parametrize("sql", (
    "date_trunc('hour', updated_at)", "pg_catalog.date_trunc('day', updated_at)",
    "(updated_at::date)::timestamptz", "(updated_at::timestamptz(0))::timestamptz",
    "to_timestamp(floor(extract(epoch FROM updated_at)))",
    "updated_at - interval '1 day'",
    "(SELECT i.updated_at FROM public.items i WHERE i.id = items.id)"))
def test_expression_of_unknown_tick(items, sql):
    """The open hour is the writers': a mark in its middle loses rows."""
    tidemark = expressed(sql, items)
    result = tidemark.run().pipeline()
    assert result["guarantee"] == "lag", result
    assert "how coarse \"mark\" is" in result["guarantee_reason"], result
    assert problems(tidemark)["mark-coarse"]["fix"]


@pytest.mark.parametrize("column", (
    "timestamptz GENERATED ALWAYS AS (date_trunc('hour', updated_at, 'UTC')) "
    "STORED", "timestamptz NOT NULL DEFAULT date_trunc('hour', now())",
    "timestamptz NOT NULL DEFAULT current_timestamp(0)"))
def test_column_of_unknown_tick(tidemark, source, items, column):
    if "GENERATED" in column:
        column = column.replace(", 'UTC')", " AT TIME ZONE 'UTC')").replace(
            "timestamptz G", "timestamp G")
    source.execute(f"ALTER TABLE items ADD coarse {column}")
    items()
    mark = tidemark.pipelines["items"]["watermark"]
    mark.update(column="coarse", time_zone="UTC")
    tidemark.write_config()
    result = tidemark.run().pipeline()
    assert result["guarantee"] == "lag", result
    assert "how coarse \"coarse\" is" in result["guarantee_reason"], result


@pytest.mark.parametrize("column", (
    "timestamptz(0) NOT NULL DEFAULT current_timestamp(0)",
    "timestamptz NOT NULL DEFAULT clock_timestamp()",
    "timestamptz NOT NULL DEFAULT '2024-01-01'::timestamptz"))
def test_column_as_fine_as_its_type(tidemark, source, items, column):
    source.execute(f"ALTER TABLE items ADD fine {column}")
    items()
    tidemark.pipelines["items"]["watermark"]["column"] = "fine"
    result = tidemark.write_config().run().pipeline()
    assert result["guarantee"] == "exact", result["guarantee_reason"]


def test_transaction_that_began_unseen(source, items, cluster):
    """track_activities was off when it began: its state shows, not since
    when."""
    tidemark = items()
    with cluster.connect(source.database, "postgres",
                         autocommit=False) as writer:
        writer.execute("SET SESSION track_activities = off")
        writer.commit()
        writer.execute("SELECT 1")
        writer.execute("SET track_activities = on")
        writer.execute("SELECT 1")
        result = tidemark.run().pipeline()
        assert result["guarantee"] == "lag", result
        assert "ALTER ROLE postgres SET track_activities" \
            in result["guarantee_reason"], result
        assert "ALTER ROLE postgres" \
            in problems(tidemark)["track-activities-off"]["fix"]
        writer.rollback()
    assert tidemark.run().pipeline()["guarantee"] == "exact"


def ahead(source, interval):
    return source.query(f"SELECT (now() + interval '{interval}')::text")[0][0]


def set_mark(tidemark, value):
    mark = tidemark.run().pipeline()["watermark_after"]
    mark["value"] = value
    tidemark("watermark", "set", "items", json.dumps(mark)).expect(0)


def test_clock_that_was_set_back(source, items):
    """By seconds: the run goes on, and says how far `lag` has to reach."""
    tidemark = items()
    set_mark(tidemark, ahead(source, "90 s"))
    done = tidemark.run()
    result = done.pipeline()
    assert result["guarantee"] == "lag", result
    assert "clock was set back" in result["guarantee_reason"], result
    assert "watermark.lag has to be 1m3" in result["guarantee_reason"], result
    assert "clock was set back" in done.err, done
    assert result["watermark_after"]["value"] \
        == result["watermark_before"]["value"]


def test_clock_of_another_server(source, items):
    tidemark = items()
    set_mark(tidemark, ahead(source, "1 h"))
    done = tidemark("run", "--json").expect(EXIT_SCHEMA)
    assert "ahead of the source's clock" in done.pipeline()["error"]["message"]


ZONED = {
    "sqlite": "CREATE TABLE items (id INTEGER PRIMARY KEY AUTOINCREMENT, "
              "name TEXT, updated_at TIMESTAMP NOT NULL DEFAULT "
              "(strftime('%Y-%m-%d %H:%M:%f', 'now')))",
    "duckdb": "CREATE TABLE items (id BIGINT PRIMARY KEY, name VARCHAR, "
              "updated_at TIMESTAMP NOT NULL DEFAULT "
              "(now() AT TIME ZONE 'UTC'))",
    "mysql": "CREATE TABLE items (id BIGINT PRIMARY KEY, "
             "name VARCHAR(40), updated_at DATETIME(6) NOT NULL)",
    "postgres": "CREATE TABLE items (id BIGINT PRIMARY KEY, name TEXT, "
                "updated_at TIMESTAMP NOT NULL)",
}


# The MySQL server of the tests has no tables of zones.
WALLS = [(engine, *case) for engine in ZONED for case in (
    ("UTC", 0.1, "lag"), ("+05:30", 5.6, "lag"), ("Europe/Rome", 2.4, "lag"),
    ("UTC", 1, "refused"), ("+05:30", 6.5, "refused"), ("UTC", -1, "nothing"))
         if (engine, case[0]) != ("mysql", "Europe/Rome")]


@pytest.mark.parametrize("engine,zone,hours,said", WALLS)
def test_wall_clock_that_was_set_back(tidemark, make_source, make_destination,
                                      engine, zone, hours, said):
    """A mark that a known clock has not reached was made before it went
    back: rows of since then may lie below it."""
    source = make_source(engine)
    source.execute(ZONED[engine],
                   "INSERT INTO items (id, name, updated_at) VALUES"
                   " (1, 'a', '2024-01-01 00:00:00')")
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.pipelines["items"]["watermark"]["time_zone"] = zone
    tidemark.write_config()
    mark = tidemark.run().pipeline()["watermark_after"]
    ahead = datetime.datetime.now(datetime.timezone.utc) \
        + datetime.timedelta(hours=hours)
    mark["value"] = ahead.strftime("%Y-%m-%d %H:%M:%S.%f")
    tidemark("watermark", "set", "items", json.dumps(mark)).expect(0)
    done = tidemark("run", "--json")
    result = done.pipeline()
    if said == "refused":
        done.expect(EXIT_SCHEMA)
        assert "ahead of the source's clock" in result["error"]["message"]
        return
    done.expect(0)
    back = "clock was set back" in (result["guarantee_reason"] or "")
    assert back == (said == "lag"), result
    assert result["guarantee"] == "lag" or not back, result

"""A table, a view or an expression makes marks coarser than their type. A
transaction may still write a mark at the beginning of the open step."""

import pytest

from bench import EXIT_DIFFERENT, sync_items

HOUR = {
    "postgres": "date_trunc('hour', made)",
    "mysql": "cast(date_format(made, '%Y-%m-%d %H:00:00') AS datetime(6))",
    "mariadb": "timestamp(date(made))",
    "sqlite": "strftime('%Y-%m-%d %H:00:00', made)",
    "duckdb": "date_trunc('hour', made)",
}
MADE = {
    "postgres": "timestamptz DEFAULT now()",
    "mysql": "datetime(6) DEFAULT CURRENT_TIMESTAMP(6)",
    "mariadb": "datetime(6) DEFAULT CURRENT_TIMESTAMP(6)",
    "sqlite": "text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))",
    "duckdb": "timestamp DEFAULT (now() AT TIME ZONE 'UTC')",
}
TYPE = {"postgres": "timestamptz", "mysql": "datetime(6)",
        "mariadb": "datetime(6)", "sqlite": "text", "duckdb": "timestamp"}

# The column `mark` of `items`, beside `id` and `made`.
COARSE = (
    ("mysql", "generated", f"AS ({HOUR['mysql']}) STORED"),
    ("mariadb", "generated", f"AS ({HOUR['mariadb']}) STORED"),
    ("sqlite", "generated", f"AS ({HOUR['sqlite']}) STORED"),
    ("duckdb", "generated", f"AS ({HOUR['duckdb']})"),
    ("postgres", "default", "DEFAULT current_date"),
    ("postgres", "default", "DEFAULT now()::date"),
    ("postgres", "default", "DEFAULT now() - interval '1 day'"),
    ("mysql", "default", "DEFAULT (curdate())"),
    ("mysql", "default", "DEFAULT (now(6) - INTERVAL 1 DAY)"),
    ("mariadb", "default", "DEFAULT (curdate())"),
    ("sqlite", "default", "DEFAULT (strftime('%Y-%m-%d %H:%M:00', 'now'))"),
    ("sqlite", "default", "DEFAULT (datetime('now', 'start of day'))"),
    ("duckdb", "default", "DEFAULT (date_trunc('hour', now()))"),
    ("duckdb", "default", "DEFAULT current_date"),
)
FINE = (
    ("mysql", "generated", "AS (coalesce(made, made)) STORED"),
    ("mysql", "generated", "AS (if(id > 3, made, made))"),
    ("mariadb", "generated", "AS (greatest(made, made)) STORED"),
    ("duckdb", "generated", "AS (coalesce(made, made))"),
    ("postgres", "default", "DEFAULT (now() AT TIME ZONE 'UTC')"),
    ("mysql", "default", "DEFAULT CURRENT_TIMESTAMP(6)"),
    ("mysql", "default", "DEFAULT (now())"),
    ("mysql", "default", "DEFAULT '2024-01-01 00:00:00'"),
    ("mariadb", "default", "DEFAULT current_timestamp(6)"),
    ("mariadb", "default", "DEFAULT '2024-01-01 00:00:00'"),
    ("sqlite", "default", "DEFAULT CURRENT_TIMESTAMP"),
    ("sqlite", "default", "DEFAULT (datetime('now'))"),
    ("sqlite", "default", "DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))"),
    ("duckdb", "default", "DEFAULT (now() AT TIME ZONE 'UTC')"),
    ("duckdb", "default", "DEFAULT '2024-01-01 00:00:00'"),
)
# The mark of an expression or a view, of `made`.
COARSE_SQL = {engine: (sql,) for engine, sql in HOUR.items()}
COARSE_SQL["sqlite"] += ("datetime(made, 'start of day')",
                         "datetime(made, '-1 day')")
COARSE_SQL["duckdb"] += ("made - INTERVAL 1 DAY", "made::date::timestamp")
# The mark of a row may be older than when it was written.
for old in ("coalesce(made, '1970-01-01 00:00:00')",
            "CASE WHEN id > 3 THEN made END", "least(made, made)"):
    for engine in ("postgres", "duckdb"):
        COARSE_SQL[engine] += (old,)
COARSE_SQL["sqlite"] += ("coalesce(made, '1970-01-01 00:00:00')",)
FINE_SQL = {"postgres": ("coalesce(made, made)", "CAST(made AS timestamp)"),
            "sqlite": ("datetime(made)", "coalesce(made, made)", "date(made)",
                       "strftime('%Y-%m-%d %H:%M:%S', made)"),
            "duckdb": ("coalesce(made, made)", "CAST(made AS DATE)")}


def make(tidemark, source, destination, mark, table="items", expression=None):
    """Two rows of now; their mark is called `mark`."""
    source.execute(f"CREATE TABLE items (id bigint PRIMARY KEY, "
                   f"made {MADE[source.engine]}{mark})",
                   "INSERT INTO items (id) VALUES (10), (11)")
    sync_items(tidemark, source, destination, "timestamp", table=table)
    pipeline = tidemark.pipelines["items"]
    pipeline["key"] = ["id"]
    pipeline["watermark"].update(column="mark", time_zone="UTC")
    if expression:
        pipeline["source"]["expressions"] = {"mark": expression}
    tidemark.write_config()


def says(tidemark, what="how coarse \"mark\" is", code="mark-coarse"):
    """The guarantee of a run; `check` warns of the same."""
    result = tidemark.run().pipeline()
    coarse = what in (result["guarantee_reason"] or "")
    problems = [each for each in
                tidemark("check", "--json").pipeline()["problems"]
                if each["code"] == code]
    assert bool(problems) == coarse, (problems, result)
    assert all(each["fix"] for each in problems)
    assert not coarse or result["guarantee"] == "lag", result
    return coarse


@pytest.mark.parametrize("engine,kind,mark", COARSE)
def test_coarse_column(tidemark, make_source, make_destination, engine, kind,
                       mark):
    source = make_source(engine)
    make(tidemark, source, make_destination("sqlite"),
         f", mark {TYPE[engine]} {mark}")
    assert says(tidemark)
    if kind == "default":
        return
    # The row that the mark has passed: only `verify` finds it.
    source.execute("INSERT INTO items (id) VALUES (1)")
    tidemark.run()
    tidemark("verify").expect(EXIT_DIFFERENT)


@pytest.mark.parametrize("engine,kind,mark", FINE)
def test_fine_column(tidemark, make_source, make_destination, engine, kind,
                     mark):
    make(tidemark, make_source(engine), make_destination("sqlite"),
         f", mark {TYPE[engine]} {mark}")
    assert not says(tidemark), kind


@pytest.mark.parametrize("engine,sql", [
    (engine, sql) for engine in ("sqlite", "duckdb")
    for sql in COARSE_SQL[engine]])
def test_coarse_expression(tidemark, make_source, make_destination, engine,
                           sql):
    make(tidemark, make_source(engine), make_destination("sqlite"), "",
         expression=sql)
    assert says(tidemark)


@pytest.mark.parametrize("engine,sql", [
    (engine, sql) for engine in ("sqlite", "duckdb")
    for sql in FINE_SQL[engine]])
def test_fine_expression(tidemark, make_source, make_destination, engine, sql):
    make(tidemark, make_source(engine), make_destination("sqlite"), "",
         expression=sql)
    assert not says(tidemark)


# SQLite shows no text of what a view computes: a function of dates may tell
# the time of now.
FOUND = {"sqlite": ("\"mark\" is of a view that is more than columns",
                    "mark-of-several")}


def viewed(tidemark, source, destination, sql):
    """The mark of a view over a view that computes it."""
    source.execute("CREATE TABLE base (id bigint, "
                   f"made {MADE[source.engine]})",
                   f"CREATE VIEW inner_view AS SELECT id, {sql} AS m, made"
                   " FROM base",
                   "CREATE VIEW outer_view AS SELECT id, m AS mark, made"
                   " FROM inner_view")
    make(tidemark, source, destination, "", table="outer_view")


@pytest.mark.parametrize("engine,sql", [
    (engine, COARSE_SQL[engine][0])
    for engine in ("postgres", "sqlite", "duckdb")])
def test_coarse_view(tidemark, make_source, make_destination, engine, sql):
    viewed(tidemark, make_source(engine), make_destination("sqlite"), sql)
    assert says(tidemark, *FOUND.get(engine, ()))


@pytest.mark.parametrize("engine,sql", [
    (engine, "made") for engine in FINE_SQL] + [
    ("postgres", sql) for sql in FINE_SQL["postgres"]])
def test_fine_view(tidemark, make_source, make_destination, engine, sql):
    viewed(tidemark, make_source(engine), make_destination("sqlite"), sql)
    assert not says(tidemark)


# How a group, or a row for each group, gets the mark of one of its rows.
GROUPED_SQL = {
    "postgres": ("min(made)", "max(made)", "(array_agg(made))[1]"),
    "sqlite": ("min(made)",),
    "duckdb": ("min(made)", "max(made)", "arg_min(made, id)", "first(made)"),
}


def grouped(tidemark, source, destination, sql, rest):
    source.execute("CREATE TABLE base (id bigint, part bigint, "
                   f"made {MADE[source.engine]})",
                   "INSERT INTO base (id, part, made) VALUES"
                   " (1, 10, '2024-01-02'), (2, 11, '2024-01-03')",
                   f"CREATE VIEW groups AS SELECT part AS id, {sql} AS mark,"
                   f" min(made) AS made FROM base {rest}")
    make(tidemark, source, destination, "", table="groups")


@pytest.mark.parametrize("engine,sql", [
    (engine, sql) for engine, all in GROUPED_SQL.items() for sql in all])
def test_mark_of_a_group(tidemark, make_source, make_destination, engine, sql):
    """A row that joins a group, or leaves it, takes the mark back: what the
    group is now is not read."""
    source = make_source(engine)
    grouped(tidemark, source, make_destination("sqlite"), sql, "GROUP BY part")
    assert says(tidemark, "\"mark\" is chosen among the values",
                "mark-grouped")
    if "max" in sql:
        source.execute("UPDATE base SET part = 11, made = '2024-01-04'"
                       " WHERE part = 10",
                       "INSERT INTO base (id, part, made)"
                       " VALUES (3, 10, '2024-01-01')")
    else:
        source.execute("INSERT INTO base (id, part, made)"
                       " VALUES (0, 10, '2024-01-01')")
    tidemark.run()
    tidemark("verify").expect(EXIT_DIFFERENT)


@pytest.mark.parametrize("engine", ("postgres", "duckdb"))
def test_mark_of_one_row_of_a_window(tidemark, make_source, make_destination,
                                     engine):
    """The newest row of each group, as a view often says it."""
    source = make_source(engine)
    source.execute("CREATE VIEW newest AS SELECT * FROM (SELECT *,"
                   " row_number() OVER (PARTITION BY made ORDER BY made)"
                   " AS n FROM (SELECT 1::bigint AS id,"
                   f" now()::{TYPE[engine]} AS mark, 1 AS made) r) w"
                   " WHERE n = 1")
    make(tidemark, source, make_destination("sqlite"), "", table="newest")
    assert says(tidemark, "\"mark\" is chosen among the values",
                "mark-grouped")

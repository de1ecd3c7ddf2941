"""Views as sources: `exact` is said of those alone whose rows come of one row
of one table each. In any other, a row may appear or change while its mark is
old, and no run reads it."""

import pytest

# A table, and what is made beside it (BESIDE).
BASE = {
    "duckdb": ("id bigint PRIMARY KEY, part bigint, size bigint,"
               " made timestamp, day timestamp DEFAULT current_date,"
               " hour timestamp AS (date_trunc('hour', made))"),
    "sqlite": ("id integer PRIMARY KEY, part bigint, size bigint,"
               " made timestamp,"
               " day timestamp DEFAULT (datetime('now', 'start of day')),"
               " hour timestamp AS (substr(made, 1, 13) || ':00:00')"),
}
BASE["postgres"] = (
    "id bigint PRIMARY KEY, part bigint, size bigint, made timestamp,"
    " day timestamp DEFAULT current_date,"
    " hour timestamp GENERATED ALWAYS AS (date_trunc('hour', made)) STORED")
BASE["mysql"] = BASE["mariadb"] = (
    "id bigint PRIMARY KEY, part bigint, size bigint, made datetime")
HOURLY = ("CREATE FUNCTION hourly(x datetime) RETURNS datetime DETERMINISTIC"
          " RETURN date_format(x, '%Y-%m-%d %H:00:00')")
TIME = {"mysql": "datetime", "mariadb": "datetime"}
BESIDE = {
    "mysql": (HOURLY,),
    "mariadb": (HOURLY,),
    "postgres": (
        "CREATE FUNCTION hourly(x timestamp) RETURNS timestamp IMMUTABLE"
        " LANGUAGE sql AS 'SELECT date_trunc(''hour'', x)'",
        "CREATE FUNCTION known(x bigint) RETURNS bool STABLE LANGUAGE sql"
        " AS 'SELECT EXISTS (SELECT FROM public.other WHERE id = x)'",
        "CREATE TABLE parts (id bigint, made timestamp)"
        " PARTITION BY RANGE (id)",
        "CREATE TABLE part_one PARTITION OF parts DEFAULT",
        "CREATE TABLE parent (id bigint, made timestamp)",
        "CREATE TABLE child () INHERITS (parent)",
        "CREATE VIEW barrier WITH (security_barrier) AS"
        " SELECT id, made AS at FROM base WHERE part > 0"),
    "duckdb": ("CREATE MACRO hourly(x) AS date_trunc('hour', x)",
               "CREATE MACRO lower(x) AS concat(now(), x)",
               "CREATE MACRO newest() AS TABLE SELECT * FROM base"
               " QUALIFY row_number() OVER (PARTITION BY part ORDER BY id)"
               " = 1"),
}
GROUPED = "mark-grouped"
SEVERAL = "mark-of-several"
COARSE = "mark-coarse"
ONE = "(SELECT o.seen FROM other o WHERE o.id = base.id)"
# View, and the problem that `check` tells of; None: it is exact.
CHOSEN = (
    ("SELECT id, made AS mark FROM (SELECT *, row_number() OVER"
     " (PARTITION BY part ORDER BY size DESC) AS n FROM base) q"
     " WHERE n = 1", GROUPED),
    ("SELECT part AS id, max(made) AS mark FROM base GROUP BY part", GROUPED),
    ("SELECT part AS id, min(made) AS mark FROM base GROUP BY part"
     " HAVING count(*) > 0", GROUPED),
    ("SELECT id, (SELECT max(seen) FROM other) AS mark FROM base", SEVERAL),
    ("SELECT id, made AS mark FROM base"
     " WHERE made >= (SELECT min(seen) FROM other)", SEVERAL),
    (f"SELECT id, {ONE} AS mark FROM base", SEVERAL),
    (f"SELECT id, made AS mark, {ONE} AS seen FROM base", SEVERAL),
    ("SELECT id, made AS mark FROM base ORDER BY size LIMIT 2", SEVERAL),
    ("SELECT id, made AS mark FROM base ORDER BY id LIMIT 1 OFFSET 1",
     SEVERAL),
    ("SELECT id, made AS mark FROM base WHERE id IN (SELECT id FROM other)",
     SEVERAL),
    ("SELECT id, made AS mark FROM base WHERE NOT EXISTS"
     " (SELECT 1 FROM other o WHERE o.id = base.id)", SEVERAL),
    ("SELECT b.id, b.made AS mark FROM base b JOIN other o ON o.id = b.id",
     SEVERAL),
    ("SELECT b.id, b.made AS mark, o.seen FROM base b"
     " LEFT JOIN other o ON o.id = b.id", SEVERAL),
    ("SELECT b.id, b.made AS mark FROM base b, other o WHERE o.id = b.id",
     SEVERAL),
    ("SELECT a.id, a.made AS mark FROM base a JOIN base b ON b.id = a.part",
     SEVERAL),
    ("SELECT id, made AS mark FROM base, (VALUES (1)) v", SEVERAL),
    ("SELECT id, made AS mark FROM base EXCEPT SELECT id, seen FROM other",
     SEVERAL),
    ("SELECT id, day AS mark FROM base", COARSE),
)
PLAIN = (
    "SELECT id, made AS mark FROM base",
    "SELECT id, made AS mark, upper('x') AS up, size + 1 AS more FROM base"
    " WHERE part > 0 AND size IN (5, 10, 20) ORDER BY size",
    "SELECT id, mark FROM (SELECT id, made AS mark, part AS p FROM base) q"
    " WHERE p BETWEEN 1 AND 9",
    "SELECT id, mark FROM v_below",
)
CTE = ("WITH w AS (SELECT * FROM base) SELECT id, made AS mark FROM w"
       " WHERE coalesce(part, 1) < 3")
OWN = {
    "postgres": (
        (CTE, None),
        (CTE.replace("AS (", "AS MATERIALIZED ("), None),
        ("SELECT id, made AS mark FROM base UNION ALL"
         " SELECT id + 10, seen FROM other", None),
        ("SELECT id, made AS mark FROM base"
         " ORDER BY date_trunc('hour', made)", None),
        ("SELECT id, made AS mark FROM parts", SEVERAL),
        ("SELECT id, made AS mark FROM parent", SEVERAL),
        ("SELECT id, made AS mark FROM child", None),
        ("SELECT id, coalesce(made, made) AS mark FROM part_one", None),
        ("SELECT id, made AS mark, to_char(made, 'YYYY') AS year FROM base"
         " WHERE made > date '2000-01-01'", None),
        ("SELECT id, at AS mark FROM barrier", None),
        ("SELECT id, made AS mark FROM base"
         " WHERE to_tsvector('english', id::text) IS NOT NULL", None),
        ("SELECT id, made AS mark, tableoid::regclass::text FROM base",
         SEVERAL),
        ("SELECT id, made AS mark, format('%s', tableoid::regclass) AS came"
         " FROM base", SEVERAL),
        ("SELECT id, made AS mark, 'base'::regclass::text AS came FROM base",
         SEVERAL),
        ("SELECT DISTINCT ON (part) id, made AS mark FROM base", SEVERAL),
        ("SELECT id, made AS mark FROM base UNION SELECT id + 10, seen"
         " FROM other", SEVERAL),
        ("SELECT b.id, l.made AS mark FROM base b, LATERAL (SELECT made"
         " FROM base c WHERE c.part = b.part ORDER BY size LIMIT 1) l",
         SEVERAL),
        ("SELECT id, made AS mark, age(made) FROM base", SEVERAL),
        ("SELECT id, made AS mark FROM base UNION ALL"
         " SELECT id + 10, day FROM base", COARSE),
        ("SELECT id, made AS mark FROM base WHERE made < now()", SEVERAL),
        ("SELECT id, made AS mark FROM base WHERE made < CURRENT_DATE",
         SEVERAL),
        ("SELECT id, made AS mark FROM base"
         " WHERE made < ('to' || 'day')::text::timestamp", SEVERAL),
        ("SELECT id, made AS mark FROM base WHERE random() >= 0", SEVERAL),
        ("SELECT id, made AS mark FROM base WHERE known(id)", SEVERAL),
        ("SELECT generate_series(id, id) AS id, made AS mark FROM base",
         SEVERAL),
        ("SELECT g AS id, timestamp '2024-01-01' AS mark"
         " FROM generate_series(1, 3) g", SEVERAL),
        ("SELECT id, made AS mark FROM base TABLESAMPLE SYSTEM (100)",
         SEVERAL),
        ("WITH RECURSIVE r(id, mark) AS (SELECT id, made FROM base UNION ALL"
         " SELECT r.id, mark FROM r WHERE false) SELECT * FROM r", SEVERAL),
        ("SELECT id, hour AS mark FROM base", COARSE),
        ("SELECT id, coalesce(hour, hour) AS mark FROM base", COARSE),
        ("SELECT id, hourly(made) AS mark FROM base", COARSE),
        ("SELECT id, made AS mark FROM base UNION ALL"
         " SELECT id + 10, date_trunc('hour', seen) FROM other", COARSE),
    ),
    "duckdb": (
        ("SELECT part AS id, quantile_disc(made, 0.0) AS mark FROM base"
         " GROUP BY part", GROUPED),
        ("SELECT part AS id, median(made) AS mark FROM base GROUP BY ALL",
         GROUPED),
        ("SELECT 1 AS id, arbitrary(made) AS mark FROM base", GROUPED),
        ("SELECT id, made AS mark FROM base"
         " QUALIFY row_number() OVER (PARTITION BY part ORDER BY id) = 1",
         GROUPED),
        ("SELECT id, made AS mark FROM newest()", SEVERAL),
        ("SELECT id, hourly(made) AS mark FROM base", SEVERAL),
        ("SELECT id, made AS mark, upper('x') AS up FROM base"
         " WHERE hourly(made) IS NOT NULL", SEVERAL),
        ("SELECT id, made AS mark, lower('x') AS up FROM base", SEVERAL),
        ("SELECT DISTINCT ON (part) id, made AS mark FROM base", SEVERAL),
        ("SELECT id, made AS mark FROM base UNION SELECT id, seen FROM other",
         SEVERAL),
        ("SELECT id, made AS mark FROM base USING SAMPLE 99%", SEVERAL),
        ("SELECT id, made AS mark FROM base TABLESAMPLE 99%", SEVERAL),
        ("SELECT id, made AS mark FROM base WHERE made < now()", SEVERAL),
        ("SELECT id, made AS mark FROM base WHERE made < current_date",
         SEVERAL),
        ("SELECT id, made AS mark FROM base WHERE random() >= 0", SEVERAL),
        ("SELECT range AS id, TIMESTAMP '2024-01-01' AS mark FROM range(3)",
         SEVERAL),
        ("SELECT unnest([id]) AS id, made AS mark FROM base", SEVERAL),
        ("SELECT id, made AS mark FROM base ANTI JOIN other"
         " ON base.id = other.id + 9", SEVERAL),
        (CTE, SEVERAL),
        ("SELECT id, hour AS mark FROM base", COARSE),
        ("SELECT id, CAST(CAST(made AS DATE) AS TIMESTAMP) AS mark FROM base",
         COARSE),
        ("SELECT id, date_trunc('hour', made) AS mark FROM base", COARSE),
        ("SELECT * REPLACE (date_trunc('day', made) AS made), made AS mark"
         " FROM base", COARSE),
        ("SELECT id, mark FROM (SELECT id, part, made FROM base)"
         " q(id, part, mark)", COARSE),
        ("SELECT *, made AS mark FROM base", COARSE),
    ),
    "sqlite": (
        (CTE, None),
        ("SELECT part AS id, max(size), made AS mark FROM base"
         " GROUP BY part", GROUPED),
        ("SELECT part AS id, made AS mark FROM base GROUP BY part", SEVERAL),
        ("SELECT DISTINCT part AS id, made AS mark FROM base", SEVERAL),
        ("SELECT id, made AS mark FROM base UNION SELECT id, seen FROM other",
         SEVERAL),
        ("SELECT id, made AS mark FROM base UNION ALL SELECT id + 9,"
         " strftime('%Y-01-01 00:00:00', seen) FROM other", SEVERAL),
        ("SELECT id, made AS mark FROM base"
         " WHERE made < datetime('now')", SEVERAL),
        ("SELECT id, made AS mark FROM base WHERE made < CURRENT_TIMESTAMP",
         SEVERAL),
        ("SELECT id, made AS mark FROM base WHERE random() <> 0", SEVERAL),
        ("SELECT b.id, made AS mark FROM base b, json_each('[1]') j",
         SEVERAL),
        ("SELECT b.id, made AS mark FROM base b JOIN pragma_user_version p",
         SEVERAL),
        ("WITH w AS MATERIALIZED (SELECT * FROM base)"
         " SELECT id, made AS mark FROM w", SEVERAL),
        ("SELECT id, hour AS mark FROM base", COARSE),
        ("SELECT id, substr(made, 1, 10) AS mark FROM base", COARSE),
        ("SELECT id, made AS mark FROM base WHERE part = 1 AND size > 0",
         None),
    ),
}


# In these the engines of the tables below are not known.
ALWAYS_LAG = (
    *(sql for sql in PLAIN if "IN (5" not in sql),
    "SELECT id, made AS mark FROM (SELECT *, row_number() OVER"
    " (PARTITION BY part ORDER BY size DESC) AS n FROM base) q WHERE n = 1",
    "SELECT part AS id, max(size), min(made) AS mark FROM base"
    " GROUP BY part HAVING count(*) > 0",
    "SELECT id, (SELECT min(seen) FROM other) AS mark FROM base",
    f"SELECT id, {ONE} AS mark FROM base",
    "SELECT id, made AS mark FROM base ORDER BY size LIMIT 2",
    "SELECT DISTINCT id, made AS mark FROM base",
    "SELECT id, made AS mark FROM base UNION SELECT id + 10, seen FROM other",
    "SELECT id, hourly(made) AS mark FROM base",
)


def numbered(views):
    return {f"v{n}": each for n, each in enumerate(views)}


def views_of(engine):
    return numbered((*CHOSEN, *((sql, None) for sql in PLAIN), *OWN[engine]))


def make_views(tidemark, source, destination, views):
    source.execute(f"CREATE TABLE base ({BASE[source.engine]})",
                   "CREATE TABLE other (id integer PRIMARY KEY, seen"
                   f" {TIME.get(source.engine, 'timestamp')})",
                   "CREATE INDEX base_part ON base (part)",
                   "INSERT INTO base (id, part, size, made) VALUES"
                   " (1, 1, 10, '2024-01-01 09:00:00'),"
                   " (2, 2, 20, '2024-01-01 10:00:00'),"
                   " (3, 3, 5, '2024-01-01 11:00:00')",
                   "INSERT INTO other SELECT id, made FROM base",
                   *BESIDE.get(source.engine, ()),
                   "CREATE VIEW v_below AS SELECT part, id, made AS mark"
                   " FROM base b WHERE size > 0",
                   *(f"CREATE VIEW {name} AS {sql}"
                     for name, (sql, _) in views.items()))
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for name in views:
        tidemark.pipeline(
            name, source={"connection": "source", "table": name},
            destination={"connection": "warehouse", "table": f"main.{name}"},
            key=["id"], watermark={"strategy": "timestamp", "column": "mark",
                                   "time_zone": "UTC"})
    tidemark.write_config()


@pytest.mark.parametrize("engine", OWN)
def test_views(tidemark, make_source, make_destination, engine):
    views = views_of(engine)
    make_views(tidemark, make_source(engine), make_destination("sqlite"),
               views)
    ran, checked = tidemark.run(), tidemark("check", "--json")
    for name, (sql, code) in views.items():
        result = ran.pipeline(name)
        wanted = "lag" if code else "exact"
        assert result["guarantee"] == wanted, (sql, result)
        problems = {each["code"]: each
                    for each in checked.pipeline(name)["problems"]}
        found = {each for each in problems if each.startswith("mark-")
                 and each != "mark-without-index"}
        assert found == ({code} if code else set()), (sql, problems)
        assert not code or problems[code]["fix"]


@pytest.mark.parametrize("engine", ("mysql", "mariadb"))
def test_views_are_never_exact(tidemark, make_source, make_destination,
                               engine):
    views = numbered((sql, None) for sql in ALWAYS_LAG)
    make_views(tidemark, make_source(engine), make_destination("sqlite"),
               views)
    ran = tidemark.run()
    for name, (sql, _) in views.items():
        result = ran.pipeline(name)
        assert result["guarantee"] == "lag", (sql, result)
        assert "is a view" in result["guarantee_reason"], (sql, result)

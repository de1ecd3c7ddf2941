"""Every built-in type with its edge values: exact from Postgres to Postgres,
and with the expected text where the destination has no such type.
"""

import math

import pytest

import oracle
from bench import EXIT_DATA, sync_items, written
from canon import quote

# (name, type, SQL expressions of values). NULL is added to each.
TYPES = (
    ("c_bool", "boolean", ("true", "false")),
    ("c_int2", "smallint", ("-32768", "0", "32767")),
    ("c_int4", "integer", ("-2147483648", "0", "2147483647")),
    ("c_int8", "bigint", ("-9223372036854775808", "0", "9223372036854775807")),
    ("c_num", "numeric", (
        "0", "1.10", "-0.000000000000000000000000000001", "'NaN'",
        "'Infinity'", "'-Infinity'", "0.00", "1e100", "repeat('9', 500)::numeric",
        "123456789012345678901234567890.123456789")),
    ("c_num_p", "numeric(12,2)", ("9999999999.99", "-0.01", "0.10", "'NaN'")),
    ("c_num_wide", "numeric(60,30)", ("1.5", "-2e29")),
    ("c_float4", "real", (
        "'-0'", "'NaN'", "'Infinity'", "'-Infinity'", "1e-45", "3.4028235e38",
        "0.1", "16777217")),
    ("c_float8", "double precision", (
        "'-0'", "'NaN'", "'Infinity'", "'-Infinity'", "5e-324",
        "1.7976931348623157e308", "0.1", "0.30000000000000004",
        "2.2250738585072014e-308")),
    ("c_text", "text", (
        "''", "' '", "'ünïcödé 🐘🏳️‍🌈'", "E'tab\\tnew\\nline\\r\\\\ \"quote\" ''single'''",
        "E'\\x01\\x7f'", "'NULL'", "E'\\\\N'", "repeat('é', 70000)")),
    ("c_varchar", "varchar(10)", ("''", "'🐘🐘🐘🐘🐘🐘🐘🐘🐘🐘'", "'ab '")),
    ("c_bpchar", "char(5)", ("'a'", "''", "'abcde'")),
    ("c_char", '"char"', ("'a'", "''")),
    ("c_name", "name", ("'a name'",)),
    ("c_bytea", "bytea", (
        "''", "'\\x00'", "'\\x00ff00'", "'\\xdeadbeef'",
        "decode(repeat('00ff', 40000), 'hex')")),
    ("c_date", "date", (
        "'1970-01-01'", "'infinity'", "'-infinity'", "'4713-01-01 BC'",
        "'0001-12-31 BC'", "'5874897-12-31'", "'2024-02-29'")),
    ("c_time", "time", ("'00:00'", "'23:59:59.999999'", "'24:00'")),
    ("c_time3", "time(3)", ("'12:34:56.789'",)),
    ("c_timetz", "timetz", ("'12:34:56.789012+05:30'", "'00:00-15:59'")),
    ("c_timestamp", "timestamp", (
        "'1970-01-01'", "'infinity'", "'-infinity'", "'4713-11-24 BC'",
        "'294246-12-31 23:59:59.999999'", "'1969-12-31 23:59:59.999999'")),
    ("c_timestamptz", "timestamptz", (
        "'1970-01-01Z'", "'infinity'", "'-infinity'", "'0044-03-15 12:00Z BC'",
        "'2024-10-27 02:30:00.123456+02'", "'294246-12-31 23:59:59.999999Z'")),
    ("c_timestamp0", "timestamp(0)", ("'2024-01-01 12:00:01'",)),
    ("c_interval", "interval", (
        "'0'", "'1 year -2 months 3 days -04:05:06.789'", "'-178000000 years'",
        "'1 month 30 days 24:00:00'", "'00:00:00.000001'")),
    ("c_uuid", "uuid", (
        "'00000000-0000-0000-0000-000000000000'",
        "'ffffffff-ffff-ffff-ffff-ffffffffffff'")),
    ("c_json", "json", (
        "'null'", "'{\"b\": 1,  \"a\": [1, 2.50, \"é\\u0041\"], \"b\": 2}'", "'[]'")),
    ("c_jsonb", "jsonb", (
        "'null'", "'{\"b\": 1, \"a\": [1e400, \"🐘\"]}'", "'\"text\"'")),
    ("c_int_array", "integer[]", (
        "'{}'", "'{1,NULL,3}'", "'{{1,2},{3,4}}'", "'[0:1]={7,8}'")),
    ("c_text_array", "text[]", (
        "'{}'", "ARRAY['a,b', '\"', E'\\\\', '', 'NULL', NULL]")),
    ("c_ts_array", "timestamptz[]", ("ARRAY['infinity', '2024-01-01Z'::timestamptz]",)),
    ("c_int4range", "int4range", ("'empty'", "'[1,5)'", "'(,)'")),
    ("c_numrange", "numrange", ("'(1.10,2.2]'",)),
    ("c_tstzrange", "tstzrange", ("'[2024-01-01Z,infinity]'",)),
    ("c_multirange", "int4multirange", ("'{}'", "'{[1,3),[5,9)}'")),
    ("c_datemultirange", "datemultirange", ("'{[2024-01-01,2024-02-01)}'",)),
    ("c_point", "point", ("'(1.5,-2.25)'", "'(NaN,Infinity)'")),
    ("c_line", "line", ("'{1,2,3}'",)),
    ("c_lseg", "lseg", ("'[(0,0),(1,0.1)]'",)),
    ("c_box", "box", ("'(1,1),(0,0)'",)),
    ("c_path", "path", ("'((0,0),(1,1),(2,0))'", "'[(0,0),(1,1)]'")),
    ("c_polygon", "polygon", ("'((0,0),(1,1),(2,0))'",)),
    ("c_circle", "circle", ("'<(0.1,0.2),3>'",)),
    ("c_inet", "inet", ("'192.168.0.1/24'", "'::1'", "'10.0.0.1'")),
    ("c_cidr", "cidr", ("'10.0.0.0/8'", "'2001:db8::/32'")),
    ("c_macaddr", "macaddr", ("'08:00:2b:01:02:03'",)),
    ("c_macaddr8", "macaddr8", ("'08:00:2b:01:02:03:04:05'",)),
    ("c_bit", "bit(5)", ("'10101'",)),
    ("c_varbit", "varbit", ("''", "'1'", "'101010101'")),
    ("c_money", "money", ("'-12.34'", "'92233720368547758.07'")),
    ("c_xml", "xml", ("'<a b=\"1\">é &amp; ü</a>'",)),
    ("c_tsvector", "tsvector", ("'a:1A fat:2B cat:3'", "''")),
    ("c_tsquery", "tsquery", ("'fat & !rat'",)),
    ("c_oid", "oid", ("0", "4294967295")),
    ("c_pg_lsn", "pg_lsn", ("'16/B374D848'",)),
    ("c_xid8", "xid8", ("'18446744073709551615'",)),
    ("c_jsonpath", "jsonpath", ("'$.a[*] ? (@ > 1)'",)),
    ("c_regclass", "regclass", ("'pg_class'",)),
    ("c_enum", "public.mood", ("'sad'", "'so \"happy\"'")),
    ("c_domain", "public.positive", ("1", "2147483647")),
    ("c_composite", "public.pair", ("ROW(1, 'a \"b\",c')", "ROW(NULL, '')")),
    ("c_composite_array", "public.pair[]", ("ARRAY[ROW(1, 'x')::public.pair]",)),
    ("c_enum_array", "public.mood[]", ("ARRAY['sad']::public.mood[]",)),
    ("c_hstore", "public.hstore", ("'a=>1, \"b c\"=>NULL'",)),
    ("c_citext", "public.citext", ("'MiXeD'",)),
)

TYPE_DDL = (
    "CREATE TYPE public.mood AS ENUM ('sad', 'so \"happy\"')",
    "CREATE DOMAIN public.positive AS integer CHECK (VALUE > 0)",
    "CREATE TYPE public.pair AS (n integer, t text)",
)


@pytest.fixture
def typed_source(source, cluster):
    create_types(cluster, source)
    columns = ", ".join(f"{name} {type_}" for name, type_, _ in TYPES)
    source.execute(f"CREATE TABLE typed (id integer PRIMARY KEY, {columns}, "
                   "updated_at timestamptz NOT NULL DEFAULT '2024-01-01')")
    for number in range(1 + max(len(values) for _, _, values in TYPES)):
        source.execute(insert_row(number))
    return source


def create_types(cluster, end):
    with cluster.admin(end.database) as admin:
        admin.execute("CREATE EXTENSION hstore SCHEMA public")
        admin.execute("CREATE EXTENSION citext SCHEMA public")
    end.execute(*TYPE_DDL)


def insert_row(number):
    """Row `number` has each type's n-th value; NULL when there is none."""
    cells = []
    for _, type_, values in TYPES:
        value = values[number] if number < len(values) else "NULL"
        cells.append(f"({value})::{type_}")
    return (f"INSERT INTO typed VALUES ({number}, {', '.join(cells)})")


def as_text(end, table="typed"):
    """Every cell as the server prints it, through psql."""
    columns = ["id", "updated_at", *(name for name, _, _ in TYPES)]
    cells = ", ".join(
        f"jsonb_build_object('c', '{name}', 'v', {quote(name)}::text)"
        for name in columns)
    return end.cluster.psql(
        end.database, "SET extra_float_digits = 3; SELECT jsonb_build_array("
        f"{cells}) FROM {table} ORDER BY id").splitlines()


@pytest.mark.threads
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert",
                                  "replace"))
def test_postgres_to_postgres_is_exact(tidemark, typed_source, cluster,
                                       make_destination, mode):
    destination = make_destination("postgres")
    create_types(cluster, destination)
    sync_items(tidemark, typed_source, destination, "timestamp", mode,
               table="typed", batch={"rows": 3})
    done = tidemark.run()
    assert done.pipeline()["rows_inserted"] > 10
    here, there = as_text(typed_source), as_text(destination)
    assert len(here) > 10
    assert here == there
    table = "typed_raw" if mode == "append" else "typed"
    declared = destination.columns_of(f"public.{table}")
    for name, type_ in typed_source.columns_of("public.typed").items():
        assert declared[name] == type_, name
    if mode == "replace":
        return
    tidemark("watermark", "reset", "items").expect(0)
    assert written(tidemark.run().pipeline()) == 0, "a value differs from itself"


def test_changed_values_are_seen(tidemark, typed_source, cluster,
                                 make_destination):
    """IS DISTINCT FROM over every type: also those without equality."""
    destination = make_destination("postgres")
    create_types(cluster, destination)
    sync_items(tidemark, typed_source, destination, "timestamp", table="typed")
    tidemark.run()
    sets = ", ".join(f"{name} = other.{name}" for name, _, _ in TYPES)
    typed_source.execute(
        f"UPDATE typed SET {sets}, updated_at = '2024-02-01' FROM typed other "
        "WHERE typed.id = 0 AND other.id = 1")
    assert tidemark.run().pipeline()["rows_updated"] == 1
    assert as_text(typed_source) == as_text(destination)
    for name, type_, values in TYPES:
        if len(values) < 2:
            continue
        typed_source.execute(
            f"UPDATE typed SET {name} = ({values[0]})::{type_}, "
            "updated_at = updated_at + interval '1 second' WHERE id = 0")
        assert tidemark.run().pipeline()["rows_updated"] == 1, name
    assert as_text(typed_source) == as_text(destination)


def test_check_tells_the_mapping(tidemark, typed_source, cluster,
                                 make_destination):
    destination = make_destination("postgres")
    create_types(cluster, destination)
    sync_items(tidemark, typed_source, destination, "timestamp", table="typed")
    checked = tidemark("check", "--json").expect(0).pipeline()
    mapping = {each["name"]: each["mapping"] for each in checked["columns"]}
    assert set(mapping) >= {name for name, _, _ in TYPES}
    assert set(mapping.values()) == {"exact"}


def without_nan(end, engine):
    """DuckDB's DECIMAL has no NaN: the next test sees it refused."""
    if engine == "duckdb":
        end.execute("UPDATE typed SET c_num_p = NULL WHERE c_num_p = 'NaN'")


def test_nan_does_not_fit_a_duckdb_decimal(tidemark, source, make_destination):
    destination = make_destination("duckdb")
    source.execute(
        "CREATE TABLE sums (id int PRIMARY KEY, n numeric(12,2), "
        "updated_at timestamptz NOT NULL DEFAULT '2024-01-01')",
        "CREATE INDEX ON sums (updated_at)",
        "INSERT INTO sums (id, n) VALUES (6, 1), (7, 'NaN')")
    sync_items(tidemark, source, destination, "timestamp", table="sums")
    message = tidemark.run(expect=EXIT_DATA).pipeline()["error"]["message"]
    assert "column n, row id=7" in message and "DECIMAL(12,2)" in message
    assert destination.query("SELECT count(*) FROM main.sums") == [(0,)]


@pytest.mark.parametrize("engine", ("sqlite", "duckdb"))
def test_nothing_is_silently_lossy(tidemark, typed_source, make_destination,
                                   engine):
    """A column that `check` calls exact holds what the source shows; what is
    lossy is called so."""
    destination = make_destination(engine)
    without_nan(typed_source, engine)
    sync_items(tidemark, typed_source, destination, "timestamp", table="typed")
    checked = tidemark("check", "--json").expect(0).pipeline()
    mapping = {each["name"]: each["mapping"] for each in checked["columns"]}
    assert set(mapping.values()) <= {"exact", "widened", "lossy"}
    tidemark.run()
    tidemark("watermark", "reset", "items").expect(0)
    assert written(tidemark.run().pipeline()) == 0
    kinds = {"c_bool": "bool", "c_int2": "int", "c_int4": "int",
             "c_int8": "int", "c_float8": "float", "c_text": "text",
             "c_varchar": "text", "c_bytea": "bytes", "c_uuid": "uuid",
             "c_num_p": "decimal"}
    exact = {name: kind for name, kind in kinds.items()
             if mapping[name] == "exact"}
    assert {"c_bool", "c_int8", "c_text", "c_bytea"} <= set(exact)
    columns = {"id": "int", **exact}
    oracle.check_rows(typed_source.rows("typed", columns),
                      destination.rows("main.typed", columns))


def test_a_time_beyond_our_range_is_refused(tidemark, source,
                                            make_destination):
    """PostgreSQL counts µs from 2000, so its last 30 years do not fit."""
    source.execute(
        "CREATE TABLE late (id int PRIMARY KEY, t timestamp, "
        "updated_at timestamptz NOT NULL DEFAULT '2024-01-01')",
        "CREATE INDEX ON late (updated_at)",
        "INSERT INTO late (id, t) VALUES (7, '294276-12-31 23:59:59.999999')")
    destination = make_destination("postgres")
    sync_items(tidemark, source, destination, "timestamp", table="late")
    message = tidemark.run(expect=EXIT_DATA).pipeline()["error"]["message"]
    assert "public.late" in message and '"t"' in message and "7" in message
    assert destination.query("SELECT count(*) FROM late") == [(0,)]


TEXT_TYPES = ("c_int4range", "c_point", "c_inet", "c_int_array", "c_enum",
              "c_composite", "c_tsvector", "c_varbit", "c_xml", "c_hstore",
              "c_multirange", "c_macaddr", "c_money", "c_timetz")


@pytest.mark.parametrize("engine", ("sqlite", "duckdb"))
def test_types_beyond_arrive_as_text(tidemark, typed_source, make_destination,
                                     engine):
    destination = make_destination(engine)
    without_nan(typed_source, engine)
    sync_items(tidemark, typed_source, destination, "timestamp", table="typed")
    tidemark.run()
    cells = ", ".join(f"{name}::text" for name in TEXT_TYPES)
    here = typed_source.query(f"SELECT id, {cells} FROM typed")
    there = destination.rows("main.typed", {
        "id": "int", **{name: "text" for name in TEXT_TYPES}})
    oracle.check_rows(here, there)


@pytest.mark.parametrize("engine", ("sqlite", "duckdb"))
def test_times_keep_their_microseconds(tidemark, source, make_destination,
                                       engine):
    destination = make_destination(engine)
    source.execute(
        "CREATE TABLE times (id int PRIMARY KEY, d date, t timestamp, "
        "updated_at timestamptz NOT NULL)",
        "CREATE INDEX ON times (updated_at)",
        """INSERT INTO times VALUES
        (1, '2024-02-29', '1969-12-31 23:59:59.999999', '2024-10-27 02:30:00.123456+02'),
        (2, '1900-01-01', '9999-12-31 23:59:59.999999', '2024-01-01 00:00:00.000001Z'),
        (3, NULL, NULL, '2024-01-01 00:00:00Z')""")
    columns = {"id": "int", "d": "date", "t": "timestamp",
               "updated_at": "timestamptz"}
    sync_items(tidemark, source, destination, "timestamp", table="times",
               name="times")
    tidemark.run()
    oracle.check_equal(source, destination, "times", "main.times", columns)


def test_sqlite_declares_what_it_stores(tidemark, source, make_destination):
    """NaN and infinities survive in SQLite, which has no NaN of its own."""
    destination = make_destination("sqlite")
    source.execute(
        "CREATE TABLE floats (id int PRIMARY KEY, f double precision, "
        "updated_at timestamptz NOT NULL DEFAULT '2024-01-01')",
        "CREATE INDEX ON floats (updated_at)",
        "INSERT INTO floats (id, f) VALUES (1, 'NaN'), (2, 'Infinity'), "
        "(3, '-Infinity'), (4, NULL), (5, 0.1)")
    sync_items(tidemark, source, destination, "timestamp", table="floats",
               name="floats")
    tidemark.run()
    there = dict(destination.query("SELECT id, f FROM main.floats"))
    assert there[5] == 0.1 and there[2] == math.inf and there[3] == -math.inf
    assert there[4] is None
    assert there[1] is not None, "NaN has silently become NULL"


# The limit of numeric: 131072 digits before the point, 16383 behind it.
HUGE = "(repeat('9', 131072) || '.' || repeat('7', 16383))::numeric"


@pytest.mark.parametrize("engine", ("postgres", "sqlite", "duckdb", "mysql",
                                    "clickhouse"))
def test_largest_numeric(tidemark, source, make_destination, make_clickhouse,
                         engine):
    """Carried as it is, or refused by its column and its row's key."""
    destination = (make_clickhouse() if engine == "clickhouse"
                   else make_destination(engine))
    source.execute(
        "CREATE TABLE items (id bigint PRIMARY KEY, v numeric, "
        "updated_at timestamptz NOT NULL DEFAULT '2024-01-01')",
        f"INSERT INTO items VALUES (1, 1.50), (2, {HUGE}), (3, -{HUGE})")
    sync_items(tidemark, source, destination, "timestamp")
    done = tidemark("run", "--json")
    if done.code == EXIT_DATA and engine != "postgres":
        message = done.pipeline()["error"]["message"]
        assert '"v"' in message and "id=2" in message, message[:500]
        assert "damaged" not in message, message[:500]
        return
    done.expect(0)
    there = destination.query(
        f"SELECT v FROM {quote(destination.schema)}.items ORDER BY id"
        if engine in ("postgres", "duckdb") else
        "SELECT v FROM items ORDER BY id")
    here = source.query("SELECT v::text FROM items ORDER BY id")
    assert [str(row[0]).rstrip("0") for row in there] == \
        [row[0].rstrip("0") for row in here]
    assert tidemark.run().pipeline()["rows_read"] == 0

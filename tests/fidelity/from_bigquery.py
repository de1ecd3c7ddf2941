"""The types of BigQuery, with their edge values: such as its front can hold."""

from functools import partial

import landings as places
from landings import (BOOL, BYTES, DATE, FLOAT64, INT64, JSON, NATIVE,
                      NO_CLICKHOUSE, NO_MYSQL, TEXT, decimal, time, timestamp,
                      timestamptz)
from table import Column, Source, Spelt, Value

own = partial(places.own, engine="bigquery")
NAN, INFINITY = float("nan"), float("inf")

NUMBERS = (
    Column("BOOL", BOOL, ("TRUE", True), ("FALSE", False)),
    Column("INT64", INT64, ("-9223372036854775807 - 1", -9223372036854775808),
           ("9223372036854775807", 9223372036854775807), ("0", 0)),
    Column("FLOAT64", FLOAT64, ("0.1", 0.1),
           ("1.7976931348623157e308", 1.7976931348623157e308),
           ("0.30000000000000004", 0.30000000000000004),
           Value("CAST('-inf' AS FLOAT64)", -INFINITY, **NO_MYSQL),
           Value("CAST('nan' AS FLOAT64)", NAN, sqlite="NaN", **NO_MYSQL)),
    Column("NUMERIC", own(decimal(38, 9), "NUMERIC"),
           ("CAST('99999999999999999999999999999.999999999' AS NUMERIC)",
            "99999999999999999999999999999.999999999"),
           ("CAST('-0.000000001' AS NUMERIC)", "-0.000000001")),
    Column("NUMERIC(12, 2)", decimal(12, 2),
           ("CAST('-9999999999.99' AS NUMERIC)", "-9999999999.99")),
    Column("BIGNUMERIC(30, 12)", decimal(30, 12),
           ("CAST('999999999999999999.999999999999' AS BIGNUMERIC)",
            "999999999999999999.999999999999")),
    Column("BIGNUMERIC", own(decimal(77, 38), "BIGNUMERIC"),
           Value(f"CAST('-{'9' * 20}.{'9' * 18}' AS BIGNUMERIC)",
                 f"-{'9' * 20}.{'9' * 18}",
                 postgres=Spelt(f"-{'9' * 20}.{'9' * 18}{'0' * 20}"))),
)

TEXTS = (
    Column("STRING", TEXT, ("''", ""), ("' ünïcödé 🐘 '", " ünïcödé 🐘 "),
           ("'NULL'", "NULL"), ("REPEAT('é', 100000)", "é" * 100000)),
    Column("BYTES", BYTES, ("FROM_HEX('')", b""),
           ("FROM_HEX('00ff5c27')", b"\0\xff\\'")),
    Column("JSON", own(JSON, "JSON"),
           ("PARSE_JSON('{\"a\":[2.5,null],\"b\":1}')",
            "{\"a\":[2.5,null],\"b\":1}")),
)

TIMES = (
    Column("DATE", DATE, ("'1970-01-01'", "1970-01-01"),
           Value("'0001-01-01'", "0001-01-01", **NO_CLICKHOUSE),
           Value("'9999-12-31'", "9999-12-31", **NO_CLICKHOUSE)),
    Column("TIME", time(6), ("'00:00:00'", "00:00:00"),
           ("'23:59:59.999999'", "23:59:59.999999")),
    Column("DATETIME", timestamp(6),
           ("'2024-02-29 23:59:59.999999'", "2024-02-29 23:59:59.999999"),
           Value("'0001-01-01 00:00:00'", "0001-01-01 00:00:00",
                 **NO_CLICKHOUSE),
           Value("'9999-12-31 23:59:59.999999'", "9999-12-31 23:59:59.999999",
                 **NO_CLICKHOUSE)),
    Column("TIMESTAMP", timestamptz(6),
           ("'1969-12-31 23:59:59.999999+00'", "1969-12-31 23:59:59.999999"),
           Value("'0001-01-01 00:00:00+00'", "0001-01-01 00:00:00",
                 **NO_CLICKHOUSE),
           Value("'9999-12-31 23:59:59.999999+00'",
                 "9999-12-31 23:59:59.999999", **NO_CLICKHOUSE)),
)

NATIVES = (
    Column("ARRAY<INT64>", own(NATIVE, "ARRAY<INT64>"),
           ("[1, -2]", "[1,-2]"), every=True, native=True),
    Column("ARRAY<STRING>", own(NATIVE, "ARRAY<STRING>"),
           ("['a', 'b\"c']", '["a","b\\"c"]'), every=True, native=True),
)

BIGQUERY_SOURCE = Source("bigquery", (*NUMBERS, *TEXTS, *TIMES, *NATIVES))

"""The types of SQLite, with their edge values. It lets nearly any value into
any column: what does not fit the declared type is refused, never guessed."""

from landings import (BOOL, BYTES, DATE, FLOAT64, INT64, JSON, NO_MYSQL,
                      NUMERIC, TEXT, UUID, decimal, time, timestamp,
                      timestamptz)
from table import Column, Refused, Source, Value

INFINITY, NAN = float("inf"), float("nan")

NUMBERS = (
    Column("INTEGER", INT64, ("-9223372036854775808", -9223372036854775808),
           ("9223372036854775807", 9223372036854775807), ("0", 0),
           ("'12'", 12), Value("'abc'", Refused("the text 'abc'")),
           Value("1.5", Refused("the number 1.5")),
           Value("X'31'", Refused("the blob"))),
    Column("TINYINT", INT64, ("9223372036854775807", 9223372036854775807),
           note="any integer: SQLite looks at `INT` alone"),
    Column("INTEGER GENERATED ALWAYS AS (6 * 7) VIRTUAL", INT64,
           ("DEFAULT", 42), every=True),
    Column("INTEGER GENERATED ALWAYS AS (6 * 9) STORED", INT64,
           ("DEFAULT", 54), every=True),
    Column("BOOLEAN", BOOL, ("0", False), ("1", True), ("true", True),
           Value("2", Refused("the integer 2")),
           Value("'yes'", Refused("the text 'yes'"))),
    Column("REAL", FLOAT64, ("0.1", 0.1), ("1", 1.0), ("5e-324", 5e-324),
           ("1.7976931348623157e308", 1.7976931348623157e308),
           ("-2.2250738585072014e-308", -2.2250738585072014e-308),
           ("0.30000000000000004", 0.30000000000000004),
           Value("9e999", INFINITY, **NO_MYSQL),
           Value("-9e999", -INFINITY, **NO_MYSQL),
           Value("'NaN'", NAN, sqlite="NaN", **NO_MYSQL),
           Value("'abc'", Refused("the text 'abc'"))),
    Column("NUMERIC", NUMERIC, ("5", "5"), ("-1.5", "-1.5"),
           ("1e-7", "0.0000001"), ("0.1", "0.1"),
           ("9223372036854775807", "9223372036854775807"),
           ("1e25", "1" + "0" * 25),
           Value("'abc'", Refused("'abc'"))),
    Column("DECIMAL(10,2)", decimal(10, 2), Value("5", "5.00", sqlite="5"),
           Value("1.1", "1.10", sqlite="1.1"),
           ("-99999999.99", "-99999999.99"),
           Value("1.234", Refused("1.234")),
           Value("100000000", Refused("100000000"))),
)

TEXTS = (
    Column("TEXT", TEXT, ("''", ""), ("' ünïcödé 🐘 '", " ünïcödé 🐘 "),
           ("5", "5"), ("'NULL'", "NULL"),
           ("printf('%.*c', 100000, 'x')", "x" * 100000),
           Value("'a' || char(0) || 'b'", "a\0b", postgres=Refused("0x00")),
           Value("CAST(X'41FF' AS TEXT)", Refused("UTF-8")),
           Value("X'41'", Refused("the blob"))),
    Column("VARCHAR(3)", TEXT, ("'longer'", "longer"),
           note="SQLite sets no limit, so there is none"),
    Column("", TEXT, ("'x'", "x"), ("5", "5"), ("1.5", "1.5"),
           Value("X'41'", Refused("the blob")), name="no_type"),
    Column("BLOB", BYTES, ("X''", b""), ("X'00FF27'", b"\0\xff'"),
           ("zeroblob(100000)", bytes(100000)),
           Value("'abc'", Refused("the text 'abc'"))),
    Column("UUID", UUID, ("'00112233-4455-6677-8899-AABBCCDDEEFF'",
                          "00112233-4455-6677-8899-aabbccddeeff"),
           ("'ffffffffffffffffffffffffffffffff'",
            "ffffffff-ffff-ffff-ffff-ffffffffffff"),
           ("X'00000000000000000000000000000001'",
            "00000000-0000-0000-0000-000000000001"),
           Value("'00ab'", Refused("the text '00ab'"))),
    Column("JSON", JSON, ("'{\"b\":  2.50, \"b\": \"é\\u0041\"}'",
                          "{\"b\":  2.50, \"b\": \"é\\u0041\"}"),
           ("'null'", "null"), ("5", "5")),
)

TIMES = (
    Column("DATE", DATE, ("'2024-02-29'", "2024-02-29"),
           ("'0001-01-01'", "0001-01-01"), ("'9999-12-31'", "9999-12-31"),
           Value("'2023-02-29'", Refused("2023-02-29")),
           Value("'soon'", Refused("the text 'soon'")),
           Value("20240229", Refused("the integer 20240229"))),
    Column("TIME", time(6), ("'00:00:00'", "00:00:00"),
           ("'23:59:59.999999'", "23:59:59.999999"),
           Value("'25:00:00'", Refused("25:00:00"))),
    Column("DATETIME", timestamp(6),
           ("'2024-02-29 23:59:59'", "2024-02-29 23:59:59"),
           ("'1969-12-31T23:59:59.999999'", "1969-12-31 23:59:59.999999"),
           Value("'2024-02-29 12:34'", Refused("2024-02-29 12:34")),
           Value("'2024-02-29 12:34:56.1234567'", Refused("1234567")),
           Value("'2024-02-29 12:34:56+02:00'", Refused("time zone")),
           Value("1709210096", Refused("the integer 1709210096"))),
    Column("TIMESTAMPTZ", timestamptz(6),
           ("'2024-10-27 02:30:00.5+02:00'", "2024-10-27 00:30:00.5"),
           ("'1969-12-31T23:59:59.999999Z'", "1969-12-31 23:59:59.999999"),
           Value("'2024-02-29 12:34:56'", Refused("time zone"))),
)

SQLITE_SOURCE = Source("sqlite", (*NUMBERS, *TEXTS, *TIMES))

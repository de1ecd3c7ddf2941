"""The types of ClickHouse, with their edge values."""

from functools import partial

import landings as places
from landings import (BOOL, BYTES, DATE, FLOAT32, FLOAT64, INT16, INT32,
                      INT64, JSON, NATIVE, NO_MYSQL, TEXT, UINT64, UUID,
                      decimal, timestamptz)
from table import Column, Refused, Source, Spelt, Value, f4

# The servers' words for bytes that are no text.
SERVER_WORDS = {"postgres": Refused('encoding "UTF8"'),
                "mariadb": Refused("Incorrect string value"),
                "mysql": Refused("Incorrect string value")}
own = partial(places.own, engine="clickhouse")
NAN, INFINITY = float("nan"), float("inf")


def column(declared, landings, *values, **more):
    """A column that takes NULL."""
    return Column(f"Nullable({declared})", landings, *values, **more)


def array(declared, sql, text):
    """An array is never NULL: each row has it."""
    return Column(declared, own(NATIVE, declared), (sql, text), every=True)


INTEGERS = (
    column("Bool", BOOL, ("true", True), ("false", False)),
    column("Int8", INT16, ("-128", -128), ("127", 127)),
    column("UInt8", INT16, ("0", 0), ("255", 255)),
    column("Int16", INT16, ("-32768", -32768), ("32767", 32767)),
    column("UInt16", INT32, ("0", 0), ("65535", 65535)),
    column("Int32", INT32, ("-2147483648", -2147483648),
           ("2147483647", 2147483647)),
    column("UInt32", INT64, ("0", 0), ("4294967295", 4294967295)),
    column("Int64", INT64, ("-9223372036854775808", -9223372036854775808),
           ("9223372036854775807", 9223372036854775807)),
    column("UInt64", UINT64, ("0", 0),
           ("18446744073709551615", 18446744073709551615)),
    column("Int128", decimal(39, 0), ("0", "0"),
           ("'-170141183460469231731687303715884105728'",
            "-170141183460469231731687303715884105728"),
           ("'170141183460469231731687303715884105727'",
            "170141183460469231731687303715884105727")),
    column("UInt128", decimal(39, 0),
           ("'340282366920938463463374607431768211455'",
            "340282366920938463463374607431768211455")),
    column("Int256", decimal(77, 0), (f"'{-2**255}'", str(-2**255)),
           (f"'{2**255 - 1}'", str(2**255 - 1))),
    column("UInt256", decimal(78, 0), ("0", "0"),
           (f"'{2**256 - 1}'", str(2**256 - 1))),
)

NUMBERS = (
    column("Decimal(9, 2)", decimal(9, 2), ("'-9999999.99'", "-9999999.99"),
           ("'1.1'", "1.10"), ("'0'", "0.00")),
    column("Decimal(18, 0)", decimal(18, 0), (f"'{'9' * 18}'", "9" * 18)),
    column("Decimal(38, 10)", decimal(38, 10),
           ("'9999999999999999999999999999.9999999999'",
            "9999999999999999999999999999.9999999999"),
           ("'-0.0000000001'", "-0.0000000001")),
    column("Decimal(76, 38)", decimal(76, 38),
           (f"'{'9' * 38}.{'9' * 38}'", f"{'9' * 38}.{'9' * 38}"),
           (f"'-0.{'0' * 37}1'", f"-0.{'0' * 37}1")),
    column("Decimal(76, 0)", decimal(76, 0), (f"'-{'9' * 76}'", "-" + "9" * 76)),
    column("Float32", FLOAT32, ("0.1", f4(0x3DCCCCCD)),
           ("3.4028235e38", f4(0x7F7FFFFF)),
           Value("inf", INFINITY, **NO_MYSQL),
           Value("nan", NAN, sqlite="NaN", **NO_MYSQL),
           Value("-0.", -0.0, sqlite=0.0, mariadb=0.0)),
    column("Float64", FLOAT64, ("0.1", 0.1), ("5e-324", 5e-324),
           ("1.7976931348623157e308", 1.7976931348623157e308),
           ("0.30000000000000004", 0.30000000000000004),
           Value("-inf", -INFINITY, **NO_MYSQL),
           Value("nan", NAN, sqlite="NaN", **NO_MYSQL),
           Value("-0.", -0.0, sqlite=0.0, mariadb=0.0)),
)

TEXTS = (
    column("String", TEXT, ("''", ""), ("' ünïcödé 🐘 '", " ünïcödé 🐘 "),
           ("'NULL'", "NULL"), ("repeat('é', 100000)", "é" * 100000),
           Value(r"'a\0b'", "a\0b", postgres=Refused("0x00")),
           Value("unhex('41FF')", Refused("UTF-8"), **SERVER_WORDS,
                 clickhouse=Spelt("A\udcff")),
           note="any bytes: such as are no text, only ClickHouse takes"),
    column("FixedString(6)", TEXT, ("'ab'", "ab"), ("'ünïc'", "ünïc"),
           note="the zeros that fill it up are no part of the text"),
    Column("LowCardinality(Nullable(String))", TEXT, ("'x'", "x"), ("''", "")),
    column("Enum8('small' = -1, 'größer' = 2)",
           own(TEXT, "Enum8('small' = -1, 'größer' = 2)"),
           ("'größer'", "größer"), name="enum"),
    column("UUID", UUID, ("'00112233-4455-6677-8899-AABBCCDDEEFF'",
                          "00112233-4455-6677-8899-aabbccddeeff"),
           ("'ffffffff-ffff-ffff-ffff-ffffffffffff'",
            "ffffffff-ffff-ffff-ffff-ffffffffffff")),
    Column("Nullable(String) COMMENT 'tidemark: bytes'", BYTES, ("''", b""),
           (r"unhex('00FF5C27')", b"\0\xff\\'"), name="bytes",
           note="as Tidemark leaves it; so are JSON, intervals and the like"),
    Column("Nullable(String) COMMENT 'tidemark: json'", JSON,
           ("'{\"b\": 1,  \"a\": 2.50}'", "{\"b\": 1,  \"a\": 2.50}"),
           name="json"),
)

TIMES = (
    column("Date", DATE, ("'1970-01-01'", "1970-01-01"),
           ("'2149-06-06'", "2149-06-06")),
    column("Date32", DATE, ("'1900-01-01'", "1900-01-01"),
           ("'2299-12-31'", "2299-12-31")),
    column("DateTime('Europe/Rome')", timestamptz(0),
           ("'1970-01-01 01:00:00'", "1970-01-01 00:00:00"),
           ("4294967295", "2106-02-07 06:28:15")),
    column("DateTime64(3, 'UTC')", timestamptz(3),
           ("'2024-02-29 23:59:59.999'", "2024-02-29 23:59:59.999")),
    column("DateTime64(6, 'Asia/Kathmandu')", timestamptz(6),
           ("'2024-10-27 06:15:00.123456'", "2024-10-27 00:30:00.123456")),
    column("DateTime64(6, 'UTC')", timestamptz(6),
           ("'1900-01-01 00:00:00'", "1900-01-01 00:00:00"),
           ("'1969-12-31 23:59:59.999999'", "1969-12-31 23:59:59.999999"),
           ("'2299-12-31 23:59:59.999999'", "2299-12-31 23:59:59.999999")),
    column("DateTime64(9, 'UTC')", NATIVE,
           ("'1969-12-31 23:59:59.999999999'",
            "1969-12-31 23:59:59.999999999"),
           note="nobody else has nanoseconds: text"),
)

NATIVES = (
    column("IPv4", own(NATIVE, "IPv4"), ("'0.0.0.0'", "0.0.0.0"),
           ("'255.255.255.255'", "255.255.255.255")),
    column("IPv6", own(NATIVE, "IPv6"), ("'::'", "::"),
           ("'2001:db8::ff00:42:8329'", "2001:db8::ff00:42:8329")),
    array("Array(Int32)", "[1,-2]", "[1,-2]"),
    array("Array(Nullable(String))", r"['a, b','\'',NULL]",
          r"['a, b','\'',NULL]"),
    Column("Map(String, Int32)", NATIVE, ("map('k', 1)", "{'k':1}"),
           every=True),
    Column("Tuple(Int32, String)", NATIVE, ("(1, 'x y')", "(1,'x y')"),
           every=True),
)

CLICKHOUSE_SOURCE = Source(
    "clickhouse", (*INTEGERS, *NUMBERS, *TEXTS, *TIMES, *NATIVES))

"""Where each kind of value lands: the destination's type, and whether that is
the same (exact), holds all and more (widened), or loses something (lossy).
"""

from table import EXACT, WIDENED, Landing, Refused, json_value

DECIMAL_DIGITS = {"duckdb": 38, "mysql": 65, "clickhouse": 76}
MYSQL_SCALE = 30
# Digits before and behind the point of BigQuery's NUMERIC and BIGNUMERIC.
NUMERIC_DIGITS, BIGNUMERIC_DIGITS = (29, 9), (38, 38)
# Not in MariaDB and MySQL: no infinity, no NaN.
NO_MYSQL = {"mariadb": Refused("no equal"), "mysql": Refused("no equal")}
# Not in ClickHouse: no year but 1900 to 2299.
NO_CLICKHOUSE = {"clickhouse": Refused("is of 1900 to 2299")}
# Nor in the others: no year but 1 to 9999.
NO_WAREHOUSE = {"bigquery": Refused("outside of the years 1 to 9999"),
                **NO_CLICKHOUSE}
NO_YEAR = {**NO_MYSQL, **NO_WAREHOUSE}
# Nor in PostgreSQL: a time before 4713 BC.
NO_SERVER = {"postgres": Refused("out of range"), **NO_YEAR}
# A number with a precision is finite but in PostgreSQL and SQLite.
NO_DECIMAL = {"duckdb": Refused("NaN does not fit"),
              "clickhouse": Refused("NaN does not fit"),
              "bigquery": Refused("not finite"), **NO_MYSQL}
# BigQuery keeps the first of two members, and numbers as doubles.
NO_TWINS = {"bigquery": Refused("two members of one name")}
NO_LONG_NUMBER = {"bigquery": Refused("a number that no double holds")}


def family(type_, mapping=EXACT, form=None):
    """The same in MariaDB and MySQL."""
    return {name: Landing(type_, mapping, form)
            for name in ("mariadb", "mysql")}


def warehouses(clickhouse, bigquery):
    return {"clickhouse": Landing(clickhouse), "bigquery": Landing(bigquery)}


def as_strings():
    """Text, for lack of a type."""
    return {"clickhouse": Landing("String", WIDENED),
            "bigquery": Landing("STRING", WIDENED)}


def plain(postgres, sqlite, duckdb, mysql):
    return {"postgres": Landing(postgres), "sqlite": Landing(sqlite),
            "duckdb": Landing(duckdb), **family(mysql)}


def as_text(postgres, duckdb, mysql):
    """SQLite holds it as text."""
    return {**plain(postgres, "TEXT", duckdb, mysql),
            "sqlite": Landing("TEXT", WIDENED)}


def trimmed(text):
    """A number without the zeros at its end."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def bignumeric(precision, scale):
    for name, (whole, fraction) in (("NUMERIC", NUMERIC_DIGITS),
                                    ("BIGNUMERIC", BIGNUMERIC_DIGITS)):
        if precision - scale <= whole and scale <= fraction:
            return Landing(f"{name}({precision},{scale})", EXACT, trimmed)
    return Landing("STRING", WIDENED)


def decimal(precision, scale):
    brackets = f"({precision},{scale})"
    landings = {**as_text("numeric" + brackets, "DECIMAL" + brackets,
                          "decimal" + brackets),
                "clickhouse": Landing(f"Decimal({precision}, {scale})", EXACT,
                                      trimmed),
                "bigquery": bignumeric(precision, scale)}
    if precision > DECIMAL_DIGITS["duckdb"]:
        landings["duckdb"] = Landing("VARCHAR", WIDENED)
    if precision > DECIMAL_DIGITS["mysql"] or scale > MYSQL_SCALE:
        landings.update(family("longtext", WIDENED))
    if precision > DECIMAL_DIGITS["clickhouse"]:
        landings["clickhouse"] = Landing("String", WIDENED)
    return landings


def varchar(limit):
    return {**plain(f"character varying({limit})", "TEXT", "VARCHAR",
                    f"varchar({limit})"), **warehouses("String", "STRING")}


def floating(postgres, duckdb, mysql, clickhouse):
    return {**plain(postgres, "REAL", duckdb, mysql),
            **warehouses(clickhouse, "FLOAT64"),
            "sqlite": Landing("REAL", WIDENED)}


def time(digits, postgres="time without time zone"):
    return {**as_text(postgres, "TIME", f"time({digits})"), **as_strings(),
            "bigquery": Landing("TIME")}


def timestamp(digits):
    return {**as_text("timestamp without time zone", "TIMESTAMP",
                      f"datetime({digits})" if digits else "datetime"),
            **warehouses("DateTime64(6, 'UTC')", "DATETIME")}


def utc(suffix):
    """An instant as its wall clock in UTC and what is written behind it."""
    return lambda text: text if "inf" in text else text + suffix


def timestamptz(digits):
    return {
        "postgres": Landing("timestamp with time zone", EXACT, utc("+00")),
        "sqlite": Landing("TEXT", WIDENED, utc("+00:00")),
        "duckdb": Landing("TIMESTAMP WITH TIME ZONE"),
        **warehouses("DateTime64(6, 'UTC')", "TIMESTAMP"),
        **family(f"datetime({digits})" if digits else "datetime", WIDENED)}


BOOL = {**plain("boolean", "BOOLEAN", "BOOLEAN", "tinyint(1)"),
        "sqlite": Landing("BOOLEAN", form=int),
        **warehouses("Bool", "BOOL"),
        **family("tinyint(1)", form=int)}
INT16 = {**plain("smallint", "INTEGER", "SMALLINT", "smallint"),
         **warehouses("Int16", "INT64")}
INT32 = {**plain("integer", "INTEGER", "INTEGER", "int"),
         **warehouses("Int32", "INT64")}
INT64 = {**plain("bigint", "INTEGER", "BIGINT", "bigint"),
         **warehouses("Int64", "INT64")}
UINT64 = {"postgres": Landing("numeric(20,0)", WIDENED, str),
          "sqlite": Landing("TEXT", WIDENED, str),
          "duckdb": Landing("UBIGINT"), **family("bigint unsigned"),
          "clickhouse": Landing("UInt64"),
          "bigquery": Landing("NUMERIC(20,0)", WIDENED, str)}
FLOAT32 = {**floating("real", "FLOAT", "float", "Float32"),
           "bigquery": Landing("FLOAT64", WIDENED)}
FLOAT64 = floating("double precision", "DOUBLE", "double", "Float64")
NUMERIC = {**as_text("numeric", "VARCHAR", "longtext"), **as_strings(),
           "duckdb": Landing("VARCHAR", WIDENED),
           **family("longtext", WIDENED)}
TEXT = {**plain("text", "TEXT", "VARCHAR", "longtext"),
        **warehouses("String", "STRING")}
BYTES = {**plain("bytea", "BLOB", "BLOB", "longblob"),
         **warehouses("String", "BYTES")}
DATE = {**as_text("date", "DATE", "date"), **warehouses("Date32", "DATE")}
INTERVAL = {**as_text("interval", "INTERVAL", "varchar(100)"), **as_strings(),
            **family("varchar(100)", WIDENED)}
UUID = {**as_text("uuid", "UUID", "char(36)"), **as_strings(),
        "clickhouse": Landing("UUID"), **family("char(36)", WIDENED)}
# MySQL's own JSON would change it: it sorts members and rounds numbers.
JSON = {**as_text("json", "JSON", "json"), **as_strings(),
        "bigquery": Landing("JSON", EXACT, json_value),
        "mysql": Landing("longtext", WIDENED)}
# A type that the destination does not have: text as the source spells it.
NATIVE = {"postgres": Landing("text", WIDENED),
          "sqlite": Landing("TEXT", WIDENED),
          "duckdb": Landing("VARCHAR", WIDENED), **as_strings(),
          **family("longtext", WIDENED)}


def own(landings, declared, engine="postgres"):
    """From an engine to itself: the very type."""
    form = landings[engine].form
    return {**landings, engine: Landing(declared, EXACT, form)}

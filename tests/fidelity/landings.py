"""Where each kind of value lands: the destination's type, and whether that is
the same (exact), holds all and more (widened), or loses something (lossy).
"""

from table import EXACT, WIDENED, Landing, Refused

DECIMAL_DIGITS = {"duckdb": 38, "mysql": 65}
MYSQL_SCALE = 30
# Not in MariaDB and MySQL: no year but 1 to 9999, no infinity, no NaN.
NO_MYSQL = {"mariadb": Refused("no equal"), "mysql": Refused("no equal")}
# Nor in PostgreSQL: a time before 4713 BC.
NO_SERVER = {"postgres": Refused("out of range"), **NO_MYSQL}


def family(type_, mapping=EXACT, form=None):
    """The same in MariaDB and MySQL."""
    return {name: Landing(type_, mapping, form)
            for name in ("mariadb", "mysql")}


def plain(postgres, sqlite, duckdb, mysql):
    return {"postgres": Landing(postgres), "sqlite": Landing(sqlite),
            "duckdb": Landing(duckdb), **family(mysql)}


def as_text(postgres, duckdb, mysql):
    """SQLite holds it as text."""
    return {**plain(postgres, "TEXT", duckdb, mysql),
            "sqlite": Landing("TEXT", WIDENED)}


def decimal(precision, scale):
    brackets = f"({precision},{scale})"
    landings = as_text("numeric" + brackets, "DECIMAL" + brackets,
                       "decimal" + brackets)
    if precision > DECIMAL_DIGITS["duckdb"]:
        landings["duckdb"] = Landing("VARCHAR", WIDENED)
    if precision > DECIMAL_DIGITS["mysql"] or scale > MYSQL_SCALE:
        landings.update(family("longtext", WIDENED))
    return landings


def varchar(limit):
    return plain(f"character varying({limit})", "TEXT", "VARCHAR",
                 f"varchar({limit})")


def floating(postgres, duckdb, mysql):
    return {**plain(postgres, "REAL", duckdb, mysql),
            "sqlite": Landing("REAL", WIDENED)}


def time(digits, postgres="time without time zone"):
    return as_text(postgres, "TIME", f"time({digits})")


def timestamp(digits):
    return as_text("timestamp without time zone", "TIMESTAMP",
                   f"datetime({digits})" if digits else "datetime")


def utc(suffix):
    """An instant as its wall clock in UTC and what is written behind it."""
    return lambda text: text if "inf" in text else text + suffix


def timestamptz(digits):
    return {
        "postgres": Landing("timestamp with time zone", EXACT, utc("+00")),
        "sqlite": Landing("TEXT", WIDENED, utc("+00:00")),
        "duckdb": Landing("TIMESTAMP WITH TIME ZONE"),
        **family(f"datetime({digits})" if digits else "datetime", WIDENED)}


BOOL = {**plain("boolean", "BOOLEAN", "BOOLEAN", "tinyint(1)"),
        "sqlite": Landing("BOOLEAN", form=int),
        **family("tinyint(1)", form=int)}
INT16 = plain("smallint", "INTEGER", "SMALLINT", "smallint")
INT32 = plain("integer", "INTEGER", "INTEGER", "int")
INT64 = plain("bigint", "INTEGER", "BIGINT", "bigint")
UINT64 = {"postgres": Landing("numeric(20,0)", WIDENED, str),
          "sqlite": Landing("TEXT", WIDENED, str),
          "duckdb": Landing("UBIGINT"), **family("bigint unsigned")}
FLOAT32 = floating("real", "FLOAT", "float")
FLOAT64 = floating("double precision", "DOUBLE", "double")
NUMERIC = {**as_text("numeric", "VARCHAR", "longtext"),
           "duckdb": Landing("VARCHAR", WIDENED),
           **family("longtext", WIDENED)}
TEXT = plain("text", "TEXT", "VARCHAR", "longtext")
BYTES = plain("bytea", "BLOB", "BLOB", "longblob")
DATE = as_text("date", "DATE", "date")
INTERVAL = {**as_text("interval", "INTERVAL", "varchar(100)"),
            **family("varchar(100)", WIDENED)}
UUID = {**as_text("uuid", "UUID", "char(36)"),
        **family("char(36)", WIDENED)}
# MySQL's own JSON would change it: it sorts members and rounds numbers.
JSON = {**as_text("json", "JSON", "json"),
        "mysql": Landing("longtext", WIDENED)}
# A type that the destination does not have: text as the source spells it.
NATIVE = {"postgres": Landing("text", WIDENED),
          "sqlite": Landing("TEXT", WIDENED),
          "duckdb": Landing("VARCHAR", WIDENED),
          **family("longtext", WIDENED)}


def own(landings, declared):
    """From PostgreSQL to PostgreSQL: the very type."""
    form = landings["postgres"].form
    return {**landings, "postgres": Landing(declared, EXACT, form)}

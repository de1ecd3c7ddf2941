"""Where each kind of value lands: the destination's type, and whether that is
the same (exact), holds all and more (widened), or loses something (lossy).
"""

from table import EXACT, WIDENED, Landing

DECIMAL_DIGITS_OF_DUCKDB = 38


def plain(postgres, sqlite, duckdb):
    return {"postgres": Landing(postgres), "sqlite": Landing(sqlite),
            "duckdb": Landing(duckdb)}


def as_text(postgres, duckdb, duckdb_mapping=EXACT):
    """SQLite holds it as text."""
    return {"postgres": Landing(postgres), "sqlite": Landing("TEXT", WIDENED),
            "duckdb": Landing(duckdb, duckdb_mapping)}


def decimal(precision, scale):
    fits = precision <= DECIMAL_DIGITS_OF_DUCKDB
    return as_text(f"numeric({precision},{scale})",
                   f"DECIMAL({precision},{scale})" if fits else "VARCHAR",
                   EXACT if fits else WIDENED)


def varchar(limit):
    return plain(f"character varying({limit})", "TEXT", "VARCHAR")


def floating(postgres, duckdb):
    return {"postgres": Landing(postgres), "sqlite": Landing("REAL", WIDENED),
            "duckdb": Landing(duckdb)}


def utc(suffix):
    """An instant as its wall clock in UTC and what is written behind it."""
    return lambda text: text if "inf" in text else text + suffix


BOOL = {**plain("boolean", "BOOLEAN", "BOOLEAN"),
        "sqlite": Landing("BOOLEAN", form=int)}
INT16 = plain("smallint", "INTEGER", "SMALLINT")
INT32 = plain("integer", "INTEGER", "INTEGER")
INT64 = plain("bigint", "INTEGER", "BIGINT")
UINT64 = {"postgres": Landing("numeric(20,0)", WIDENED, str),
          "sqlite": Landing("TEXT", WIDENED, str),
          "duckdb": Landing("UBIGINT")}
FLOAT32 = floating("real", "FLOAT")
FLOAT64 = floating("double precision", "DOUBLE")
NUMERIC = as_text("numeric", "VARCHAR", WIDENED)
TEXT = plain("text", "TEXT", "VARCHAR")
BYTES = plain("bytea", "BLOB", "BLOB")
DATE = as_text("date", "DATE")
TIME = as_text("time without time zone", "TIME")
TIMESTAMP = as_text("timestamp without time zone", "TIMESTAMP")
TIMESTAMPTZ = {
    "postgres": Landing("timestamp with time zone", EXACT, utc("+00")),
    "sqlite": Landing("TEXT", WIDENED, utc("+00:00")),
    "duckdb": Landing("TIMESTAMP WITH TIME ZONE")}
INTERVAL = as_text("interval", "INTERVAL")
UUID = as_text("uuid", "UUID")
JSON = as_text("json", "JSON")
# A type that the destination does not have: text as the source spells it.
NATIVE = {"postgres": Landing("text", WIDENED),
          "sqlite": Landing("TEXT", WIDENED),
          "duckdb": Landing("VARCHAR", WIDENED)}


def own(landings, declared):
    """From PostgreSQL to PostgreSQL: the very type."""
    form = landings["postgres"].form
    return {**landings, "postgres": Landing(declared, EXACT, form)}

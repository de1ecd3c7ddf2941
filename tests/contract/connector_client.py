"""The connector suite's own statements in the SQL of another engine, for a
lasting client: connector_client.py clickhouse|bigquery.

The suite writes CREATE TABLE with PRIMARY KEY, INSERT, UPDATE and DELETE. Texts
stand in '', instants as '2024-01-01 00:00:00+00'. A statement ends with ";" at
the end of a line. A line that begins with "--" goes as it is.
"""
import os
import pathlib
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from bigquery_servers import ApiError, Client  # noqa: E402

from lasting import serve  # noqa: E402

TEXT = re.compile(r"'((?:[^']|'')*)'")
INSTANT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\+00")
TABLE = re.compile(r"CREATE TABLE (\S+) \((.*)\)\s*$", re.S)
KEY = re.compile(r"PRIMARY KEY \(([^)]*)\)")


class Clickhouse:
    """Nothing may be NULL unless it says so, and there are no keys."""

    types = {"date": "Date32"}

    def __init__(self, place):
        url = urllib.parse.urlsplit(place)
        self.url = f"http://{url.hostname}:{url.port}/"

    def ask(self, sql):
        try:
            with urllib.request.urlopen(self.url, sql.encode(), 60) as answer:
                answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode(errors="replace")) from None

    @staticmethod
    def instant(text):
        return f"toDateTime64('{text}', 6, 'UTC')"

    @staticmethod
    def column(name, kind, null):
        return f"{name} Nullable({kind})" if null else f"{name} {kind}"

    @staticmethod
    def table(name, columns, key):
        order = ", ".join(key) if key else "tuple()"
        return (f"CREATE TABLE {name} ({', '.join(columns)}) "
                f"ENGINE = MergeTree ORDER BY ({order})")

    @staticmethod
    def other(sql):
        sql = re.sub(r"^UPDATE (\S+) SET (.*?)( WHERE .*)?$",
                     r"ALTER TABLE \1 UPDATE \2 \3 SETTINGS mutations_sync = 2",
                     sql, flags=re.S)
        return re.sub(r"^(DROP (TABLE|DATABASE) .*)$", r"\1 SYNC", sql)


class Bigquery:
    """Keys are declared and nothing more: they are left out."""

    types = {"int": "INT64", "bigint": "INT64", "smallint": "INT64",
             "text": "STRING", "varchar": "STRING", "date": "DATE",
             "decimal": "NUMERIC"}

    def __init__(self, place):
        project = place.removeprefix("bigquery://").split("/")[0]
        self.client = Client(os.environ["BIGQUERY_EMULATOR_HOST"], project)

    def ask(self, sql):
        self.client.query(sql)

    @staticmethod
    def instant(text):
        return f"TIMESTAMP '{text}+00'"

    @staticmethod
    def column(name, kind, null):
        kind = re.sub(r"(STRING|INT64)\(.*", r"\1", kind)
        return f"{name} {kind}" if null else f"{name} {kind} NOT NULL"

    @staticmethod
    def table(name, columns, _):
        return f"CREATE TABLE {name} ({', '.join(columns)})"

    @staticmethod
    def other(sql):
        sql = re.sub(r"(\w+) % (\d+)", r"MOD(\1, \2)", sql)
        changed = re.match("UPDATE|DELETE", sql) and " WHERE " not in sql
        return sql + " WHERE TRUE" if changed else sql


def literal(dialect, text):
    instant = INSTANT.fullmatch(text)
    if instant:
        return dialect.instant(instant[1])
    return "'" + text.replace("\\", "\\\\").replace("''", "\\'") + "'"


def column(dialect, text, key):
    name, kind = text.replace(" PRIMARY KEY", "").strip().split(" ", 1)
    null = " NOT NULL" not in kind and name not in key
    kind = re.sub(" (NOT )?NULL", "", kind)
    word = re.match(r"\w+", kind)[0]
    return dialect.column(
        name, dialect.types.get(word, word) + kind[len(word):], null)


def create(dialect, name, body):
    named = KEY.search(body)
    body = re.sub(r",\s*" + KEY.pattern, "", body)
    columns = re.split(r",\s*(?![^(]*\))", body)
    key = re.split(r",\s*", named[1]) if named else [
        text.split()[0] for text in columns if " PRIMARY KEY" in text]
    return dialect.table(
        name, [column(dialect, text, key) for text in columns], key)


def translated(dialect, sql):
    if sql.startswith("--"):
        return sql.removeprefix("--")
    made = TABLE.match(sql)
    if made:
        return create(dialect, *made.groups())
    return TEXT.sub(lambda found: literal(dialect, found[1]),
                    dialect.other(sql))


DIALECTS = {"clickhouse": Clickhouse, "bigquery": Bigquery}


def answer(place, sql):
    dialect = DIALECTS[sys.argv[1]](place)
    for statement in filter(None, sql.split(";\n")):
        try:
            dialect.ask(translated(dialect, statement.strip()))
        except (RuntimeError, ApiError) as error:
            return 1, f"{error}\n{translated(dialect, statement.strip())}"
    return 0, ""


if __name__ == "__main__":
    serve(answer)

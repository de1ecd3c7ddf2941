"""Reading ClickHouse and BigQuery back, and spoiling what lies there: by the
engines' own SQL, without any code of Tidemark's.
"""

import base64
import datetime
import json
import re
import struct

from canon import split_table
from table import json_value

EPOCH = datetime.datetime(1970, 1, 1)
# The names of BigQuery's API that are not those of its SQL.
SQL_NAMES = {"INTEGER": "INT64", "FLOAT": "FLOAT64", "BOOLEAN": "BOOL"}


def backtick(name):
    return f"`{name}`"


def trimmed_time(text):
    """Without zeros at its end."""
    return re.sub(r"\.?0+$", "", text) if "." in text else text


def declared_clickhouse(end, name):
    """Column types without the Nullable() that all but keys have, and the
    names of those that hold bytes: the table below the view says so."""
    types = {column: re.sub(r"^Nullable\((.*)\)$", r"\1", declared)
             for column, declared in end.columns_of(name).items()}
    binary = end.query(
        "SELECT name FROM system.columns WHERE comment = 'tidemark: bytes'"
        f" AND database = '{end.database}' AND table = '{name}_raw'")
    return types, {column for (column,) in binary}


def read_clickhouse(end, table):
    """Floats by their bits, texts and bytes by theirs, whole numbers and truth
    as such; what is left as the server prints it."""
    name = split_table(table)[-1]
    types, binary = declared_clickhouse(end, name)

    def expression(column, declared):
        if declared.startswith("Float") or declared == "String":
            return f"hex({backtick(column)})"
        return f"toString({backtick(column)})"

    def value(column, found):
        declared = types[column]
        if found is None:
            return None
        if declared.startswith("Float"):
            return struct.unpack("<f" if declared == "Float32" else "<d",
                                 bytes.fromhex(found))[0]
        if declared == "String":
            data = bytes.fromhex(found)
            return data if column in binary else data.decode(
                errors="surrogateescape")
        if declared.startswith(("Int", "UInt")):
            return int(found)
        if declared == "Bool":
            return {"true": True, "false": False}[found]
        return trimmed_time(found) if declared.startswith("Date") else found

    rows = end.query(
        "SELECT " + ", ".join(map(expression, types, types.values()))
        + f" FROM {backtick(name)} ORDER BY id")
    return types, [dict(zip(types, map(value, types, row))) for row in rows]


def spoiled_clickhouse(end, table, columns):
    """Below the view. The hash of a row goes with its values: what a hand
    changes without it no run looks for."""
    raw = f"{backtick(end.database)}.{backtick(table + '_raw')}"
    cells = "".join(f"{backtick(name)} = NULL, " for name in columns)
    some = " OR ".join(f"isNotNull({backtick(name)})" for name in columns)
    done = "SETTINGS mutations_sync = 2"
    return (f"ALTER TABLE {raw} UPDATE {cells}_tidemark_hash = 0 WHERE {some}"
            f" {done}", f"ALTER TABLE {raw} DELETE WHERE id = 0 {done}")


def declared_bigquery(field):
    name = SQL_NAMES.get(field["type"], field["type"])
    if "precision" in field:
        name += f"({field['precision']},{field.get('scale', '0')})"
    return f"ARRAY<{name}>" if field.get("mode") == "REPEATED" else name


def bigquery_value(declared, text):
    if text is None:
        return None
    if declared.startswith("ARRAY<"):
        return json.dumps([bigquery_value(declared[6:-1], each["v"])
                           for each in text], separators=(",", ":"))
    if declared == "INT64":
        return int(text)
    if declared == "FLOAT64":
        return float(text)
    if declared == "BOOL":
        return {"true": True, "false": False}[text]
    if declared == "BYTES":
        return base64.b64decode(text)
    if declared == "JSON":
        return json_value(text)
    if declared == "TIMESTAMP":
        text = str(EPOCH + datetime.timedelta(microseconds=int(text)))
    if declared in ("TIMESTAMP", "DATETIME", "TIME"):
        return trimmed_time(text.replace("T", " "))
    return text


def read_bigquery(end, table):
    """As the API has it, whose floats are the shortest texts that are
    theirs."""
    types = {name: declared_bigquery(field)
             for name, field in end.fields(table).items()}
    _, rows = end.front.query(
        f"SELECT {', '.join(map(backtick, types))}"
        f" FROM {end.quote(table)} ORDER BY id", end.dataset)
    return types, [dict(zip(types, map(bigquery_value, types.values(), row)))
                   for row in rows]

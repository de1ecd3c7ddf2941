"""One value for all engines that tell it, and the spelling of table names.
Nothing here is Tidemark's own code."""

import datetime
import decimal
import hashlib
import json
import re
import struct

EPOCH = datetime.datetime(1970, 1, 1)


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def quote_table(table):
    """A `schema.table` as the config writes it; parts may be quoted."""
    return ".".join(quote(part) for part in split_table(table))


def split_table(table):
    found = re.findall(r'"((?:[^"]|"")*)"|([^."]+)', table)
    return [quoted.replace('""', '"') or plain for quoted, plain in found]


def parse_instant(value):
    """µs since 1970 of a timestamp as text, datetime or µs; inf as text."""
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        if value.lstrip("-").lower() in ("infinity", "inf"):
            return "-infinity" if value.startswith("-") else "infinity"
        if value.lstrip("-").isdigit():
            return int(value)
        text = value.replace("Z", "+00:00")
        if len(text) > 3 and text[-3] in "+-":
            text += ":00"
        value = datetime.datetime.fromisoformat(text)
    if value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return (value - EPOCH) // datetime.timedelta(microseconds=1)


def canon_float(value):
    value = float(value)
    if value != value:
        return "nan"
    return struct.pack(">d", value)


def canon_decimal(value):
    value = decimal.Decimal(str(value))
    return "nan" if value.is_nan() else value


def canon_json(value):
    if isinstance(value, (str, bytes)):
        value = json.loads(value)
    return json.dumps(value, sort_keys=True)


CANON = {
    "int": int,
    "bool": bool,
    "text": str,
    "bytes": bytes,
    "float": canon_float,
    "decimal": canon_decimal,
    "timestamp": parse_instant,
    "timestamptz": parse_instant,
    "date": str,
    "uuid": lambda value: str(value).lower(),
    "json": canon_json,
}


def canon_row(row, kinds):
    return tuple(None if value is None else CANON[kind](value)
                 for value, kind in zip(row, kinds))


def rows_digest(rows):
    digest = hashlib.sha256()
    for row in sorted(rows, key=repr):
        digest.update(repr(row).encode())
    return digest.hexdigest()

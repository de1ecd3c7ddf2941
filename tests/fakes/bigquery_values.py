"""Values as BigQuery's API writes them: all of them text; and what becomes of
a JSON text."""

import base64
import datetime
import decimal
import json

EPOCH = datetime.datetime(1970, 1, 1)


def micros(value):
    value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return (value - EPOCH) // datetime.timedelta(microseconds=1)


def number(value):
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "0") else text


def real(value):
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def cell(value):
    if isinstance(value, list):
        return {"v": [cell(each) for each in value]}
    if isinstance(value, dict):
        return {"v": {"f": [cell(each) for each in value.values()]}}
    return {"v": text_of(value)}


def text_of(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return real(value)
    if isinstance(value, decimal.Decimal):
        return number(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        return str(micros(value)) if value.tzinfo else value.isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def cells(row):
    return [cell(value) for value in row]


def json_number(digits):
    number = float(digits)
    if decimal.Decimal(digits) != decimal.Decimal(repr(number)):
        raise ValueError(f"Invalid input to PARSE_JSON: Input number: {digits}"
                         " cannot round-trip through string representation")
    return number


def json_integer(digits):
    number = int(digits)
    return number if -2**63 <= number < 2**64 else json_number(digits)


def json_members(pairs):
    """The first of a name is kept."""
    return dict(reversed(pairs))


def json_constant(name):
    raise ValueError(f"Invalid input to PARSE_JSON: {name}")


def parse_json(text):
    """As the service keeps it: neither spaces nor an order of members, numbers
    as 64 bits have them (data-types, "JSON type")."""
    value = json.loads(text, parse_float=json_number, parse_int=json_integer,
                       parse_constant=json_constant,
                       object_pairs_hook=json_members)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False,
                      sort_keys=True)

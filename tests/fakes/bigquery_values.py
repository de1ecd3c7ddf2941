"""Values as BigQuery's API writes them: all of them text."""

import base64
import datetime
import decimal

EPOCH = datetime.datetime(1970, 1, 1)


def micros(value):
    value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return (value - EPOCH) // datetime.timedelta(microseconds=1)


def number(value):
    text = f"{value.normalize():f}"
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

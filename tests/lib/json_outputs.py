"""The JSON that commands print, against its schemas in docs/schemas."""

import copy
import functools
import json
import pathlib

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "docs/schemas"
# Commands whose output another one has as well.
SAME = {"copy": "run", "resume": "pause"}
REPLAYS = ("runs", "dead-letters")
REMEDY = ("Write a new key into docs/schemas, with a description, and then: "
          "tools/json-page --write")


@functools.cache
def names():
    return sorted(path.stem for path in SCHEMAS.glob("*.json"))


def closed(schema):
    """The schema without the room for keys that it does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        found.setdefault("additionalProperties", False)
    return found


@functools.cache
def schema(name):
    return json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))


@functools.cache
def validator(name, strict=True):
    """`strict`: keys that no schema names are errors. Readers of the schemas
    have to expect more keys with a newer version."""
    change = closed if strict else copy.deepcopy
    store = {f"{each}.json": change(schema(each)) for each in names()}
    kind = jsonschema.Draft202012Validator
    return kind(store[f"{name}.json"], resolver=jsonschema.RefResolver(
        f"{name}.json", store[f"{name}.json"], store=store))


def schema_of(command):
    """The name of the schema of a command line; None if it has none."""
    words = [word for word in command if word in names() or word in SAME]
    if "--json" not in command or not words:
        return None
    name = SAME.get(words[0], words[0])
    if name in REPLAYS and "replay" in command:
        name = "run"
    if name == "worker" and "--chunk" in command:
        name = "worker-chunk"
    return name


def errors(name, value, strict=True):
    """The disagreements of a value with a schema, in words."""
    return [f"{name}.json: {'.'.join(map(str, each.absolute_path))}: "
            f"{each.message[:300]}"
            for each in validator(name, strict).iter_errors(value)]


def output_errors(command, text):
    """The same of a command's output: one object, or with --watch one on each
    line. Without a schema there are no errors."""
    name = schema_of(command)
    if name is None or not text.strip():
        return []
    lines = text.splitlines() if "--watch" in command else [text]
    return [wrong for line in lines for wrong in errors(name, json.loads(line))]

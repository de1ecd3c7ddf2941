"""Each --json output is as its schema in docs/schemas says."""

import json
import pathlib
import re
import subprocess

import jsonschema
import pytest

import json_outputs
import workload
from bench import (EXIT_ACCESS, EXIT_DIFFERENT, EXIT_OK, EXIT_SCHEMA,
                   EXIT_STATE, sync_items)
from refused_items import BAD, poison_some, target  # noqa: F401
from servers import wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/json.md"
# These say nothing of a command's result.
NO_RESULT = {"serve", "schema", "completion", "help"}
NO_COMMAND = {"common", "notification", "log"}


def commands(binary):
    page = subprocess.run([binary, "help", "--reference"], check=True,
                          capture_output=True, text=True).stdout
    return set(re.findall(r"(?m)^## ([a-z-]+)$", page))


def described(schema):
    """Each object of a schema that has properties."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for each in schema.values():
            yield from described(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from described(each)


def test_schemas(tidemark_binary):
    names = set(json_outputs.names())
    assert commands(tidemark_binary) - NO_RESULT == \
        (names - NO_COMMAND - {"worker-chunk"}) | set(json_outputs.SAME)
    sources = subprocess.run(
        ["git", "-C", ROOT, "grep", "-hoE", r'"[a-z_]+\\?"', "--", "cli/*.c",
         "core/*.c", "connectors/*.c"], check=True, capture_output=True,
        text=True).stdout
    literals = {line.strip('"\\') for line in sources.splitlines()}
    for name in names:
        schema = json_outputs.schema(name)
        jsonschema.Draft202012Validator.check_schema(schema)
        for each in described(schema):
            assert set(each.get("required", ())) <= set(each["properties"])
            for key, value in each["properties"].items():
                assert value.get("description"), f"{name}: {key} says nothing"
                assert key in literals, f"{name}: nothing prints {key}"


def test_json_page():
    page = subprocess.run([ROOT / "tools/json-page"], check=True,
                          capture_output=True, text=True).stdout
    assert PAGE.read_text(encoding="utf-8") == page, \
        "write docs/json.md with: tools/json-page --write"


def test_what_no_schema_names_is_found():
    value = {"version": "1", "applied": 2, "state": "sqlite:a"}
    assert json_outputs.errors("migrate", {**value, "version": 3}) == []
    for wrong in ({**value, "version": 3, "more": 1}, value, {"version": 3}):
        assert json_outputs.errors("migrate", wrong), wrong
    assert not json_outputs.errors(
        "migrate", {**value, "version": 3, "more": 1}, strict=False), \
        "the schema that users have lets newer keys pass"
    lease = {"host": "a", "pid": 1, "since": "2026", "until": "2026",
             "fence": 1}
    found = json_outputs.errors("run", {"pipelines": [{"lease": lease}]})
    assert any("since" in each for each in found), found


class Story:
    """Commands one after the other; each has to print what its schema says."""

    def __init__(self, tidemark):
        self.tidemark, self.seen = tidemark, set()

    def __call__(self, *args, code=EXIT_OK):
        done = self.tidemark(*args, "--json").expect(code)
        return self.look_at(done.command, done.out)

    def look_at(self, command, out):
        name = json_outputs.schema_of(command)
        assert name and out.strip(), f"nothing to look at: {command}"
        found = json_outputs.output_errors(command, out)
        assert not found, "\n".join([*found, json_outputs.REMEDY])
        self.seen.add(name)
        return json.loads(out)


@pytest.fixture
def story(tidemark):
    return Story(tidemark)


def test_outputs(story, tidemark, target):
    source, destination = target("postgres")
    for words in ("version", "plugins", "migrate", "check items --columns",
                  "grants items", "pace items"):
        story(*words.split())
    poison_some(source)
    assert story("run", "--dry-run")["pipelines"][0]["plan"]
    assert story("run")["pipelines"][0]["rows_dead_lettered"] == len(BAD)
    run = story("runs", "list")["runs"][0]["run_id"]
    assert story("runs", "show", run)["runs"][0]["attempts"][0]["batch_list"]
    story("runs", "replay", run)
    letter = story("dead-letters", "list")["dead_letters"][0]["id"]
    assert story("dead-letters", "show", letter)["dead_letters"][0]["row"]
    story("dead-letters", "discard", letter)
    source.execute("UPDATE items SET amount = 1, quantity = 1")
    story("dead-letters", "replay", "--pipeline", "items")
    source.execute("UPDATE items SET updated_at = now() WHERE id = 1")
    assert story("run", "--verify")["pipelines"][0]["verified"]["equal"]
    destination.execute("UPDATE items SET name = 'by hand' WHERE id = 2")
    found = story("verify", "--show-values", code=EXIT_DIFFERENT)
    assert found["pipelines"][0]["examples"][0]["source"]
    story("verify", "--sample", "50%", "--repair", "--yes")
    for words in ("watermark show", "status", "pace items max_active=50",
                  "pause items --reason index", "status", "resume items",
                  "backfill items --from 2020-01-01 --queue",
                  "status"):
        story(*words.split())
    chunk = story("status")["pipelines"][0]["chunks"][0]["chunk_id"]
    story("worker", "--chunk", chunk)
    for words in ("worker --once --chunks", "backfill items --plan",
                  "watermark reset items"):
        story(*words.split())
    assert story.seen == set(json_outputs.names()) - NO_COMMAND - {"init"}


def test_failures(story, tidemark, source, make_source, make_destination):
    """Other ends, and tables without a config."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    url = ["postgresql://tidemark_test@127.0.0.1:1/none?sslmode=disable",
           destination.url()]
    story("copy", *url, "--table", "public.items", "--watermark",
          "timestamp:updated_at", code=EXIT_ACCESS)
    file = make_source("sqlite")
    workload.create_items(file, rows=1)
    story("init", file.url(), destination.url(), "-o", "made.yaml")
    with source.connect(autocommit=False) as writer:
        writer.execute("UPDATE items SET name = 'open' WHERE id = 1")
        story("run")
        assert story("check")["pipelines"][0]["held_by"]
        assert story("status")["pipelines"][0]["held_by"]
    pause = pathlib.Path(tidemark.dir) / "pause"
    pause.touch()
    tidemark.pipelines["items"]["pace"] = {"pause_file": str(pause)}
    tidemark.write_config()
    running = tidemark.start("run")
    wait_for(lambda: story("status")["pipelines"][0]["paused"],
             what="the run to be held")
    assert story("status")["pipelines"][0]["lease"]
    story("run", code=EXIT_STATE)
    pause.unlink()
    running.wait().expect(EXIT_OK)
    source.execute("ALTER TABLE items RENAME TO away")
    for words in ("run", "check", "verify", "status"):
        story(words, code=EXIT_OK if words == "status" else EXIT_SCHEMA)

"""The log for programs: the keys of each line, the counts of a run's end, and
the identities that the history has. stdout has results alone."""

import json
import re
import signal
import sqlite3

import pytest

import json_outputs
import workload
from bench import EXIT_ACCESS, EXIT_OK, EXIT_SCHEMA, EXIT_STOPPED, sync_items
from servers import wait_for

KEYS = ["time", "level", "pipeline", "run_id", "attempt_id", "event", "code",
        "message"]
COUNTS = ("batches", "rows_read", "rows_inserted", "rows_updated",
          "rows_unchanged", "rows_deleted", "rows_dead_lettered")
PAIR = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^ "=]+)( |$)')


def parse_logfmt(line):
    pairs, at = [], 0
    while at < len(line):
        found = PAIR.match(line, at)
        assert found, f"not logfmt from {line[at:]!r} on: {line!r}"
        value = found.group(2)
        pairs.append((found.group(1),
                      json.loads(value) if value[0] == '"' else value))
        at = found.end()
    assert len(dict(pairs)) == len(pairs), line
    return dict(pairs)


PARSERS = {"json": json.loads, "logfmt": parse_logfmt}


def logged(done, form):
    """All lines of stderr; each has all keys, in their order."""
    lines = [PARSERS[form](line) for line in done.err.splitlines()]
    for line in lines:
        assert list(line)[:len(KEYS)] == KEYS, line
        assert line["time"].endswith("Z") and line["message"], line
        if form == "json":
            assert not json_outputs.errors("log", line), line
    return lines


def events(lines, name):
    return [line for line in lines if line["event"] == name]


def attempts(tidemark):
    with sqlite3.connect(tidemark.state_file) as db:
        return db.execute("SELECT run_id, attempt_id FROM attempts"
                          " ORDER BY seq").fetchall()


@pytest.fixture
def synced(tidemark, source, make_destination):
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp",
               batch={"rows": 20})
    return tidemark


@pytest.mark.parametrize("form", PARSERS)
def test_the_end_of_a_run(synced, source, form):
    done = synced("--log-format", form, "run", "--json").expect(EXIT_OK)
    result = done.pipeline()
    end, = events(logged(done, form), "run_ended")
    assert (end["level"], end["pipeline"], end["code"]) == ("info", "items", "")
    assert (end["run_id"], end["attempt_id"]) == (
        result["run_id"], result["attempt_id"]) == attempts(synced)[-1]
    for key in COUNTS:
        assert int(end[key]) == result[key], end
    assert int(end["rows_read"]) == 50 and end["outcome"] == "caught_up"
    assert float(end["seconds"]) == pytest.approx(result["seconds"])
    source.execute("ALTER TABLE items RENAME TO away")
    done = synced("--log-format", form, "run").expect(EXIT_SCHEMA)
    end, = events(logged(done, form), "run_ended")
    assert (end["level"], end["code"]) == ("error", "schema")
    assert (end["run_id"], end["attempt_id"]) == attempts(synced)[-1]
    assert "items" in end["message"] and int(end["exit_code"]) == EXIT_SCHEMA


@pytest.mark.parametrize("form", PARSERS)
def test_each_try_has_its_attempt(synced, source, make_proxy, form):
    """Lines of a second try have the identity of the second attempt."""
    proxy = make_proxy(source)
    synced.connect("source", proxy.connection(source))
    synced.pipelines["items"]["retry"] = {"attempts": 3, "backoff": "10ms"}
    synced.write_config()
    proxy.refuse()
    done = synced("--log-format", form, "run").expect(EXIT_ACCESS)
    lines = logged(done, form)
    tries = events(lines, "retry")
    assert [line["code"] for line in tries] == ["transient"] * 2
    made = [line["attempt_id"] for line in tries + events(lines, "run_ended")]
    assert made == [attempt for _, attempt in attempts(synced)]
    assert len(set(made)) == 3


@pytest.mark.parametrize("form", PARSERS)
def test_many(tidemark, make_source, make_destination, form):
    """One line sums up; of each failure there is one line, and it is not on
    stdout as well."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    source.execute("CREATE TABLE a (id integer PRIMARY KEY)")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for name in ("a", "gone", "lost"):
        tidemark.pipeline(name, source={"connection": "source", "table": name},
                          destination={"connection": "warehouse",
                                       "table": name},
                          watermark={"strategy": "sequence", "column": "id"})
    tidemark.write_config()
    done = tidemark("--log-format", form, "run").expect(EXIT_SCHEMA)
    lines = logged(done, form)
    total = events(lines, "round_ended")[0]
    assert lines[-1] == total
    assert [int(total[key]) for key in ("pipelines", "caught_up", "failed",
                                        "busy")] == [3, 1, 2, 0]
    text = tidemark("run").expect(EXIT_SCHEMA)
    said = "there is no table"
    assert text.err.count(said) == 2 and said not in text.out, text
    assert "gone: failed: schema" in text.out, text
    assert text.err.splitlines()[-1].partition("info ")[2].startswith(
        "3 pipelines: 1 caught up or nothing new, 2 failed; "), text


@pytest.mark.parametrize("form", PARSERS)
def test_serve_tells_each_run(synced, form):
    """But for those that had nothing to do."""
    synced.pipelines["items"]["schedule"] = "every 1s"
    synced.top["serve"] = {"listen": "127.0.0.1:0"}
    synced.write_config()
    synced("migrate").expect(EXIT_OK)
    running = synced.start("--log-format", form, "serve")
    wait_for(lambda: len(attempts(synced)) > 2, what="a third run")
    running.signal(signal.SIGTERM)
    done = running.wait().expect(EXIT_STOPPED)
    end, = events(logged(done, form), "run_ended")
    assert (end["run_id"], end["attempt_id"]) == attempts(synced)[0]
    assert int(end["rows_read"]) == 50 and not done.out


@pytest.mark.parametrize("form", PARSERS)
def test_hostile_names(tidemark, make_source, make_destination, form):
    """A name and a table of a server make no line and no key of their own."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    name = 'x" level=error evil="\\ \u2028=\u202e'
    tidemark.pipeline(name, source={"connection": "source",
                                    "table": f"'{name}'"},
                      destination={"connection": "warehouse", "table": "t"},
                      watermark={"strategy": "sequence", "column": "id"})
    done = tidemark.write_config()("--log-format", form, "run")
    for line in logged(done, form):
        assert line["pipeline"] in ("", name) and "evil" not in line, line


@pytest.mark.parametrize("form", PARSERS)
def test_an_error_before_any_run(tidemark, form):
    line, = logged(tidemark("--log-format", form, "nosuch").expect(2), form)
    assert (line["event"], line["code"]) == ("command_failed", "config")

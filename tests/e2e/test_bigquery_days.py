"""BigQuery and the bad days: what is large, what is refused with its reason, and
a service that answers late, wrong or not at all.

Against our front (tests/fakes), or against the emulator that
BIGQUERY_EMULATOR_HOST names; what only the front can be made to do is skipped
there.
"""

import os
import re

import pytest

import bigquery_servers
import oracle
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT,
                   EXIT_SCHEMA, sync_items, written)
from bigquery_items import ROWS, check, end, front, items
from bigquery_servers import needs


# ---- large batches, and little memory

def test_large_batches_are_uploaded_in_pieces(tidemark, source, end):
    """Packed, a batch is larger than a piece; the memory does not grow."""
    needs(end, "speed")
    source.execute(
        "CREATE TABLE items (id bigint PRIMARY KEY, name text, seq bigint)",
        "INSERT INTO items SELECT n, (SELECT string_agg(md5(random()::text), "
        "'') FROM generate_series(1, 12 + n % 2)), n "
        "FROM generate_series(1, 60000) n", "CREATE INDEX ON items (seq, id)")
    sync_items(tidemark, source, end, "sequence",
               batch={"rows": 60000, "bytes": "28MiB", "target": "1h"})
    if end.front.ours:
        end.front.log()
    done, peak = tidemark.run_measured()
    assert done.pipeline()["rows_inserted"] == 60000
    columns = {"id": "int", "name": "text", "seq": "int"}
    oracle.check_equal(source, end, "items", f"{end.schema}.items", columns)
    if end.front.ours:
        assert any(line.startswith("PUT /upload") for line in end.front.log())
    if "sanitize" not in tidemark.binary and "ASAN_OPTIONS" not in os.environ:
        assert peak < 160 << 10, f"{peak} KiB"


def test_wide_rows_are_verified(tidemark, source, end):
    """More than one answer may bring: pages are cut, as the service does."""
    needs(end, "sized pages")
    source.execute(
        "CREATE TABLE items (id bigint PRIMARY KEY, name text, seq bigint)",
        "INSERT INTO items SELECT n, repeat(md5(n::text), 60000), n "
        "FROM generate_series(1, 20) n", "CREATE INDEX ON items (seq, id)")
    sync_items(tidemark, source, end, "sequence")
    tidemark.run()
    end.execute("UPDATE items SET name = CONCAT(name, 'x') WHERE id = 7")
    told = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
    assert [each["key"]["id"] for each in told["examples"]] == [7]


# ---- what is refused, and what is said of it

def test_no_dataset(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp")
    tidemark.connect("warehouse", "bigquery://tidemark-test/nowhere")
    tidemark.pipelines["items"]["destination"]["table"] = "items"
    done = tidemark.write_config().run(expect=EXIT_ACCESS)
    said = done.pipeline()["error"]["message"]
    assert "nowhere" in said and "bq mk" in said


def test_wrong_location(tidemark, items, end, front):
    """Where the dataset is not: before a row moves, and with what to do."""
    sync_items(tidemark, items, end, "timestamp")
    tidemark.connect("warehouse", end.url(location="EU"))
    done = tidemark.write_config().run(expect=EXIT_ACCESS)
    said = done.pipeline()["error"]["message"]
    assert "location EU" in said and "?location=" in said
    assert end.tables() == []
    tidemark.connect("warehouse", end.url(location="US")).write_config().run()


@pytest.mark.parametrize("name", ("a.b", "semi;colon", "back`tick", "dollar$",
                                  "_PARTITIONTIME", "_table_x", "n" * 301))
def test_column_names_that_bigquery_refuses(tidemark, source, end, name):
    """Before any table is made; another name is the way out."""
    short = name[:60]
    quoted = '"' + short.replace('"', '""') + '"'
    source.execute(f"CREATE TABLE items (id bigint PRIMARY KEY, {quoted} text,"
                   " updated_at timestamptz DEFAULT now())")
    sync_items(tidemark, source, end, "timestamp")
    if len(name) > 60:
        tidemark.pipelines["items"]["source"]["expressions"] = {name: "1"}
        tidemark.write_config()
    done = tidemark.run(expect=EXIT_SCHEMA)
    said = done.pipeline()["error"]["message"]
    assert "BigQuery" in said and "expressions" in said
    assert end.tables() == []


def test_table_names_that_bigquery_refuses(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp")
    tidemark.pipelines["items"]["destination"]["table"] = '"it`ems"'
    said = tidemark.write_config().run(expect=EXIT_SCHEMA).pipeline()
    assert "BigQuery does not take the name" in said["error"]["message"]


def test_names_that_are_tidemarks_own(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp")
    table = tidemark.pipelines["items"]["destination"]["table"]
    for name in ("_tidemark_watermark", "_Tidemark_x"):
        tidemark.pipelines["items"]["destination"]["table"] = name
        said = tidemark.write_config().run(expect=EXIT_CONFIG).pipeline()
        assert "are taken" in said["error"]["message"]
    tidemark.pipelines["items"]["destination"]["table"] = table
    items.execute('ALTER TABLE items ADD "_tidemark_row" text')
    said = tidemark.write_config().run(expect=EXIT_SCHEMA).pipeline()
    assert "_tidemark_row" in said["error"]["message"]
    assert end.tables() == []


def test_table_of_others(tidemark, items, end):
    """Too narrow, a view, a key twice: nothing is written."""
    end.execute("CREATE TABLE items (id INT64, name INT64)")
    sync_items(tidemark, items, end, "timestamp")
    assert tidemark("run", "--json").code == EXIT_SCHEMA
    end.execute("DROP TABLE items", "CREATE VIEW items AS SELECT 1 AS id")
    said = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    assert "view" in said
    end.execute("DROP VIEW items", "CREATE TABLE items (id INT64, name STRING)",
                "INSERT INTO items VALUES (1, 'a'), (1, 'b')")
    said = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    assert "more than once" in said
    assert "_tidemark_watermark" not in end.tables()


@pytest.mark.parametrize("value", (
    "'infinity'", "'-infinity'", "'10000-01-01'", "'0044-03-15 BC'"))
def test_times_that_bigquery_does_not_have(tidemark, source, end, value):
    """The row is named; with dead letters the others are loaded."""
    source.execute("CREATE TABLE items (id bigint PRIMARY KEY, seq bigint, "
                   "at timestamptz)",
                   "INSERT INTO items VALUES (1, 1, now()), "
                   f"(2, 2, {value}), (3, 3, now())",
                   "CREATE INDEX ON items (seq, id)")
    sync_items(tidemark, source, end, "sequence")
    said = tidemark.run(expect=EXIT_DATA).pipeline()["error"]["message"]
    assert "id=2" in said and "at" in said and "1 to 9999" in said
    tidemark.pipelines["items"]["on_bad_row"] = "dead_letter"
    told = tidemark.write_config().run().pipeline()
    assert (told["rows_inserted"], told["rows_dead_lettered"]) == (2, 1)


def test_wrong_url(tidemark, items, end):
    for url, word in (("bigquery://tidemark-test", "PROJECT/DATASET"),
                      (end.url(partion="day"), "did you mean partition"),
                      (end.url(partition="week"), "allowed are")):
        sync_items(tidemark, items, end, "timestamp")
        tidemark.connect("warehouse", url).write_config()
        done = tidemark("run", "--json").expect(EXIT_CONFIG)
        assert word in done.out + done.err


# ---- the service's bad days

def test_answer_lost_after_the_work(tidemark, items, end, front):
    """The job is looked up by its id, which is taken, and is not run again.
    Each script of the run has gone under its first id."""
    sync_items(tidemark, items, end, "sequence", "append",
               batch={"rows": 100})
    front.log()
    front.faults(*({"match": "POST .*v2/projects/[^/]+/jobs", "kind": "lost",
                    "skip": n} for n in range(1, 12)))
    told = tidemark.run().pipeline()
    assert told["rows_inserted"] == ROWS
    ids = {match[1] for line in front.log() if (
        match := re.search(r"queries/(tidemark_[0-9a-f]{32}_\d+)", line))}
    assert len(ids) == 3 and all(each.endswith("_1") for each in ids), ids
    assert end.query("SELECT COUNT(*) FROM items_raw") == [(ROWS,)]


@pytest.mark.parametrize("reason,status,code", (
    ("quotaExceeded", 403, EXIT_ACCESS), ("accessDenied", 403, EXIT_ACCESS),
    ("billingNotEnabled", 403, EXIT_ACCESS)))
def test_refusals(tidemark, items, end, front, reason, status, code):
    sync_items(tidemark, items, end, "timestamp")
    front.faults({"match": "POST", "kind": "status", "status": status,
                  "reason": reason, "times": 1000,
                  "message": f"{reason}: planted"})
    said = tidemark.run(expect=code).pipeline()["error"]["message"]
    assert "planted" in said


@pytest.mark.parametrize("kind", ("html", "truncated", "huge"))
def test_answers_that_are_none(tidemark, items, end, front, kind):
    """An error, and neither a crash nor a hang; and then it goes on."""
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    front.faults({"match": "GET .*/queries/", "kind": kind, "times": 1000})
    said = tidemark.run(expect=EXIT_ACCESS).pipeline()["error"]["message"]
    assert len(said) < 1000
    front.faults()
    tidemark.run()
    check(items, end)


@pytest.mark.parametrize("match", (".", "GET .*/queries/", "GET .*/tables/"))
@pytest.mark.parametrize("text", ("{}", '{"jobComplete": 1, "type": 5}'))
def test_somebody_else_answers(tidemark, items, end, front, match, text):
    """JSON, yet nothing of what the API promises: neither a hang nor a word on
    tables that nobody has seen; and then it goes on."""
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    front.faults({"match": match, "kind": "says", "text": text,
                  "times": 1000})
    front.log()
    said = tidemark.run(expect=EXIT_ACCESS).pipeline()["error"]["message"]
    assert "no answer of BigQuery's" in said
    assert len(front.log()) < 100
    front.faults()
    tidemark.run()
    check(items, end)


@pytest.mark.parametrize("status,word", (
    (302, "redirect"), (400, "HTTP 400"), (401, "HTTP 401"),
    (503, "HTTP 503"), (999, "HTTP 999")))
def test_proxy_answers(tidemark, items, end, front, status, word):
    """With its status, and the words on its page."""
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    front.faults({"match": ".", "kind": "says", "times": 1000,
                  "status": status, "type": "text/html",
                  "text": "<h1>ask the doorman</h1>",
                  "headers": {"Location": "https://elsewhere.example/"}})
    said = tidemark.run(expect=EXIT_ACCESS).pipeline()["error"]["message"]
    assert word in said and "doorman" in said


def test_service_goes_while_a_job_runs(tidemark, items, end, front):
    """It was looked at once, and nobody answers the second look."""
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    look = {"match": "GET .*v2/projects/[^/]+/jobs/"}
    front.faults({**look, "kind": "says",
                  "text": '{"status": {"state": "RUNNING"}}'},
                 {**look, "kind": "hang", "seconds": 0, "times": 1000})
    tidemark.run(expect=EXIT_ACCESS)
    front.faults()
    tidemark.run()
    check(items, end)


def test_page_that_does_not_come(tidemark, items, end, front):
    """The first has no row and says that there is another: the mark is not
    taken for missing."""
    sync_items(tidemark, items, end, "timestamp", "append",
               retry={"attempts": 1, "backoff": "1ms"})
    tidemark.run()
    front.faults({"match": "GET .*/queries/", "kind": "says", "text":
                  '{"jobComplete": true, "pageToken": "next", "rows": []}'},
                 {"match": "pageToken=next", "kind": "hang", "seconds": 0,
                  "times": 1000})
    tidemark.run(expect=EXIT_ACCESS)
    front.faults()
    assert written(tidemark.run().pipeline()) == 0
    check(items, end)


def test_service_that_is_not_there(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    done = tidemark("run", "--json",
                    env={bigquery_servers.HOST: "127.0.0.1:9"})
    done.expect(EXIT_ACCESS)

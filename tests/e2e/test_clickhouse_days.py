"""ClickHouse on bad days: rows that do not arrive, answers that are lost or are
none, batches that come twice. The engine is real, what is between it and us is
played: see tests/fakes/clickhouse_front.py.
"""

import re

import pytest

from bench import EXIT_ACCESS, EXIT_DATA, EXIT_OK, written
from clickhouse_items import (MARK_IN, MODES, ROWS, ROWS_IN, UPLOAD_IN, change,
                              check, items)

# Out of the table that was uploaded into; in a refresh, into a stage.
LOAD = ROWS_IN + (r"|INSERT INTO `\w+`\.`_tidemark_stage_\w+` "
                  r"(?!.* FORMAT Native)")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", (
    {"do": "status", "status": 503, "retry_after": "0"},
    {"do": "status", "status": 503},
    {"do": "status", "status": 429, "retry_after": "1"},
    {"do": "status", "status": 500},
    {"do": "cut"}, {"do": "lost"}), ids=lambda fault: "-".join(
        str(value) for value in fault.values()))
@pytest.mark.parametrize("statement", (UPLOAD_IN, LOAD), ids=("upload", "load"))
@pytest.mark.thinned(3)
def test_rows_that_do_not_arrive(tidemark, items, mode, fault, statement):
    """Or whose answer does not: tried again, and there once."""
    source, destination = items(mode)
    destination.server.forget()
    destination.server.fault({"match": statement, "skip": 1, **fault})
    done = tidemark.run()
    assert sum(bool(re.match(statement, sql, re.S)) for sql in
               destination.server.statements()) >= 2, "no fault"
    assert written(done.pipeline()) >= ROWS - 20
    check(source, destination)
    if mode == "append":
        raw, = destination.query("SELECT count(), uniqExact(id) FROM items_raw")
        assert raw == (ROWS, ROWS) or list(map(int, raw)) == [ROWS, ROWS]
    assert tidemark.run().pipeline()["rows_read"] == 0 or mode == "replace"


@pytest.mark.parametrize("status, code, said", (
    (413, EXIT_DATA, "lower batch.bytes"), (400, EXIT_OK, "HTTP 400"),
    (503, EXIT_OK, "HTTP 503")))
def test_answer_in_mid_upload(tidemark, items, status, code, said):
    """Before all of the rows are there: it is heard, and nothing is half."""
    rows = 20000
    source, destination = items(rows=rows, batch={"rows": rows})
    destination.server.fault({"match": UPLOAD_IN, "do": "early",
                              "status": status})
    done = tidemark.run(expect=code)
    assert said in done.err
    left = 0 if code else rows
    assert int(destination.query("SELECT count() FROM items_raw")[0][0]) == left
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("first", (True, False), ids=("first", "delta"))
@pytest.mark.parametrize("what, said", (("html", "text/html"),
                                        ("empty", "X-ClickHouse-Query-Id")))
@pytest.mark.parametrize("statement", ("INSERT", "SELECT|INSERT|CREATE"))
@pytest.mark.thinned(2)
def test_answer_of_a_proxy_is_no_load(tidemark, items, mode, first, what, said,
                                      statement):
    """200: nothing was done, and nothing is said to be."""
    source, destination = items(mode)
    if not first:
        tidemark.run()
        change(source)
    destination.server.fault({"match": statement, "do": what, "times": 100,
                              "skip": 0 if first else 2})
    done = tidemark.run(expect=EXIT_ACCESS)
    assert said in done.err and "ClickHouse's HTTP port" in done.err
    destination.server.fault()
    tidemark.run()
    check(source, destination)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("fault", (
    {"do": "exception"}, {"do": "version", "version": "1"},
    {"do": "version", "version": "\\N"},
    {"do": "version", "version": "\t".join(["\\N"] * 9)},
    {"do": "version", "version": "\t" * 8}), ids=(
        "exception", "narrow", "null", "nulls", "wide"))
@pytest.mark.parametrize("first", (True, False), ids=("first", "delta"))
def test_table_of_another_shape(tidemark, items, fault, first):
    """Whichever question it answers: an error, and the next run is right."""
    source, destination = items(retry={"attempts": 1,
                                       "breaker": {"failures": 0}})
    if not first:
        tidemark.run()
    for skip in range(0 if first else 1, 24, 2):
        change(source)
        destination.server.fault({"match": "SELECT|CHECK", "skip": skip,
                                  **fault})
        assert tidemark("run").code in (0, 1, 3, 4, 5, 6), skip
    destination.server.fault()
    tidemark.run()
    tidemark("verify", "--repair")
    check(source, destination)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("statement", (
    r"CREATE TABLE", r"CREATE OR REPLACE VIEW", r"ALTER TABLE", r"TRUNCATE",
    r"EXCHANGE", r"RENAME", r"DROP TABLE"))
@pytest.mark.thinned(2)
def test_statement_whose_answer_is_lost(tidemark, items, mode, statement):
    """It may come twice, or begin anew: what there is at the end is right."""
    source, destination = items(mode)
    lost = {"match": statement, "do": "lost"}
    destination.server.fault(lost)
    tidemark.run()
    check(source, destination)
    change(source)
    source.execute("ALTER TABLE items ADD COLUMN color TEXT DEFAULT 'red'")
    destination.server.fault(lost)
    tidemark.run()
    check(source, destination)
    colors = destination.query("SELECT DISTINCT color FROM items")
    assert [tuple(row) for row in colors] == [("red",)]


@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_batch_that_arrives_twice(tidemark, items, mode):
    """The table that a batch is brought in knows no tokens."""
    source, destination = items(mode)
    tidemark.run()
    change(source)
    destination.server.fault({"match": UPLOAD_IN, "do": "twice"})
    assert written(tidemark.run().pipeline()) == ROWS // 10
    check(source, destination)
    if mode == "append":
        assert destination.query("SELECT count() FROM items_raw") == [
            (ROWS + ROWS // 10,)]


@pytest.mark.parametrize("fault", (
    {"do": "lost"}, {"do": "status", "status": 503}), ids=("lost", "busy"))
def test_mark_whose_answer_is_lost(tidemark, items, fault):
    """It is read back: a mark that is there is not written again."""
    source, destination = items()
    destination.server.fault({"match": MARK_IN, "skip": 2, **fault})
    tidemark.run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_mark_is_read_back(tidemark, items):
    """At once: a run that may not try again ends well, for the mark that it
    was not told of is there. (A connection that dies libcurl makes anew, and
    sends the same again.)"""
    source, destination = items(retry={"attempts": 1})
    destination.server.fault({"match": MARK_IN, "skip": 2, "do": "late"})
    tidemark.run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("mode", ("append", "upsert"))
def test_batch_is_the_same_batch_again(tidemark, items, mode):
    """The batch's identity is the token by which the server knows it, where
    each of its rows is kept. Where the newest of a key counts, the batch may be
    there twice. The mark comes after it."""
    source, destination = items(mode, rows=20)
    destination.server.forget()
    destination.server.fault({"match": ROWS_IN, "do": "status",
                              "status": 503})
    tidemark.run()
    check(source, destination)
    said = destination.server.statements()
    tokens = [re.search(r"insert_deduplication_token = '([^']+)'", sql)[1]
              for sql in said if re.match(ROWS_IN, sql)]
    assert len(tokens) == 2, tokens
    assert (tokens[0] == tokens[1]) == (mode == "append"), tokens
    marks = [i for i, sql in enumerate(said) if re.match(MARK_IN, sql)]
    rows = [i for i, sql in enumerate(said) if re.match(ROWS_IN, sql)]
    assert max(rows) < marks[-1]


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_batch_of_other_rows_is_another(tidemark, items, mode):
    """The first batch's mark was not written, and a row has changed since, with
    the same mark. The server must not take the second batch for the one that it
    has."""
    source, destination = items(mode, rows=20, retry={"attempts": 1})
    destination.server.fault({"match": MARK_IN, "skip": 1, "do": "status",
                              "status": 500, "times": 100})
    tidemark.run(expect=EXIT_ACCESS)
    assert destination.query("SELECT count() FROM items") == [(20,)]
    destination.server.fault()
    source.execute("UPDATE items SET quantity = quantity + 1 WHERE id = 7")
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("said, packed", (
    ("?compression=zstd", True), ("?compression=none", False), ("", False)))
def test_rows_are_packed(tidemark, items, said, packed):
    """If the URL says so, or off this machine; and packed anew when the server
    asks for them again."""
    source, destination = items()
    connection = destination.connection()
    connection["url"] += said
    tidemark.connect("warehouse", connection).write_config()
    destination.server.forget()
    destination.server.fault({"match": UPLOAD_IN, "do": "status",
                              "status": 503, "retry_after": "0"})
    tidemark.run()
    check(source, destination)
    sent = [sql.endswith(" -- zstd") for sql in
            destination.server.statements() if re.match(UPLOAD_IN, sql)]
    assert len(sent) == ROWS // 20 + 1 and set(sent) == {packed}
    tidemark("verify").expect(0)


def test_token_is_the_servers(make_clickhouse):
    """The engine does what Tidemark relies on. With equal tokens the second
    insert is not taken; with others it is, whatever the rows."""
    destination = make_clickhouse()
    destination.execute(
        "CREATE TABLE t (id Int64) ENGINE = MergeTree ORDER BY id "
        "SETTINGS non_replicated_deduplication_window = 1000")
    for token, value in (("a", 1), ("a", 2), ("b", 3)):
        destination.execute("INSERT INTO t SETTINGS insert_deduplication_token"
                            f" = '{token}' SELECT {value}")
    assert sorted(int(row[0]) for row in destination.query(
        "SELECT id FROM t")) == [1, 3]


@pytest.mark.parametrize("do", ("exception", "truncated", "html"))
def test_answer_that_is_none(tidemark, items, do):
    """In the middle of the rows that verify reads: an error, and no verdict."""
    source, destination = items()
    tidemark.run()
    destination.server.fault({"match": r"SELECT toUInt8\(1\)", "do": do,
                              "times": 9})
    done = tidemark("verify")
    destination.server.fault()
    assert done.code == EXIT_ACCESS, done
    assert "equal" not in done.out
    if do == "exception":
        assert "Memory limit" in done.err, done
    tidemark("verify").expect(0)
    check(source, destination)


def test_interrupted(tidemark, items):
    """Nothing but what the next run needs is left."""
    _, destination = items()
    tidemark.run("--max-batches", "1")
    assert not [name for name in destination.tables() if "stage" in name]

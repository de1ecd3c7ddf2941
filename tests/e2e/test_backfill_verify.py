"""A chunk of `backfill` compares the rows that it has loaded."""

import signal

import pytest

from bench import (EXIT_DIFFERENT, EXIT_OK, EXIT_SCHEMA, Tidemark,
                   sync_items)
from servers import wait_for

# By hand, between the load and the comparison.
SPOILS = {
    "missing": ("DELETE FROM items WHERE id = {row}",),
    "different": ("UPDATE items SET name = 'x' WHERE id = {row}",),
    # The key had an index until then.
    "extra": ("CREATE TABLE bare AS SELECT * FROM items", "DROP TABLE items",
              "ALTER TABLE bare RENAME TO items",
              "INSERT INTO items SELECT * FROM items WHERE id = {row}"),
}


@pytest.fixture
def failing(failpoint_binary, work_dir):
    return Tidemark(failpoint_binary, work_dir)


def twenty(failing, source, destination, **settings):
    """Two chunks of ten rows; between two marks there is room."""
    source.execute(
        "CREATE TABLE items (id integer PRIMARY KEY, name text, seq integer)",
        *(f"INSERT INTO items VALUES ({n}, 'a', {10 * n})"
          for n in range(1, 21)))
    sync_items(failing, source, destination, "sequence", **settings)
    failing.run()
    destination.execute("UPDATE items SET name = 'damaged'")


def begin(failing, failpoints):
    """The backfill, stopped behind a load."""
    call = failing.start("backfill", "items", "--json", "--chunk-rows", "10",
                         failpoints=failpoints)
    wait_for(lambda: call.stopped() or not call.alive(), what="the load")
    assert call.alive(), call.wait()
    return call


def end(call, at, kind="1 rows of the chunk are not at the destination as the "
        "source has them"):
    """It finds a row of the chunk `at`. All chunks."""
    call.signal(signal.SIGCONT)
    done = call.wait().expect(EXIT_DIFFERENT)
    chunks = done.json()["chunks"]
    chunk = chunks[at]
    assert (chunk["state"], chunk["attempts"]) == ("failed", 1)
    assert chunk["error"].startswith(kind)
    assert chunk["error"] in done.err
    return chunks


def mend(failing):
    mended = failing("backfill", "items", "--json").expect(EXIT_OK)
    assert {c["state"] for c in mended.json()["chunks"]} == {"done"}
    assert failing("verify", "items", "--json").expect(EXIT_OK)


@pytest.mark.parametrize("at", (0, 1))
@pytest.mark.parametrize("kind", SPOILS)
def test_finds_one_row(failing, make_source, make_destination, kind, at):
    """The chunk of that row is set aside at once. The second one is compared by
    the rows as they were read for its load."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    twenty(failing, source, destination)
    call = begin(failing, f"commit_acked=stop@{at + 1}")
    destination.execute(*(sql.format(row=10 * at + 7)
                          for sql in SPOILS[kind]))
    chunks = end(call, at)
    other = chunks[1 - at]
    if kind == "extra" and not at:  # a key without an index is not loaded
        assert other["state"] == "failed"
    else:
        assert other["state"] == "done"
    if kind != "extra":
        mend(failing)


def test_a_row_that_came_behind_the_reading(failing, make_source,
                                            make_destination):
    """Rows as they were read say nothing of one that comes into the range
    later, with a mark that no run looks for any more."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    twenty(failing, source, destination)
    call = begin(failing, "commit_acked=stop@2")
    source.execute("INSERT INTO items VALUES (99, 'late', 155)")
    assert end(call, 1)[0]["state"] == "done"
    mend(failing)


def test_rows_of_an_attempt_that_failed(failing, make_source,
                                        make_destination):
    """The attempt that goes on behind them has not read them."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    twenty(failing, source, destination, batch={"rows": 5},
           retry={"backoff": "10ms"})
    call = begin(failing, "commit_acked=stop@3,mid_load=error@4")
    destination.execute("DELETE FROM items WHERE id = 12")
    assert end(call, 1)[0]["state"] == "done"
    mend(failing)


def test_columns_change_between_two_chunks(failing, make_source,
                                           make_destination):
    """The second chunk's rows lack a column of the form that the first one's
    had: nothing is read by that form."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    twenty(failing, source, destination)
    call = begin(failing, "commit_acked=stop@1")
    destination.execute("DELETE FROM items WHERE id > 10")
    source.execute("ALTER TABLE items DROP COLUMN name")
    call.signal(signal.SIGCONT)
    done = call.wait().expect(EXIT_OK)
    assert [c["rows"] for c in done.json()["chunks"]] == [10, 10]
    assert destination.query("SELECT count(*) FROM items") == [(20,)]
    failing.run()
    failing("verify", "items", "--json").expect(EXIT_OK)


def test_goes_on_behind_many_that_are_excused(tidemark, source,
                                              make_destination):
    """By the key, 60,000 rows past the mark come first: all of them differ at
    first sight, and none of them is a difference. Behind them is one."""
    destination = make_destination("sqlite")
    many = 60000
    source.execute("CREATE TABLE items (id int PRIMARY KEY, name text)",
                   f"INSERT INTO items VALUES ({many + 1}, 'a')")
    sync_items(tidemark, source, destination, "xmin")
    tidemark.run()
    destination.execute(
        "CREATE TRIGGER spoil AFTER INSERT ON items BEGIN "
        "UPDATE items SET name = 'spoilt' WHERE id = NEW.id; END",
        "CREATE TRIGGER spoil_again AFTER UPDATE ON items BEGIN "
        "UPDATE items SET name = 'spoilt' WHERE id = NEW.id; END",
        "UPDATE items SET name = 'spoilt'")
    source.execute("INSERT INTO items SELECT n, 'a' FROM "
                   f"generate_series(1, {many}) n")
    done = tidemark("backfill", "items", "--json").expect(EXIT_DIFFERENT)
    chunk, = done.json()["chunks"]
    assert chunk["state"] == "failed" and chunk["rows"] == many + 1
    assert chunk["error"].startswith("1 rows of the chunk are not")


@pytest.mark.parametrize("engine", ("sqlite", "mysql"))
def test_a_key_with_a_nul(tidemark, make_source, make_destination, engine):
    """No look-up finds such a row: one that differs is not taken for gone, and
    one that is equal is no difference."""
    source, destination = make_source(engine), make_destination("sqlite")
    text, nul = {"sqlite": ("text", "'a' || char(0) || 'b'"),
                 "mysql": ("varchar(20) COLLATE utf8mb4_bin",
                           "CONCAT('a', CHAR(0), 'b')")}[engine]
    source.execute(
        f"CREATE TABLE {source.schema}.items (k {text} PRIMARY KEY, v text,"
        " updated_at timestamp NOT NULL)",
        *(f"INSERT INTO {source.schema}.items VALUES ({key}, 'v',"
          " '2024-01-01 00:00:00')" for key in (nul, "'c'")))
    sync_items(tidemark, source, destination, "timestamp", key=["k"])
    tidemark.run()
    done = tidemark("backfill", "items", "--json").expect(EXIT_OK)
    chunk, = done.json()["chunks"]
    assert (chunk["state"], chunk["rows"]) == ("done", 2)
    destination.execute(
        "CREATE TRIGGER spoil AFTER UPDATE ON items WHEN NEW.k <> 'c' BEGIN "
        "UPDATE items SET v = 'spoilt' WHERE k = NEW.k; END",
        "UPDATE items SET v = 'spoilt'")
    done = tidemark("backfill", "items", "--json",
                    "--again").expect(EXIT_SCHEMA)
    chunk, = done.json()["chunks"]
    assert chunk["state"] == "failed"
    assert "NUL" in chunk["error"] and "'a'" in chunk["error"]


@pytest.mark.parametrize("spoilt", (False, True))
def test_keys_far_apart(tidemark, source, make_destination, spoilt):
    """Between the keys of the window lie far more rows than it has. They are
    not read to the end: the window's rows are looked up."""
    destination = make_destination("sqlite")
    many = 30000
    source.execute("CREATE TABLE items (id int PRIMARY KEY, name text,"
                   " seq int NOT NULL)",
                   "INSERT INTO items SELECT n, 'a', n FROM "
                   f"generate_series(1, {many}) n",
                   f"UPDATE items SET seq = {many} + id WHERE id IN "
                   f"(1, {many - 1})")
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    destination.execute("UPDATE items SET name = 'damaged'")
    if spoilt:
        destination.execute(
            "CREATE TRIGGER spoil AFTER UPDATE ON items WHEN NEW.id = 1 BEGIN "
            "UPDATE items SET name = 'spoilt' WHERE id = NEW.id; END")
    done = tidemark("backfill", "items", "--from", str(many + 1), "--json")
    chunk, = done.expect(EXIT_DIFFERENT if spoilt else EXIT_OK).json()["chunks"]
    assert chunk["rows"] == 2
    assert chunk["state"] == ("failed" if spoilt else "done")
    if spoilt:
        assert chunk["error"].startswith("1 rows of the chunk are not")


ENDS = {
    "smallint": (-32768, 32767), "int": (-2147483648, 2147483647),
    "bigint": (-9223372036854775808, 9223372036854775807),
    "bigint unsigned": (0, 9223372036854775808, 18446744073709551615),
}


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("engine", ("postgres", "mysql", "duckdb"))
def test_the_ends_of_a_type(tidemark, make_source, make_destination, engine,
                            kind):
    """No value lies behind the last one, and an unsigned one is not less than
    0."""
    unsigned = "unsigned" in kind
    source = make_source("mysql" if unsigned else "postgres")
    destination = make_destination(engine)
    source.execute(
        f"CREATE TABLE {source.schema}.items (id {kind} PRIMARY KEY,"
        " name varchar(20), seq int NOT NULL)",
        *(f"INSERT INTO {source.schema}.items VALUES ({n}, 'a', {i})"
          for i, n in enumerate(ENDS[kind])))
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    destination.execute(f"UPDATE {destination.schema}.items SET name = 'x'")
    done = tidemark("backfill", "items", "--json").expect(EXIT_OK)
    chunk, = done.json()["chunks"]
    assert (chunk["state"], chunk["rows"]) == ("done", len(ENDS[kind]))
    assert tidemark("verify", "items", "--json").expect(EXIT_OK)

"""Strategy `sequence` of files is exact only where a sequence of the file gives
the ids. Then a later id is never below the mark."""

import pytest

from bench import EXIT_OK, EXIT_SCHEMA, sync_items

# Statements, the problem that `check` tells of (None: it is exact), and an id
# that comes late.
CASES = (
    ("duckdb", ["CREATE TABLE items (id bigint PRIMARY KEY)",
                "INSERT INTO items VALUES (1), (100)"],
     "ids-not-from-sequence", 50),
    ("duckdb", ["CREATE SEQUENCE s",
                "CREATE TABLE items (id bigint PRIMARY KEY"
                " DEFAULT nextval('s'))", "INSERT INTO items DEFAULT VALUES"],
     None, None),
    ("duckdb", ["CREATE SEQUENCE s",
                "CREATE TABLE items (id bigint PRIMARY KEY"
                " DEFAULT nextval('s') + 1)",
                "INSERT INTO items DEFAULT VALUES"],
     "ids-not-from-sequence", 1),
    ("duckdb", ["CREATE SEQUENCE s",
                "CREATE TABLE items (id bigint DEFAULT nextval('s'))",
                "INSERT INTO items DEFAULT VALUES"],
     "mark-not-unique", None),
    ("duckdb", ["CREATE SEQUENCE s",
                "CREATE TABLE items (id bigint PRIMARY KEY"
                " DEFAULT nextval('s'))", "INSERT INTO items VALUES (100)"],
     "ids-by-hand", 50),
    ("duckdb", ["CREATE SEQUENCE s INCREMENT BY 50",
                "CREATE TABLE items (id bigint PRIMARY KEY"
                " DEFAULT nextval('s'))", "INSERT INTO items VALUES (DEFAULT),"
                " (DEFAULT)"],
     "sequence-increment", 20),
    ("duckdb", ["CREATE SEQUENCE s MAXVALUE 9 CYCLE",
                "CREATE TABLE items (id bigint PRIMARY KEY"
                " DEFAULT nextval('s'))", "INSERT INTO items DEFAULT VALUES"],
     "sequence-cycles", None),
    ("sqlite", ["CREATE TABLE items (id integer PRIMARY KEY)",
                "INSERT INTO items VALUES (1), (100)"],
     "ids-come-again", 50),
    ("sqlite", ["CREATE TABLE items (id integer UNIQUE,"
                " n integer PRIMARY KEY AUTOINCREMENT)",
                "INSERT INTO items (id) VALUES (1), (100)"],
     "ids-come-again", 50),
    ("sqlite", ["CREATE TABLE items (id integer PRIMARY KEY AUTOINCREMENT)",
                "INSERT INTO items VALUES (1), (2)"], None, None),
)

SERIAL = ("CREATE SEQUENCE s", "CREATE TABLE items (id bigint PRIMARY KEY"
          " DEFAULT nextval('s'))")


@pytest.mark.parametrize("engine,statements,code,late", CASES)
def test_given_ids(tidemark, make_source, make_destination, engine, statements,
                   code, late):
    source, destination = make_source(engine), make_destination("sqlite")
    source.execute(*statements)
    sync_items(tidemark, source, destination, "sequence", key=["id"],
               watermark={"column": "id"})
    result = tidemark.run().pipeline()
    assert result["guarantee"] == ("lag" if code else "exact"), result
    problems = {each["code"]: each for each in
                tidemark("check", "--json").pipeline()["problems"]}
    assert code is None or problems[code]["fix"], problems
    assert code or not [each for each in problems if "id" in each]
    if late is None:
        return
    # The id that no run reads.
    source.execute(f"INSERT INTO items (id) VALUES ({late})")
    assert tidemark.run().pipeline()["guarantee"] == "lag"
    assert (late,) not in destination.rows("items", {"id": "int"})


@pytest.mark.parametrize("begin", (
    ("DROP TABLE items", "DROP SEQUENCE s", *SERIAL),
    ("CREATE SEQUENCE other", "DELETE FROM items",
     "ALTER TABLE items ALTER id SET DEFAULT nextval('other')")))
@pytest.mark.parametrize("rows", (0, 3))
def test_ids_that_begin_anew(tidemark, make_source, make_destination, begin,
                             rows):
    source, destination = make_source("duckdb"), make_destination("sqlite")
    add = "INSERT INTO items DEFAULT VALUES"
    source.execute(*SERIAL, *[add] * 5)
    sync_items(tidemark, source, destination, "sequence", key=["id"],
               watermark={"column": "id"})
    tidemark.run()
    source.execute(*begin, *[add] * rows)
    error = tidemark("run", "--json").expect(EXIT_SCHEMA).pipeline()["error"]
    assert "mark, 5, is ahead of sequence" in error["message"], error
    tidemark("check").expect(EXIT_SCHEMA)
    tidemark("watermark", "reset", "items").expect(EXIT_OK)
    assert tidemark.run().pipeline()["rows_read"] == rows


@pytest.mark.parametrize("end", (
    "CHECKPOINT", "PRAGMA disable_checkpoint_on_shutdown"))
def test_sequence_of_a_file_that_was_closed(tidemark, make_source,
                                            make_destination, end):
    """The rows that had the last ids may be gone."""
    source, destination = make_source("duckdb"), make_destination("sqlite")
    add = "INSERT INTO items DEFAULT VALUES"
    source.execute(*SERIAL, *[add] * 5)
    sync_items(tidemark, source, destination, "sequence", key=["id"],
               watermark={"column": "id"})
    assert tidemark.run().pipeline()["rows_read"] == 5
    source.execute(end, *[add] * 3)
    done = tidemark.run().pipeline()
    assert (done["rows_read"], done["guarantee"]) == (3, "exact"), done
    source.execute(end, "DELETE FROM items")
    assert tidemark.run().pipeline()["guarantee"] == "exact"
    source.execute(end, add)
    assert tidemark.run().pipeline()["rows_read"] == 1

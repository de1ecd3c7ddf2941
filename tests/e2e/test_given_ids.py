"""Strategy `sequence` of files is exact only where a sequence of the file gives
the ids: an id that comes later is never below the mark then."""

import pytest

from bench import sync_items

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

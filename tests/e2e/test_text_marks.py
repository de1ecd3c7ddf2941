"""Marks that a destination keeps as text, or may: 10 is newer than 9 there,
too, and an instant is the same in each notation."""

import pytest

from bench import sync_items, written

ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql", "clickhouse",
           "bigquery")
KINDS = {"id": "int", "name": "text", "seq": "text"}


def rows(destination):
    return sorted(tuple(map(str, row)) for row in destination.rows(
        f"{destination.schema}.items", KINDS))


def here(source):
    return sorted(tuple(map(str, row)) for row in source.query(
        "SELECT id, name, seq FROM items"))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("mode", ("upsert", "delete_insert", "append"))
@pytest.mark.parametrize("engine", ENGINES)
def test_numeric_without_a_scale(tidemark, source, make_destination, engine,
                                 mode):
    """The row with the number after 9 is newer than 9, and replaces it."""
    destination = make_destination(engine)
    source.execute(
        "CREATE SEQUENCE numbers",
        "CREATE TABLE items (id bigint PRIMARY KEY, name text, "
        "seq numeric UNIQUE NOT NULL DEFAULT nextval('numbers'))",
        "INSERT INTO items SELECT n, 'first' FROM generate_series(1, 9) n")
    sync_items(tidemark, source, destination, "sequence", mode)
    tidemark.run()
    assert rows(destination) == here(source)
    source.execute("UPDATE items SET name = 'next', "
                   "seq = nextval('numbers') WHERE id = 9")
    tidemark.run()
    done = tidemark.run().pipeline()
    assert done["guarantee"] == "exact", done
    assert rows(destination) == here(source)
    assert written(done) == 0

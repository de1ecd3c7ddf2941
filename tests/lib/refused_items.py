"""One table with rows that its target refuses: what the tests of it share."""

import pytest

import poison
import workload
from bench import EXIT_OK, sync_items

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
BAD = (3, 60, 61, 137, 200)


def ids(destination):
    return sorted(row[0] for row in destination.rows(
        f"{destination.schema}.items", {"id": "int"}))


def letters(tidemark, *args):
    return tidemark("dead-letters", *(args or ("list",)), "--json").expect(
        EXIT_OK).json()["dead_letters"]


@pytest.fixture
def target(tidemark, make_source, make_destination):
    """A pipeline whose target refuses some rows, with two good ones in it."""
    def make(engine, mode="upsert", limit=None, kind="postgres",
             strategy="timestamp", **settings):
        source, destination = make_source(kind), make_destination(engine)
        workload.create_items(source, rows=2)
        source.execute("UPDATE items SET amount = 1")
        on_bad_row = ("dead_letter" if limit is None
                      else {"dead_letter": {"limit": limit}})
        settings.setdefault("batch", {"rows": 100})
        sync_items(tidemark, source, destination, strategy, mode,
                   on_bad_row=on_bad_row, **settings)
        tidemark.run()
        table = f"{destination.schema}.items"
        poison.refuse_below_zero(
            destination, destination.raw(table) if mode == "append" else table)
        if kind != "postgres":
            source.execute("ALTER TABLE items AUTO_INCREMENT = 3")
        workload.fill_items(source, 3, 200)
        source.execute("UPDATE items SET amount = 1 WHERE amount IS NULL")
        return source, destination
    return make


def poison_some(source, bad=BAD):
    poison.poison(source, f"id IN ({', '.join(map(str, bad))})")
    workload.settle(source)

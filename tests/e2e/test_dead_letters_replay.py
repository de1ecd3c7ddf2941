"""`tidemark dead-letters replay`: bad rows are loaded as the source has them
today."""

import os

import pytest

import poison
import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_STATE, items_settings,
                   sync_items)
from oracle import check_items
from refused_items import ENGINES, ids, letters, poison_some, target
from state import StateStore

__all__ = ["target"]  # a fixture

SOURCES = (("postgres", "timestamp"), ("postgres", "xmin"),
           ("postgres", "sequence"), ("mariadb", "timestamp"),
           ("mysql", "sequence"))


def replay(tidemark, *args, expect=EXIT_OK):
    return tidemark("dead-letters", "replay", *args, "--json").expect(expect)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind,strategy", SOURCES)
@pytest.mark.thinned(3)
def test_replay_loads_todays_version(tidemark, target, engine, kind, strategy):
    """Mended without a new mark, so that no run would see them; one is gone
    from the source, one is still bad."""
    source, destination = target(engine, kind=kind, strategy=strategy)
    poison_some(source)
    tidemark.run()
    before = tidemark.run().pipeline()["watermark_after"]
    source.execute("UPDATE items SET quantity = 7, amount = 7, name = 'today' "
                   "WHERE id IN (3, 60, 61)", "DELETE FROM items WHERE id = 137")
    by_id = {letter["key"]["id"]: letter["id"] for letter in letters(tidemark)}
    one = replay(tidemark, by_id[3]).pipeline()
    assert (one["rows_read"], one["rows_inserted"]) == (1, 1)
    assert one["watermark_after"] == before, "the mark was moved"
    assert len(letters(tidemark)) == 4
    rest = replay(tidemark, "--pipeline", "items", expect=EXIT_DATA)
    assert "137" in rest.err and "not at the source any more" in rest.err
    result = rest.pipeline()
    assert (result["rows_read"], result["rows_inserted"],
            result["rows_dead_lettered"]) == (3, 2, 1)
    assert "1 of 3 rows again" in result["error"]["message"]
    attempts = {letter["key"]["id"]: letter["attempts"]
                for letter in letters(tidemark)}
    assert attempts == {137: 1, 200: 2}
    tidemark("dead-letters", "discard", by_id[137]).expect(EXIT_OK)
    poison.mend(source, "id = 200")
    workload.settle(source)
    replay(tidemark, by_id[200])
    assert letters(tidemark) == [] and ids(destination) == [
        n for n in range(1, 201) if n != 137]
    tidemark.run()
    check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_replay_never_brings_an_old_version(tidemark, target):
    """A letter whose row has been loaded since, by whatever way: what is at
    the destination stays."""
    source, destination = target("sqlite")
    poison_some(source, (60,))
    tidemark.run()
    kept = StateStore(tidemark).query("SELECT * FROM dead_letters")[0]
    source.execute("UPDATE items SET quantity = 5, amount = 5, "
                   "updated_at = now() WHERE id = 60")
    workload.settle(source)
    tidemark.run()
    assert letters(tidemark) == []
    values = ", ".join("NULL" if value is None else
                       str(value) if isinstance(value, int) else
                       "'" + value.replace("'", "''") + "'" for value in kept)
    StateStore(tidemark).execute("INSERT INTO dead_letters VALUES ("
                                 + values.replace("{", "{{").replace("}", "}}")
                                 + ")")
    result = replay(tidemark, kept[0]).pipeline()
    assert (result["rows_read"], result["rows_unchanged"]) == (1, 1)
    assert letters(tidemark) == []
    check_items(source, destination)


def test_replay_waits_its_turn(tidemark, target):
    source, destination = target("sqlite")
    poison_some(source, (60,))
    tidemark.run()
    poison.mend(source, "id = 60")
    state = StateStore(tidemark)
    # Held by this very process, which lives.
    state.execute(f"UPDATE leases SET pid = {os.getpid()}, process = '', "
                  "until = 4000000000000000")
    busy = replay(tidemark, "--pipeline", "items", expect=EXIT_STATE)
    assert busy.pipeline()["outcome"] == "busy"
    assert len(letters(tidemark)) == 1
    state.execute("UPDATE leases SET until = 0")
    replay(tidemark, "--pipeline", "items")
    assert letters(tidemark) == []


def test_replay_refuses_mode_replace(tidemark, target):
    source, destination = target("sqlite")
    poison_some(source, (60,))
    tidemark.run()
    tidemark.pipelines["items"]["load"]["mode"] = "replace"
    tidemark.write_config()
    (letter,) = letters(tidemark)
    done = tidemark("dead-letters", "replay", letter["id"])
    assert "mode replace" in done.expect(EXIT_CONFIG).err
    assert letters(tidemark) == [letter]
    del tidemark.pipelines["items"]
    tidemark.pipeline("others", **items_settings(source, destination,
                                                 "timestamp"))
    tidemark.write_config()
    done = tidemark("dead-letters", "replay", letter["id"])
    assert 'no pipeline "items"' in done.expect(EXIT_CONFIG).err
    assert letters(tidemark, "list", "items") == [letter]


def test_replay_is_no_catching_up(tidemark, target):
    """`status` does not take it for a run that has seen all of the source."""
    source, destination = target("sqlite")
    poison_some(source, (60,))
    tidemark.run()
    lag = tidemark("status", "--json").pipeline()["lag_seconds"]
    workload.settle(source)
    before = destination.watermark("items")
    poison.mend(source, "id = 60")
    replay(tidemark, "--pipeline", "items")
    # The row lies past the mark, which stands, but was delivered.
    after = destination.watermark("items")
    assert after["value"] == before["value"]
    assert after["pending"]["delivered"] > after["value"]
    assert tidemark("status", "--json").pipeline()["lag_seconds"] > lag
    newest = tidemark("runs", "list", "--json").json()["runs"][0]
    assert newest["attempts"][0]["rows_inserted"] == 1
    # Nor one whose window could be read again.
    error = tidemark("runs", "replay", newest["run_id"]
                     ).expect(EXIT_CONFIG).err
    assert "dead-letters replay --pipeline items" in error


def test_a_million_rows(tidemark, make_database, full, record_property):
    """All but 37 are loaded, which are named; mended and replayed, both sides
    are equal. A million rows under --full, which says how long it took."""
    rows = 1_000_000 if full else 40_000
    apart = rows // 38

    def load(bad):
        source, destination = make_database("source"), make_database("dest")
        source.execute(
            "CREATE TABLE items (id bigint PRIMARY KEY, name text, "
            "quantity int, amount numeric(12,2), updated_at timestamptz)",
            "INSERT INTO items VALUES (0, 'first', 1, 1, '2024-01-01')")
        sync_items(tidemark, source, destination, "timestamp",
                   on_bad_row="dead_letter", name=f"bad{bad}")
        tidemark.pipelines = {f"bad{bad}": tidemark.pipelines[f"bad{bad}"]}
        tidemark.write_config()
        tidemark.run()
        poison.refuse_below_zero(destination, "public.items")
        source.execute(
            "INSERT INTO items SELECT n, 'item ' || n, n % 100, n / 7.0, "
            "timestamptz '2024-01-02' + n * interval '1 ms' "
            f"FROM generate_series(1, {rows}) n",
            "CREATE INDEX ON items (updated_at, id)", "ANALYZE items",
            f"UPDATE items SET quantity = -1 WHERE id <= {bad} * {apart} AND "
            f"id % {apart} = 0 AND id > 0")
        result = tidemark.run().pipeline()
        assert result["rows_read"] == rows
        assert result["rows_dead_lettered"] == bad
        assert result["rows_inserted"] == rows - bad
        return source, destination, result["seconds"]

    clean, one = load(0)[2], load(1)[2]
    source, destination, many = load(37)
    record_property("figures", f"clean {clean:.1f} s, one bad row {one:.1f} s,"
                    f" 37 bad rows {many:.1f} s")
    found = letters(tidemark, "list", "bad37")
    assert {letter["key"]["id"] for letter in found} == {
        apart * n for n in range(1, 38)}
    for letter in found:
        assert "quantity_not_below_zero" in letter["error"]["message"]
    source.execute("UPDATE items SET quantity = 5 WHERE quantity < 0")
    result = replay(tidemark, "--pipeline", "bad37").pipeline()
    assert result["rows_inserted"] == 37
    assert letters(tidemark, "list", "bad37") == []
    sums = ("SELECT count(*), sum(hashtextextended(items::text, 0)::numeric) "
            "FROM items")
    assert source.query(sums) == destination.query(sums)


@pytest.mark.parametrize("kind", ("sqlite", "duckdb"))
def test_replay_from_a_file(tidemark, make_source, make_destination, kind):
    source, destination = make_source(kind), make_destination("sqlite")
    source.execute(
        "CREATE TABLE items (part varchar NOT NULL, id bigint NOT NULL, "
        "quantity int, seq bigint NOT NULL, PRIMARY KEY (part, id))",
        "INSERT INTO items VALUES ('a', 1, 1, 1), ('a', 2, 1, 2)")
    sync_items(tidemark, source, destination, "sequence",
               on_bad_row="dead_letter")
    tidemark.run()
    poison.refuse_below_zero(destination, "main.items")
    source.execute("INSERT INTO items VALUES ('a', 3, 1, 3), "
                   "('it''s \"b\"', 3, -1, 4), ('b', 1, -1, 5), "
                   "('b', 2, 1, 6), ('c', 3, -1, 7)")
    assert tidemark.run().pipeline()["rows_dead_lettered"] == 3
    # Bounds of a window are not those of its letters.
    tidemark.pipelines["items"]["gate"] = {"max_rows": 1}
    tidemark.write_config()
    source.execute("UPDATE items SET quantity = 9 WHERE id = 3",
                   "DELETE FROM items WHERE part = 'b' AND id = 1")
    result = replay(tidemark, "--pipeline", "items").pipeline()
    assert (result["rows_read"], result["rows_inserted"]) == (2, 2)
    assert [letter["key"] for letter in letters(tidemark)
            ] == [{"part": "b", "id": 1}], "of a row that is gone"
    columns = {"part": "text", "id": "int", "quantity": "int"}
    assert sorted(destination.rows("main.items", columns)) == [
        ("a", 1, 1), ("a", 2, 1), ("a", 3, 1), ("b", 2, 1), ("c", 3, 9),
        ("it's \"b\"", 3, 9)]

"""Tables that have neither a key nor a mark: each run loads all of their rows,
equal ones as often as they are there."""

import collections

import pytest

from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT, EXIT_OK, EXIT_SCHEMA,
                   items_settings)

TARGETS = ("postgres", "mysql", "mariadb", "sqlite", "duckdb")
SOURCES = ("postgres", "mysql", "mariadb", "sqlite", "duckdb")
ROWS = [("a", 1), ("a", 1), ("a", 1), ("b", None), ("b", None), (None, None),
        ("", 0)]


def fill(source, rows, empty=True):
    source.execute(*(["DELETE FROM bag"] if empty else []), *(
        "INSERT INTO bag VALUES ({}, {})".format(
            "NULL" if text is None else f"'{text}'",
            "NULL" if n is None else n) for text, n in rows))


def bag(tidemark, source, destination, rows=tuple(ROWS), **settings):
    source.execute("CREATE TABLE bag (t varchar(10), n integer)")
    fill(source, rows, False)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    made = items_settings(source, destination, "timestamp", "replace", "bag",
                          **settings)
    del made["watermark"]
    return tidemark.pipeline("bag", **made).write_config()


def expect(destination, rows):
    found = collections.Counter(destination.query("SELECT t, n FROM bag"))
    assert found == collections.Counter(rows)


@pytest.mark.parametrize("engine", TARGETS)
@pytest.mark.parametrize("start", SOURCES)
@pytest.mark.thinned(3)
def test_bag_of_rows(tidemark, make_source, make_destination, start, engine):
    source, destination = make_source(start), make_destination(engine)
    bag(tidemark, source, destination, batch={"rows": 2})
    checked = tidemark("check", "--json").expect(EXIT_OK).pipeline()
    assert not [each for each in checked["problems"]
                if each["severity"] == "error"], checked
    planned = tidemark.run("--dry-run").pipeline()
    assert planned["rows_inserted"] == len(ROWS)
    told = tidemark.run().pipeline()
    assert (told["rows_read"], told["rows_inserted"]) == (len(ROWS),) * 2
    assert told["guarantee"] == "exact"
    expect(destination, ROWS)
    tidemark("verify").expect(EXIT_OK)
    # A file with one writer is not opened twice by a dry run.
    dry = [] if engine in ("sqlite", "duckdb") else ["--dry-run"]
    for flags in (dry, []):
        told = tidemark.run(*flags).pipeline()
        assert (told["rows_read"], told["rows_unchanged"]) == (len(ROWS),) * 2
        assert (told["rows_inserted"], told["batches"]) == (0, 0)
    # Changes, removals and doubles show at the target, too.
    changed = [("a", 1), ("a", 1), ("c", 1), ("b", None), ("", 0), ("", 0)]
    fill(source, changed)
    tidemark.run()
    expect(destination, changed)
    tidemark("verify").expect(EXIT_OK)
    told = tidemark("status", "--json").expect(EXIT_OK)
    assert told.pipeline()["watermark"]["strategy"] == "none"
    fill(source, [])
    tidemark.run()
    expect(destination, [])
    tidemark("verify").expect(EXIT_OK)


@pytest.mark.parametrize("engine", ("clickhouse", "bigquery"))
def test_target_that_cannot_take_a_bag(tidemark, source, make_destination,
                                       engine):
    bag(tidemark, source, make_destination(engine))
    done = tidemark("run", "--json").expect(EXIT_SCHEMA)
    message = done.pipeline()["error"]["message"]
    assert "nothing tells which of its rows have come" in message, message


@pytest.mark.parametrize("engine", ("postgres", "duckdb"))
def test_differences_are_named_by_their_rows(tidemark, source,
                                             make_destination, engine):
    destination = make_destination(engine)
    bag(tidemark, source, destination)
    tidemark.run()
    destination.execute("DELETE FROM bag WHERE t = 'a'",
                        "INSERT INTO bag VALUES ('a', 1), ('z', 9)")
    done = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
    assert (done["missing"], done["extra"], done["different"]) == (2, 1, 0)
    named = sorted((each["kind"], each["key"]["t"], each["key"]["n"])
                   for each in done["examples"])
    assert named == [("extra", "z", "9"), ("missing", "a", "1")]
    done = tidemark("verify", "--repair", "--yes").expect(EXIT_CONFIG)
    assert "tidemark run bag mends it" in done.err
    tidemark.run()
    tidemark("verify").expect(EXIT_OK)


@pytest.mark.parametrize("engine", TARGETS)
@pytest.mark.thinned(2)
def test_killed_at_every_step(tidemark_failpoints, source, make_destination,
                              engine):
    tidemark, destination = tidemark_failpoints, make_destination(engine)
    bag(tidemark, source, destination, batch={"rows": 2})
    tidemark.run()
    changed = ROWS[2:] + [("c", 3)] * 4
    fill(source, changed)
    for point in ("mid_load=kill@2", "commit_acked=kill@1",
                  "commit_acked=kill@3", "before_merge=kill@1",
                  "after_merge=kill@5"):
        tidemark.killed(failpoints=point)
        left = collections.Counter(
            destination.query("SELECT t, n FROM bag"))
        assert left in (collections.Counter(ROWS),
                        collections.Counter(changed)), point
    tidemark.run()
    expect(destination, changed)
    tidemark("verify").expect(EXIT_OK)


def test_mark_and_key_may_be_left_out(tidemark, source, make_destination):
    """A key serves where there is one; `none` goes before a default's mark."""
    destination = make_destination("postgres")
    source.execute("CREATE TABLE bag (t text PRIMARY KEY, n int)")
    fill(source, [("a", 1), ("b", 2)], False)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    made = items_settings(source, destination, "timestamp", "replace", "bag")
    made["watermark"] = {"strategy": "none"}
    tidemark.top["defaults"] = {"watermark": {
        "strategy": "timestamp", "column": "updated_at", "lag": "1m"}}
    tidemark.pipeline("bag", **made).write_config()
    tidemark.run()
    assert destination.query(
        "SELECT contype FROM pg_constraint WHERE conrelid = 'bag'::regclass"
        " AND contype = 'p'") == [("p",)]
    destination.execute("UPDATE bag SET n = 7 WHERE t = 'b'")
    done = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
    assert done["examples"] == [{"key": {"t": "b"}, "kind": "different"}]
    tidemark("run", "--verify").expect(EXIT_CONFIG)
    tidemark("verify", "--since", "2026-01-01").expect(EXIT_CONFIG)
    made["load"] = {"mode": "upsert"}
    done = tidemark.pipeline("bag", **made).write_config()("run")
    assert "load mode upsert needs a mark" in done.expect(EXIT_CONFIG).err


def built(destination):
    """The table as the catalog numbers it: a swap makes it another one."""
    return destination.query("SELECT 'bag'::regclass::oid::bigint,"
                             " xmin::text FROM _tidemark_watermark")


def test_unchanged_table_stays(tidemark, source, make_destination):
    """A run of a table that is as it was writes nothing. Whatever differs at
    either side, or in the config, has it loaded."""
    destination = make_destination("postgres")
    bag(tidemark, source, destination)
    tidemark.run()
    first = built(destination)
    told = tidemark.run().pipeline()
    assert told["outcome"] == "caught_up" and told["rows_unchanged"] == 7
    assert built(destination) == first
    # One of several equal rows less, at the source and then by a hand.
    source.execute("DELETE FROM bag WHERE ctid = (SELECT max(ctid) FROM bag"
                   " WHERE t = 'a')")
    assert tidemark.run().pipeline()["rows_inserted"] == 6
    second = built(destination)
    assert second != first
    destination.execute("UPDATE bag SET n = NULL WHERE t = ''")
    assert tidemark.run().pipeline()["rows_inserted"] == 6
    assert built(destination) != second
    expect(destination, [("a", 1)] * 2 + ROWS[3:])
    told = tidemark.run("--full-refresh").pipeline()
    assert told["rows_inserted"] == 6
    source.execute("ALTER TABLE bag ADD COLUMN more text")
    assert tidemark.run().pipeline()["rows_inserted"] == 6
    assert tidemark.run().pipeline()["rows_inserted"] == 0


def test_unchanged_table_with_a_mark_stays(tidemark, source, make_destination):
    """A mark by xmin tells neither of rows that go, nor without a key which of
    them have changed."""
    destination = make_destination("postgres")
    bag(tidemark, source, destination)
    made = items_settings(source, destination, "xmin", "replace", "bag")
    tidemark.pipeline("bag", **made).write_config().run()
    for change, n in ((None, 7), ("UPDATE bag SET n = 5 WHERE t = 'b'", 7),
                      ("DELETE FROM bag WHERE t = 'b'", 5),
                      ("INSERT INTO bag VALUES ('z', 1)", 6)):
        if change:
            source.execute(change)
            assert tidemark.run().pipeline()["rows_inserted"] == n
            assert destination.query("SELECT count(*) FROM bag") == [(n,)]
        first = built(destination)
        told = tidemark.run().pipeline()
        assert (told["rows_inserted"], told["rows_unchanged"]) == (0, n)
        assert (told["outcome"], built(destination)) == ("caught_up", first)
    tidemark("verify").expect(EXIT_OK)
    # The mark of another strategy says nothing.
    del made["watermark"]
    tidemark.pipeline("bag", **made).write_config()
    assert tidemark.run().pipeline()["rows_inserted"] == 6


def test_gate_looks_at_a_table_that_stays(tidemark, source, make_destination):
    """A gate may be newer than the rows that the target has."""
    destination = make_destination("postgres")
    bag(tidemark, source, destination)
    tidemark.run()
    made = items_settings(source, destination, "timestamp", "replace", "bag",
                          gate={"not_null": ["n"]})
    del made["watermark"]
    tidemark.pipeline("bag", **made).write_config()
    done = tidemark("run").expect(EXIT_DATA)
    assert "not_null" in done.err
    expect(destination, ROWS)


def test_check_looks_at_the_source(tidemark, source, make_destination):
    """Rows that the role may not see, and rows that change by themselves."""
    bag(tidemark, source, make_destination("duckdb"))
    done = tidemark("check", "--json").expect(EXIT_OK).pipeline()
    assert done["guarantee"] == "exact"
    source.execute("ALTER TABLE bag ENABLE ROW LEVEL SECURITY",
                   "ALTER TABLE bag FORCE ROW LEVEL SECURITY",
                   "CREATE POLICY shown ON bag USING (t IS NOT NULL)")
    done = tidemark("check", "--json").pipeline()
    assert done["guarantee"] == "none"
    assert "row level security" in done["guarantee_reason"]
    assert "row-security" in [each["code"] for each in done["problems"]]
    told = tidemark.run().pipeline()
    assert told["guarantee"] == "none"
    assert "row level security" in told["guarantee_reason"]


@pytest.mark.parametrize("journal", ("delete", "wal"))
@pytest.mark.parametrize("mode", ("replace", "append"))
def test_one_file_of_sqlite(tidemark, make_destination, journal, mode):
    """Without a log beside it a statement under way keeps writers out, our own
    among them."""
    end = make_destination("sqlite")
    end.execute(f"PRAGMA journal_mode = {journal}",
                "CREATE TABLE bag (n integer NOT NULL, price decimal(9, 2),"
                " t varchar(10), b blob)",
                "WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT value"
                " + 1 FROM c WHERE value < 9000) INSERT INTO bag SELECT"
                " value / 3, round(value / 4.0, 2), 't' || value, x'00ff'"
                " FROM c")
    tidemark.connect("warehouse", end.connection())
    made = {"source": {"connection": "warehouse", "table": "main.bag"},
            "destination": {"connection": "warehouse", "table": "main.other"},
            "batch": {"rows": 1000}, "load": {"mode": mode}}
    if mode == "append":
        made["watermark"] = {"strategy": "sequence", "column": "n"}
    tidemark.pipeline("bag", **made).write_config()
    assert tidemark.run().pipeline()["rows_inserted"] == 9000
    assert tidemark.run().pipeline()["rows_inserted"] == 0
    rows = "SELECT n, t, b FROM {} ORDER BY n, t"
    assert end.query(rows.format("other")) == end.query(rows.format("bag"))
    end.execute("INSERT INTO bag SELECT 4000, price, t, b FROM bag")
    tidemark.run()
    assert end.query("SELECT count(*) FROM other") == [(18000,)]
    tidemark("verify").expect(EXIT_OK)


@pytest.mark.parametrize("engine", ("postgres", "duckdb"))
def test_values_that_look_alike(tidemark, source, make_destination, engine):
    """NULL is itself and nothing else; so is NaN."""
    source.execute(
        "CREATE TABLE bag (t text, n int, x float8, d numeric(9, 2), u numeric)",
        "INSERT INTO bag VALUES (NULL, NULL, NULL, NULL, NULL),"
        " ('', 0, 0, 0, 0), ('NaN', 1, 'NaN', 1, 1), ('NULL', 2, 2, 2, 2)")
    destination = make_destination(engine)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    made = items_settings(source, destination, "timestamp", "replace", "bag")
    del made["watermark"]
    tidemark.pipeline("bag", **made).write_config().run()
    tidemark("verify").expect(EXIT_OK)
    assert tidemark.run().pipeline()["rows_inserted"] == 0
    for where, changes in (
            ("n IS NULL", "n = 0"), ("n IS NULL", "t = ''"),
            ("n IS NULL", "x = 0"), ("n IS NULL", "d = 0"),
            ("n IS NULL", "x = 'NaN'"), ("n = 0", "t = NULL"),
            ("n = 0", "n = NULL"), ("n = 0", "x = NULL"),
            ("n = 0", "d = NULL"), ("n = 0", "u = NULL"),
            ("n = 1", "x = NULL"), ("n = 1", "x = 0"), ("n = 1", "t = NULL"),
            ("n = 2", "t = NULL")):
        destination.execute(f"UPDATE bag SET {changes} WHERE {where}")
        done = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
        assert (done["missing"], done["extra"]) == (1, 1), changes
        assert tidemark.run().pipeline()["rows_inserted"] == 4
    # Bits that stand for the same.
    destination.execute("UPDATE bag SET x = -x WHERE n < 2")
    tidemark("verify").expect(EXIT_OK)
    assert tidemark.run().pipeline()["rows_inserted"] == 0


def test_texts_beside_numbers_within_one_file(tidemark, make_destination):
    """A view's column may have both: a copy leaves each as it is."""
    end = make_destination("sqlite")
    end.execute("PRAGMA journal_mode = delete",
                "CREATE TABLE a (n decimal(30, 2))", "CREATE TABLE b (n text)",
                "INSERT INTO a VALUES (1.5)",
                "INSERT INTO b VALUES ('12345678901234567890.25'), ('007.50')",
                "CREATE VIEW bag AS SELECT n FROM a UNION ALL SELECT n FROM b")
    tidemark.connect("warehouse", end.connection())
    tidemark.pipeline(
        "bag", source={"connection": "warehouse", "table": "main.bag"},
        destination={"connection": "warehouse", "table": "main.other"},
        load={"mode": "replace"}).write_config().run()
    assert end.query("SELECT n FROM other ORDER BY n") == [
        ("007.50",), ("1.5",), ("12345678901234567890.25",)]

"""Targets that are there already, and sources whose columns change."""

import pytest

import oracle
import workload
from bench import EXIT_SCHEMA, sync_items, written

ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql")
every_engine = pytest.mark.parametrize("engine", ENGINES)
every_mode = pytest.mark.parametrize("mode", ("upsert", "append",
                                              "delete_insert"))


def to(destination, table="items"):
    return f"{destination.schema}.{table}"


def check(source, destination, columns=oracle.ITEMS):
    oracle.check_equal(source, destination, "items", to(destination), columns)


@pytest.mark.thinned(3)
@every_engine
@every_mode
def test_new_column_is_added_and_filled(tidemark, source, make_destination,
                                        engine, mode):
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    # The old rows get their values without a new mark.
    source.execute("ALTER TABLE items ADD color text",
                   "UPDATE items SET color = 'c' || id WHERE id % 2 = 0")
    tidemark.run()
    check(source, destination, {**oracle.ITEMS, "color": "text"})
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.thinned(3)
@every_engine
@every_mode
def test_column_that_comes_again_is_filled(tidemark, source, make_destination,
                                           engine, mode):
    """Dropped and added again, with a run in between or without."""
    destination = make_destination(engine)
    columns = {**oracle.ITEMS, "color": "text"}
    workload.create_items(source, rows=50)
    source.execute("ALTER TABLE items ADD color text DEFAULT 'old'")
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    for value in ("with a run", "at once"):
        source.execute("ALTER TABLE items DROP color")
        if value == "with a run":
            tidemark.run()
        source.execute(f"ALTER TABLE items ADD color text DEFAULT '{value}'")
        tidemark.run()
        check(source, destination, columns)
        assert tidemark.run().pipeline()["rows_read"] == 0


@every_engine
def test_column_left_out_for_a_while(tidemark, source, make_destination,
                                     engine):
    """`columns:` without it; what happened meanwhile comes with it."""
    destination = make_destination(engine)
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "xmin")
    tidemark.run()
    there = tidemark.pipelines["items"]["source"]
    there["columns"] = [name for name in oracle.ITEMS if name != "amount"]
    tidemark.write_config()
    source.execute("UPDATE items SET amount = 7.77")
    tidemark.run()
    del there["columns"]
    tidemark.write_config().run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_column_that_comes_again_may_stop(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp",
               schema={"on_new_column": "stop"})
    tidemark.run()
    source.execute("ALTER TABLE items DROP ratio",
                   "ALTER TABLE items ADD ratio double precision DEFAULT 2")
    before = destination.watermark("items")
    for done in (tidemark("check", "--json"), tidemark("run", "--json")):
        done.expect(EXIT_SCHEMA)
        assert "ratio" in done.out and "on_new_column" in done.out
    assert destination.watermark("items") == before


@every_engine
def test_new_column_in_replace(tidemark, source, make_destination, engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp", "replace")
    tidemark.run()
    source.execute("ALTER TABLE items ADD color text DEFAULT 'blue'")
    tidemark.run()
    check(source, destination, {**oracle.ITEMS, "color": "text"})


@pytest.mark.thinned(3)
@every_engine
@pytest.mark.parametrize("change, key, word", (
    ("ALTER TABLE items ADD color text", "on_new_column", "color"),
    ("ALTER TABLE items ALTER quantity TYPE bigint", "on_type_change",
     "quantity"),
    ("ALTER TABLE items DROP ratio", "on_dropped_column", "ratio"),
))
def test_stop_means_stop(tidemark, source, make_destination, engine, change,
                         key, word):
    destination = make_destination(engine)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp",
               schema={key: "stop"})
    tidemark.run()
    before = destination.columns_of(to(destination))
    source.execute(change, "UPDATE items SET name = 'new', updated_at = now()")
    done = tidemark("run", "--json")
    if engine == "sqlite" and key == "on_type_change" and done.code == 0:
        # SQLite has one INTEGER: nothing to widen, nothing to stop for.
        check(source, destination)
        return
    done.expect(EXIT_SCHEMA)
    message = done.pipeline()["error"]["message"]
    assert word in message and "items" in message
    assert destination.columns_of(to(destination)) == before
    rows = destination.rows(to(destination), {"name": "text"})
    assert ("new",) not in rows


@pytest.mark.thinned(3)
@every_engine
@every_mode
def test_wider_type_is_widened(tidemark, source, make_destination, engine,
                               mode):
    destination = make_destination(engine)
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    source.execute("ALTER TABLE items ALTER quantity TYPE bigint",
                   "ALTER TABLE items ALTER amount TYPE numeric(20,4)",
                   "UPDATE items SET quantity = 5000000000, amount = 1.2345, "
                   "updated_at = '2024-07-01' WHERE id = 3")
    tidemark.run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@every_engine
def test_dropped_column_is_kept(tidemark, source, make_destination, engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    old = dict(destination.rows(to(destination),
                                {"id": "int", "ratio": "float"}))
    source.execute("ALTER TABLE items DROP ratio",
                   "UPDATE items SET name = 'x', updated_at = '2024-07-01' "
                   "WHERE id = 3")
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_updated"] == 1
    rest = {k: v for k, v in oracle.ITEMS.items() if k != "ratio"}
    check(source, destination, rest)
    new = dict(destination.rows(to(destination),
                                {"id": "int", "ratio": "float"}))
    assert {k: v for k, v in new.items() if k != 3} == {
        k: v for k, v in old.items() if k != 3}


@every_engine
def test_incompatible_type_change_is_refused(tidemark, source,
                                             make_destination, engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("ALTER TABLE items ALTER quantity TYPE text",
                   "UPDATE items SET quantity = 'many', updated_at = now()")
    done = tidemark("run", "--json")
    if engine == "sqlite" and done.code == 0:
        assert ("many",) in destination.rows(to(destination),
                                             {"quantity": "text"})
        return
    if done.code == 0:  # widened to text: then nothing may be lost
        columns = {**oracle.ITEMS, "quantity": "text"}
        check(source, destination, columns)
        return
    done.expect(EXIT_SCHEMA)
    assert "quantity" in done.pipeline()["error"]["message"]


EXISTING = {
    "other order": """CREATE TABLE {to} (updated_at {timestamptz}, seq bigint,
        born date, document {json}, payload {bytes}, ratio double precision,
        active boolean, quantity integer, amount numeric(12,2), name {text},
        id bigint NOT NULL PRIMARY KEY)""",
    "extra column": """CREATE TABLE {to} (id bigint NOT NULL PRIMARY KEY,
        note {text} DEFAULT 'theirs', name {text}, amount numeric(12,2),
        quantity integer, active boolean, ratio double precision,
        payload {bytes}, document {json}, born date, seq bigint,
        updated_at {timestamptz})""",
}
WORDS = {
    "postgres": {"timestamptz": "timestamptz", "json": "jsonb",
                 "bytes": "bytea", "text": "text"},
    "duckdb": {"timestamptz": "timestamptz", "json": "json", "bytes": "blob",
               "text": "varchar"},
}


def create_existing(destination, sql):
    """A table that is not Tidemark's, with this engine's names of types."""
    destination.execute(sql.format(to=to(destination),
                                   **WORDS[destination.engine]))


@pytest.mark.parametrize("engine", ("postgres", "duckdb"))
@pytest.mark.parametrize("shape", EXISTING)
def test_existing_target_is_respected(tidemark, source, make_destination,
                                      engine, shape):
    destination = make_destination(engine)
    create_existing(destination, EXISTING[shape])
    before = destination.columns_of(to(destination))
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    check(source, destination)
    assert destination.columns_of(to(destination)) == before
    if shape == "extra column":
        destination.execute(f"UPDATE {to(destination)} SET note = 'mine' "
                            "WHERE id = 3")
        source.execute("UPDATE items SET name = 'x', updated_at = "
                       "'2024-07-01' WHERE id = 3")
        tidemark.run()
        notes = dict(destination.rows(to(destination),
                                      {"id": "int", "note": "text"}))
        assert notes[4] == "theirs"
        assert notes[3] == "mine", "an upsert has reset a column of others"


STRICTER = (
    ("id bigint PRIMARY KEY, name varchar(5), updated_at timestamptz", "name"),
    ("id bigint PRIMARY KEY, name text, quantity smallint, "
     "updated_at timestamptz", "quantity"),
    ("id bigint PRIMARY KEY, name text, other text NOT NULL, "
     "updated_at timestamptz", "other"),
    ("id integer PRIMARY KEY, name text, updated_at timestamptz", "id"),
    ("id bigint PRIMARY KEY, name text, updated_at date", "updated_at"),
    ("other bigint PRIMARY KEY, name text, updated_at timestamptz", "id"),
)


@pytest.mark.parametrize("columns, word", STRICTER)
def test_target_that_cannot_hold_the_source(tidemark, source,
                                            make_destination, columns, word):
    """Refused by `check` and by `run`, before any row moves."""
    destination = make_destination("postgres")
    destination.execute(f"CREATE TABLE public.items ({columns})")
    before = destination.columns_of("public.items")
    workload.create_items(source, rows=10)
    # Columns are added where they miss, so look only at those that are there.
    keep = [name for name in oracle.ITEMS
            if name in before or name in ("id", "name", "updated_at")]
    sync_items(tidemark, source, destination, "timestamp",
               schema={"on_type_change": "stop"})
    tidemark.pipelines["items"]["source"]["columns"] = keep
    tidemark.write_config()
    checked = tidemark("check", "--json").expect(EXIT_SCHEMA).pipeline()
    assert not checked["ok"]
    assert any(word in each["message"] for each in checked["problems"]
               if each["severity"] == "error"), checked["problems"]
    done = tidemark.run(expect=EXIT_SCHEMA)
    message = done.pipeline()["error"]["message"]
    assert word in message and "items" in message
    assert destination.columns_of("public.items") == before
    assert destination.query("SELECT count(*) FROM public.items") == [(0,)]


@every_engine
def test_key_missing_at_the_destination(tidemark, source, make_destination,
                                        engine):
    destination = make_destination(engine)
    destination.execute(f"CREATE TABLE {to(destination)} (name text, "
                        "updated_at timestamp)")
    workload.create_items(source, rows=10)
    sync_items(tidemark, source, destination, "timestamp")
    done = tidemark.run(expect=EXIT_SCHEMA)
    assert "id" in done.pipeline()["error"]["message"]
    assert destination.query(f"SELECT count(*) FROM {to(destination)}"
                             ) == [(0,)]


def test_replace_does_not_drop_a_strangers_table(tidemark, source,
                                                 make_destination):
    destination = make_destination("postgres")
    destination.execute(
        "CREATE TABLE public.items (id bigint PRIMARY KEY, precious text)",
        "INSERT INTO public.items VALUES (1, 'precious')")
    workload.create_items(source, rows=10)
    sync_items(tidemark, source, destination, "timestamp", "replace")
    tidemark.run(expect=EXIT_SCHEMA)
    assert destination.query("SELECT precious FROM public.items") == [
        ("precious",)]
    tidemark.run("--full-refresh")
    check(source, destination)


@pytest.mark.thinned(2)
@every_engine
@pytest.mark.parametrize("mode", ("upsert", "delete_insert"))
def test_rows_of_others_stay(tidemark, source, make_destination, engine, mode):
    """Rows that the source does not have are not the sync's to delete."""
    destination = make_destination(engine)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    destination.execute(
        f"INSERT INTO {to(destination)} (id, name, quantity, seq, updated_at) "
        "VALUES (999, 'theirs', 0, 0, '2024-01-01 00:00:00')")
    source.execute("UPDATE items SET name = 'x', updated_at = '2024-07-01'")
    assert written(tidemark.run().pipeline()) >= 20
    names = {row[0] for row in destination.rows(to(destination),
                                                {"name": "text"})}
    assert names == {"x", "theirs"}


@pytest.mark.parametrize("mode", ("upsert", "delete_insert"))
def test_foreign_keys_and_triggers_at_the_target(tidemark, source,
                                                 make_destination, mode):
    """An inbound foreign key with CASCADE must not lose its rows to a
    DELETE + INSERT, and a trigger sees only real changes."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    destination.execute(
        "CREATE TABLE child (item bigint REFERENCES items ON DELETE CASCADE)",
        "INSERT INTO child SELECT id FROM items",
        "CREATE TABLE seen (id bigint)",
        """CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN INSERT INTO public.seen VALUES (NEW.id); RETURN NEW; END'""",
        """CREATE TRIGGER note AFTER UPDATE OR INSERT ON items FOR EACH ROW
           EXECUTE FUNCTION note()""")
    source.execute("UPDATE items SET name = 'x', updated_at = '2024-07-01' "
                   "WHERE id <= 10")
    if mode == "upsert":
        tidemark("watermark", "reset", "items").expect(0)
        tidemark.run()
        assert destination.query("SELECT count(*) FROM child") == [(50,)]
        assert destination.query("SELECT count(*) FROM seen") == [(10,)]
    else:
        done = tidemark("run", "--json")
        lost = destination.query("SELECT 50 - count(*) FROM child")[0][0]
        assert lost == 0 or done.code != 0, "rows of others were cascaded away"


@pytest.mark.parametrize("engine, option", (
    ("postgres", ""), ("sqlite", ""),
    # DuckDB takes a block of 256 KiB for each column
    ("duckdb", "?memory_limit=2GB")))
def test_as_many_columns_as_a_source_has(tidemark, source, make_destination,
                                         engine, option):
    names = [f"c{n}" for n in range(1200)]
    source.execute(
        "CREATE TABLE many (id int PRIMARY KEY, updated_at timestamptz, "
        + ", ".join(f"{name} int" for name in names) + ")",
        "INSERT INTO many (id, updated_at, c1199) VALUES "
        "(1, '2024-01-01', 5), (2, '2024-01-01', 6)")
    destination = make_destination(engine)
    sync_items(tidemark, source, destination, "timestamp", table="many")
    if option:
        tidemark.connections["warehouse"] += option
        tidemark.write_config()
    assert tidemark.run().pipeline()["rows_inserted"] == 2
    source.execute("UPDATE many SET c1199 = 7, updated_at = '2024-01-02' "
                   "WHERE id = 2")
    assert written(tidemark.run().pipeline()) == 1
    assert sorted(destination.rows(
        "many", {"id": "int", "c1199": "int"})) == [(1, 5), (2, 7)]

"""Views that people have made over a target outlive its refresh, and so does
whatever else depends on it."""

import pytest

from bench import EXIT_OK, EXIT_SCHEMA, sync_items

ENGINES = ("postgres", "mysql", "mariadb", "sqlite", "duckdb", "clickhouse")
ITEMS = ("CREATE TABLE items (id int PRIMARY KEY, name varchar(20),"
         " updated_at timestamptz NOT NULL)")


def fill(source, first, last):
    source.execute(
        "INSERT INTO items SELECT n, 'n' || n, timestamptz '2024-01-01 00:00Z'"
        f" + n * interval '1 s' FROM generate_series({first}, {last}) n")


def items(tidemark, source, destination, mode="upsert"):
    source.execute(ITEMS)
    fill(source, 1, 5)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()


def refresh(tidemark, mode, **more):
    """The whole table, in the way of its mode."""
    return tidemark.run(*([] if mode == "replace" else ["--full-refresh"]),
                        **more)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", ("upsert", "append", "replace"))
def test_view_over_a_target(tidemark, source, make_destination, engine, mode):
    destination = make_destination(engine)
    items(tidemark, source, destination, mode)
    destination.execute("CREATE VIEW named AS SELECT id, name FROM items"
                        " WHERE id > 2")
    source.execute("DELETE FROM items WHERE id = 3")
    fill(source, 6, 7)
    for _ in range(2):
        told = refresh(tidemark, mode).pipeline()
        assert told["rows_read"] == 6
        assert sorted(destination.query("SELECT id, name FROM named")) == [
            (4, "n4"), (5, "n5"), (6, "n6"), (7, "n7")]
    fill(source, 8, 8)
    tidemark.run()
    assert sorted(destination.query("SELECT id FROM named"))[-1] == (8,)
    tidemark("verify").expect(EXIT_OK)
    assert not [name for name in destination.tables()
                if name.startswith("_tidemark_stage")]


def dependents(warehouse):
    """Whatever a table can have and a copy of it has not."""
    warehouse.execute(
        "CREATE TABLE kinds (name text PRIMARY KEY)",
        "INSERT INTO kinds SELECT 'n' || n FROM generate_series(1, 20) n",
        "CREATE VIEW one AS SELECT id, name FROM items",
        "CREATE VIEW two AS SELECT name FROM one",
        "CREATE MATERIALIZED VIEW stored AS SELECT count(*) AS n FROM items",
        "CREATE FUNCTION named() RETURNS SETOF items LANGUAGE sql AS"
        " 'SELECT * FROM public.items'",
        "ALTER TABLE items ADD FOREIGN KEY (name) REFERENCES kinds",
        "CREATE POLICY everybody ON items USING (true)",
        "CREATE PUBLICATION told FOR TABLE items",
        "CREATE TABLE seen (id int, what text)",
        "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO public.seen VALUES (coalesce(NEW.id, OLD.id), TG_OP);"
        " RETURN NULL; END $$",
        "CREATE TRIGGER seeing AFTER INSERT OR DELETE ON items FOR EACH ROW"
        " EXECUTE FUNCTION see()",
        "GRANT SELECT ON items TO PUBLIC",
        "GRANT UPDATE (name) ON items TO PUBLIC",
        "COMMENT ON TABLE items IS 'theirs'")


KEPT = """SELECT relacl::text, obj_description(oid),
 (SELECT attacl::text FROM pg_attribute WHERE attrelid = c.oid
  AND attname = 'name'),
 (SELECT count(*) FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal),
 (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid),
 (SELECT count(*) FROM pg_publication_rel WHERE prrelid = c.oid),
 (SELECT count(*) FROM pg_constraint WHERE conrelid = c.oid AND contype = 'f')
FROM pg_class c WHERE oid = 'items'::regclass"""


def test_everything_that_depends_on_a_table(tidemark, source,
                                            make_destination):
    warehouse = make_destination("postgres")
    items(tidemark, source, warehouse)
    dependents(warehouse)
    before = warehouse.query(KEPT)
    oid = warehouse.query("SELECT 'items'::regclass::oid")
    source.execute("DELETE FROM items WHERE id = 3",
                   "UPDATE items SET name = 'n9' WHERE id = 1")
    with warehouse.connect() as reader:
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        old = reader.execute("SELECT count(*) FROM one").fetchall()
        refresh(tidemark, "upsert")
        # A snapshot that is older sees the old rows, and none of the new.
        assert reader.execute("SELECT count(*) FROM one").fetchall() == old
        assert reader.execute(
            "SELECT count(*) FROM one WHERE name = 'n9'").fetchall() == [(0,)]
    assert warehouse.query(KEPT) == before
    assert warehouse.query("SELECT 'items'::regclass::oid") == oid
    assert sorted(warehouse.query("SELECT name FROM two")) == [
        ("n2",), ("n4",), ("n5",), ("n9",)]
    assert warehouse.query("SELECT what, count(*) FROM seen GROUP BY what"
                           " ORDER BY what") == [("DELETE", 5), ("INSERT", 4)]
    told = tidemark.run().pipeline()
    assert told["rows_inserted"] == told["rows_updated"] == 0
    tidemark("verify").expect(EXIT_OK)


def test_rights_on_a_table_outlive_the_swap(tidemark, source,
                                            make_destination):
    """Nothing depends on it, so it is exchanged for another one."""
    warehouse = make_destination("postgres")
    items(tidemark, source, warehouse)
    warehouse.execute("GRANT SELECT ON items TO PUBLIC",
                      "GRANT UPDATE (name) ON items TO PUBLIC",
                      "COMMENT ON TABLE items IS 'theirs'")
    before = warehouse.query(KEPT)
    oid = warehouse.query("SELECT 'items'::regclass::oid")
    refresh(tidemark, "upsert")
    assert warehouse.query(KEPT) == before
    assert warehouse.query("SELECT 'items'::regclass::oid") != oid


def test_columns_change_under_a_view(tidemark, source, make_destination):
    warehouse = make_destination("postgres")
    items(tidemark, source, warehouse)
    warehouse.execute("CREATE VIEW named AS SELECT id, name FROM items")
    source.execute("ALTER TABLE items ADD more int DEFAULT 7")
    refresh(tidemark, "upsert")
    assert warehouse.query("SELECT DISTINCT more FROM items") == [(7,)]
    source.execute("ALTER TABLE items ALTER name TYPE text")
    before = warehouse.query("SELECT * FROM items ORDER BY id")
    for command in (("run", "--json", "--full-refresh"),
                    ("run", "--json", "--full-refresh", "--dry-run")):
        done = tidemark(*command).expect(EXIT_SCHEMA)
        message = done.pipeline()["error"]["message"]
        assert 'column "name" has to become text' in message, message
        assert "view public.named" in message, message
    assert warehouse.query("SELECT * FROM items ORDER BY id") == before
    # One that no view shows may change.
    warehouse.execute("CREATE OR REPLACE VIEW other AS SELECT id FROM items",
                      "DROP VIEW named")
    refresh(tidemark, "upsert")
    tidemark("verify").expect(EXIT_OK)


@pytest.mark.parametrize("thing, named", (
    ("CREATE TABLE notes (item int REFERENCES items ON DELETE CASCADE)",
     "constraint notes_item_fkey"),
    ("CREATE RULE quiet AS ON DELETE TO items DO INSTEAD NOTHING",
     "rule quiet"),
    ("CREATE TABLE child () INHERITS (items)", "table public.child"),
    ("ALTER TABLE items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
     "CREATE POLICY few ON items USING (id < 3)", "row security"),
))
def test_what_a_delete_would_reach(tidemark, source, make_destination, thing,
                                   named):
    warehouse = make_destination("postgres")
    items(tidemark, source, warehouse)
    warehouse.execute(*thing.split(";"))
    done = tidemark("run", "--json", "--full-refresh").expect(EXIT_SCHEMA)
    message = done.pipeline()["error"]["message"]
    assert "would lose what depends on it" in message, message
    assert named in message, message


def test_trigger_that_holds_rows(tidemark, source, make_destination):
    """Nothing is changed by halves."""
    warehouse = make_destination("postgres")
    items(tidemark, source, warehouse)
    warehouse.execute(
        "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN IF OLD.id = 2 THEN RETURN NULL; END IF; RETURN OLD; END'",
        "CREATE TRIGGER holding BEFORE DELETE ON items FOR EACH ROW"
        " EXECUTE FUNCTION hold()")
    done = tidemark("run", "--json", "--full-refresh").expect(EXIT_SCHEMA)
    assert "a trigger of it holds them" in done.pipeline()["error"]["message"]
    warehouse.execute(
        "DROP TRIGGER holding ON items",
        "CREATE OR REPLACE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN IF NEW.id = 2 THEN RETURN NULL; END IF; RETURN NEW; END'",
        "CREATE TRIGGER holding BEFORE INSERT ON items FOR EACH ROW"
        " EXECUTE FUNCTION hold()")
    done = tidemark("run", "--json", "--full-refresh").expect(EXIT_SCHEMA)
    assert "leaves some out" in done.pipeline()["error"]["message"]
    assert warehouse.query("SELECT count(*) FROM items") == [(5,)]


@pytest.mark.parametrize("point", ("before_merge", "after_merge",
                                   "commit_acked"))
def test_killed_refill(tidemark_failpoints, source, make_destination, point):
    tidemark, warehouse = tidemark_failpoints, make_destination("postgres")
    items(tidemark, source, warehouse)
    warehouse.execute("CREATE VIEW named AS SELECT id, name FROM items")
    source.execute("DELETE FROM items WHERE id = 3")
    tidemark.killed("--full-refresh", failpoints=f"{point}=kill@1")
    assert warehouse.query("SELECT count(*) FROM named")[0][0] in (4, 5)
    refresh(tidemark, "upsert")
    assert warehouse.query("SELECT count(*) FROM named") == [(4,)]
    tidemark("verify").expect(EXIT_OK)
    assert not [name for name in warehouse.tables()
                if name.startswith("_tidemark_stage")]


def test_check_says_how_it_is_refreshed(tidemark, source, make_destination):
    warehouse = make_destination("postgres")
    items(tidemark, source, warehouse, "replace")
    warehouse.execute("CREATE VIEW named AS SELECT id, name FROM items")
    problems = tidemark("check", "--json").pipeline()["problems"]
    assert [each["severity"] for each in problems
            if each["code"] == "refill"] == ["info"]

"""Bad rows under on_bad_row: dead_letter: kept aside and named, the others
loaded, and loaded when they are mended."""

import os

import pytest

import oracle
import poison
import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_STATE, items_settings,
                   sync_items, written)
from state import StateStore

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
every_engine = pytest.mark.parametrize("engine", (*ENGINES, "clickhouse"))
# Where a refresh makes the new table like the old one.
KEEPS_CONSTRAINTS = ("postgres", "mariadb")
BAD = (3, 60, 61, 137, 200)


def check(source, destination):
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", oracle.ITEMS,
                       pipeline="items")


def ids(destination):
    return sorted(row[0] for row in destination.rows(
        f"{destination.schema}.items", {"id": "int"}))


def letters(tidemark, *args):
    return tidemark("dead-letters", *(args or ("list",)), "--json").expect(
        EXIT_OK).json()["dead_letters"]


def open_letters(tidemark):
    return tidemark("status", "--json").expect(EXIT_OK).pipeline()[
        "dead_letters"]


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


@every_engine
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
@pytest.mark.thinned(3)
def test_bad_rows_are_kept_and_mended(tidemark, target, engine, mode):
    source, destination = target(engine, mode)
    poison_some(source)
    done = tidemark.run()
    result = done.pipeline()
    assert result["outcome"] == "caught_up" and result["error"] is None
    assert result["rows_dead_lettered"] == len(BAD)
    assert "5 rows were refused" in done.err and "dead-letters list" in done.err
    assert ids(destination) == [n for n in range(1, 201) if n not in BAD]
    found = letters(tidemark)
    assert {letter["key"]["id"] for letter in found} == set(BAD)
    for letter in found:
        assert poison.REASON[engine] in letter["error"]["message"], letter
        assert letter["pipeline"] == "items" and letter["attempts"] == 1
        assert letter["category"] == "permanent"
        assert letter["next_try_at"] is None and letter["created_at"]
        assert letter["run_id"] == result["run_id"]
        assert letter["attempt_id"] == result["attempt_id"]
        assert "row" not in letter
    shown, = letters(tidemark, "show", found[0]["id"])
    assert shown["row"]["id"] == found[0]["key"]["id"]
    assert shown["row"]["quantity"] == -1 and shown["row"]["amount"] is None
    assert open_letters(tidemark) == len(BAD)
    # Nothing new: nothing is read, nothing changes.
    assert tidemark.run().pipeline()["rows_read"] == 0
    assert letters(tidemark) == found
    poison.mend(source, f"id IN {BAD}")
    workload.settle(source)
    assert written(tidemark.run().pipeline()) == len(BAD)
    assert letters(tidemark) == [] and open_letters(tidemark) == 0
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("limit,passes", [
    (5, True), (4, False), ("2.6%", True), ("2.4%", False), (0, False)])
def test_limit(tidemark, target, limit, passes):
    """Over it the run halts before the batch, and says which rows."""
    source, destination = target("sqlite", limit=limit, batch={"rows": 1000})
    poison_some(source)
    result = tidemark.run(expect=EXIT_OK if passes else EXIT_DATA).pipeline()
    if passes:
        assert result["rows_dead_lettered"] == len(BAD)
        return
    assert result["error"]["code"] == "data"
    message = result["error"]["message"]
    for word in (str(limit), "id=3: ", "CHECK", "dead-letters list items",
                 "refuses 5 rows"):
        assert word in message, message
    assert result["watermark_after"] == result["watermark_before"]
    assert len(letters(tidemark)) == len(BAD)
    tidemark.run(expect=EXIT_DATA)
    assert {letter["attempts"] for letter in letters(tidemark)} == {2}
    poison.mend(source, "quantity < 0")
    tidemark.run()
    assert letters(tidemark) == []
    check(source, destination)


def test_halt_is_the_default(tidemark, target):
    source, destination = target("postgres")
    poison_some(source)
    del tidemark.pipelines["items"]["on_bad_row"]
    tidemark.write_config()
    result = tidemark.run(expect=EXIT_DATA).pipeline()
    assert "quantity_not_below_zero" in result["error"]["message"]
    assert letters(tidemark) == []


@pytest.mark.parametrize("engine", ("postgres", "mariadb", "sqlite"))
def test_a_refresh_renews_the_letters(tidemark, target, engine):
    """What was a letter and is loaded, or is gone from the source, is none any
    more; where the new table takes over the old one's constraints, what it
    still refuses is one."""
    source, destination = target(engine)
    poison_some(source)
    tidemark.run()
    assert len(letters(tidemark)) == len(BAD)
    source.execute("UPDATE items SET quantity = 1, amount = 1 WHERE id = 3",
                   "DELETE FROM items WHERE id = 60")
    result = tidemark.run("--full-refresh").pipeline()
    still = {letter["key"]["id"] for letter in letters(tidemark)}
    assert still == ({61, 137, 200} if engine in KEEPS_CONSTRAINTS else set())
    assert result["rows_dead_lettered"] == len(still)
    assert ids(destination) == [n for n in range(1, 201)
                                if n != 60 and n not in still]


def test_discard(tidemark, target):
    source, destination = target("sqlite")
    poison_some(source)
    tidemark.run()
    found = letters(tidemark)
    unknown = tidemark("dead-letters", "discard", found[0]["id"], "0badc0de")
    unknown.expect(EXIT_CONFIG)
    assert "0badc0de" in unknown.err and len(letters(tidemark)) == len(BAD)
    # None of these means all of the pipeline.
    for more in (("--pipeline", "items", "--limit", "1"),
                 ("--pipeline", "others", found[0]["id"])):
        tidemark("dead-letters", "discard", *more).expect(EXIT_CONFIG)
    assert len(letters(tidemark)) == len(BAD)
    gone = tidemark("dead-letters", "discard", found[0]["id"], "--pipeline",
                    "items", "--json")
    assert [each["id"] for each in gone.expect(EXIT_OK).json()["dead_letters"]
            ] == [found[0]["id"]]
    assert letters(tidemark) == found[1:]
    done = tidemark("dead-letters", "discard", "--pipeline", "items")
    assert "stays away" in done.expect(EXIT_OK).out
    assert letters(tidemark) == []
    again = tidemark("dead-letters", "discard", "--pipeline", "items")
    assert "no dead letters" in again.expect(EXIT_CONFIG).err
    # They stay away until they change.
    assert tidemark.run().pipeline()["rows_read"] == 0
    assert not set(BAD) & set(ids(destination))


def test_what_is_asked_for_must_be_there(tidemark, target):
    target("sqlite")
    assert letters(tidemark, "list", "items") == []
    for args, word in ((("list", "itmes"), '"items"'),
                       (("list", "--pipeline", "itmes"), '"items"'),
                       (("show", "0badc0de"), "0badc0de"),
                       (("replay", "0badc0de"), "0badc0de"),
                       (("replay", "--pipeline", "items"), "no dead letters"),
                       (("replay",), "needs an ID"),
                       (("discart", "x"), '"discard"')):
        done = tidemark("dead-letters", *args).expect(EXIT_CONFIG)
        assert word in done.err and not done.out, done


def test_large_rows_are_cut(tidemark, target):
    """A letter keeps the beginning of what is too large for the store."""
    source, destination = target("postgres")
    source.execute("UPDATE items SET name = repeat('ä', 3000000), "
                   "payload = decode(repeat('00ff', 500000), 'hex') "
                   "WHERE id = 60")
    poison_some(source, (60,))
    tidemark.run()
    (letter,) = letters(tidemark)
    (shown,) = letters(tidemark, "show", letter["id"])
    assert shown["truncated"] and shown["row"]["quantity"] == -1
    assert set(shown["row"]["name"]) == {"ä"}
    assert 1000 < len(shown["row"]["name"]) < 1000000
    assert shown["row"]["payload"].startswith("\\x00ff")
    assert "\nrow (long values are cut):" in tidemark(
        "dead-letters", "show", letter["id"]).expect(EXIT_OK).out


def test_letters_are_not_pruned(tidemark, target):
    source, destination = target("sqlite")
    poison_some(source)
    tidemark.top["state"] = {"url": tidemark.top["state"], "keep": "1s"}
    tidemark.write_config()
    tidemark.run()
    workload.settle(source)
    tidemark.run()
    assert len(letters(tidemark)) == len(BAD)


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
    check(source, destination)
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
    check(source, destination)


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


SILENT = {
    "postgres": (
        "CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
        "IF NEW.quantity < 0 THEN RETURN NULL; END IF; RETURN NEW; END$$",
        "CREATE TRIGGER leave BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW "
        "EXECUTE FUNCTION leave()"),
    "sqlite": tuple(
        f"CREATE TRIGGER leave_{event} BEFORE {event} ON {{table}} WHEN "
        "NEW.quantity < 0 BEGIN SELECT RAISE(IGNORE); END"
        for event in ("insert", "update")),
}


@pytest.mark.parametrize("engine,mode", [
    ("postgres", "upsert"), ("postgres", "append"), ("sqlite", "upsert"),
    ("sqlite", "append"), ("sqlite", "delete_insert")])
def test_what_a_trigger_leaves_out(tidemark, source, make_destination, engine,
                                   mode):
    """It says nothing; the row is bad all the same, new or changed."""
    destination = make_destination(engine)
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    table = f"{destination.schema}.items"
    rows = destination.raw(table) if mode == "append" else table
    destination.execute(*(sql.format(table=rows) for sql in SILENT[engine]))
    workload.fill_items(source, 51, 60)
    poison_some(source, (7, 55))
    message = tidemark.run(expect=EXIT_DATA).pipeline()["error"]["message"]
    assert "trigger" in message and "without an error" in message
    tidemark.pipelines["items"]["on_bad_row"] = "dead_letter"
    tidemark.write_config()
    assert tidemark.run().pipeline()["rows_dead_lettered"] == 2
    assert {letter["key"]["id"] for letter in letters(tidemark)} == {7, 55}
    poison.mend(source, "id IN (7, 55)")
    workload.settle(source)
    tidemark.run()
    assert letters(tidemark) == []
    check(source, destination)


@pytest.mark.parametrize("event, word", (
    ("BEFORE", "leaves out 1 of 50 rows"), ("AFTER", "50 were put into it")))
def test_what_a_trigger_leaves_out_of_a_new_table(
        tidemark, source, make_destination, event, word):
    """Of the one that a refresh builds beside: where the database itself puts
    triggers to new tables."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    with destination.cluster.admin(destination.database) as admin:
        admin.execute("""
            CREATE FUNCTION public.leave() RETURNS trigger LANGUAGE plpgsql
            AS $$BEGIN IF NEW.id <> 7 THEN RETURN NEW; END IF;
            EXECUTE format('DELETE FROM %s WHERE id = 7', TG_RELID::regclass);
            RETURN NULL; END$$""")
        admin.execute(f"""
            CREATE FUNCTION public.watch() RETURNS event_trigger
            LANGUAGE plpgsql AS $$DECLARE made text; BEGIN
            FOR made IN SELECT object_identity
              FROM pg_event_trigger_ddl_commands()
              WHERE object_type = 'table' AND schema_name = 'public'
            LOOP EXECUTE 'CREATE TRIGGER leave {event} INSERT ON ' || made ||
              ' FOR EACH ROW EXECUTE FUNCTION public.leave()'; END LOOP;
            END$$""")
        admin.execute("CREATE EVENT TRIGGER watch ON ddl_command_end WHEN TAG "
                      "IN ('CREATE TABLE') EXECUTE FUNCTION public.watch()")
    done = tidemark.run("--full-refresh", expect=EXIT_DATA)
    assert word in done.pipeline()["error"]["message"], done
    assert destination.query("SELECT count(*) FROM items") == [(50,)]
    with destination.cluster.admin(destination.database) as admin:
        admin.execute("DROP EVENT TRIGGER watch")
    tidemark.run("--full-refresh")
    check(source, destination)

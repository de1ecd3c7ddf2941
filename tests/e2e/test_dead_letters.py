"""Bad rows under on_bad_row: dead_letter: the others are loaded; these are kept
aside and named, until they are mended or discarded."""

import os
import sqlite3

import pytest

import poison
import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_OK, check_accounting,
                   sync_items, written)
from oracle import check_items
from refused_items import BAD, ENGINES, ids, letters, poison_some, target

__all__ = ["target"]  # a fixture

every_engine = pytest.mark.parametrize("engine", (*ENGINES, "clickhouse"))
# Where a refresh makes the new table like the old one.
KEEPS_CONSTRAINTS = ("postgres", "mariadb")


def open_letters(tidemark):
    return tidemark("status", "--json").expect(EXIT_OK).pipeline()[
        "dead_letters"]


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
    check_items(source, destination)
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
    # Rows that went in before the limit was known are counted, wherever the
    # count appears.
    there = destination.query("SELECT count(*) FROM items")[0][0]
    counts = {"batches": 1, "rows_read": 198, "rows_inserted": there - 2,
              "rows_dead_lettered": len(BAD)}
    assert there == 200 - len(BAD)
    assert {name: result[name] for name in counts} == counts
    check_accounting(result)
    attempt = tidemark("runs", "show", result["run_id"], "--json").expect(
        EXIT_OK).json()["runs"][0]["attempts"][0]
    assert {name: attempt[name] for name in counts} == counts
    batch = attempt["batch_list"][-1]
    assert batch["error"]["code"] == "data"
    del counts["batches"]
    assert {name: batch[name] for name in counts} == counts
    tidemark.run(expect=EXIT_DATA)
    assert {letter["attempts"] for letter in letters(tidemark)} == {2}
    poison.mend(source, "quantity < 0")
    tidemark.run()
    assert letters(tidemark) == []
    check_items(source, destination)


def test_search_that_is_given_up(tidemark, target):
    """With far too many bad rows some are never tried: those that went in are
    counted, and no more, wherever that is told."""
    source, destination = target("sqlite", limit=0, batch={"rows": 1000})
    workload.fill_items(source, 201, 600)
    poison.mend(source, "id BETWEEN 3 AND 50")
    poison.poison(source, "id > 200")
    done = tidemark.run(expect=EXIT_DATA)
    result = done.pipeline()
    assert "refuses at least 257 rows" in result["error"]["message"]
    there = destination.query("SELECT count(*) FROM items")[0][0]
    assert there > 2
    counts = {"rows_read": there - 2 + 257, "rows_inserted": there - 2,
              "rows_updated": 0, "rows_unchanged": 0,
              "rows_dead_lettered": 257}
    assert {name: result[name] for name in counts} == counts
    attempt = tidemark("runs", "show", result["run_id"], "--json").expect(
        EXIT_OK).json()["runs"][0]["attempts"][0]
    batches = attempt["batch_list"]
    assert batches[-1]["rows_inserted"] > 0, batches
    assert {name: sum(each[name] for each in batches)
            for name in counts} == counts


@pytest.mark.parametrize("engine", ("postgres", "duckdb"))
def test_batch_that_is_rolled_back_counts_nothing(
        tidemark_failpoints, source, make_destination, engine):
    """Its rows were counted before the mark failed to move."""
    tidemark = tidemark_failpoints
    destination = make_destination(engine)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    result = tidemark("run", "--json",
                      failpoints="before_watermark=error").pipeline()
    assert result["error"], result
    names = ("batches", "rows_read", "rows_inserted", "rows_updated",
             "rows_unchanged", "rows_dead_lettered")
    assert {name: result[name] for name in names} == dict.fromkeys(names, 0)


def test_halt_is_the_default(tidemark, target):
    source, destination = target("postgres")
    poison_some(source)
    del tidemark.pipelines["items"]["on_bad_row"]
    tidemark.write_config()
    result = tidemark.run(expect=EXIT_DATA).pipeline()
    assert "quantity_not_below_zero" in result["error"]["message"]
    assert "on_bad_row: dead_letter" in result["error"]["message"]
    assert letters(tidemark) == []


def test_a_value_that_the_type_lacks_names_the_remedy(tidemark, source,
                                                      make_destination):
    destination = make_destination("duckdb")
    source.execute("CREATE TABLE items (id int PRIMARY KEY, price numeric(9,2),"
                   " updated_at timestamptz NOT NULL DEFAULT now())",
                   "INSERT INTO items VALUES (1, 2.5), (2, 'NaN')")
    sync_items(tidemark, source, destination, "timestamp")
    message = tidemark.run(expect=EXIT_DATA).pipeline()["error"]["message"]
    for words in ("price", "DECIMAL(9,2)", "on_bad_row: dead_letter"):
        assert words in message, message
    tidemark.pipelines["items"]["on_bad_row"] = "dead_letter"
    tidemark.write_config()
    result = tidemark.run().pipeline()
    assert (result["rows_inserted"], result["rows_dead_lettered"]) == (1, 1)


@pytest.mark.parametrize("engine", ("postgres", "mariadb", "sqlite"))
def test_a_refresh_renews_the_letters(tidemark, target, engine):
    """A letter whose row is loaded, or is gone from the source, is a letter no
    more. Where the new table takes over the old one's constraints, a row that
    it still refuses is one."""
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


def test_letter_of_a_row_that_is_gone(tidemark, source, make_destination):
    """The target never had the row. So it equals the source without it, and
    there is nothing to load. The letter goes all the same."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp", "replace",
               on_bad_row="dead_letter")
    tidemark.pipelines["items"]["watermark"] = {"strategy": "none"}
    tidemark.write_config().run()
    poison.refuse_below_zero(destination, f"{destination.schema}.items")
    poison_some(source, (3,))
    assert tidemark.run().pipeline()["rows_dead_lettered"] == 1
    source.execute("DELETE FROM items WHERE id = 3")
    tidemark.run()
    assert letters(tidemark) == [] and ids(destination) == [1, 2]
    assert tidemark.run().pipeline()["rows_inserted"] == 0


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


def test_letters_are_kept_as_long_as_was_said(tidemark, target):
    """The next run deletes letters whose row was refused last before that time:
    from the table, and from the file."""
    source, _ = target("sqlite")
    source.execute("UPDATE items SET name = 'nobody keeps this name'")
    poison_some(source)
    tidemark.run()
    assert len(letters(tidemark)) == len(BAD)
    tidemark.top["state"] = {"url": tidemark.top["state"], "letters_keep": "1h"}
    tidemark.write_config().run()
    found = letters(tidemark)
    assert len(found) == len(BAD)
    with sqlite3.connect(tidemark.state_file) as db:
        db.executemany("UPDATE dead_letters SET updated_at = updated_at -"
                       " 3600000000 WHERE id = ?", [[each["id"]] for each in found[:2]])
    db.close()
    done = tidemark.run()
    assert "items: 2 dead letters are deleted" in done.err
    assert "1h" in done.err and "state.letters_keep" in done.err
    assert letters(tidemark) == found[2:]
    tidemark("dead-letters", "discard", "--pipeline", "items").expect(EXIT_OK)
    with sqlite3.connect(tidemark.state_file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    with open(tidemark.state_file, "rb") as file:
        assert b"nobody keeps this name" not in file.read()
    # They stay away until they change.
    assert tidemark.run().pipeline()["rows_read"] == 0


def held(tidemark):
    """The bytes of the state store, its write-ahead log folded in."""
    with sqlite3.connect(tidemark.state_file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    found = b""
    for suffix in ("", "-wal", "-journal"):
        if os.path.exists(tidemark.state_file + suffix):
            with open(tidemark.state_file + suffix, "rb") as file:
                found += file.read()
    return found


def test_letters_that_are_removed_leave_no_bytes(tidemark, target):
    """Letters that `letters_keep` deletes leave the pages of the file. The
    others stay."""
    source, _ = target("sqlite")
    source.execute("UPDATE items SET name = concat('is-person-', id, '-here')")
    poison_some(source)
    tidemark.run()
    names = {letter["id"]: f"is-person-{letter['key']['id']}-here".encode()
             for letter in letters(tidemark)}
    assert len(names) == len(BAD) and all(
        name in held(tidemark) for name in names.values())
    old = list(names)[:2]
    with sqlite3.connect(tidemark.state_file) as db:
        db.executemany("UPDATE dead_letters SET updated_at = updated_at -"
                       " 3600000000 WHERE id = ?", [[each] for each in old])
    db.close()
    tidemark.top["state"] = {"url": tidemark.top["state"], "letters_keep": "1h"}
    assert "2 dead letters are deleted" in tidemark.write_config().run().err
    bytes_left = held(tidemark)
    assert {each for each, name in names.items()
            if name in bytes_left} == set(names) - set(old)


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
    check_items(source, destination)


@pytest.mark.parametrize("event, word", (
    ("BEFORE", "trigger leave leaves out 1 of 50 rows"),
    ("AFTER", "trigger leave leaves out 1 of 50 rows")))
def test_what_a_trigger_leaves_out_of_a_new_table(
        tidemark, source, make_destination, event, word):
    """The trigger is on the table that a refresh builds beside: the database
    itself puts triggers on new tables."""
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
    check_items(source, destination)

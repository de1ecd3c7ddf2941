"""`tidemark verify --repair` and `--deletes`: what a hand has done to a target
is undone, and what is gone from the source leaves it."""

import os
import pty
import signal
import subprocess
import time

import pytest

import oracle
import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT, EXIT_OK, EXIT_SCHEMA,
                   EXIT_STATE, EXIT_STOPPED, sync_items)
from looks import get_value, named, set_value, verify
from oracle import ITEMS
from state import StateStore

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
MODES = ("upsert", "append", "delete_insert")
MIB = 1024
ROWS = 300


def check(source, destination):
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", ITEMS,
                       pipeline="items")


def rows_table(destination, mode):
    return "items_raw" if mode == "append" else "items"


def set_mark(destination, key, day, table="items"):
    """As a hand writes it: 2099 is newer than anything ever delivered."""
    zone = "+00:00" if destination.engine == "sqlite" else ""
    set_value(destination, key, "updated_at", f"{day} 00:00:00{zone}", table)


def damage(destination, table="items"):
    destination.execute(f"DELETE FROM {table} WHERE id IN (1, 2)",
                        f"UPDATE {table} SET amount = NULL WHERE id = 3",
                        f"UPDATE {table} SET name = 'x' WHERE id IN (4, 5, 6)")
    set_mark(destination, 5, "2099-01-01", table)
    set_mark(destination, 6, "1999-01-01", table)
    set_mark(destination, 7, "2099-01-01", table)
    return {"missing": {1, 2}, "different": {3, 4, 5, 6, 7}}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("engine", ENGINES)
def test_damage_is_named_and_undone(tidemark, source, make_destination,
                                    engine, mode):
    """As a new user would."""
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    workload.change_items(source, "id < 10")
    workload.settle(source)
    mark = tidemark.run().pipeline()["watermark_after"]
    faults = damage(destination, rows_table(destination, mode))
    assert named(verify(tidemark, expect=EXIT_DIFFERENT)["items"]) == faults
    repaired = verify(tidemark, "--repair")["items"]
    assert repaired["equal"] and repaired["repaired"] == 7
    assert repaired["missing"] == repaired["different"] == 0
    assert repaired["deleted"] == 0 and repaired["examples"] == []
    check(source, destination)
    assert verify(tidemark)["items"]["equal"]
    result = tidemark.run().pipeline()
    assert result["rows_inserted"] + result["rows_updated"] == 0
    assert result["watermark_before"]["value"] == mark["value"]


@pytest.mark.parametrize("kind,strategy,engine", (
    ("postgres", "xmin", "mysql"), ("postgres", "sequence", "sqlite"),
    ("mariadb", "timestamp", "postgres"), ("sqlite", "timestamp", "duckdb"),
    ("duckdb", "timestamp", "mariadb")))
def test_from_every_source(tidemark, make_source, make_destination, kind,
                           strategy, engine):
    """Columns left out and made up; a table that a hand has emptied."""
    source, destination = make_source(kind), make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, strategy)
    settings = tidemark.pipelines["items"]
    settings["source"]["columns"] = ["id", "name", "updated_at", "seq"]
    settings["source"]["expressions"] = {"twice": "quantity * 2"}
    tidemark.write_config()
    tidemark.run()
    destination.execute("UPDATE items SET twice = -1 WHERE id = 5",
                        "DELETE FROM items WHERE id = 6")
    result = verify(tidemark, "--repair")["items"]
    assert result["equal"] and result["repaired"] == 2
    destination.execute("DELETE FROM items")
    result = verify(tidemark, "--repair")["items"]
    assert result["equal"] and result["repaired"] == ROWS
    assert result["destination_rows"] == ROWS


def test_what_a_repair_leaves(tidemark, source, make_destination):
    """Extra rows, and those past the mark; a key that is there twice is one
    afterwards."""
    destination = make_destination("duckdb")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("UPDATE items SET name = 'silent' WHERE id = 7",
                   "DELETE FROM items WHERE id = 8")
    workload.touch_items(source, "id = 9")
    names = ", ".join(ITEMS)
    destination.execute(f"INSERT INTO items SELECT {names} FROM items "
                        "WHERE id = 10")
    result = verify(tidemark, "--repair", expect=EXIT_DIFFERENT)["items"]
    assert named(result) == {"extra": {8}} and result["repaired"] == 1
    assert result["unsettled"] == 1
    assert get_value(destination, 7, "name", "text") == "silent"
    assert destination.query("SELECT count(*) FROM items WHERE id = 10") == [
        (1,)]
    done = tidemark("verify", "--repair").expect(EXIT_DIFFERENT)
    assert "1 extra" in done.out
    tidemark.run()
    assert verify(tidemark, expect=EXIT_DIFFERENT)["items"]["extra"] == 1


def test_many_differences_in_flat_memory(tidemark, source, make_destination):
    """More than one look holds: they are collected, and mended, in several
    rounds."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=120_000)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    destination.execute("UPDATE items SET quantity = 77 WHERE id > 1000",
                        "DELETE FROM items WHERE id < 11")
    done, peak = tidemark.measured("verify", "--json")
    result = done.expect(EXIT_DIFFERENT).pipeline()
    assert result["different"] == 119_000
    assert result["missing"] == 10 and result["extra"] == 0
    assert len(result["examples"]) == 100
    assert peak < 96 * MIB, f"{peak} KiB"
    done, peak = tidemark.measured("verify", "--repair", "--json")
    result = done.expect(EXIT_OK).pipeline()
    assert result["equal"] and result["repaired"] == 119_010
    assert peak < 96 * MIB, f"{peak} KiB"


def test_a_mode_that_loads_all(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "timestamp", "replace")
    done = tidemark("verify", "--repair").expect(EXIT_CONFIG)
    assert "replace" in done.err and "tidemark run items" in done.err


def test_a_run_under_way_has_the_lease(tidemark_failpoints, source,
                                       make_destination):
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    set_value(destination, 3, "name", "x")
    store = StateStore(tidemark)
    holder = tidemark.start("run", failpoints="lease_taken=hang")
    while holder.alive() and not (store.ready() and store.lease()):
        time.sleep(0.05)
    result = verify(tidemark, "--repair", expect=EXIT_STATE)["items"]
    assert result["error"]["code"] == "state" and result["repaired"] == 0
    assert str(holder.process.pid) in result["error"]["message"]
    holder.kill()
    assert verify(tidemark, "--repair")["items"]["repaired"] == 1


def at_terminal(tidemark, *args, answer, meanwhile=None):
    """The exit code and what stood on the screen."""
    master, slave = pty.openpty()
    child = subprocess.Popen([tidemark.binary, *args], stdin=slave,
                             stdout=subprocess.PIPE, stderr=slave,
                             cwd=tidemark.dir, env=tidemark.command_env())
    os.close(slave)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(master, 4096)
    if meanwhile:
        meanwhile()
    if answer is None:
        child.send_signal(signal.SIGINT)
    else:
        os.write(master, answer)
    child.communicate(timeout=60)
    try:
        while more := os.read(master, 4096):
            shown += more
    except OSError:
        pass  # all has been read
    os.close(master)
    return child.returncode, shown.decode()


def test_a_person_is_asked(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    destination.execute("DELETE FROM items WHERE id = 3",
                        "UPDATE items SET name = 'x' WHERE id IN (4, 5)")
    code, shown = at_terminal(tidemark, "verify", "--repair", answer=b"n\n")
    assert code == EXIT_DIFFERENT
    assert "1 missing and 2 different rows" in shown
    assert verify(tidemark, expect=EXIT_DIFFERENT)["items"]["different"] == 2
    code, _ = at_terminal(tidemark, "verify", "--repair", answer=None)
    assert code == EXIT_STOPPED
    code, _ = at_terminal(tidemark, "verify", "--repair", answer=b"yes\n")
    assert code == EXIT_OK
    check(source, destination)


@pytest.mark.parametrize("point", ("lease_taken", "mid_load", "commit_sent",
                                   "commit_acked", "state_saved"))
def test_killed_and_called_again(tidemark_failpoints, source,
                                 make_destination, point):
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 100})
    tidemark.run()
    destination.execute("UPDATE items SET name = 'x' WHERE id < 250",
                        "DELETE FROM items WHERE id > 270")
    done = tidemark("verify", "--repair", failpoints=f"{point}=kill@1")
    assert done.code == -signal.SIGKILL, done
    result = verify(tidemark, "--repair")["items"]
    assert result["equal"]
    check(source, destination)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thinned(3)
def test_deletes_are_reported_and_applied(tidemark, source, make_destination,
                                          engine, mode):
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    workload.change_items(source, "id < 10")
    workload.settle(source)
    tidemark.run()
    source.execute("DELETE FROM items WHERE id IN (3, 200)")
    destination.execute(f"DELETE FROM {rows_table(destination, mode)} "
                        "WHERE id = 100")
    result = verify(tidemark, "--deletes", "report",
                    expect=EXIT_DIFFERENT)["items"]
    assert named(result) == {"extra": {3, 200}}
    assert result["extra"] == 2 and result["missing"] == 1
    assert result["deleted"] == result["repaired"] == 0
    result = verify(tidemark, "--deletes", "apply",
                    expect=EXIT_DIFFERENT)["items"]
    assert result["deleted"] == 2 and result["extra"] == 0
    assert named(result) == {"missing": {100}}
    source.execute("DELETE FROM items WHERE id = 201")
    result = verify(tidemark, "--repair", "--deletes", "apply")["items"]
    assert result["equal"]
    assert result["repaired"] == 1 and result["deleted"] == 1
    check(source, destination)
    result = tidemark.run().pipeline()
    assert result["rows_inserted"] + result["rows_updated"] == 0


KEYS = {
    "int": ("bigint", "7", "8"),
    "uuid": ("uuid", "'00000000-0000-0000-0000-0000000000a7'",
             "'00000000-0000-0000-0000-0000000000a8'"),
    "text": ("text", "'Ä ''\" \\'", "'ä ''\" \\'"),
    "stamp": ("timestamptz", "'2024-01-31 12:00:00.5+00'",
              "'2024-01-31 12:00:00.500001+00'"),
    "number": ("numeric(12,3)", "1.500", "-1.5"),
    "bytes": ("bytea", "'\\x00ff'", "'\\x00fe'"),
    "flag": ("boolean", "true", "false"),
    "span": ("interval", "'25:00:00'", "'1 day 01:00:00.5'"),
    "day": ("date", "'2024-02-29'", "'2024-03-01'"),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_of_every_type_are_deleted(tidemark, make_source,
                                        make_destination, engine):
    """One of two rows whose keys are alike."""
    source, destination = make_source("postgres"), make_destination(engine)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    keys = dict(KEYS)
    if engine == "duckdb":
        del keys["span"]  # has no order there
    for name, (kind, gone, stays) in keys.items():
        source.execute(
            f"CREATE TABLE k_{name} (k {kind}, n int, v text, at timestamptz"
            " DEFAULT '2024-01-01Z', PRIMARY KEY (k, n))",
            f"INSERT INTO k_{name} VALUES ({gone}, 1, 'gone'),"
            f" ({stays}, 1, 'stays'), ({stays}, 2, 'stays')")
        tidemark.pipeline(name, source={
            "connection": "source", "table": f"public.k_{name}"},
            destination={"connection": "warehouse",
                         "table": f"{destination.schema}.k_{name}"},
            watermark={"strategy": "timestamp", "column": "at"})
    tidemark.write_config().run()
    for name in keys:
        source.execute(f"DELETE FROM k_{name} WHERE v = 'gone'")
    done = verify(tidemark, "--deletes", "apply")
    for name in keys:
        assert done[name]["equal"] and done[name]["deleted"] == 1, name
        assert destination.query(f"SELECT v, n FROM k_{name} ORDER BY n") == [
            ("stays", 1), ("stays", 2)], name


def test_more_deletes_than_allowed(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id <= 4")
    destination.execute("DELETE FROM items WHERE id = 100")

    def refused(*args):
        result = verify(tidemark, *args, expect=EXIT_DATA)["items"]
        assert result["deleted"] == result["repaired"] == 0
        assert result["extra"] and result["error"]["code"] == "data"
        return result["error"]["message"]

    # 1 % of 299, and both kinds of limit.
    assert "--max-deletes" in refused("--deletes", "apply", "--repair")
    refused("--deletes", "apply", "--max-deletes", "3")
    refused("--deletes", "apply", "--max-deletes", "1.2%")
    assert destination.query("SELECT count(*) FROM items") == [(ROWS - 1,)]
    result = verify(tidemark, "--deletes", "apply", "--max-deletes", "4",
                    "--repair")["items"]
    assert result["deleted"] == 4 and result["repaired"] == 1
    source.execute("DELETE FROM items WHERE id > 5")
    destination.execute("DELETE FROM items WHERE id > 5")
    source.execute("DELETE FROM items")
    # The last row of all, for nobody said so.
    message = refused("--deletes", "apply")
    assert "1 of 1 rows" in message
    result = verify(tidemark, "--deletes", "apply", "--max-deletes",
                    "100%")["items"]
    assert result["deleted"] == 1 and result["destination_rows"] == 0


def test_a_table_of_two_pipelines(tidemark, source, make_destination):
    """What the other one has brought is not taken for what was deleted. An
    earlier name of the pipeline can be forgotten; one that only fills columns,
    and chunks of a backfill, are no reason."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp", name="old")
    tidemark.run()
    items = tidemark.pipelines["items"] = tidemark.pipelines.pop("old")
    tidemark.pipelines["fill"] = {
        **items, "load": {"mode": "update"},
        "source": {**items["source"],
                   "columns": ["id", "updated_at", "quantity"]}}
    tidemark.write_config()
    tidemark.run()
    destination.execute("INSERT INTO _tidemark_watermark (pipeline, watermark,"
                        " target) SELECT 'items/0123456789ab/7', watermark, "
                        "target FROM _tidemark_watermark "
                        "WHERE pipeline = 'items'")
    source.execute("DELETE FROM items WHERE id = 9")

    def refused(name, *args):
        done = tidemark("verify", "items", "--deletes", "apply", *args)
        assert f'loaded by "{name}"' in done.expect(EXIT_CONFIG).err, done
        assert f"tidemark watermark forget items {name}" in done.err
        assert destination.query("SELECT id FROM items WHERE id = 9")

    refused("old", "--max-deletes", "100%", "--yes")
    done = tidemark("verify", "items", "--json").expect(EXIT_DIFFERENT)
    assert done.pipeline()["also_loaded_by"] == ["old"]
    assert '"old" loads public.items, too' in done.err
    found = [problem for problem in tidemark("check", "--json").pipeline(
        "items")["problems"] if problem["code"] == "table-of-others"]
    assert ['"old" loads' in problem["message"] for problem in found] == [True]
    done = tidemark("watermark", "forget", "items", "odl")
    assert 'these have: "fill", ' in done.expect(EXIT_CONFIG).err
    assert '"old"' in done.err
    tidemark("watermark", "forget", "items", "old").expect(EXIT_OK)
    code, shown = at_terminal(
        tidemark, "verify", "items", "--deletes", "apply", answer=b"y\n",
        meanwhile=lambda: destination.execute(
            "INSERT INTO _tidemark_watermark (pipeline, watermark, target) "
            "VALUES ('late', '{}', 'items')"))
    assert code == EXIT_CONFIG and 'loaded by "late"' in shown
    refused("late")
    tidemark("watermark", "forget", "items", "late").expect(EXIT_OK)
    assert verify(tidemark, "items", "--deletes", "apply")["items"][
        "deleted"] == 1
    assert verify(tidemark, "items")["items"]["also_loaded_by"] == []
    check(source, destination)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thinned(2)
def test_a_table_of_others_is_not_replaced(tidemark, source, make_destination,
                                           engine):
    """Neither by a full refresh, nor by a pipeline that replaces it always."""
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    low = "id < 100"
    for name, where in (("low", low), ("high", f"NOT {low}")):
        tidemark.pipelines.clear()  # each of a config of its own
        sync_items(tidemark, source, destination, "timestamp", name=name)
        tidemark.pipelines[name]["source"]["where"] = where
        tidemark.write_config().run()
    for args, mode in ((("--full-refresh",), "upsert"), ((), "replace"),
                       (("--dry-run",), "replace")):
        tidemark.pipelines["high"]["load"] = {"mode": mode}
        tidemark.write_config()
        done = tidemark("run", "--json", *args).expect(EXIT_CONFIG)
        message = done.pipeline()["error"]["message"]
        assert 'loaded by "low"' in message, message
        assert "not replaced" in message, message
        oracle.check_equal(source, destination, "items",
                           f"{destination.schema}.items", ITEMS)
    problems = tidemark("check", "--json").pipeline()["problems"]
    assert [each["severity"] for each in problems
            if each["code"] == "table-of-others"] == ["error"]
    tidemark.pipelines["new"] = tidemark.pipelines.pop("high")
    tidemark.write_config()
    done = tidemark("run", "--json", "--full-refresh").expect(EXIT_CONFIG)
    assert 'loaded by "high", "low"' in done.pipeline()["error"]["message"]
    tidemark.pipelines["high"] = tidemark.pipelines.pop("new")
    tidemark.write_config()
    tidemark("watermark", "forget", "high", "low").expect(EXIT_OK)
    tidemark.run("--full-refresh")
    assert destination.query("SELECT min(id) FROM items") == [(100,)]


def test_how_deletes_are_asked_for(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id = 9")
    for args in (("--deletes", "all"), ("--max-deletes", "1"),
                 ("--deletes", "report", "--max-deletes", "1"),
                 ("--deletes", "apply", "--max-deletes", "1x")):
        tidemark("verify", *args).expect(EXIT_CONFIG)
    code, shown = at_terminal(tidemark, "verify", "--deletes", "apply",
                              answer=b"\n")
    assert code == EXIT_DIFFERENT and "1 extra row" in shown
    done = tidemark("verify", "--deletes", "apply", "--yes").expect(EXIT_OK)
    assert "1 deleted" in done.out
    check(source, destination)


def test_a_key_that_came_back_stays(tidemark, source, make_destination):
    """Between the look and the removal: one that a run has loaded, and one
    that is at the source alone."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id IN (7, 8, 9)")

    names = ", ".join(set(ITEMS) - {"id", "updated_at"})

    def come_back(key):
        source.execute(
            f"INSERT INTO items (id, updated_at, {names}) OVERRIDING SYSTEM "
            f"VALUE SELECT {key}, now(), {names} FROM items WHERE id = 1")

    def meanwhile():
        come_back(8)
        tidemark.run()
        come_back(9)

    code, shown = at_terminal(tidemark, "verify", "--deletes", "apply",
                              answer=b"y\n", meanwhile=meanwhile)
    assert code == EXIT_OK and "3 extra rows" in shown
    assert destination.query("SELECT id FROM items WHERE id IN (7, 8, 9) "
                             "ORDER BY id") == [(8,), (9,)]
    tidemark.run()
    check(source, destination)


def test_a_source_emptied_between_two_looks(tidemark, source,
                                            make_destination):
    """What the guard has let go is not all that is gone by then."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id = 7")
    code, shown = at_terminal(
        tidemark, "verify", "--deletes", "apply", answer=b"y\n",
        meanwhile=lambda: source.execute("DELETE FROM items"))
    assert code == EXIT_DATA and "no more is done" in shown, shown
    assert destination.query("SELECT count(*) FROM items") == [(ROWS - 1,)]


def test_rows_that_may_be_there_are_not_deleted(tidemark, source,
                                                make_destination):
    """Those that row security hides, and those of a target that no run of
    this pipeline has filled."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("ALTER TABLE items ENABLE ROW LEVEL SECURITY",
                   "ALTER TABLE items FORCE ROW LEVEL SECURITY",
                   "CREATE POLICY most ON items FOR SELECT USING (id > 2)")

    def refused():
        result = verify(tidemark, "--deletes", "apply", "--repair",
                        expect=EXIT_DATA)["items"]
        assert result["extra"] == 2
        assert result["deleted"] == result["repaired"] == 0
        assert destination.query("SELECT count(*) FROM items") == [(ROWS,)]
        return result["error"]["message"]

    assert "row level security" in refused()
    done = tidemark("verify").expect(EXIT_DIFFERENT)
    assert "BYPASSRLS" in done.err
    source.execute("ALTER TABLE items DISABLE ROW LEVEL SECURITY",
                   "DELETE FROM items WHERE id <= 2")
    tidemark("watermark", "reset", "items").expect(EXIT_OK)
    assert "tidemark run items" in refused()
    tidemark.run()
    result = verify(tidemark, "--deletes", "apply")["items"]
    assert result["deleted"] == 2


KEPT_UPPER = {
    "postgres": ("CREATE FUNCTION up() RETURNS trigger LANGUAGE plpgsql AS $$ "
                 "BEGIN NEW.name := upper(NEW.name); RETURN NEW; END $$",
                 "CREATE TRIGGER up BEFORE INSERT OR UPDATE ON items "
                 "FOR EACH ROW EXECUTE FUNCTION up()"),
    "sqlite": tuple(f"CREATE TRIGGER up_{what} AFTER {what} ON items BEGIN "
                    "UPDATE items SET name = upper(name) WHERE id = NEW.id; "
                    "END" for what in ("INSERT", "UPDATE")),
}


@pytest.mark.parametrize("engine", KEPT_UPPER)
def test_rows_that_do_not_stay_as_they_are_loaded(
        tidemark, source, make_destination, engine):
    """They are mended some times, and then named."""
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    destination.execute("DELETE FROM items WHERE id <= 5",
                        *KEPT_UPPER[engine])
    result = verify(tidemark, "--repair", expect=EXIT_DIFFERENT)["items"]
    assert result["different"] == 5 and not result["missing"]
    assert 5 <= result["repaired"] <= 5 * 6, result


@pytest.mark.parametrize("point", ("after_delete", "before_watermark",
                                   "commit_sent", "commit_acked",
                                   "state_saved"))
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thinned(3)
def test_deletes_killed_and_called_again(tidemark_failpoints, source,
                                         make_destination, engine, point):
    tidemark, destination = tidemark_failpoints, make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id IN (2, 7, 9)")
    done = tidemark("verify", "--deletes", "apply",
                    failpoints=f"{point}=kill@1")
    assert done.code == -signal.SIGKILL, done
    result = verify(tidemark, "--deletes", "apply")["items"]
    assert result["equal"]
    check(source, destination)


@pytest.mark.parametrize("kind", ("timestamp", "boolean"))
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thinned(2)
def test_rows_are_marked_instead(tidemark, source, make_destination, engine,
                                 kind):
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp",
               soft_delete="gone")
    tidemark.run()
    source.execute("CREATE TABLE kept AS SELECT * FROM items "
                   "WHERE id IN (3, 4)",
                   "DELETE FROM items WHERE id IN (3, 4)")
    done = tidemark("verify", "--deletes", "apply").expect(EXIT_SCHEMA)
    assert '"gone"' in done.err and "ADD COLUMN" in done.err
    destination.execute(f"ALTER TABLE items ADD COLUMN gone {kind} NULL")
    result = verify(tidemark, "--deletes", "apply")["items"]
    assert result["equal"] and result["deleted"] == 2
    assert result["destination_rows"] == ROWS - 2
    marked = "SELECT id FROM items WHERE gone IS {} ORDER BY id"
    assert destination.query(marked.format("NOT NULL")) == [(3,), (4,)]
    assert verify(tidemark, "--deletes", "apply")["items"]["deleted"] == 0
    # One comes back as it was, which no run sees, and one with a new mark.
    source.execute("INSERT INTO items SELECT * FROM kept WHERE id = 3")
    result = verify(tidemark, "--repair")["items"]
    assert result["equal"] and result["repaired"] == 1
    source.execute("INSERT INTO items SELECT * FROM kept WHERE id = 4",
                   "UPDATE items SET updated_at = now() WHERE id = 4")
    assert tidemark.run().pipeline()["rows_updated"] == 1
    assert verify(tidemark)["items"]["equal"]
    assert verify(tidemark)["items"]["destination_rows"] == ROWS
    result = tidemark.run().pipeline()
    assert result["rows_inserted"] + result["rows_updated"] == 0

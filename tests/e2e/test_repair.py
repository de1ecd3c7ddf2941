"""`tidemark verify --repair`: what a hand has done to a target is undone."""

import signal
import time

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DIFFERENT, EXIT_OK, EXIT_STATE,
                   EXIT_STOPPED, sync_items)
from looks import (at_terminal, get_value, named, rows_table, set_value,
                   verify)
from oracle import ITEMS, check_items
from state import StateStore

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
MODES = ("upsert", "append", "delete_insert")
MIB = 1024
ROWS = 300


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
    check_items(source, destination)
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
    check_items(source, destination)


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
    check_items(source, destination)


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

"""`tidemark verify`: equal after a run, and each difference named."""

import decimal
import json
import math
import os
import pty
import signal
import subprocess
import threading
import time

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DIFFERENT, EXIT_SCHEMA, EXIT_STOPPED,
                   items_settings,
                   sync_items)
from looks import get_value, literal, named, set_value, verify
from oracle import ITEMS

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
ROWS = 400


def later_by_one(end, key):
    """The mark of a row of the destination, a microsecond later."""
    if end.engine == "sqlite":
        text = end.query(f"SELECT updated_at FROM items WHERE id = {key}")
        clock, zone = text[0][0][:-6], text[0][0][-6:]
        whole, _, fraction = clock.partition(".")
        fraction = int(fraction.ljust(6, "0")) + 1
        set_value(end, key, "updated_at", f"{whole}.{fraction:06}{zone}")
        return
    one = "1 MICROSECOND"
    if end.engine == "postgres":
        one = f"'{one}'"
    end.execute(f"UPDATE items SET updated_at = updated_at + INTERVAL {one} "
                f"WHERE id = {key}")


def copy_row(end, key, new):
    names = ", ".join(name for name in ITEMS if name != "id")
    end.execute(f"INSERT INTO items (id, {names}) SELECT {new}, {names} "
                f"FROM items WHERE id = {key}")


def plant(end):
    """Each fault in rows of its own: what verify is to name."""
    last = ROWS  # at the mark itself
    end.execute("DELETE FROM items WHERE id = 1")
    copy_row(end, 2, 100_001)
    name = get_value(end, 3, "name", "text")
    set_value(end, 3, "name", name[:2] + chr(ord(name[2]) ^ 1) + name[3:])
    end.execute("UPDATE items SET quantity = 9 - quantity "
                "WHERE id IN (4, 5)")  # 4 and 5: swapped
    end.execute("UPDATE items SET quantity = quantity + 1 WHERE id = 6",
                "UPDATE items SET quantity = quantity - 1 WHERE id = 7")
    copy_row(end, 9, 100_002)
    end.execute("DELETE FROM items WHERE id = 8")
    assert get_value(end, 12, "payload", "bytes") is None
    empty = "x''" if end.engine == "sqlite" else "''"
    end.execute(f"UPDATE items SET payload = {empty} WHERE id = 12")
    set_value(end, 13, "ratio", math.nextafter(math.sqrt(13), 4))
    later_by_one(end, 14)
    set_value(end, last, "name", "other")
    return {"missing": {1, 8}, "extra": {100_001, 100_002},
            "different": {3, 4, 5, 6, 7, 12, 13, 14, last}}


def respell(end):
    """Other spellings of what is there."""
    set_value(end, 16, "document", '{"tags": [ "a", 16.0 ],  "n": 16}')
    amount = decimal.Decimal(15 * 137 % 100000) / 100
    set_value(end, 15, "amount", f"{amount}0")


@pytest.mark.parametrize("kind", ENGINES)
def test_equal_after_a_run_and_each_fault_named(tidemark, make_source,
                                                make_destination, kind):
    """Every pair of engines."""
    source = make_source(kind)
    workload.create_items(source, rows=ROWS)
    tidemark.connect("source", source.connection())
    ends = {engine: make_destination(engine) for engine in ENGINES}
    for engine, end in ends.items():
        tidemark.connect(engine, end.connection())
        settings = items_settings(source, end, "timestamp")
        settings["destination"]["connection"] = engine
        tidemark.pipeline(engine, **settings)
    tidemark.write_config()
    tidemark.run()
    for end in ends.values():
        respell(end)
    for engine, result in verify(tidemark).items():
        assert result["equal"] and result["examples"] == [], (engine, result)
        assert result["source_rows"] == result["destination_rows"] == ROWS
        assert result["checksum_source"] == result["checksum_destination"]
        assert result["unsettled"] == 0
    faults = {engine: plant(end) for engine, end in ends.items()}
    found = verify(tidemark, expect=EXIT_DIFFERENT)
    for engine, result in found.items():
        assert result["error"]["code"] == "different", result["error"]
        assert named(result) == faults[engine], (engine, result)
        assert not result["equal"]
        for what, keys in faults[engine].items():
            assert result[what] == len(keys), engine
        assert result["unsettled"] == 0


@pytest.mark.parametrize("strategy", ("timestamp", "xmin", "sequence"))
def test_rows_past_the_mark_are_unsettled(tidemark, source, make_destination,
                                          strategy):
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, strategy)
    tidemark.run()
    workload.settle(source)
    tidemark.run()
    workload.touch_items(source, "id IN (10, 20)")
    workload.fill_items(source, 1001, 1003, stamp="now()")
    destination.execute("UPDATE items SET name = 'x' WHERE id IN (20, 30)")
    result = verify(tidemark, expect=EXIT_DIFFERENT)["items"]
    assert named(result) == {"different": {30}}
    assert result["unsettled"] == 5
    assert result["source_rows"] == ROWS + 3
    assert result["destination_rows"] == ROWS
    set_value(destination, 30, "name",
              get_value(source, 30, "name", "text"))
    result = verify(tidemark)["items"]
    assert result["equal"] and result["unsettled"] == 5
    tidemark.run()
    assert verify(tidemark)["items"]["unsettled"] == 0


def test_a_change_that_kept_its_mark_is_a_difference(tidemark, source,
                                                     make_destination):
    """A sync by timestamp cannot see such a change, but verify can."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("UPDATE items SET name = 'silent' WHERE id = 7",
                   "DELETE FROM items WHERE id = 8")
    result = verify(tidemark, expect=EXIT_DIFFERENT)["items"]
    assert named(result) == {"different": {7}, "extra": {8}}


def test_spellings_of_equal_values(tidemark, make_source, make_destination):
    """In tables of the user's own, whose types are others."""
    source, destination = make_source("postgres"), make_destination("mysql")
    source.execute(
        "CREATE TABLE items (code char(6), tenant uuid, price numeric,"
        " flag boolean, doc json, at timestamptz DEFAULT '2024-03-01Z',"
        " PRIMARY KEY (code, tenant, flag))",
        "INSERT INTO items VALUES ('ab', gen_random_uuid(), 1.10, true,"
        " '{\"b\": 1.0, \"a\": [1]}'), ('c', gen_random_uuid(), 1e3, false,"
        " '[]'), ('d', gen_random_uuid(), NULL, true, NULL)")
    destination.execute(
        "CREATE TABLE items (code char(6), tenant char(36), price"
        " decimal(20,6), flag tinyint(1), doc json, at datetime(6), note text,"
        " PRIMARY KEY (code, tenant, flag))")
    for row in source.query("SELECT code, tenant::text, price, flag, doc::text"
                            " FROM items"):
        values = ", ".join(literal(int(value) if value is True or value is False
                                   else value) for value in row[:4])
        doc = json.loads(row[4]) if isinstance(row[4], str) else row[4]
        doc = literal(None if doc is None else json.dumps(doc))
        destination.execute(f"INSERT INTO items VALUES ({values}, {doc}, "
                            "'2024-03-01 00:00:00', 'more')")
    sync_items(tidemark, source, destination, "timestamp",
               watermark={"column": "at"})
    result = verify(tidemark)["items"]
    assert result["equal"] and result["destination_rows"] == 3, result
    assert result["checksum_source"] == result["checksum_destination"]
    destination.execute("UPDATE items SET price = 1.100001 WHERE code = 'ab'",
                        "DELETE FROM items WHERE code = 'c'")
    # There is no mark yet: nothing is promised, and nothing confirmed.
    result = verify(tidemark, expect=EXIT_DIFFERENT)["items"]
    assert result["unsettled"] == 2 and not result["equal"]
    assert "tidemark run items" in result["error"]["message"]


def test_a_table_that_was_never_loaded(tidemark, source, make_destination):
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, make_destination("postgres"), "timestamp")
    done = tidemark("verify").expect(EXIT_SCHEMA)
    assert "the destination" in done.err and "in the source" not in done.err
    assert "tidemark run items" in done.err


def test_a_writer_and_runs_beside(tidemark, source, make_destination, full):
    """No false difference: six looks, or a minute of them."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=3000)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    looks, stop = [], threading.Event()
    start = time.monotonic()

    def moved():
        return any(look["unsettled"] or look["checksum_source"]
                   != look["checksum_destination"] for look in looks)

    def enough():
        """Not before the writers had their effect."""
        passed = time.monotonic() - start
        return len(looks) >= 6 and passed > (60 if full else 0) and (
            moved() or passed > 60)

    def keep_running():
        while not stop.is_set():
            tidemark.run()

    runner = threading.Thread(target=keep_running)
    with workload.Writers(source):
        runner.start()
        try:
            while not enough():
                looks.append(verify(tidemark)["items"])
        finally:
            stop.set()
            runner.join()
    assert all(look["equal"] for look in looks)
    assert moved()
    destination.execute("UPDATE items SET payload = 'x' WHERE id = 2999",
                        "DELETE FROM items WHERE id = 2998")
    workload.settle(source)
    tidemark.run()
    result = verify(tidemark, expect=EXIT_DIFFERENT)["items"]
    assert result["missing"] + result["different"] >= 1
    assert set().union(*named(result).values()) <= {2998, 2999}


@pytest.mark.parametrize("mode,engine", (("append", "duckdb"),
                                         ("append", "mariadb"),
                                         ("delete_insert", "sqlite")))
def test_modes(tidemark, source, make_destination, mode, engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=200)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    workload.change_items(source, "id < 20")
    workload.settle(source)
    tidemark.run()
    assert verify(tidemark)["items"]["equal"]
    raw = "items_raw" if mode == "append" else "items"
    destination.execute(f"DELETE FROM {raw} WHERE id = 100")
    result = verify(tidemark, expect=EXIT_DIFFERENT)["items"]
    assert named(result) == {"missing": {100}}


def test_what_is_printed(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    set_value(destination, 3, "name", "hush")
    done = tidemark("verify").expect(EXIT_DIFFERENT)
    assert "not equal: 0 missing, 0 extra, 1 different" in done.out
    assert '{"id":3}' in done.out
    assert "hush" not in done.out + done.err
    done = tidemark("verify", "--show-values").expect(EXIT_DIFFERENT)
    assert "hush" in done.out and "item 3" in done.out
    example = tidemark("verify", "--show-values", "--json").pipeline()
    example = example["examples"][0]
    assert example["source"]["name"].startswith("item 3")
    assert example["destination"]["name"] == "hush"


def test_a_difference_in_the_last_bit_is_shown(tidemark, source,
                                                make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    set_value(destination, 13, "ratio", math.nextafter(math.sqrt(13), 4))
    set_value(destination, 16, "ratio", 4.5)
    done = tidemark("verify", "--show-values", "--json")
    rows = {row["key"]["id"]: (row["source"]["ratio"],
                               row["destination"]["ratio"])
            for row in done.expect(EXIT_DIFFERENT).pipeline()["examples"]}
    assert rows[13] == ("3.605551275463989", "3.6055512754639896")
    assert rows[16] == (4.0, 4.5)


def test_what_cannot_be_verified(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "timestamp")
    done = tidemark("verify").expect(EXIT_SCHEMA)
    assert "items" in done.err and "destination" in done.err
    tidemark.run()
    destination.execute("ALTER TABLE items ALTER payload TYPE text USING ''")
    done = tidemark("verify").expect(EXIT_SCHEMA)
    assert '"payload"' in done.err and "cannot be compared" in done.err
    destination.execute("ALTER TABLE items DROP payload")
    done = tidemark("verify").expect(EXIT_SCHEMA)
    assert 'no column "payload"' in done.err
    tidemark("verify", "itmes").expect(EXIT_CONFIG)


def stopped(tidemark, source):
    """The outcome of a verify that got SIGTERM while the source is asked."""
    call = tidemark.start("verify", "--json")
    while call.alive() and not source.query(
            "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND "
            "datname = current_database() AND "
            "wait_event IN ('relation', 'PgSleep')"):
        time.sleep(0.05)
    call.signal(signal.SIGTERM)
    done = call.wait().expect(EXIT_STOPPED)
    result = done.pipeline()
    assert not result["equal"] and result["error"]["code"] == "stopped"
    return result["error"]["message"]


def test_a_signal_ends_it(tidemark, source, make_destination):
    """While rows are read, and while the table is locked by somebody."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    with source.connect() as locker:
        locker.execute("BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE")
        stopped(tidemark, source)
        locker.execute("ROLLBACK")
    settings = tidemark.pipelines["items"]["source"]
    settings["where"] = "pg_catalog.pg_sleep(0.1) IS NOT NULL"
    tidemark.write_config()
    message = stopped(tidemark, source)
    assert f"{ROWS} of the destination had been read" in message


def test_how_far_it_is(tidemark, source, make_destination):
    """One line on a terminal, which is gone at the end."""
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.run()
    settings = tidemark.pipelines["items"]["source"]
    settings["where"] = "pg_catalog.pg_sleep(0.02) IS NOT NULL"
    tidemark.write_config()
    master, slave = pty.openpty()
    child = subprocess.Popen([tidemark.binary, "verify"], stderr=slave,
                             stdout=subprocess.PIPE, cwd=tidemark.dir,
                             env=tidemark.command_env())
    os.close(slave)
    shown = b""
    try:
        while more := os.read(master, 4096):
            shown += more
    except OSError:
        pass  # all has been read
    os.close(master)
    assert b"items: equal:" in child.communicate(timeout=60)[0]
    assert b"\ritems: comparing, source 0 rows (0/s), dest" in shown, shown
    assert shown.endswith(b"\r\x1b[K"), shown

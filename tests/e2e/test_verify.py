"""`tidemark verify`: equal after a run, and each difference named."""

import decimal

import math
import threading

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DIFFERENT, EXIT_OK, EXIT_SCHEMA,
                   items_settings, sync_items)
from oracle import ITEMS

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
MIB = 1024
ROWS = 400


def verify(tidemark, *args, expect=EXIT_OK):
    done = tidemark("verify", "--json", *args).expect(expect)
    return {each["pipeline"]: each for each in done.json()["pipelines"]}


def named(result):
    """{kind: ids} of the examples."""
    found = {}
    for example in result["examples"]:
        found.setdefault(example["kind"], set()).add(example["key"]["id"])
    return found


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value!r}e0"
    return "'" + str(value).replace("'", "''") + "'"


def set_value(end, key, column, value, table="items"):
    end.execute(f"UPDATE {table} SET {column} = {literal(value)} "
                f"WHERE id = {key}")


def get_value(end, key, column, kind, table="items"):
    row = end.rows(f"{end.schema}.{table}", {"id": "int", column: kind})
    return dict(row)[key]


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

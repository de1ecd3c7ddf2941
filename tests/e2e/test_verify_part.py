"""`tidemark verify --since` and `--sample`: quick looks, which find what is in
their part and say that it was one."""

import threading

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT, items_settings,
                   sync_items)
from looks import named, set_value, verify

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
ROWS = 400
# The mark of rows 200 to 204.
SINCE = "2024-03-01 00:00:00.540"
# Each engine as a source once, and as a destination of several types.
PAIRS = {"postgres": ("mariadb", "sqlite"), "mariadb": ("postgres",),
         "mysql": ("duckdb",), "sqlite": ("mysql",), "duckdb": ("sqlite",)}


def copy_row(end, key, new):
    names = ("name, amount, quantity, active, ratio, payload, document, born, "
             "seq, updated_at")
    end.execute(f"INSERT INTO items (id, {names}) SELECT {new}, {names} "
                f"FROM items WHERE id = {key}")


def plant(end):
    """Plant faults of every kind, in the part and outside."""
    end.execute("DELETE FROM items WHERE id IN (10, 300)",
                "UPDATE items SET quantity = 99 WHERE id IN (20, 310)")
    copy_row(end, 30, 100_030)
    copy_row(end, 320, 100_320)
    # A mark that a hand has set back: at the source the row is in the part.
    zone = "+00:00" if end.engine == "sqlite" else ""
    set_value(end, 330, "updated_at", f"2020-01-01 00:00:00{zone}")
    # And one set on: at the destination it is.
    set_value(end, 40, "updated_at", f"2024-03-01 00:00:00.6{zone}")


@pytest.mark.parametrize("kind", PAIRS)
def test_since_a_mark(tidemark, make_source, make_destination, kind):
    source = make_source(kind)
    workload.create_items(source, rows=ROWS)
    tidemark.connect("source", source.connection())
    ends = {engine: make_destination(engine) for engine in PAIRS[kind]}
    for engine, end in ends.items():
        tidemark.connect(engine, end.connection())
        settings = items_settings(source, end, "timestamp")
        settings["destination"]["connection"] = engine
        tidemark.pipeline(engine, **settings)
    tidemark.write_config()
    tidemark.run()
    for result in verify(tidemark, "--since", SINCE).values():
        assert result["equal"] and result["unsettled"] == 0
        assert result["source_rows"] == result["destination_rows"] == 201
        assert result["checksum_source"] == result["checksum_destination"]
        assert result["scope"] == {"since": SINCE, "column": "updated_at"}
    for end in ends.values():
        plant(end)
    faults = {"missing": {300}, "extra": {100_320}, "different": {310, 330, 40}}
    for result in verify(tidemark, "--since", SINCE,
                         expect=EXIT_DIFFERENT).values():
        assert named(result) == faults, result
        assert {kind: result[kind] for kind in faults} == {
            kind: len(keys) for kind, keys in faults.items()}
        assert result["source_rows"] == result["destination_rows"] == 201
        assert "rows since" in result["error"]["message"]
    # Only rows of the part are loaded again.
    for result in verify(tidemark, "--since", SINCE, "--repair",
                         expect=EXIT_DIFFERENT).values():
        assert named(result) == {"extra": {100_320}}
        assert result["repaired"] == 4
    for result in verify(tidemark, expect=EXIT_DIFFERENT).values():
        assert result["scope"] is None
        assert named(result) == {"missing": {10}, "different": {20},
                                 "extra": {100_030, 100_320}}


@pytest.mark.parametrize("mode,engine", (("append", "postgres"),
                                         ("append", "sqlite"),
                                         ("delete_insert", "duckdb")))
def test_since_a_number(tidemark, source, make_destination, mode, engine):
    """And what is past the mark, through the view, with rows marked gone."""
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    gone = {} if mode == "append" else {"soft_delete": "gone"}
    sync_items(tidemark, source, destination, "sequence", mode, **gone)
    tidemark.run()
    workload.change_items(source, "id IN (5, 6)")  # seq 401, 402
    tidemark.run()
    table = "items_raw" if mode == "append" else "items"
    if gone:
        destination.execute("ALTER TABLE items ADD COLUMN gone boolean NULL",
                            "UPDATE items SET gone = true WHERE id = 350")
        source.execute("DELETE FROM items WHERE id = 350")
    result = verify(tidemark, "--since", "200")["items"]
    assert result["equal"], result
    assert result["source_rows"] == 203 - len(gone)
    assert result["destination_rows"] == 203 - len(gone)
    destination.execute(f"DELETE FROM {table} WHERE id IN (7, 250)")
    source.execute("DELETE FROM items WHERE id IN (8, 260)")
    workload.change_items(source, "id = 9")
    result = verify(tidemark, "--since", "200", expect=EXIT_DIFFERENT)["items"]
    assert named(result) == {"missing": {250}, "extra": {260}}
    assert result["unsettled"] == 1
    verify(tidemark, "--since", "401")


def test_rows_without_a_mark_are_of_no_part(tidemark, source,
                                            make_destination):
    destination = make_destination("duckdb")
    workload.create_items(source, rows=50)
    source.execute("ALTER TABLE items ALTER updated_at DROP NOT NULL",
                   "UPDATE items SET updated_at = NULL WHERE id < 10")
    sync_items(tidemark, source, destination, "timestamp",
               watermark={"nulls": "include"})
    tidemark.run()
    destination.execute("DELETE FROM items WHERE id IN (5, 6)")
    result = verify(tidemark, "--since", "1970-01-01")["items"]
    assert result["equal"] and result["source_rows"] == 41


def damage_all(destination, rows):
    """A third of the rows each: missing, different, and one too many."""
    destination.execute("DELETE FROM items WHERE id % 3 = 0",
                        "UPDATE items SET quantity = 99 WHERE id % 3 = 1")
    names = "name, quantity, active, seq, updated_at"
    destination.execute(
        f"INSERT INTO items (id, {names}) SELECT id + 1000000, {names} "
        "FROM items WHERE id % 3 = 2")


@pytest.mark.parametrize("kind,engine", (("postgres", "mysql"),
                                         ("mariadb", "duckdb"),
                                         ("sqlite", "postgres")))
def test_a_share_of_the_keys(tidemark, make_source, make_destination, kind,
                             engine):
    """A small share is chosen by its keys alone, a larger one out of all rows.
    About this share of each kind of fault is found, and nothing else is
    counted."""
    source, destination = make_source(kind), make_destination(engine)
    rows = 3000
    workload.create_items(source, rows=rows)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    for share, text in ((0.04, "4%"), (0.5, "50%"), (1, "100%")):
        result = verify(tidemark, "--sample", text)["items"]
        assert result["equal"] and result["scope"] == {"sample": share}
        assert result["source_rows"] == result["destination_rows"]
        assert result["checksum_source"] == result["checksum_destination"]
        assert 0.6 * share <= result["source_rows"] / rows <= 1.4 * share
    damage_all(destination, rows)
    looked_at = set()
    for share, text in ((0.04, "4%"), (0.04, "4.0%"), (0.5, "50%"),
                        (1, "100%")):
        result = verify(tidemark, "--sample", text,
                        expect=EXIT_DIFFERENT)["items"]
        for fault in ("missing", "extra", "different"):
            assert (0.4 * share <= result[fault] / (rows / 3) <= 1.6 * share
                    ), result
        assert (result["source_rows"] - result["missing"]
                == result["destination_rows"] - result["extra"])
        assert 0.6 * share <= result["source_rows"] / rows <= 1.4 * share
        looked_at.add(tuple(example["key"]["id"]
                            for example in result["examples"]))
    assert len(looked_at) == 4  # another choice each time
    missing = verify(tidemark, expect=EXIT_DIFFERENT)["items"]["missing"]
    result = verify(tidemark, "--sample", "4%", "--repair",
                    expect=EXIT_DIFFERENT)["items"]
    assert result["missing"] == result["different"] == 0 < result["extra"]
    left = verify(tidemark, expect=EXIT_DIFFERENT)["items"]["missing"]
    assert 0.4 * 0.04 <= 1 - left / missing <= 1.6 * 0.04
    # A share of the rows since a mark: both at once.
    result = verify(tidemark, "--sample", "50%", "--since",
                    "2024-03-01 00:00:00.8", expect=EXIT_DIFFERENT)["items"]
    assert 0.3 * 1501 <= result["source_rows"] <= 0.7 * 1501


def test_keys_of_texts(tidemark, make_source, make_destination):
    """The two engines order and compare these keys differently."""
    source, destination = make_source("mysql"), make_destination("sqlite")
    source.execute("CREATE TABLE items (code varchar(20) PRIMARY KEY, "
                   "updated_at timestamp(6) NOT NULL)")
    names = [f"{word}{n}" for n in range(300) for word in ("é", "Zz", "a_")]
    source.execute("INSERT INTO items VALUES " + ", ".join(
        f"('{name}', '2024-03-01')" for name in names))
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    assert verify(tidemark, "--sample", "4.9%")["items"]["equal"]
    destination.execute("UPDATE items SET code = upper(code)")
    result = verify(tidemark, "--sample", "4.9%", expect=EXIT_DIFFERENT)
    assert result["items"]["missing"] > 0 and result["items"]["extra"] > 0


def test_a_writer_and_runs_beside(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=3000)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    stop = threading.Event()

    def keep_running():
        while not stop.is_set():
            tidemark.run()

    runner = threading.Thread(target=keep_running)
    with workload.Writers(source):
        runner.start()
        try:
            for args in (("--since", SINCE), ("--sample", "4%"),
                         ("--since", "2025-01-01"), ("--sample", "60%"),
                         ("--since", SINCE, "--sample", "3%")) * 2:
                result = verify(tidemark, *args)["items"]
                assert result["equal"], (args, result)
        finally:
            stop.set()
            runner.join()


def test_what_is_said(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    plant(destination)
    done = tidemark("verify", "--since", "2024-03-02").expect(0)
    assert ("items: equal in the part looked at, rows since 2024-03-02 by "
            "updated_at: 0 missing") in done.out
    assert "source 0 rows of that part" in done.out
    assert "no rows" in done.err
    done = tidemark("verify", "--sample", "0.5%")
    assert "in the part looked at, 0.5% of the keys: " in done.out
    done = tidemark("verify", "--since", SINCE).expect(EXIT_DIFFERENT)
    assert "items: not equal in the part looked at, rows since" in done.out
    result = verify(tidemark, "--deletes", "report", "--since", SINCE,
                    expect=EXIT_DIFFERENT)["items"]
    assert named(result) == {"extra": {100_320}}
    assert "part" not in tidemark("verify").out


def test_marks_that_do_not_compare(tidemark, make_source, make_destination):
    """Texts of a SQLite file: another look at a part goes without them."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    for end in (source, destination):
        set_value(end, 30, "updated_at", "2024-03-01 02:00:00.06+02:00")
    done = tidemark("verify", "--since", "2024-01-01")
    assert done.code not in (0, EXIT_DIFFERENT), done
    assert "--sample looks at a part" in done.err, done
    result = verify(tidemark, "--sample", "60%")["items"]
    assert result["equal"]


def test_other_refusals_of_a_part(tidemark, make_source, make_destination):
    """Only marks that do not compare are a reason to go without them."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("UPDATE items SET quantity = 'many' WHERE id = 30")
    done = tidemark("verify", "--since", "2024-01-01").expect(EXIT_DATA)
    assert "quantity" in done.err and "--sample" not in done.err, done


def test_parts_that_are_none(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    for value in ("soon", "12", "2024-13-01", "infinity", "10000-01-01",
                  "586525-01-01"):
        done = tidemark("verify", "--since", value).expect(EXIT_CONFIG)
        assert "--since" in done.err and "updated_at" in done.err, value
    for share in ("0%", "0.0%", "101%", "1", "-1%", "1.%", "%", "1 %", "x%",
                  "0.00001%"):
        done = tidemark("verify", "--sample", share).expect(EXIT_CONFIG)
        assert "--sample takes a share" in done.err, share
    for part in (("--since", SINCE), ("--sample", "1%")):
        done = tidemark("verify", *part, "--deletes",
                        "apply").expect(EXIT_CONFIG)
        assert "--deletes apply looks at all rows" in done.err
    sync_items(tidemark, source, destination, "xmin")
    done = tidemark("verify", "--since", "1").expect(EXIT_CONFIG)
    assert "xmin" in done.err and "--sample" in done.err
    sync_items(tidemark, source, make_destination("sqlite"), "sequence")
    tidemark.run()
    for value in ("2024-03-01", "1e3", "9223372036854775808"):
        done = tidemark("verify", "--since", value).expect(EXIT_CONFIG)
        assert "column seq" in done.err, value
    # The mark stays at the source.
    destination = make_destination("duckdb")
    tidemark.connect("warehouse", destination.connection())
    settings = items_settings(source, destination, "timestamp")
    settings["source"]["columns"] = ["id", "name"]
    tidemark.pipeline("items", **settings)
    tidemark.write_config()
    tidemark.run()
    done = tidemark("verify", "--since", SINCE).expect(EXIT_CONFIG)
    assert 'no column "updated_at"' in done.err
    verify(tidemark, "--sample", "10%")

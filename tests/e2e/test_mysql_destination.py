"""MariaDB and MySQL as destinations: what only they can get wrong."""

import re

import pytest

import oracle
import workload
from bench import EXIT_ACCESS, EXIT_DATA, EXIT_SCHEMA, sync_items, written
from proxy import UP, Proxy

ENGINES = ("mariadb", "mysql")
OFFER = re.compile(rb"\xfb[0-9a-f]{32}")


@pytest.fixture(params=ENGINES)
def destination(request, make_mysql):
    return make_mysql(request.param)


class Rogue(Proxy):
    """A server that asks for another file than the statement names: what the
    real one says, but for that packet."""

    def __init__(self, port, name):
        self.name = name
        self.heard = b""
        self.asked = 0
        super().__init__(port)

    def change(self, way, data):
        if way == UP:
            self.heard += data
            return data
        found = OFFER.search(data)
        if not found:
            return data
        self.asked += 1
        start, end = found.span()
        packet = b"\xfb" + self.name.encode()
        header = len(packet).to_bytes(3, "little") + data[start - 1:start]
        return data[:start - 4] + header + packet + data[end:]


def test_server_asks_for_another_file(tidemark, source, destination, work_dir):
    """It gets nothing: neither the file, nor the rows under its name."""
    secret = work_dir / "private"
    secret.write_text("do not show this to anybody\n", encoding="utf-8")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp",
               retry={"attempts": 1})
    with Rogue(destination.server.port, str(secret)) as rogue:
        tidemark.connect("warehouse", rogue.connection(
            destination, silence="5m")).write_config()
        done = tidemark.run(expect=EXIT_ACCESS)
    assert rogue.asked, "the load did not go by LOCAL INFILE"
    assert "not offered" in done.err
    assert b"do not show" not in rogue.heard
    assert b"item 7" not in rogue.heard
    assert destination.rows(f"{destination.schema}.items",
                            {"id": "int"}) == []


@pytest.mark.parametrize("mode", ("upsert", "delete_insert", "append"))
def test_unchanged_rows_are_not_written(tidemark, source, destination, mode):
    """500 rows come again, one of them has changed: the engine writes one."""
    to = f"{destination.schema}.items"
    workload.create_items(source, rows=500)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    before = destination.physical(to)
    workload.update_items(source, "id = 3", "quantity = 7777",
                          "2024-06-01 10:00:00")
    tidemark("watermark", "reset", "items").expect(0)
    result = tidemark.run().pipeline()
    assert (result["rows_read"], written(result)) == (500, 1)
    # An update may be counted as the attempt to insert, and the update.
    assert 1 <= destination.physical(to)[0] - before[0] <= 2
    oracle.check_equal(source, destination, "items", to, oracle.ITEMS)


def test_engine_without_transactions_is_refused(tidemark, source, destination):
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    destination.execute("ALTER TABLE items ENGINE=MyISAM")
    done = tidemark("run", "--json").expect(EXIT_SCHEMA)
    assert "MyISAM" in done.err
    assert "ENGINE=InnoDB" in done.err
    assert "MyISAM" in tidemark("check").out


def test_target_made_by_the_source_s_own_words(tidemark, destination,
                                               make_mysql):
    """ENUM and the sizes of TEXT and BLOB hold what they hold there."""
    source = make_mysql(destination.engine)
    words = ("CREATE TABLE items (id int PRIMARY KEY, a tinytext, b text,"
             " c mediumtext, d longtext, e tinyblob, f blob,"
             " g enum('x','it''s') NOT NULL, h set('p','q'), seq int NOT NULL,"
             " updated_at timestamp(6) NOT NULL)")
    for end in (source, destination):
        end.execute(words)
    source.execute(
        "INSERT INTO items VALUES (1, 'ä', repeat('ä', 30000), 'c', 'd',"
        " repeat('e', 255), repeat(0x00ff, 30000), 'it''s', 'p,q', 1,"
        " '2024-01-01'), (2, NULL, '', NULL, '', '', NULL, 'x', '', 2,"
        " '2024-01-02')")
    sync_items(tidemark, source, destination, "timestamp")
    done = tidemark("check", "--json").expect(0)
    assert {column["mapping"] for column in
            done.pipeline()["columns"]} == {"exact"}
    assert tidemark.run().pipeline()["rows_inserted"] == 2
    columns = dict.fromkeys("abcdgh", "text") | {"id": "int", "e": "bytes",
                                                 "f": "bytes"}
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", columns)
    tidemark("watermark", "reset", "items").expect(0)
    assert tidemark.run().pipeline()["rows_unchanged"] == 2


def test_more_columns_than_the_engine_has_room_for(tidemark, destination,
                                                   make_source):
    """The table has to change, and no right or room on the server."""
    source = make_source("sqlite")
    more = ", ".join(f"c{number} integer" for number in range(1600))
    source.execute("CREATE TABLE items (id integer PRIMARY KEY AUTOINCREMENT,"
                   f" seq integer, {more})", "INSERT INTO items (id) VALUES (1)")
    sync_items(tidemark, source, destination, "sequence")
    tidemark.pipelines["items"]["watermark"]["column"] = "id"
    error = tidemark.write_config().run(expect=EXIT_SCHEMA).pipeline()["error"]
    assert "too many columns" in error["message"].lower(), error


@pytest.mark.parametrize("mode", ("upsert", "delete_insert", "append"))
def test_refused_row_is_named(tidemark, source, destination, mode):
    """By the constraint, which knows no stage; in a new table, too."""
    table = "items_raw" if mode == "append" else "items"
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    destination.execute(f"ALTER TABLE {table} ADD CONSTRAINT few "
                        "CHECK (quantity < 100)")
    workload.update_items(source, "id IN (30, 31)", "quantity = id * 5",
                          "2024-06-01 10:00:00")
    # MySQL gives a copy's constraint another name.
    for more, name in (([], "few"), (["--full-refresh"], "constraint")):
        result = tidemark.run(*more, expect=EXIT_DATA).pipeline()
        assert result["watermark_after"] == result["watermark_before"]
        for part in (f"{destination.schema}.items", "row id=30", name):
            assert part in result["error"]["message"].lower(), result
    workload.update_items(source, "id IN (30, 31)", "quantity = id",
                          "2024-06-01 10:00:00")
    tidemark.run()
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", oracle.ITEMS)


# A right, and a mode that takes it: when it begins, or behind that.
RIGHTS = (("INSERT", "upsert", False), ("UPDATE", "upsert", False),
          ("CREATE TEMPORARY TABLES", "append", False),
          ("DELETE", "delete_insert", False), ("CREATE", "upsert", True),
          ("CREATE VIEW", "append", True), ("DROP", "append", True),
          ("DROP", "replace", False), ("ALTER", "replace", False),
          ("ALTER", "replace", True))


def test_missing_right(tidemark, source, destination):
    """Named by the check and by the run, with the GRANT, before any row has
    been read in vain."""
    workload.create_items(source, rows=20)
    for n, (right, mode, first) in enumerate(RIGHTS):
        tidemark.pipelines.clear()
        sync_items(tidemark, source, destination, "timestamp", mode,
                   name=f"p{n}", to=f"{destination.schema}.t{n}")
        if not first:
            tidemark.run()
            workload.update_items(source, "true", f"quantity = {n}",
                                  f"2024-06-{n + 1:02} 10:00:00")
        where = f"`{destination.database}`.*"
        destination.execute(f"REVOKE {right} ON {where} FROM app@'%'")
        checked = tidemark("check", "--json").json()["pipelines"][0]
        result = tidemark.run(expect=EXIT_ACCESS).pipeline()
        destination.execute(f"GRANT ALL ON {where} TO app@'%'")
        grant = f"GRANT {right} ON {where} TO 'app'@'%'"
        assert grant in [one["fix"] for one in checked["problems"]], checked
        assert grant in result["error"]["message"], result
        assert f"{destination.schema}.t{n}" in result["error"]["message"]
        assert mode != "replace" or result["rows_read"] == 0, result
        oracle.check_leftovers(destination)
        tidemark.run()
        oracle.check_equal(source, destination, "items",
                           f"{destination.schema}.t{n}", oracle.ITEMS)

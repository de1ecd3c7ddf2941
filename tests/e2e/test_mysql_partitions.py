"""MariaDB and MySQL: a table is known by the ids of its partitions, and by its
id whatever letters its name has."""

import json
import re
import shlex

import pytest

import workload
from bench import EXIT_OK, EXIT_SCHEMA, sync_items
from ends import MysqlEnd

ENGINES = ("mariadb", "mysql")
COLUMNS = ("(seq bigint AUTO_INCREMENT, name varchar(40), updated_at"
           " timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),"
           " PRIMARY KEY (seq), INDEX (updated_at, seq))")
RANGES = (" PARTITION BY RANGE (seq) (PARTITION `1 ö` VALUES LESS THAN (1000),"
          " PARTITION p2 VALUES LESS THAN (2000))")


@pytest.fixture(params=ENGINES)
def source(request, make_mysql):
    return make_mysql(request.param)


@pytest.fixture
def follow(tidemark, source, make_destination):
    """A pipeline that has read ten rows, by this strategy."""
    def make(strategy, parts=RANGES):
        source.execute(f"CREATE TABLE items {COLUMNS}{parts}")
        fill(source, 10)
        workload.settle(source)
        sync_items(tidemark, source, make_destination("sqlite"), strategy)
        assert tidemark.run().pipeline()["rows_read"] == 10
        workload.settle(source)
        tidemark.run()
    return make


def fill(source, rows, table="items"):
    source.execute(f"INSERT INTO {table} (name) VALUES " +
                   ", ".join(f"('{row}')" for row in range(rows)))


def exchange(source, *ids):
    """The rows come with an old time and a low id."""
    source.execute(f"CREATE TABLE swap {COLUMNS}",
                   *(f"INSERT INTO swap VALUES ({each}, 'swapped',"
                     " '2024-01-01')" for each in ids),
                   "ALTER TABLE items EXCHANGE PARTITION p2 WITH TABLE swap")


@pytest.mark.parametrize("strategy", ("timestamp", "sequence"))
def test_rows_that_a_partition_brought(tidemark, source, follow, strategy):
    follow(strategy)
    source.execute("INSERT INTO items (seq, name) VALUES (1900, 'top')")
    workload.settle(source)
    tidemark.run()
    exchange(source, 1001, 1002)
    refused = tidemark.run(expect=EXIT_SCHEMA)
    assert "partition p2 of items" in refused.err, refused.err
    assert "--full-refresh" in refused.err
    tidemark.run("--full-refresh")
    tidemark.run()


@pytest.mark.parametrize("strategy", ("timestamp", "sequence"))
def test_partitions_come_and_go(tidemark, source, follow, strategy):
    """None of them with rows that the mark has passed."""
    follow(strategy)
    source.execute("ALTER TABLE items ADD PARTITION"
                   " (PARTITION `3 ß` VALUES LESS THAN (3000))",
                   "INSERT INTO items (seq, name) VALUES (2500, 'new')")
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_inserted"] == 1
    source.execute("ALTER TABLE items DROP PARTITION `1 ö`",
                   "ALTER TABLE items TRUNCATE PARTITION p2")
    fill(source, 3)
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_inserted"] == 3
    tidemark.run()


def test_truncated_and_grown_past_the_mark(tidemark, source, follow):
    follow("sequence", " PARTITION BY HASH (seq) PARTITIONS 3")
    source.execute("TRUNCATE TABLE items")
    fill(source, 15)
    assert "truncated" in tidemark.run(expect=EXIT_SCHEMA).err


def test_partitions_of_partitions(tidemark, source, follow):
    follow("sequence", " PARTITION BY RANGE (seq) SUBPARTITION BY HASH (seq)"
           " SUBPARTITIONS 2 (PARTITION p1 VALUES LESS THAN (1000))")
    source.execute("ALTER TABLE items ADD PARTITION"
                   " (PARTITION p2 VALUES LESS THAN (2000))")
    fill(source, 2)
    assert tidemark.run().pipeline()["rows_inserted"] == 2
    source.execute("ALTER TABLE items REBUILD PARTITION p1")
    assert "is not the one" in tidemark.run(expect=EXIT_SCHEMA).err


def test_a_rebuilt_partition_with_the_row_of_the_mark(tidemark, source,
                                                      follow):
    follow("timestamp")
    source.execute("ALTER TABLE items REBUILD PARTITION `1 ö`")
    assert tidemark.run().pipeline()["rows_read"] == 0
    source.execute("OPTIMIZE TABLE items")
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_the_mark_to_set_is_one_word_to_a_shell(tidemark, source,
                                                make_destination):
    """It holds the key of a row, which is data and no command."""
    source.execute("CREATE TABLE items (name varchar(40) PRIMARY KEY,"
                   " updated_at timestamp(6) NOT NULL)",
                   "INSERT INTO items VALUES ('a', '2024-01-01'),"
                   " ('O\\'Brien; $HOME', '2024-01-02')")
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp",
               key=["name"])
    tidemark.run()
    source.execute("DELETE FROM items WHERE name <> 'a'",
                   "ALTER TABLE items ENGINE = InnoDB, ALGORITHM = COPY")
    said = json.loads(tidemark("run", "--json").expect(EXIT_SCHEMA).out)
    message = said["pipelines"][0]["error"]["message"]
    command = re.search(r"`tidemark (watermark set .*)` keeps", message)[1]
    words = shlex.split(command)
    assert words[2] == "items", message
    assert json.loads(words[3])["key"] == ["O'Brien; $HOME"], words
    tidemark(*words).expect(EXIT_OK)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("name", ENGINES)
def test_letters_beyond_ascii(tidemark, make_mysql, make_destination, name):
    """Truncated within the second in which the table was made."""
    server = make_mysql(name).server
    server.create_database("sä-€")
    source = MysqlEnd(server, "sä-€")
    try:
        source.execute(f"CREATE TABLE items {COLUMNS}")
        fill(source, 10)
        sync_items(tidemark, source, make_destination("sqlite"), "sequence")
        tidemark.run()
        assert "table_id" in tidemark("watermark", "show", "items").out
        source.execute("TRUNCATE TABLE items")
        fill(source, 15)
        tidemark.run(expect=EXIT_SCHEMA)
    finally:
        server.drop_database("sä-€")


def test_marks_of_earlier_versions(tidemark, source, follow):
    """They know the time at which a partitioned table was made."""
    follow("sequence")
    mark = json.loads(tidemark("watermark", "show", "items").out)
    assert mark["identity"].pop("table_id").keys() == {"1 ö", "p2"}
    assert "table_created" in mark["identity"]
    tidemark("watermark", "set", "items", json.dumps(mark)).expect(EXIT_OK)
    fill(source, 2)
    assert tidemark.run().pipeline()["rows_inserted"] == 2
    mark = json.loads(tidemark("watermark", "show", "items").out)
    assert mark["identity"]["table_id"].keys() == {"1 ö", "p2"}

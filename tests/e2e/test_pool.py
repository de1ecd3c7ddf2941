"""Sessions that one pipeline after another uses."""

import pytest

from bench import EXIT_OK
from oracle import check_items
from servers import wait_for
from workload import create_items

TABLES = 10


def make_tables(source, n=TABLES):
    for i in range(n):
        source.execute(
            f"CREATE TABLE t{i} (id bigint PRIMARY KEY, seq bigint NOT NULL)",
            f"INSERT INTO t{i} VALUES (1, 1), (2, 2)")


def add_pipelines(tidemark, source, destination, n=TABLES, **more):
    for i in range(n):
        tidemark.pipeline(
            f"p{i}",
            source={"connection": "source", "table": f"{source.schema}.t{i}",
                    **more},
            destination={"connection": "warehouse",
                         "table": f"{destination.schema}.t{i}"},
            watermark={"strategy": "sequence", "column": "seq"},
            load={"mode": "upsert"})
    return tidemark.write_config()


def check_tables(source, destination, n=TABLES):
    for i in range(n):
        rows = [tuple(map(int, row)) for row in destination.query(
            f"SELECT id, seq FROM {destination.schema}.t{i} ORDER BY id")]
        assert rows == [tuple(map(int, row)) for row in source.query(
            f"SELECT id, seq FROM t{i} ORDER BY id")], f"t{i}"


def attempts(tidemark):
    """Each pipeline's number of attempts."""
    listed = tidemark("runs", "--json", "--limit", "100").expect(EXIT_OK)
    return [run["attempts"] for run in listed.json()["runs"]]


def test_pipelines_share_sessions(make_database, make_proxy, tidemark):
    """Source, destination and the state store: one session each."""
    source, destination = make_database("source"), make_database("warehouse")
    state = make_database("state")
    proxies = [make_proxy(end) for end in (source, destination, state)]
    make_tables(source)
    tidemark.connect("source", proxies[0].connection(source))
    tidemark.connect("warehouse", proxies[1].connection(destination))
    tidemark.top["state"] = proxies[2].connection(state)
    add_pipelines(tidemark, source, destination)
    for _ in range(2):
        tidemark.run()
    check_tables(source, destination)
    assert [proxy.sessions for proxy in proxies] == [2, 2, 2]


@pytest.mark.parametrize("engine", ["mariadb", "mysql"])
def test_pipelines_share_sessions_of_mysql(engine, make_mysql, make_proxy,
                                           tidemark):
    source, destination = make_mysql(engine), make_mysql(engine)
    proxies = [make_proxy(end) for end in (source, destination)]
    make_tables(source)
    tidemark.connect("source", proxies[0].connection(source))
    tidemark.connect("warehouse", proxies[1].connection(destination))
    add_pipelines(tidemark, source, destination)
    for _ in range(2):
        tidemark.run()
    check_tables(source, destination)
    assert [proxy.sessions for proxy in proxies] == [2, 2]


def test_pipelines_share_a_connection_of_clickhouse(
        make_database, make_clickhouse, make_proxy, tidemark):
    """Kept connections, and the few of statements that go out but once."""
    source, destination = make_database("source"), make_clickhouse()
    proxy = make_proxy(destination)
    make_tables(source)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", proxy.connection(destination))
    add_pipelines(tidemark, source, destination)
    tidemark.run()
    before = proxy.sessions
    tidemark.run()
    check_tables(source, destination)
    assert proxy.sessions - before < TABLES

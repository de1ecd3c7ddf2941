"""The servers of the contract suite's programs. Each program has one of its
own, because it may empty it. Another program's open transaction would also hold
its marks back.
"""

import contextlib
import sys

import bigquery_servers
import mysql_servers
from clickhouse_servers import ClickhouseServer
from servers import Cluster


@contextlib.contextmanager
def postgres(name):
    cluster = Cluster(log_name(name)).create(copied=True).start().prepare()
    try:
        cluster.create_database("contract")
        yield {"TIDEMARK_TEST_POSTGRES": cluster.url("contract"),
               "TIDEMARK_TEST_POSTGRES_ADMIN": cluster.url(
                   "contract", user="postgres")}
    finally:
        cluster.remove()


@contextlib.contextmanager
def mysql(name):
    kind = mysql_servers.SERVERS[name.split()[-1]]
    if kind.missing():  # the program says so, and skips
        yield {}
        return
    server = kind().create().start().prepare()
    variable = f"TIDEMARK_TEST_{kind.name.upper()}"
    try:
        for database in ("tm_source", "other"):
            server.create_database(database)
        yield {variable: server.url("tm_source"),
               variable + "_ADMIN": server.url(
                   "tm_source", user=mysql_servers.BOSS)}
    finally:
        server.remove()


@contextlib.contextmanager
def clickhouse(name):
    if ClickhouseServer.missing():  # the program says so, and skips
        yield {}
        return
    server = ClickhouseServer().start()
    database = "tm_source" if name.startswith("connector") else "tm_target"
    try:
        server.create_database(database)
        yield {"TIDEMARK_TEST_CLICKHOUSE": server.url(
            database, user="default", password=None)}
    finally:
        server.remove()


@contextlib.contextmanager
def bigquery(name):
    front = bigquery_servers.Front().start()
    try:
        yield {"TIDEMARK_TEST_BIGQUERY": front.url(
            "tm_source" if name.startswith("connector") else "contract"),
            bigquery_servers.HOST: front.host}
    finally:
        front.remove()


@contextlib.contextmanager
def nothing(_):
    """For the engines of files."""
    yield {}


SERVERS = {"postgres": postgres, "mariadb": mysql, "mysql": mysql,
           "clickhouse": clickhouse, "bigquery": bigquery}


def log_name(name):
    return "contract-" + name.replace(" ", "-")


@contextlib.contextmanager
def server(name):
    """The environment of a program such as "destination mysql"."""
    with SERVERS.get(name.split()[-1], nothing)(name) as env:
        yield {**env, "TIDEMARK_TEST_PYTHON": sys.executable}


def chosen(expressions, names):
    """Read each -k: program -> the patterns of its cases, none for all.

    `duckdb` chooses programs. `destination_sqlite:upsert` chooses from one
    program the cases whose names contain the word."""
    found = {}
    for expression in expressions or [""]:
        program, _, case = expression.partition(":")
        for name in names:
            if program.replace("_", " ") in name:
                found.setdefault(name, []).append(f"*{case}*" if case else "")
    return {name: [] if "" in cases else cases
            for name, cases in found.items()}

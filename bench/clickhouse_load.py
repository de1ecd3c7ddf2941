"""Full load into ClickHouse, against curl that posts the same rows, ready on
disk.

The rows are those that Tidemark sends, with its own columns, into a table like
its own. Both contenders go through tests/fakes/clickhouse_front.py, before a
real engine. The measure covers the sender and the engine's work, but not the
HTTP of a real server.
"""

import os

from clickhouse_servers import ClickhouseServer
from servers import APP, CANARY

DATABASE = "target"
KEPT = "kept"  # the database of what is like the target's tables
# Any tool that reads from Postgres has to do this besides.
READ = "psql -qXc 'copy orders to stdout binary' source > /dev/null"
SUMS = """select count(), sum(id), sum(customer_id), sum(quantity),
sum(toInt64(amount * 100)), sum(length(status) + length(assumeNotNull(note)))
from orders"""


def sums(server):
    row, = server.query(DATABASE, SUMS)
    return tuple(int(each) for each in row)


def reset(server):
    server.drop_database(DATABASE)
    server.create_database(DATABASE)


class Curl:
    """The rows and the table of a target that has just been loaded."""

    def __init__(self, bench, server):
        self.bench, self.server = bench, server
        self.file = os.path.join(bench.dir, "ready.rowbinary")
        self.columns = ",".join(name for name, in server.query(
            DATABASE, "select name from system.columns where database = "
            "currentDatabase() and table = 'orders_raw' order by position"))
        server.create_database(KEPT)
        server.execute(KEPT, f"create table orders_raw as {DATABASE}.orders_raw")
        with open(self.file, "wb") as out:
            out.write(server.request(
                f"/?database={DATABASE}", f"SELECT {self.columns} from "
                "orders_raw order by id\nFORMAT RowBinary".encode()))

    def prepare(self):
        reset(self.server)
        self.server.execute(DATABASE,
                            f"create table orders_raw as {KEPT}.orders_raw")
        self.server.execute(
            DATABASE, "create view orders as select * from orders_raw final")

    def run(self):
        """Seconds, MiB."""
        into = f"INSERT INTO orders_raw ({self.columns}) FORMAT RowBinary"
        url = (f"http://127.0.0.1:{self.server.port}/?database={DATABASE}"
               f"&query={into.replace(' ', '%20')}")
        return self.bench.peak_run(
            ["curl", "-sS", "--fail-with-body", "-H", "Expect:",
             "-H", "Content-Type: application/octet-stream",
             "-H", f"X-ClickHouse-User: {APP}",
             "-H", f"X-ClickHouse-Key: {CANARY}",
             "--data-binary", f"@{self.file}", url], self.bench.env,
            os.path.join(self.bench.dir, "peak"))[:2]


def load(bench):
    """The table and the file are made by a load that is not measured."""
    if ClickhouseServer.missing():
        print(f"SKIP full load, clickhouse: {ClickhouseServer.missing()}")
        return
    bench.drop("clickhouse")
    bench.copy("clickhouse")
    curl = Curl(bench, bench.server("clickhouse"))
    bench.measure("full load, clickhouse", {
        "curl posts ready RowBinary": (curl.prepare, curl.run, "clickhouse"),
        "psql reads to nowhere": (lambda: None, lambda: bench.psql(READ), None),
        "tidemark": (lambda: bench.drop("clickhouse"),
                     lambda: bench.copy("clickhouse"), "clickhouse")},
                  bench.rows)

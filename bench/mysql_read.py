"""Reading MariaDB and MySQL: the connector against the plain loop of the client
library (mysql_loop.c, compiled here). Both print rows, seconds and seconds of
the processor; the server is the bottleneck, so the last tells more on a busy
machine."""

import os
import subprocess
import sys

import mysql_servers
from servers import APP, CANARY

TABLE = """CREATE TABLE orders (id bigint PRIMARY KEY,
customer_id bigint NOT NULL, status varchar(10) NOT NULL, note text,
amount decimal(12,2) NOT NULL, quantity int NOT NULL, paid bool NOT NULL,
created_at timestamp(6) NOT NULL, updated_at timestamp(6) NOT NULL,
INDEX (updated_at, id))"""

FILL = """INSERT INTO orders
WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 999)
SELECT n, n % 100000, elt(1 + n % 4, 'new', 'paid', 'packed', 'sent'),
  concat('order note number ', n), (n % 100000) / 100, n % 17, n % 3 = 0,
  timestamp '2025-01-01 00:00:00' + INTERVAL n SECOND,
  timestamp '2025-01-01 00:00:00' + INTERVAL n DIV 10 SECOND
FROM (SELECT {first} + a.i * 1000 + b.i n FROM s a, s b) rows_
WHERE n < {end} ORDER BY n"""

# Strategy and column of the pass; the loop's statement in the same order.
ORDERS = {
    "by key": ("sequence", "id", "SELECT * FROM orders"),
    "by time": ("timestamp", "updated_at",
                "SELECT * FROM orders FORCE INDEX (updated_at) "
                "ORDER BY updated_at, id"),
}


class MysqlReading:
    def __init__(self, engine, rows, directory, reader, peak_run):
        self.rows, self.reader, self.peak_run = rows, reader, peak_run
        self.report = os.path.join(directory, "peak")
        self.loop = os.path.join(directory, "mysql_loop")
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "libmariadb"], check=True,
            capture_output=True, text=True).stdout.split()
        subprocess.run(["cc", "-O2", "bench/mysql_loop.c", "-o", self.loop,
                        *flags], check=True)
        self.server = mysql_servers.SERVERS[engine](
            ["--innodb-buffer-pool-size=1G"]).create().start().prepare()
        self.server.create_database("bench")
        with self.server.admin("bench") as db, db.cursor() as cursor:
            cursor.execute(TABLE)
            for first in range(0, rows, 1_000_000):
                cursor.execute(FILL.format(
                    first=first, end=min(first + 1_000_000, rows)))
            cursor.execute("ANALYZE TABLE orders")

    def measure(self, command):
        _, peak, out = self.peak_run(
            command, dict(os.environ, MYSQL_PWD=CANARY), self.report)
        rows, seconds, processor = out.split()
        if int(rows) != self.rows:
            sys.exit(f"{command[0]}: {rows} rows, not {self.rows}")
        print(f"  {os.path.basename(command[0])}: {seconds} s, {processor} s "
              "of the processor", flush=True)
        return float(seconds), peak

    def contenders(self, order):
        strategy, column, sql = ORDERS[order]
        loop = [self.loop, "127.0.0.1", str(self.server.port), APP, "bench",
                sql]
        reader = [self.reader, self.server.url("bench", password=None),
                  "bench.orders", strategy, column]
        return {"plain loop": (lambda: None, lambda: self.measure(loop), None),
                "tidemark": (lambda: None, lambda: self.measure(reader), None)}


def read(bench):
    """Every order of every server that can be started here."""
    reader = os.path.join(os.path.dirname(bench.options.binary), "read_source")
    for engine, kind in mysql_servers.SERVERS.items():
        if kind.missing():
            print(f"SKIP read, {engine}: {kind.missing()}")
            continue
        reading = MysqlReading(engine, bench.rows, bench.dir, reader,
                               bench.peak_run)
        try:
            for order in ORDERS:
                bench.measure(f"read {engine} {order}",
                              reading.contenders(order), bench.rows)
        finally:
            reading.server.remove()

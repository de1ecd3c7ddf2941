"""Measure Tidemark against psql, the same minutes, the same server.

Every contender of a job runs --reps times, alternating; medians and ratios go
to bench/RESULTS.md with the machine they were measured on. After each run the
content is compared: count and checksum, asked from each database itself.
--smoke runs every job on few rows and writes nothing: CI sees that it works.
"""

import argparse
import datetime
import os
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb

import clickhouse_load
import mysql_read
import mysql_servers
import pipeline
import verify_tables
from clickhouse_servers import ClickhouseServer
from servers import APP, CANARY, Cluster

COLUMNS = """id bigint primary key, customer_id bigint not null,
status text not null, note text, amount numeric(12,2) not null,
quantity int not null, paid boolean not null,
created_at timestamptz not null, updated_at timestamptz not null"""

FILL = """insert into orders
select i, i % 100000, (array['new','paid','packed','sent'])[1 + i % 4],
  'order note number ' || i, (i % 100000) / 100.0, i % 17, i % 3 = 0,
  timestamptz '2025-01-01' + i * interval '1 second',
  {stamp} + i * interval '1 microsecond'
from generate_series({first}, {last}) i"""

FIRST_STAMP = "timestamptz '2025-01-01' + i / 10 * interval '1 second'"

MYSQL_COLUMNS = """id bigint primary key, customer_id bigint not null,
status longtext not null, note longtext, amount decimal(12,2) not null,
quantity int not null, paid tinyint(1) not null,
created_at datetime(6) not null, updated_at datetime(6) not null"""
# As LOAD DATA reads it.
MYSQL_COPY = """copy (select id, customer_id, status, note, amount, quantity,
paid::int, created_at at time zone 'utc', updated_at at time zone 'utc'
from orders) to stdout"""
MYSQL_SETTINGS = ["--innodb-buffer-pool-size=512M", "--innodb-doublewrite=1",
                  "--innodb-flush-log-at-trx-commit=1"]

# A checksum that each engine computes alike: integers and exact decimals.
SUMS = """select count(*), sum(id), sum(customer_id), sum(quantity),
sum(cast(amount * 100 as bigint)), sum(length(status) + length(note))
from {table}"""

MERGE = """delete from orders o using stage s where o.id = s.id
  and (o.*) is distinct from (s.*);
insert into orders select s.* from stage s
  where not exists (select from orders o where o.id = s.id);"""


def peak_run(command, env, report, code=0):
    """Run `command`, which is to exit with `code`; seconds, peak RSS in MiB, output. GNU time asks: a
    child's own getrusage begins at its parent's peak."""
    begun = time.monotonic()
    done = subprocess.run(["/usr/bin/time", "-f", "%M", "-o", report, *command],
                          env=env, capture_output=True, text=True)
    seconds = time.monotonic() - begun
    if done.returncode != code:
        sys.exit(f"{command} exited {done.returncode}:\n{done.stdout}{done.stderr}")
    with open(report, encoding="ascii") as text:
        return seconds, int(text.read().split()[-1]) / 1024, done.stdout


class Bench:
    peak_run = staticmethod(peak_run)

    def __init__(self, options):
        self.options = options
        self.rows = 5000 if options.smoke else options.rows
        self.changed = self.rows // 10
        self.added = self.rows // 20
        self.dir = tempfile.mkdtemp(prefix="tidemark-bench-")
        os.chmod(self.dir, 0o755)
        self.cluster = Cluster("bench", fsync=True, settings={
            "shared_buffers": "512MB", "max_wal_size": "8GB",
            "checkpoint_timeout": "30min"}).create().start().prepare()
        self.results = []
        self.servers = {}
        self.env = dict(os.environ, BENCH_PASSWORD=CANARY)
        for name in ("source", "target"):
            self.cluster.create_database(name)

    def close(self):
        self.cluster.remove()
        for server in self.servers.values():
            server.remove()
        shutil.rmtree(self.dir, ignore_errors=True)

    def sql(self, database, sql):
        with self.cluster.admin(database) as admin:
            admin.execute(f"set role app; {sql}")

    def vacuum(self):
        with self.cluster.admin("target") as admin:
            admin.execute("vacuum analyze")
            admin.execute("checkpoint")

    def fill(self):
        self.sql("source", f"drop table if exists orders; create table orders ({COLUMNS})")
        self.sql("source", FILL.format(first=1, last=self.rows,
                                       stamp=FIRST_STAMP))
        self.sql("source", "create index on orders (updated_at, id)")
        with self.cluster.admin("source") as admin:
            admin.execute("vacuum freeze analyze orders")

    def change(self, generation):
        """Every contender faces a delta of the same size and shape."""
        self.sql("source", f"""update orders set quantity = quantity + 1,
          updated_at = timestamptz '2026-01-01' + {generation} * interval '1 day'
            + id * interval '1 microsecond'
          where id % 10 = {generation % 10}""")
        self.sql("source", FILL.format(
            first=self.rows + 1 + generation * self.added,
            last=self.rows + (generation + 1) * self.added,
            stamp="timestamptz '2026-01-01' + interval "
                  f"'{generation} days 12 hours'"))

    def reset_target(self):
        self.sql("target", f"drop schema public cascade; create schema public; create table orders ({COLUMNS})")
        self.vacuum()

    def url(self, database):
        """As psql comes: over the socket."""
        return (f"postgresql://{APP}:${{BENCH_PASSWORD}}@/{database}"
                f"?host={self.cluster.dir}&port={self.cluster.port}")

    def server(self, engine):
        """ClickHouse, MariaDB or MySQL, started when first asked for."""
        if engine not in self.servers:
            if engine == "clickhouse":
                server = ClickhouseServer().start()
            else:
                kind = mysql_servers.SERVERS[engine]
                server = kind(MYSQL_SETTINGS).create().start().prepare()
            self.servers[engine] = server
        return self.servers[engine]

    def reset_mysql(self, engine, columns=None):
        server = self.server(engine)
        server.drop_database("target")
        server.create_database("target")
        if columns:
            with server.admin("target") as db, db.cursor() as cursor:
                cursor.execute(f"create table orders ({columns})")

    def destination(self, engine):
        if engine in mysql_servers.SERVERS:
            # As the other contender: over the socket, so without TLS.
            return self.server(engine).url(
                "target", password="${BENCH_PASSWORD}",
                socket=self.server(engine).socket, tls="disabled"), None
        if engine == "clickhouse":
            url = self.server(engine).url("target", password=None)
            return url.replace("@", ":${BENCH_PASSWORD}@"), None
        path = os.path.join(self.dir, f"target.{engine}")
        return {"postgres": self.url("target"), "duckdb": f"duckdb:{path}",
                "sqlite": f"sqlite:{path}"}[engine], path

    def drop(self, engine):
        if engine == "postgres":
            self.reset_target()
        if engine in mysql_servers.SERVERS:
            self.reset_mysql(engine)
        if engine == "clickhouse":
            clickhouse_load.reset(self.server(engine))
        for leftover in os.listdir(self.dir):
            if leftover.startswith(f"target.{engine}") or leftover.startswith("state"):
                os.remove(os.path.join(self.dir, leftover))

    def copy(self, engine):
        """One `tidemark copy`; seconds, MiB."""
        url, _ = self.destination(engine)
        to = {"postgres": "public.orders", "duckdb": "main.orders",
              "sqlite": "orders"}.get(engine, "target.orders")
        seconds, rss, _ = peak_run(
            [self.options.binary, "-q", "copy", self.url("source"), url,
             "--table", "public.orders", "--to", to,
             "--watermark", "timestamp:updated_at",
             "--state", f"sqlite:{self.dir}/state.db", "--json"], self.env,
            os.path.join(self.dir, "peak"))
        return seconds, rss

    def psql(self, script):
        begun = time.monotonic()
        subprocess.run(["bash", "-euo", "pipefail", "-c", script], check=True,
                       env=dict(os.environ, PGHOST=self.cluster.dir,
                                PGPORT=str(self.cluster.port), PGUSER="postgres",
                                PATH=f"{self.cluster.bin}:{os.environ['PATH']}"))
        return time.monotonic() - begun, None

    def sums(self, engine):
        query = SUMS.format(table="orders")
        if engine == "clickhouse":
            return clickhouse_load.sums(self.server(engine))
        if engine in ("source", "postgres"):
            database = "source" if engine == "source" else "target"
            with self.cluster.admin(database) as admin:
                return tuple(int(x) for x in admin.execute(query).fetchone())
        if engine in mysql_servers.SERVERS:
            with self.server(engine).admin("target") as db, \
                    db.cursor() as cursor:
                cursor.execute(query.replace("bigint", "signed"))
                return tuple(int(x) for x in cursor.fetchone())
        _, path = self.destination(engine)
        if engine == "sqlite":
            # Decimals are text there.
            query = query.replace("cast(amount * 100 as bigint)",
                                  "cast(round(amount * 100) as integer)")
            with sqlite3.connect(path) as db:
                return tuple(int(x) for x in db.execute(query).fetchone())
        with duckdb.connect(path, read_only=True) as db:
            return tuple(int(x) for x in db.execute(query).fetchone())

    def check(self, engine):
        want, got = self.sums("source"), self.sums(engine)
        if want != got:
            sys.exit(f"{engine}: content differs: {want} in the source, {got}")

    def measure(self, job, contenders, rows):
        """contenders: name -> (prepare, run, engine to check or None)."""
        times = {name: [] for name in contenders}
        peaks = {name: [] for name in contenders}
        for _ in range(1 if self.options.smoke else self.options.reps):
            for name, (prepare, run, engine) in contenders.items():
                prepare()
                seconds, rss = run()
                times[name].append(seconds)
                if rss:
                    peaks[name].append(rss)
                if engine:
                    self.check(engine)
        base = statistics.median(times[next(iter(contenders))])
        for name, seconds in times.items():
            median = statistics.median(seconds)
            self.results.append((job, name, median, rows / median if rows else 0,
                                 base / median,
                                 max(peaks[name]) if peaks[name] else None))
            print(self.row(self.results[-1]), flush=True)

    @staticmethod
    def row(result):
        job, name, median, rate, ratio, peak = result
        speed = f"{rate / 1000:.0f} k/s" if rate else "-"
        memory = f"{peak:.0f} MiB" if peak else "-"
        return f"| {job} | {name} | {median:.3f} s | {speed} | {ratio:.2f} | {memory} |"

    def pipe(self):
        return self.psql("psql -qXc 'copy orders to stdout binary' source |"
                         " psql -qXc 'copy orders from stdin binary' target")

    def csv(self):
        return self.psql(f"psql -qXc 'copy (select * from orders) to stdout csv' source > {self.dir}/orders.csv")

    def full(self):
        self.measure("full load, Postgres", {
            "psql binary pipe": (self.reset_target, self.pipe, "postgres"),
            "tidemark": (lambda: self.drop("postgres"),
                         lambda: self.copy("postgres"), "postgres")}, self.rows)
        self.measure("full load, DuckDB", {
            "psql to CSV": (lambda: None, self.csv, None),
            "tidemark": (lambda: self.drop("duckdb"),
                         lambda: self.copy("duckdb"), "duckdb")}, self.rows)
        self.measure("full load, SQLite", {
            "psql to CSV": (lambda: None, self.csv, None),
            "tidemark": (lambda: self.drop("sqlite"),
                         lambda: self.copy("sqlite"), "sqlite")}, self.rows)

    def local(self, engine):
        """The rows from memory into the keyed table, by the client that the
        server's people wrote."""
        load = ("load data local infile '/dev/stdin' into table orders "
                "character set utf8mb4")
        return self.psql(
            f'psql -qXc "{" ".join(MYSQL_COPY.split())}" source | mysql '
            f"--no-defaults --socket={self.server(engine).socket} --user=root "
            f'--local-infile=1 target -e "{load}"')

    def family(self):
        for engine in mysql_servers.SERVERS:
            self.measure(f"full load, {engine}", {
                "psql into LOAD DATA LOCAL": (
                    lambda e=engine: self.reset_mysql(e, MYSQL_COLUMNS),
                    lambda e=engine: self.local(e), engine),
                "tidemark": (lambda e=engine: self.drop(e),
                             lambda e=engine: self.copy(e), engine)}, self.rows)

    def clickhouse(self):
        clickhouse_load.load(self)

    def plan(self):
        """The best hand-written plan: stage, delete what changed, insert."""
        since = "(select max(updated_at) from orders)"
        with self.cluster.admin("target") as admin:
            since = admin.execute(f"select {since}").fetchone()[0]
        copy = ("copy (select * from orders where updated_at > "
                f"'{since.isoformat()}') to stdout binary")
        into = ("begin; create temp table stage (like orders); copy stage from stdin binary; "
                f"analyze stage; {MERGE} commit;")
        script = os.path.join(self.dir, "merge.sql")
        with open(script, "w", encoding="ascii") as out:
            out.write(into.replace("copy stage from stdin binary;",
                                   "\\copy stage from pstdin binary\n"))
        return self.psql(f'psql -qXc "{copy}" source | psql -qX -f {script} target')

    def delta(self):
        """The plan's target and Tidemark's are the same table in turn."""
        self.drop("postgres")
        self.copy("postgres")
        generation = iter(range(1000))

        def prepare_plan():
            self.change(next(generation))
            self.vacuum()

        def after_plan():
            # Tidemark catches up on what the plan loaded, unmeasured.
            self.copy("postgres")
            prepare_plan()

        self.measure("delta, Postgres", {
            "best SQL plan": (prepare_plan, self.plan, "postgres"),
            "tidemark": (after_plan, lambda: self.copy("postgres"), "postgres"),
        }, self.changed + self.added)

    def nothing(self):
        for engine in ("postgres", "duckdb", "sqlite", *self.servers):
            self.drop(engine)
            self.copy(engine)
            self.measure(f"nothing changed, {engine}", {
                "tidemark": (lambda: None, lambda e=engine: self.copy(e), engine)}, 0)

    def read(self):
        mysql_read.read(self)

    def verify(self):
        verify_tables.verify(self)

    def backfill(self):
        pipeline.backfill(self)

    def dry(self):
        pipeline.dry_run(self)

    def report(self):
        cpu = "unknown CPU"
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for line in info:
                if line.startswith("model name"):
                    cpu = line.split(":")[1].strip()
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
        with self.cluster.admin() as admin:
            server = admin.execute("show server_version").fetchone()[0]
        lines = [
            "# Results", "",
            "Written by `bench/run`: medians of "
            f"{self.options.reps} alternating runs, {self.rows:,} rows of a "
            "nine-column orders table, about 100 bytes a row. Verification "
            f"has {verify_tables.TIMES} times as many. Source, target and "
            "client share one machine. Content is checked after every run. "
            "The ratio is the first contender's time divided by this one's: "
            "above 1 is faster.", "",
            f"{datetime.date.today()}, {os.cpu_count()} cores ({cpu}), "
            f"{memory} GiB, {platform.system()} {platform.release()}, "
            f"PostgreSQL {server}.", "",
            "| job | contender | median | rows | ratio | peak RSS |",
            "| --- | --- | --- | --- | --- | --- |",
            *[self.row(result) for result in self.results], ""]
        with open("bench/RESULTS.md", "w", encoding="utf-8") as out:
            out.write("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--no-report", action="store_true",
                        help="print the figures, write no file")
    parser.add_argument("--jobs", default="full,family,clickhouse,delta,nothing,read,backfill,dry,verify")
    options = parser.parse_args()
    bench = Bench(options)
    try:
        bench.fill()
        for job in options.jobs.split(","):
            getattr(bench, job)()
        if not options.smoke and not options.no_report:
            bench.report()
    finally:
        bench.close()


if __name__ == "__main__":
    main()

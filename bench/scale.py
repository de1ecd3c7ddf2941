"""Measure workers of one queue: `bench/run --scale [--before BINARY]`.

The first part runs 1, 4 and 16 processes of `tidemark worker` on one queued
backfill, Postgres to Postgres. The store has a server of its own. `pace`
holds each worker to a rate, so that the cores of this machine are not the limit.
The second part asks how many claims a store bears. It is simulated: pgbench
sends a worker's statements from many sessions, and no rows are moved. The third
tells what a worker without work asks of the store.

Content is compared after each run. Prints tables for bench/RESULTS.md; writes
no file.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from claims import Store
from idle import looks
from servers import APP, CANARY, Cluster

TICKS = os.sysconf("SC_CLK_TCK")
SUMS = "SELECT count(*), sum(id), sum(hashtext(note)::bigint) FROM items"
MAKE = """
CREATE TABLE items (id bigint PRIMARY KEY, note text NOT NULL);
INSERT INTO items SELECT n, 'note ' || n FROM generate_series(1, {rows}) n;
"""


class Place:
    """A source, a target and a store, and a config over them."""

    def __init__(self, stack, data, store, binary, name):
        self.data, self.store, self.binary = data, store, binary
        self.source, self.target = f"source_{name}", f"target_{name}"
        self.state = f"state_{name}"
        for cluster, database in ((data, self.source), (data, self.target),
                                  (store, self.state)):
            cluster.create_database(database)
        self.dir = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="tidemark-scale-")))
        self.env = dict(os.environ, BENCH_PASSWORD=CANARY)

    @staticmethod
    def url(cluster, database):
        return (f"postgresql://{APP}:${{BENCH_PASSWORD}}@127.0.0.1:"
                f"{cluster.port}/{database}")

    def config(self, rate, lease="3s"):
        self.path = self.dir / "tidemark.yaml"
        self.path.write_text(json.dumps({
            "version": 1,
            "state": {"url": self.url(self.store, self.state), "lease": lease},
            "connections": {"source": self.url(self.data, self.source),
                            "target": self.url(self.data, self.target)},
            "pipelines": {"items": {
                "source": {"connection": "source", "table": "public.items"},
                "destination": {"connection": "target",
                                "table": "public.items"},
                "watermark": {"strategy": "sequence", "column": "id"},
                "pace": {"rows_per_second": rate}}}}), encoding="ascii")
        self.path.chmod(0o600)

    def sql(self, cluster, database, *statements):
        with cluster.admin(database) as admin:
            for sql in statements:
                rows = admin.execute(sql)
        return rows.fetchall() if rows.description else None

    def begin(self, rows, chunk_rows):
        """All rows are there, all are damaged, and the queue is full."""
        self.sql(self.data, self.source, "SET ROLE app; " +
                 MAKE.format(rows=rows))
        self.config(1_000_000_000)
        self.call("run")
        self.sql(self.data, self.target, "UPDATE items SET note = 'x'",
                 "VACUUM ANALYZE items")
        self.call("backfill", "items", "--queue", "--chunk-rows",
                  str(chunk_rows))

    def call(self, *arguments):
        done = subprocess.run([self.binary, "-q", "-c", self.path, *arguments],
                              env=self.env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{arguments}: {done.stderr}")

    def start(self):
        return subprocess.Popen(
            [self.binary, "-c", self.path, "worker", "--chunks", "--once"],
            env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True)

    def check(self):
        one, other = (self.sql(self.data, each, SUMS)
                      for each in (self.source, self.target))
        if one != other:
            sys.exit(f"content differs: {one} {other}")


def server_cpu(cluster):
    """Seconds of the server's ended sessions and of the postmaster."""
    pid = pathlib.Path(cluster.data, "postmaster.pid").read_text("ascii")
    stat = pathlib.Path("/proc", pid.split()[0], "stat").read_text("ascii")
    return sum(map(int, stat.rsplit(")", 1)[1].split()[11:15])) / TICKS


def sessions(cluster, database):
    with cluster.admin() as admin:
        return admin.execute("SELECT sessions FROM pg_stat_database WHERE "
                             "datname = %s", (database,)).fetchone()[0]


def gaps(place, logs):
    """Seconds between a worker's chunks: it settles one and claims the next."""
    times = {chunk: (begun / 1e6, ended / 1e6) for chunk, begun, ended in
             place.sql(place.store, place.state,
                       "SELECT chunk_id, started_at, ended_at "
                       "FROM tidemark.chunks")}
    between = []
    for log in logs:
        mine = [times[name] for name in re.findall(r"info (\S+): done", log)]
        between += [then[0] - now[1] for now, then in zip(mine, mine[1:])]
    return between


def workers(stack, data, store, binary, n, options):
    """One run of `n` workers: its figures."""
    workers.made = getattr(workers, "made", 0) + 1
    place = Place(stack, data, store, binary, str(workers.made))
    rows = options.rate * options.chunk_seconds
    chunks = options.chunks * n
    place.begin(rows * chunks, rows)
    place.config(options.rate)
    wal = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
    time.sleep(0.5)  # the sessions of before end
    before = (server_cpu(store), sessions(store, place.state),
              place.sql(store, place.state, wal)[0][0])
    begun = time.monotonic()
    running = [place.start() for _ in range(n)]
    logs = [each.communicate()[1] for each in running]
    took = time.monotonic() - begun
    if any(each.returncode for each in running):
        sys.exit("\n".join(logs))
    time.sleep(1)
    place.check()
    between = gaps(place, logs)
    found = {"seconds": took, "rows": rows * chunks / took,
             "share": rows * chunks / took / (options.rate * n),
             "claims": chunks / took, "gap": statistics.median(between),
             "gap_most": max(between),
             "cpu": (server_cpu(store) - before[0]) / chunks,
             "sessions": sessions(store, place.state) - before[1],
             "wal": int(place.sql(store, place.state, wal)[0][0]
                        - before[2]) / chunks}
    for cluster, database in ((data, place.source), (data, place.target),
                              (store, place.state)):
        cluster.drop_database(database)
    return found


def spread(values, form):
    return " / ".join(form.format(f(values)) for f in
                      (min, statistics.median, max))


def part_workers(stack, data, store, builds, options):
    print("| workers | build | rows/s | part of the rate | claims/s | between two "
          "chunks | longest | store CPU a chunk | store WAL a chunk "
          "| store sessions |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for n in options.workers:
        found = collections.defaultdict(list)
        for _ in range(options.reps):
            for name, binary in builds:
                found[name].append(workers(stack, data, store, binary, n,
                                           options))
        for name, each in found.items():
            def tell(key, form, factor=1):
                return spread([one[key] * factor for one in each], form)
            print(f"| {n} | {name} | {tell('rows', '{:.0f}')} "
                  f"| {tell('share', '{:.0%}')} | {tell('claims', '{:.2f}')} "
                  f"| {tell('gap', '{:.0f}', 1000)} ms "
                  f"| {tell('gap_most', '{:.0f}', 1000)} ms "
                  f"| {tell('cpu', '{:.0f}', 1000)} ms "
                  f"| {tell('wal', '{:.1f}', 1 / 1024)} KiB "
                  f"| {tell('sessions', '{:.0f}')} |", flush=True)


def captured(stack, data, store, name, binary):
    """A store whose statements one real worker has shown."""
    place = Place(stack, data, store, binary, f"claims_{name}")
    place.begin(3000, 1000)
    place.config(1000, lease="1s")
    place.sql(store, place.state,
              f"ALTER DATABASE {place.state} SET log_statement = 'all'")
    begins = os.path.getsize(store.log)
    worker = place.start()
    said = worker.communicate()[1]
    if worker.returncode:
        sys.exit(said)
    place.sql(store, place.state,
              f"ALTER DATABASE {place.state} RESET log_statement")
    made = Store(store, place.state)
    made.place = place
    with open(store.log, encoding="utf-8") as log:
        log.seek(begins)
        made.take(log.read())
    return made


def part_idle(stores, options):
    print("| chunks that others have | chunks that are done | build "
          "| statements a look | server time a look |")
    print("| --- | --- | --- | --- | --- |")
    for pair in options.afar.split(","):
        running, others = map(int, pair.split(":"))
        for name, made in stores:
            each = [looks(made.place, made, running, others, options.seconds)
                    for _ in range(options.reps)]
            print(f"| {running} | {others} | {name} "
                  f"| {spread([one['calls'] for one in each], '{:.0f}')} "
                  f"| {spread([one['spent'] for one in each], '{:.1f}')} ms |",
                  flush=True)


def part_claims(stores, store, options):
    print("| simulated | build | sessions | chunks that wait | a second "
          "| server CPU each | mean | WAL each |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")

    turns = ("-t", str(options.turns // 8))
    lasts = ("-T", str(options.seconds))

    def line(job, clients, queued, last, *scripts, rate=None):
        found = collections.defaultdict(list)
        for _ in range(options.reps):
            for name, made in stores:
                made.queue(queued)
                before = server_cpu(store)
                done = made.bench(clients, last, *scripts, rate=rate)
                time.sleep(0.5)
                done["cpu"] = (server_cpu(store) - before) / max(1, done["turns"])
                done["each"] = done["wal"] / max(1, done["tps"])
                found[name].append(done)
        for name, each in found.items():
            def tell(key, form, factor=1):
                return spread([one[key] * factor for one in each], form)
            print(f"| {job} | {name} | {clients} | {queued} "
                  f"| {tell('tps', '{:.0f}')} "
                  f"| {tell('cpu', '{:.2f}', 1000)} ms "
                  f"| {tell('latency average', '{:.1f}')} ms "
                  f"| {tell('each', '{:.1f}', 1 / 1024)} KiB |", flush=True)

    for queued in options.queued:
        line("claim and settle, as fast as it can", 8, queued, turns,
             ("claim", 1))
    line("renew a lease, as fast as it can", 8, 1000, turns,
         ("renew", 1))
    if options.many:
        line("claims and renewals, 1 to 3, at a rate of 133 a second",
             options.many, options.queued[0], lasts, ("claim", 1),
             ("renew", 3), rate=133)
        line("claims and renewals, 1 to 3, as fast as it can", options.many,
             options.queued[0], lasts, ("claim", 1), ("renew", 3))


def numbers(text):
    return [int(each) for each in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--before")
    parser.add_argument("--workers", type=numbers, default=[1, 4, 16])
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--chunk-seconds", type=int, default=2)
    parser.add_argument("--chunks", type=int, default=6, help="each")
    parser.add_argument("--queued", type=numbers, default=[10_000, 100_000])
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--afar", default="16:0,1000:0,1000:100000",
                        help="chunks that others have, and that are done")
    parser.add_argument("--turns", type=int, default=800)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--parts", default="workers,claims,idle")
    options = parser.parse_args()
    builds = [("now", os.path.abspath(options.binary))]
    if options.before:
        builds.insert(0, ("before", os.path.abspath(options.before)))
    with contextlib.ExitStack() as stack:
        servers = []
        for name in ("data", "store"):
            servers.append(Cluster(name, fsync=name == "store", settings={
                "max_connections": 1100, "shared_buffers": "256MB",
                "log_line_prefix": "%p|%d|", "autovacuum": "on",
                "max_wal_size": "1GB",
                "shared_preload_libraries": "pg_stat_statements",
            }).create().start().prepare())
            stack.callback(servers[-1].remove)
        if "workers" in options.parts:
            part_workers(stack, *servers, builds, options)
            print()
        stores = [(name, captured(stack, *servers, name, binary))
                  for name, binary in builds]
        if "claims" in options.parts:
            part_claims(stores, servers[1], options)
            print()
        if "idle" in options.parts:
            part_idle(stores, options)


if __name__ == "__main__":
    main()

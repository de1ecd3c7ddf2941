"""Measure a backfill beside a first load of the same table: `bench/run --backfill`.

There are three jobs. `run` makes and fills the target. `backfill` fills it again
after all of its rows but one were deleted. Then it fills the upper half alone. The
CPU of client and server stands beside the time, for a busy machine changes it
less. Content is compared after each job. Prints a table for bench/RESULTS.md;
writes no file.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import sys
import time

import duckdb

from streams import SUMS, fill
from tables import Many, Tool

TICKS = os.sysconf("SC_CLK_TCK")


class Turn:
    """A target, with the pipeline that fills it."""

    def __init__(self, many, source, engine, chunk_rows):
        self.many, self.engine, self.chunk_rows = many, engine, chunk_rows
        self.tool = Tool(many, many.options.binary, source, engine, 1)

    def sql(self, sql):
        if self.engine == "postgres":
            with self.many.cluster.admin(self.tool.target) as admin:
                admin.execute(sql)
                admin.execute("vacuum analyze")
                admin.execute("checkpoint")
        else:
            with duckdb.connect(str(self.tool.target)) as db:
                db.execute(sql)
                db.execute("checkpoint")

    def sums(self):
        if self.engine == "postgres":
            with self.many.cluster.admin(self.tool.target) as admin:
                return admin.execute(SUMS).fetchone()
        with duckdb.connect(str(self.tool.target), read_only=True) as db:
            return db.execute(SUMS).fetchone()

    def server_cpu(self):
        """Seconds of the server's ended sessions and of the postmaster."""
        pid = pathlib.Path(self.many.cluster.data, "postmaster.pid")
        stat = pathlib.Path("/proc", pid.read_text("ascii").split()[0],
                            "stat").read_text("ascii")
        fields = stat.rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / TICKS

    def tidemark(self, *arguments):
        """Seconds, of the client's CPU, of the server's CPU."""
        command = [self.many.options.binary, "-q", "-c", str(self.tool.path),
                   *arguments]
        time.sleep(0.5)  # the sessions of before end
        server, begun = self.server_cpu(), time.monotonic()
        pid = os.posix_spawnp(
            command[0], command, self.many.env, file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, str(self.tool.dir / "out"),
                 os.O_WRONLY | os.O_CREAT, 0o600)])
        _, status, usage = os.wait4(pid, 0)
        took = time.monotonic() - begun
        if status:
            sys.exit(f"{command}: {status}")
        time.sleep(0.5)
        return (took, usage.ru_utime + usage.ru_stime,
                self.server_cpu() - server)

    def run(self):
        return self.tidemark("run")

    def backfill(self, workers, *arguments):
        return self.tidemark(
            "backfill", "t0000", "--workers", str(workers), *arguments,
            *(["--chunk-rows", str(self.chunk_rows)] if self.chunk_rows
              else []))

    def drop(self):
        if self.engine == "postgres":
            self.many.sql("postgres", [f"drop database {self.tool.target}"])
        else:
            os.unlink(self.tool.target)


def middle(many, source):
    with many.cluster.admin(source) as admin:
        return admin.execute(
            "select (timestamptz '2025-01-01' + (count(*) / 2) * interval"
            " '1 second')::text from t0000").fetchone()[0]


def turn(many, source, engine, workers):
    """The three jobs on one target: name, rows, seconds."""
    options = many.options
    t = Turn(many, source, engine, options.chunk_rows)
    yield "run", options.rows, t.run(), t
    for n in workers:
        t.sql("delete from t0000 where id > 1")
        yield (f"backfill, one row there, {n} worker{'s' * (n > 1)}", options.rows,
               t.backfill(n, "--again"), t)
    half = middle(many, source)
    for n in workers:
        t.sql(f"delete from t0000 where updated_at >= '{half}'")
        yield (f"backfill, half there, {n} worker{'s' * (n > 1)}",
               options.rows - options.rows // 2,
               t.backfill(n, "--again", "--from", half), t)
    t.drop()


def measure(many, engine, source):
    options = many.options
    with many.cluster.admin(source) as admin:
        wanted = tuple(map(int, admin.execute(SUMS).fetchone()))
    found, rows = {}, {}
    for _ in range(options.reps):
        for name, n, took, t in turn(many, source, engine, options.workers):
            if tuple(map(int, t.sums())) != wanted:
                sys.exit(f"{name}: content differs from the source")
            found.setdefault(name, []).append(took)
            rows[name] = n
    rates = {}
    for name, each in found.items():
        took, client, server = (statistics.median(x) for x in zip(*each))
        rate = rows[name] / took
        rates[name] = rate
        million = 1_000_000 / rows[name]
        print(f"| {engine} | {name} | {took:.3f} s | {rate / 1000:.0f} k/s "
              f"| {rate / rates['run']:.2f} | {client * million:.2f} s "
              f"| {server * million:.2f} s |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--chunk-rows", type=int)
    parser.add_argument("--engines", type=lambda s: s.split(","),
                        default=["postgres", "duckdb"])
    parser.add_argument("--workers", type=lambda s: [int(n) for n in
                                                     s.split(",")],
                        default=[1])
    parser.add_argument("--reps", type=int, default=3)
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    print("| target | job | median | rows | of a first load "
          "| client CPU, 1 M rows | server CPU, 1 M rows |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with contextlib.ExitStack() as stack:
        many = Many(stack, options)
        source = fill(many)
        for engine in options.engines:
            measure(many, engine, source)


if __name__ == "__main__":
    main()

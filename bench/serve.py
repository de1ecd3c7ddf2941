"""Measure `tidemark serve`: `bench/run --serve`.

Idle pipelines on a schedule of a minute: the processor's time and the memory of
serve, and how long /metrics and the page take. Then one pipeline each second
with a writer that stamps its rows: the time from their commit to when they are
seen at the destination. Last, a first load by `run` and one under serve, in
turns: both as long as the ledger says. Prints tables for bench/RESULTS.md; writes
no file.
"""

import argparse
import contextlib
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

import psycopg

from tables import Many, Tool, table

TICK = os.sysconf("SC_CLK_TCK")


class Served:
    """A serve that goes on."""

    def __init__(self, tool, schedule, log):
        text = tool.path.read_text(encoding="ascii")
        tool.path.write_text(
            'serve: { listen: "127.0.0.1:0" }\n'
            f"defaults: {{ schedule: {schedule} }}\n{text}", encoding="ascii")
        with open(log, "wb") as err:
            self.process = subprocess.Popen(
                [tool.binary, "-c", tool.path, "serve"], env=tool.many.env,
                stderr=err)
        while b"listening on" not in open(log, "rb").read():
            time.sleep(0.05)
        self.url = "http://" + re.search(
            r"listening on (\S+)", open(log, encoding="utf-8").read())[1]

    def seconds(self):
        """The processor's, so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def mebibytes(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup",
                  encoding="ascii") as file:
            return int(re.search(r"Pss:\s+(\d+)", file.read())[1]) / 1024

    def get(self, path):
        """Seconds and bytes."""
        begun = time.monotonic()
        with urllib.request.urlopen(self.url + path) as reply:
            body = reply.read()
        return time.monotonic() - begun, len(body)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def idle(many, options):
    source = many.fill(options.count)
    tool = Tool(many, options.binary, source, "postgres", options.count)
    tool.run()
    served = Served(tool, "every 1m", tool.dir / "log")
    time.sleep(70)  # each has had a turn
    before, begun = served.seconds(), time.monotonic()
    time.sleep(options.seconds)
    share = (served.seconds() - before) / (time.monotonic() - begun)
    print(f"| {options.count} idle pipelines, every 1m | {share:.1%} of a core,"
          f" {served.mebibytes():.0f} MiB |")
    for path in ("/metrics", "/api/v1/pipelines", "/"):
        took, size = zip(*(served.get(path) for _ in range(7)))
        print(f"| {path} | {statistics.median(took) * 1000:.0f} ms, "
              f"{size[0] / 1000:.0f} kB |", flush=True)
    served.stop()


def write(url, stop, stamps):
    with psycopg.connect(url, autocommit=True) as db:
        number = 1_000_000
        while not stop.is_set():
            number += 1
            db.execute(f"INSERT INTO {table(0)} (id, n, updated_at) "
                       "VALUES (%s, 1, clock_timestamp())", (number,))
            stamps[number] = time.monotonic()
            time.sleep(0.02)


def watch(url, stop, seen):
    with psycopg.connect(url, autocommit=True) as db:
        last = 1_000_000
        while not stop.is_set():
            for number, in db.execute(f"SELECT id FROM {table(0)} "
                                      "WHERE id > %s ORDER BY id", (last,)):
                seen[number] = time.monotonic()
                last = number
            time.sleep(0.005)


def fresh(many, options):
    source = many.fill(1)
    tool = Tool(many, options.binary, source, "postgres", 1)
    tool.run()
    served = Served(tool, "every 1s", tool.dir / "log")
    stop, stamps, seen = threading.Event(), {}, {}
    password = many.env["BENCH_PASSWORD"]
    threads = [threading.Thread(target=write, args=(
                   many.url(source, password), stop, stamps)),
               threading.Thread(target=watch, args=(
                   many.url(tool.target, password), stop, seen))]
    for thread in threads:
        thread.start()
    time.sleep(options.seconds)
    stop.set()
    for thread in threads:
        thread.join()
    served.stop()
    ages = sorted(seen[n] - stamps[n] for n in seen if n in stamps)
    if len(ages) < 100:
        sys.exit(f"only {len(ages)} rows were seen")
    print(f"| every 1s, from commit to visible | p50 "
          f"{ages[len(ages) // 2]:.2f} s, p99 "
          f"{ages[len(ages) * 99 // 100]:.2f} s, {len(ages)} rows |")


def ledger(tool):
    """How long the first load took, in seconds; None: it goes on."""
    path = tool.dir / "state.db"
    if not path.exists():
        return None
    with contextlib.closing(sqlite3.connect(path)) as db:
        try:
            found = db.execute("SELECT outcome, ended_at - started_at, "
                               "rows_inserted FROM attempts "
                               "ORDER BY seq LIMIT 1").fetchone()
        except sqlite3.OperationalError:  # its tables are not made yet
            return None
    if not found or not found[0]:
        return None
    if found[0] != "caught_up" or not found[2]:
        sys.exit(f"the load {found[0]}, with {found[2]} rows")
    return found[1] / 1e6


def load_by_run(tool):
    tool.run()


def load_by_serve(tool):
    """One that never ran begins at once."""
    served = Served(tool, "every 1h", tool.dir / "log")
    while ledger(tool) is None:
        time.sleep(0.1)
    served.stop()


def load_once(many, options, source, how):
    """Into a database of its own, which goes behind it."""
    tool = Tool(many, options.binary, source, "postgres", 1)
    with many.cluster.admin() as admin:
        admin.execute("checkpoint")
    how(tool)
    if tool.sums() != many.sums(source, 1):
        sys.exit("the target is not equal")
    many.cluster.drop_database(tool.target)
    return ledger(tool)


def load(many, options):
    source = many.fill(1, options.rows)
    took = {load_by_run: [], load_by_serve: []}
    for turn in range(options.turns):
        for how in sorted(took, key=lambda how: how.__name__,
                          reverse=turn % 2):
            took[how].append(load_once(many, options, source, how))
    run, serve = (statistics.median(took[how])
                  for how in (load_by_run, load_by_serve))
    apart = statistics.median(b / a - 1 for a, b in zip(
        took[load_by_run], took[load_by_serve]))
    print(f"| {options.rows:,} rows, run and serve in {options.turns} turns | "
          f"{run:.2f} s and {serve:.2f} s, by the turn {apart:+.1%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--parts", default="idle,fresh,load")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    with contextlib.ExitStack() as stack:
        many = Many(stack, options)
        print("| serve | figure |\n| --- | --- |")
        for part in options.parts.split(","):
            {"idle": idle, "fresh": fresh, "load": load}[part](many, options)


if __name__ == "__main__":
    main()

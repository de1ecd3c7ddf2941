"""Measure `tidemark serve`: `bench/run --serve`.

Idle pipelines on a schedule of a minute: the processor's time and the memory of
serve, and how long /metrics and the page take. Then one pipeline each second
with a writer that stamps its rows: the time from their commit to when they are
seen at the destination. Prints tables for bench/RESULTS.md; writes no file.
"""

import argparse
import contextlib
import os
import re
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
    print("| serve | figure |\n| --- | --- |")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    with contextlib.ExitStack() as stack:
        many = Many(stack, options)
        idle(many, options)
        fresh(many, options)


if __name__ == "__main__":
    main()

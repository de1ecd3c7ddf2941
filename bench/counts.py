"""Count the work of this build against one from before: `bench/run --counts
--before BINARY`.

It counts instructions of the process (valgrind --tool=callgrind), messages that
it sends to servers (strace), and its peak memory. They do not depend on how
busy the machine is. Each binary has targets and state of its own; both read one
source. Prints a table; writes no file.
"""

import argparse
import collections
import contextlib
import pathlib
import re
import subprocess
import tempfile

import ends
import workload
from bench import Tidemark, sync_items
from bigquery_servers import Front
from clickhouse_servers import ClickhouseServer
from mysql_servers import MariadbServer, MysqlServer
from servers import Cluster

ROUTES = [("postgres", target) for target in
          ("postgres", "duckdb", "sqlite", "mysql", "clickhouse", "bigquery")]
ROUTES += [("mariadb", "postgres"), ("mysql", "postgres"),
           ("sqlite", "postgres"), ("duckdb", "postgres")]
SENDS = "sendto,sendmsg,sendmmsg"
Counted = collections.namedtuple("Counted", "instructions messages memory")


class Servers:
    """Each is started when it is first asked for."""

    def __init__(self, stack, directory):
        self.stack, self.directory = stack, directory
        self.running, self.ends = {}, 0

    def start(self, engine):
        if engine == "postgres":
            return Cluster("counts").create().start().prepare()
        if engine in ("mariadb", "mysql"):
            kind = {"mariadb": MariadbServer, "mysql": MysqlServer}[engine]
            return kind().create().start().prepare()
        return {"clickhouse": ClickhouseServer, "bigquery": Front}[
            engine]().start()

    def end(self, engine):
        """An empty one."""
        self.ends += 1
        name = f"counts_{self.ends}"
        if engine in ("sqlite", "duckdb"):
            kind = {"sqlite": ends.SqliteEnd, "duckdb": ends.DuckdbEnd}[engine]
            return kind(self.directory / f"{name}.{engine}")
        if engine not in self.running:
            self.running[engine] = self.start(engine)
            self.stack.callback(self.running[engine].remove)
        server = self.running[engine]
        make = (server.create_dataset if engine == "bigquery"
                else server.create_database)
        make(name)
        return {"postgres": ends.PostgresEnd, "mariadb": ends.MysqlEnd,
                "mysql": ends.MysqlEnd, "clickhouse": ends.ClickhouseEnd,
                "bigquery": ends.BigqueryEnd}[engine](server, name)


class World:
    """One binary below one tool, with a target and a state of its own."""

    def __init__(self, binary, directory, source, target):
        directory.mkdir()
        self.dir = directory
        self.tidemark = Tidemark(binary, directory)
        # valgrind takes its time.
        self.tidemark.top["state"] = {
            "url": self.tidemark.top["state"], "lease": "1h"}
        sync_items(self.tidemark, source, target, "timestamp")
        if target.engine == "bigquery":
            self.tidemark.env["BIGQUERY_EMULATOR_HOST"] = target.front.host

    def run(self, *tool):
        subprocess.run([*tool, self.tidemark.binary, "run", "--json"],
                       env=self.tidemark.command_env(), cwd=self.dir,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       check=True)

    def instructions(self):
        out = self.dir / "callgrind"
        self.run("valgrind", "-q", "--tool=callgrind",
                 f"--callgrind-out-file={out}")
        return int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(),
                             re.M).group(1))

    def messages(self):
        """And the peak in KiB."""
        sent, peak = self.dir / "sent", self.dir / "peak"
        self.run("/usr/bin/time", "-f", "%M", "-o", str(peak), "strace", "-f",
                 "-qq", "-e", f"trace={SENDS}", "-o", str(sent))
        return (sum("(" in line for line in sent.read_text().splitlines()),
                int(peak.read_text().split()[-1]))


def count(pairs):
    """binary -> Counted, of the same run in the worlds of each binary."""
    seen = {}
    for binary, (valgrind, strace) in pairs.items():
        messages, peak = strace.messages()
        seen[binary] = Counted(valgrind.instructions(), messages, peak / 1024)
    return seen


def route(servers, directory, binaries, kind, to, rows):
    """Yield the name of a job and what it took, for one pair of engines."""
    source = servers.end(kind)
    workload.create_items(source, rows=rows)
    pairs = {binary: [World(binary, directory / f"{kind}-{to}-{i}-{tool}",
                            source, servers.end(to))
                      for tool in ("valgrind", "strace")]
             for i, binary in enumerate(binaries)}
    yield "first load", count(pairs)
    workload.change_items(source, "id % 10 = 3")
    workload.settle(source)
    yield "delta", count(pairs)
    yield "idle", count(pairs)


def shown(before, now):
    """The cells of a row."""
    more = 100 * (now.instructions / before.instructions - 1)
    return (f"{before.instructions / 1e6:.1f} M | {now.instructions / 1e6:.1f}"
            f" M ({more:+.1f} %) | {before.messages} | {now.messages} | "
            f"{before.memory:.0f} MiB | {now.memory:.0f} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="this build")
    parser.add_argument("--before", required=True, help="the other one")
    parser.add_argument("--rows", type=int, default=50_000)
    options = parser.parse_args()
    print("| route | job | instructions before | now | messages before | now "
          "| peak before | now |")
    print("| --- " * 8 + "|")
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="tidemark-counts-")))
        servers = Servers(stack, directory)
        for kind, to in ROUTES:
            for job, seen in route(servers, directory,
                                   (options.before, options.binary), kind, to,
                                   options.rows):
                print(f"| {kind} to {to} | {job} | "
                      f"{shown(*seen.values())} |", flush=True)


if __name__ == "__main__":
    main()

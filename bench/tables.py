"""Measure many tables: `bench/run --tables [--before BINARY] [--dlt PYTHON]
[--ingestr PROGRAM]`.

Jobs: every table is idle, or every table has a small delta. The tables are read
from Postgres and written to Postgres and to one DuckDB file. A second part puts
the servers at a distance of 10 and 50 ms, for one pipeline. Content is compared
after each run. Prints tables for bench/RESULTS.md; writes no file.

`--before` is another build of Tidemark. It gets targets and state of its own.
`--dlt` names a Python that has dlt[postgres] and its sql_database. `--ingestr`
names the command of a 0.14; what pip installs as 1.x loads a program from
elsewhere.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import duckdb

from bench import peak_run
from distance import Distance
from servers import APP, CANARY, Cluster

ROWS = 200
DELTA = 5
SUMS = "select count(*), coalesce(sum(id), 0), coalesce(sum(n), 0) from {}"

Contender = collections.namedtuple("Contender", "name prepare run sums")


def table(i):
    return f"t{i:04}"


class Many:
    """The source and a database for each contender, in one server."""

    def __init__(self, stack, options):
        self.options = options
        self.dir = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="tidemark-tables-")))
        os.chmod(self.dir, 0o755)
        self.cluster = Cluster("tables", settings={
            "shared_buffers": "512MB", "max_connections": 100,
            "max_locks_per_transaction": 4096,
            "autovacuum": "off"}).create().start().prepare()
        stack.callback(self.cluster.remove)
        self.env = dict(os.environ, BENCH_PASSWORD=CANARY)
        self.made = 0

    def sql(self, database, statements):
        with self.cluster.admin(database) as admin:
            for sql in statements:
                admin.execute(sql)

    def fill(self, count, rows=ROWS):
        """A source of `count` tables; its name."""
        name = f"source{count}_{rows}"
        self.cluster.create_database(name)
        make = ("create table {t} (id bigint primary key, n int not null,"
                " note text, updated_at timestamptz not null);"
                "insert into {t} select i, i % 7, 'note ' || i, timestamptz"
                " '2025-01-01' + i * interval '1 second'"
                " from generate_series(1, {rows}) i;"
                "create index on {t} (updated_at, id)")
        self.sql(name, ["set role app"] + [
            make.format(t=table(i), rows=rows) for i in range(count)])
        self.sql(name, ["vacuum (freeze, analyze)"])
        return name

    def change(self, source, count, generation):
        change = ("update {t} set n = n + 1, updated_at = timestamptz"
                  " '2026-01-01' + {g} * interval '1 hour' + id * interval"
                  " '1 ms' where id <= {delta}")
        self.sql(source, [change.format(t=table(i), g=generation, delta=DELTA)
                          for i in range(count)])

    def database(self):
        self.made += 1
        name = f"target{self.made}"
        self.cluster.create_database(name)
        return name

    def url(self, database, password="${BENCH_PASSWORD}"):
        return (f"postgresql://{APP}:{password}@127.0.0.1:{self.cluster.port}"
                f"/{database}")

    def sums(self, database, count, schema="public"):
        with self.cluster.admin(database) as admin:
            return [tuple(map(int, admin.execute(SUMS.format(
                f"{schema}.{table(i)}")).fetchone())) for i in range(count)]

    def sessions(self):
        """Sessions made since the server began, from its own counter."""
        with self.cluster.admin() as admin:
            return admin.execute("select coalesce(sum(sessions), 0) from"
                                 " pg_stat_database").fetchone()[0]


class Tool:
    """One build of Tidemark with a config of `count` pipelines."""

    def __init__(self, many, binary, source, engine, count, flags=()):
        self.many, self.binary, self.flags = many, binary, list(flags)
        self.engine, self.count, self.source = engine, count, source
        self.dir = pathlib.Path(tempfile.mkdtemp(dir=many.dir))
        if engine == "postgres":
            self.target = many.database()
            to, schema = many.url(self.target), "public."
        else:
            self.target = self.dir / "target.duckdb"
            to, schema = f"duckdb:{self.target}", "main."
        self.config(many.url(source), to, schema)

    def config(self, source, target, schema):
        lines = ["version: 1", f"state: sqlite:{self.dir}/state.db",
                 "connections:", f'  source: "{source}"',
                 f'  target: "{target}"', "pipelines:"]
        for i in range(self.count):
            lines += [f"  {table(i)}:",
                      f"    source: {{ connection: source, table: public.{table(i)} }}",
                      f"    destination: {{ connection: target, table: {schema}{table(i)} }}",
                      "    watermark: { strategy: timestamp, column: updated_at }"]
        self.path = self.dir / "tidemark.yaml"
        self.path.write_text("\n".join(lines) + "\n", encoding="ascii")
        self.path.chmod(0o600)

    def run(self):
        """Seconds, MiB."""
        return peak_run([self.binary, "-q", "-c", self.path, "run", "--json",
                         *self.flags], self.many.env, self.dir / "peak")[:2]

    def sums(self):
        if self.engine == "postgres":
            return self.many.sums(self.target, self.count)
        with duckdb.connect(str(self.target), read_only=True) as db:
            return [tuple(map(int, db.execute(SUMS.format(
                table(i))).fetchone())) for i in range(self.count)]


class Dlt:
    """The same tables through dlt, incremental by the same column."""

    def __init__(self, many, python, source, engine, count):
        self.many, self.python = many, python
        self.engine, self.count = engine, count
        self.dir = pathlib.Path(tempfile.mkdtemp(dir=many.dir))
        self.source = many.url(source, CANARY)
        if engine == "postgres":
            self.target = many.database()
            self.to = many.url(self.target, CANARY)
        else:
            self.target = self.dir / "target.duckdb"
            self.to = str(self.target)

    def run(self):
        script = pathlib.Path(__file__).with_name("tables_dlt.py")
        # Its own imports: without the modules of this tree.
        env = {k: v for k, v in self.many.env.items() if k != "PYTHONPATH"}
        return peak_run([self.python, "-P", script, self.source, self.engine,
                         self.to, str(self.count), self.dir],
                        dict(env, HOME=str(self.dir)), self.dir / "peak")[:2]

    def sums(self):
        if self.engine == "postgres":
            return self.many.sums(self.target, self.count, "copied")
        with duckdb.connect(str(self.target), read_only=True) as db:
            return [tuple(map(int, db.execute(SUMS.format(
                f"copied.{table(i)}")).fetchone())) for i in range(self.count)]


# Each table is a call of its own: it takes one.
INGESTR = """
program=$1 source=$2 target=$3 count=$4
for ((i = 0; i < count; i++)); do
	t=$(printf 't%04d' "$i")
	"$program" ingest --yes --progress log --source-uri "$source" \
		--source-table "public.$t" --dest-uri "$target" \
		--dest-table "copied.$t" --primary-key id \
		--incremental-key updated_at --incremental-strategy merge >&2
done
"""


class Ingestr(Dlt):
    """The same tables through ingestr, one after the other."""

    def run(self):
        env = {k: v for k, v in self.many.env.items() if k != "PYTHONPATH"}
        env.update(HOME=str(self.dir), INGESTR_DISABLE_TELEMETRY="true")
        to = self.to if self.engine == "postgres" else f"duckdb:///{self.to}"
        return peak_run(["bash", "-e", "-c", INGESTR, "ingestr", self.python,
                         self.source, to, str(self.count)],
                        env, self.dir / "peak")[:2]


def contenders(many, source, engine, count):
    options = many.options
    found = {}
    if options.before:
        found["tidemark before"] = Tool(many, options.before, source, engine,
                                        count)
    for jobs in options.jobs:
        found[f"tidemark, {jobs} jobs"] = Tool(
            many, options.binary, source, engine, count,
            ["--jobs", str(jobs)] if jobs else [])
    if options.dlt and count <= 40:  # more would take minutes
        found["dlt"] = Dlt(many, options.dlt, source, engine, count)
    if options.ingestr and count <= 40:
        found["ingestr"] = Ingestr(many, options.ingestr, source, engine,
                                   count)
    return found


def measure(many, job, tools, change, source, count):
    """Each contender of a job, `reps` times, in turn."""
    seconds, peaks, made = ({name: [] for name in tools} for _ in range(3))
    for _ in range(many.options.reps):
        change()
        wanted = many.sums(source, count)
        for name, tool in tools.items():
            before = many.sessions()
            took, peak = tool.run()
            made[name].append(many.sessions() - before - 1)
            seconds[name].append(took)
            peaks[name].append(peak)
            if tool.sums() != wanted:
                sys.exit(f"{job}: {name}: content differs from the source")
    base = statistics.median(next(iter(seconds.values())))
    for name, took in seconds.items():
        median = statistics.median(took)
        print(f"| {job} | {name} | {median:.3f} s | {base / median:.2f} "
              f"| {max(made[name])} | {max(peaks[name]):.0f} MiB |",
              flush=True)


def many_tables(many):
    print("| job | contender | median | ratio | sessions | peak RSS |")
    print("| --- | --- | --- | --- | --- | --- |")
    generation = iter(range(1, 1000))
    for count in many.options.counts:
        source = many.fill(count)
        for engine in many.options.engines:
            tools = contenders(many, source, engine, count)
            for tool in tools.values():
                tool.run()  # the first load, not measured
                tool.run()
            measure(many, f"{count} idle tables, {engine}", tools,
                    lambda: None, source, count)
            measure(many, f"{count} small deltas, {engine}", tools,
                    lambda s=source, n=count: many.change(s, n,
                                                          next(generation)),
                    source, count)


def at_a_distance(many):
    """One idle pipeline whose servers are far away."""
    print("\n| distance | contender | median | ratio |")
    print("| --- | --- | --- | --- |")
    source = many.fill(1)
    builds = {"before": many.options.before, "now": many.options.binary}
    for milliseconds in (0, 10, 50):
        base = None
        with Distance(many.cluster.port, milliseconds / 1000) as far:
            for name, binary in builds.items():
                if not binary:
                    continue
                tool = Tool(many, binary, source, "postgres", 1)
                tool.run()
                near = f"127.0.0.1:{many.cluster.port}"
                tool.path.write_text(tool.path.read_text().replace(
                    near, f"127.0.0.1:{far.port}"))
                tool.run()
                took = statistics.median(
                    tool.run()[0] for _ in range(many.options.reps))
                base = base or took
                print(f"| {milliseconds} ms | tidemark {name} | {took:.3f} s "
                      f"| {base / took:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--before", help="another build")
    parser.add_argument("--dlt", metavar="PYTHON", help="a Python with dlt")
    parser.add_argument("--ingestr", metavar="PROGRAM",
                        help="ingestr's command, 0.14")
    parser.add_argument("--counts", type=lambda s: [int(n) for n in
                                                    s.split(",")],
                        default=[40, 400, 1000])
    parser.add_argument("--engines", type=lambda s: s.split(","),
                        default=["postgres", "duckdb"])
    parser.add_argument("--jobs", type=lambda s: [int(n) for n in
                                                  s.split(",")],
                        default=[1, 4, 8])
    parser.add_argument("--reps", type=int, default=3)
    options = parser.parse_args()
    if options.before:
        options.before = os.path.abspath(options.before)
    options.binary = os.path.abspath(options.binary)
    with contextlib.ExitStack() as stack:
        many = Many(stack, options)
        many_tables(many)
        at_a_distance(many)


if __name__ == "__main__":
    main()

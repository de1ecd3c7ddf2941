"""Measure the first load of one table by several streams: `bench/run --streams`.

Contenders are `load.streams` of 1, 2 and 4, and psql's binary pipe (COPY TO | COPY
FROM). The pipe has one session, or two with half of the ids each. Each turn fills
a new target, whose content is compared behind it. Prints a table for
bench/RESULTS.md; writes no file.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import time

from servers import CANARY
from tables import Many, Tool

SUMS = ("select count(*), coalesce(sum(id), 0), coalesce(sum(amount), 0) "
        "from t0000")
MAKE = """
create table t0000 (id bigint primary key, customer bigint not null,
    status text not null, amount bigint not null, note text,
    created_at timestamptz not null, updated_at timestamptz not null,
    flags bigint not null, ratio double precision);
insert into t0000 select i, i * 7919 % 100003, (array['new', 'paid', 'sent'])
    [1 + i % 3], i * 137 % 100000, 'note of order ' || i,
    timestamptz '2025-01-01' + i * interval '1 second',
    timestamptz '2025-01-01' + i * interval '1 second', i % 8, i / 7.0
    from generate_series(1::bigint, {rows}) i;
create index on t0000 (updated_at, id);
"""


def fill(many):
    many.cluster.create_database("wide")
    many.sql("wide", ["set role app; " + MAKE.format(rows=many.options.rows)])
    many.sql("wide", ["vacuum (freeze, analyze)"])
    return "wide"


class Streams(Tool):
    def __init__(self, many, source, engine, streams):
        super().__init__(many, many.options.binary, source, engine, 1)
        text = self.path.read_text(encoding="ascii")
        self.path.write_text(text + f"    load: {{ streams: {streams} }}\n",
                             encoding="ascii")
        self.base = self.path.read_text(encoding="ascii")

    def run(self):
        """Into a place and with a state of its own, each time."""
        again = Tool(self.many, self.binary, self.source, self.engine, 1)
        again.path.write_text(
            self.base.replace(str(self.target), str(again.target))
            .replace(str(self.dir), str(again.dir)), encoding="ascii")
        took = again.run()
        self.found = sums(again)
        if self.engine == "postgres":
            self.many.sql("postgres", [f"drop database {again.target}"])
        else:
            os.unlink(again.target)
        return took


class Pipe:
    """COPY TO | COPY FROM in so many sessions, into the same table and index."""

    def __init__(self, many, source, sessions):
        self.many, self.source, self.sessions = many, source, sessions

    def run(self):
        many, rows = self.many, self.many.options.rows
        target = many.database()
        many.sql(target, ["set role app; " + MAKE.format(rows=0).split(
            "create index")[0]])
        cuts = [rows * i // self.sessions for i in range(self.sessions + 1)]
        begun = time.monotonic()
        pipes = [subprocess.Popen(
            ["bash", "-c", "set -o pipefail; "
             f"psql -qX '{many.url(self.source, CANARY)}' -c \"copy (select * "
             f"from t0000 where id > {low} and id <= {high}) to stdout "
             f"(format binary)\" | psql -qX '{many.url(target, CANARY)}' -c "
             "\"copy t0000 from stdin (format binary)\""],
            env=many.env) for low, high in zip(cuts, cuts[1:])]
        if any([pipe.wait() for pipe in pipes]):
            sys.exit("psql failed")
        took = time.monotonic() - begun
        with many.cluster.admin(target) as admin:
            self.found = admin.execute(SUMS).fetchone()
        many.sql("postgres", [f"drop database {target}"])
        return took, None


def sums(tool):
    if tool.engine == "postgres":
        with tool.many.cluster.admin(tool.target) as admin:
            return admin.execute(SUMS).fetchone()
    import duckdb
    with duckdb.connect(str(tool.target), read_only=True) as db:
        return db.execute(SUMS).fetchone()


def measure(many, engine, source):
    tools = {}
    if engine == "postgres":
        for sessions in (1, 2):
            tools[f"psql binary pipe, {sessions} session{'s' * (sessions > 1)}"
                  ] = Pipe(many, source, sessions)
    for streams in many.options.streams:
        tools[f"tidemark, {streams} stream{'s' * (streams > 1)}"] = Streams(
            many, source, engine, streams)
    with many.cluster.admin(source) as admin:
        wanted = tuple(map(int, admin.execute(SUMS).fetchone()))
    took, peaks = ({name: [] for name in tools} for _ in range(2))
    for _ in range(many.options.reps):
        for name, tool in tools.items():
            many.sql("postgres", ["checkpoint"])
            seconds, peak = tool.run()
            if tuple(map(int, tool.found)) != wanted:
                sys.exit(f"{name}: content differs from the source")
            took[name].append(seconds)
            peaks[name].append(peak)
    base = statistics.median(next(iter(took.values())))
    for name, seconds in took.items():
        median = statistics.median(seconds)
        peak = peaks[name][0] and f"{max(peaks[name]):.0f} MiB"
        print(f"| first load, {engine} | {name} | {median:.3f} s "
              f"| {many.options.rows / median / 1000:.0f} k/s "
              f"| {base / median:.2f} | {peak or '-'} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--engines", type=lambda s: s.split(","),
                        default=["postgres", "duckdb"])
    parser.add_argument("--streams", type=lambda s: [int(n) for n in
                                                     s.split(",")],
                        default=[1, 2, 4])
    parser.add_argument("--reps", type=int, default=3)
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    print("| job | contender | median | rows | ratio | peak RSS |")
    print("| --- | --- | --- | --- | --- | --- |")
    with contextlib.ExitStack() as stack:
        many = Many(stack, options)
        source = fill(many)
        for engine in options.engines:
            measure(many, engine, source)


if __name__ == "__main__":
    main()

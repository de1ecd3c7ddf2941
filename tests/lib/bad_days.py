"""Helpers for tests of bad days. They make a pipeline between two ends of any
engine, catch a run in its middle, and fill a disk up."""

import contextlib
import os
import subprocess

import pymysql

import oracle
import workload
from bench import EXIT_ACCESS, EXIT_OK, check_accounting, sync_items
from servers import wait_for
from state import StateStore

SERVERS = ("postgres", "mariadb", "mysql")
ENGINES = (*SERVERS, "sqlite", "duckdb")
WAREHOUSES = ("clickhouse", "bigquery")
MANY_BATCHES = {"rows": 200, "target": "1ms"}
# The breaker is not what is tested here.
NEVER_OPEN = {"failures": 100}
PATIENT = {"attempts": 40, "backoff": "50ms", "max_backoff": "500ms",
           "breaker": NEVER_OPEN}
HASTY = {"attempts": 2, "backoff": "10ms", "max_backoff": "10ms",
         "breaker": NEVER_OPEN}


def state_batches(tidemark):
    """How many batches the ledger has, while a run is under way."""
    if not os.path.exists(tidemark.state_file):
        return 0
    return StateStore(tidemark).batches()


def start_and_wait(tidemark, batches=3, count=state_batches, **more):
    """Start a run and wait until it has loaded some batches."""
    before = count(tidemark)
    running = tidemark.start("run", "--json", **more)
    wait_for(lambda: count(tidemark) >= before + batches
             or not running.alive(), step=0.005, what="the first batches")
    assert running.alive(), running.wait()
    return running


def kill_sessions(end, statements_only=False):
    """End Tidemark's sessions as an administrator does, and return how many
    there were."""
    if end.engine == "postgres":
        verb = "cancel" if statements_only else "terminate"
        with end.cluster.admin() as admin:
            return admin.execute(
                f"SELECT count(pg_{verb}_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = %s AND application_name <> 'test'",
                [end.database]).fetchone()[0]
    verb = "KILL QUERY" if statements_only else "KILL"
    killed = 0
    for number, *_ in end.sessions():
        with contextlib.suppress(pymysql.err.MySQLError):  # gone by itself
            end.execute(f"{verb} {number}")
            killed += 1
    return killed


class Day:
    """`items` of one end kept equal in another; a bad day for one of the
    three parts: source, warehouse, state."""

    def __init__(self, tidemark, source, destination, rows=0,
                 strategy="timestamp", mode="upsert", **settings):
        self.source, self.destination = source, destination
        self.to = f"{destination.schema}.items"
        self.columns = dict(oracle.ITEMS)
        self.mode = mode
        if rows:
            workload.create_items(source, rows=rows)
        self.tidemark = sync_items(tidemark, source, destination, strategy,
                                   mode, **settings)

    def count(self):
        return len(self.destination.rows(self.to, {"id": "int"}))

    def check(self):
        oracle.check_equal(self.source, self.destination, "items", self.to,
                           self.columns, pipeline="items")

    def check_covered(self):
        """Nothing below the mark is missing, whatever has happened."""
        oracle.check_crashed(self.source, self.destination, "items", self.to,
                             self.columns, "items")

    def fails(self, *args, expect=EXIT_ACCESS, says=(), **more):
        """A run that ends classed, with words that help; its message."""
        done = self.tidemark("run", "--json", *args, **more).expect(expect)
        message = done.pipeline()["error"]["message"]
        for each in says:
            assert each in message, (each, message)
        assert done.pipeline()["outcome"] == "failed", done
        self.check_covered()
        return message

    def recovers(self):
        """One run more and both sides are equal, the next writes nothing."""
        done = self.tidemark.run()
        self.check()
        if self.mode != "replace":
            again = self.tidemark.run().pipeline()
            assert again["rows_read"] == 0, again
        return done.pipeline()

    def survives(self, done):
        """A run that a fault met: retried, or classed; and then mended."""
        assert done.code in (EXIT_OK, EXIT_ACCESS), done
        result = done.pipeline()
        check_accounting(result)
        self.check_covered()
        if done.code == EXIT_OK:
            self.check()
        else:
            assert result["error"]["message"], done
        self.recovers()
        return done.code == EXIT_OK


def fill_up(path, leave=0):
    """A file that takes all room there is but for `leave` bytes."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(path, max(os.path.getsize(path) - leave, 0))


@contextlib.contextmanager
def mounted(path, size):
    """A file system in memory at `path`; why not, if it cannot be."""
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"mounting a small file system: {done.stderr.strip()}"
        return
    try:
        yield None
    finally:
        subprocess.run(["umount", "-l", path], check=True)

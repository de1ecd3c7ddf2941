"""bench/run works: each job, on few rows. The figures are not looked at."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = ["full load, Postgres", "full load, mysql",
        "full load, clickhouse", "delta, Postgres",
        "nothing changed, duckdb", "nothing changed, clickhouse",
        "read mariadb by time", "verify, equal",
        "verify, one wrong row", "backfill, Postgres",
        "delta, Postgres, dry"]


def test_every_job_runs(tidemark_binary):
    done = subprocess.run(
        [sys.executable, "bench/bench.py", "--binary", tidemark_binary,
         "--smoke"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
        env=dict(os.environ, PYTHONPATH="tests/lib"))
    assert done.returncode == 0, done.stdout + done.stderr
    measured = {line.split(" | ")[0].removeprefix("| ")
                for line in done.stdout.splitlines()
                if line.startswith("| ") and "| tidemark" in line}
    assert measured >= set(JOBS), done.stdout


def test_two_builds_take_turns(tidemark_binary):
    done = subprocess.run(
        [sys.executable, "bench/before.py", "--binary", tidemark_binary,
         tidemark_binary, "--turns", "1", "--reps", "1", "--rows", "2000",
         "--jobs", "delta"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
        env=dict(os.environ, PYTHONPATH="tests/lib"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("| delta, Postgres | ")


def test_many_tables_and_far_servers(tidemark_binary):
    done = subprocess.run(
        [sys.executable, "bench/tables.py", "--binary", tidemark_binary,
         "--counts", "3", "--jobs", "0", "--reps", "1"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
        env=dict(os.environ, PYTHONPATH="tests/lib"))
    assert done.returncode == 0, done.stdout + done.stderr
    measured = {line.split(" | ")[0].removeprefix("| ")
                for line in done.stdout.splitlines() if "| tidemark" in line}
    assert measured == {
        f"3 {job}, {engine}" for job in ("idle tables", "small deltas")
        for engine in ("postgres", "duckdb")} | {"0 ms", "10 ms", "50 ms"}


def test_serve(tidemark_binary):
    done = subprocess.run(
        [sys.executable, "bench/serve.py", "--binary", tidemark_binary,
         "--parts", "load", "--rows", "3000", "--turns", "2"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
        env=dict(os.environ, PYTHONPATH="tests/lib"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| 3,000 rows, run and serve in 2 turns | " in done.stdout


def test_workers_of_one_queue(tidemark_binary):
    """Also that the statements of a worker are found in the server's log."""
    done = subprocess.run(
        [sys.executable, "bench/scale.py", "--binary", tidemark_binary,
         "--reps", "1", "--workers", "1", "--rate", "1000", "--chunk-seconds",
         "1", "--chunks", "2", "--queued", "200", "--turns", "40", "--many",
         "0", "--afar", "16:0", "--seconds", "1"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
        env=dict(os.environ, PYTHONPATH="tests/lib"))
    assert done.returncode == 0, done.stdout + done.stderr
    for row in ("| 1 | now | ", "| claim and settle, as fast as it can | now |",
                "| renew a lease, as fast as it can | now |",
                "| 16 | 0 | now | "):
        assert row in done.stdout, done.stdout

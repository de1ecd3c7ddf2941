"""Memory runs out at the points where data enter. The run ends with a message,
nothing is half loaded, and the address sanitizer sees no crash."""

import pathlib
import subprocess

import pytest

from bench import EXIT_ACCESS, EXIT_BUG, EXIT_OK, Tidemark
from bad_days import HASTY, Day

SHIM = pathlib.Path(__file__).resolve().parents[1] / "lib/fail_malloc.c"
PAIRS = (("postgres", "sqlite"), ("mariadb", "postgres"),
         ("mysql", "mariadb"), ("postgres", "mysql"), ("postgres", "duckdb"))
LEAST = 1024  # bytes: rows, batches, files, answers; not names
POINTS, ALL_POINTS = 6, 60


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    path = tmp_path_factory.mktemp("shim") / "fail_malloc.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", path, SHIM],
                   check=True)
    return path


@pytest.fixture
def starve(shim, work_dir):
    """Run with the n-th larger allocation failing; how many there were."""
    def run(day, at=0):
        report = work_dir / "allocations"
        done = day.tidemark("run", "--json", env={
            "LD_PRELOAD": str(shim), "FAIL_MALLOC_AT": str(at),
            "FAIL_MALLOC_LEAST": str(LEAST),
            "FAIL_MALLOC_REPORT": str(report),
            "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"})
        return done, int(report.read_text()) if report.exists() else 0
    return run


def connection(end):
    """libpq that could not take in what came waits for more of it."""
    if end.engine in ("sqlite", "duckdb"):
        return end.connection()
    return {**end.connection(), "timeout": {"silence": "2s"}}


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_allocation_fails(sanitized_binary, work_dir, make_source,
                          make_destination, starve, full, pair):
    source, destination = (make_source(pair[0]), make_destination(pair[1]))
    day = Day(Tidemark(sanitized_binary, work_dir), source, destination, 600,
              batch={"rows": 200}, retry=HASTY)
    day.tidemark.connect("source", connection(source))
    day.tidemark.connect("warehouse", connection(destination)).write_config()
    done, n = starve(day)
    done.expect(EXIT_OK)
    assert n > 10, n
    points = ALL_POINTS if full else POINTS
    short = 0
    for at in range(1, n, max(n // points, 1)):
        day.tidemark("watermark", "reset", "items").expect(EXIT_OK)
        done, _ = starve(day, at)
        assert done.code in (EXIT_OK, EXIT_BUG, EXIT_ACCESS), (at, done)
        assert done.code == EXIT_OK or done.err, "not a word"
        assert "Sanitizer" not in done.err, (at, done)
        short += done.code != EXIT_OK
        day.check_covered()
    assert short, "no allocation failed"
    day.tidemark.connect("source", source.connection())
    day.tidemark.connect("warehouse", destination.connection()).write_config()
    day.tidemark.run()
    day.recovers()

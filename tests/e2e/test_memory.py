"""Memory stays flat, whatever the table's size."""

import signal
import time

import pytest

import workload
from bench import sync_items

MIB = 1024


@pytest.mark.thinned(3)
@pytest.mark.parametrize("engine", ("postgres", "sqlite"))
@pytest.mark.parametrize("kind,strategy", workload.SOURCES)
def test_first_load_stays_below_64_mib(tidemark, make_source, make_destination,
                                       engine, kind, strategy):
    source = make_source(kind)
    workload.create_items(source, rows=300_000)
    sync_items(tidemark, source, make_destination(engine), strategy)
    done, peak = tidemark.run_measured()
    assert done.pipeline()["rows_inserted"] == 300_000
    assert peak < 64 * MIB, f"{peak} KiB"


def test_first_load_into_mariadb_stays_below_64_mib(tidemark, source,
                                                    make_destination):
    """By blocks of the table, as no choice above reads."""
    workload.create_items(source, rows=300_000)
    sync_items(tidemark, source, make_destination("mariadb"), "xmin")
    done, peak = tidemark.run_measured()
    assert done.pipeline()["rows_inserted"] == 300_000
    assert peak < 64 * MIB, f"{peak} KiB"


def test_load_into_clickhouse_stays_below_48_mib(tidemark, source,
                                                 make_destination):
    """The first, and one of rows that are there: those go through a table of
    their own, and packed."""
    workload.create_items(source, rows=300_000)
    sync_items(tidemark, source, make_destination("clickhouse"), "timestamp")
    done, peak = tidemark.run_measured()
    assert done.pipeline()["rows_inserted"] == 300_000
    assert peak < 48 * MIB, f"{peak} KiB"
    tidemark.connections["warehouse"]["url"] += "?compression=zstd"
    tidemark.write_config()
    source.execute("UPDATE items SET quantity = quantity + 1, updated_at = "
                   "updated_at + interval '1 year' WHERE id <= 200000")
    done, peak = tidemark.run_measured()
    assert done.pipeline()["rows_updated"] == 200_000
    assert peak < 48 * MIB, f"{peak} KiB"


def test_duckdb_is_bounded_by_its_memory_limit(tidemark, source,
                                               make_destination):
    destination = make_destination("duckdb")
    workload.create_items(source, rows=300_000)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.connections["warehouse"] = destination.url() + "?memory_limit=200MB"
    tidemark.write_config()
    done, peak = tidemark.run_measured()
    assert done.pipeline()["rows_inserted"] == 300_000
    assert peak < (200 + 200) * MIB, f"{peak} KiB"


@pytest.fixture
def wide(tidemark, source, make_destination):
    """3 000 rows of 40 kB do not fit into one batch of rows."""
    source.execute(
        "CREATE TABLE wide (id int PRIMARY KEY, body text, updated_at "
        "timestamptz NOT NULL DEFAULT '2024-01-01')",
        "ALTER TABLE wide ALTER body SET STORAGE EXTERNAL",
        "CREATE INDEX ON wide (updated_at, id)",
        "INSERT INTO wide SELECT n, repeat(md5(n::text), 1250) "
        "FROM generate_series(1, 3000) n")
    sync_items(tidemark, source, make_destination("postgres"), "timestamp",
               table="wide", batch={"bytes": "4MiB"})


def test_wide_rows_are_bounded_by_bytes(tidemark, wide):
    done, peak = tidemark.run_measured()
    assert done.pipeline()["rows_inserted"] == 3000
    assert done.pipeline()["batches"] >= 3000 * 40_000 // (4 << 20)
    assert peak < 64 * MIB, f"{peak} KiB"


def high_water(pid):
    """KiB; 0 of a process that has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return next((int(line.split()[1]) for line in status
                         if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def test_a_full_socket_is_not_read_whole(tidemark, wide):
    """A process that gets little of the machine finds its sockets full, and
    they grow to 32 MiB."""
    running, peak = tidemark.start("run", "--json"), 0
    while running.alive():
        running.signal(signal.SIGSTOP)
        time.sleep(0.04)
        peak = max(peak, high_water(running.process.pid))
        running.signal(signal.SIGCONT)
        time.sleep(0.004)
    assert running.wait().pipeline()["rows_inserted"] == 3000
    assert 4 * MIB < peak < 30 * MIB, f"{peak} KiB"

"""A disk that is full: the batch rolls back, the message says what to do, and
with room again both sides come out equal. (The store's: test_state.py.)"""

import os
import shutil

import pytest

from bad_days import HASTY, Day, fill_up
from bench import EXIT_ACCESS
from ends import DuckdbEnd, SqliteEnd

ROWS = 15_000
FILES = {"sqlite": SqliteEnd, "duckdb": DuckdbEnd}
every_file = pytest.mark.parametrize("engine", FILES)


@pytest.fixture
def big_day(tidemark, make_source):
    def make(destination, **more):
        day = Day(tidemark, make_source("postgres"), destination, ROWS,
                  batch={"rows": 2000}, retry=HASTY, **more)
        day.source.execute(
            "UPDATE items SET payload = decode(repeat(md5(id::text) || "
            "md5(name), 6), 'hex') WHERE id > 200")
        return day
    return make


@every_file
def test_destination_file(big_day, small_disk, engine):
    day = big_day(FILES[engine](small_disk / "warehouse.db"))
    fill_up(small_disk / "ballast", leave=3 << 20)
    message = day.fails(expect=EXIT_ACCESS)
    assert "warehouse.db" in message, message
    assert "oom" in message or "space" in message, message
    before = day.count()
    (small_disk / "ballast").unlink()
    assert day.recovers()["rows_read"] <= ROWS - before + 1


def test_destination_file_of_several_streams(big_day, small_disk):
    """The range that meets the full disk is named; the next run goes on."""
    day = big_day(DuckdbEnd(small_disk / "warehouse.db"))
    day.source.execute("UPDATE items SET updated_at = timestamptz '2024-01-01' "
                       "+ id * interval '1 second'", "ANALYZE items")
    day.tidemark.pipelines["items"]["load"]["streams"] = 3
    day.tidemark.write_config()
    fill_up(small_disk / "ballast", leave=3 << 20)
    message = day.fails(expect=EXIT_ACCESS)
    assert "public.items, the range of updated_at from" in message, message
    (small_disk / "ballast").unlink()
    day.recovers()


@every_file
def test_size_limit_of_the_process(big_day, work_dir, engine):
    """`ulimit -f`: an error as any other, and no signal."""
    day = big_day(FILES[engine](work_dir / "warehouse.db"))
    running = day.tidemark.start("run", "--json", under=(
        "prlimit", f"--fsize={2 << 20}"))
    done = running.wait()
    assert done.code == EXIT_ACCESS, done
    assert "warehouse.db" in done.pipeline()["error"]["message"], done
    day.check_covered()
    day.recovers()


def test_tablespace_of_a_server(big_day, small_disk, cluster,
                                make_destination):
    place = small_disk / "space"
    place.mkdir()
    if os.getuid() == 0:
        shutil.chown(place, "postgres")
    os.chmod(small_disk.parent, 0o711)
    destination = make_destination("postgres")
    with cluster.admin() as admin:
        admin.execute(f"CREATE TABLESPACE small LOCATION '{place}'")
        admin.execute("GRANT CREATE ON TABLESPACE small TO app")
        admin.execute(f"ALTER DATABASE {destination.database} "
                      "SET default_tablespace = 'small'")
    try:
        day = big_day(destination)
        fill_up(small_disk / "ballast", leave=3 << 20)
        message = day.fails(expect=EXIT_ACCESS)
        assert "space" in message and "make room" in message, message
        (small_disk / "ballast").unlink()
        day.recovers()
    finally:
        cluster.drop_database(destination.database)
        with cluster.admin() as admin:
            admin.execute("DROP TABLESPACE small")

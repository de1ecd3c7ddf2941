"""`--metrics-file`: what node_exporter's collector reads."""

import os
import pathlib
import stat

import pytest

import workload
from bench import EXIT_CONFIG, EXIT_OK, EXIT_SCHEMA
from servers import wait_for
from test_serve import configure, fill, wait_equal


@pytest.fixture
def served(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    tables = fill(source, "a", "b")
    configure(tidemark, source, destination, tables,
              retry={"attempts": 1})
    return source, destination


@pytest.fixture
def place(tidemark):
    directory = pathlib.Path(tidemark.dir) / "collector"
    directory.mkdir()
    return directory / "tidemark.prom"


def told(place):
    """Value by name and labels."""
    text = place.read_text()
    assert text.endswith("# EOF\n")
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
            for line in text.splitlines() if line[:1] != "#"}


def test_run(tidemark, served, place):
    source, _ = served
    tidemark("run", "--metrics-file", str(place)).expect(EXIT_OK)
    first = told(place)
    assert first['tidemark_rows_total{pipeline="a",op="inserted"}'] == 30
    assert first['tidemark_runs_total{pipeline="b",outcome="caught_up"}'] == 1
    assert first['tidemark_last_success_timestamp_seconds{pipeline="a"}'] > 0
    assert stat.S_IMODE(place.stat().st_mode) == 0o644
    assert os.listdir(place.parent) == [place.name]
    # Also when pipelines fail, and with another umask.
    source.execute("ALTER TABLE b RENAME TO gone")
    os.chmod(place, 0o600)
    before = os.umask(0o077)
    try:
        tidemark("run", "--metrics-file", str(place)).expect(EXIT_SCHEMA)
    finally:
        os.umask(before)
    second = told(place)
    assert second['tidemark_failing{pipeline="b"}'] == 1
    assert second['tidemark_failing{pipeline="a"}'] == 0
    assert second['tidemark_run_failures_total{pipeline="b",code="schema"}'] \
        == 1
    assert stat.S_IMODE(place.stat().st_mode) == 0o644
    assert os.listdir(place.parent) == [place.name]


def test_whoever_reads_it_meanwhile_has_one_whole(tidemark, served, place):
    """It is replaced, and not written again."""
    tidemark("run", "--metrics-file", str(place)).expect(EXIT_OK)
    with open(place, encoding="utf-8") as reader:
        before = reader.read()
        tidemark("run", "--metrics-file", str(place)).expect(EXIT_OK)
        reader.seek(0)
        assert reader.read() == before != place.read_text()


def test_watch_writes_each_round(tidemark, served, place):
    source, destination = served
    running = tidemark.start("run", "--watch", "100ms", "--metrics-file",
                             str(place))
    rounds = 'tidemark_runs_total{pipeline="a",outcome="caught_up"}'
    wait_for(lambda: place.exists() and told(place)[rounds] >= 3,
             what="three rounds")
    workload.fill_items(source, 31, 50, stamp="now()", table="a")
    wait_equal(source, destination, "a")
    rows = 'tidemark_rows_total{pipeline="a",op="inserted"}'
    wait_for(lambda: told(place)[rows] == 50, what="the rows")
    running.signal(15)
    running.wait()


def test_worker(tidemark, served, place):
    tidemark("worker", "--once", "--metrics-file", str(place)).expect(EXIT_OK)
    for name in "ab":
        assert told(place)[
            f'tidemark_rows_total{{pipeline="{name}",op="inserted"}}'] == 30


def test_copy(tidemark, served, place):
    _, destination = served
    tidemark.run()
    tidemark("copy", destination.connection(),
             f"sqlite:{tidemark.dir}/copied.db", "--table", "a",
             "--watermark", "timestamp:updated_at", "--metrics-file",
             str(place)).expect(EXIT_OK)
    rows, = (value for name, value in told(place).items()
             if "tidemark_rows_total" in name and "inserted" in name)
    assert rows == 30


@pytest.mark.parametrize("command", ["run", "worker"])
@pytest.mark.parametrize("path, why", [
    ("/dev/null", "no plain file"), ("none/x.prom", "cannot be written"),
    ("x/", "no name of a file"), ("collector", "no plain file")])
def test_bad_paths_before_anything_runs(tidemark, served, place, command, path,
                                        why):
    once = ["--once"] if command == "worker" else []
    done = tidemark(command, *once, "--metrics-file", path)
    assert done.code == EXIT_CONFIG and why in done.err, done
    assert not os.path.exists(tidemark.state_file)

"""Files that are made in steps: whatever step the process is killed at, the
next run makes them, or goes on with them.
"""

import pathlib
import signal
import subprocess

import pytest

import oracle
import workload
from bench import sync_items

SHIM = pathlib.Path(__file__).resolve().parents[1] / "lib/kill_at.c"
# More than it takes to make each of the files.
MOST, SPREAD = 16, 60


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    path = tmp_path_factory.mktemp("shim") / "kill_at.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", path, SHIM],
                   check=True)
    return path


@pytest.fixture
def die(tidemark, shim):
    """A command that is killed before its n-th step on files of that name;
    whether it came that far."""
    def run(at, name, *command):
        done = tidemark(*command, env={
            "LD_PRELOAD": str(shim), "KILL_AT": str(at), "KILL_AT_NAME": name})
        assert done.code in (0, -signal.SIGKILL), done
        return done.code != 0
    return run


def left(directory):
    return sorted(path.name for path in directory.glob(".*.new"))


@pytest.mark.parametrize("engine", ("duckdb", "sqlite"))
def test_destination_file(tidemark, make_source, make_destination, work_dir,
                          die, engine, full):
    source, destination = make_source("postgres"), make_destination(engine)
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "timestamp")
    path = pathlib.Path(destination.path)
    for at in range(1, SPREAD if full else MOST):
        for each in path.parent.glob(f"*{path.name}*"):
            each.unlink()
        if not die(at, path.name, "run"):
            break
        assert tidemark.run().pipeline()["outcome"] == "caught_up"
        assert not left(path.parent)
        oracle.check_equal(source, destination, "items", "items",
                           oracle.ITEMS)


def test_state_file(tidemark, make_source, make_destination, die, full):
    source, destination = make_source("postgres"), make_destination("sqlite")
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "timestamp")
    state = pathlib.Path(tidemark.state_file)
    for at in range(1, SPREAD if full else MOST):
        for each in state.parent.glob(f"{state.name}*"):
            each.unlink()
        if not die(at, state.name, "run"):
            break
        tidemark.run()
        oracle.check_equal(source, destination, "items", "items",
                           oracle.ITEMS)


def test_config_file(tidemark, make_source, make_destination, work_dir, die):
    source = make_source("sqlite")
    workload.create_items(source, rows=1)
    path = work_dir / "made.yaml"
    command = ("init", source.url(), make_destination("sqlite").url(), "-o",
               str(path))
    for at in range(1, MOST):
        if not die(at, "made.yaml", *command):
            break
        if not path.exists():
            tidemark(*command).expect(0)
            assert not left(work_dir)
        assert "pipelines:" in path.read_text(encoding="utf-8")
        path.unlink()
    assert at > 2

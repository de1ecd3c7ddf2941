"""Limits to the harm of a memory mistake: how the programs are linked and
compiled, and what a process that dies of one leaves behind."""

import json
import os
import pathlib
import re
import resource
import signal
import subprocess

import pytest

from servers import wait_for


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], check=True,
                          capture_output=True, text=True).stdout


@pytest.fixture(params=("tidemark", "tidemark-duckdb.so"))
def program(request, tidemark_binary):
    path = pathlib.Path(tidemark_binary).parent / request.param
    if not path.exists():
        pytest.skip(f"built without {request.param}")
    return path


def test_how_it_is_linked(program):
    """The program loads at any address, and no writable memory can be run. All
    that the loader has filled in is read-only from then on, before main."""
    segments, dynamic = readelf("-l", program), readelf("-d", program)
    assert readelf("-h", program).count("DYN (") == 1
    assert re.search(r"FLAGS_1.*\bNOW\b", dynamic), dynamic
    assert "TEXTREL" not in dynamic
    if program.suffix != ".so":
        assert re.search(r"FLAGS_1.*\bPIE\b", dynamic), dynamic
    stack, = re.findall(r"GNU_STACK .*", segments)
    assert " RW " in stack, stack
    assert re.findall(r"GNU_RELRO ", segments)
    assert not re.findall(r" RWE ", segments)


# glibc's checked form takes the place of these wherever they are called, from
# _FORTIFY_SOURCE=2 on: with 1 the compiler makes plain calls of them again.
FROM_LEVEL_2 = ("fprintf", "vfprintf", "vsnprintf", "vasprintf")


def imported(program):
    """The names of libraries' functions that it calls."""
    return set(re.findall(r" UND (\w+)", readelf("--dyn-syms", program)))


def test_how_it_is_compiled(program):
    names = imported(program)
    assert "__stack_chk_fail" in names
    assert [name for name in names if re.fullmatch(r"__(?!stack)\w+_chk", name)]
    assert not names & set(FROM_LEVEL_2), names


def test_level_of_fortify(tidemark_binary):
    """By what it calls, and by how each of its files was compiled."""
    build = pathlib.Path(tidemark_binary).parent
    assert {"__fprintf_chk", "__vsnprintf_chk"} <= imported(tidemark_binary)
    commands = json.loads((build / "compile_commands.json").read_text())
    ours = [each for each in commands if "/tests/" not in each["file"]]
    assert len(ours) > 100
    for each in ours:
        said = re.findall(r"-([DU])_FORTIFY_SOURCE(?:=(\d))?", each["command"])
        assert said and said[-1][0] == "D" and int(said[-1][1]) >= 2, each


def start_waiting(tidemark, **env):
    """A run that waits for its next turn, where cores are wanted."""
    source = os.path.join(tidemark.dir, "source.db")
    subprocess.run(["sqlite3", source,
                    "CREATE TABLE t (id INTEGER PRIMARY KEY);"
                    "INSERT INTO t VALUES (1)"], check=True)
    tidemark.connect("source", f"sqlite:{source}")
    tidemark.connect("warehouse", f"sqlite:{tidemark.dir}/w.db")
    tidemark.pipeline(
        "t", source={"connection": "source", "table": "t"},
        destination={"connection": "warehouse", "table": "t"},
        watermark={"strategy": "sequence", "column": "id"})
    running = tidemark.write_config().start(
        "run", "--watch", "1h", env=env,
        under=("prlimit", "--core=unlimited:unlimited"))
    wait_for(lambda: b"caught up" in running.text["out"])
    return running


@pytest.mark.parametrize("death", (signal.SIGSEGV, signal.SIGABRT))
def test_no_core(tidemark, death):
    running = start_waiting(tidemark)
    running.signal(death)
    _, status = os.waitpid(running.process.pid, 0)
    assert os.WTERMSIG(status) == death and not os.WCOREDUMP(status)
    assert not [name for name in os.listdir(tidemark.dir)
                if name.startswith("core")]


def test_core_on_demand(tidemark):
    running = start_waiting(tidemark, TIDEMARK_CORE_DUMPS="1")
    limit = resource.prlimit(running.process.pid, resource.RLIMIT_CORE)
    running.kill()
    assert limit == (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

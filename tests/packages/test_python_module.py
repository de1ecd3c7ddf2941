"""The Python module of the wheel: results, exceptions and signals.

It is used by the interpreter of the tests, out of the unpacked wheel.
"""

import os
import re
import signal
import subprocess
import sys
import zipfile

import pytest

import workload
from bench import sync_items
from builds import ROOT
from servers import PATIENCE

pytestmark = pytest.mark.xdist_group("wheel")
# A program that prints what the test wants of it, and heeds signals as ours does.
STAND_IN = """#!{python}
import json, os, signal, sys, time
got = []
def take(number, frame):
    got.append(number)
    if "patient" in sys.argv:
        time.sleep(0.5)  # for a second signal that should not come
    if len(got) > 1 or "deaf" not in sys.argv:
        with open(sys.argv[0] + ".got", "a") as file:
            print(*got, file=file)
        print(json.dumps({{"got": got, "pipelines": []}}), flush=True)
        os._exit(8)
signal.signal(signal.SIGINT, take)
signal.signal(signal.SIGTERM, take)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])
words = sys.argv[sys.argv.index("--") + 1:]
if words[:1] == ["exit"]:
    print(json.dumps({{"level": "error", "message": "it failed", "code": words[2],
                      "pipeline": "orders"}}), file=sys.stderr)
    if words[2] != "silent":
        print(json.dumps({{"argv": sys.argv[1:], "env": os.environ.get("NEW")}}))
    if words[1].startswith("-"):
        os.kill(os.getpid(), -int(words[1]))
    sys.exit(int(words[1]))
print(json.dumps({{"level": "info", "message": "ready"}}), file=sys.stderr,
      flush=True)
while True:
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    """The wheel as pip would unpack it."""
    place = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    for name in ("tidemark", "tidemark-duckdb.so"):
        (place / "tidemark/_program" / name).chmod(0o755)
    return place


@pytest.fixture
def module(unpacked, monkeypatch):
    monkeypatch.syspath_prepend(str(unpacked))
    import tidemark
    assert tidemark.__file__.startswith(str(unpacked))
    return tidemark


@pytest.fixture
def stand_in(module, tmp_path, monkeypatch):
    path = tmp_path / "stand-in"
    path.write_text(STAND_IN.format(python=sys.executable))
    path.chmod(0o755)
    monkeypatch.setattr(module._call, "PROGRAM", str(path))
    return path


def test_results_come_back_and_differences_raise(module, tidemark, make_source,
                                                 make_destination):
    source, destination = make_source("sqlite"), make_destination("sqlite")
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "timestamp")
    config = tidemark.config
    assert module.call("check", "items", config=config)["pipelines"]
    assert module.run("items", config=config)["pipelines"][0][
        "rows_inserted"] == 5
    assert module.verify(config=config)["pipelines"][0]["equal"]
    destination.execute("DELETE FROM items WHERE id = 3")
    with pytest.raises(module.Different) as caught:
        module.verify("items", config=config)
    assert caught.value.code == 7
    assert caught.value.result["pipelines"][0]["missing"] == 1
    module.verify("items", config=config, flags=["--repair", "--yes"])


def test_the_page_s_example_runs_as_it_stands(
        module, tidemark, make_source, make_destination, monkeypatch, capsys):
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    example, = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    source, destination = make_source("sqlite"), make_destination("sqlite")
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "timestamp", name="orders")
    monkeypatch.chdir(tidemark.dir)
    told = {}
    exec(example, told)
    assert told["runs"]["runs"][0]["pipeline"] == "orders"
    assert capsys.readouterr().out == ""
    destination.execute("DELETE FROM items WHERE id = 3")
    exec(example, told)
    assert "'id': 3" in capsys.readouterr().out.replace('"', "'")


def test_the_page_lists_each_exception(module):
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    for name in module.__all__:
        if name != "__version__":
            assert re.search(rf"\b{name}\b", page), name
    for code, kind in module._errors.BY_CODE.items():
        assert re.search(rf"\b{code}\s+`{kind.__name__}`", page), kind


def test_errors_of_the_program_are_told(module, tmp_path):
    with pytest.raises(module.Config) as caught:
        module.run(cwd=tmp_path)
    assert caught.value.kind == "config" and caught.value.result is None
    assert "there is no tidemark.yaml here" in str(caught.value)
    with pytest.raises(module.Config, match="--frob"):
        module.run(flags=["--frob"])
    # A name is never taken for a flag.
    with pytest.raises(module.Config, match="no pipeline"):
        (tmp_path / "c.yaml").write_text(
            "version: 1\nstate: sqlite:s.db\nconnections: {a: 'sqlite:a.db'}\n"
            "pipelines: {p: {source: {connection: a, table: main.t}, load: "
            "{mode: replace}, destination: {connection: a, table: main.u}}}\n")
        (tmp_path / "c.yaml").chmod(0o600)
        module.run("--help", config=tmp_path / "c.yaml", cwd=tmp_path)


@pytest.mark.parametrize("code, name", enumerate((
    "Failed", "Config", "Access", "Schema", "Data", "Busy", "Different",
    "Stopped"), 1))
def test_each_exit_code_has_its_exception(module, stand_in, code, name):
    with pytest.raises(module.Error) as caught:
        module.call("any", "exit", str(code), "kind", config="c.yaml",
                    flags=["--flag"], env={"NEW": "1"})
    error = caught.value
    assert type(error) is getattr(module, name)
    assert (error.code, error.kind, error.message) == (code, "kind",
                                                       "it failed")
    assert error.result["env"] == "1"
    assert error.result["argv"] == [
        "any", "--json", "--log-format", "json", "--config", "c.yaml",
        "--flag", "--", "exit", str(code), "kind"]


@pytest.mark.parametrize("code", (9, -signal.SIGKILL))
def test_no_exit_code_of_ours_is_a_crash(module, stand_in, code):
    with pytest.raises(module.Crashed) as caught:
        module.call("any", "exit", str(code), "silent")
    assert (caught.value.code, caught.value.result) == (code, None)


def test_log_lines_go_to_the_logger(module, stand_in, caplog):
    with pytest.raises(module.Data):
        module.call("any", "exit", "5", "kind")
    record = caplog.records[-1]
    assert (record.name, record.levelname, record.getMessage()) == (
        "tidemark", "ERROR", "orders: it failed")
    assert record.tidemark["code"] == "kind"


@pytest.fixture
def held_back():
    """Signals wait until the program of the test is ready for them."""
    both = [signal.SIGINT, signal.SIGTERM]
    signal.pthread_sigmask(signal.SIG_BLOCK, both)
    yield
    signal.pthread_sigmask(signal.SIG_UNBLOCK, both)


def test_a_timeout_asks_for_a_stop(module, stand_in, held_back):
    with pytest.raises(module.TimedOut) as caught:
        module.run("wait", timeout=1)
    assert caught.value.result["got"] == [signal.SIGTERM]
    assert isinstance(caught.value, module.Stopped)


def test_a_run_that_does_not_stop_ends_when_grace_is_over(module, stand_in,
                                                          held_back):
    with pytest.raises(module.TimedOut) as caught:
        module.call("any", "deaf", timeout=1, grace=1)
    assert set(caught.value.result["got"]) == {signal.SIGTERM, signal.SIGINT}


# A job in the background has SIGINT ignored, and so have the tests in it.
CALLER = """
import signal, sys, tidemark
signal.signal(signal.SIGINT, signal.default_int_handler)
tidemark._call.PROGRAM = sys.argv[1]
import logging
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
try:
    tidemark.run("patient")
except KeyboardInterrupt as error:
    print("interrupted", error.__context__)
    raise
except tidemark.Stopped as error:
    print("stopped", error.result["got"], flush=True)
"""


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM))
def test_signals_reach_the_program_once(stand_in, unpacked, number):
    """Also Ctrl-C, which a terminal sends to the whole group: the program must
    not take it for a second one, which ends it at once."""
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER, stand_in], stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(unpacked)}, text=True,
        start_new_session=True)
    try:
        assert caller.stdout.readline() == "ready\n"
        os.killpg(caller.pid, number)
        rest = caller.communicate(timeout=PATIENCE)[0]
    finally:
        caller.kill()
    assert stand_in.with_suffix(".got").read_text() == f"{number}\n"
    if number == signal.SIGINT:
        assert rest.startswith("interrupted") and caller.returncode != 0
    else:
        # Handed on, waited for, and then died of.
        assert (rest, caller.returncode) == ("", -signal.SIGTERM)

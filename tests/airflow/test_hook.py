"""The connection, the program's place, and what Airflow knows of the provider."""

import importlib.metadata
import json
import pathlib
import re
import stat
import subprocess
import sys

import jsonschema
import pytest

import airflow
import airflow_provider_tidemark
from airflow.sdk.exceptions import AirflowFailException
from airflow_provider_tidemark import hook as hooks
from airflow_provider_tidemark.hook import TidemarkHook
from bench import PASSWORD_VARIABLE
from conftest import PROVIDER, ROOT
from servers import CANARY


@pytest.fixture
def masked(monkeypatch):
    """Values that Airflow was told to hide."""
    told = []
    monkeypatch.setattr(hooks, "mask_secret", told.append)
    return told


def test_variables_and_password(connect, tidemark_binary, monkeypatch, masked):
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "secret")
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", "secret")
    monkeypatch.setenv("HARMLESS", "kept")
    connect(tidemark_binary, password="pass-word", env=json.dumps(
        {"SHOP_PASSWORD": CANARY, "SHOP_PORT": 5432}))
    env = TidemarkHook(env={"SCHEMA": "shop"}).environment()
    assert env["TIDEMARK_PASSWORD"] == "pass-word"
    assert (env["SHOP_PASSWORD"], env["SHOP_PORT"]) == (CANARY, "5432")
    assert (env["SCHEMA"], env["HARMLESS"]) == ("shop", "kept")
    assert "secret" not in env.values()
    assert set(masked) == {"pass-word", CANARY, "5432"}


@pytest.mark.parametrize("extra, words", [
    ({"confg": "x"}, 'an unknown key "confg"; there are: binary, config'),
    ({"env": "SHOP=1"}, "env of connection tidemark_default is not JSON"),
    ({"env": ["SHOP"]}, "is no object such as"),
    ({"env": {"A=B": "1"}}, "'A=B' is no variable's name"),
    ({"env": {"A": {"b": "c"}}}, "the value of A is no text"),
    ({"directory": "/nowhere/at/all"}, "no directory /nowhere/at/all"),
    ({"binary": "/nowhere/tidemark"}, "/nowhere/tidemark"),
])
def test_a_connection_that_is_wrong(connect, tidemark_binary, extra, words):
    connect(**{"binary": tidemark_binary, **extra})
    with pytest.raises(AirflowFailException, match=words) as refused:
        outcome = TidemarkHook().call("version")
        assert outcome.code == 2
        raise AirflowFailException("\n".join(outcome.errors))
    assert CANARY not in str(refused.value)


def test_the_button(connect, tidemark_binary):
    connect(tidemark_binary)
    works, said = TidemarkHook().test_connection()
    assert works and said.startswith("Tidemark 0.")
    connect("/nowhere/tidemark")
    works, said = TidemarkHook().test_connection()
    assert not works and "No such file" in said


def test_where_the_program_is(monkeypatch, tmp_path):
    """The connection's, else the wheel's, else that of $PATH."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AirflowFailException, match="no tidemark on this wor"):
        TidemarkHook(None).program()
    program = tmp_path / "tidemark"
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert TidemarkHook(None).program() == str(program)
    wheel = tmp_path / "wheel/tidemark"
    (wheel / "_program").mkdir(parents=True)
    monkeypatch.syspath_prepend(wheel.parent)
    assert TidemarkHook(None).program() == str(program)  # another project
    program.rename(wheel / "_program/tidemark")
    for file in (ROOT / "packaging/wheel/tidemark").glob("*.py"):
        (wheel / file.name).write_bytes(file.read_bytes())
    assert TidemarkHook(None).program() == str(wheel / "_program/tidemark")


def test_the_provider_as_airflow_sees_it():
    info = airflow_provider_tidemark.get_provider_info()
    schema = pathlib.Path(airflow.__file__).parent / "provider_info.schema.json"
    jsonschema.validate(info, json.loads(schema.read_text()))
    version = re.search(r"version: '(.*)'", (ROOT / "meson.build").read_text())
    assert info["versions"] == [version[1]]
    kind, = info["connection-types"]
    assert kind["connection-type"] == TidemarkHook.conn_type
    assert set(kind["conn-fields"]) | {"env"} == set(hooks.KEYS)
    assert TidemarkHook.get_ui_field_behaviour()["hidden_fields"]


def test_the_wheel(installed):
    """Airflow finds the provider by an entry point of its distribution."""
    found, = importlib.metadata.distributions(path=[str(installed)])
    info = airflow_provider_tidemark.get_provider_info()
    assert (found.name, found.version) == (info["package-name"],
                                           *info["versions"])
    entry, = found.entry_points
    assert entry.group == "apache_airflow_provider" and entry.load()() == info
    files = {str(file) for file in found.files}
    source = {str(file.relative_to(PROVIDER)) for file in
              (PROVIDER / "airflow_provider_tidemark").rglob("*.py")}
    assert source | {"airflow_provider_tidemark/py.typed"} <= files


@pytest.mark.parametrize("command", [
    ["ruff", "check", "--no-cache", "--quiet", "."],
    ["mypy", "--cache-dir", ROOT / "build-test/mypy",
     "airflow_provider_tidemark"],
], ids=lambda command: command[0])
def test_lint(command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=PROVIDER,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

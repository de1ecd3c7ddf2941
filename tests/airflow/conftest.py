"""Airflow for the tests: a home of its own, and single tries of tasks."""

import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROVIDER = ROOT / "integrations/airflow"
HOME = tempfile.mkdtemp(prefix="tidemark-airflow-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
# Airflow reads them when it is imported.
os.environ.update(AIRFLOW_HOME=HOME, AIRFLOW__CORE__LOAD_EXAMPLES="False",
                  AIRFLOW__CORE__UNIT_TEST_MODE="True")
sys.path.insert(0, str(PROVIDER))

import attempts  # noqa: E402
from bench import PASSWORD_VARIABLE  # noqa: E402
from servers import CANARY, kill_group  # noqa: E402

CONNECTION = "AIRFLOW_CONN_TIDEMARK_DEFAULT"


def pytest_collection_modifyitems(config, items):
    """Tests marked `only_full` run with --full."""
    left = [item for item in items if item.get_closest_marker("only_full")
            and not config.getoption("--full")]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A directory with the provider as pip installs it from its wheel."""
    work = tmp_path_factory.mktemp("provider")
    source = shutil.copytree(PROVIDER, work / "source",
                             ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [sys.executable, "-c", "import sys; from setuptools import build_meta; "
         "build_meta.build_wheel(sys.argv[1])", work], cwd=source,
        stdout=subprocess.DEVNULL, check=True)
    wheel, = work.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work / "installed")
    return work / "installed"


@pytest.fixture
def connect(monkeypatch):
    """Define the connection; the test's password is among its variables."""
    def define(binary, password=None, **extra):
        extra = {"binary": binary, "env": {PASSWORD_VARIABLE: CANARY},
                 **extra}
        monkeypatch.setenv(CONNECTION, json.dumps(
            {"conn_type": "tidemark", "password": password,
             "extra": json.dumps(extra)}))
    return define


@pytest.fixture
def airflow(connect, tidemark_failpoints, capsys):
    """Tries of tasks over the test's config, by the build with failpoints."""
    connect(tidemark_failpoints.binary, config=tidemark_failpoints.config)
    made = attempts.Attempts(capsys)
    yield made
    for operator in made.operators:
        process = operator._hook and operator._hook.process
        if process and process.process.poll() is None:
            kill_group(process.process)

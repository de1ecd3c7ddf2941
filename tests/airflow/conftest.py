"""Airflow for the tests: a home of its own, and single tries of tasks."""

import atexit
import json
import os
import pathlib
import shutil
import sys
import tempfile

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

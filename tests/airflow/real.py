"""A whole Airflow: its database, API server, DAG processor and scheduler."""

import contextlib
import glob
import json
import os
import signal
import subprocess
import sys
import urllib.request

from conftest import CONNECTION
from servers import CANARY, free_port, lives, wait_for

SETTINGS = {
    "CORE__EXECUTOR": "LocalExecutor",
    "CORE__LOAD_EXAMPLES": "False",
    "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
    "API__HOST": "127.0.0.1",
    "API__WORKERS": "1",
    "API__SECRET_KEY": "k" * 32,
    "API_AUTH__JWT_SECRET": "s" * 64,
    "USAGE_DATA_COLLECTION__ENABLED": "False",
}
COMMANDS = {"scheduler": ["scheduler", "--skip-serve-logs"],
            "api": ["api-server"], "dags": ["dag-processor"],
            "triggerer": ["triggerer", "--skip-serve-logs"]}


class RealAirflow:
    """Its home is a directory of the test; its database is one of ours."""

    def __init__(self, end, home, provider, connection, **more):
        self.end, self.home, self.port = end, home, free_port()
        self.running, self.orphans = {}, []
        (home / "dags").mkdir(parents=True)
        url = end.cluster.url(end.database).replace(
            "postgresql:", "postgresql+psycopg:")
        settings = {
            **SETTINGS, **more, "API__PORT": str(self.port),
            "DATABASE__SQL_ALCHEMY_CONN": url,
            "DATABASE__SQL_ALCHEMY_CONN_ASYNC": url,
            "CORE__EXECUTION_API_SERVER_URL":
                f"http://127.0.0.1:{self.port}/execution/",
        }
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("AIRFLOW")
                and name != "PYTHONPYCACHEPREFIX"}
        self.env = {**kept, "AIRFLOW_HOME": str(home),
                    "PYTHONPATH": str(provider), CONNECTION: connection,
                    **{f"AIRFLOW__{name}": value
                       for name, value in settings.items()}}

    def command(self, *words):
        """Run Airflow's command to its end."""
        with open(self.home / "commands.log", "ab") as log:
            subprocess.run([sys.executable, "-m", "airflow", *words],
                           env=self.env, stdin=subprocess.DEVNULL, stdout=log,
                           stderr=log, check=True)

    def output(self, name):
        """The file of a server's output. LocalExecutor repeats the lines of
        tasks in the scheduler's, where Airflow does not mask them."""
        where = self.home / name
        where.mkdir(exist_ok=True)
        return where / ("holds-secret" if name == "scheduler" else "output")

    def begin(self, name):
        with open(self.output(name), "ab") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-m", "airflow", *COMMANDS[name]],
                env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)

    def start(self, *more):
        """Tasks need the API from their first moment on."""
        self.command("db", "migrate")
        for name in ("api", "dags", *more):
            self.begin(name)
        wait_for(self.answers, what="Airflow's API")
        self.begin("scheduler")
        return self

    def answers(self):
        for name, process in self.running.items():
            assert process.poll() is None, self.said(name)
        with contextlib.suppress(OSError):
            return self.ask("/api/v2/version")
        return None

    def ask(self, path, token=None):
        """The API's answer to a GET."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            headers={"Authorization": f"Bearer {token}"} if token else {})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def providers(self):
        """The providers that it has found, by name."""
        token = self.ask("/auth/token")["access_token"]
        return {each["package_name"]: each for each in self.ask(
            "/api/v2/providers?limit=100", token)["providers"]}

    def said(self, name):
        return self.output(name).read_text(errors="replace")[-3000:]

    def kill_alone(self, name):
        """By SIGKILL. Its children live on, until stop()."""
        process = self.running.pop(name)
        self.orphans += descendants(process.pid)
        process.kill()
        process.wait()

    def kill(self, name):
        """By SIGKILL, with all that it has started."""
        process = self.running.pop(name)
        for pid in [process.pid, *descendants(process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()

    def stop(self):
        for name in list(self.running):
            self.kill(name)
        for pid in self.orphans:
            if "airflow" in " ".join(command_line(pid)):
                os.kill(pid, signal.SIGKILL)

    def query(self, sql):
        return self.end.query(sql)

    def states(self, dag):
        """(task, map index) -> state."""
        return {(task, index): state for task, index, state in self.query(
            "SELECT task_id, map_index, state FROM task_instance "
            f"WHERE dag_id = '{dag}'")}

    def tries(self, dag, task):
        """map index -> tries."""
        return dict(self.query(
            "SELECT map_index, try_number FROM task_instance WHERE "
            f"dag_id = '{dag}' AND task_id = '{task}'"))

    def run_state(self, dag):
        found = self.query(f"SELECT state FROM dag_run WHERE dag_id = '{dag}'")
        return found[0][0] if found else None

    def ended(self, dag):
        """The state of its run, once it has one of an end."""
        for name, process in self.running.items():
            assert process.poll() is None, self.said(name)
        state = self.run_state(dag)
        return state if state in ("success", "failed") else None

    def xcoms(self, dag, task, key="return_value"):
        """map index -> value."""
        return {index: value if not isinstance(value, str)
                else json.loads(value) for index, value in self.query(
                    "SELECT map_index, value FROM xcom WHERE "
                    f"dag_id = '{dag}' AND task_id = '{task}' "
                    f"AND key = '{key}'")}

    def events(self, uri):
        return [extra for extra, in self.query(
            "SELECT asset_event.extra FROM asset_event JOIN asset ON asset.id = asset_id "
            f"WHERE uri = '{uri}' ORDER BY asset_event.id")]

    def log(self, dag):
        """The logs of all of its tasks."""
        return "".join(path.read_text(errors="replace") for path in sorted(
            (self.home / "logs").glob(f"dag_id={dag}/**/*.log")))


def descendants(pid):
    """By one look at all processes."""
    below = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError):
            each = int(path.split("/")[2])
            below.setdefault(parent(each), []).append(each)
    found = [pid]
    for each in found:
        found += below.get(each, [])
    return found[1:]


def parent(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


def command_line(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline",
                                            "rb") as file:
        return file.read().decode(errors="replace").split("\0")
    return []


def programs(pid):
    """The programs that run below a process: chunk id -> process id."""
    found = {}
    for each in descendants(pid):
        words = command_line(each)
        assert CANARY not in words
        for word in words[1:]:
            if words[0].endswith("tidemark") and word.startswith("--chunk="):
                found[word.partition("=")[2]] = each
    return found


def kill_task(program):
    """By SIGKILL: the process of Airflow that waits for the program."""
    task = parent(program)
    os.kill(task, signal.SIGKILL)
    wait_for(lambda: not lives(task), what="a task's end")

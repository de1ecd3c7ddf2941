"""ClickHouse of the tests: tests/fakes/clickhouse_front.py over the engine of
PyPI's chdb, in a temporary directory, on loopback and a free port, stopped at
the end.
"""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from servers import APP, CANARY

FRONT = pathlib.Path(__file__).resolve().parents[1] / "fakes/clickhouse_front.py"


class ClickhouseServer:
    """One engine with its front."""

    name = "clickhouse"

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="tidemark-clickhouse-")
        self.process, self.port = None, None

    @staticmethod
    def missing():
        """Why there is none here; None: there is."""
        if importlib.util.find_spec("chdb") is None:
            return "no chdb, which is ClickHouse's engine: run tools/setup --tests"
        return None

    def start(self):
        """Again: at the same port, over what is on disk."""
        env = dict(os.environ, CLICKHOUSE_FRONT_PASSWORD=CANARY)
        with open(os.path.join(self.dir, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(FRONT), self.dir,
                 *([str(self.port)] if self.port else [])], env=env,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        said = self.process.stdout.readline().split()
        if said[:1] != [b"ready"]:
            raise RuntimeError(self.log())
        self.port = int(said[1])
        return self

    def log(self):
        with open(os.path.join(self.dir, "log"), encoding="utf-8",
                  errors="replace") as log:
            return log.read()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()

    def remove(self):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)

    def url(self, database, user=APP, password=CANARY, scheme="clickhouse"):
        sign = user + (":" + urllib.parse.quote(password) if password else "")
        return f"{scheme}://{sign}@127.0.0.1:{self.port}/{database}"

    def request(self, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=body, headers={
                "X-ClickHouse-User": APP, "X-ClickHouse-Key": CANARY,
                "X-Oracle": "1"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode(errors="replace")) from None

    def query(self, database, sql):
        """Rows as JSON has them; None is NULL."""
        text = self.request(f"/?database={database}",
                            f"{sql}\nFORMAT JSONCompactEachRow".encode())
        return [tuple(json.loads(line)) for line in text.splitlines()]

    def execute(self, database, sql):
        self.request(f"/?database={database}", sql.encode())

    def create_database(self, name):
        self.execute("default", f"CREATE DATABASE `{name}` ENGINE = Atomic")

    def drop_database(self, name):
        self.execute("default", f"DROP DATABASE IF EXISTS `{name}` SYNC")

    def fault(self, *faults):
        self.request("/faults", json.dumps(faults).encode())

    def profile(self, deaf=False, const=(), **settings):
        """Set the settings profile of Tidemark's users from now on."""
        self.request("/profile", json.dumps(
            {"settings": settings, "const": const, "deaf": deaf}).encode())

    def statements(self):
        return json.loads(self.request("/log"))

    def forget(self):
        self.request("/log", b"")

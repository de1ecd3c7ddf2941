"""Servers and databases that the cases of one worker share, and what has
become of each case.
"""

import hashlib
import itertools
import json
import os
import pathlib
import re
import sqlite3
import tempfile

import pytest

import ends
import reliability
from bench import Tidemark
from servers import Cluster
from state import StateStore
from victim import Victim, keep

numbers = itertools.count(1)
found = {"versions": {}, "cases": {}}


class Stage:
    """Where the cases play: a database of each engine at each side."""

    def __init__(self, binary, directory, mysql_family):
        self.tidemark = Tidemark(binary, directory)
        self.directory, self.mysql_family = directory, mysql_family
        self.cluster = Cluster("crash", fsync=True).create().start().prepare()
        self.made = {}

    def database(self, engine, role):
        if (engine, role) not in self.made:
            self.made[engine, role] = keep(self.create(engine, role))
        return self.made[engine, role]

    def create(self, engine, role):
        if engine == "postgres":
            self.cluster.create_database(role)
            return ends.PostgresEnd(self.cluster, role)
        server = self.mysql_family(engine)
        server.create_database(role)
        return ends.MysqlEnd(server, role)

    def end(self, engine, role):
        if engine == "sqlite":
            return ends.SqliteEnd(self.path(role))
        if engine == "duckdb":
            return ends.DuckdbEnd(self.path(role))
        return self.database(engine, role)

    def path(self, role):
        return f"{self.directory}/{role}-{next(numbers)}.db"

    def state(self, store):
        return StateStore(self.tidemark, self.database("postgres", "state")
                          if store == "postgres" else None)

    def victim(self, case, figures, lease):
        sides = (self.end(case.source, "source"),
                 self.end(case.destination, "warehouse"))
        return Victim(self.tidemark, case, figures, sides,
                      self.state(case.store), lease)

    def versions(self):
        """What the cases run with: the first words are enough."""
        said = {"sqlite": sqlite3.sqlite_version}
        for engine, sql in (("postgres", "SHOW server_version"),
                            ("mariadb", "SELECT version()"),
                            ("mysql", "SELECT version()")):
            said[engine] = self.database(engine, "source").query(sql)[0][0]
        for plugin in self.tidemark("plugins", "--json").json()["plugins"]:
            if plugin["engine"] == "duckdb":
                said["duckdb"] = plugin["version"].removeprefix("v")
        return {name: re.split("[ -]", text)[0] for name, text in said.items()}

    def close(self):
        for end in self.made.values():
            end.hang_up()
        self.cluster.remove()


@pytest.fixture(scope="session")
def stage(failpoint_binary, mysql_family):
    with tempfile.TemporaryDirectory(prefix="tidemark-crash-") as directory:
        made = Stage(failpoint_binary, directory, mysql_family)
        yield made
        made.close()


@pytest.fixture
def play(stage):
    """A victim; whatever it leaves is gone when the case is over."""
    victims = []

    def make(case, figures=None, lease="10s"):
        victims.append(stage.victim(case, figures, lease))
        return victims[-1]

    yield make
    for victim in victims:
        victim.release()


@pytest.fixture
def on_record(record_property, request, case):
    """What the page says of a case; told as it is when the case is over."""
    action = request.function.__name__.removeprefix("test_")
    figures = {"cases": 1, "deaths": 0, "writes": 0}
    record_property("crash", ("-".join((action, *case)), figures))
    return figures


def pytest_runtest_logreport(report):
    """Runs where the reports come together, also when workers made them."""
    if report.when != "call":
        return
    for name, value in report.user_properties:
        if name == "crash":
            found["cases"][value[0]] = {**value[1], "failed": int(report.failed)}
        elif name == "versions":
            found["versions"] = value


def pytest_sessionfinish(session):
    """What was found is kept for the page, by whoever has it all. What parts
    of the suite find of the same binary adds up."""
    if hasattr(session.config, "workerinput") or not found["cases"]:
        return
    binary = os.environ.get("TIDEMARK_FAILPOINT_BINARY",
                            reliability.ROOT / "build-test/failpoints/tidemark")
    found["binary"] = hashlib.sha256(
        pathlib.Path(binary).read_bytes()).hexdigest()
    before = reliability.read()
    if before.get("binary") == found["binary"]:
        found["versions"] = found["versions"] or before["versions"]
        found["cases"] = {**before["cases"], **found["cases"]}
    reliability.RESULTS.parent.mkdir(exist_ok=True)
    reliability.RESULTS.write_text(json.dumps(found, indent=0))

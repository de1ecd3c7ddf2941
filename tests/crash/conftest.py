"""Servers and databases that the cases of one worker share, and what has
become of each case.
"""

import datetime
import importlib.metadata
import itertools
import json
import re
import sqlite3
import subprocess
import tempfile

import pytest

import ends
import failpoints
import reliability
from bench import Tidemark
from servers import Cluster
from state import StateStore
from victim import Victim, keep

numbers = itertools.count(1)


class Stage:
    """Where the cases play: a database of each engine at each side."""

    make_bigquery = None  # play() knows: a case has a dataset of its own

    def __init__(self, binary, directory, mysql_family, clickhouse):
        self.tidemark = Tidemark(binary, directory)
        self.directory, self.mysql_family = directory, mysql_family
        self.clickhouse = clickhouse
        self.cluster = Cluster("crash", fsync=True).create(copied=True).start().prepare()
        self.made = {}

    def database(self, engine, role):
        if (engine, role) not in self.made:
            self.made[engine, role] = keep(self.create(engine, role))
        return self.made[engine, role]

    def create(self, engine, role):
        if engine == "postgres":
            self.cluster.create_database(role)
            return ends.PostgresEnd(self.cluster, role)
        if engine == "clickhouse":
            self.clickhouse().create_database(role)
            return ends.ClickhouseEnd(self.clickhouse(), role)
        server = self.mysql_family(engine)
        server.create_database(role)
        return ends.MysqlEnd(server, role)

    def end(self, engine, role):
        if engine == "sqlite":
            return ends.SqliteEnd(self.path(role))
        if engine == "duckdb":
            return ends.DuckdbEnd(self.path(role))
        if engine == "bigquery":
            return self.make_bigquery()
        return self.database(engine, role)

    def path(self, role):
        return f"{self.directory}/{role}-{next(numbers)}.db"

    def state(self, store):
        return StateStore(self.tidemark, self.database("postgres", "state")
                          if store == "postgres" else None)

    def victim(self, case, figures):
        sides = (self.end(case.source, "source"),
                 self.end(case.destination, "warehouse"))
        return Victim(self.tidemark, case, figures, sides,
                      self.state(case.store))

    def versions(self):
        """The versions that the cases run with: the first words are enough."""
        said = {"sqlite": sqlite3.sqlite_version}
        for engine, sql in (("postgres", "SHOW server_version"),
                            ("mariadb", "SELECT version()"),
                            ("mysql", "SELECT version()"),
                            ("clickhouse", "SELECT version()")):
            said[engine] = self.database(engine, "source").query(sql)[0][0]
        for plugin in self.tidemark("plugins", "--json").json()["plugins"]:
            if plugin["engine"] == "duckdb":
                said["duckdb"] = plugin["version"].removeprefix("v")
        found = {name: re.split("[ -]", text)[0]
                 for name, text in said.items()}
        sqlglot = importlib.metadata.version("sqlglot")
        return {**found, "bigquery": (
            f"by a front of the tests' own, over DuckDB and sqlglot {sqlglot}"
            if self.make_bigquery().front.ours
            else "by an emulator from outside")}

    def close(self):
        for end in self.made.values():
            end.hang_up()
        self.cluster.remove()


@pytest.fixture(scope="session")
def stage(failpoint_binary, mysql_family, clickhouse_server):
    with tempfile.TemporaryDirectory(prefix="tidemark-crash-") as directory:
        made = Stage(failpoint_binary, directory, mysql_family,
                     clickhouse_server)
        yield made
        made.close()


@pytest.fixture(scope="session")
def cluster(stage):
    """One server is enough for the tests of other ways to die, too."""
    return stage.cluster


@pytest.fixture
def play(stage, request):
    """A victim; whatever it leaves is gone when the case is over."""
    victims = []
    stage.make_bigquery = lambda: request.getfixturevalue("make_bigquery")()

    def make(case, figures=None):
        victims.append(stage.victim(case, figures))
        return victims[-1]

    yield make
    for victim in victims:
        victim.release()


@pytest.fixture
def on_record(record_property, request, case):
    """The figures of a case for the page, recorded when the case is over."""
    action = request.function.__name__.removeprefix("test_")
    figures = {"case": "-".join((action, *case)), "deaths": 0, "writes": 0}
    record_property("crash", figures)
    return figures


def pytest_addoption(parser):
    parser.addoption("--missing", action="store_true", help="with --full: only "
                     "cases that the results lack, as of a run cut short")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--missing"):
        return
    well = {case for case, figures in reliability.read().cases.items()
            if not figures["failed"]}
    done = [item for item in items if case_id(item) in well]
    items[:] = [item for item in items if case_id(item) not in well]
    config.hook.pytest_deselected(items=done)


def case_id(item):
    """(action, *case), None of a test that is none."""
    case = hasattr(item, "callspec") and item.callspec.params.get("case")
    return case and (item.originalname.removeprefix("test_"), *case)


def pytest_sessionstart(session):
    """A run of every case begins anew. One of some of them leaves what there
    is of the others."""
    option = session.config.getoption
    if option("--full") and not option("--missing") and \
            not option("keyword") and \
            not hasattr(session.config, "workerinput"):
        reliability.RESULTS.unlink(missing_ok=True)


def git(*words):
    done = subprocess.run(["git", *words, "--", *failpoints.FOLDERS],
                          cwd=failpoints.ROOT, capture_output=True, text=True,
                          check=False)
    return done.stdout.strip()


def revision():
    """The last commit of what the binary is made of; "+": and what is not
    committed yet."""
    return ((git("log", "-1", "--format=%h") or "unknown")
            + "+" * bool(git("status", "--porcelain")))


class Report:
    """Runs where the reports come together, also when workers made them: what
    was found is kept for the page, line by line."""

    def __init__(self):
        self.made = {"commit": revision(),
                     "day": datetime.date.today().isoformat()}

    def pytest_runtest_logreport(self, report):
        for name, value in report.user_properties:
            if report.when == "call" and name in ("crash", "versions"):
                if name == "crash":
                    value = {**value, **self.made,
                             "failed": int(report.failed)}
                reliability.RESULTS.parent.mkdir(exist_ok=True)
                with open(reliability.RESULTS, "a", encoding="ascii") as out:
                    out.write(json.dumps({name: value}) + "\n")


def pytest_configure(config):
    if config.getoption("--full") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Report())

"""Each source is filled once; each pair of source and destination is synced
once, and all tests look at what that gave."""

import itertools
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import ends  # noqa: E402
from bench import EXIT_DATA, EXIT_OK, Tidemark  # noqa: E402
from from_postgres import EXTENSIONS, TYPES  # noqa: E402
from sides import (FILLINGS, READERS, TABLE, ZEROS,  # noqa: E402
                   refused_table, spoiled)  # noqa: E402
from settings import surround, unsettle  # noqa: E402
from sources import SOURCES  # noqa: E402
from table import DESTINATIONS, SPECIAL  # noqa: E402

PAIRS = [pytest.param((source, destination), id=f"{source}-{destination}",
                      marks=pytest.mark.xdist_group(source))
         for source in SOURCES for destination in DESTINATIONS]
counter = itertools.count(1)


class Pair:
    """One source, synced into one destination."""

    def __init__(self, source, source_end, end, tidemark):
        self.source, self.source_end = source, source_end
        self.end, self.tidemark = end, tidemark
        self.destination = end.engine
        self.refused = source.refused_at(self.destination)
        self.keys = [key for key in source.keys() if key not in self.refused]
        self.checked = self.results = self.targets = None

    def target(self, table):
        return f"{self.end.schema}.{table}"

    def pipeline(self, target, keys, columns=None, mode="upsert", **source):
        """Rows with these keys; `columns`: some of them."""
        self.tidemark.pipeline(
            target,
            source={"connection": "source",
                    "table": f"{self.source_end.schema}.{TABLE}",
                    "where": f"id IN ({', '.join(map(str, keys))})",
                    **({"columns": ["id", *columns, "updated_at"]}
                       if columns else {}), **source},
            destination={"connection": "warehouse",
                         "table": self.target(target)},
            key=["id"], load={"mode": mode},
            watermark={"strategy": "timestamp", "column": "updated_at"})

    def pipelines(self):
        """All that arrives, on every way: the targets are returned."""
        self.pipeline(TABLE, self.keys)
        targets = [TABLE]
        # The modes differ at the destination: these two have all types.
        for mode in (("append", "delete_insert", "replace")
                     if self.source.name in ("postgres", "mysql") else ()):
            targets.append(f"{TABLE}_{mode}")
            self.pipeline(targets[-1], self.keys, mode=mode)
        # Natives travel as text between servers of a kind, and take the whole
        # row with them.
        plain = [column.name for column in self.source.columns
                 if not column.native]
        if len(plain) < len(self.source.columns):
            targets.append(f"{TABLE}_plain")
            self.pipeline(targets[-1], self.keys, plain)
        return targets

    def refusals(self):
        """A pipeline for each value that must not arrive, and one for all
        that are NULL if the config says so."""
        for key in self.refused:
            column, _ = self.source.special[key - SPECIAL]
            self.pipeline(refused_table(key), [key], [column.name])
        nulled = self.source.nulled()
        if nulled:
            self.pipeline(ZEROS, nulled, zero_dates=None, columns=sorted(
                {self.source.special[key - SPECIAL][0].name
                 for key in nulled}))

    def sync(self):
        """One check, and one run of all."""
        self.tidemark.connect("source", self.source_end.connection())
        self.tidemark.connect("warehouse", self.end.connection())
        self.targets = self.pipelines()
        self.refusals()
        # The tests look for the refused value in the message.
        self.tidemark.top["log"] = {"row_values": True}
        self.tidemark.write_config()
        self.checked = {
            column["name"]: column for column in
            self.tidemark("check", TABLE, "--json").expect(EXIT_OK)
            .pipeline()["columns"]}
        ran = self.tidemark.run(expect=EXIT_DATA if self.refused else EXIT_OK)
        self.results = {each["pipeline"]: each
                        for each in ran.json()["pipelines"]}
        return self

    def spoil(self, table):
        self.end.execute(*spoiled(self.end, table, [
            column.name for column in self.source.columns
            if not column.every]))

    def read(self, table):
        return READERS[self.destination](self.end, self.target(table))


@pytest.fixture(scope="session")
def scratch():
    path = tempfile.mkdtemp(prefix="tidemark-fidelity-")
    yield pathlib.Path(path)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def make_end(cluster, mysql_family, clickhouse_server, scratch, request):
    """An empty end of an engine, gone with its server or directory."""
    def make(engine):
        name = f"fidelity_{next(counter)}"
        if engine == "postgres":
            cluster.create_database(name)
            with cluster.admin(name) as admin:
                for extension in EXTENSIONS:
                    admin.execute(f"CREATE EXTENSION {extension}")
            return ends.PostgresEnd(cluster, name)
        if engine in ("mariadb", "mysql"):
            server = mysql_family(engine)
            server.create_database(name)
            return ends.MysqlEnd(server, name)
        if engine == "clickhouse":
            clickhouse_server().create_database(name)
            return ends.ClickhouseEnd(clickhouse_server(), name)
        if engine == "bigquery":
            front = request.getfixturevalue("bigquery_front")
            front.create_dataset(name)
            return ends.BigqueryEnd(front, name)
        kind = {"sqlite": ends.SqliteEnd, "duckdb": ends.DuckdbEnd}[engine]
        return kind(scratch / f"{name}.{engine}")
    return make


@pytest.fixture(scope="session")
def filled(make_end):
    """The end of a source with its table, filled when first asked for."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = make_end(name)
            made[name].execute(*FILLINGS[name].statements(SOURCES[name]))
            unsettle(made[name])
        return made[name]
    return get


@pytest.fixture(scope="module", params=PAIRS)
def pair(request, filled, make_end, scratch, tidemark_binary):
    source, destination = request.param
    directory = scratch / f"{source}-{destination}"
    directory.mkdir()
    end = make_end(destination)
    if source == destination == "postgres":
        end.execute(*TYPES)
    unsettle(end)
    tidemark = Tidemark(tidemark_binary, directory)
    surround(tidemark)
    return Pair(SOURCES[source], filled(source), end, tidemark).sync()

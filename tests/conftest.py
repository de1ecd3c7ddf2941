"""Fixtures of the suites that run the binary: servers, databases, ends."""

import itertools
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent
sys.path.insert(0, str(TESTS / "lib"))

import bigquery_servers  # noqa: E402
import ends  # noqa: E402
import mysql_servers  # noqa: E402
from clickhouse_servers import ClickhouseServer  # noqa: E402
from bench import Tidemark  # noqa: E402
from proxy import Proxy  # noqa: E402
from servers import CANARY, Cluster  # noqa: E402

counter = itertools.count(1)
FILE_ENDS = {"sqlite": ends.SqliteEnd, "duckdb": ends.DuckdbEnd}


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true",
                     help="every combination, and the long soak")


def pytest_sessionfinish(session):
    """List the tests that failed, for the runner to run them again alone."""
    path = os.environ.get("TIDEMARK_TEST_FAILED")
    if path and not hasattr(session.config, "workerinput"):
        stats = session.config.pluginmanager.get_plugin(
            "terminalreporter").stats
        failed = {report.nodeid: None
                  for report in stats.get("failed", []) + stats.get("error", [])}
        pathlib.Path(path).write_text("".join(f"{name}\n" for name in failed))


def pytest_terminal_summary(terminalreporter, config):
    """Report the events of a long run."""
    if not config.getoption("--full"):
        return
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "figures":
                terminalreporter.write_line(f"{report.nodeid}: {value}")


def pytest_collection_modifyitems(config, items):
    """Keep every n-th combination of a test marked `thinned(n)`, spread so that
    two choices still meet. --full runs them all."""
    seen = {}

    def choice(item, name):
        """The how manieth of its values: the callspec's own indices number
        the combinations."""
        values = seen.setdefault((item.function, name), [])
        value = repr(item.callspec.params[name])
        if value not in values:
            values.append(value)
        return values.index(value)

    def stays(item):
        mark = item.get_closest_marker("thinned")
        return (not mark or config.getoption("--full") or
                sum(choice(item, name) for name in item.callspec.params)
                % mark.args[0] == 0)

    left = [item for item in items if not stays(item)]
    if left:
        items[:] = [item for item in items if stays(item)]
        config.hook.pytest_deselected(items=left)


def binary(variable, default):
    path = pathlib.Path(os.environ.get(variable, ROOT / default)).resolve()
    if not os.access(path, os.X_OK):
        pytest.exit(f"no binary at {path}: run tests/run, or set {variable}",
                    returncode=3)
    return str(path)


@pytest.fixture(scope="session")
def tidemark_binary():
    """The build that users get."""
    return binary("TIDEMARK_BINARY", "build-test/plain/tidemark")


@pytest.fixture(scope="session")
def failpoint_binary():
    """The build with failpoints."""
    return binary("TIDEMARK_FAILPOINT_BINARY",
                  "build-test/failpoints/tidemark")


@pytest.fixture(scope="session")
def sanitized_binary():
    """The build with the address sanitizer."""
    return binary("TIDEMARK_SANITIZED_BINARY", "build-test/sanitize/tidemark")


@pytest.fixture(scope="session")
def full(request):
    return request.config.getoption("--full")


@pytest.fixture(scope="session")
def cluster():
    """The server that most tests share, each with its own databases."""
    server = Cluster("e2e").create(copied=True).start().prepare()
    yield server
    server.remove()


@pytest.fixture
def own_cluster():
    """Make a server for one test: to crash, wrap, fill up."""
    made = []

    def make(**options):
        server = Cluster("own", **options).create().start().prepare()
        made.append(server)
        return server

    yield make
    for server in made:
        server.remove()


@pytest.fixture(scope="session")
def mysql_family():
    """MariaDB or MySQL by name, started when first asked for."""
    running = {}

    def get(name):
        kind = mysql_servers.SERVERS[name]
        if kind.missing():
            pytest.skip(kind.missing())
        if name not in running:
            running[name] = kind().create().start().prepare()
        return running[name]

    yield get
    for server in running.values():
        server.remove()


@pytest.fixture(scope="session")
def bigquery_front():
    """Our front, or the emulator that BIGQUERY_EMULATOR_HOST names."""
    front = bigquery_servers.Front().start()
    os.environ[bigquery_servers.HOST] = front.host
    yield front
    front.remove()


@pytest.fixture
def make_bigquery(request):
    """An empty dataset. The front starts with the first."""
    made = []

    def make():
        front = request.getfixturevalue("bigquery_front")
        dataset = f"tm_{os.getpid()}_{next(counter)}"
        front.create_dataset(dataset)
        made.append((front, dataset))
        return ends.BigqueryEnd(front, dataset)

    yield make
    for front, dataset in made:
        front.drop_dataset(dataset)


# In one worker each, which starts it once.
@pytest.fixture(scope="session", params=[
    pytest.param(engine, marks=pytest.mark.xdist_group("small-" + engine))
    for engine in mysql_servers.SERVERS])
def small_server(request):
    """A MariaDB or MySQL of its own, to be killed or filled up. It has no
    performance schema, as small servers do. It has little room: in MariaDB for
    temporary tables, in MySQL for tables that are made under
    innodb_file_per_table = 0."""
    kind = mysql_servers.SERVERS[request.param]
    if kind.missing():
        pytest.skip(kind.missing())
    settings = ["--performance-schema=OFF",
                "--innodb-flush-log-at-trx-commit=1",
                "--innodb-data-file-path=ibdata1:12M:autoextend:max:24M"
                if request.param == "mysql" else
                "--innodb-temp-data-file-path=ibtmp1:8M:autoextend:max:10M"]
    server = kind(settings).create().start().prepare()
    server.create_database("shop")
    yield server
    server.remove()


@pytest.fixture
def work_dir():
    """A short path: unix sockets and error messages like it."""
    path = tempfile.mkdtemp(prefix="tidemark-test-")
    yield pathlib.Path(path)
    scan_for_secret(path)
    shutil.rmtree(path, ignore_errors=True)


def scan_for_secret(path):
    """No file that Tidemark wrote holds the password."""
    for directory, _, names in os.walk(path):
        for name in names:
            file = os.path.join(directory, name)
            if name == "holds-secret" or not os.path.isfile(file):
                continue
            with open(file, "rb") as data:
                assert CANARY.encode() not in data.read(), (
                    f"the password is in {file}")


@pytest.fixture
def make_database(cluster):
    made = []

    def make(name="db"):
        database = f"{name}_{next(counter)}"
        cluster.create_database(database)
        made.append(ends.KeptEnd(cluster, database))
        return made[-1]

    yield make
    for end in made:
        end.hang_up()
        cluster.drop_database(end.database)


@pytest.fixture
def make_mysql(mysql_family):
    """An empty database of one of the family."""
    made = []

    def make(name):
        server, database = mysql_family(name), f"source_{next(counter)}"
        server.create_database(database)
        made.append((server, database))
        return ends.MysqlEnd(server, database)

    yield make
    for server, database in made:
        server.drop_database(database)


@pytest.fixture(scope="session")
def clickhouse_server():
    """ClickHouse, started when first asked for."""
    running = []

    def get():
        if ClickhouseServer.missing():
            pytest.skip(ClickhouseServer.missing())
        if not running:
            running.append(ClickhouseServer().start())
        return running[0]

    yield get
    for server in running:
        server.remove()


@pytest.fixture
def make_clickhouse(clickhouse_server):
    """An empty database there."""
    made = []

    def make():
        server, database = clickhouse_server(), f"warehouse_{next(counter)}"
        server.create_database(database)
        made.append((server, database))
        return ends.ClickhouseEnd(server, database)

    yield make
    for server, database in made:
        server.drop_database(database)


@pytest.fixture
def make_source(make_database, make_mysql, work_dir):
    """An empty source database of an engine."""
    def make(engine):
        if engine == "postgres":
            return make_database("source")
        if engine in FILE_ENDS:
            return FILE_ENDS[engine](work_dir / f"source-{next(counter)}.db")
        return make_mysql(engine)
    return make


@pytest.fixture
def source(make_database):
    """An empty source database."""
    return make_database("source")


@pytest.fixture
def make_destination(make_database, make_mysql, make_clickhouse, make_bigquery,
                     work_dir):
    def make(engine):
        if engine == "clickhouse":
            return make_clickhouse()
        if engine == "bigquery":
            return make_bigquery()
        if engine == "postgres":
            return make_database("warehouse")
        if engine in mysql_servers.SERVERS:
            return make_mysql(engine)
        return FILE_ENDS[engine](work_dir / f"warehouse-{next(counter)}.{engine}")
    return make


@pytest.fixture
def make_proxy():
    """A proxy in front of an end's server."""
    made = []

    def make(end, distance=0):
        server = next(getattr(end, name) for name in
                      ("cluster", "server", "front") if hasattr(end, name))
        made.append(Proxy(server.port, distance))
        return made[-1]

    yield make
    for proxy in made:
        proxy.__exit__()


@pytest.fixture
def tidemark(tidemark_binary, work_dir):
    return Tidemark(tidemark_binary, work_dir)


@pytest.fixture
def tidemark_failpoints(failpoint_binary, work_dir):
    return Tidemark(failpoint_binary, work_dir)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    """No process outlives a test that failed. It ends before its servers do:
    the database of a stopped one cannot be dropped."""
    for name in ("tidemark", "tidemark_failpoints"):
        if name in getattr(item, "funcargs", {}):
            item.funcargs[name].end()

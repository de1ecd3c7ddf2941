"""A MariaDB or MySQL server whose disk is full: that of its tables, or that of
its binary log.

Where the tables lie, it refuses the batch; MariaDB 10.11 may also crash. For
room in the log both wait, without a word: `timeout.silence` ends that. MySQL
crashes when such a session goes. Whichever: exit 3, mark and rows belong
together, and with room again both sides come out equal."""

import contextlib
import pathlib

import pytest

import mysql_servers
import workload
from bad_days import HASTY, Day, fill_up, kill_sessions, mounted
from bench import EXIT_ACCESS, EXIT_OK
from ends import MysqlEnd

ROWS, MORE = 400, 12_000
SETTINGS = {"mariadb": ["--innodb-log-file-size=8M"],
            "mysql": ["--innodb-redo-log-capacity=8M"]}


# In one worker each, which starts it once.
@pytest.fixture(scope="session", params=[
    pytest.param(engine, marks=pytest.mark.xdist_group("tight-" + engine))
    for engine in SETTINGS])
def tight(request):
    """A server with two small disks: `data`, and `bin` for its log. Its commits
    survive its crash."""
    kind = mysql_servers.SERVERS[request.param]
    if kind.missing():
        pytest.skip(kind.missing())
    server = kind([*SETTINGS[kind.name], "--innodb-doublewrite=1",
                   "--innodb-flush-log-at-trx-commit=1", "--server-id=1"])
    server.bin = f"{server.dir}/bin"
    server.settings.append(f"--log-bin={server.bin}/log")
    with contextlib.ExitStack() as stack:
        for path, size in ((server.data, "256m"), (server.bin, "64m")):
            why = stack.enter_context(mounted(pathlib.Path(path), size))
            if why:
                pytest.skip(why)
        stack.callback(server.remove)
        yield server.create().start().prepare()


@pytest.fixture
def make_tight(tight):
    """An empty database there."""
    made = []

    def make(name):
        tight.create_database(name)
        made.append(name)
        return MysqlEnd(tight, name)

    yield make
    for name in made:
        tight.drop_database(name)


@contextlib.contextmanager
def full(place, leave=0):
    ballast = pathlib.Path(place) / "ballast"
    fill_up(ballast, leave)
    try:
        yield
    finally:
        ballast.unlink()


@pytest.fixture
def make_loaded(tidemark, make_source, make_tight):
    """Some rows are in; then there are many more."""
    def make(mode):
        destination = make_tight("warehouse")
        day = Day(tidemark, make_source("postgres"), destination, ROWS,
                  mode=mode, batch={"rows": 2000}, retry=HASTY)
        tidemark.run()
        workload.fill_items(day.source, ROWS + 1, MORE)
        day.source.execute("UPDATE items SET payload = decode(repeat("
                           "md5(id::text), 20), 'hex') WHERE id > 400")
        return day
    return make


def check_whole(day):
    """The rows up to the mark, and none of a batch that was not committed."""
    last = int(day.destination.watermark("items")["key"][0])
    ids = [row[0] for row in day.destination.rows(day.to, {"id": "int"})]
    assert sorted(ids) == list(range(1, last + 1))
    day.check_covered()


def has_crashed(server):
    """Since its last start. It says so at once, and takes its time over it."""
    with open(server.log, "rb") as log:
        said = log.read().rpartition(b"ready for connections")[2]
    if b"got signal" in said:
        server.process.wait(60)
    return server.process.poll() is not None


def failed(day):
    """A run that ends with exit 3: what it says, of whom."""
    done = day.tidemark.run(expect=EXIT_ACCESS)
    message = done.pipeline()["error"]["message"]
    assert f":{day.destination.server.port}/" in message, message
    return message


@pytest.mark.thinned(4)
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert",
                                  "replace"))
@pytest.mark.parametrize("leave", (4 << 20, 9 << 20))
def test_tables(tight, make_loaded, mode, leave):
    day = make_loaded(mode)
    with full(tight.data, leave):
        message = failed(day)
        crashed = "make room" not in message
        if crashed:
            tight.process.wait(60)
        else:
            assert day.to in message, message
            check_whole(day)
    if crashed:
        tight.restart()
    check_whole(day)
    day.recovers()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_binary_log(tight, make_loaded, mode):
    day = make_loaded(mode)
    day.tidemark.connect("warehouse", {**day.destination.connection(),
                                       "timeout": {"silence": "2s"}})
    day.tidemark.write_config()
    with full(tight.bin, leave=700_000):
        message = failed(day)
        crashed = has_crashed(tight)
        if not crashed:
            assert day.to in message, message
            assert "whose disk is full" in message, message
            check_whole(day)
    if crashed:
        tight.restart()
    else:  # it looks again only once a minute
        assert kill_sessions(day.destination), "it did not wait"
    check_whole(day)
    day.tidemark.connect("warehouse", day.destination.connection())
    day.tidemark.write_config()
    day.recovers()


def test_source(tidemark, tight, make_tight, make_destination):
    """Rows are read without room; MySQL may want some for its own views."""
    day = Day(tidemark, make_tight("source"), make_destination("sqlite"),
              ROWS)
    with full(tight.data), full(tight.bin):
        done = tidemark("run", "--json")
        assert done.code in (EXIT_OK, EXIT_ACCESS), done
        assert done.code == EXIT_OK or "make room" in done.err, done
    day.recovers()

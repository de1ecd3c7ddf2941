"""PostgreSQL whose roles and poolers change a session behind our back: what is
stored is what was there, or nothing."""

import contextlib
import signal
import time

import pytest

import workload
from bench import EXIT_ACCESS, EXIT_OK, password_connection, sync_items
from oracle import check_items
from proxy import Meddler
from servers import APP, wait_for

STRATEGIES = ("timestamp", "xmin")


@pytest.fixture
def day(tidemark, source, make_destination):
    def make(strategy="timestamp", engine="sqlite"):
        destination = make_destination(engine)
        workload.create_items(source, rows=50)
        sync_items(tidemark, source, destination, strategy,
                   retry={"attempts": 1})
        return destination
    return make


@contextlib.contextmanager
def role_settings(source, *settings):
    """As an administrator gives them to a role in a database."""
    where = f'ALTER ROLE {APP} IN DATABASE "{source.database}"'
    with source.cluster.admin() as db:
        for setting in settings:
            db.execute(f"{where} SET {setting}")
    try:
        yield
    finally:
        with source.cluster.admin() as db:
            db.execute(f"{where} RESET ALL")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_settings_of_a_role(tidemark, source, day, strategy):
    destination = day(strategy)
    with role_settings(
            source, "client_encoding = 'LATIN1'", "TimeZone = 'Asia/Tokyo'",
            "DateStyle = 'German'", "extra_float_digits = -15",
            "search_path = 'nowhere'", "gin_fuzzy_search_limit = 1",
            "default_transaction_isolation = 'serializable'"):
        tidemark.run()
        check_items(source, destination)
        tidemark("verify").expect(EXIT_OK)


@pytest.mark.parametrize("setting,asked,given", (
    ("TimeZone", b"'TimeZone', 'UTC'", b"'TimeZone', 'EST'"),
    ("client_encoding", b"'client_encoding', 'UTF8', false",
     b"'client_encoding','LATIN1',false"),
    ("search_path", b"'search_path', 'pg_catalog'",
     b"'search_path', 'public'"),
    ("default_transaction_read_only", b"read_only', 'on'", b"read_only','off'"),
    # After it was pinned and read back, as with a pooler.
    ("TimeZone", b"SELECT set_config('jit', 'off', false), ",
     b"SELECT set_config('TimeZone','EST','f'),")))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_session_that_is_not_as_asked(tidemark, source, day, strategy, setting,
                                      asked, given):
    destination = day(strategy)
    with Meddler(source.cluster.port, asked, given) as meddler:
        tidemark.connect("source", password_connection(
            meddler.url(source))).write_config()
        for command in ("run", "verify"):
            done = tidemark(command).expect(EXIT_ACCESS)
            for part in (f"session's {setting} is", "connection source",
                         "pooler"):
                assert part in done.out + done.err, done
        assert meddler.meddled
    tidemark.connect("source", source.connection()).write_config().run()
    check_items(source, destination)


def test_target_session_that_is_not_as_asked(tidemark, source, day):
    destination = day(engine="postgres")
    with Meddler(destination.cluster.port, b"'client_encoding', 'UTF8', false",
                 b"'client_encoding','LATIN1',false") as meddler:
        tidemark.connect("warehouse", password_connection(
            meddler.url(destination))).write_config()
        done = tidemark("run").expect(EXIT_ACCESS)
        assert "session's client_encoding is" in done.err
    assert not [name for name in destination.tables() if "items" in name]
    tidemark.connect("warehouse", destination.connection()).write_config()
    tidemark.run()
    check_items(source, destination)


def test_session_that_waits_for_the_other_end(tidemark_failpoints, source,
                                              make_destination):
    """A role's idle_session_timeout would end it, in each try anew."""
    tidemark = tidemark_failpoints
    destination = make_destination("postgres")
    workload.create_items(source, rows=1000)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200})
    with role_settings(source, "idle_session_timeout = '1s'"), \
            role_settings(destination, "idle_session_timeout = '1s'"):
        run = tidemark.start("run", "--json",
                             failpoints="commit_acked=stop@1")
        wait_for(lambda: run.stopped() or not run.alive(), step=0.01,
                 what="the failpoint")
        before = [len(end.sessions()) for end in (source, destination)]
        time.sleep(1.5)
        after = [len(end.sessions()) for end in (source, destination)]
        run.signal(signal.SIGCONT)
        run.wait().expect(EXIT_OK)
    assert before == after and all(before), (before, after)
    check_items(source, destination)

"""Sessions that one pipeline after another uses."""

import contextlib
import ctypes
import os
import signal
import struct

import pytest

import ends
from bench import EXIT_CONFIG, EXIT_OK, EXIT_STOPPED
from servers import APP, wait_for

TABLES = 10
IN_OPEN = 0x20


def make_tables(source, n=TABLES):
    for i in range(n):
        source.execute(
            f"CREATE TABLE t{i} (id bigint PRIMARY KEY, seq bigint NOT NULL)",
            f"INSERT INTO t{i} VALUES (1, 1), (2, 2)")


def add_pipelines(tidemark, source, destination, n=TABLES, **more):
    for i in range(n):
        tidemark.pipeline(
            f"p{i}",
            source={"connection": "source", "table": f"{source.schema}.t{i}",
                    **more},
            destination={"connection": "warehouse",
                         "table": f"{destination.schema}.t{i}"},
            watermark={"strategy": "sequence", "column": "seq"},
            load={"mode": "upsert"})
    return tidemark.write_config()


def check_tables(source, destination, n=TABLES):
    for i in range(n):
        rows = [tuple(map(int, row)) for row in destination.query(
            f"SELECT id, seq FROM {destination.schema}.t{i} ORDER BY id")]
        assert rows == [tuple(map(int, row)) for row in source.query(
            f"SELECT id, seq FROM t{i} ORDER BY id")], f"t{i}"


def attempts(tidemark):
    """Attempts of each run, over all pipelines."""
    listed = tidemark("runs", "--json").expect(EXIT_OK)
    return [len(run["attempts"]) for run in listed.json()["runs"]]


def at_rest(end):
    """Pids of our sessions that wait for the next pipeline."""
    with end.cluster.admin() as admin:
        return [pid for pid, in admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = %s"
            " AND application_name LIKE 'tidemark/%%' AND state = 'idle'"
            " AND query = 'DISCARD TEMP'", [end.database])]


def changes(end, pids):
    """When sessions of the server last began or ended a statement."""
    return end.cluster.order(
        "SELECT pid, state_change FROM pg_stat_activity"
        " WHERE pid = ANY(%s) ORDER BY pid", [pids]).fetchall()


def synced(source, destination, n=TABLES):
    """Has each table the source's rows? Not if it is not there, or locked."""
    try:
        return all(
            destination.query(
                f"SELECT count(*) FROM {destination.schema}.t{i}")
            == source.query(f"SELECT count(*) FROM t{i}") for i in range(n))
    except Exception:  # each engine has its own
        return False


def stop(running):
    running.signal(signal.SIGTERM)
    done = running.wait()
    assert done.code == EXIT_STOPPED, done
    return done


@contextlib.contextmanager
def opens_of(path):
    """A function that counts how often the file was opened."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert libc.inotify_add_watch(fd, os.fsencode(path), IN_OPEN) >= 0

    def count():
        n = 0
        while True:
            try:
                data = os.read(fd, 65536)
            except BlockingIOError:
                return n
            while data:
                length, = struct.unpack_from("I", data, 12)
                data = data[16 + length:]
                n += 1
    try:
        yield count
    finally:
        os.close(fd)


def test_pipelines_share_sessions(make_database, make_proxy, tidemark):
    """Source, destination and the state store: one session each."""
    source, destination = make_database("source"), make_database("warehouse")
    state = make_database("state")
    proxies = [make_proxy(end) for end in (source, destination, state)]
    make_tables(source)
    tidemark.connect("source", proxies[0].connection(source))
    tidemark.connect("warehouse", proxies[1].connection(destination))
    tidemark.top["state"] = proxies[2].connection(state)
    add_pipelines(tidemark, source, destination)
    for _ in range(2):
        tidemark.run("--jobs", "1")
    check_tables(source, destination)
    assert [proxy.sessions for proxy in proxies] == [2, 2, 2]


def resets(end):
    """Sessions of the server that were reset so far."""
    with end.server.admin() as db, db.cursor() as cursor:
        cursor.execute(
            "SELECT count_star FROM performance_schema"
            ".events_statements_summary_global_by_event_name"
            " WHERE event_name = 'statement/com/Reset Connection'")
        return cursor.fetchone()[0]


@pytest.mark.parametrize("engine", ["mariadb", "mysql"])
def test_pipelines_share_sessions_of_mysql(engine, make_mysql, make_proxy,
                                           tidemark):
    source, destination = make_mysql(engine), make_mysql(engine)
    proxies = [make_proxy(end) for end in (source, destination)]
    make_tables(source)
    tidemark.connect("source", proxies[0].connection(source))
    tidemark.connect("warehouse", proxies[1].connection(destination))
    add_pipelines(tidemark, source, destination)
    tidemark.run("--jobs", "1")
    before = resets(source) if engine == "mysql" else 0
    tidemark.run("--jobs", "1")
    check_tables(source, destination)
    assert [proxy.sessions for proxy in proxies] == [2, 2]
    # MariaDB does not count them.
    if engine == "mysql":
        assert resets(source) - before >= 2 * (TABLES - 1)


@pytest.mark.parametrize("engine", ["mariadb", "mysql"])
def test_a_session_of_mysql_that_took_one_statement_a_text(
        engine, make_mysql, make_proxy, tidemark):
    """A semicolon in a name is sent while the server takes no more than one. Its
    next user allows several again, behind the reset."""
    source, destination = make_mysql(engine), make_mysql(engine)
    proxy = make_proxy(destination)
    make_tables(source, 2)
    for i in range(2):
        source.execute(f"ALTER TABLE t{i} ADD `a;b` int")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", proxy.connection(destination))
    add_pipelines(tidemark, source, destination, n=2)
    tidemark.run("--jobs", "1")
    check_tables(source, destination, 2)
    assert proxy.sessions == 1


def test_pipelines_share_a_connection_of_clickhouse(
        make_database, make_clickhouse, make_proxy, tidemark):
    """Kept connections, and the few of statements that go out but once."""
    source, destination = make_database("source"), make_clickhouse()
    proxy = make_proxy(destination)
    make_tables(source)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", proxy.connection(destination))
    add_pipelines(tidemark, source, destination)
    tidemark.run("--jobs", "1")
    before = proxy.sessions
    tidemark.run("--jobs", "1")
    check_tables(source, destination)
    assert proxy.sessions - before < TABLES


# A condition that spoils its session, and one that sees an unspoilt session.
SPOILT = {
    "setting": ("set_config('work_mem', '65kB', false) IS NOT NULL",
                "current_setting('work_mem') <> '65kB'"),
    "planner": ("set_config('enable_seqscan', 'off', false) IS NOT NULL",
                "current_setting('enable_seqscan') = 'on'"),
    "own setting": ("set_config('shop.spoilt', 'yes', false) IS NOT NULL",
                    "current_setting('shop.spoilt', true)"
                    " IS DISTINCT FROM 'yes'"),
    "lock": ("pg_try_advisory_lock(42)",
             "NOT EXISTS (SELECT FROM pg_catalog.pg_locks"
             " WHERE locktype = 'advisory' AND objid = 42)"),
}


@pytest.mark.parametrize("what", SPOILT)
def test_nothing_is_left_for_the_next(what, make_database, make_proxy,
                                      tidemark):
    source, destination = make_database("source"), make_database("warehouse")
    proxy = make_proxy(source)
    make_tables(source)
    tidemark.connect("source", proxy.connection(source))
    tidemark.connect("warehouse", destination.connection())
    add_pipelines(tidemark, source, destination)
    spoil, unspoilt = SPOILT[what]
    for i in range(TABLES):
        tidemark.pipelines[f"p{i}"]["source"]["where"] = \
            unspoilt if i % 2 else spoil
    tidemark.write_config().run("--jobs", "1")
    check_tables(source, destination)
    assert proxy.sessions == 1


def test_statements_stay_prepared(make_database, make_proxy, tidemark):
    """The questions of a third table are planned. A session whose plans somebody
    dropped is replaced, and no attempt fails for it."""
    source, destination = make_database("source"), make_database("warehouse")
    proxy = make_proxy(source)
    make_tables(source)
    source.execute(
        "CREATE FUNCTION drop_plans() RETURNS bool LANGUAGE plpgsql AS"
        " $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN NOT EXISTS (SELECT FROM"
        " pg_catalog.pg_prepared_statements); END $$")
    tidemark.connect("source", proxy.connection(source))
    tidemark.connect("warehouse", destination.connection())
    add_pipelines(tidemark, source, destination)
    planned = "EXISTS (SELECT FROM pg_catalog.pg_prepared_statements)"
    for i, condition in enumerate(
            (f"NOT {planned}", "true", planned, "public.drop_plans()",
             "true", planned)):
        tidemark.pipelines[f"p{i}"]["source"]["where"] = condition
    tidemark.write_config().run("--jobs", "1")
    check_tables(source, destination)
    assert proxy.sessions == 2
    assert attempts(tidemark) == [1] * TABLES


@pytest.mark.parametrize("engine", ["mariadb", "mysql"])
def test_nothing_is_left_for_the_next_of_mysql(engine, make_mysql, make_proxy,
                                               tidemark, make_database):
    source, destination = make_mysql(engine), make_database("warehouse")
    proxy = make_proxy(source)
    make_tables(source)
    tidemark.connect("source", proxy.connection(source))
    tidemark.connect("warehouse", destination.connection())
    add_pipelines(tidemark, source, destination)
    for i in range(TABLES):
        tidemark.pipelines[f"p{i}"]["source"]["where"] = (
            "@spoilt IS NULL AND IS_FREE_LOCK('tidemark spoilt') = 1"
            if i % 2 else
            "(@spoilt := 1) = 1 AND GET_LOCK('tidemark spoilt', 0) = 1")
    tidemark.write_config().run("--jobs", "1")
    check_tables(source, destination)
    assert proxy.sessions == 1


def test_a_role_that_a_session_began_with(make_database, tidemark):
    """Resetting a session takes that role away."""
    source, destination = make_database("source"), make_database("warehouse")
    role = f"reader_{source.database}"
    make_tables(source)
    source.cluster.order(f"CREATE ROLE {role}")
    try:
        source.cluster.order(f"GRANT {role} TO {APP}")
        source.cluster.order(f"ALTER ROLE {APP} IN DATABASE {source.database} "
                             f"SET role = '{role}'")
        with source.cluster.admin(source.database) as admin:
            admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public "
                          f"TO {role}")
        tidemark.connect("source", source.connection())
        tidemark.connect("warehouse", destination.connection())
        add_pipelines(tidemark, source, destination)
        for i in range(TABLES):
            tidemark.pipelines[f"p{i}"]["source"]["where"] = \
                f"current_user = '{role}'"
        tidemark.write_config().run("--jobs", "1")
        check_tables(source, destination)
    finally:
        source.cluster.order(f"ALTER ROLE {APP} IN DATABASE "
                             f"{source.database} RESET role")
        with source.cluster.admin(source.database) as admin:
            admin.execute(f"DROP OWNED BY {role}")
        source.cluster.order(f"DROP ROLE {role}")


def watch(tidemark, source, destination, interval="8s", **more):
    """Start, and wait until the sessions of the first round are at rest."""
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    add_pipelines(tidemark, source, destination, n=2, **more)
    running = tidemark.start("run", "--watch", interval, "--jobs", "1")
    wait_for(lambda: len(at_rest(source)) == 1
             and len(at_rest(destination)) == 1, what="sessions at rest")
    return running


@pytest.mark.parametrize("way", ["ended", "restarted"])
def test_a_session_that_is_gone_is_replaced(way, own_cluster, tidemark):
    """No attempt fails for it, and nothing is said."""
    cluster = own_cluster()
    for name in ("source", "warehouse"):
        cluster.create_database(name)
    source = ends.PostgresEnd(cluster, "source")
    destination = ends.PostgresEnd(cluster, "warehouse")
    make_tables(source, 2)
    running = watch(tidemark, source, destination)
    if way == "ended":
        with cluster.admin() as admin:
            for end in (source, destination):
                admin.execute("SELECT pg_terminate_backend(%s)",
                              at_rest(end))
    else:
        cluster.restart()
    source.execute("INSERT INTO t0 VALUES (3, 3)",
                   "INSERT INTO t1 VALUES (3, 3)")
    wait_for(lambda: synced(source, destination, 2), what="the next round")
    done = stop(running)
    assert "connection" not in done.err, done
    check_tables(source, destination, 2)
    assert set(attempts(tidemark)) == {1}


def test_no_lock_and_no_transaction_at_rest(make_database, tidemark):
    source, destination = make_database("source"), make_database("warehouse")
    make_tables(source, 2)
    running = watch(tidemark, source, destination,
                    where="pg_try_advisory_lock(4711)")

    def held():
        """Their locks and transactions, unless a round has begun meanwhile."""
        pids = at_rest(source) + at_rest(destination)
        since = changes(source, pids)
        rows = source.cluster.order(
            "SELECT pid, mode FROM pg_locks WHERE pid = ANY(%s) UNION ALL "
            "SELECT pid, 'transaction' FROM pg_stat_activity"
            " WHERE pid = ANY(%s)"
            " AND (xact_start IS NOT NULL OR backend_xmin IS NOT NULL)",
            [pids, pids]).fetchall()
        quiet = (len(pids) == 2 and since == changes(source, pids)
                 and pids == at_rest(source) + at_rest(destination))
        return [rows] if quiet else None

    assert wait_for(held, what="sessions at rest") == [[]]
    stop(running)


@pytest.mark.parametrize("engine", ["mariadb", "mysql"])
def test_no_lock_and_no_transaction_at_rest_of_mysql(engine, make_mysql,
                                                     tidemark):
    """A session that may have something is reset before it rests."""
    source, destination = make_mysql(engine), make_mysql(engine)
    make_tables(source, 2)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    add_pipelines(tidemark, source, destination, n=2,
                  where="GET_LOCK('tidemark rests', 0) IS NOT NULL")
    running = tidemark.start("run", "--watch", "8s", "--jobs", "1")
    wait_for(lambda: synced(source, destination, 2), what="the first round")
    with source.server.admin() as db, db.cursor() as cursor:
        def count(sql):
            cursor.execute(sql)
            return cursor.fetchone()[0]
        ours = [row[0] for end in (source, destination)
                for row in end.sessions()]
        listed = ", ".join(map(str, ours))
        held = ("SELECT count(*) FROM information_schema.innodb_trx"
                f" WHERE trx_mysql_thread_id IN ({listed})",
                "SELECT NOT IS_FREE_LOCK('tidemark rests')")
        if engine == "mysql":
            held += ("SELECT count(*) FROM"
                     " information_schema.innodb_temp_table_info",)
        wait_for(lambda: count(
            "SELECT sum(command = 'Sleep' AND time > 1) = count(*)"
            f" FROM information_schema.processlist WHERE id IN ({listed})"),
                 what="sessions at rest")
        assert not any(map(count, held))
        assert ours == [row[0] for end in (source, destination)
                        for row in end.sessions()]
    stop(running)


def test_sessions_end_before_a_long_pause(make_database, tidemark):
    source, destination = make_database("source"), make_database("warehouse")
    make_tables(source, 2)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    add_pipelines(tidemark, source, destination, n=2)
    running = tidemark.start("run", "--watch", "1h")
    wait_for(lambda: synced(source, destination, 2), what="the first round")
    wait_for(lambda: not source.sessions() and not destination.sessions(),
             what="the end of the sessions")
    stop(running)


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_file_is_opened_once(engine, make_database, make_destination,
                               tidemark):
    source, destination = make_database("source"), make_destination(engine)
    make_tables(source)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    add_pipelines(tidemark, source, destination)
    tidemark.run("--jobs", "1")
    with opens_of(destination.path) as opens:
        tidemark.run("p0")
        one = opens()
        assert one
        tidemark.run("--jobs", "1")
        assert opens() < one + TABLES
    check_tables(source, destination)


def test_a_file_is_free_between_rounds(make_database, make_destination,
                                       tidemark):
    source, destination = make_database("source"), make_destination("duckdb")
    make_tables(source)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    add_pipelines(tidemark, source, destination)
    running = tidemark.start("run", "--watch", "1h")
    # Whoever looks into the file before that is in the way of the round.
    wait_for(lambda: f"{TABLES} pipelines: ".encode() in running.text["err"],
             what="the end of the round")
    wait_for(lambda: synced(source, destination),
             what="a file that others may open")
    assert running.alive()
    stop(running)


def one_server(tidemark, source, destination, sessions):
    """Both ends are one connection."""
    make_tables(source)
    both = {**source.connection(), "sessions": sessions}
    tidemark.connect("source", both)
    tidemark.connect("warehouse", both)
    add_pipelines(tidemark, source, destination)
    for i in range(TABLES):
        tidemark.pipelines[f"p{i}"]["destination"] = {
            "connection": "source", "table": f"copy.t{i}"}
    return tidemark.write_config()


def test_too_few_sessions_are_refused(make_database, tidemark):
    source = make_database("source")
    one_server(tidemark, source, source, 3)
    done = tidemark("run").expect(EXIT_CONFIG)
    assert "connections.source.sessions is 3" in done.err
    assert "needs 4 sessions" in done.err


def test_as_many_sessions_as_are_needed(make_database, make_proxy, tidemark):
    source = make_database("source")
    source.execute("CREATE SCHEMA copy")
    proxy = make_proxy(source)
    one_server(tidemark, source, source, 4)
    tidemark.connections["source"] = {**proxy.connection(source),
                                      "sessions": 4}
    tidemark.write_config().run()
    tidemark("verify").expect(EXIT_OK)
    assert not tidemark.run().pipeline("p0")["rows_read"]


def test_a_full_server_gets_room(own_cluster, tidemark):
    """Sessions at rest under other names make room, and nothing is said."""
    cluster = own_cluster()
    cluster.create_database("shop")
    shop = ends.PostgresEnd(cluster, "shop")
    make_tables(shop)
    shop.execute("CREATE SCHEMA copy")
    cluster.order(f"ALTER ROLE {APP} CONNECTION LIMIT 2")
    for i in range(TABLES):
        tidemark.connect(f"c{i}", shop.connection())
    add_pipelines(tidemark, shop, shop)
    for i in range(TABLES):
        pipeline = tidemark.pipelines[f"p{i}"]
        pipeline["source"]["connection"] = f"c{i}"
        pipeline["destination"] = {"connection": f"c{i}",
                                   "table": f"copy.t{i}"}
    done = tidemark.write_config().run("--jobs", "1")
    assert "connection" not in done.err, done
    assert set(attempts(tidemark)) == {1}

"""MariaDB and MySQL that change a session behind our back: what is stored is
what was there, or nothing."""

import pytest

import mysql_servers
import workload
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_OK, password_connection,
                   sync_items)
from ends import MysqlEnd
from oracle import check_items
from proxy import Meddler

ENGINES = ("mariadb", "mysql")
# With a character of four bytes, of three, and one of Western Europe.
WORDS = ("🐘", "🦊", "Ł", "é", "ж", "plain")
COLUMNS = {"word": "text", "note": "text", "at": "timestamptz"}

every_engine = pytest.mark.parametrize("engine", ENGINES)


def create_words(end):
    end.execute(
        "CREATE TABLE words (word varchar(20) COLLATE utf8mb4_bin PRIMARY KEY,"
        " note text, at timestamp(6) NOT NULL, INDEX (at))")
    for n, word in enumerate(WORDS):
        end.execute(f"INSERT INTO words VALUES ('{word}', 'note {word}',"
                    f" '2024-01-01 10:00:00.5' + INTERVAL {n} MINUTE)")


def sync_words(tidemark, source, destination, **settings):
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline(
        "words",
        source={"connection": "source", "table": f"{source.schema}.words"},
        destination={"connection": "warehouse",
                     "table": f"{destination.schema}.words"},
        watermark={"strategy": "timestamp", "column": "at"}, **settings)
    return tidemark.write_config()


def check_words(source, destination):
    assert (sorted(source.rows("words", COLUMNS)) ==
            sorted(destination.rows(f"{destination.schema}.words", COLUMNS)))


@pytest.fixture
def init_connect():
    """Let a server run SQL first in each ordinary session."""
    changed = []

    def change(end, sql):
        changed.append(end.server)
        with end.server.admin() as db, db.cursor() as cursor:
            cursor.execute("SET GLOBAL init_connect = %s", [sql])

    yield change
    for server in changed:
        with server.admin() as db, db.cursor() as cursor:
            cursor.execute("SET GLOBAL init_connect = ''")


@pytest.mark.parametrize("first", (
    "SET NAMES utf8mb3", "SET NAMES latin1",
    "SET character_set_results = NULL",
    "SET completion_type = 2, sql_safe_updates = 1, sql_select_limit = 2,"
    " sql_auto_is_null = 1, timestamp = 1e9, autocommit = 0"))
@every_engine
def test_init_connect_of_a_source(tidemark, make_mysql, make_destination,
                                  init_connect, engine, first):
    source, destination = make_mysql(engine), make_destination("sqlite")
    create_words(source)
    init_connect(source, first)
    sync_words(tidemark, source, destination)
    tidemark.run()
    check_words(source, destination)
    tidemark("verify", "words").expect(EXIT_OK)
    assert tidemark.run().pipeline()["rows_read"] == 0


@every_engine
def test_keys_that_the_server_sorts_by_their_beginning(
        tidemark, make_mysql, make_destination, engine):
    """Pages go by the key where many rows have one mark; max_sort_length is
    what a server looks at of it."""
    source, destination = make_mysql(engine), make_destination("sqlite")
    source.execute(
        "CREATE TABLE words (word varchar(200) COLLATE utf8mb4_bin NOT NULL,"
        " note text, at timestamp(6) NOT NULL)",
        "INSERT INTO words WITH RECURSIVE d AS (SELECT 1 n UNION ALL"
        " SELECT n + 1 FROM d WHERE n < 400) SELECT concat(repeat('long ', 30),"
        " n * 7919 % 401), n, '2024-01-01' FROM d")
    with source.server.admin() as db, db.cursor() as cursor:
        cursor.execute("SET GLOBAL max_sort_length = 64")
    try:
        sync_words(tidemark, source, destination, batch={"rows": 30})
        tidemark.pipelines["words"]["key"] = ["word"]
        tidemark.write_config().run()
    finally:
        with source.server.admin() as db, db.cursor() as cursor:
            cursor.execute("SET GLOBAL max_sort_length = DEFAULT")
    check_words(source, destination)


@pytest.mark.parametrize("first", ("SET NAMES utf8mb3", "SET NAMES latin1"))
@every_engine
def test_init_connect_of_a_target(tidemark, make_mysql, make_destination,
                                  init_connect, engine, first):
    source = make_mysql("mariadb")
    destination = make_destination(engine)
    create_words(source)
    init_connect(destination, first)
    sync_words(tidemark, source, destination)
    tidemark.run()
    check_words(source, destination)
    tidemark("verify", "words").expect(EXIT_OK)


# MySQL 9 no longer has the option.
@pytest.fixture(scope="module")
def deaf_server():
    """It takes no character set in the handshake."""
    kind = mysql_servers.SERVERS["mariadb"]
    if kind.missing():
        pytest.skip(kind.missing())
    server = kind(["--skip-character-set-client-handshake",
                   "--character-set-server=latin1"])
    server.create().start().prepare()
    server.create_database("shop")
    yield server
    server.remove()


@pytest.mark.xdist_group("deaf-server")
def test_server_that_ignores_the_handshake(tidemark, deaf_server,
                                           make_destination):
    source, destination = MysqlEnd(deaf_server, "shop"), make_destination(
        "sqlite")
    source.execute("DROP TABLE IF EXISTS words")
    with source.connect() as db, db.cursor() as cursor:
        cursor.execute("SET NAMES utf8mb4")
        cursor.execute(
            "CREATE TABLE words (word varchar(20) COLLATE utf8mb4_bin PRIMARY"
            " KEY, note text, at timestamp(6) NOT NULL, INDEX (at))")
        cursor.executemany(
            "INSERT INTO words VALUES (%s, 'x', '2024-01-01 10:00:00.5')",
            [[word] for word in WORDS])
    sync_words(tidemark, source, destination)
    tidemark.run()
    assert {row[0] for row in destination.rows("main.words", COLUMNS)} == set(
        WORDS)
    tidemark("verify", "words").expect(EXIT_OK)


@pytest.mark.parametrize("setting,asked,given", (
    ("character_set_results", b"results = 'utf8mb4'", b"results = 'latin1'"),
    ("character_set_client", b"client = 'utf8mb4'", b"client = 'latin1'"),
    ("time_zone", b"'+00:00'", b"'+05:00'"),
    ("sql_mode", b"sql_mode = 'STRICT_ALL_TABLES,",
     b"sql_mode =                   '"),
    ("read_only", b"read_only = 1", b"read_only = 0"),
    ("isolation", b"'REPEATABLE-READ'", b"'READ-COMMITTED'")))
@every_engine
def test_session_that_is_not_as_asked(tidemark, make_mysql, make_destination,
                                      engine, setting, asked, given):
    """It is refused before anything is read, by run, check and verify."""
    source, destination = make_mysql(engine), make_destination("sqlite")
    create_words(source)
    sync_words(tidemark, source, destination)
    with Meddler(source.server.port, asked, given) as meddler:
        tidemark.connect("source", password_connection(
            meddler.url(source))).write_config()
        for command in ("run", "check", "verify"):
            done = tidemark(command).expect(EXIT_ACCESS)
            for part in (setting, "connection source", "proxy"):
                assert part in done.out + done.err, done
        assert meddler.meddled
    tidemark.connect("source", source.connection()).write_config().run()
    check_words(source, destination)


@every_engine
def test_target_session_that_is_not_as_asked(tidemark, source, make_mysql,
                                             engine):
    destination = make_mysql(engine)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    with Meddler(destination.server.port, b"client = 'utf8mb4'",
                 b"client = 'latin1'") as meddler:
        tidemark.connect("warehouse", password_connection(
            meddler.url(destination))).write_config()
        done = tidemark("run").expect(EXIT_ACCESS)
        assert "character_set_client" in done.err
    assert destination.tables() == []
    tidemark.connect("warehouse", destination.connection()).write_config()
    tidemark.run()
    check_items(source, destination)


@pytest.mark.parametrize("asked,given,said", (
    (b"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
     b"SET character_set_results = 'latin1'", "character set"),
    (b"CURRENT_USER(), CONNECTION_ID()", b"CURRENT_USER(), 1",
     "became session 1,")))
@every_engine
def test_session_that_changes_later(tidemark, make_mysql, make_destination,
                                    engine, asked, given, said):
    """As with a proxy that gives each statement another session."""
    source, destination = make_mysql(engine), make_destination("sqlite")
    create_words(source)
    sync_words(tidemark, source, destination, retry={"attempts": 1})
    with Meddler(source.server.port, asked, given) as meddler:
        tidemark.connect("source", password_connection(
            meddler.url(source))).write_config()
        done = tidemark("run").expect(EXIT_ACCESS)
        assert said in done.err, done
        assert meddler.meddled
    tidemark.connect("source", source.connection()).write_config().run()
    check_words(source, destination)


@every_engine
@pytest.mark.parametrize("command", ("run", "check"))
def test_sql_of_a_user_is_one_statement(tidemark, make_mysql,
                                        make_destination, engine, command):
    """Our own questions travel together, in one text. A text that a user has
    written never gets a second statement carried out."""
    source, destination = make_mysql(engine), make_destination("sqlite")
    create_words(source)
    sync_words(tidemark, source, destination)
    tidemark.run()
    source.execute("CREATE TABLE victim (id int)")
    tidemark.pipelines["words"]["source"]["where"] = (
        "true); COMMIT; SET SESSION TRANSACTION READ WRITE; "
        "DROP TABLE victim; SELECT (true")
    tidemark.write_config()
    done = tidemark(command).expect(EXIT_CONFIG)
    assert "source.where" in done.err + done.out
    source.execute("INSERT INTO victim VALUES (1)")

"""`tidemark grants`: a user with just the printed rights does the whole work.
`check` names each missing right, or the command that says it."""

import json
import pathlib
import re

import pytest

import oracle
import workload
from bench import EXIT_CONFIG, EXIT_OK, PASSWORD_VARIABLE, items_settings
from servers import CANARY, scram_secret

LEAST = "least"
STRATEGIES = ("timestamp", "sequence", "xmin")
MODES = ("upsert", "append", "delete_insert", "update", "replace")
MYSQLS = ("mariadb", "mysql")
# Rights of everybody, unless somebody has revoked them.
PUBLIC = ("pg_control_system()", "pg_control_checkpoint()",
          "pg_control_recovery()", "pg_current_wal_lsn()",
          "pg_current_wal_insert_lsn()", "pg_current_wal_flush_lsn()")


class PostgresLeast:
    """A role without any right in a database that gives none away."""

    def __init__(self, end):
        self.end = end
        self.execute(
            f"CREATE ROLE {LEAST} LOGIN PASSWORD '{scram_secret(CANARY)}'",
            f"REVOKE ALL ON DATABASE {end.database} FROM PUBLIC",
            "REVOKE ALL ON SCHEMA public FROM PUBLIC",
            *(f"REVOKE EXECUTE ON FUNCTION {each} FROM PUBLIC"
              for each in PUBLIC))

    def execute(self, *statements):
        with self.end.cluster.admin(self.end.database) as db:
            for sql in statements:
                db.execute(sql)

    def url(self):
        return self.end.cluster.url(self.end.database, LEAST, None)

    def take_away(self):
        """All that it has been given; not what is its own."""
        self.execute(
            f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {LEAST}",
            f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM {LEAST}",
            f"REVOKE ALL ON SCHEMA public FROM {LEAST}",
            f"REVOKE ALL ON DATABASE {self.end.database} FROM {LEAST}",
            f"REVOKE pg_read_all_stats FROM {LEAST}",
            *(f"REVOKE EXECUTE ON FUNCTION {each} FROM {LEAST}"
              for each in PUBLIC))

    def remove(self):
        self.execute(f"DROP OWNED BY {LEAST} CASCADE", f"DROP ROLE {LEAST}",
                     *(f"GRANT EXECUTE ON FUNCTION {each} TO PUBLIC"
                       for each in PUBLIC))


class MysqlLeast:
    def __init__(self, end):
        self.end = end
        self.execute(f"CREATE USER {LEAST}@'%' IDENTIFIED {end.server.plugin}"
                     f"BY '{CANARY}'")

    def execute(self, *statements):
        self.end.execute(*statements)

    def url(self):
        return self.end.server.url(self.end.database, LEAST, None)

    def take_away(self):
        self.execute(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {LEAST}@'%'")

    def remove(self):
        self.execute(f"DROP USER {LEAST}@'%'")


@pytest.fixture
def make_least():
    made = []

    def make(end):
        made.append((PostgresLeast if end.engine == "postgres"
                     else MysqlLeast)(end))
        return made[-1]

    yield make
    for each in made:
        each.remove()


def connection(least):
    return {"url": least.url(), "password": "${%s}" % PASSWORD_VARIABLE}


def set_up(tidemark, source, destination, strategy, mode="upsert", **more):
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("items", **items_settings(source, destination, strategy,
                                                mode, **more))
    return tidemark.write_config()


def grants(tidemark, role):
    """The statements for one of the servers."""
    done = tidemark("grants", "items", "--json").expect(EXIT_OK)
    servers = done.json()["pipelines"][0]["servers"]
    found, = [each["grants"] for each in servers if each["role"] == role]
    return found


def replace_connection(tidemark, name, least):
    if name == "state":
        tidemark.top["state"] = connection(least)
    else:
        tidemark.connections[name] = connection(least)
    tidemark.write_config()


def sync_twice(tidemark, source, destination, mode):
    """A first run, changes, a second one; the target is as it has to be."""
    if mode == "update":
        # Rows that are there are all that it writes.
        sync_as_owner(tidemark, source, destination)
    tidemark.run()
    workload.update_items(source, "id <= 5", "quantity = 77",
                          "2024-06-01 10:00:00")
    tidemark.run()
    columns = dict(oracle.ITEMS)
    if mode == "update":  # It writes all but key and mark.
        del columns["updated_at"]
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", columns)


def sync_as_owner(tidemark, source, destination):
    tidemark.pipelines["items"]["load"]["mode"] = "upsert"
    tidemark.write_config()
    tidemark.run()
    tidemark.pipelines["items"]["load"]["mode"] = "update"
    tidemark.write_config()


def names_right(checked, text):
    """A problem that tells what to do, and says `text` in it."""
    return any(each["fix"] and text in each["fix"] + each["message"]
               for each in checked["problems"])


def check(tidemark):
    return tidemark("check", "--json").json()["pipelines"][0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_postgres_source(tidemark, source, make_destination, make_least,
                         strategy):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    set_up(tidemark, source, destination, strategy)
    least = make_least(source)
    replace_connection(tidemark, "source", least)
    least.execute(*(each["sql"] for each in grants(tidemark, "source")))
    checked = check(tidemark)
    assert checked["problems"] == [], checked
    assert checked["guarantee"] == "exact", checked
    sync_twice(tidemark, source, destination, "upsert")
    one_less(tidemark, least, grants(tidemark, "source"), {
        "CONNECT": "CONNECT", "USAGE": "USAGE", "SELECT": "SELECT",
        "sees where the sequence stands": "SEQUENCE",
        "reads each partition": Unseen("the table has none"),
        "pg_control": "pg_control_system",
        "pg_current_wal_lsn": "pg_control_system",
        "pg_current_wal_insert_lsn": "pg_current_wal_flush_lsn",
        "pg_current_wal_flush_lsn": "pg_current_wal_flush_lsn",
        "pg_read_all_stats": "pg_read_all_stats"})


class Unseen(str):
    """Why `check` cannot notice that a right is missing."""


def single_rights(given):
    """(right, statement): a statement that gives several rights gives each by
    itself here. One that is no plain GRANT goes by what it is for."""
    for each in given:
        parts = re.fullmatch(r"GRANT (.+) ON (.+) TO (.+)", each["sql"])
        role = re.fullmatch(r"GRANT (\w+) TO .+", each["sql"])
        if role or not parts or each["sql"].startswith("DO "):
            yield role[1] if role else each["why"], each["sql"]
            continue
        rights, where, who = parts.groups()
        functions = re.fullmatch(r"FUNCTION (.+)", where)
        for one in (functions[1] if functions else rights).split(", "):
            yield ((one, f"GRANT {rights} ON FUNCTION {one} TO {who}")
                   if functions else
                   (f"{one} ON {where}", f"GRANT {one} ON {where} TO {who}"))


def expected_of(right, words):
    found = [words[each] for each in words if right.startswith(each)]
    assert len(found) == 1, f"{right}: tested by no word, or by several"
    return found[0]


def one_less(tidemark, least, given, words):
    """Leave out each right in its turn. `check` says the word that goes with
    the right's beginning. A right marked Unseen makes no difference to it."""
    rights = list(single_rights(given))
    for left_out, _ in rights:
        word = expected_of(left_out, words)
        least.take_away()
        least.execute(*(sql for right, sql in rights if right != left_out))
        checked = check(tidemark)
        assert CANARY not in json.dumps(checked)
        if isinstance(word, Unseen):
            assert not names_right(checked, left_out.split(" ")[0]), left_out
        else:
            assert names_right(checked, word), (left_out, checked["problems"])


@pytest.mark.parametrize("engine", MYSQLS)
@pytest.mark.parametrize("strategy", ("timestamp", "sequence"))
def test_mysql_source(tidemark, make_source, make_destination, make_least,
                      engine, strategy):
    source, destination = make_source(engine), make_destination("sqlite")
    workload.create_items(source, rows=20)
    set_up(tidemark, source, destination, strategy)
    least = make_least(source)
    replace_connection(tidemark, "source", least)
    given = grants(tidemark, "source")
    least.execute(*(each["sql"] for each in given))
    checked = check(tidemark)
    if strategy == "timestamp":
        assert checked["problems"] == [], checked
        assert checked["guarantee"] == "exact", checked
    else:  # The table's ids are no AUTO_INCREMENT.
        assert not names_right(checked, "GRANT"), checked
    sync_twice(tidemark, source, destination, "upsert")
    one_less(tidemark, least, given, {
        "SELECT ON `": "tidemark grants items", "PROCESS": "PROCESS",
        "SELECT ON performance_schema":
            "performance_schema" if strategy == "timestamp" else
            Unseen("it asks only whether this is a replica, and the right "
                   "PROCESS shows the threads of one"),
        "XA_RECOVER_ADMIN": "XA_RECOVER_ADMIN",
        "SLAVE MONITOR": Unseen("this server has performance_schema")})


@pytest.mark.parametrize("mode", MODES)
def test_postgres_destination(tidemark, source, make_destination, make_least,
                              mode):
    destination = make_destination("postgres")
    workload.create_items(source, rows=20)
    set_up(tidemark, source, destination, "timestamp", mode)
    least = make_least(destination)
    least.execute("ALTER SCHEMA public OWNER TO postgres",
                  "GRANT USAGE ON SCHEMA public TO app",
                  f"ALTER DEFAULT PRIVILEGES FOR ROLE {LEAST} GRANT SELECT ON"
                  " TABLES TO app")
    replace_connection(tidemark, "warehouse", least)
    given = grants(tidemark, "destination")
    one_less(tidemark, least, given, {
        "CONNECT": "CONNECT", "TEMPORARY": "TEMPORARY",
        "USAGE": "tidemark grants items", "CREATE": "CREATE"})
    least.take_away()
    least.execute(*(each["sql"] for each in given))
    sync_twice(tidemark, source, destination, mode)


@pytest.mark.parametrize("engine", MYSQLS)
@pytest.mark.parametrize("mode", MODES)
def test_mysql_destination(tidemark, source, make_destination, make_least,
                           engine, mode):
    destination = make_destination(engine)
    workload.create_items(source, rows=20)
    set_up(tidemark, source, destination, "timestamp", mode)
    least = make_least(destination)
    replace_connection(tidemark, "warehouse", least)
    given = grants(tidemark, "destination")
    one_less(tidemark, least, given, {
        right: right.removesuffix(" ON") for right in ("SELECT", "INSERT", "UPDATE", "DELETE",
                                   "CREATE ON", "CREATE TEMPORARY TABLES",
                                   "ALTER", "DROP", "CREATE VIEW", "TRIGGER",
                                   "PROCESS")})
    least.take_away()
    least.execute(*(each["sql"] for each in given))
    sync_twice(tidemark, source, destination, mode)
    assert not names_right(check(tidemark), "GRANT"), check(tidemark)


def test_postgres_state(tidemark, source, make_destination, make_database,
                        make_least):
    destination, state = make_destination("sqlite"), make_database("state")
    workload.create_items(source, rows=20)
    set_up(tidemark, source, destination, "timestamp")
    least = make_least(state)
    replace_connection(tidemark, "state", least)
    given = grants(tidemark, "state")
    assert names_right(check(tidemark), "CONNECT"), check(tidemark)
    least.execute(given[0]["sql"])
    assert names_right(check(tidemark), "CREATE SCHEMA"), check(tidemark)
    least.execute(given[1]["sql"])
    assert check(tidemark)["problems"] == []
    sync_twice(tidemark, source, destination, "upsert")
    assert state.cluster.connect(state.database, LEAST).execute(
        "SELECT count(*) FROM tidemark.attempts").fetchone()[0] >= 2


def test_files_have_no_users(tidemark, make_source, make_destination):
    source, destination = make_source("sqlite"), make_destination("duckdb")
    set_up(tidemark, source, destination, "timestamp")
    done = tidemark("grants").expect(EXIT_OK)
    assert "GRANT" not in done.out and "(sqlite): a file" in done.out
    assert done.out.count("\n") == 3, done


def test_nobody_is_named(tidemark, make_destination, work_dir):
    """A right is not printed for a user that would have to be guessed."""
    for url in ("mysql://127.0.0.1/shop", "mariadb://127.0.0.1/shop"):
        tidemark.connect("source", url).connect(
            "warehouse", f"sqlite:{work_dir}/w.db")
        tidemark.pipeline("items", **{
            "source": {"connection": "source", "table": "items"},
            "destination": {"connection": "warehouse", "table": "items"},
            "watermark": {"strategy": "timestamp", "column": "t"}})
        done = tidemark.write_config()("grants").expect(EXIT_CONFIG)
        assert "connection source" in done.err and "no user" in done.err, done


def test_names_stay_within_their_quotes(tidemark, work_dir):
    """Names of tables come from others' databases."""
    tidemark.connect("source", "postgresql://127.0.0.1/x?user=a%22%24do%24b")
    tidemark.connect("warehouse", "mysql://o`'x@127.0.0.1/my_db")
    tidemark.pipeline("items", **{
        "source": {"connection": "source", "table": "\"it's $do$ \"\"x\""},
        "destination": {"connection": "warehouse", "table": "my_db.\"a`b\""},
        "watermark": {"strategy": "sequence", "column": "o'x"}})
    given = tidemark.write_config()("grants", "--json").expect(EXIT_OK).json()
    source, destination = given["pipelines"][0]["servers"][:2]
    text = [each["sql"] for each in source["grants"]]
    assert 'ON TABLE "public"."it\'s $do$ ""x" TO "a""$do$b"' in text[3]
    assert text[4].startswith("DO $dodo$ ") and text[4].endswith("$dodo$")
    assert "'o''x'" in text[4]
    assert "ON `my\\_db`.* TO 'o`''x'@'%'" in destination["grants"][0]["sql"]


@pytest.mark.parametrize("strategy", ("sequence", "xmin"))
def test_names_with_control_characters(tidemark, source, make_destination,
                                       make_least, strategy):
    """The lines that are printed are about that table and no other."""
    name = '"a\tb\nc\\d\u202e"'
    destination = make_destination("sqlite")
    workload.create_items(source, rows=3)
    source.execute(f"ALTER TABLE items RENAME TO {name}")
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("items", **{
        **items_settings(source, destination, strategy),
        "source": {"connection": "source", "table": f"public.{name}"}})
    least = make_least(source)
    replace_connection(tidemark, "source", least)
    printed = tidemark("grants", "items").expect(EXIT_OK).out
    least.execute(*(line for line in printed.split("\n")
                    if line and not line.startswith("--")))
    assert tidemark.run().pipeline()["rows_read"] == 3


def test_names_that_no_line_can_hold(tidemark, work_dir):
    """MySQL has no escape for them: JSON has."""
    tidemark.connect("source", "mysql://o@127.0.0.1/shop")
    tidemark.connect("warehouse", f"sqlite:{work_dir}/w.db")
    tidemark.pipeline("items", **{
        "source": {"connection": "source", "table": '"a\tb"'},
        "destination": {"connection": "warehouse", "table": "items"},
        "watermark": {"strategy": "timestamp", "column": "t"}})
    done = tidemark.write_config()("grants", "items").expect(EXIT_CONFIG)
    assert "control characters" in done.err, done
    assert "tidemark grants items --json" in done.err and not done.out, done
    assert "ON `shop`.`a\tb` TO" in grants(tidemark, "source")[0]["sql"]


PAGE = pathlib.Path(__file__).parents[2] / "docs" / "rights.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text("utf-8"),
                      re.M | re.S)


def test_the_page_shows_what_is_printed(tidemark):
    config, = blocks("yaml")
    printed = tidemark.write_config(config)("grants").expect(EXIT_OK).out
    shown = blocks("sql")
    assert len(shown) > 8
    for block in shown:
        lines = block.splitlines()
        for remark, sql in zip(lines[::2], lines[1::2]):
            assert f"{remark}\n{sql}\n" in printed, sql

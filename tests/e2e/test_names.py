"""One table has many names, and holds rows of one source table. Two pipelines
of one config that mean one table are refused, however they spell it. So is a
pipeline that meets a table with rows of another source table."""

import os
import re
import shlex
import signal

import pytest

import ends
import oracle
import workload
from bench import (EXIT_CONFIG, EXIT_OK, EXIT_SCHEMA, EXIT_STATE,
                   items_settings, sync_items)
from oracle import ITEMS
from servers import wait_for

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb", "clickhouse",
           "bigquery")


def make_users(source):
    """Two tables of one name, whose rows have the same keys."""
    for schema, word in (("a", "ann"), ("b", "bob")):
        source.execute(
            f"CREATE SCHEMA {schema}",
            f"CREATE TABLE {schema}.users (id integer PRIMARY KEY, name text, "
            "updated_at timestamptz NOT NULL DEFAULT now())",
            f"INSERT INTO {schema}.users (id, name) "
            f"SELECT g, '{word}' || g FROM generate_series(1, 9) g")
    workload.settle(source)


def users(source, destination, schema, to, mode="upsert"):
    return {"source": {"connection": "source", "table": f"{schema}.users"},
            "destination": {"connection": "warehouse", "table": to},
            "watermark": {"strategy": "timestamp", "column": "updated_at"},
            "load": {"mode": mode}}


def names_of(destination, table="users"):
    return sorted(row[0] for row in destination.rows(
        f"{destination.schema}.{table}", {"name": "text"}))


def spellings(destination, table):
    """Other names of the same table, for the engine's own rules."""
    schema = destination.schema
    if destination.engine in ("sqlite", "duckdb"):
        return [table, f"main.{table}", f"MAIN.{table.upper()}"]
    if destination.engine == "postgres":
        return [table, f"public.{table}",
                f"{destination.database}.public.{table}"]
    return [table, f"{schema}.{table}"]


def drop(destination, table):
    if destination.engine == "clickhouse":
        destination.execute(f"DROP VIEW {table}", f"DROP TABLE {table}_raw")
    else:
        destination.execute(f"DROP TABLE {destination.schema}.{table}")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_target_of_another_source_table(tidemark, source, make_destination,
                                          engine):
    """Each in a config of its own: the mark of the first tells the second."""
    destination = make_destination(engine)
    make_users(source)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("ann", **users(source, destination, "a", "users"))
    tidemark.write_config()
    tidemark.run()
    before = names_of(destination)
    assert before[0] == "ann1"
    tidemark.pipelines.clear()
    for to in spellings(destination, "users"):
        tidemark.pipeline("bob", **users(source, destination, "b", to))
        tidemark.write_config()
        for args in ((), ("--dry-run",), ("--full-refresh",)):
            done = tidemark("run", "--json", *args).expect(EXIT_SCHEMA)
            message = done.pipeline()["error"]["message"]
            for word in ('"ann"', "a.users", "b.users", to,
                         "tidemark watermark forget bob ann"):
                assert word in message, message
        problems = tidemark("check", "--json").pipeline()["problems"]
        found = [each for each in problems
                 if each["code"] == "target-of-another-source"]
        assert [each["severity"] for each in found] == ["error"], problems
        assert "a.users" in found[0]["message"] and found[0]["fix"]
        assert names_of(destination) == before
    drop(destination, "users")
    for _ in range(2):
        tidemark.run()
        assert names_of(destination)[0] == "bob1"
    tidemark.pipelines.clear()
    tidemark.pipeline("ann", **users(source, destination, "a", "users"))
    tidemark.write_config()
    done = tidemark("run", "--json").expect(EXIT_SCHEMA)
    assert '"bob"' in done.pipeline()["error"]["message"]
    assert names_of(destination)[0] == "bob1"


@pytest.mark.parametrize("mode", ("append", "delete_insert", "replace"))
def test_another_source_table_in_each_mode(tidemark, source, make_destination,
                                           mode):
    destination = make_destination("postgres")
    make_users(source)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for name, schema, code in (("ann", "a", EXIT_OK), ("bob", "b", EXIT_SCHEMA)):
        tidemark.pipelines.clear()
        tidemark.pipeline(name, **users(source, destination, schema, "users",
                                        mode))
        tidemark.write_config()
        tidemark("run", "--json").expect(code)
        assert names_of(destination)[0] == "ann1"


def test_a_renamed_source_table_is_the_same(tidemark, source,
                                            make_destination):
    """And a source that is spelled otherwise: the mark is kept."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    workload.settle(source)
    tidemark.run()
    tidemark.pipelines["items"]["source"]["table"] = "items"
    tidemark.write_config()
    assert tidemark.run().pipeline()["rows_read"] == 0


def two_names(engine, destination, work_dir):
    """(connection, table) twice: one table, by other names."""
    here = destination.connection()
    if engine in ("sqlite", "duckdb"):
        path, link = destination.path, work_dir / f"link.{engine}"
        hard = work_dir / f"hard.{engine}"
        os.symlink(path, link)
        destination.execute("CREATE TABLE made (id integer)")
        os.link(path, hard)
        relative = os.path.relpath(path, work_dir)
        return [(here, "items", f"{engine}:{link}", "items"),
                (here, "items", f"{engine}:{hard}", "main.items"),
                (here, "items", f"{engine}:./{relative}", "items"),
                (here, "items", here, "MAIN.Items")]
    other = dict(here, url=here["url"].replace("127.0.0.1", "localhost")) \
        if isinstance(here, dict) else None
    names = spellings(destination, "items")
    pairs = [(here, names[0], here, name) for name in names[1:]]
    if other and other != here:
        pairs += [(here, names[0], other, names[0]),
                  (here, names[0], other, names[-1])]
    return pairs


@pytest.mark.parametrize("engine", ENGINES)
def test_one_target_by_two_names(tidemark, source, make_destination, work_dir,
                                 engine):
    """In one config: refused before a row is written, and by check."""
    destination = make_destination(engine)
    workload.create_items(source, rows=20)
    tidemark.connect("source", source.connection())
    pairs = two_names(engine, destination, work_dir)
    assert pairs
    for first, one, second, two in pairs:
        tidemark.connect("first", first)
        tidemark.connect("second", second)
        for name, connection, table in (("left", "first", one),
                                        ("right", "second", two)):
            settings = items_settings(source, destination, "timestamp",
                                      to=table)
            settings["destination"]["connection"] = connection
            tidemark.pipeline(name, **settings)
        tidemark.write_config()
        done = tidemark("run", "--json").expect(EXIT_CONFIG)
        if done.out.strip():
            errors = [each["error"]["message"]
                      for each in done.json()["pipelines"]]
            assert "writes to this table already" in errors[0], (errors, two)
            assert '"right"' in errors[0] and '"left"' in errors[1]
            problems = tidemark("check", "--json").pipeline("left")["problems"]
            assert [each["severity"] for each in problems if each["code"] ==
                    "target-loaded-twice"] == ["error"], problems
        else:
            assert "writes to this table already" in done.err, done
        assert "items" not in destination.tables()


def test_tables_of_one_name_are_not_one(tidemark, source, make_destination,
                                        make_source):
    """No false alarm: other databases, other schemas, other files."""
    workload.create_items(source, rows=5)
    one, two = make_destination("postgres"), make_destination("postgres")
    three, four = make_destination("sqlite"), make_destination("sqlite")
    one.execute("CREATE SCHEMA other")
    tidemark.connect("source", source.connection())
    for number, (end, to) in enumerate((
            (one, "items"), (one, "other.items"), (two, "items"),
            (three, "items"), (four, "main.items"), (one, '"ITEMS"'))):
        tidemark.connect(f"to{number}", end.connection())
        settings = items_settings(source, end, "timestamp", to=to)
        settings["destination"]["connection"] = f"to{number}"
        tidemark.pipeline(f"items{number}", **settings)
    tidemark.write_config()
    tidemark.run()
    for end, to in ((one, "public.items"), (one, "other.items"),
                    (two, "public.items"), (three, "main.items"),
                    (four, "main.items"), (one, 'public."ITEMS"')):
        assert end.query(f"SELECT count(*) FROM {to}") == [(5,)]


@pytest.mark.parametrize("engine", ("postgres", "sqlite", "mariadb"))
def test_a_source_is_no_target(tidemark, make_source, work_dir, engine):
    """By another name of the very table."""
    source = make_source(engine)
    workload.create_items(source, rows=5)
    if engine == "sqlite":
        link = work_dir / "link.db"
        os.symlink(source.path, link)
        to = f"sqlite:{link}"
    else:
        here = source.connection()
        to = dict(here, url=here["url"].replace("127.0.0.1", "localhost"))
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", to)
    tidemark.pipeline("items", **items_settings(source, source, "timestamp",
                                                to="items"))
    tidemark.write_config()
    done = tidemark("run", "--json").expect(EXIT_CONFIG)
    assert "the same table" in done.pipeline()["error"]["message"]


@pytest.mark.parametrize("names", (("ann", "bob"), ("users", "users")),
                         ids=("two names", "one name"))
@pytest.mark.parametrize("moment", ("run_recorded", "in_recovery"))
@pytest.mark.parametrize("engine", ("postgres", "mariadb", "mysql", "sqlite",
                                    "duckdb"))
def test_two_first_runs_of_two_source_tables(
        tidemark_failpoints, source, make_destination, engine, moment, names):
    """From two machines, at one moment: none has a mark yet. One of them wins,
    and the other says who, or what, it was."""
    tidemark, destination = tidemark_failpoints, make_destination(engine)
    make_users(source)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())

    def configure(schema, name):
        tidemark.top["state"] = f"sqlite:{tidemark.dir}/{schema}.db"
        tidemark.pipelines.clear()
        tidemark.pipeline(name, **users(source, destination, schema, "users"))
        tidemark.write_config()

    configure("a", names[0])
    first = tidemark.start("run", "--json", failpoints=f"{moment}=stop")
    wait_for(lambda: first.stopped() or not first.alive(), step=0.01,
             what="the failpoint")
    configure("b", names[1])
    second = tidemark("run", "--json")
    first.signal(signal.SIGCONT)
    ended = {"ann": first.wait(), "bob": second}
    won, = [word for word, each in ended.items() if each.code == EXIT_OK]
    lost, = [each for word, each in ended.items() if word != won]
    assert lost.code in (EXIT_SCHEMA, EXIT_STATE), lost
    assert {name[:3] for name in names_of(destination)} == {won}
    message = lost.pipeline()["error"]["message"]
    assert any(word in message for word in (
        "of another source table", "taken over", "source is not the one",
        "PID")), lost


def copy_args(source, destination, table="public.items", **more):
    flags = {"watermark": "timestamp:updated_at", **more}
    return [source, destination, "--table", table,
            *(word for name, value in flags.items()
              for word in (f"--{name}", value))]


def one_pipeline(tidemark):
    done = tidemark("runs", "list", "--json", *tidemark.copied).expect(EXIT_OK)
    return {each["pipeline"] for each in done.json()["runs"]}


@pytest.fixture
def copied(tidemark, source, work_dir):
    """A copy that has settled, and what else may be written for its URLs."""
    workload.create_items(source, rows=20)
    url = source.url()
    scheme, rest = url.split("@", 1)
    target = f"sqlite:{work_dir}/w.db"
    os.symlink(work_dir / "w.db", work_dir / "link.db")
    tidemark.env["PGPASSWORD"] = tidemark.env["TIDEMARK_TEST_PASSWORD"]
    tidemark.copied = copy_args(url, target)
    tidemark.others = [
        copy_args(url.replace("127.0.0.1", "localhost"), target),
        copy_args(scheme + ":${TIDEMARK_TEST_PASSWORD}@" + rest, target),
        copy_args(url, target, table="items"),
        copy_args(url, target, to="main.Items"),
        copy_args(url, "sqlite:w.db"),
        copy_args(url, f"sqlite:{work_dir}/link.db"),
        copy_args(url, target, mode="upsert")]
    workload.settle(source)
    tidemark.copied_first = tidemark("copy", "--json", *tidemark.copied).expect(
        EXIT_OK).pipeline()
    assert tidemark.copied_first["rows_inserted"] == 20
    return tidemark


def test_a_copy_belongs_to_the_tables(copied, source):
    workload.settle(source)
    copied("copy", *copied.copied).expect(EXIT_OK)
    for args in copied.others:
        done = copied("copy", "--json", *args).expect(EXIT_OK).pipeline()
        assert (done["pipeline"], done["rows_read"]) == (
            copied.copied_first["pipeline"], 0), args
        shown = copied("status", "--json", *args).expect(EXIT_OK).pipeline()
        assert shown["pipeline"] == done["pipeline"] and shown["watermark"]
    assert one_pipeline(copied) == {copied.copied_first["pipeline"]}


@pytest.mark.parametrize("name", (
    "public_items_to_sqlite_items_0badcafe", "items_to_sqlite_items_12345678"))
def test_a_copy_named_by_an_older_version(copied, source, work_dir, name):
    """Its mark is found at the target, and goes on."""
    workload.settle(source)
    copied("copy", *copied.copied).expect(EXIT_OK)
    target = ends.SqliteEnd(work_dir / "w.db")
    target.execute(f"UPDATE _tidemark_watermark SET pipeline = '{name}'")
    for path in work_dir.glob(".tidemark/state.db*"):
        path.unlink()
    for args in (copied.copied, *copied.others):
        done = copied("copy", "--json", *args).expect(EXIT_OK).pipeline()
        assert (done["pipeline"], done["rows_read"]) == (name, 0), args
    assert target.query("SELECT count(*) FROM _tidemark_watermark") == [(1,)]


def test_a_copy_of_another_strategy_or_name(copied, source):
    """Is another pipeline, and loads the same rows again."""
    for more in ({"watermark": "sequence:id"}, {"name": "mine"}):
        args = copy_args(*copied.copied[:2], **more)
        done = copied("copy", "--json", *args).expect(EXIT_OK).pipeline()
        assert done["rows_read"] == done["rows_unchanged"] == 20
        assert done["pipeline"] == more.get("name", done["pipeline"])
        assert done["pipeline"] != copied.copied_first["pipeline"]
    shown = copied("status", "--json", *args).expect(EXIT_OK).pipeline()
    assert shown["pipeline"] == "mine" and shown["watermark"]


def test_a_copy_that_gets_or_loses_its_name(copied, work_dir):
    """It says who has the mark of the same tables, once, and how to go on."""
    target = ends.SqliteEnd(work_dir / "w.db")
    first = copied.copied_first["pipeline"]
    named = copy_args(*copied.copied[:2], name="mine")

    def told(args, other):
        said = []
        for _ in range(2):
            done = copied("copy", *args).expect(EXIT_OK)
            said.append(f'mark of pipeline "{other}"' in done.err)
        assert said == [True, False]
        return done

    told(named, first)
    target.execute("DELETE FROM _tidemark_watermark WHERE pipeline <> "
                   "'mine'")
    told(copied.copied, "mine")
    target.execute("DELETE FROM _tidemark_watermark WHERE pipeline = "
                   "'mine'")
    done = copied("copy", *named).expect(EXIT_OK)
    assert "leave out --name" in done.err
    forget, = [each for each in advice(done.err) if "forget" in each]
    copied(*shlex.split(forget)).expect(EXIT_OK)
    assert target.query("SELECT pipeline FROM _tidemark_watermark") == [
        ("mine",)]


def test_commands_about_a_copy(copied, source):
    """Take its arguments, and need no config."""
    args, name = copied.copied, copied.copied_first["pipeline"]
    assert copied("check", "--json", *args).expect(EXIT_OK).pipeline()["ok"]
    assert copied("status", "--json", *args).expect(EXIT_OK).pipeline()[
        "pipeline"] == name
    verified = copied("verify", "--json", *args).expect(EXIT_OK).pipeline()
    assert verified["pipeline"] == name and verified["equal"]
    run, = {each["run_id"] for each in copied(
        "runs", "list", "--json", *args).expect(EXIT_OK).json()["runs"]}
    copied("runs", "show", run, *args).expect(EXIT_OK)
    copied("runs", "replay", *args, run).expect(EXIT_OK)
    copied("dead-letters", "list", *args).expect(EXIT_OK)
    none = copied("dead-letters", "replay", *args).expect(EXIT_CONFIG)
    assert f"{name} has no dead letters" in none.err
    copied("pace", *args, "rows_per_second=5000").expect(EXIT_OK)
    assert "5000" in copied("pace", *args).expect(EXIT_OK).out
    copied("pause", *args, "--reason", "a look").expect(EXIT_OK)
    assert copied("status", "--json", *args).pipeline()["state"] == "paused"
    copied("resume", *args).expect(EXIT_OK)
    assert copied("status", "--json", *args).pipeline()["state"] == "ok"
    assert "GRANT" in copied("grants", *args).expect(EXIT_OK).out
    done = copied("backfill", *args, "--from", "2000-01-01", "--to",
                  "2100-01-01", "--json").expect(EXIT_OK).json()
    assert sum(each["rows"] for each in done["chunks"]) == 20
    mark = copied("watermark", "show", *args).expect(EXIT_OK).out.strip()
    copied("watermark", "reset", *args).expect(EXIT_OK)
    shown = copied("watermark", "show", *args).expect(EXIT_OK).out.strip()
    assert shown == "null"
    copied("watermark", "set", *args, mark).expect(EXIT_OK)
    shown = copied("watermark", "show", "--json", *args).expect(EXIT_OK)
    assert shown.pipeline()["watermark"]["strategy"] == "timestamp"


def advice(text):
    """The commands that a message names."""
    return re.findall(r"tidemark ((?:[a-z-]+)(?: (?:'[^']*'|[^\s;,'`\"()]+))+)",
                      text)


def test_two_copies_into_one_table(tidemark, source, make_destination,
                                   work_dir):
    """Refused, and what the message tells to do works as it stands."""
    make_users(source)
    destination = make_destination("sqlite")
    tidemark.env["PGPASSWORD"] = tidemark.env["TIDEMARK_TEST_PASSWORD"]
    first, second = (copy_args(source.url(), destination.url(),
                               table=f"{schema}.users") for schema in "ab")
    tidemark("copy", *first).expect(EXIT_OK)
    for args in (second, [*second, "--to", "MAIN.USERS"]):
        done = tidemark("copy", *args).expect(EXIT_SCHEMA)
        for word in ("a.users", "b.users"):
            assert word in done.err, done
        assert names_of(destination)[0] == "ann1"
    forget, = [each for each in advice(done.err) if "forget" in each]
    tidemark(*shlex.split(forget)).expect(EXIT_OK)
    tidemark("copy", *args).expect(EXIT_OK)
    done = tidemark("copy", *first).expect(EXIT_SCHEMA)


def test_advice_about_a_copy(tidemark, source, make_destination, work_dir):
    """A source table that was made anew: each command that is named runs."""
    make_users(source)
    destination = make_destination("sqlite")
    tidemark.env["PGPASSWORD"] = tidemark.env["TIDEMARK_TEST_PASSWORD"]
    args = copy_args(source.url(), destination.url(), table="a.users",
                     state=f"sqlite:{work_dir}/it's here.db")
    tidemark("copy", *args).expect(EXIT_OK)
    source.execute("ALTER TABLE a.users RENAME TO gone",
                   "CREATE TABLE a.users (LIKE a.gone INCLUDING ALL)",
                   "INSERT INTO a.users SELECT * FROM a.gone")
    for _ in range(2):
        done = tidemark("copy", *args).expect(EXIT_SCHEMA)
        told = advice(done.err)
        assert any("reset" in each for each in told), done
        for each in told:
            assert "--state" in each, each
    for each in told:
        tidemark(*shlex.split(each.replace("'\\''", "'\"'\"'"))).expect(EXIT_OK)
    tidemark("copy", *args).expect(EXIT_OK)

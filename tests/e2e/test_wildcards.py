"""Wildcards: one pipeline for each table that a pattern catches."""

import json
import os

import pytest

from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_OK, EXIT_SCHEMA)
from servers import wait_for
from state import StateStore

SOURCES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
COLUMNS = {"id": "int", "note": "text"}


def quoted(source, name):
    mark = "`" if source.engine in ("mysql", "mariadb") else '"'
    return mark + name.replace(mark, 2 * mark) + mark


def create(source, name, rows=3, key=True, schema=None):
    table = quoted(source, name)
    if schema:
        table = f"{quoted(source, schema)}.{table}"
    source.execute(
        f"CREATE TABLE {table} (id int{' PRIMARY KEY' if key else ''}, "
        "note varchar(20))")
    insert(source, name, 1, rows, schema)


def insert(source, name, first, last, schema=None):
    table = quoted(source, name)
    if schema:
        table = f"{quoted(source, schema)}.{table}"
    if last >= first:
        source.execute(f"INSERT INTO {table} VALUES " + ", ".join(
            f"({i}, 'note {i}')" for i in range(first, last + 1)))


def shop(tidemark, source, destination, tables=None, **settings):
    """A wildcard over all tables of the source, and the config with it."""
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline(
        "shop", tables=tables or f"{source.schema}.*",
        source={"connection": "source"},
        destination={"connection": "warehouse",
                     "schema": destination.schema}, **settings)
    return tidemark.write_config()


def names(done):
    return [each["pipeline"] for each in done.json()["pipelines"]]


def choices(tidemark, store=None):
    """The state store keeps them."""
    found = StateStore(tidemark, store).query(
        "SELECT pipeline, chosen FROM {t}choices")
    return {name: json.loads(chosen) if chosen else None
            for name, chosen in found}


def count(end, table):
    return len(end.rows(f"{end.schema}.{table}", COLUMNS))


@pytest.mark.parametrize("engine", SOURCES)
def test_each_table_is_a_pipeline(tidemark, make_source, make_destination,
                                  engine):
    """Odd names too; what is excluded is not, and a new table comes along."""
    source, destination = make_source(engine), make_destination("sqlite")
    for name in ("orders", "Order.Lines", "two words", "tmp_1", "tmp_2"):
        create(source, name)
    shop(tidemark, source, destination, exclude=[f"{source.schema}.tmp_*"])
    expected = {"shop.orders", "shop.Order.Lines", "shop.two words"}
    assert set(names(tidemark("check", "--json").expect(EXIT_OK))) == expected
    assert not os.path.exists(tidemark.state_file), "check has written"
    first = tidemark.run()
    assert set(names(first)) == expected
    assert [each["rows_read"] for each in first.json()["pipelines"]] == [3] * 3
    for name in ("orders", '"Order.Lines"', '"two words"'):
        assert count(destination, name) == 3
    assert not [name for name in destination.tables() if "tmp" in name]
    assert all(each["rows_read"] == 0
               for each in tidemark.run().json()["pipelines"])
    create(source, "later", rows=2)
    again = tidemark.run()
    assert set(names(again)) == expected | {"shop.later"}
    assert again.pipeline("shop.later")["rows_inserted"] == 2
    assert tidemark("verify", "--json").expect(EXIT_OK).pipeline(
        "shop.two words")["equal"]


def test_names_in_commands(tidemark, source, make_destination):
    """One of them, all of them, and words that are neither."""
    for name in ("a", "b"):
        create(source, name)
    destination = make_destination("sqlite")
    shop(tidemark, source, destination)
    create(source, "alone", schema=None)
    tidemark.pipelines["shop"]["exclude"] = "public.alone"
    tidemark.pipeline("alone", source={"connection": "source",
                                       "table": "public.alone"},
                      destination={"connection": "warehouse",
                                   "table": "main.alone"},
                      watermark={"strategy": "xmin"})
    tidemark.write_config()
    assert names(tidemark.run("shop.b")) == ["shop.b"]
    assert names(tidemark.run("shop")) == ["shop.a", "shop.b"]
    assert names(tidemark.run()) == ["shop.a", "shop.b", "alone"]
    for command in (("status",), ("verify",), ("pace",), ("watermark", "show"),
                    ("check",)):
        done = tidemark(*command, "--json", "shop.a").expect(EXIT_OK)
        assert names(done) == ["shop.a"], done
        assert names(tidemark(*command, "--json", "shop")) == ["shop.a",
                                                               "shop.b"]
    runs = tidemark("runs", "list", "shop.a", "--json").expect(EXIT_OK).json()
    assert {run["pipeline"] for run in runs["runs"]} == {"shop.a"}
    tidemark("dead-letters", "list", "shop.a").expect(EXIT_OK)
    tidemark("backfill", "shop.a").expect(EXIT_OK)
    done = tidemark("backfill", "shop").expect(EXIT_CONFIG)
    assert "shop.a" in done.err, done
    done = tidemark("run", "shop.c").expect(EXIT_CONFIG)
    assert 'did you mean "shop.a"' in done.err, done
    worked = tidemark("worker", "--once", "--interval", "1ms", "--json")
    assert worked.expect(EXIT_OK).json()["runs"] == 3


def test_schemas_that_meet(tidemark, source, make_destination):
    """The name of the first stays when the second comes."""
    source.execute("CREATE SCHEMA sales", "CREATE SCHEMA hr")
    create(source, "people")
    create(source, "orders", schema="sales")
    destination = make_destination("postgres")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for name, schemas in (("shop", "public.*"), ("more", ["sales.*", "hr.*"])):
        tidemark.pipeline(name, tables=schemas,
                          source={"connection": "source"},
                          destination={"connection": "warehouse",
                                       "schema": name})
    destination.execute("CREATE SCHEMA shop", "CREATE SCHEMA more")
    tidemark.write_config()
    assert names(tidemark.run()) == ["shop.people", "more.orders"]
    create(source, "orders", schema="hr")
    done = tidemark.run(expect=EXIT_CONFIG)
    assert set(names(done)) == {"shop.people", "more.orders",
                                "more.hr.orders"}
    refused = done.pipeline("more.hr.orders")["error"]["message"]
    assert '"more.orders" writes to this table already' in refused
    assert done.pipeline("more.orders")["outcome"] == "caught_up"
    tidemark.pipelines["more"]["overrides"] = {
        "hr.orders": {"destination": {"table": "more.staff"}}}
    tidemark.write_config()
    assert tidemark.run().pipeline("more.hr.orders")["rows_inserted"] == 3


def test_schemas_that_meet_from_the_first(tidemark, source, make_destination):
    source.execute("CREATE SCHEMA sales")
    create(source, "orders")
    create(source, "orders", schema="sales")
    create(source, "alone", schema="sales")
    destination = make_destination("sqlite")
    shop(tidemark, source, destination, tables=["public.*", "sales.*"])
    done = tidemark("run").expect(EXIT_CONFIG)
    assert "writes to this table already" in done.err
    assert "shop.public.orders" in done.err
    tidemark.pipelines["shop"]["overrides"] = {
        "sales.orders": {"destination": {"table": "main.sales_orders"}}}
    tidemark.write_config()
    assert set(names(tidemark.run())) == {
        "shop.public.orders", "shop.sales.orders", "shop.alone"}


@pytest.mark.parametrize("engine", ("postgres", "sqlite", "mariadb"))
def test_one_that_cannot_be_synced(tidemark, make_source, make_destination,
                                   engine):
    """It fails alone, and overrides can mend it."""
    source, destination = make_source(engine), make_destination("sqlite")
    create(source, "a")
    create(source, "bare", key=False)
    create(source, "c")
    shop(tidemark, source, destination)
    told = tidemark("status").expect(EXIT_OK).out
    assert told.count("bare cannot be synced: ") == 1 and "overrides" in told, told
    done = tidemark.run(expect=EXIT_SCHEMA)
    assert names(done) == ["shop.a", "shop.bare", "shop.c"]
    bare = done.pipeline("shop.bare")
    assert bare["outcome"] == "failed" and "key" in bare["error"]["message"]
    assert "overrides" in bare["error"]["message"]
    assert done.pipeline("shop.c")["rows_inserted"] == 3
    # At night it is looked for where other failures are.
    kept, = (run for run in tidemark("runs", "list", "--json").expect(
        EXIT_OK).json()["runs"] if run["pipeline"] == "shop.bare")
    assert "failed" in str(kept) and "overrides" in str(kept), kept
    told = tidemark("status", "--json").expect(EXIT_OK)
    fault = told.pipeline("shop.bare")["fault"]
    assert fault["code"] == "schema" and "overrides" in fault["message"]
    assert told.pipeline("shop.a")["fault"] is None
    told = tidemark("status").expect(EXIT_OK).out
    assert told.count("overrides") == 1, told
    checked = tidemark("check", "--json").expect(EXIT_SCHEMA)
    assert [each["ok"] for each in checked.json()["pipelines"]] == [
        True, False, True]
    assert "shop.bare" in tidemark("verify", "shop.bare").expect(
        EXIT_SCHEMA).err
    tidemark.pipelines["shop"]["overrides"] = {
        f"{source.schema}.bare": {"key": ["id"], "watermark": {
            "strategy": "sequence", "column": "id"}}}
    tidemark.write_config()
    assert tidemark.run().pipeline("shop.bare")["rows_inserted"] == 3
    assert "cannot be synced" not in tidemark("status").expect(EXIT_OK).out


def test_status_without_the_source(tidemark, source, make_destination,
                                   make_proxy):
    """The state store tells which tables there are, and none is to blame."""
    create(source, "a")
    create(source, "bare", key=False)
    shop(tidemark, source, make_destination("sqlite"))
    proxy = make_proxy(source)
    tidemark.connect("source", proxy.connection(source))
    tidemark.write_config().run(expect=EXIT_SCHEMA)
    proxy.refuse()
    told = tidemark("status", "--json").expect(EXIT_OK).pipeline()
    assert (told["pipeline"], told["fault"]) == ("shop.a", None)
    assert told["watermark"] and "source" in str(told["notes"])


def test_a_plain_pipeline_asks_no_wildcard(tidemark, source, make_destination,
                                           make_proxy):
    """Its source may be another one, and far away."""
    create(source, "a")
    other = make_destination("sqlite")
    create(other, "mine")
    shop(tidemark, source, make_destination("sqlite"))
    proxy = make_proxy(source)
    tidemark.connect("source", proxy.connection(source))
    tidemark.connect("other", other.connection())
    tidemark.pipeline("alone", source={"connection": "other",
                                       "table": "main.mine"},
                      destination={"connection": "warehouse",
                                   "table": "main.mine"},
                      watermark={"strategy": "sequence", "column": "id"})
    tidemark.write_config()
    for command in ("check", "run", "status", "verify"):
        assert names(tidemark(command, "alone", "--json").expect(EXIT_OK)) == [
            "alone"]
    tidemark("grants", "alone").expect(EXIT_OK)
    assert proxy.sessions == 0
    assert set(names(tidemark.run())) == {"shop.a", "alone"}
    assert proxy.sessions > 0
    # A name that is none is still looked for among all of them.
    done = tidemark("run", "shop.b").expect(EXIT_CONFIG)
    assert 'did you mean "shop.a"' in done.err, done


def test_a_key_alone_is_enough(tidemark, source, make_destination):
    """The strategy is still chosen."""
    create(source, "bare", key=False)
    shop(tidemark, source, make_destination("sqlite"),
         overrides={"public.bare": {"key": ["id"]}})
    source.execute("ALTER TABLE bare ALTER id SET NOT NULL")
    assert tidemark.run().pipeline("shop.bare")["rows_inserted"] == 3
    assert choices(tidemark)["shop.bare"]["key"] == ["id"]


def test_table_without_a_key_is_replaced(tidemark, source, make_destination):
    create(source, "a")
    create(source, "bare", key=False)
    shop(tidemark, source, make_destination("sqlite"),
         overrides={"public.bare": {"load": {"mode": "replace"}}})
    for _ in range(2):
        assert tidemark.run().pipeline("shop.bare")["rows_read"] == 3


def test_table_that_is_gone(tidemark, source, make_destination):
    create(source, "a")
    create(source, "b")
    destination = make_destination("sqlite")
    shop(tidemark, source, destination)
    tidemark.run()
    source.execute("DROP TABLE a")
    insert(source, "b", 4, 5)
    done = tidemark.run(expect=EXIT_SCHEMA)
    gone = done.pipeline("shop.a")
    assert gone["outcome"] == "failed" and "is gone" in gone["error"]["message"]
    assert done.pipeline("shop.b")["rows_inserted"] == 2
    # Its rows and its mark are where they were.
    assert count(destination, "a") == 3
    assert "shop.a" in names(tidemark("status", "--json").expect(EXIT_OK))
    tidemark.pipelines["shop"]["on_missing"] = "skip"
    tidemark.write_config()
    skipped = tidemark.run()
    assert names(skipped) == ["shop.b"]
    assert "shop.a is left out: its table public.a is gone" in skipped.err
    create(source, "a", rows=4)
    back = tidemark("run", "--json")
    assert "shop.a" in names(back), "it came back under another name"
    source.execute("DROP TABLE a", "DROP TABLE b")
    nothing = tidemark.run()
    assert names(nothing) == []


@pytest.mark.parametrize("kept_by", ("sqlite", "postgres"))
def test_choice_is_kept(tidemark, source, make_destination, make_database,
                        kept_by):
    """A better column that comes later changes nothing."""
    create(source, "a")
    store = make_database("state") if kept_by == "postgres" else None
    if store:
        tidemark.top["state"] = store.connection()
    shop(tidemark, source, make_destination("sqlite"))
    tidemark.run()
    before = choices(tidemark, store)["shop.a"]
    assert before["watermark"] == {"strategy": "xmin"}
    source.execute("ALTER TABLE a ADD updated_at timestamptz NOT NULL"
                   " DEFAULT now()", "CREATE INDEX ON a (updated_at)")
    tidemark.run()
    assert choices(tidemark, store)["shop.a"] == before
    assert tidemark.run().pipeline()["rows_read"] == 0
    # The config goes first, and no mark is taken for another one's.
    tidemark.pipelines["shop"]["overrides"] = {
        "public.a": {"watermark": {"strategy": "timestamp",
                                   "column": "updated_at"}}}
    tidemark.write_config()
    refused = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    assert "strategy xmin" in refused, refused
    # After a reset it is chosen again.
    del tidemark.pipelines["shop"]["overrides"]
    tidemark.write_config()
    tidemark("watermark", "reset", "shop.a").expect(EXIT_OK)
    assert choices(tidemark, store)["shop.a"] is None
    tidemark.run()
    assert choices(tidemark, store)["shop.a"]["watermark"] == {
        "strategy": "timestamp", "column": "updated_at"}


def test_mark_outlives_the_state_store(tidemark, source, make_destination):
    """Chosen anew and otherwise: refused, for the mark is the destination's."""
    create(source, "a")
    destination = make_destination("sqlite")
    shop(tidemark, source, destination)
    tidemark.run()
    source.execute("ALTER TABLE a ADD updated_at timestamptz NOT NULL"
                   " DEFAULT now()", "CREATE INDEX ON a (updated_at)")
    before = destination.watermark("shop.a")
    os.remove(tidemark.state_file)
    refused = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    assert "strategy xmin" in refused, refused
    assert destination.watermark("shop.a") == before


def test_first_choice_of_two_processes(tidemark, source, make_destination):
    """Both look at a new table at once; the one that was kept first holds for both."""
    create(source, "a")
    shop(tidemark, source, make_destination("sqlite"))
    both = [tidemark.start("run", "--json", "--wait", "1m") for _ in range(2)]
    done = [each.wait().expect(EXIT_OK) for each in both]
    assert sorted(each.pipeline()["rows_read"] for each in done) == [0, 3]
    assert list(choices(tidemark)) == ["shop.a"]


def test_plan_keeps_nothing(tidemark, source, make_destination):
    create(source, "a")
    shop(tidemark, source, make_destination("sqlite"))
    for command in (("run", "--dry-run"), ("backfill", "shop.a", "--plan"),
                    ("verify",), ("status",)):
        tidemark(*command)
        if os.path.exists(tidemark.state_file):
            assert choices(tidemark) == {}, command


def test_override_typos(tidemark, source, make_destination):
    create(source, "orders")
    create(source, "lines")
    shop(tidemark, source, make_destination("sqlite"),
         overrides={"public.ordres": {"batch": {"rows": 5}}})
    for command in ("run", "check"):
        done = tidemark(command).expect(EXIT_CONFIG)
        assert 'did you mean "public.orders"' in done.err, done
        assert "tidemark.yaml:" in done.err
    tidemark.pipelines["shop"]["overrides"] = {
        "public.orders": {"bacth": {"rows": 5}}}
    tidemark.write_config()
    done = tidemark("run").expect(EXIT_CONFIG)
    assert 'did you mean "batch"' in done.err, done
    # One that only this table cannot have: it fails alone.
    tidemark.pipelines["shop"]["overrides"] = {
        "public.orders": {"watermark": {"strategy": "sequence",
                                        "column": "nothing"}}}
    tidemark.write_config()
    done = tidemark.run(expect=EXIT_SCHEMA)
    assert "nothing" in done.pipeline("shop.orders")["error"]["message"]
    assert done.pipeline("shop.lines")["rows_inserted"] == 3


def test_two_wildcards_that_meet(tidemark, source, make_destination):
    create(source, "orders")
    destination = make_destination("sqlite")
    shop(tidemark, source, destination)
    again = dict(tidemark.pipelines["shop"], tables="*.ord*")
    tidemark.pipeline("again", **again).write_config()
    with open(tidemark.config, encoding="utf-8") as config:
        lines = {line.split('"')[1]: number for number, line
                 in enumerate(config, 1) if line.startswith('  "')}
    done = tidemark("run").expect(EXIT_CONFIG)
    assert f"tidemark.yaml:{lines['again']}:" in done.err, done
    assert f"tidemark.yaml:{lines['shop']})" in done.err, done
    assert "orders" not in destination.tables()
    # A pipeline of its own, into the same table.
    tidemark.pipelines["again"] = {
        "source": {"connection": "source", "table": "public.orders"},
        "destination": {"connection": "warehouse", "table": "main.orders"},
        "watermark": {"strategy": "xmin"}}
    done = tidemark.write_config()("check").expect(EXIT_CONFIG)
    assert "writes to this table already" in done.err
    # A name twice.
    tidemark.pipelines["shop.orders"] = dict(
        tidemark.pipelines.pop("again"),
        destination={"connection": "warehouse", "table": "main.other"})
    done = tidemark.write_config()("run").expect(EXIT_CONFIG)
    assert 'two pipelines have the name "shop.orders"' in done.err
    # Into another table the same rows may go.
    tidemark.pipelines["own"] = tidemark.pipelines.pop("shop.orders")
    assert names(tidemark.write_config().run()) == ["shop.orders", "own"]


def test_letters_that_differ_in_case(tidemark, source, make_destination):
    create(source, "orders")
    create(source, "Orders")
    shop(tidemark, source, make_destination("duckdb"))
    done = tidemark("run").expect(EXIT_CONFIG)
    assert "shop.orders" in done.err and "shop.Orders" in done.err
    # Where an engine tells them apart they are two tables.
    tidemark.pipelines.clear()
    shop(tidemark, source, make_destination("postgres"))
    assert set(names(tidemark.run())) == {"shop.orders", "shop.Orders"}


def test_nothing_is_caught(tidemark, source, make_destination):
    create(source, "orders")
    shop(tidemark, source, make_destination("sqlite"), tables="pubic.*")
    for command in ("run", "check", "status"):
        done = tidemark(command).expect(EXIT_CONFIG)
        assert "public.orders" in done.err and "pubic.*" in done.err, done
    tidemark.pipelines["shop"].update(tables="public.*", exclude="*")
    done = tidemark.write_config()("run").expect(EXIT_CONFIG)
    assert "not excluded" in done.err


def test_source_that_is_away(tidemark, source, make_destination):
    """Its pipelines fail with exit 3, the others run."""
    create(source, "orders")
    other = make_destination("sqlite")
    create(other, "mine")
    destination = make_destination("sqlite")
    shop(tidemark, source, destination, retry={"attempts": 2,
                                               "backoff": "1ms"})
    tidemark.pipeline("files", tables="main.*",
                      source={"connection": "other"},
                      destination={"connection": "warehouse",
                                   "schema": "main"})
    tidemark.connect("other", other.connection())
    real = tidemark.connections["source"]
    for known in (False, True):
        tidemark.connect("source", "postgresql://nobody@127.0.0.1:1/none")
        done = tidemark.write_config()("run", "--json").expect(EXIT_ACCESS)
        assert done.pipeline("files.mine")["outcome"] == "caught_up"
        away = done.pipeline("shop.orders" if known else "shop")
        assert away["outcome"] == "failed"
        assert "127.0.0.1" in away["error"]["message"]
        tidemark.connect("source", real)
        tidemark.write_config().run()
    # Known names need no source: a mark can be looked at all the same.
    tidemark.connect("source", "postgresql://nobody@127.0.0.1:1/none")
    tidemark.write_config()
    done = tidemark("watermark", "show", "shop.orders").expect(EXIT_OK)
    assert "xmin" in done.out


def test_watch_sees_new_tables(tidemark, source, make_destination):
    create(source, "first")
    destination = make_destination("sqlite")
    shop(tidemark, source, destination, on_missing="skip")
    running = tidemark.start("run", "--watch", "50ms")
    try:
        wait_for(lambda: "first" in destination.tables(), what="the first")
        create(source, "second")
        wait_for(lambda: "second" in destination.tables(), what="the second")
        source.execute("DROP TABLE first")
        wait_for(lambda: b"shop.first is left out" in running.text["err"],
                 what="the note about the first")
        # A round that cannot be told its tables keeps those that it had.
        source.execute("DO $$ BEGIN CREATE TABLE t (id int PRIMARY KEY);"
                       ' CREATE TABLE "T" (id int PRIMARY KEY); END $$')
        wait_for(lambda: b"writes to this table already"
                 in running.text["err"], what="the refusal")
        insert(source, "second", 4, 4)
        wait_for(lambda: count(destination, "second") == 4,
                 what="the next row")
    finally:
        running.signal(15)
        done = running.wait()
    assert done.code == 8, done


def test_hundreds_of_tables(tidemark, source, make_destination):
    """The report of check stays short, and a second run asks nothing twice."""
    source.execute("DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE format("
                   "'CREATE TABLE t%s (id int PRIMARY KEY)', i); END LOOP;"
                   " END $$")
    shop(tidemark, source, make_destination("sqlite"))
    done = tidemark("check").expect(EXIT_OK)
    lines = done.out.splitlines()
    assert len(lines) < 20, done
    assert lines[-1].startswith("300 pipelines: "), done
    assert len(tidemark.run().json()["pipelines"]) == 300
    assert len(choices(tidemark)) == 300
    again = tidemark.run()
    assert all(each["rows_read"] == 0 for each in again.json()["pipelines"])


@pytest.mark.parametrize("engine", ("postgres", "sqlite", "mariadb"))
def test_advice_about_odd_names(tidemark, make_source, make_destination,
                                engine):
    """The statement that check prints is one that the source takes."""
    source = make_source(engine)
    stamp = "timestamptz" if engine != "mariadb" else "timestamp"
    table = quoted(source, 'Order "x" Lines')
    source.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, "
                   f"{quoted(source, 'last change')} {stamp} NOT NULL)")
    shop(tidemark, source, make_destination("sqlite"), watermark={
        "strategy": "timestamp", "column": "last change"})
    told = tidemark("check", "--json").json()["pipelines"][0]["problems"]
    advice, = [each["fix"] for each in told
               if each["code"] == "mark-without-index"]
    source.execute(advice)
    again = tidemark("check", "--json").json()["pipelines"][0]["problems"]
    assert "mark-without-index" not in {each["code"] for each in again}

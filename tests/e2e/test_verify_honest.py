"""`verify` says "equal" only of rows that it has compared."""

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DIFFERENT, EXIT_OK, items_settings,
                   sync_items)
from looks import verify

CHANGES = [
    ("postgres", "now()"),
    ("postgres", "random()"),
    ("postgres", "clock_timestamp() - updated_at"),
    ("postgres", "current_date"),
    ("postgres", "gen_random_uuid()"),
    ("postgres", "'now'::timestamptz"),
    ("postgres", "age(updated_at)"),
    ("mariadb", "NOW()"),
    ("mariadb", "UNIX_TIMESTAMP()"),
    ("mariadb", "uuid ()"),
    ("mysql", "CURRENT_TIMESTAMP"),
    ("sqlite", "datetime('now')"),
    ("sqlite", "random()"),
    ("duckdb", "current_date"),
]
STAYS = [
    ("postgres", "name || ' now() ' || \"current_date\""),
    ("postgres", "age(updated_at, '2020-01-01')"),
    ("mariadb", "CONCAT(name, 'rand()', `current_date`)"),
    ("mariadb", "UNIX_TIMESTAMP(updated_at)"),
    ("sqlite", "datetime(updated_at, '+1 day')"),
]


def computed(tidemark, source, destination, sql):
    settings = items_settings(source, destination, "timestamp")
    settings["source"]["expressions"] = {"extra": sql}
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("items", **settings)
    tidemark.write_config()


def problems(tidemark):
    done = tidemark("check", "--json")
    return {each["code"]: each for each in done.pipeline()["problems"]}


@pytest.mark.parametrize("engine, sql", CHANGES)
def test_an_expression_that_changes_is_refused(tidemark, make_source,
                                               make_destination, engine, sql):
    source = make_source(engine)
    workload.create_items(source, rows=5)
    computed(tidemark, source, make_destination("sqlite"), sql)
    for command in (("run",), ("verify",), ("run", "--dry-run")):
        said = tidemark(*command).expect(EXIT_CONFIG).err
        for part in ("items", '"extra"', sql, "load.loaded_at"):
            assert part in said, (command, part, said)
    found = problems(tidemark)["expression-changes"]
    assert '"extra"' in found["message"] and sql in found["message"]
    assert "load.loaded_at" in found["fix"]


@pytest.mark.parametrize("engine, sql", STAYS)
def test_an_expression_that_stays_is_not(tidemark, make_source,
                                         make_destination, engine, sql):
    source = make_source(engine)
    workload.create_items(source, rows=5)
    word = "`current_date`" if engine == "mariadb" else '"current_date"'
    source.execute(f"ALTER TABLE items ADD COLUMN {word} varchar(10) "
                   "DEFAULT 'x'")
    computed(tidemark, source, make_destination("sqlite"), sql)
    tidemark.run()
    assert verify(tidemark)["items"]["equal"]
    assert "expression-changes" not in problems(tidemark)


def test_a_function_of_ones_own_is_tried(tidemark, source, make_destination):
    """No list has its name: its values are read twice."""
    workload.create_items(source, rows=5)
    source.execute("CREATE FUNCTION public.stamp(bigint) RETURNS timestamptz "
                   "LANGUAGE sql AS 'SELECT clock_timestamp()'",
                   "CREATE FUNCTION public.twice(bigint) RETURNS bigint "
                   "LANGUAGE sql AS 'SELECT 2 * $1'")
    destination = make_destination("postgres")
    computed(tidemark, source, destination, "public.twice(id)")
    tidemark.run()
    assert "expression-changes" not in problems(tidemark)
    tidemark.pipelines["items"]["source"]["expressions"] = {
        "other": "public.stamp(id)"}
    tidemark.write_config()
    found = problems(tidemark)["expression-changes"]
    assert '"other"' in found["message"] and "public.stamp" in found["message"]
    tidemark("watermark", "reset", "items").expect(0)
    said = tidemark("run").expect(EXIT_CONFIG).err
    assert '"other"' in said and "load.loaded_at" in said


def test_a_function_that_may_read_other_rows_is_lag(tidemark, source,
                                                    make_destination):
    """Its text is not looked at: what it is declared as has to do."""
    workload.create_items(source, rows=20)
    source.execute("CREATE TABLE seen (id bigint)",
                   "CREATE FUNCTION public.\"Known\"(bigint) RETURNS bool "
                   "STABLE LANGUAGE sql AS 'SELECT EXISTS (SELECT FROM "
                   "public.seen WHERE id = $1)'",
                   "CREATE FUNCTION public.twice(bigint) RETURNS bigint "
                   "IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1'")
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    assert tidemark.run().pipeline()["guarantee"] == "exact"
    settings = tidemark.pipelines["items"]["source"]
    for key, value, what in (
            ("where", "public . \"Known\" (id)", 'public."Known"()'),
            ("expressions", {"n": "public.\"Known\"(id)"},
             'public."Known"()'),
            ("expressions", {"came": "tableoid::regclass::text"}, "regclass"),
            ("expressions", {"two": "PUBLIC.twice(id)"}, None)):
        settings[key] = value
        tidemark.write_config()
        tidemark("watermark", "reset", "items").expect(0)
        done = tidemark.run().pipeline()
        assert done["guarantee"] == ("lag" if what else "exact"), done
        found = problems(tidemark)
        assert ("sql-not-immutable" in found) == bool(what)
        if what:
            assert f"uses {what}" in done["guarantee_reason"]
            assert what in found["sql-not-immutable"]["message"]
        del settings[key]


def test_where_that_changes_is_lag(tidemark, source, make_destination):
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    assert tidemark.run().pipeline()["guarantee"] == "exact"
    tidemark.pipelines["items"]["source"]["where"] = (
        "updated_at < now() + interval '1 day'")
    tidemark.write_config()
    tidemark("watermark", "reset", "items").expect(0)
    done = tidemark.run().pipeline()
    assert done["guarantee"] == "lag"
    assert "source.where uses now()" in done["guarantee_reason"]
    looked = tidemark("check", "--json").expect(0).pipeline()
    assert looked["guarantee"] == "lag"
    assert looked["guarantee_reason"] == done["guarantee_reason"]
    found = problems(tidemark)["where-changes"]
    assert found["severity"] == "warning" and found["fix"]


@pytest.mark.parametrize("engine", ("postgres", "mariadb", "sqlite", "duckdb"))
def test_rows_that_other_rows_choose_are_lag(tidemark, make_source,
                                             make_destination, engine):
    """A row comes to fit `where`, and a value changes, by a row elsewhere."""
    source = make_source(engine)
    workload.create_items(source, rows=20)
    other = f"{source.schema}.vip" if engine == "postgres" else "vip"
    source.execute(f"CREATE TABLE {other} (id bigint)")
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    settings = tidemark.pipelines["items"]["source"]
    for key, value, reason, code in (
            ("where", f"id IN (SELECT v.id FROM {other} v)",
             "source.where reads other rows", "where-changes"),
            ("expressions", {"n": f"(SELECT count(*) FROM {other} v)"},
             "source.expressions.n reads other rows", "expression-reads")):
        settings[key] = value
        tidemark.write_config()
        done = tidemark.run().pipeline()
        assert done["guarantee"] == "lag"
        assert reason in done["guarantee_reason"]
        found = problems(tidemark)[code]
        assert found["severity"] == "warning" and reason in found["message"]
        del settings[key]
        tidemark("watermark", "reset", "items").expect(0)


def test_rows_are_unsettled_by_their_mark_alone(tidemark, source,
                                                make_destination):
    """A view may give other values at each look: that excuses nothing."""
    workload.create_items(source, rows=50)
    source.execute("CREATE VIEW seen AS SELECT *, clock_timestamp() AS seen "
                   "FROM items")
    destination = make_destination("postgres")
    sync_items(tidemark, source, destination, "timestamp",
               table="seen", key=["id"])
    tidemark("run").expect(0)
    destination.execute("UPDATE seen SET name = 'corrupt' WHERE id = 7")
    result = verify(tidemark, expect=EXIT_DIFFERENT)["items"]
    assert not result["equal"] and result["unsettled"] == 0, result
    assert result["different"] == 50 and result["compared"] == 50


def test_how_many_were_compared(tidemark, source, make_destination):
    workload.create_items(source, rows=50)
    destination = make_destination("sqlite")
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    workload.settle(source)
    tidemark.run()
    result = verify(tidemark)["items"]
    assert result["equal"] and result["compared"] == 50
    assert "50 compared" in tidemark("verify").expect(0).out
    workload.touch_items(source, "id IN (10, 20)")
    result = verify(tidemark)["items"]
    assert result["compared"] == 48 and result["unsettled"] == 2
    workload.touch_items(source, "true")
    done = tidemark("verify", "--json").expect(EXIT_DIFFERENT)
    result = done.pipeline()
    assert not result["equal"] and result["compared"] == 0
    assert result["unsettled"] == 50
    assert "no row could be compared" in result["error"]["message"]
    assert "not equal" in tidemark("verify").expect(EXIT_DIFFERENT).out
    tidemark.run()
    assert verify(tidemark)["items"]["compared"] == 50


def test_two_empty_tables_are_equal(tidemark, source, make_destination):
    workload.create_items(source, rows=0)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.run()
    result = verify(tidemark)["items"]
    assert result["equal"] and result["compared"] == 0


@pytest.mark.parametrize("engine, target", (
    ("postgres", "duckdb"), ("mariadb", "clickhouse"), ("mysql", "bigquery"),
    ("sqlite", "mysql"), ("duckdb", "sqlite"), ("postgres", "postgres")))
def test_a_column_that_is_gone_is_told_once(tidemark, make_source,
                                            make_destination, engine, target):
    source, destination = make_source(engine), make_destination(target)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    assert verify(tidemark)["items"]["kept"] == []
    source.execute("ALTER TABLE items RENAME COLUMN quantity TO pieces")
    looked = problems(tidemark)["column-kept"]
    assert looked["severity"] == "warning" and '"quantity"' in looked["message"]
    assert "on_dropped_column: stop" in looked["fix"]
    said = tidemark("run").expect(0).err
    assert 'column "quantity"' in said and "is gone from" in said
    assert "keeps its old values" in said
    assert "is gone from" not in tidemark("run").expect(0).err
    assert problems(tidemark)["column-kept"]["message"] == looked["message"]
    result = verify(tidemark)["items"]
    assert result["equal"] and result["kept"] == ["quantity"]
    assert "kept: quantity" in tidemark("verify").expect(0).out


def test_many_pipelines_are_readable(tidemark, source, make_destination):
    """A line for each that is equal, all about the others, and a sum."""
    destination = make_destination("postgres")
    for name in ("a", "b", "c"):
        workload.create_items(source, name, rows=5)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for name in ("a", "b", "c"):
        tidemark.pipeline(name, **items_settings(source, destination,
                                                 "timestamp", table=name))
    tidemark.write_config().run()
    done = tidemark("verify").expect(EXIT_OK)
    lines = done.out.splitlines()
    assert [line[:8] for line in lines] == ["a: equal", "b: equal", "c: equal",
                                            "3 pipeli"], done
    assert lines[-1] == "3 pipelines: 3 equal"
    assert tidemark("verify", "-q").expect(EXIT_OK).out == ""
    # All is told where there is a single one.
    assert tidemark("verify", "a").expect(EXIT_OK).out.count("checksum") == 2
    destination.execute("DELETE FROM b WHERE id = 2")
    source.execute("DROP TABLE c")
    done = tidemark("verify").expect(EXIT_DIFFERENT)
    lines = done.out.splitlines()
    assert lines[0].startswith("a: equal") and "b: not equal" in lines[1]
    assert '{"id":2}' in done.out and done.out.count("checksum") == 2, done
    assert "c: not verified: " in done.out
    assert lines[-1] == "3 pipelines: 1 equal, 1 not equal, 1 not verified"
    quiet = tidemark("verify", "-q").expect(EXIT_DIFFERENT).out
    assert [line.split(" in ")[0] for line in quiet.splitlines()] == [
        line.split(" in ")[0] for line in lines[1:-1]]

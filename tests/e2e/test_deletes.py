"""`tidemark verify --deletes`: what is gone from the source leaves the target,
once it is sure to be gone."""

import signal

import pytest

import bigquery_servers
import oracle
import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT, EXIT_OK, EXIT_SCHEMA,
                   sync_items)
from looks import at_terminal, named, rows_table, verify
from oracle import ITEMS, check_items

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
MODES = ("upsert", "append", "delete_insert")
ROWS = 300


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thinned(3)
def test_deletes_are_reported_and_applied(tidemark, source, make_destination,
                                          engine, mode):
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    workload.change_items(source, "id < 10")
    workload.settle(source)
    tidemark.run()
    source.execute("DELETE FROM items WHERE id IN (3, 200)")
    destination.execute(f"DELETE FROM {rows_table(destination, mode)} "
                        "WHERE id = 100")
    result = verify(tidemark, "--deletes", "report",
                    expect=EXIT_DIFFERENT)["items"]
    assert named(result) == {"extra": {3, 200}}
    assert result["extra"] == 2 and result["missing"] == 1
    assert result["deleted"] == result["repaired"] == 0
    result = verify(tidemark, "--deletes", "apply",
                    expect=EXIT_DIFFERENT)["items"]
    assert result["deleted"] == 2 and result["extra"] == 0
    assert named(result) == {"missing": {100}}
    source.execute("DELETE FROM items WHERE id = 201")
    result = verify(tidemark, "--repair", "--deletes", "apply")["items"]
    assert result["equal"]
    assert result["repaired"] == 1 and result["deleted"] == 1
    check_items(source, destination)
    result = tidemark.run().pipeline()
    assert result["rows_inserted"] + result["rows_updated"] == 0


KEYS = {
    "int": ("bigint", "7", "8"),
    "uuid": ("uuid", "'00000000-0000-0000-0000-0000000000a7'",
             "'00000000-0000-0000-0000-0000000000a8'"),
    "text": ("text", "'Ä ''\" \\'", "'ä ''\" \\'"),
    "stamp": ("timestamptz", "'2024-01-31 12:00:00.5+00'",
              "'2024-01-31 12:00:00.500001+00'"),
    "number": ("numeric(12,3)", "1.500", "-1.5"),
    "bytes": ("bytea", "'\\x00ff'", "'\\x00fe'"),
    "flag": ("boolean", "true", "false"),
    "span": ("interval", "'25:00:00'", "'1 day 01:00:00.5'"),
    "day": ("date", "'2024-02-29'", "'2024-03-01'"),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_of_every_type_are_deleted(tidemark, make_source,
                                        make_destination, engine):
    """One of two rows whose keys are alike."""
    source, destination = make_source("postgres"), make_destination(engine)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    keys = dict(KEYS)
    if engine == "duckdb":
        del keys["span"]  # has no order there
    for name, (kind, gone, stays) in keys.items():
        source.execute(
            f"CREATE TABLE k_{name} (k {kind}, n int, v text, at timestamptz"
            " DEFAULT '2024-01-01Z', PRIMARY KEY (k, n))",
            f"INSERT INTO k_{name} VALUES ({gone}, 1, 'gone'),"
            f" ({stays}, 1, 'stays'), ({stays}, 2, 'stays')")
        tidemark.pipeline(name, source={
            "connection": "source", "table": f"public.k_{name}"},
            destination={"connection": "warehouse",
                         "table": f"{destination.schema}.k_{name}"},
            watermark={"strategy": "timestamp", "column": "at"})
    tidemark.write_config().run()
    for name in keys:
        source.execute(f"DELETE FROM k_{name} WHERE v = 'gone'")
    done = verify(tidemark, "--deletes", "apply")
    for name in keys:
        assert done[name]["equal"] and done[name]["deleted"] == 1, name
        assert destination.query(f"SELECT v, n FROM k_{name} ORDER BY n") == [
            ("stays", 1), ("stays", 2)], name


def test_more_deletes_than_allowed(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id <= 4")
    destination.execute("DELETE FROM items WHERE id = 100")

    def refused(*args):
        result = verify(tidemark, *args, expect=EXIT_DATA)["items"]
        assert result["deleted"] == result["repaired"] == 0
        assert result["extra"] and result["error"]["code"] == "data"
        return result["error"]["message"]

    # 1 % of 299, and both kinds of limit.
    assert "--max-deletes" in refused("--deletes", "apply", "--repair")
    refused("--deletes", "apply", "--max-deletes", "3")
    refused("--deletes", "apply", "--max-deletes", "1.2%")
    assert destination.query("SELECT count(*) FROM items") == [(ROWS - 1,)]
    result = verify(tidemark, "--deletes", "apply", "--max-deletes", "4",
                    "--repair")["items"]
    assert result["deleted"] == 4 and result["repaired"] == 1
    source.execute("DELETE FROM items WHERE id > 5")
    destination.execute("DELETE FROM items WHERE id > 5")
    source.execute("DELETE FROM items")
    # The last row of all, for nobody said so.
    message = refused("--deletes", "apply")
    assert "1 of 1 rows" in message
    result = verify(tidemark, "--deletes", "apply", "--max-deletes",
                    "100%")["items"]
    assert result["deleted"] == 1 and result["destination_rows"] == 0


def test_a_table_of_two_pipelines(tidemark, source, make_destination):
    """Rows that the other pipeline has brought are not taken for deleted ones.
    An earlier name of the pipeline can be forgotten. A pipeline that only fills
    columns, and chunks of a backfill, are no reason to refuse."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp", name="old")
    tidemark.run()
    items = tidemark.pipelines["items"] = tidemark.pipelines.pop("old")
    tidemark.pipelines["fill"] = {
        **items, "load": {"mode": "update"},
        "source": {**items["source"],
                   "columns": ["id", "updated_at", "quantity"]}}
    tidemark.write_config()
    tidemark.run()
    destination.execute("INSERT INTO _tidemark_watermark (pipeline, watermark,"
                        " target) SELECT 'items/0123456789ab/7', watermark, "
                        "target FROM _tidemark_watermark "
                        "WHERE pipeline = 'items'")
    source.execute("DELETE FROM items WHERE id = 9")

    def refused(name, *args):
        done = tidemark("verify", "items", "--deletes", "apply", *args)
        assert f'loaded by "{name}"' in done.expect(EXIT_CONFIG).err, done
        assert f"tidemark watermark forget items {name}" in done.err
        assert destination.query("SELECT id FROM items WHERE id = 9")

    refused("old", "--max-deletes", "100%", "--yes")
    done = tidemark("verify", "items", "--json").expect(EXIT_DIFFERENT)
    assert done.pipeline()["also_loaded_by"] == ["old"]
    assert '"old" loads public.items, too' in done.err
    found = [problem for problem in tidemark("check", "--json").pipeline(
        "items")["problems"] if problem["code"] == "table-of-others"]
    assert ['"old" loads' in problem["message"] for problem in found] == [True]
    done = tidemark("watermark", "forget", "items", "odl")
    assert 'these have: "fill", ' in done.expect(EXIT_CONFIG).err
    assert '"old"' in done.err
    tidemark("watermark", "forget", "items", "old").expect(EXIT_OK)
    code, shown = at_terminal(
        tidemark, "verify", "items", "--deletes", "apply", answer=b"y\n",
        meanwhile=lambda: destination.execute(
            "INSERT INTO _tidemark_watermark (pipeline, watermark, target) "
            "VALUES ('late', '{}', 'items')"))
    assert code == EXIT_CONFIG and 'loaded by "late"' in shown
    refused("late")
    tidemark("watermark", "forget", "items", "late").expect(EXIT_OK)
    assert verify(tidemark, "items", "--deletes", "apply")["items"][
        "deleted"] == 1
    assert verify(tidemark, "items")["items"]["also_loaded_by"] == []
    check_items(source, destination)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thinned(2)
def test_a_table_of_others_is_not_replaced(tidemark, source, make_destination,
                                           engine):
    """Neither by a full refresh, nor by a pipeline that replaces it always."""
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    low = "id < 100"
    for name, where in (("low", low), ("high", f"NOT {low}")):
        tidemark.pipelines.clear()  # each of a config of its own
        sync_items(tidemark, source, destination, "timestamp", name=name)
        tidemark.pipelines[name]["source"]["where"] = where
        tidemark.write_config().run()
    for args, mode in ((("--full-refresh",), "upsert"), ((), "replace"),
                       (("--dry-run",), "replace")):
        tidemark.pipelines["high"]["load"] = {"mode": mode}
        tidemark.write_config()
        done = tidemark("run", "--json", *args).expect(EXIT_CONFIG)
        message = done.pipeline()["error"]["message"]
        assert 'loaded by "low"' in message, message
        assert "not replaced" in message, message
        oracle.check_equal(source, destination, "items",
                           f"{destination.schema}.items", ITEMS)
    problems = tidemark("check", "--json").pipeline()["problems"]
    assert [each["severity"] for each in problems
            if each["code"] == "table-of-others"] == ["error"]
    tidemark.pipelines["new"] = tidemark.pipelines.pop("high")
    tidemark.write_config()
    done = tidemark("run", "--json", "--full-refresh").expect(EXIT_CONFIG)
    assert 'loaded by "high", "low"' in done.pipeline()["error"]["message"]
    tidemark.pipelines["high"] = tidemark.pipelines.pop("new")
    tidemark.write_config()
    tidemark("watermark", "forget", "high", "low").expect(EXIT_OK)
    tidemark.run("--full-refresh")
    assert destination.query("SELECT min(id) FROM items") == [(100,)]


def test_how_deletes_are_asked_for(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id = 9")
    for args in (("--deletes", "all"), ("--max-deletes", "1"),
                 ("--deletes", "report", "--max-deletes", "1"),
                 ("--deletes", "apply", "--max-deletes", "1x")):
        tidemark("verify", *args).expect(EXIT_CONFIG)
    code, shown = at_terminal(tidemark, "verify", "--deletes", "apply",
                              answer=b"\n")
    assert code == EXIT_DIFFERENT and "1 extra row" in shown
    done = tidemark("verify", "--deletes", "apply", "--yes").expect(EXIT_OK)
    assert "1 deleted" in done.out
    check_items(source, destination)


def test_a_key_that_came_back_stays(tidemark, source, make_destination):
    """Between the look and the removal: one that a run has loaded, and one
    that is at the source alone."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id IN (7, 8, 9)")

    names = ", ".join(set(ITEMS) - {"id", "updated_at", "seq"})

    def come_back(key):
        source.execute(
            f"INSERT INTO items (id, seq, updated_at, {names}) OVERRIDING "
            f"SYSTEM VALUE SELECT {key}, {key}, now(), {names} FROM items "
            "WHERE id = 1")

    def meanwhile():
        come_back(8)
        tidemark.run()
        come_back(9)

    code, shown = at_terminal(tidemark, "verify", "--deletes", "apply",
                              answer=b"y\n", meanwhile=meanwhile)
    assert code == EXIT_OK and "3 extra rows" in shown
    assert destination.query("SELECT id FROM items WHERE id IN (7, 8, 9) "
                             "ORDER BY id") == [(8,), (9,)]
    tidemark.run()
    check_items(source, destination)


def test_a_source_emptied_between_two_looks(tidemark, source,
                                            make_destination):
    """The guard has agreed to one deletion, and by then more rows are gone."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id = 7")
    code, shown = at_terminal(
        tidemark, "verify", "--deletes", "apply", answer=b"y\n",
        meanwhile=lambda: source.execute("DELETE FROM items"))
    assert code == EXIT_DATA and "no more is done" in shown, shown
    assert destination.query("SELECT count(*) FROM items") == [(ROWS - 1,)]


def test_rows_that_may_be_there_are_not_deleted(tidemark, source,
                                                make_destination):
    """Rows that row security hides stay, and so do rows of a target that no run
    of this pipeline has filled."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("ALTER TABLE items ENABLE ROW LEVEL SECURITY",
                   "ALTER TABLE items FORCE ROW LEVEL SECURITY",
                   "CREATE POLICY most ON items FOR SELECT USING (id > 2)")

    def refused():
        result = verify(tidemark, "--deletes", "apply", "--repair",
                        expect=EXIT_DATA)["items"]
        assert result["extra"] == 2
        assert result["deleted"] == result["repaired"] == 0
        assert destination.query("SELECT count(*) FROM items") == [(ROWS,)]
        return result["error"]["message"]

    assert "row level security" in refused()
    done = tidemark("verify").expect(EXIT_DIFFERENT)
    assert "BYPASSRLS" in done.err
    source.execute("ALTER TABLE items DISABLE ROW LEVEL SECURITY",
                   "DELETE FROM items WHERE id <= 2")
    tidemark("watermark", "reset", "items").expect(EXIT_OK)
    assert "tidemark run items" in refused()
    tidemark.run()
    result = verify(tidemark, "--deletes", "apply")["items"]
    assert result["deleted"] == 2


@pytest.fixture
def keeper(source):
    """A role that owns views, and no table."""
    with source.cluster.admin(source.database) as admin:
        admin.execute("CREATE ROLE keeper")
        admin.execute("GRANT ALL ON SCHEMA public TO keeper")
        yield admin
        admin.execute("DROP OWNED BY keeper CASCADE")
        admin.execute("DROP ROLE keeper")


def test_a_policy_below_a_view_deletes_nothing(tidemark, source, keeper,
                                               make_destination):
    """A view asks as its owner, or as whoever reads it."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=ROWS)
    source.execute("CREATE VIEW outer_mine AS SELECT * FROM items",
                   "GRANT SELECT ON items TO keeper")
    keeper.execute("CREATE VIEW lent AS SELECT * FROM items")
    keeper.execute("ALTER VIEW lent OWNER TO keeper")
    keeper.execute("CREATE VIEW asked WITH (security_invoker = on,"
                   " check_option = local) AS SELECT * FROM items")
    keeper.execute("ALTER VIEW asked OWNER TO keeper")
    keeper.execute("GRANT SELECT ON lent, asked TO app")
    source.execute("CREATE VIEW outer_lent AS SELECT * FROM lent",
                   "CREATE VIEW outer_asked AS SELECT * FROM asked")
    sync_items(tidemark, source, destination, "timestamp", key=["id"])
    tidemark.run()

    def read(view):
        tidemark.pipelines["items"]["source"]["table"] = f"public.{view}"
        tidemark.write_config()
        tidemark("watermark", "reset", "items").expect(EXIT_OK)
        return tidemark.run().pipeline()

    def refused(view, role):
        result = read(view)
        assert result["guarantee"] == "none", result
        assert "public.items" in result["guarantee_reason"]
        assert f"from role {role}" in result["guarantee_reason"]
        checked = tidemark("check", "--json").pipeline()
        assert "row-security" in {each["code"] for each in checked["problems"]}
        result = verify(tidemark, "--deletes", "apply", "--repair",
                        "--max-deletes", "100%", expect=EXIT_DATA)["items"]
        assert "row level security" in result["error"]["message"]
        assert destination.query("SELECT count(*) FROM items") == [(ROWS,)]

    assert read("outer_lent")["guarantee"] == "exact"
    source.execute("ALTER TABLE items ENABLE ROW LEVEL SECURITY",
                   "CREATE POLICY most ON items FOR SELECT USING (id > 2)")
    refused("outer_lent", "keeper")
    assert read("outer_mine")["guarantee"] == "exact"
    assert read("outer_asked")["guarantee"] == "exact"
    source.execute("ALTER TABLE items FORCE ROW LEVEL SECURITY")
    refused("outer_asked", "app")
    refused("outer_mine", "app")
    source.execute("CREATE POLICY tidemark ON items FOR SELECT TO keeper "
                   "USING (true)")
    assert read("outer_lent")["guarantee"] == "exact"


@pytest.mark.parametrize("point", ("after_delete", "before_watermark",
                                   "commit_sent", "commit_acked",
                                   "state_saved"))
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thinned(3)
def test_deletes_killed_and_called_again(tidemark_failpoints, source,
                                         make_destination, engine, point):
    tidemark, destination = tidemark_failpoints, make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id IN (2, 7, 9)")
    done = tidemark("verify", "--deletes", "apply",
                    failpoints=f"{point}=kill@1")
    assert done.code == -signal.SIGKILL, done
    result = verify(tidemark, "--deletes", "apply")["items"]
    assert result["equal"]
    check_items(source, destination)


@pytest.mark.parametrize("kind", ("timestamp", "boolean"))
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thinned(2)
def test_rows_are_marked_instead(tidemark, source, make_destination, engine,
                                 kind):
    destination = make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp",
               soft_delete="gone")
    tidemark.run()
    source.execute("CREATE TABLE kept AS SELECT * FROM items "
                   "WHERE id IN (3, 4)",
                   "DELETE FROM items WHERE id IN (3, 4)")
    done = tidemark("verify", "--deletes", "apply").expect(EXIT_SCHEMA)
    assert '"gone"' in done.err and "ADD COLUMN" in done.err
    destination.execute(f"ALTER TABLE items ADD COLUMN gone {kind} NULL")
    result = verify(tidemark, "--deletes", "apply")["items"]
    assert result["equal"] and result["deleted"] == 2
    assert result["destination_rows"] == ROWS - 2
    marked = "SELECT id FROM items WHERE gone IS {} ORDER BY id"
    assert destination.query(marked.format("NOT NULL")) == [(3,), (4,)]
    assert verify(tidemark, "--deletes", "apply")["items"]["deleted"] == 0
    # One comes back as it was, which no run sees, and one with a new mark.
    source.execute("INSERT INTO items SELECT * FROM kept WHERE id = 3")
    result = verify(tidemark, "--repair")["items"]
    assert result["equal"] and result["repaired"] == 1
    source.execute("INSERT INTO items SELECT * FROM kept WHERE id = 4",
                   "UPDATE items SET updated_at = now() WHERE id = 4")
    assert tidemark.run().pipeline()["rows_updated"] == 1
    assert verify(tidemark)["items"]["equal"]
    assert verify(tidemark)["items"]["destination_rows"] == ROWS
    result = tidemark.run().pipeline()
    assert result["rows_inserted"] + result["rows_updated"] == 0
    # All of them are marked, and still there for a hand to take away.
    source.execute("DELETE FROM items")
    verify(tidemark, "--deletes", "apply", "--max-deletes", str(ROWS))
    tidemark.run()
    destination.execute("DELETE FROM items")
    assert "emptied" in tidemark.run(expect=EXIT_SCHEMA).err


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("engine", (*ENGINES, "clickhouse", "bigquery"))
@pytest.mark.thinned(3)
def test_all_rows_are_deleted_and_new_ones_come(tidemark, source,
                                                make_destination, engine,
                                                mode):
    """A target that we have emptied ourselves is no reason to stop; one that
    somebody else has is, before and after."""
    destination = make_destination(engine)
    if engine == "bigquery":
        bigquery_servers.needs(destination, "transactions")
    workload.create_items(source, rows=3)
    workload.settle(source)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()

    def delete(where):
        source.execute(f"DELETE FROM items WHERE {where}")
        verify(tidemark, "--repair", "--deletes", "apply",
               "--max-deletes", "3")

    def emptied_by_hand():
        rows = rows_table(destination,
                          "append" if engine == "clickhouse" else mode)
        destination.execute(f"DELETE FROM {rows} WHERE id > 0")
        assert "emptied" in tidemark.run(expect=EXIT_SCHEMA).err

    delete("id = 1")
    emptied_by_hand()
    verify(tidemark, "--repair")
    delete("id > 0")
    assert tidemark.run().pipeline()["rows_read"] == 0
    workload.fill_items(source, 4, 5)
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_inserted"] == 2
    check_items(source, destination)
    emptied_by_hand()

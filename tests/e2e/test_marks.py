"""Marks: ties, NULLs, wrap, whose they are, and what people do to them."""

import json

import pytest

import oracle
import workload
from bench import EXIT_CONFIG, EXIT_DATA, EXIT_SCHEMA, sync_items, written
from ends import PostgresEnd
from oracle import check_items
from servers import CANARY

ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql")
every_engine = pytest.mark.parametrize("engine", ENGINES)


@every_engine
def test_many_ties(tidemark, source, make_destination, full, engine):
    """Equal marks over many batches, interrupted in the middle of the tie."""
    rows = 100_000 if full else 20_000
    destination = make_destination(engine)
    workload.create_items(source)
    workload.fill_items(source, 1, rows,
                        stamp="timestamptz '2024-03-01 00:00:00+00'")
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": rows // 15 + 1})
    first = tidemark.run("--max-batches", "3").pipeline()
    assert 0 < first["rows_inserted"] < rows
    second = tidemark.run().pipeline()
    assert first["rows_inserted"] + second["rows_inserted"] == rows
    assert second["rows_read"] < rows, "the tie was read from its start"
    check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.thinned(3)
@pytest.mark.parametrize("nulls", ("error", "include", "skip"))
@every_engine
def test_null_marks(tidemark, source, make_destination, engine, nulls):
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    source.execute("ALTER TABLE items ALTER updated_at DROP NOT NULL",
                   "UPDATE items SET updated_at = NULL WHERE id IN (7, 8)")
    sync_items(tidemark, source, destination, "timestamp",
               watermark={"nulls": nulls}, batch={"rows": 30})
    if nulls == "error":
        error = tidemark.run(expect=EXIT_DATA).pipeline()["error"]["message"]
        assert "updated_at" in error and "2" in error and "NULL" in error
        return
    tidemark.run()
    ids = {row[0] for row in destination.rows(
        f"{destination.schema}.items", {"id": "int"})}
    assert len(ids) == (100 if nulls == "include" else 98)
    source.execute("UPDATE items SET name = 'touched' WHERE id = 7")
    again = tidemark.run().pipeline()
    if nulls == "include":
        assert (again["rows_read"], written(again)) == (2, 1)
        check_items(source, destination)
    else:
        assert again["rows_read"] == 0
    oracle.check_leftovers(source)


def test_skipped_nulls_are_reported(tidemark, source, make_destination):
    workload.create_items(source, rows=100)
    source.execute("ALTER TABLE items ALTER updated_at DROP NOT NULL",
                   "UPDATE items SET updated_at = NULL WHERE id < 5")
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp",
               watermark={"nulls": "skip"})
    done = tidemark("run")
    assert "4" in done.err + done.out and "NULL" in done.err + done.out


def test_xid_wrap(tidemark, own_cluster, make_destination):
    """32-bit xids start again from 3; the 64-bit mark goes on."""
    server = own_cluster()
    server.create_database("source")
    source = PostgresEnd(server, "source")
    destination = make_destination("sqlite")

    def jump(xid):
        # Everything frozen first, or the server refuses to go on.
        with server.admin() as admin:
            names = [row[0] for row in admin.execute(
                "SELECT datname FROM pg_database").fetchall()]
            admin.execute("ALTER DATABASE template0 ALLOW_CONNECTIONS true")
        for name in names:
            with server.admin(name) as admin:
                admin.execute("VACUUM FREEZE")
        server.stop()
        server.program("pg_resetwal", "-x", str(xid), "-D", server.data)
        segment = server.data + f"/pg_xact/{xid // (8192 * 4 * 32):04X}"
        server.shell(f"test -e {segment} || "
                     f"head -c 262144 /dev/zero > {segment}")
        server.start()

    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "xmin")
    for xid in (1_500_000_000, 3_000_000_000, 2 ** 32 - 300):
        jump(xid)
        workload.change_items(source, f"id < {xid % 37}")
        tidemark.run()
        check_items(source, destination)
    before = source.query("SELECT pg_current_xact_id()::text::bigint")[0][0]
    for _ in range(400):
        source.execute("INSERT INTO items (name) VALUES ('wrapping')")
    after = source.query("SELECT pg_current_xact_id()::text::bigint")[0][0]
    assert before < 2 ** 32 < after
    assert tidemark.run().pipeline()["rows_inserted"] == 400
    check_items(source, destination)
    workload.change_items(source, "id = 50")
    assert written(tidemark.run().pipeline()) == 1
    check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0
    value = int(destination.watermark("items")["value"])
    assert value > 2 ** 32, "the mark keeps its epoch"


def test_xmin_stops_within_a_block(tidemark, source, make_destination):
    """A block holds more rows than a batch: the next run goes on in it."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=500)
    sync_items(tidemark, source, destination, "xmin", batch={"rows": 7})
    for _ in range(3):
        stopped = tidemark.run("--max-batches", "2").pipeline()
        assert stopped["rows_read"] == stopped["rows_inserted"] > 0
    assert "offset" in destination.watermark("items")["pending"]
    tidemark.run()
    check_items(source, destination)


@pytest.mark.parametrize("strategy", ("timestamp", "xmin", "sequence"))
def test_recreated_source_stops(tidemark, source, make_destination, strategy):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, strategy)
    tidemark.run()
    source.execute("DROP TABLE items", "DROP SEQUENCE items_seq")
    workload.create_items(source, rows=5)
    done = tidemark.run(expect=EXIT_SCHEMA)
    message = done.pipeline()["error"]["message"]
    assert "reset" in message and "--full-refresh" in message
    assert len(destination.rows("main.items", {"id": "int"})) == 20
    tidemark.run("--full-refresh")
    check_items(source, destination)


@pytest.mark.parametrize("before, after", (
    ("timestamp", "timestamptz"), ("timestamptz", "timestamp"),
    ("timestamptz", "date"),
))
def test_mark_column_of_another_meaning_stops(tidemark, source,
                                              make_destination, before, after):
    """The stored text would be read as another point in time."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    source.execute(f"ALTER TABLE items ALTER updated_at TYPE {before}")
    sync_items(tidemark, source, destination, "timestamp",
               watermark={"time_zone": "UTC"})
    tidemark.pipelines["items"]["source"]["columns"] = ["id", "name"]
    tidemark.write_config().run()
    source.execute(f"ALTER TABLE items ALTER updated_at TYPE {after}")
    for done in (tidemark("check", "--json"), tidemark("run", "--json")):
        done.expect(EXIT_SCHEMA)
        assert "reset" in done.out and "--full-refresh" in done.out
    tidemark.run("--full-refresh")
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("strategy, column, before, after", (
    ("sequence", "seq", "int", "bigint"),
    ("sequence", "seq", "bigint", "numeric(30)"),
    ("timestamp", "updated_at", "timestamptz(3)", "timestamptz"),
))
def test_wider_mark_column_goes_on(tidemark, source, make_destination,
                                   strategy, column, before, after):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    source.execute(f"ALTER TABLE items ALTER {column} TYPE {before}")
    sync_items(tidemark, source, destination, strategy)
    tidemark.pipelines["items"]["source"]["columns"] = ["id", "name"]
    tidemark.write_config().run()
    source.execute(f"ALTER TABLE items ALTER {column} TYPE {after}",
                   "INSERT INTO items (name) VALUES ('new')")
    assert tidemark.run().pipeline()["rows_inserted"] == 1


def test_another_cluster_stops(tidemark, source, own_cluster,
                               make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    other = own_cluster()
    other.create_database(source.database)
    imposter = PostgresEnd(other, source.database)
    workload.create_items(imposter, rows=3)
    sync_items(tidemark, imposter, destination, "timestamp")
    done = tidemark.run(expect=EXIT_SCHEMA)
    assert "reset" in done.pipeline()["error"]["message"]
    assert len(destination.rows("main.items", {"id": "int"})) == 20


def set_mark(tidemark, **changes):
    shown = tidemark("watermark", "show", "items", "--json").expect(0)
    mark = shown.json()["pipelines"][0]["watermark"]
    mark.update(changes)
    return tidemark("watermark", "set", "items", json.dumps(mark))


def advises(message):
    """Commands that can be pasted: they name the pipeline."""
    for command in ("run --full-refresh items", "watermark reset items"):
        assert f"`tidemark {command}`" in message


@pytest.mark.parametrize("strategy, value", (
    ("timestamp", "2099-01-01 00:00:00+00"),
    ("xmin", str(2 ** 40)),
    ("sequence", "99999999"),
))
def test_impossible_mark_stops(tidemark, source, make_destination, strategy,
                               value):
    """A mark that the source cannot have produced."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    source.execute("ALTER SEQUENCE items_seq OWNED BY items.seq")
    sync_items(tidemark, source, destination, strategy)
    tidemark.run()
    set_mark(tidemark, value=value).expect(0)
    message = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    assert value in message
    if strategy != "timestamp":
        advises(message)


def test_deleted_top_rows_are_no_reason_to_stop(tidemark, source,
                                                make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    source.execute("DELETE FROM items WHERE id > 10")
    assert tidemark.run().pipeline()["outcome"] == "caught_up"


def refuses(tidemark):
    message = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    advises(message)
    return message


@every_engine
def test_restarted_sequence_stays_refused(tidemark, source, make_destination,
                                          engine):
    """However far the new ids have come: they began at 1 again."""
    destination = make_destination(engine)
    workload.create_items(source, rows=50)
    source.execute("ALTER SEQUENCE items_seq OWNED BY items.seq")
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    source.execute("TRUNCATE items RESTART IDENTITY")
    for first, last in ((1, 20), (21, 70), (71, 71)):
        workload.fill_items(source, first, last)
        assert "items_seq was restarted" in refuses(tidemark)
    assert not tidemark("check", "--json").pipeline()["ok"]
    tidemark.run("--full-refresh")
    check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("change", (
    "ALTER SEQUENCE items_seq CACHE 1 INCREMENT 2 OWNED BY items.seq",
    "ALTER SEQUENCE items_seq AS bigint MAXVALUE 1000000",
    "ALTER TABLE items ALTER seq TYPE numeric(20)",
    "VACUUM FULL items", "CLUSTER items USING items_pkey",
    "SELECT setval('items_seq', 500)", "DELETE FROM items WHERE id > 25",
    "ALTER SEQUENCE items_seq RENAME TO other",
))
def test_changed_sequence_goes_on(tidemark, source, make_destination, change):
    """These changes leave the ids that were given out as they are."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "sequence")
    tidemark.pipelines["items"]["source"]["columns"] = ["id", "name"]
    tidemark.write_config().run()
    source.execute(change, "INSERT INTO items (name) VALUES ('new')")
    assert tidemark.run().pipeline()["rows_inserted"] == 1


def test_ids_that_may_have_begun_anew(tidemark, source, make_destination):
    """They have passed the mark again: rows up to the mark are read again, by
    as many runs as it takes."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "sequence", batch={"rows": 10})
    tidemark.run()
    source.execute("TRUNCATE items",
                   "ALTER SEQUENCE items_seq RESTART MAXVALUE 1000000")
    workload.fill_items(source, 1, 80)
    told = tidemark.run("--max-batches", "1")
    assert "are read again" in told.err, told
    tidemark.run("--max-batches", "1")
    tidemark.run()
    theirs, ours = (set(end.rows(table, {"id": "int", "seq": "int"}))
                    for end, table in ((source, "items"),
                                       (destination, "main.items")))
    assert len(theirs) == 80 and theirs <= ours
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_altered_sequence_that_may_not_be_seen(tidemark, source,
                                               make_destination):
    """Where it stands would tell whether the ids began anew."""
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, make_destination("sqlite"), "sequence")
    tidemark.run()
    source.execute("ALTER SEQUENCE items_seq MAXVALUE 1000000",
                   "REVOKE ALL ON SEQUENCE items_seq FROM app")
    message = refuses(tidemark)
    assert "altered or exchanged" in message, message
    assert "GRANT SELECT ON SEQUENCE" in message, message
    source.execute("GRANT SELECT ON SEQUENCE items_seq TO app")
    tidemark.run()
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_wider_identity_goes_on(tidemark, source, make_destination):
    """Its sequence is altered along with the column."""
    source.execute("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY "
                   "PRIMARY KEY, v text)", "INSERT INTO t (v) VALUES ('a')")
    sync_items(tidemark, source, make_destination("sqlite"), "sequence",
               table="t", watermark={"column": "id"})
    tidemark.run()
    source.execute("ALTER TABLE t ALTER id TYPE bigint",
                   "INSERT INTO t (v) VALUES ('b')")
    assert tidemark.run().pipeline()["rows_inserted"] == 1


@pytest.mark.parametrize("stamp", (
    "1970-01-01 00:00:00+00", "1969-07-20 20:17:40.000001+00",
    "0001-01-01 00:00:00+00",
))
def test_epoch_and_before_are_marks_like_any_other(tidemark, source,
                                                   make_destination, stamp):
    destination = make_destination("sqlite")
    workload.create_items(source)
    workload.fill_items(source, 1, 10, stamp=f"timestamptz '{stamp}'")
    sync_items(tidemark, source, destination, "timestamp")
    assert tidemark.run().pipeline()["rows_inserted"] == 10
    assert tidemark.run().pipeline()["rows_read"] == 0
    source.execute(f"UPDATE items SET name = 'x', updated_at = timestamptz "
                   f"'{stamp}' + interval '1 us' WHERE id = 3")
    assert tidemark.run().pipeline()["rows_updated"] == 1
    check_items(source, destination)


@pytest.mark.parametrize("first", (-5, 0))
def test_negative_and_zero_sequences(tidemark, source, make_destination,
                                     first):
    destination = make_destination("sqlite")
    workload.create_items(source)
    workload.fill_items(source, 1, 3)
    source.execute(f"UPDATE items SET seq = {first} - 3 + id",
                   f"ALTER SEQUENCE items_seq MINVALUE -100 RESTART {first + 1}")
    sync_items(tidemark, source, destination, "sequence")
    assert tidemark.run().pipeline()["rows_inserted"] == 3
    source.execute("INSERT INTO items (name) VALUES ('next')")
    assert tidemark.run().pipeline()["rows_inserted"] == 1
    tidemark.run()
    assert tidemark.run().pipeline()["rows_read"] == 0
    check_items(source, destination)


@every_engine
def test_set_goes_back_and_forth(tidemark, source, make_destination, engine):
    """`set` takes the text that `show` prints; a mark that is set back
    re-reads."""
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    set_mark(tidemark).expect(0)
    assert tidemark.run().pipeline()["rows_read"] == 0
    set_mark(tidemark, value="2024-03-01 00:00:00.51+00", key=[]).expect(0)
    result = tidemark.run().pipeline()
    assert 0 < result["rows_read"] < 100
    assert written(result) == 0
    check_items(source, destination)


@pytest.mark.parametrize("text", ("{", "[]", '{"strategy":"xmin"}',
                                  '{"strategy":"timestamp","value":7}'))
def test_set_refuses_what_is_no_mark(tidemark, source, make_destination, text):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=10)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    before = destination.watermark("items")
    done = tidemark("watermark", "set", "items", text)
    assert done.code in (EXIT_CONFIG, EXIT_DATA), done
    assert destination.watermark("items") == before


def test_guarantee_is_told(tidemark, source, make_destination, cluster):
    """exact with the right to see others' transactions, lag without."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=10)
    sync_items(tidemark, source, destination, "timestamp")
    assert tidemark.run().pipeline()["guarantee"] == "exact"
    with cluster.admin(source.database) as admin:
        admin.execute("DROP ROLE IF EXISTS blind")
        admin.execute(f"CREATE ROLE blind LOGIN PASSWORD '{CANARY}'")
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO blind")
    url = cluster.url(source.database, user="blind", password=None)
    tidemark.connections["source"]["url"] = url
    tidemark.write_config()
    done = tidemark.run()
    assert done.pipeline()["guarantee"] == "lag"
    checked = tidemark("check", "--json")
    assert "pg_read_all_stats" in checked.out, checked
    with cluster.admin(source.database) as admin:
        admin.execute("DROP OWNED BY blind")
        admin.execute("DROP ROLE blind")


@pytest.mark.parametrize("strategy", ("timestamp", "xmin", "sequence"))
def test_row_security_is_told(tidemark, source, make_destination, strategy):
    """Policies that hide rows from the role, and what to do about it."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    source.execute("ALTER TABLE items ENABLE ROW LEVEL SECURITY",
                   "CREATE POLICY even ON items USING (id % 2 = 0)")
    sync_items(tidemark, source, destination, strategy)
    # Its owner sees every row, until told otherwise.
    tidemark.run()
    source.execute("ALTER TABLE items FORCE ROW LEVEL SECURITY")
    checked = tidemark("check", "--json").pipeline()
    problem = [each for each in checked["problems"]
               if each["code"] == "row-security"][0]
    assert problem["severity"] == "warning"
    assert "BYPASSRLS" in problem["fix"] and "POLICY" in problem["fix"]
    done = tidemark.run().pipeline()
    assert done["guarantee"] == "none"
    assert "public.items" in done["guarantee_reason"]
    assert "BYPASSRLS" in done["guarantee_reason"]
    source.execute("CREATE POLICY tidemark ON items FOR SELECT TO app "
                   "USING (true)")
    assert tidemark.run().pipeline()["guarantee"] == "exact"
    source.execute("CREATE POLICY odd ON items AS RESTRICTIVE "
                   "USING (id % 2 = 1)")
    assert tidemark.run().pipeline()["guarantee"] == "none"


def test_settle_off_promises_nothing(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=10)
    sync_items(tidemark, source, destination, "timestamp",
               watermark={"settle": "off"})
    assert tidemark.run().pipeline()["guarantee"] in ("lag", "none")

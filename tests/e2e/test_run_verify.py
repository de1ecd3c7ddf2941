"""`tidemark run --verify`: what was loaded is read again, and compared."""

import itertools
import json
import signal
import threading
import time

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DIFFERENT, EXIT_STATE, EXIT_STOPPED,
                   sync_items)
from looks import named, verify
from servers import wait_for

ROWS = 400
CHANGED, SPOILT = 12, 13

POSTGRES_TRIGGER = f"""
CREATE FUNCTION public.spoil() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() > 1 THEN RETURN NULL; END IF;
    EXECUTE format('UPDATE %s SET quantity = 777 WHERE id = {CHANGED}',
                   TG_RELID::regclass);
    EXECUTE format('UPDATE %s SET quantity = 778 WHERE id = {SPOILT}',
                   TG_RELID::regclass);
    RETURN NULL;
END $$;
"""
# Where the run makes the table itself.
POSTGRES_ANY_TABLE = """
CREATE FUNCTION public.arm() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE made text;
BEGIN
    FOR made IN SELECT object_identity FROM pg_event_trigger_ddl_commands()
                WHERE object_type = 'table' AND schema_name = 'public'
                AND object_identity !~ 'watermark'
    LOOP
        EXECUTE 'CREATE TRIGGER spoil AFTER INSERT OR UPDATE ON ' || made ||
                ' EXECUTE FUNCTION public.spoil()';
    END LOOP;
END $$;
CREATE EVENT TRIGGER arm ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
EXECUTE FUNCTION public.arm();
"""


def spoil_first(end):
    """The same in each table that is made from now on."""
    with end.cluster.admin(end.database) as db:
        db.execute(POSTGRES_TRIGGER)
        db.execute(POSTGRES_ANY_TABLE)


def spoil(end, table):
    """From now on two rows are changed as they are loaded: one that is taken
    away the load finds out by itself. Returns what is to be found."""
    if end.engine == "postgres":
        end.execute(POSTGRES_TRIGGER,
                    f"CREATE TRIGGER spoil AFTER INSERT OR UPDATE ON {table} "
                    "EXECUTE FUNCTION public.spoil()")
        return {"different": {CHANGED, SPOILT}}
    for what in ("INSERT", "UPDATE"):
        if end.engine == "sqlite":
            end.execute(f"""CREATE TRIGGER spoil_{what} AFTER {what} ON {table}
                BEGIN UPDATE {table} SET quantity = 777
                      WHERE id IN ({CHANGED}, {SPOILT}); END""")
        else:
            end.execute(f"""CREATE TRIGGER spoil_{what} BEFORE {what}
                ON {table} FOR EACH ROW SET NEW.quantity =
                IF(NEW.id IN ({CHANGED}, {SPOILT}), 777, NEW.quantity)""")
    return {"different": {CHANGED, SPOILT}}


def heal(end, table):
    for name in ("spoil", "spoil_INSERT", "spoil_UPDATE"):
        if end.engine != "postgres":
            end.execute(f"DROP TRIGGER IF EXISTS {name}")
        elif name == "spoil":
            end.execute(f"DROP TRIGGER {name} ON {table}")


def slow_items(tidemark, source, destination, strategy="timestamp",
               row=0.05):
    """Each row takes its time to be read."""
    workload.create_items(source, rows=60)
    sync_items(tidemark, source, destination, strategy)
    tidemark.pipelines["items"]["source"]["where"] = (
        f"pg_catalog.pg_sleep({row}) IS NOT NULL")
    tidemark.top["state"] = {"url": tidemark.top["state"], "lease": "3s"}
    return tidemark.write_config()


def wait_for_read(call, source):
    """Its snapshot is taken by then."""
    while call.alive() and not source.query(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            " AND datname = current_database()"):
        time.sleep(0.05)


def wait_for_look(call, source, destination, loaded):
    """All is loaded, and is being read once more."""
    while call.alive() and ("items" not in destination.tables()
                            or not destination.query(loaded)):
        time.sleep(0.05)
    wait_for_read(call, source)


class Touching(threading.Thread):
    """A writer, of whichever engine."""

    def __init__(self, source):
        super().__init__(daemon=True)
        self.source, self.over = source, threading.Event()

    def run(self):
        for n in itertools.count():
            if self.over.is_set():
                return
            workload.touch_items(self.source, f"id % 50 = {n % 50}")

    def __enter__(self):
        self.start()

    def __exit__(self, *_):
        self.over.set()
        self.join()


def verified(done):
    result = done.pipeline()
    assert result["verified"] is not None, result
    return result["verified"]


@pytest.mark.parametrize("kind,strategy,engine,mode", (
    ("postgres", "timestamp", "postgres", "upsert"),
    ("postgres", "xmin", "mariadb", "delete_insert"),
    ("postgres", "xmin", "postgres", "append"),
    ("postgres", "sequence", "sqlite", "upsert"),
    ("mariadb", "timestamp", "sqlite", "append"),
    ("mysql", "sequence", "postgres", "delete_insert"),
    ("sqlite", "timestamp", "mysql", "upsert"),
    ("duckdb", "timestamp", "postgres", "upsert")))
def test_what_is_spoiled_while_it_is_loaded(tidemark, make_source,
                                            make_destination, kind, strategy,
                                            engine, mode):
    source, destination = make_source(kind), make_destination(engine)
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, strategy, mode)
    found = verified(tidemark.run("--verify"))
    assert found["equal"] and found["whole"] and found["rows"] == ROWS, found
    assert verified(tidemark.run("--verify"))["equal"]
    table = "items_raw" if mode == "append" else "items"
    faults = spoil(destination, table)
    # At this very moment: rows of the tail, but where that is held back.
    workload.touch_items(source, "id < 20")
    if mode == "append":
        workload.settle(source)
    done = tidemark.run("--verify", expect=EXIT_DIFFERENT)
    result, found = done.pipeline(), verified(done)
    assert named(found) == faults, found
    assert found["rows"] >= 19 and not found["equal"]
    assert result["outcome"] == "failed"
    assert result["error"]["code"] == "different"
    for key in set().union(*faults.values()):
        assert f'{{"id":{key}}}' in result["error"]["message"]
    assert "verify items --repair" in result["error"]["message"]
    assert "the next run reads those again that lie ahead" in result[
        "error"]["message"]
    last = json.loads(tidemark("runs", "list", "--json").out)["runs"][0]
    assert last["attempts"][0]["state"] == "FAILED"
    assert last["attempts"][0]["error"]["code"] == "different"
    heal(destination, table)
    verify(tidemark, "--repair")
    workload.settle(source)
    found = verified(tidemark.run("--verify"))
    assert found["equal"], found


@pytest.mark.parametrize("strategy,mode,flags", (
    ("timestamp", "replace", ()), ("xmin", "upsert", ()),
    ("sequence", "upsert", ("--full-refresh",))))
def test_the_first_load(tidemark, source, make_destination, strategy, mode,
                        flags):
    """The run makes the table, and swaps it in where the table is replaced."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, strategy, mode)
    spoil_first(destination)
    done = tidemark.run("--verify", *flags, expect=EXIT_DIFFERENT)
    assert named(verified(done)) == {"different": {CHANGED, SPOILT}}
    message = done.pipeline()["error"]["message"]
    assert ("loads all of the table anew" in message) == (mode == "replace")
    with destination.cluster.admin(destination.database) as db:
        db.execute("DROP EVENT TRIGGER arm")
    destination.execute("DROP TABLE items")
    found = verified(tidemark.run("--verify", *flags))
    assert found["equal"] and found["rows"] == ROWS


def test_the_config_asks_for_it(tidemark, source, make_destination):
    """Each run from the mark on is verified, whoever starts it; other runs are
    not."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp", verify="window")
    assert verified(tidemark.run())["rows"] == 20
    faults = spoil(destination, "items")

    def last():
        return tidemark("runs", "--json").json()["runs"][0]["attempts"][0]

    workload.touch_items(source, "id < 20")
    assert "verified" not in tidemark("run", "--dry-run", "--json").expect(
        0).pipeline()
    done = tidemark("worker", "--once", "--interval", "1ms").expect(
        EXIT_DIFFERENT)
    assert "loaded, but" in done.err, done
    first = last()
    assert first["error"]["code"] == "different"
    workload.touch_items(source, "id < 20")
    call = tidemark.start("run", "--json", "--watch", "1h")
    wait_for(lambda: last()["attempt_id"] != first["attempt_id"]
             and last()["state"] == "FAILED", what="the round's end")
    call.signal(signal.SIGTERM)
    assert named(verified(call.wait().expect(EXIT_DIFFERENT))) == faults
    heal(destination, "items")
    verify(tidemark, "--repair")
    assert verified(tidemark.run())["equal"]


def test_beside_rows_of_before(tidemark, source, make_destination):
    """After a first load the whole target is summed up. Rows that the source
    has lost are in it, and count as no difference."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp")
    assert verified(tidemark.run("--verify"))["equal"]
    source.execute("DELETE FROM items WHERE id % 7 = 0")
    left = ROWS - ROWS // 7
    tidemark("watermark", "reset", "items").expect(0)
    found = verified(tidemark.run("--verify"))
    assert found["equal"] and found["rows"] == left, found
    faults = spoil(destination, "items")
    workload.touch_items(source, "id < 20")
    workload.settle(source)
    tidemark("watermark", "reset", "items").expect(0)
    found = verified(tidemark.run("--verify", expect=EXIT_DIFFERENT))
    assert named(found) == faults and found["rows"] == left, found


def test_tries_of_a_first_load(tidemark, source, make_destination):
    """Rows that an earlier try has loaded are looked at, too."""
    destination = make_destination("postgres")
    slow_items(tidemark, source, destination, "xmin")
    tidemark.pipelines["items"].update(batch={"rows": 20, "target": "10s"},
                                       retry={"backoff": "100ms"})
    tidemark.write_config()
    spoil_first(destination)
    call = tidemark.start("run", "--json", "--verify")
    wait_for_look(call, source, destination,
                  "SELECT 1 FROM items HAVING count(*) > 19")
    source.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                   "WHERE wait_event = 'PgSleep' "
                   "AND datname = current_database()")
    done = call.wait().expect(EXIT_DIFFERENT)
    assert "try 1 of" in done.err
    assert named(verified(done)) == {"different": {CHANGED, SPOILT}}
    assert verified(done)["rows"] == 60


def test_what_the_mark_does_not_tell(tidemark, source, make_destination):
    """A row that changes, and one that comes, below the mark while the run
    reads: no later run sees them."""
    destination = make_destination("duckdb")
    slow_items(tidemark, source, destination)
    call = tidemark.start("run", "--json", "--verify")
    wait_for_read(call, source)
    source.execute("UPDATE items SET quantity = 777 WHERE id = 50",
                   "INSERT INTO items (id, name, updated_at) SELECT 1000, "
                   "'late', updated_at FROM items WHERE id = 20")
    found = verified(call.wait().expect(EXIT_DIFFERENT))
    assert named(found) == {"different": {50}, "missing": {1000}}


def test_rows_that_come_and_go(tidemark, source, make_destination):
    """Beside what was spoiled, all of it ahead of the mark, which an open
    transaction holds."""
    destination = make_destination("postgres")
    slow_items(tidemark, source, destination, "xmin")
    # Another `where` would read all rows again, and verify them as a whole.
    tidemark.run()
    faults = spoil(destination, "items")
    with source.connect() as holder:
        holder.execute("BEGIN; INSERT INTO items (name) VALUES ('held')")
        workload.touch_items(source, "id < 40")
        call = tidemark.start("run", "--json", "--verify")
        wait_for_read(call, source)
        workload.fill_items(source, 2000, 2009, stamp="now()")
        wait_for_look(call, source, destination,
                      "SELECT 1 FROM items WHERE quantity = 777")
        source.execute("DELETE FROM items WHERE name LIKE 'item 2005%'")
        found = verified(call.wait().expect(EXIT_DIFFERENT))
    assert named(found) == faults, found
    assert found["unsettled"] == 10


@pytest.mark.parametrize("kind,strategy,engine", (
    ("postgres", "timestamp", "postgres"), ("postgres", "xmin", "sqlite"),
    ("postgres", "sequence", "postgres"), ("mariadb", "timestamp", "mariadb")))
def test_writers_beside(tidemark, make_source, make_destination, kind,
                        strategy, engine):
    """No false difference; rows removed at the source are none."""
    source, destination = make_source(kind), make_destination(engine)
    workload.create_items(source, rows=2000)
    sync_items(tidemark, source, destination, strategy)
    found = []
    writers = workload.Writers if kind == "postgres" else Touching
    with writers(source):
        found.append(verified(tidemark.run("--verify")))
        for _ in range(6):
            time.sleep(0.3)
            source.execute("DELETE FROM items WHERE id % 97 = 1")
            found.append(verified(tidemark.run("--verify")))
    assert all(look["equal"] for look in found), found
    assert sum(look["rows"] for look in found) > 100
    spoil(destination, "items")
    workload.touch_items(source, f"id = {CHANGED}")
    tidemark.run("--verify", expect=EXIT_DIFFERENT)


@pytest.mark.parametrize("strategy", ("timestamp", "xmin", "sequence"))
def test_a_part_of_a_window(tidemark, source, make_destination, strategy):
    """Rows that a run has left are the next one's."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=1000)
    workload.settle(source)
    sync_items(tidemark, source, destination, strategy,
               batch={"rows": 150, "target": "10s"})
    rows = 0
    for _ in range(2):
        done = tidemark.run("--verify", "--max-batches", "2")
        assert done.pipeline()["outcome"] == "stopped"
        found = verified(done)
        # Rows of one mark may be in two runs.
        assert found["equal"] and found["unsettled"] < 5, found
        assert found["rows"] == done.pipeline()["rows_read"]
        rows += found["rows"]
    destination.execute(f"""CREATE TRIGGER spoil AFTER INSERT ON items
        BEGIN UPDATE items SET quantity = 777 WHERE id = {rows + 20}; END""")
    done = tidemark.run("--verify", expect=EXIT_DIFFERENT)
    assert named(verified(done)) == {"different": {rows + 20}}
    assert verified(done)["rows"] >= 1000 - rows


def test_what_is_no_difference(tidemark, source, make_destination):
    """Rows kept as dead letters, and those left out for want of a mark; those
    with none that are read every time are looked at."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=100)
    source.execute("ALTER TABLE items ALTER updated_at DROP NOT NULL",
                   "UPDATE items SET updated_at = NULL WHERE id IN (30, 31)")
    sync_items(tidemark, source, destination, "timestamp",
               watermark={"nulls": "skip"}, on_bad_row="dead_letter")
    tidemark.run()
    destination.execute("ALTER TABLE items ADD CHECK (quantity < 1000)")
    source.execute("UPDATE items SET quantity = 5000, updated_at = now() "
                   "WHERE id IN (40, 41)",
                   "UPDATE items SET updated_at = now() WHERE id < 20")
    done = tidemark.run("--verify")
    assert done.pipeline()["rows_dead_lettered"] == 2
    assert verified(done)["equal"] and verified(done)["rows"] == 19
    assert verified(done)["unsettled"] == 2
    tidemark.pipelines["items"]["watermark"]["nulls"] = "include"
    tidemark.write_config()
    assert verified(tidemark.run("--verify"))["rows"] >= 2
    destination.execute(POSTGRES_TRIGGER.replace(str(CHANGED), "30"),
                        "CREATE TRIGGER spoil AFTER INSERT OR UPDATE ON items "
                        "EXECUTE FUNCTION public.spoil()")
    source.execute("UPDATE items SET name = 'new' WHERE id = 31")
    done = tidemark.run("--verify", expect=EXIT_DIFFERENT)
    assert {30} <= named(verified(done))["different"] <= {SPOILT, 30}


def test_dead_letters_by_floats(tidemark, source, make_destination):
    """JSON has more digits of such a key than its text."""
    source.execute("CREATE TABLE items (id float8, part float4, quantity int, "
                   "seq bigint, PRIMARY KEY (id, part))",
                   "INSERT INTO items SELECT sqrt(n), n / 10.0, 1, n "
                   "FROM generate_series(1, 40) n")
    destination = make_destination("postgres")
    sync_items(tidemark, source, destination, "sequence",
               watermark={"lag": "100"}, on_bad_row="dead_letter")
    tidemark.run()
    destination.execute("ALTER TABLE items ADD CHECK (quantity < 1000)")
    source.execute("UPDATE items SET quantity = 5000 WHERE seq > 20")
    done = tidemark.run("--verify")
    assert done.pipeline()["rows_dead_lettered"] == 20
    assert verified(done)["unsettled"] == 20, verified(done)


def test_what_it_does_not_go_with(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "timestamp")
    done = tidemark("run", "--verify", "--dry-run").expect(EXIT_CONFIG)
    assert "--dry-run loads nothing" in done.err
    assert "verified" not in tidemark.run().pipeline()
    tidemark.pipelines["items"]["load"] = {"mode": "update"}
    tidemark.write_config()
    done = tidemark.run("--verify", expect=EXIT_CONFIG)
    assert "in mode update" in done.pipeline()["error"]["message"]
    assert done.pipeline()["verified"] is None


def test_a_signal_and_the_lease(tidemark, source, make_destination):
    destination = make_destination("postgres")
    loaded = "SELECT 1 FROM items HAVING count(*) = 60"
    slow_items(tidemark, source, destination, row=0.1)
    call = tidemark.start("run", "--json", "--verify")
    wait_for_look(call, source, destination, loaded)
    call.signal(signal.SIGTERM)
    done = call.wait().expect(EXIT_STOPPED)
    assert "all is loaded" in done.pipeline()["error"]["message"]
    destination.execute("DROP TABLE items")
    tidemark("watermark", "reset", "items")
    call = tidemark.start("run", "--json", "--verify")
    wait_for_look(call, source, destination, loaded)
    time.sleep(3.2)  # more than the lease, and still looking
    other = tidemark("run").expect(EXIT_STATE)
    assert "lease" in other.err or "held" in other.err
    assert verified(call.wait().expect(0))["rows"] == 60

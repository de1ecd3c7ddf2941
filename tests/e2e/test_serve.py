"""`tidemark serve`: pipelines on their schedules, unattended."""

import collections
import os
import signal
import socket
import sqlite3
import time
import urllib.request

import pytest

import ends
import workload
from bench import (EXIT_CONFIG, EXIT_OK, EXIT_STOPPED, items_settings,
                   sync_items)
from oracle import ITEMS, check_items, check_rows
from servers import wait_for

SHORT = {"attempts": 2, "backoff": "10ms"}


def configure(tidemark, source, destination, tables, **settings):
    # Others listen at the usual port.
    tidemark.top.setdefault("serve", {"listen": "off"})
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for table in tables:
        tidemark.pipeline(table, **items_settings(
            source, destination, "timestamp", table=table, **settings))
    return tidemark.write_config()


def fill(source, *tables):
    for table in tables:
        workload.create_items(source, table, rows=30)
    return tables


def starts(tidemark, pipeline):
    """When each attempt began, in µs, in order."""
    try:
        with sqlite3.connect(tidemark.state_file) as db:
            return [at for at, in db.execute(
                "SELECT started_at FROM attempts WHERE pipeline = ? "
                "ORDER BY seq", (pipeline,))]
    except sqlite3.OperationalError:
        return []


def outcomes(tidemark, pipeline):
    try:
        with sqlite3.connect(tidemark.state_file) as db:
            return [text for text, in db.execute(
                "SELECT outcome FROM attempts WHERE pipeline = ? "
                "ORDER BY seq", (pipeline,))]
    except sqlite3.OperationalError:
        return []


def state_rows(tidemark):
    """Rows read by all attempts so far."""
    try:
        with sqlite3.connect(tidemark.state_file) as db:
            return db.execute("SELECT coalesce(sum(rows_read), 0) "
                              "FROM attempts").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def is_equal(source, destination, table):
    """True when what arrived is what the source has."""
    if table not in destination.tables():
        return False
    return collections.Counter(
        destination.rows(f"{destination.schema}.{table}", ITEMS)
    ) == collections.Counter(source.rows(table, ITEMS))


def wait_equal(source, destination, *tables):
    for table in tables:
        wait_for(lambda table=table: is_equal(source, destination, table),
                 what=f"{table} to arrive")


def logged(run, text):
    return text.encode() in run.text["err"]


def stop(running):
    running.signal(signal.SIGTERM)
    done = running.wait()
    assert done.code == EXIT_STOPPED, done
    return done


@pytest.fixture
def served(tidemark, source, make_destination):
    """Two tables, each second; what is served, and its ends."""
    destination = make_destination("sqlite")
    tables = fill(source, "a", "b")
    configure(tidemark, source, destination, tables, schedule="every 1s",
              retry=SHORT)
    return source, destination


def test_each_on_its_schedule(tidemark, served):
    source, destination = served
    tidemark.pipelines["b"]["schedule"] = "manual"
    tidemark.write_config()
    running = tidemark.start("serve")
    wait_equal(source, destination, "a")
    workload.fill_items(source, 31, 50, stamp="now()", table="a")
    wait_equal(source, destination, "a")
    wait_for(lambda: len(starts(tidemark, "a")) >= 4, what="four turns")
    stop(running)
    assert not starts(tidemark, "b")
    # The last one may have been stopped.
    assert set(outcomes(tidemark, "a")[:-1]) == {"caught_up"}
    check_rows(source.rows("a", ITEMS),
               destination.rows(f"{destination.schema}.a", ITEMS))


def test_a_turn_is_taken_once(tidemark, served):
    """Several processes with one store: no two runs of one turn."""
    source, destination = served
    for name in "ab":
        tidemark.pipelines[name]["schedule"] = "every 2s"
    tidemark.write_config()
    running = [tidemark.start("serve") for _ in range(3)]
    wait_for(lambda: len(starts(tidemark, "a")) >= 5, what="five turns")
    for each in running:
        stop(each)
    for name in "ab":
        # The times of a pipeline lie 2 s apart; a first run comes at once. A
        # run that the end of its serve has stopped gives its turn back.
        _, *times = [at for at, outcome in zip(starts(tidemark, name),
                                               outcomes(tidemark, name))
                     if outcome != "stopped"]
        phase = min(at % 2_000_000 for at in times)
        turns = collections.Counter((at - phase) // 2_000_000 for at in times)
        assert set(turns.values()) == {1}, (
            name, starts(tidemark, name), outcomes(tidemark, name))
    wait_equal(source, destination, "a", "b")


def test_a_missed_turn_is_made_up_for_once(tidemark, served):
    source, destination = served
    tidemark.pipelines["a"]["schedule"] = {"cron": "0 3 * * *"}
    tidemark.write_config()
    tidemark.run("a")
    with sqlite3.connect(tidemark.state_file) as db:
        db.execute("UPDATE leases SET ran_at = ran_at - 5 * 86400000000")
    workload.fill_items(source, 31, 50, stamp="now()", table="a")
    running = tidemark.start("serve")
    wait_equal(source, destination, "a")
    wait_for(lambda: len(starts(tidemark, "b")) >= 3, what="turns of b")
    stop(running)
    assert len(starts(tidemark, "a")) == 2


def test_behind_a_run_that_began_before_the_turn(
        tidemark_failpoints, source, make_destination):
    """It has not read what came since, so the turn comes when it is over."""
    tidemark, hours = tidemark_failpoints, 2 * 3600 * 10**6
    destination = make_destination("sqlite")
    configure(tidemark, source, destination, fill(source, "a", "b"),
              schedule="every 1h", retry=SHORT)
    tidemark.run()
    workload.fill_items(source, 31, 50, stamp="now()", table="a")
    by_hand = tidemark.start("run", "a",
                             failpoints="before_watermark=stop@1")
    wait_for(by_hand.stopped, what="a run in the middle")
    with sqlite3.connect(tidemark.state_file) as db:
        db.execute(f"UPDATE leases SET ran_at = ran_at - {hours}")
        db.execute(f"UPDATE leases SET until = until + {hours} "
                   "WHERE name = 'a'")
    workload.fill_items(source, 51, 60, stamp="now()", table="a")
    running = tidemark.start("serve")
    wait_for(lambda: len(starts(tidemark, "b")) == 2, what="the turn of b")
    by_hand.signal(signal.SIGCONT)
    assert by_hand.wait().code == EXIT_OK
    wait_equal(source, destination, "a")
    stop(running)
    assert len(starts(tidemark, "a")) == 3 and len(starts(tidemark, "b")) == 2


def test_hangup_reads_the_config_anew(tidemark, served):
    source, destination = served
    fill(source, "c")
    running = tidemark.start("serve")
    wait_equal(source, destination, "a", "b")
    # One that is wrong changes nothing.
    tidemark.write_config("version: 1\npipelines: [\n")
    running.signal(signal.SIGHUP)
    wait_for(lambda: logged(running, "the pipelines stay as they are"),
             what="the refusal")
    assert logged(running, "tidemark.yaml:3:1: not valid YAML")
    turns = len(starts(tidemark, "a"))
    wait_for(lambda: len(starts(tidemark, "a")) > turns + 1, what="more turns")
    tidemark.pipeline("c", **items_settings(
        source, destination, "timestamp", table="c", schedule="every 1s"))
    del tidemark.pipelines["a"]
    tidemark.write_config()
    running.signal(signal.SIGHUP)
    wait_equal(source, destination, "c")
    turns = len(starts(tidemark, "a"))
    wait_for(lambda: len(starts(tidemark, "c")) >= 3, what="turns of c")
    stop(running)
    assert len(starts(tidemark, "a")) == turns


def test_a_wildcard_finds_new_tables(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    fill(source, "a")
    tidemark.top["serve"] = {"listen": "off"}
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("all", tables="public.*", schedule="every 1s",
                      source={"connection": "source"},
                      destination={"connection": "warehouse"})
    tidemark.write_config()
    running = tidemark.start("serve")
    wait_equal(source, destination, "a")
    fill(source, "later")
    wait_equal(source, destination, "later")
    stop(running)


def test_a_source_that_does_not_answer_keeps_nobody(
        tidemark, served, make_source, make_proxy):
    """Its wildcard is looked up beside the schedules, also by SIGHUP."""
    source, destination = served
    far = make_source("postgres")
    fill(far, "x")
    proxy = make_proxy(far)
    tidemark.connect("far", proxy.connection(far, connect="600s",
                                             silence="600s"))
    tidemark.pipeline("all", tables="public.*", schedule="manual",
                      source={"connection": "far"},
                      destination={"connection": "warehouse",
                                   "schema": destination.schema})
    tidemark.write_config()
    running = tidemark.start("serve")
    wait_equal(source, destination, "a", "b")
    proxy.refuse("stall")
    proxy.strike("stall", lasting=True)
    tidemark.write_config()
    running.signal(signal.SIGHUP)
    for name in "ab":
        turns = len(starts(tidemark, name))
        wait_for(lambda: len(starts(tidemark, name)) > turns + 15,
                 what="turns while the config is read")
    assert not logged(running, "read anew")
    proxy.heal()
    wait_for(lambda: logged(running, "read anew: 3 pipelines"), what="the end")
    proxy.refuse("stall")
    proxy.strike("stall", lasting=True)
    running.signal(signal.SIGHUP)
    stop(running)


def test_a_look_for_tables_that_finds_none_disturbs_nothing(
        tidemark, source, make_destination):
    """A config that waits for SIGHUP is told of once, not at each look."""
    destination = make_destination("sqlite")
    fill(source, "a")
    tidemark.top["serve"] = {"listen": "127.0.0.1:0"}
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("all", tables="public.*", schedule="every 1s",
                      source={"connection": "source"},
                      destination={"connection": "warehouse"})
    tidemark.write_config()
    running = tidemark.start("serve")
    wait_for(lambda: logged(running, "listening on"), what="the server")
    url = "http://" + running.text["err"].decode().partition(
        "listening on ")[2].split()[0]

    def told():
        with urllib.request.urlopen(url + "/metrics", timeout=60) as reply:
            return b'tidemark_failing{pipeline="all.a"} 0' in reply.read()
    wait_for(told, what="the first word")
    turns = len(starts(tidemark, "all.a"))
    while len(starts(tidemark, "all.a")) < turns + 25:
        assert told(), "the figures were gone for a moment"
        time.sleep(0.05)
    os.utime(tidemark.config)
    wait_for(lambda: logged(running, "until SIGHUP has it read anew"),
             what="the word about it")
    turns = len(starts(tidemark, "all.a"))
    wait_for(lambda: len(starts(tidemark, "all.a")) > turns + 25,
             what="more looks")
    assert stop(running).err.count("until SIGHUP has it read anew") == 1


def test_a_pipeline_that_fails_keeps_nobody(tidemark, served):
    source, destination = served
    source.execute("ALTER TABLE a RENAME TO gone")
    running = tidemark.start("serve")
    wait_equal(source, destination, "b")
    wait_for(lambda: len(outcomes(tidemark, "b")) >= 3, what="turns of b")
    source.execute("ALTER TABLE gone RENAME TO a")
    wait_equal(source, destination, "a")
    done = stop(running)
    assert "a: " in done.err and "error" in done.err


def test_a_server_that_goes_and_comes_back(tidemark, own_cluster, source,
                                           make_destination):
    """Pipelines of the other server go on, and its own do when it is back."""
    server = own_cluster()
    server.create_database("data")
    away = ends.PostgresEnd(server, "data")
    destination = make_destination("sqlite")
    fill(source, "a")
    names = [f"t{i}" for i in range(20)]
    fill(away, *names)
    configure(tidemark, source, destination, ["a"], schedule="every 1s",
              retry=SHORT)
    tidemark.connect("away", away.connection())
    for name in names:
        terms = items_settings(away, destination, "timestamp", table=name,
                               schedule="every 1s", retry=SHORT)
        terms["source"]["connection"] = "away"
        tidemark.pipeline(name, **terms)
    tidemark.write_config()
    running = tidemark.start("serve", "--jobs", "2")
    wait_equal(away, destination, *names)
    server.stop("immediate")
    wait_for(lambda: logged(running, "could not be reached a moment ago"),
             what="the word about the server")
    # Also those that are not tried have failed.
    wait_for(lambda: [each["state"] for each in tidemark(
        "status", "--json", *names).json()["pipelines"]]
             == ["failing"] * len(names), what="all of them to fail")
    turns = len(starts(tidemark, "a"))
    wait_for(lambda: len(starts(tidemark, "a")) > turns + 3,
             what="turns of the other server's pipeline")
    server.start()
    for name in names:
        workload.fill_items(away, 31, 40, stamp="now()", table=name)
    wait_equal(away, destination, *names)
    stop(running)


def test_the_store_goes_and_comes_back(tidemark, own_cluster, source,
                                       make_destination):
    """Without leases nothing is begun; the process stays."""
    server = own_cluster()
    server.create_database("state")
    store = ends.PostgresEnd(server, "state")
    destination = make_destination("sqlite")
    fill(source, "a")
    tidemark.top["state"] = store.connection()
    configure(tidemark, source, destination, ["a"], schedule="every 1s",
              retry=SHORT)
    running = tidemark.start("serve")
    wait_equal(source, destination, "a")
    server.stop("immediate")
    wait_for(lambda: logged(running, "no pipeline is begun until the state "
                                     "store answers"), what="the word")
    workload.fill_items(source, 31, 40, stamp="now()", table="a")
    server.start()
    wait_for(lambda: logged(running, "the state store answers again"),
             what="the store")
    wait_equal(source, destination, "a")
    stop(running)


def test_the_store_is_away_at_first(tidemark, own_cluster, source,
                                    make_destination):
    server = own_cluster()
    server.create_database("state")
    store = ends.PostgresEnd(server, "state")
    destination = make_destination("sqlite")
    fill(source, "a")
    tidemark.top["state"] = store.connection()
    configure(tidemark, source, destination, ["a"], schedule="every 1s",
              retry=SHORT)
    server.stop("immediate")
    running = tidemark.start("serve")
    wait_for(lambda: logged(running, "no pipeline is begun"), what="the word")
    server.start()
    wait_equal(source, destination, "a")
    stop(running)


def test_killed_and_begun_again(tidemark, served):
    source, destination = served
    for i in range(4):
        running = tidemark.start("serve")
        turns = len(starts(tidemark, "a"))
        workload.fill_items(source, 31 + i * 10, 40 + i * 10, stamp="now()",
                            table="a")
        wait_for(lambda turns=turns: len(starts(tidemark, "a")) > turns,
                 what="a turn")
        running.kill()
        running.wait()
    running = tidemark.start("serve")
    wait_equal(source, destination, "a", "b")
    stop(running)
    # The tail may be read again, and changes nothing.
    last = tidemark.run("a").pipeline()
    assert last["rows_inserted"] == last["rows_updated"] == 0


def test_words_to_the_service_manager(tidemark, served):
    path = os.path.join(tidemark.dir, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(60)
        running = tidemark.start("serve", env={"NOTIFY_SOCKET": path,
                                               "WATCHDOG_USEC": "10000000"})
        said = collections.Counter()

        def hear(word):
            while not said[word]:
                said.update(manager.recv(4096).decode().split("\n"))
        hear("READY=1")
        hear("WATCHDOG=1")
        said.clear()
        running.signal(signal.SIGHUP)
        hear("RELOADING=1")
        hear("READY=1")
        running.signal(signal.SIGTERM)
        hear("STOPPING=1")
        assert running.wait().code == EXIT_STOPPED


def test_a_config_that_is_wrong_at_first(tidemark, served):
    tidemark.pipelines["a"]["schedule"] = "every now and then"
    tidemark.write_config()
    done = tidemark("serve").expect(EXIT_CONFIG)
    assert "pipelines.a.schedule" in done.err


def status(tidemark, name):
    return tidemark("status", "--json").pipeline(name)


def test_paused_and_resumed(tidemark, served):
    """By name, with a reason; whoever looks sees who, since when and why."""
    source, destination = served
    running = tidemark.start("serve")
    wait_equal(source, destination, "a", "b")
    tidemark("pause", "a", "--reason", "an index is built").expect(EXIT_OK)
    wait_for(lambda: status(tidemark, "a")["paused_by"], what="the pause")
    # A run looks for it each second.
    others = len(starts(tidemark, "b"))
    wait_for(lambda: len(starts(tidemark, "b")) > others + 3,
             what="turns of the other one")
    turns = len(starts(tidemark, "a"))
    workload.fill_items(source, 31, 40, stamp="now()", table="a")
    others = len(starts(tidemark, "b"))
    wait_for(lambda: len(starts(tidemark, "b")) > others + 3,
             what="turns of the other one")
    # One that was begun before the pause was seen holds, and loads nothing.
    assert len(starts(tidemark, "a")) <= turns + 1
    assert not is_equal(source, destination, "a")
    told = status(tidemark, "a")
    assert told["state"] == "paused", told
    assert "@" in told["paused_by"]["whom"] and told["paused_by"]["since"]
    assert status(tidemark, "b")["state"] == "ok"
    tidemark("resume", "a").expect(EXIT_OK)
    wait_equal(source, destination, "a")
    wait_for(lambda: status(tidemark, "a")["state"] == "ok", what="ok")
    stop(running)


def test_a_pause_in_the_middle_of_a_run(tidemark, source, make_destination):
    """It stops reading after its batch, keeps its lease, and goes on."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=2000)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 10}, pace={"rows_per_second": 200})
    running = tidemark.start("run")
    wait_for(lambda: state_rows(tidemark) > 50, what="the first batches")
    tidemark("pause", "items").expect(EXIT_OK)
    wait_for(lambda: logged(running, "held by pause since"), what="the hold")
    wait_for(lambda: status(tidemark, "items")["paused"], what="its word")
    rows = state_rows(tidemark)
    told = status(tidemark, "items")
    assert told["state"] == "paused" and told["lease"], told
    assert "tidemark resume items" in told["paused"]["reason"]
    assert running.alive()
    assert state_rows(tidemark) <= rows + 10
    tidemark("resume", "items").expect(EXIT_OK)
    tidemark("pace", "items", "rows_per_second=0").expect(EXIT_OK)
    assert running.wait().code == EXIT_OK
    check_items(source, destination)


@pytest.mark.parametrize("schedule", ("every 1h", "manual"))
def test_a_paused_run_is_in_nobodys_way(tidemark, source, make_destination,
                                        schedule):
    """It ends at its batch: the file, the lease and its place among the jobs
    are free. The rest comes as soon as it is resumed."""
    destination = make_destination("sqlite")
    workload.create_items(source, "a", rows=2000)
    configure(tidemark, source, destination, ("a", *fill(source, "b")),
              schedule=schedule)
    tidemark.run("b")
    workload.fill_items(source, 31, 40, stamp="now()", table="b")
    tidemark.pipelines["b"]["schedule"] = "every 1s"
    tidemark.pipelines["a"].update(batch={"rows": 10},
                                   pace={"rows_per_second": 200})
    tidemark.top["jobs"] = 1
    tidemark.write_config()
    before = state_rows(tidemark)
    running = tidemark.start("serve")
    if schedule == "manual":
        wait_equal(source, destination, "b")
        with sqlite3.connect(tidemark.state_file) as db:
            db.execute("INSERT INTO controls VALUES ('a', 0, '', '', ?, "
                       "'ann')", (int(time.time() * 1e6),))
    wait_for(lambda: outcomes(tidemark, "a")[:1] == [""], what="its begin")
    wait_for(lambda: state_rows(tidemark) > before + 50, what="batches")
    tidemark("pause", "a", "--reason", "an index").expect(EXIT_OK)
    wait_for(lambda: outcomes(tidemark, "a") == ["stopped"], what="its end")
    workload.fill_items(source, 41, 50, stamp="now()", table="b")
    wait_equal(source, destination, "b")
    told = status(tidemark, "a")
    assert told["state"] == "paused" and not told["lease"], told
    assert 0 < told["last_run"]["rows_read"] < 2000
    assert logged(running, "has paused it: an index")
    tidemark("pace", "a", "rows_per_second=0").expect(EXIT_OK)
    tidemark("resume", "a").expect(EXIT_OK)
    wait_equal(source, destination, "a")
    stop(running)
    assert outcomes(tidemark, "a") == ["stopped", "caught_up"]


def test_a_run_of_a_paused_pipeline_waits(tidemark, served):
    source, destination = served
    tidemark("pause", "a").expect(EXIT_OK)
    running = tidemark.start("run", "a")
    wait_for(lambda: logged(running, "held by pause since"), what="the hold")
    assert not is_equal(source, destination, "a")
    tidemark("resume", "a").expect(EXIT_OK)
    assert running.wait().code == EXIT_OK
    wait_equal(source, destination, "a")


def test_a_run_that_is_asked_for(tidemark, served):
    """Once, by whichever process sees it first; also of a manual one."""
    source, destination = served
    tidemark.pipelines["a"]["schedule"] = "manual"
    tidemark.write_config()
    running = [tidemark.start("serve") for _ in range(2)]
    wait_equal(source, destination, "b")
    with sqlite3.connect(tidemark.state_file) as db:
        db.execute("INSERT INTO controls VALUES ('a', 0, '', '', "
                   "CAST(strftime('%s', 'now') AS INTEGER) * 1000000, 'ann')")
    wait_equal(source, destination, "a")
    turns = len(starts(tidemark, "b"))
    wait_for(lambda: len(starts(tidemark, "b")) > turns + 2, what="turns of b")
    for each in running:
        stop(each)
    assert len(starts(tidemark, "a")) == 1
    with sqlite3.connect(tidemark.state_file) as db:
        assert db.execute("SELECT asked_at FROM controls").fetchall() == [(0,)]


def test_a_run_that_is_asked_for_while_one_goes_on(tidemark, served):
    """It has not read what came since, so another one follows."""
    source, destination = served
    tidemark.pipelines["a"]["schedule"] = "manual"
    tidemark.pipelines["a"]["batch"] = {"rows": 1}
    tidemark.pipelines["a"]["pace"] = {"rows_per_second": 10}
    tidemark.write_config()
    by_hand = tidemark.start("run", "a")
    wait_for(lambda: state_rows(tidemark) > 0, what="a run in the middle")
    with sqlite3.connect(tidemark.state_file) as db:
        db.execute("INSERT INTO controls VALUES ('a', 0, '', '', ?, 'ann')",
                   [int(time.time() * 1_000_000)])
    workload.fill_items(source, 31, 40, stamp="now()", table="a")
    running = tidemark.start("serve")
    assert by_hand.wait().code == EXIT_OK
    wait_equal(source, destination, "a")
    wait_for(lambda: len(starts(tidemark, "a")) == 2, what="the run")
    turns = len(starts(tidemark, "b"))
    wait_for(lambda: len(starts(tidemark, "b")) > turns + 2, what="turns of b")
    stop(running)
    assert len(starts(tidemark, "a")) == 2


def test_late_by_its_schedule(tidemark, served):
    """Three turns missed: late; a default that nobody wrote is no promise."""
    tidemark.run()
    with sqlite3.connect(tidemark.state_file) as db:
        db.execute("UPDATE attempts SET started_at = started_at - 60000000, "
                   "ended_at = ended_at - 60000000")
    assert status(tidemark, "a")["state"] == "late"
    del tidemark.pipelines["a"]["schedule"]
    tidemark.write_config()
    assert status(tidemark, "a")["state"] == "ok"
    assert status(tidemark, "b")["state"] == "late"


def fields(tidemark, name, *columns):
    with sqlite3.connect(tidemark.state_file) as db:
        return db.execute(f"SELECT {', '.join(columns)} FROM leases "
                          "WHERE name = ?", (name,)).fetchone()


def make_due(tidemark, *names, hours=48):
    """The last run was so long ago."""
    with sqlite3.connect(tidemark.state_file) as db:
        for name in names:
            db.execute("UPDATE leases SET ran_at = ran_at - ? WHERE name = ?",
                       (hours * 3_600_000_000, name))


@pytest.mark.parametrize("action", ("verify", "replay"))
def test_what_is_no_run_takes_no_turn(tidemark, served, action):
    """A repair and a replay take the lease, and leave the turn."""
    source, destination = served
    for name in "ab":
        tidemark.pipelines[name]["schedule"] = {"cron": "0 3 * * *"}
    tidemark.write_config()
    tidemark.run()
    make_due(tidemark, "a")
    before = fields(tidemark, "a", "fence", "ran_at")
    destination.execute("DELETE FROM a WHERE id = 7")
    if action == "verify":
        tidemark("verify", "a", "--repair").expect(EXIT_OK)
    else:
        run, = tidemark("runs", "list", "a", "--json").json()["runs"]
        tidemark("runs", "replay", run["run_id"]).expect(EXIT_OK)
    assert is_equal(source, destination, "a")
    fence, ran_at = fields(tidemark, "a", "fence", "ran_at")
    assert fence > before[0] and ran_at == before[1]
    turns = len(outcomes(tidemark, "a"))
    workload.fill_items(source, 31, 50, stamp="now()", table="a")
    running = tidemark.start("serve")
    wait_for(lambda: len(outcomes(tidemark, "a")) > turns, what="its turn")
    wait_equal(source, destination, "a")
    stop(running)


@pytest.mark.parametrize("how", (signal.SIGKILL, signal.SIGTERM))
def test_a_turn_that_was_broken_off_comes_again(tidemark, served, how):
    """By another process, that knows of it; and by one that begins later."""
    source, destination = served
    workload.fill_items(source, 31, 300, stamp="now()", table="a")
    tidemark.pipelines["a"].update(
        schedule={"cron": "0 3 * * *"}, batch={"rows": 1},
        pace={"rows_per_second": 20})
    tidemark.write_config()
    for later in (False, True):
        tidemark("pace", "a", "rows_per_second=0").expect(EXIT_OK)
        tidemark.run("a")
        tidemark("pace", "a", "--clear").expect(EXIT_OK)
        source.execute("UPDATE a SET name = name || 'x', updated_at = now()")
        make_due(tidemark, "a")
        first = tidemark.start("serve")
        rows = state_rows(tidemark)
        wait_for(lambda rows=rows: state_rows(tidemark) > rows + 5,
                 what="a run in the middle")
        if not later:
            second = tidemark.start("serve")
            turns = len(starts(tidemark, "b"))
            wait_for(lambda turns=turns: len(starts(tidemark, "b"))
                     > turns + 4, what="turns of b")
        first.signal(how)
        first.wait()
        assert not is_equal(source, destination, "a")
        tidemark("pace", "a", "rows_per_second=0").expect(EXIT_OK)
        if later:
            second = tidemark.start("serve")
        wait_equal(source, destination, "a")
        assert fields(tidemark, "a", "ran_open") == (0,)
        stop(second)

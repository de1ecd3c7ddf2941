"""`status` as somebody reads it at 3 a.m. The worst pipeline comes first, a
line sums up, and the exit code serves health checks."""

import os
import re
import sqlite3
import time

import pytest

import workload
from bench import EXIT_ACCESS, EXIT_BUG, EXIT_OK, EXIT_SCHEMA, sync_items
from paced_items import paced
from servers import wait_for

STATES = {"ok", "late", "failing", "waiting", "paused", "never_run"}


def connect(tidemark, source, destination, names):
    """A pipeline for each of these tables, of which none need exist."""
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for name in names:
        tidemark.pipeline(
            name, source={"connection": "source",
                          "table": f"{source.schema}.{name}"},
            destination={"connection": "warehouse",
                         "table": f"{destination.schema}.{name}"},
            watermark={"strategy": "sequence", "column": "id"})
    return tidemark.write_config()


def create(source, name):
    source.execute(f"CREATE TABLE {name} (id integer PRIMARY KEY, v text)",
                   f"INSERT INTO {name} VALUES (1, 'a')")


def told(tidemark, name="items"):
    return tidemark("status", "--json").expect(EXIT_OK).pipeline(name)


def lines(tidemark):
    return tidemark("status").expect(EXIT_OK).out.splitlines()


@pytest.mark.parametrize("engine", ("postgres", "mariadb", "sqlite"))
def test_worst_first(tidemark, make_source, make_destination, engine):
    source, destination = make_source(engine), make_destination("sqlite")
    for name in ("fine", "older"):
        create(source, name)
    connect(tidemark, source, destination, ("fine", "new", "gone", "older"))
    tidemark("run", "fine", "older").expect(EXIT_OK)
    tidemark("run", "gone").expect(EXIT_SCHEMA)
    tidemark.pipelines["older"]["alert"] = {"late": "1ms"}
    tidemark.write_config()
    table = lines(tidemark)
    assert table[0].split()[:3] == ["PIPELINE", "STATE", "SINCE"], table
    for header in ("MARK", "FROM", "LAG", "RUN BY", "DEAD LETTERS", "LAST RUN",
                   "LAST SUCCESS"):
        assert header in table[0], table
    assert [line.split()[:2] for line in table[1:5]] == [
        ["gone", "failing"], ["older", "late"], ["new", "never"],
        ["fine", "ok"]], table
    assert table[5:] == ["4 pipelines: 1 ok, 1 failing, 1 late, 1 never run"]
    assert ": schema: " in table[1] and "gone" in table[1], table
    # JSON keeps the order of the config.
    said = tidemark("status", "--json").expect(EXIT_OK).json()
    assert [(each["pipeline"], each["state"]) for each in said["pipelines"]] \
        == [("fine", "ok"), ("new", "never_run"), ("gone", "failing"),
            ("older", "late")]
    assert said["summary"] == {
        "pipelines": 4, "ok": 1, "failing": 1, "late": 1, "never_run": 1,
        "waiting": 0, "paused": 0, "unknown": 0}


def test_failing_and_well_again(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "timestamp")
    new = told(tidemark)
    assert (new["state"], new["since"], new["last_success"],
            new["last_error"]) == ("never_run", None, None, None)
    assert new["lag_seconds"] is None and new["lag_reason"] == "never run"
    tidemark.run()
    good = told(tidemark)
    assert good["state"] == "ok" and good["last_error"] is None
    assert good["since"] == good["last_success"] == good["last_run"]["ended_at"]
    source.execute("ALTER TABLE items RENAME TO away")
    tidemark("run").expect(EXIT_SCHEMA)
    first = told(tidemark)
    tidemark("run").expect(EXIT_SCHEMA)
    bad = told(tidemark)
    assert bad["state"] == "failing" and bad["since"] == first["since"]
    assert bad["since"] > good["last_success"] == bad["last_success"]
    assert bad["last_error"]["code"] == "schema"
    assert bad["last_error"]["message"] == bad["last_run"]["error"]["message"]
    row = lines(tidemark)[1]
    assert bad["since"] in row and bad["last_success"] in row
    assert ": schema: " in row, row
    # It says why there is no lag, in words.
    assert bad["lag_seconds"] is None and "source failed" in row, row
    source.execute("ALTER TABLE away RENAME TO items")
    # The mark is the newest, and that says little while runs fail.
    lag = told(tidemark)["lag_seconds"]
    assert lag is not None and lag > 0
    tidemark.run()
    well = told(tidemark)
    assert (well["state"], well["last_error"]) == ("ok", None)
    assert well["since"] == well["last_success"] > bad["since"]


@pytest.mark.parametrize("strategy", ("xmin", "sequence", "timestamp"))
def test_lag_of_a_failing_one(tidemark, source, make_destination, strategy):
    """Its mark is the source's newest, and rows are refused all the same."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, strategy)
    tidemark.run()
    workload.settle(source)
    tidemark.run()
    time.sleep(1.1)
    destination.execute("ALTER TABLE items RENAME TO items_away",
                        "CREATE VIEW items AS SELECT 1 AS id")
    assert tidemark("run").code != EXIT_OK
    now = told(tidemark)
    assert now["state"] == "failing"
    assert now["lag_seconds"] >= 1, now
    row = lines(tidemark)[1]
    assert not re.search(r"(^| )(0s|-) ", row.partition("  {")[0].split(
        now["last_success"])[1][:20]), row


def test_fail(tidemark, source, make_destination):
    """1 while one is failing or late, 3 while nobody knows."""
    destination = make_destination("sqlite")
    for name in ("a", "b"):
        create(source, name)
    connect(tidemark, source, destination, ("a", "b"))
    tidemark("status", "--fail").expect(EXIT_OK)
    tidemark.run()
    quiet = tidemark("-q", "status", "--fail").expect(EXIT_OK)
    assert quiet.err == ""
    source.execute("ALTER TABLE b RENAME TO c")
    tidemark("run").expect(EXIT_SCHEMA)
    done = tidemark("-q", "status", "--fail").expect(EXIT_BUG)
    assert "1 of 2 pipelines: b (failing)" in done.err, done
    assert "2 pipelines: 1 ok, 1 failing" in done.out, done
    tidemark("status").expect(EXIT_OK)
    tidemark("status", "a", "--fail").expect(EXIT_OK)
    tidemark("status", "--json", "--fail").expect(EXIT_BUG).json()
    source.execute("ALTER TABLE c RENAME TO b")
    tidemark.run()
    tidemark("status", "--fail").expect(EXIT_OK)
    tidemark.top["alert"] = {"late": "1ms"}
    tidemark.write_config()
    done = tidemark("status", "--fail").expect(EXIT_BUG)
    assert "a (late), b (late)" in done.err, done
    tidemark.pipelines["a"]["alert"] = {"late": "1d"}
    tidemark.pipelines["b"]["alert"] = {"late": 3}
    tidemark.write_config()
    tidemark("status", "--fail").expect(EXIT_OK)
    os.rename(tidemark.state_file, tidemark.state_file + ".away")
    os.mkdir(tidemark.state_file)
    done = tidemark("status", "--fail").expect(EXIT_ACCESS)
    assert "2 pipelines: 2 not known" in done.out, done


def test_late_by_its_schedule(tidemark, make_source, make_destination):
    """Only by one that the config names: others may run it once a day."""
    source = make_source("sqlite")
    create(source, "a")
    connect(tidemark, source, make_destination("sqlite"), ("a",))
    tidemark.run()
    now = told(tidemark, "a")
    assert (now["late_after_seconds"], now["next_due"]) == (None, None)
    tidemark.pipelines["a"]["schedule"] = "every 200s"
    tidemark.write_config()
    now = told(tidemark, "a")
    assert now["late_after_seconds"] == 600 and now["state"] == "ok"
    assert now["next_due"] > now["last_run"]["started_at"]
    with sqlite3.connect(tidemark.state_file) as db:
        db.execute("UPDATE attempts SET started_at = started_at - 601000000,"
                   " ended_at = ended_at - 601000000")
    assert told(tidemark, "a")["state"] == "late"
    tidemark.pipelines["a"]["schedule"] = "manual"
    tidemark.write_config()
    assert told(tidemark, "a")["state"] == "ok"


@pytest.mark.parametrize("late, said", (
    ("soon", "a duration such as 1h, or a count of schedules"),
    ([], "a duration such as 1h")))
def test_alert_late_is_judged(tidemark, source, make_destination, late, said):
    connect(tidemark, source, make_destination("sqlite"), ("a",))
    for place in (tidemark.top, tidemark.pipelines["a"]):
        place["alert"] = {"late": late}
        done = tidemark.write_config()("status").expect(2)
        assert "alert.late" in done.err and said in done.err, done
        del place["alert"]


def test_killed(tidemark_failpoints, source, make_destination):
    """It is failing as soon as its lease is over, before any other run."""
    tidemark = tidemark_failpoints
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.top["state"] = {"url": f"sqlite:{tidemark.dir}/state.db",
                             "lease": "1s"}
    tidemark.write_config()
    assert tidemark.killed(failpoints="before_watermark=kill")
    now = wait_for(lambda: told(tidemark)["state"] == "failing" and
                   told(tidemark), what="the lease to run out")
    assert now["last_error"]["code"] == "lost"
    tidemark.run()
    assert told(tidemark)["state"] == "ok"


def test_waiting_and_paused(tidemark, source, make_destination):
    workload.create_items(source, rows=2000)
    file = os.path.join(tidemark.dir, "pause")
    paced(tidemark, source, make_destination("sqlite"), "sequence",
          pause_file=file)
    tidemark.run()
    workload.change_items(source, "true")
    open(file, "w", encoding="ascii").close()
    running = tidemark.start("run", "--json")
    now = wait_for(lambda: told(tidemark)["state"] == "paused" and
                   told(tidemark), what="the run to be held")
    assert file in now["paused_by"]["whom"]
    assert now["since"] == now["paused"]["since"]
    assert "1 pipeline: 1 paused" == lines(tidemark)[-1]
    tidemark("status", "--fail").expect(EXIT_OK)
    os.remove(file)
    running.wait().expect(EXIT_OK)
    assert told(tidemark)["state"] == "ok"


def test_who_has_paused_it_and_why(tidemark, source, make_destination):
    """For those who look: also of one that never ran, and on one line."""
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    why = "an index\nis built \x1b[31mred, " + "long " * 100
    for last in ("never", "caught_up at"):
        tidemark("pause", "items", "--reason", why).expect(EXIT_OK)
        row, total = lines(tidemark)[1:]
        now = told(tidemark)
        assert now["state"] == "paused" and now["paused_reason"] == why
        assert f"paused by {now['paused_by']['whom']} since {now['since']}: " \
            "an index" in row, row
        assert last in row and "\x1b" not in row and row.count("long") < 30
        assert total == "1 pipeline: 1 paused"
        tidemark("resume", "items").expect(EXIT_OK)
        tidemark.run()
    assert told(tidemark)["paused_reason"] is None
    assert "paused" not in lines(tidemark)[1]


def test_another_try(tidemark, source, make_destination, make_proxy):
    """A run that tries again has not failed."""
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp",
               retry={"attempts": 99, "backoff": "500ms"})
    tidemark.run()
    proxy = make_proxy(source)
    tidemark.connect("source", proxy.connection(source))
    tidemark.write_config()
    proxy.refuse()
    running = tidemark.start("run")
    now = wait_for(lambda: told(tidemark)["state"] == "waiting" and
                   told(tidemark), what="a second try")
    assert now["waiting"]["reason"] == "retry"
    assert now["waiting"]["whom"] == now["last_error"]["message"]
    assert now["last_error"]["code"] == "transient"
    row = lines(tidemark)[1]
    assert ": transient: " in row, row
    tidemark("status", "--fail").expect(EXIT_OK)
    running.kill()

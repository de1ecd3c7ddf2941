"""Bad days of ClickHouse and BigQuery, which are asked by HTTP. An answer is
lost, refused or cut at any place of a run. The service asks for patience, or
for a new sign-in. Others write, too, and workers die.

The faults are planted in the fronts of the tests (tests/fakes).
"""

import json
import os
import signal
import sqlite3
import time

import pytest

import bigquery_servers
import workload
from bad_days import HASTY, NEVER_OPEN, PATIENT, WAREHOUSES, Day
from bench import (EXIT_ACCESS, EXIT_OK, EXIT_STATE, PASSWORD_VARIABLE,
                   Tidemark)
from clickhouse_servers import ClickhouseServer
from ends import BigqueryEnd, ClickhouseEnd
from servers import wait_for
from test_targets import change, delete

every_warehouse = pytest.mark.parametrize("engine", WAREHOUSES)
MODES = ("upsert", "append", "delete_insert", "replace")
QUICK = {"attempts": 3, "backoff": "1ms", "max_backoff": "2ms",
         "breaker": NEVER_OPEN}
# The work is done and nobody is told; it is not begun; half an answer comes.
KINDS = {
    "lost": ({"do": "lost"}, {"kind": "lost"}),
    "busy": ({"do": "status", "status": 503}, {"kind": "status",
                                               "status": 503}),
    "half": ({"do": "truncated"}, {"kind": "truncated"}),
}


def plant(end, number=0, **fault):
    """It goes wrong with the request of that number, from 0 on; again and
    again if `times` says so."""
    if end.engine == "clickhouse":
        end.server.forget()
        end.server.fault({"match": "", "skip": number, **fault})
    elif not end.front.ours:
        pytest.skip("only our front has bad days")
    else:
        end.front.log()
        end.front.faults({"match": "", "skip": number, **fault})


def requests(end):
    """How many there were since; nothing goes wrong any more."""
    if end.engine == "clickhouse":
        end.server.fault()
        return len(end.server.statements())
    end.front.faults()
    return len(end.front.log())


def check_versions(day):
    """Each version that append has written is there once."""
    if day.mode == "append":
        raw = day.destination.rows(day.destination.raw(day.to), day.columns)
        assert len(raw) == len(set(raw)), "a version appended twice"


@pytest.fixture
def touch():
    """Change some rows; each time others, and later."""
    turns = iter(range(1, 1000))

    def work(day):
        turn = next(turns)
        workload.update_items(
            day.source, f"id % 7 = {turn % 7}", "quantity = quantity + 1",
            f"2024-06-01 {turn // 60:02}:{turn % 60:02}:00")
    return work


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
@every_warehouse
def test_any_request(make_day, touch, full, engine, mode, kind):
    """The first request of a run, one in its middle, its last. The run gets
    over it, or ends with exit 3, and the next one has it right."""
    day = make_day("postgres", engine, 60, mode=mode, batch={"rows": 20},
                   retry=QUICK)
    day.tidemark.run()
    fault = KINDS[kind][WAREHOUSES.index(engine)]
    number, struck = MODES.index(mode), 0
    while True:
        touch(day)
        plant(day.destination, number, **fault)
        done = day.tidemark("run", "--json")
        if requests(day.destination) <= number:
            break
        struck += 1
        day.survives(done)
        check_versions(day)
        number += 1 if full else 6
    assert struck > 1


@every_warehouse
def test_patience_that_is_asked_for(make_day, touch, engine):
    """Retry-After: so long, and then the same request."""
    day = make_day("postgres", engine, 60, retry=QUICK)
    day.tidemark.run()
    touch(day)
    plant(day.destination, 3, **({"do": "status"} if engine == "clickhouse"
                                 else {"kind": "status"}),
          status=429, retry_after="2")
    begun = time.monotonic()
    day.tidemark.run()
    assert time.monotonic() - begun > 2
    requests(day.destination)
    day.recovers()


@pytest.mark.parametrize("status", (429, 503))
@every_warehouse
def test_patience_without_an_end(make_day, touch, engine, status):
    """A service that asks for a day of patience is not waited for."""
    day = make_day("postgres", engine, 60, retry=QUICK)
    day.tidemark.run()
    touch(day)
    plant(day.destination, **({"do": "status"} if engine == "clickhouse"
                              else {"kind": "status"}),
          status=status, retry_after="86400", times=1000)
    day.tidemark("run", "--json").expect(EXIT_ACCESS)
    requests(day.destination)
    day.recovers()


@every_warehouse
def test_overtaken_by_another_store(make_day, stopped_run, work_dir, engine):
    """Two runs that know nothing of each other: the newer one goes on, the
    other changes nothing more and is told."""
    day = make_day("postgres", engine, 600, batch={"rows": 100,
                                                   "target": "1ms"})
    first = stopped_run(day.tidemark, batches=2)
    (work_dir / "other").mkdir()
    other = Tidemark(day.tidemark.binary, work_dir / "other")
    other.connections, other.pipelines = (day.tidemark.connections,
                                          day.tidemark.pipelines)
    other.write_config().run()
    before = day.destination.rows(day.to, day.columns)
    first.signal(signal.SIGCONT)
    overtaken = first.wait().expect(EXIT_STATE).pipeline()
    assert "has taken over" in overtaken["error"]["message"]
    assert sorted(before, key=repr) == sorted(
        day.destination.rows(day.to, day.columns), key=repr)
    day.check()
    other.run()
    day.recovers()


@every_warehouse
def test_killed_workers(make_day, engine):
    """Two of a backfill's three workers die, while another run keeps the table
    up. Each chunk is done once, and damage is mended."""
    day = make_day("postgres", engine, 400, batch={"rows": 100})
    day.source.execute("UPDATE items SET updated_at = timestamptz "
                       "'2024-01-01' + id * interval '1 second'")
    day.tidemark.run()
    # There rows are compared by a hash of what was loaded.
    if engine != "clickhouse":
        change(day, "items", "name = 'damaged'", "id % 3 = 0")
    delete(day, "items", "id % 10 = 1")
    day.tidemark("backfill", "items", "--queue", "--chunk-rows", "100").expect(
        EXIT_OK)
    workers = [day.tidemark.start("worker", "--chunks", "--once")
               for _ in range(3)]
    live = day.tidemark.start("run", "--watch", "100ms", "-q", capture=False)
    wait_for(lambda: any(chunks(day, "running")) or not workers[0].alive(),
             what="a chunk")
    for worker in workers[:2]:
        worker.kill()
    workers[2].wait(150).expect(EXIT_OK)
    day.tidemark("worker", "--chunks", "--once").expect(EXIT_OK)
    live.signal(signal.SIGTERM)
    live.wait()
    assert chunks(day, "done") == chunks(day) and len(chunks(day)) == 4
    day.recovers()


def chunks(day, state=None):
    with sqlite3.connect(day.tidemark.state_file, timeout=20) as db:
        return db.execute("SELECT chunk_id FROM chunks WHERE ?1 IS NULL OR "
                          "state = ?1", [state]).fetchall()


# ---- servers that go away

@pytest.fixture
def own_clickhouse():
    if ClickhouseServer.missing():
        pytest.skip(ClickhouseServer.missing())
    server = ClickhouseServer().start()
    server.create_database("warehouse")
    yield server
    server.remove()


@pytest.mark.parametrize("away", (False, True), ids=("back", "away"))
def test_clickhouse_dies_in_mid_run(tidemark, make_source, stopped_run,
                                    own_clickhouse, away):
    """Killed, and started again over what it has on disk: the run goes on; or
    it ends with exit 3 and the next one does."""
    day = Day(tidemark, make_source("postgres"),
              ClickhouseEnd(own_clickhouse, "warehouse"), 1000,
              batch={"rows": 100, "target": "1ms"},
              retry=HASTY if away else PATIENT)
    running = stopped_run(tidemark)
    own_clickhouse.stop()
    running.signal(signal.SIGCONT)
    if not away:
        time.sleep(0.1)
        own_clickhouse.start()
    done = running.wait()
    if away:
        message = done.expect(EXIT_ACCESS).pipeline()["error"]["message"]
        assert f":{own_clickhouse.port}" in message, message
        own_clickhouse.start()
    assert day.survives(done) or away, done


# ---- sign-ins that end

def test_password_that_is_changed_in_mid_run(make_day, stopped_run):
    """Exit 3 with the server's words; with the new one the next run goes on."""
    day = make_day("postgres", "clickhouse", 600, batch={"rows": 100,
                                                       "target": "1ms"})
    running = stopped_run(day.tidemark)
    plant(day.destination, do="refuse", times=1000)
    running.signal(signal.SIGCONT)
    message = running.wait().expect(EXIT_ACCESS).pipeline()["error"][
        "message"]
    assert "password is incorrect" in message, message
    assert os.environ.get(PASSWORD_VARIABLE, "-") not in message
    requests(day.destination)
    assert day.recovers()["rows_read"] < 600, "started from the beginning"


@pytest.fixture
def strict_front():
    """Asks who one is."""
    front = bigquery_servers.Front("--sign-in").start()
    front.headers["Metadata-Flavor"] = "Google"
    yield front
    front.remove()


def sign_in(front):
    """The tests' own."""
    token = front.call("GET", "/computeMetadata/v1/instance/service-accounts/"
                       "default/token")
    front.headers["Authorization"] = "Bearer " + token["access_token"]


def test_account_that_is_taken_away_in_mid_run(
        tidemark, make_source, stopped_run, strict_front, work_dir):
    """The token runs out and there is no other: exit 3 with the reason; once
    the account is back, the next run goes on."""
    path = work_dir / "account.json"
    path.write_text(json.dumps(strict_front.call("GET", "/_account")))
    path.chmod(0o600)
    tidemark.env[bigquery_servers.HOST] = strict_front.host
    sign_in(strict_front)
    strict_front.create_dataset("warehouse")
    day = Day(tidemark, make_source("postgres"),
              BigqueryEnd(strict_front, "warehouse"), 600,
              batch={"rows": 100, "target": "1ms"}, retry=QUICK)
    tidemark.connect("warehouse", day.destination.url(credentials=path))
    running = stopped_run(tidemark.write_config())
    strict_front.call("POST", "/_expire", {})
    strict_front.faults({"match": "POST /token", "kind": "status",
                         "status": 400, "reason": "invalid_grant",
                         "message": "account not found", "times": 1000})
    running.signal(signal.SIGCONT)
    done = running.wait().expect(EXIT_ACCESS)
    strict_front.faults()
    sign_in(strict_front)
    assert "account not found" in done.pipeline()["error"]["message"], done
    assert "ya29." not in done.out + done.err
    day.check_covered()
    assert day.recovers()["rows_read"] < 600, "started from the beginning"

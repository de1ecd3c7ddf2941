"""The answers of `tidemark serve` over HTTP, against real runs."""

import json
import re
import signal
import sqlite3
import threading
import time
import urllib.error
import urllib.request

import pytest

import workload
from bench import EXIT_ACCESS, EXIT_OK, assert_no_secret
from refused_items import BAD, ids, poison_some, target  # noqa: F401
from servers import wait_for
from test_serve import (configure, fill, is_equal, logged, outcomes, starts,
                        status, stop, wait_equal)

TOKEN = "a-token-of-thirty-two-characters"
ROW = "the-canary-of-a-row"


class Client:
    """Asks one server."""

    def __init__(self, running, token=TOKEN):
        wait_for(lambda: logged(running, "listening on"), what="the server")
        text = running.text["err"].decode()
        self.url = "http://" + re.search(r"listening on (\S+)", text)[1]
        self.token = token

    def __call__(self, path, body=None, token=..., accept=None):
        """Status and text; a dict is posted."""
        token = self.token if token is ... else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if accept:
            headers["Accept"] = accept
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def json(self, path, body=None, expect=200):
        code, text = self(path, body)
        assert code == expect, (code, text)
        return json.loads(text)

    def pipeline(self, name):
        return next(each for each in
                    self.json("/api/v1/pipelines")["pipelines"]
                    if each["pipeline"] == name)

    def metrics(self):
        """Value by name and labels as they are written."""
        code, text = self("/metrics")
        assert code == 200
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                for line in text.splitlines() if line[:1] != "#"}


@pytest.fixture
def served(tidemark, source, make_destination):
    """Two tables, each second, and a server at any free port."""
    destination = make_destination("sqlite")
    tables = fill(source, "a", "b")
    tidemark.top["serve"] = {"listen": "127.0.0.1:0", "token": TOKEN}
    configure(tidemark, source, destination, tables, schedule="every 1s",
              retry={"attempts": 2, "backoff": "10ms"})
    return source, destination


def test_counters_are_those_of_the_ledger(tidemark, served):
    source, destination = served
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    client = Client(running)
    wait_equal(source, destination, "a")
    source.execute("UPDATE a SET name = 'new', updated_at = now() "
                   "WHERE id <= 5")
    workload.fill_items(source, 31, 50, stamp="now()", table="a")
    wait_equal(source, destination, "a")
    wait_for(lambda: len(outcomes(tidemark, "b")) >= 3, what="failures")
    wait_for(lambda: client.metrics().get('tidemark_failing{pipeline="b"}')
             == 1, what="the word about it")
    for name in "ab":
        client.json(f"/api/v1/pipelines/{name}/pause", {"reason": "to count"})
    wait_for(lambda: all(client.pipeline(name)["paused_by"] for name in "ab"),
             what="the pause")
    turns = [len(starts(tidemark, name)) for name in "ab"]
    time.sleep(2)
    assert [len(starts(tidemark, name)) for name in "ab"] == turns
    with sqlite3.connect(tidemark.state_file) as db:
        for name in "ab":
            sums = db.execute(
                "SELECT sum(rows_read), sum(rows_inserted), "
                "sum(rows_updated), sum(rows_unchanged), sum(batches), "
                "sum(outcome = 'caught_up'), sum(outcome = 'failed') "
                "FROM attempts WHERE pipeline = ?", (name,)).fetchone()
            of = f'pipeline="{name}"'
            names = [f"tidemark_rows_read_total{{{of}}}"]
            names += [f'tidemark_rows_total{{{of},op="{op}"}}'
                      for op in ("inserted", "updated", "unchanged")]
            names += [f"tidemark_batches_total{{{of}}}"]
            names += [f'tidemark_runs_total{{{of},outcome="{outcome}"}}'
                      for outcome in ("caught_up", "failed")]
            told = client.metrics()
            assert [told[each] for each in names] == list(sums)
            count = told[f"tidemark_batch_seconds_count{{{of}}}"]
            assert count == sums[4]
            assert told[f'tidemark_batch_seconds_bucket{{{of},le="+Inf"}}'] \
                == count
    assert told['tidemark_run_failures_total{pipeline="b",code="schema"}'] >= 3
    assert told['tidemark_failing{pipeline="a"}'] == 0
    assert told['tidemark_waiting{pipeline="a",reason="pause"}'] == 1
    stop(running)


def test_it_tells_what_the_commands_tell(tidemark, served):
    source, destination = served
    running = tidemark.start("serve")
    client = Client(running)
    wait_equal(source, destination, "a", "b")
    for name in "ab":
        client.json(f"/api/v1/pipelines/{name}/pause", {})
    wait_for(lambda: all(client.pipeline(name)["state"] == "paused"
                         for name in "ab"), what="rest")
    wait_for(lambda: client.pipeline("a").get("last_run")
             == status(tidemark, "a")["last_run"], what="the last run")
    told, printed = client.pipeline("a"), status(tidemark, "a")
    for key in ("watermark", "state", "since", "last_success", "last_error",
                "dead_letters", "paused_by", "breaker", "chunks"):
        assert told[key] == printed[key], key
    assert client.json("/api/v1/runs?pipeline=a&limit=5") \
        == tidemark("runs", "list", "a", "--limit", "5", "--json").json()
    run = client.json("/api/v1/runs?pipeline=a")["runs"][0]["run_id"]
    assert client.json(f"/api/v1/runs/{run}") \
        == tidemark("runs", "show", run, "--json").json()
    assert client.json("/api/v1/pace?pipeline=a") \
        == tidemark("pace", "a", "--json").json()
    assert client.json("/api/v1/dead-letters?pipeline=a") \
        == {"dead_letters": []}
    assert client.json("/api/v1/chunks?pipeline=a")["chunks"] == []
    points = client.json("/api/v1/series?pipeline=a")["points"]
    assert len(points) == 288
    assert sum(point["rows"] for point in points) == 30
    assert points[-1]["lag_seconds"] is not None
    for path in ("runs", "chunks", "series", "pace"):
        assert client(f"/api/v1/{path}?pipeline=nobody")[0] == 404
    assert client("/api/v1/runs/nothing")[0] == 404
    stop(running)


def test_pause_resume_and_run(tidemark, served):
    source, destination = served
    tidemark.pipelines["b"]["schedule"] = "manual"
    tidemark.write_config()
    running = tidemark.start("serve")
    client = Client(running)
    wait_equal(source, destination, "a")
    assert client.json("/api/v1/pipelines/a/pause",
                       {"reason": "an index"})["done"]
    wait_for(lambda: client.pipeline("a")["state"] == "paused", what="pause")
    told = client.pipeline("a")
    assert told["paused_by"]["whom"] == "token from 127.0.0.1"
    assert told["paused_reason"] == "an index"
    workload.fill_items(source, 31, 40, stamp="now()", table="a")
    client.json("/api/v1/pipelines/b/run", {})
    client.json("/api/v1/pipelines/b/run", {})
    wait_equal(source, destination, "b")
    assert not is_equal(source, destination, "a")
    client.json("/api/v1/pipelines/a/resume", {})
    wait_equal(source, destination, "a")
    tidemark("pause", "a").expect(EXIT_OK)
    tidemark("resume", "a").expect(EXIT_OK)
    told = client.json("/api/v1/orders?pipeline=a")["orders"]
    assert [each["what"] for each in told] == ["resume", "pause"] * 2
    assert "@" in told[0]["who"] and told[0]["at"] >= told[-1]["at"] > "20"
    assert told[-1]["who"] == "token from 127.0.0.1"
    assert told[-1]["detail"] == "an index"
    assert client("/api/v1/orders?pipeline=nobody")[0] == 404
    assert client("/api/v1/orders?pipeline=a", token=None)[0] == 401
    stop(running)
    assert 1 <= len(starts(tidemark, "b")) <= 2
    with sqlite3.connect(tidemark.state_file) as db:
        events = db.execute("SELECT pipeline, what, who FROM control_events "
                            "ORDER BY at").fetchall()
    who = "token from 127.0.0.1"
    assert events[:4] == [("a", "pause", who), ("b", "run", who),
                          ("b", "run", who), ("a", "resume", who)]


def test_pace_is_set(tidemark, served):
    running = tidemark.start("serve")
    client = Client(running)
    wait_for(lambda: client("/readyz")[0] == 200, what="readiness")
    client.json("/api/v1/pipelines/a/pace", {"rows_per_second": "7"})
    told = tidemark("pace", "a", "--json").pipeline("a")
    assert told["set"] == {"rows_per_second": "7"}
    assert told["changed_by"] == "token from 127.0.0.1"
    assert client("/api/v1/pipelines/a/pace", {"rows_per_second": "x"})[0] \
        == 400
    assert client("/api/v1/pipelines/a/pace", {"rows_per_second": 7})[0] == 400
    client.json("/api/v1/pipelines/a/pace", {})
    assert tidemark("pace", "a", "--json").pipeline("a")["set"] is None
    tidemark("pace", "a", "max_active=9", "rows_per_second=8")
    stop(running)
    with sqlite3.connect(tidemark.state_file) as db:
        events = db.execute("SELECT what, who, detail FROM control_events "
                            "ORDER BY at").fetchall()
    by_api, cleared, by_hand = events
    assert by_api == ("pace", "token from 127.0.0.1",
                      '{"rows_per_second":"7"}')
    assert cleared == ("pace", "token from 127.0.0.1", "config")
    assert "@" in by_hand[1] and "max_active" in by_hand[2] \
        and "rows_per_second" in by_hand[2]


def test_dead_letters_are_replayed_and_discarded(tidemark, target):
    tidemark.top["serve"] = {"listen": "127.0.0.1:0", "token": TOKEN}
    source, destination = target("postgres", schedule="every 1s")
    poison_some(source)
    running = tidemark.start("serve")
    client = Client(running)

    def letters():
        return client.json("/api/v1/dead-letters?pipeline=items")[
            "dead_letters"]
    wait_for(lambda: len(letters()) == len(BAD), what="dead letters")
    wait_for(lambda: client.pipeline("items")["dead_letters"] == len(BAD),
             what="their number")
    first, second, *_ = letters()
    assert "row" not in first
    path = f"/api/v1/dead-letters/{first['id']}"
    assert client(path, token=None)[0] == 401
    assert client.json(path)["dead_letters"][0]["row"]
    client.json(f"/api/v1/dead-letters/{second['id']}/discard", {})
    assert second["id"] not in [each["id"] for each in letters()]
    source.execute("UPDATE items SET quantity = 5 WHERE id = "
                   f"{first['key']['id']}")
    done = client.json(f"{path}/replay", {})
    assert done["run"]["rows_read"] == 1
    assert first["id"] not in [each["id"] for each in letters()]
    assert first["key"]["id"] in ids(destination)
    assert client(f"{path}/replay", {})[0] == 404
    stop(running)
    left = tidemark("dead-letters", "list", "--json").json()["dead_letters"]
    tidemark("dead-letters", "discard",
             *[each["id"] for each in left]).expect(EXIT_OK)
    with sqlite3.connect(tidemark.state_file) as db:
        events = db.execute("SELECT what, who FROM control_events "
                            "ORDER BY at").fetchall()
    assert events[:2] == [(what, "token from 127.0.0.1")
                          for what in ("discard", "replay")]
    (what, who), = events[2:]
    assert what == "discard" and "@" in who


def test_a_run_is_replayed(tidemark, served):
    source, destination = served
    running = tidemark.start("serve")
    client = Client(running)
    wait_equal(source, destination, "a", "b")
    wait_for(lambda: client.pipeline("a").get("last_run"), what="the run")
    run = client.json("/api/v1/runs?pipeline=a&limit=100")["runs"][-1]
    destination.execute("DELETE FROM a WHERE id = 7")
    done = client.json(f"/api/v1/runs/{run['run_id']}/replay", {})
    assert done["run"]["rows_inserted"] == 1
    assert is_equal(source, destination, "a")
    stop(running)
    tidemark("runs", "replay", run["run_id"]).expect(EXIT_OK)
    with sqlite3.connect(tidemark.state_file) as db:
        events = db.execute("SELECT what, who, detail FROM control_events "
                            "ORDER BY at").fetchall()
    by_api, by_hand = events
    assert by_api == ("replay", "token from 127.0.0.1", run["run_id"])
    assert by_hand[::2] == by_api[::2] and "@" in by_hand[1]


def test_no_token_no_change(tidemark, served):
    running = tidemark.start("serve")
    client = Client(running)
    paths = ["/api/v1/pipelines/a/pause", "/api/v1/pipelines/a/run",
             "/api/v1/pipelines/a/resume", "/api/v1/pipelines/a/pace",
             "/api/v1/runs/x/replay", "/api/v1/dead-letters/x/replay",
             "/api/v1/dead-letters/x/discard"]
    for path in paths:
        assert client(path, {}, token=None)[0] == 401, path
        assert client(path, {}, token="wrong" * 8)[0] == 401, path
    for path in ("/metrics", "/api/v1/pipelines", "/api/v1/runs",
                 "/api/v1/series?pipeline=a"):
        assert client(path, token=None)[0] == 401, path
    for path in ("/healthz", "/readyz"):
        assert client(path, token=None)[0] == 200, path
    stop(running)


def test_without_a_token_it_is_read_only(tidemark, served):
    tidemark.top["serve"] = {"listen": "127.0.0.1:0"}
    tidemark.write_config()
    running = tidemark.start("serve")
    client = Client(running, token=None)
    client.json("/api/v1/pipelines")
    assert client("/api/v1/pipelines/a/pause", {})[0] in (401, 403)
    stop(running)


def test_the_address_is_taken(tidemark, served):
    running = tidemark.start("serve")
    address = Client(running).url.removeprefix("http://")
    tidemark.top["serve"] = {"listen": address, "token": TOKEN}
    tidemark.write_config()
    done = tidemark("serve")
    assert done.code == EXIT_ACCESS and address in done.err, done
    stop(running)


def test_readiness_is_the_stores(tidemark, own_cluster, served):
    server = own_cluster()
    server.create_database("state")
    import ends
    tidemark.top["state"] = ends.PostgresEnd(server, "state").connection()
    tidemark.write_config()
    running = tidemark.start("serve")
    client = Client(running)
    wait_for(lambda: client("/readyz")[0] == 200, what="readiness")
    server.stop("immediate")
    wait_for(lambda: client("/readyz")[0] == 503, what="the word")
    assert client("/healthz")[0] == 200
    assert client.json("/api/v1/pipelines")["serve"]["store"] == "away"
    assert client.metrics()["tidemark_store_up"] == 0
    assert client("/api/v1/runs")[0] == 503
    server.start()
    wait_for(lambda: client("/readyz")[0] == 200, what="readiness")
    stop(running)


@pytest.mark.parametrize("accept", ("application/openmetrics-text", None))
def test_metrics_are_in_both_forms(tidemark, served, accept):
    tidemark.pipeline('odd "name"\\', **dict(
        tidemark.pipelines["b"], destination={
            **tidemark.pipelines["b"]["destination"], "table": "other"}))
    tidemark.write_config()
    running = tidemark.start("serve")
    client = Client(running)
    wait_for(lambda: client.pipeline("a").get("last_run"), what="a run")
    code, text = client("/metrics", accept=accept)
    assert code == 200 and text.endswith("# EOF\n")
    types = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)
    total = [name for name, kind in types if kind == "counter"]
    assert all(name.endswith("_total") == (accept is None) for name in total)
    assert ("tidemark_build", "info") in types or accept is None
    assert 'pipeline="odd \\"name\\"\\\\"' in text
    for line in text.splitlines():
        assert re.fullmatch(r'#.*|tidemark_store_up 1|[a-z_]+\{([a-z]+="([^"\\\n]|\\.)*",?)+\} '
                            r'[-+0-9.e]+', line), line
    labels = set(re.findall(r'[{,]([a-z_]+)="', text))
    assert labels <= {"pipeline", "version", "op", "le", "outcome", "code",
                      "class", "reason", "state"}
    stop(running)


def test_no_route_tells_a_secret_or_a_row(tidemark, target):
    """A row's values come with its dead letter alone, and with the token."""
    tidemark.top["serve"] = {"listen": "127.0.0.1:0", "token": TOKEN}
    source, destination = target("postgres", schedule="every 1s")
    source.execute(f"UPDATE items SET name = '{ROW}' WHERE id > 2")
    poison_some(source)
    running = tidemark.start("serve")
    client = Client(running)
    wait_for(lambda: client.pipeline("items").get("dead_letters") == len(BAD),
             what="dead letters")
    assert ROW in str(destination.rows(f"{destination.schema}.items",
                                       {"name": "text"}))
    letter = client.json("/api/v1/dead-letters")["dead_letters"][0]["id"]
    run = client.json("/api/v1/runs?limit=100")["runs"][-1]["run_id"]
    posts = [f"/api/v1/{path}" for path in (
        "pipelines/items/run", "pipelines/items/pause",
        "pipelines/items/resume", f"dead-letters/{letter}/replay",
        f"runs/{run}/replay")]
    told = {}
    for path in ("/", "/metrics", "/healthz", "/readyz", "/api/v1/pipelines",
                 "/api/v1/pipelines?brief=1", "/api/v1/runs",
                 f"/api/v1/runs/{run}", "/api/v1/dead-letters",
                 "/api/v1/chunks?pipeline=items",
                 "/api/v1/series?pipeline=items",
                 "/api/v1/pace?pipeline=items",
                 "/api/v1/orders?pipeline=items", "/api/v1/nothing"):
        told[path] = client(path)[1]
    for path in posts:
        told[path] = client(path, {})[1]
    for path, text in told.items():
        assert ROW not in text and TOKEN not in text, path
        assert_no_secret(text, path)
    path = f"/api/v1/dead-letters/{letter}"
    assert client(path, token=None)[0] == 401
    assert ROW in client(path)[1]
    done = stop(running)
    assert ROW not in done.err and TOKEN not in done.err
    assert_no_secret(done.err, "the log")


def test_runs_of_another_process_are_seen_in_time(tidemark, served):
    """Nobody is late by a look that is too old: counted in turns of the other
    process, for clocks say little on a busy machine."""
    source, destination = served
    other = tidemark.start("serve")
    wait_for(lambda: logged(other, "listening on"), what="the other one")
    tidemark.pipelines["a"].update(schedule="manual", alert={"late": "3s"})
    tidemark.write_config()
    running = tidemark.start("serve")
    client = Client(running)
    name = 'tidemark_last_success_timestamp_seconds{pipeline="a"}'
    wait_for(lambda: client.metrics().get(name), what="a run")
    seen, turns = set(), len(starts(tidemark, "a"))
    while len(starts(tidemark, "a")) < turns + 20:
        seen.add(client.metrics()[name])
        time.sleep(0.1)
    stop(running)
    stop(other)
    assert len(seen) >= 4, seen


@pytest.mark.threads
def test_looks_and_orders_while_configs_change(tidemark, served):
    """Under the thread sanitizer nothing is shared that may go meanwhile."""
    running = tidemark.start("serve")
    client = Client(running)
    flag = 'tidemark_failing{pipeline="%s"}'
    wait_for(lambda: all(flag % each in client.metrics() for each in "ab"),
             what="a word about each")
    over, wrong = threading.Event(), []

    def ask():
        while not over.is_set():
            for path in ("/metrics", "/api/v1/pipelines", "/api/v1/runs",
                         "/api/v1/pipelines?brief=1",
                         "/api/v1/series?pipeline=a"):
                wrong.extend([path] if client(path)[0] != 200 else [])
            told = client.metrics()
            wrong.extend([each for each in "ab" if flag % each not in told])
            for order in ("pause", "run", "resume", "pace"):
                path = f"/api/v1/pipelines/a/{order}"
                wrong.extend([path] if client(path, {})[0] != 200 else [])
    askers = [threading.Thread(target=ask) for _ in range(3)]
    for each in askers:
        each.start()
    for times in range(40):
        tidemark.top["jobs"] = 1 + times % 3
        tidemark.write_config("broken: [" if times % 7 == 5 else None)
        running.signal(signal.SIGHUP)
        time.sleep(0.1)
    turns = len(starts(tidemark, "b"))
    wait_for(lambda: len(starts(tidemark, "b")) > turns + 2, what="turns")
    over.set()
    for each in askers:
        each.join()
    stop(running)
    assert not wrong, wrong

"""Bad days of `tidemark serve`: what it meets in a year."""

import os
import re
import signal
import socket
import sqlite3

import pytest

import ends
import workload
from bench import EXIT_CONFIG, EXIT_OK, EXIT_SCHEMA
from certificates import FAR, TlsDoor, make_certificates
from oracle import ITEMS, check_rows
from servers import wait_for
from test_serve import (configure, fields, fill, is_equal, logged, make_due,
                        outcomes, starts, state_rows, stop, wait_equal)
from test_serve_http import TOKEN, Client
from test_serve_http import served as served_http  # noqa: F401
from test_serve_notify import make_receiver, notify  # noqa: F401


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("tls")
    make_certificates(cwd)
    return cwd


@pytest.fixture
def served(served_http):  # noqa: F811
    return served_http


def test_a_webhook_by_https(tidemark, served, make_receiver,  # noqa: F811
                            certificates):
    """A certificate that nobody trusts is said, and no word goes there."""
    source, destination = served
    hook = make_receiver()
    doors = {name: TlsDoor(hook.server.server_port, certificates, name)
             for name in ("good", "foreign", "elsewhere", "expired")}

    def entry(name, ca, host=FAR):
        to = {"webhook": f"https://{host}:{doors[name].port}/hook/{name}/{ca}"}
        return dict(to, ca=str(certificates / ca)) if ca else to
    notify(tidemark, entry("good", None), entry("good", "theirs.pem"),
           entry("foreign", "ours.pem"), entry("elsewhere", "ours.pem"),
           entry("expired", "ours.pem"))
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    for name in doors:
        wait_for(lambda name=name: re.search(
            rf"has to wait: the webhook at {FAR}:{doors[name].port}: ",
            running.text["err"].decode()), what=f"the word about {name}")
    text = running.text["err"].decode()
    for name, words in (("good", "certificate"), ("foreign", "certificate"),
                        ("elsewhere", "name"), ("expired", "expired")):
        said = re.findall(
            rf"the webhook at {FAR}:{doors[name].port}: (.*)", text)
        assert all(words in each for each in said), (name, said)
        assert ("notify has `ca`" in str(said)) == (name == "good"), said
    assert not hook.asked
    notify(tidemark, entry("good", "ours.pem"),
           entry("good", "ours.pem", "localhost"))
    running.signal(signal.SIGHUP)
    wait_for(lambda: len(hook.told) == 2, what="both words")
    stop(running)
    assert [each["event"] for each in hook.told] == ["failed"] * 2
    for door in doors.values():
        door.close()
    tidemark.top["notify"] = [{"command": ["/bin/true"], "ca": "/x"}]
    tidemark.write_config()
    done = tidemark("serve").expect(EXIT_CONFIG)
    assert "notify.ca" in done.err, done


def slow(tidemark, source, name):
    """Its next run takes a while: rows one by one."""
    source.execute(f"UPDATE {name} SET name = name || 'x', "
                   "updated_at = now()")
    tidemark("pace", name, "rows_per_second=10").expect(EXIT_OK)


def in_the_middle(tidemark, running):
    rows = state_rows(tidemark)
    wait_for(lambda: state_rows(tidemark) > rows + 3, what="a run that reads")
    assert running.alive()


def test_a_pipeline_is_removed_while_it_runs(tidemark, served,
                                             make_receiver):  # noqa: F811
    """Its run ends well. Then nothing is told of it, until it is back."""
    source, destination = served
    tidemark.pipelines["a"].update(batch={"rows": 1})
    hook = make_receiver()
    notify(tidemark, {"webhook": hook.url})
    running = tidemark.start("serve")
    client = Client(running)
    wait_equal(source, destination, "a", "b")
    slow(tidemark, source, "a")
    in_the_middle(tidemark, running)
    client.json("/api/v1/pipelines/a/run", {})
    removed = tidemark.pipelines.pop("a")
    tidemark.write_config()
    running.signal(signal.SIGHUP)
    wait_for(lambda: logged(running, "the config was read anew: 1 pipe"),
             what="the new config")
    assert not is_equal(source, destination, "a")

    def ghosts():
        return [path for path in ("/metrics", "/api/v1/pipelines")
                if '"a"' in client(path)[1]]
    assert not ghosts()
    for order in ("run", "pause", "resume", "pace"):
        assert client(f"/api/v1/pipelines/a/{order}", {})[0] == 404
    assert client("/api/v1/series?pipeline=a")[0] == 404
    wait_for(lambda: "running" not in outcomes(tidemark, "a")
             and fields(tidemark, "a", "until") == (0,), what="its end")
    wait_equal(source, destination, "a")
    turns = len(starts(tidemark, "a"))
    others = len(starts(tidemark, "b"))
    wait_for(lambda: len(starts(tidemark, "b")) > others + 3,
             what="turns of the other one")
    assert len(starts(tidemark, "a")) == turns
    assert not ghosts()
    assert outcomes(tidemark, "a")[-1] == "caught_up"
    assert not hook.told
    done = tidemark("status", "--json")
    assert [each["pipeline"] for each in done.json()["pipelines"]] == ["b"]
    # The wish is kept, and is done once the pipeline is there again.
    tidemark.pipelines["a"] = dict(removed, schedule="manual")
    tidemark.write_config()
    running.signal(signal.SIGHUP)
    wait_for(lambda: len(starts(tidemark, "a")) == turns + 1, what="the run")
    stop(running)


@pytest.mark.parametrize("what", ("missing", "open", "short"))
def test_the_file_of_the_token(tidemark, served, what):
    path = os.path.join(tidemark.dir, "token")
    if what != "missing":
        with open(path, "w", encoding="ascii") as file:
            file.write("short\n" if what == "short" else TOKEN + "\n")
        os.chmod(path, 0o644 if what == "open" else 0o600)
    tidemark.top["serve"]["token"] = f"${{file:{path}}}"
    tidemark.write_config()
    done = tidemark("serve").expect(EXIT_CONFIG)
    assert re.search(r"tidemark.yaml:\d+:\d+: ", done.err), done
    assert TOKEN not in done.err
    assert {"missing": path, "open": "chmod 600", "short": "serve.token"}[
        what] in done.err, done


def test_somebody_holds_the_store(tidemark, served):
    """A file with a long transaction: whoever looks gets an answer, and whoever
    writes is told. No run is begun; all goes on behind it."""
    source, destination = served
    running = tidemark.start("serve")
    client = Client(running)
    wait_equal(source, destination, "a", "b")
    wait_for(lambda: client.pipeline("a").get("last_run"), what="its run")
    db = sqlite3.connect(tidemark.state_file, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    workload.fill_items(source, 31, 40, stamp="now()", table="a")
    wait_for(lambda: logged(running, "database is locked"), what="the word")
    turns = len(starts(tidemark, "a"))
    for path in ("/healthz", "/metrics", "/api/v1/pipelines", "/api/v1/runs",
                 "/api/v1/series?pipeline=a", "/"):
        assert client(path)[0] == 200, path
    code, text = client("/api/v1/pipelines/a/pause", {})
    assert code == 503 and "database is locked" in text, (code, text)
    assert client.metrics()['tidemark_dead_letters{pipeline="a"}'] == 0
    assert len(starts(tidemark, "a")) == turns
    assert not is_equal(source, destination, "a")
    db.execute("COMMIT")
    db.close()
    wait_equal(source, destination, "a")
    wait_for(lambda: not client.pipeline("a")["paused_by"]
             and client.pipeline("a")["state"] == "ok", what="ok")
    stop(running)


def held(client, host):
    """Connections that the server has not closed."""
    for each in client:
        each.setblocking(False)
    alive = 0
    for each in client:
        try:
            alive += each.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            alive += 1
        except OSError:
            pass
    return alive


@pytest.mark.parametrize("say", (
    b"", b"GET /metr", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
    b"POST /api/v1/pipelines/a/run HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
    b"Content-Type: application/json\r\nContent-Length: 60\r\n\r\n{"),
    ids=("silent", "line", "header", "body"))
def test_clients_that_are_slow(tidemark, served, say):
    """Never more than 16 of one address. They are cut, and others get in."""
    source, destination = served
    running = tidemark.start("serve")
    client = Client(running)
    wait_equal(source, destination, "a")
    host, port = client.url.removeprefix("http://").split(":")
    many = []
    for _ in range(48):
        each = socket.create_connection((host, int(port)), timeout=60)
        try:
            each.sendall(say)
        except OSError:
            pass
        many.append(each)
    wait_for(lambda: held(many, host) <= 16, what="few to be left")
    turns = len(starts(tidemark, "a"))
    wait_for(lambda: len(starts(tidemark, "a")) > turns + 1, what="turns")

    def answers():
        try:
            return client("/healthz")[0] == 200
        except OSError:
            return False
    wait_for(answers, what="an answer")
    wait_for(lambda: held(many, host) == 0, what="all to be cut")
    stop(running)
    assert not [each for each in outcomes(tidemark, "a")[:-1]
                if each != "caught_up"]


def test_a_thousand_are_due_at_once(tidemark, own_cluster):
    """`jobs` at a time, each once; whoever asks is answered meanwhile."""
    server = own_cluster()
    for name in ("source", "warehouse"):
        server.create_database(name)
    source, destination = (ends.PostgresEnd(server, name)
                           for name in ("source", "warehouse"))
    names = [f"t{i:03}" for i in range(1000)]
    source.execute(
        "DO $$ BEGIN FOR i IN 0..999 LOOP EXECUTE format("
        "'CREATE TABLE t%s AS SELECT 1 AS id, now() AS updated_at',"
        "lpad(i::text, 3, '0')); "
        "EXECUTE format('ALTER TABLE t%s ADD PRIMARY KEY (id), "
        "ALTER updated_at SET NOT NULL', lpad(i::text, 3, '0'));"
        " END LOOP; END $$")
    tidemark.top["serve"] = {"listen": "127.0.0.1:0", "token": TOKEN}
    tidemark.top["jobs"] = 4
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for name in names:
        tidemark.pipeline(
            name, schedule={"cron": "0 3 * * *"},
            source={"connection": "source", "table": name},
            destination={"connection": "warehouse", "table": name},
            key=["id"], watermark={"strategy": "timestamp",
                                 "column": "updated_at"})
    tidemark.write_config()
    tidemark("run", "t000").expect(EXIT_OK)
    # All have run two days ago, and are due.
    with sqlite3.connect(tidemark.state_file) as db:
        for name in names:
            db.execute("INSERT INTO leases (name, fence, holder, host, pid, "
                       "process, session, since, until, ran_at) "
                       "SELECT ?, fence, holder, host, pid, process, session, "
                       "since, until, ran_at FROM leases WHERE name = 't000' "
                       "ON CONFLICT DO NOTHING", (name,))
    make_due(tidemark, *names)
    running = tidemark.start("serve")
    client = Client(running)
    most, room = 0, []

    def done():
        nonlocal most
        assert client("/healthz")[0] == 200
        assert client("/metrics")[0] == 200
        sessions = source.query(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = 'source' "
            "AND application_name LIKE 'tidemark%'")[0][0]
        most = max(most, int(sessions))
        with open(f"/proc/{running.process.pid}/status", encoding="ascii") as file:
            resident = re.search(r"VmRSS:\s+(\d+)", file.read())[1]
        n = sum(value for key, value in client.metrics().items()
                if key.startswith("tidemark_runs_total")
                and "caught_up" in key)
        if n >= 200:
            room.append(int(resident))
        return n >= 1000
    wait_for(done, what="a thousand runs", step=1)
    stop(running)
    assert 1 <= most <= 4 * 4, most
    # KiB; the state of a pipeline takes a few of them.
    assert max(room) - room[0] < 32 * 1024, room
    with sqlite3.connect(tidemark.state_file) as db:
        runs = db.execute("SELECT pipeline, count(*) FROM attempts "
                          "GROUP BY 1").fetchall()
    assert sorted(name for name, _ in runs) == names
    assert {n for name, n in runs if name != "t000"} == {1}
    assert dict(runs)["t000"] == 2


ANOTHER = "the run before this one was another: "


@pytest.mark.parametrize("other", ("table", "mode", "source"))
def test_two_configs_of_one_pipeline(tidemark, served, other):
    """Two processes: nothing is mixed, and both say that there are two."""
    source, destination = served
    fill(source, "c")
    del tidemark.pipelines["b"]
    tidemark.write_config()
    first = tidemark.start("serve")
    wait_equal(source, destination, "a")
    a = tidemark.pipelines["a"]
    if other == "table":
        a["destination"] = dict(a["destination"], table="elsewhere")
    elif other == "mode":
        a["load"] = {"mode": "append"}
    else:
        a["source"] = dict(a["source"], table="c")
    tidemark.write_config()
    assert ANOTHER not in first.text["err"].decode()
    second = tidemark.start("serve")
    workload.fill_items(source, 31, 60, stamp="now()", table="a")
    workload.fill_items(source, 100, 110, stamp="now()", table="c")
    for each in (first, second):
        wait_for(lambda each=each: logged(each, ANOTHER), what="the word")
    said = second.text["err"].decode()
    assert re.search("another: upsert from (public.)?a at postgresql://.* "
                     "into (main.)?a at sqlite:.* Now it is: ", said), said
    wait_equal(source, destination, "a")
    for each in (first, second):
        stop(each)
    assert set(destination.tables()) - {"_tidemark_watermark"} == (
        {"a", "elsewhere"} if other == "table" else {"a"})
    # Each of the two goes on where it was.
    assert tidemark("run", "a").code in (EXIT_OK, EXIT_SCHEMA)
    check_rows(source.rows("a", ITEMS),
               destination.rows(f"{destination.schema}.a", ITEMS))
    if other == "table":
        check_rows(source.rows("a", ITEMS),
                   destination.rows(f"{destination.schema}.elsewhere", ITEMS))


def test_a_config_that_is_changed_is_said_once(tidemark, served):
    source, destination = served
    del tidemark.pipelines["b"]
    tidemark.write_config()
    running = tidemark.start("serve")
    wait_equal(source, destination, "a")
    tidemark("verify", "a", "--repair").expect(EXIT_OK)
    tidemark.pipelines["a"]["destination"]["table"] = "elsewhere"
    tidemark.write_config()
    running.signal(signal.SIGHUP)
    wait_for(lambda: logged(running, ANOTHER), what="the word")
    turns = len(starts(tidemark, "a"))
    wait_for(lambda: len(starts(tidemark, "a")) > turns + 3, what="turns")
    done = stop(running)
    assert done.err.count(ANOTHER) == 1, done


def test_long_pauses_hold_up_nobody(tidemark, served):
    """Four runs for each job are begun at most. One that is paused in its middle
    ends, and another goes on from there."""
    source, destination = served
    del tidemark.pipelines["a"]
    names = [f"a{i}" for i in range(4)]
    for name in names:
        workload.create_items(source, name, rows=400)
        tidemark.pipeline(name, **dict(
            tidemark.pipelines["b"], batch={"rows": 1},
            schedule="manual" if name == "a0" else {"cron": "0 3 * * *"},
            pace={"rows_per_second": 10},
            source={"connection": "source", "table": name},
            destination=dict(tidemark.pipelines["b"]["destination"],
                             table=name)))
    # Turns of those that never ran come at three.
    tidemark.top["jobs"] = 1
    tidemark.pipelines["b"]["schedule"] = "manual"
    tidemark.write_config()
    running = tidemark.start("serve")
    client = Client(running)
    wait_for(lambda: client("/readyz")[0] == 200, what="readiness")
    for name in names:
        client.json(f"/api/v1/pipelines/{name}/run", {})
        wait_for(lambda name=name: fields(tidemark, name, "ran_open") == (1,),
                 what="its run")
        in_the_middle(tidemark, running)
        tidemark("pause", name).expect(EXIT_OK)
    client.json("/api/v1/pipelines/b/run", {})
    wait_equal(source, destination, "b")
    for name in names:
        wait_for(lambda name=name: fields(tidemark, name, "until") == (0,),
                 what="its lease to be free")
        told = client.pipeline(name)
        assert told["state"] == "paused", told
        assert outcomes(tidemark, name) == ["stopped"]
    rows = state_rows(tidemark)
    for name in names:
        tidemark("pace", name, "rows_per_second=0").expect(EXIT_OK)
    assert state_rows(tidemark) == rows
    tidemark("resume", *names).expect(EXIT_OK)
    wait_equal(source, destination, *names)
    wait_for(lambda: all(outcomes(tidemark, name) == ["stopped", "caught_up"]
                         for name in names), what="one run more each")
    # They went on where they were, but for the tail.
    assert state_rows(tidemark) < 4 * 400 + 30 + 100
    stop(running)
    with sqlite3.connect(tidemark.state_file) as db:
        assert not db.execute("SELECT * FROM controls WHERE asked_at > 0 "
                              "OR paused_at > 0").fetchall()

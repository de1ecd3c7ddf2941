"""Notifications of `tidemark serve`, at real receivers."""

import hashlib
import hmac
import http.server
import json
import os
import threading
import time

import pytest

import ends
import json_outputs
import workload
from bench import EXIT_CONFIG, EXIT_DIFFERENT, EXIT_OK
from refused_items import poison_some, target  # noqa: F401
from servers import wait_for
from test_serve import (configure, fill, logged, outcomes, stop, wait_equal)

SECRET = "a-secret-of-this-webhook"


class Receiver:
    """A webhook that keeps what it is told. `behave` gives a status, or waits
    and gives None to say nothing."""

    def __init__(self, behave=lambda _: 200):
        receiver = self
        self.told, self.asked, self.wrong = [], [], []
        self.behave = behave

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.asked.append((self.path, self.headers, body))
                code = receiver.behave(len(receiver.asked))
                if code is None:
                    return
                if code == 200:
                    receiver.told.append(json.loads(body))
                    receiver.wrong += json_outputs.errors(
                        "notification", receiver.told[-1])
                self.send_response(code)
                self.send_header("Content-Length", "0")
                if code == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.server.daemon_threads = True
        self.url = (f"http://127.0.0.1:{self.server.server_port}"
                    "/hooks/T0123456789ABCDEF")
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def events(self, pipeline):
        return [each["event"] for each in self.told
                if each["pipeline"] == pipeline]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        assert not self.wrong, self.wrong


@pytest.fixture
def make_receiver():
    made = []

    def make(*args):
        made.append(Receiver(*args))
        return made[-1]
    yield make
    for each in made:
        each.close()


@pytest.fixture
def served(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    tables = fill(source, "a", "b")
    configure(tidemark, source, destination, tables, schedule="every 1s",
              retry={"attempts": 1, "breaker": {"failures": 1000}})
    return source, destination


def notify(tidemark, *receivers):
    tidemark.top["notify"] = list(receivers)
    tidemark.write_config()


def fails(tidemark, name, times):
    before = outcomes(tidemark, name).count("failed")
    wait_for(lambda: outcomes(tidemark, name).count("failed")
             >= before + times, what="failures")


def works(tidemark, name, times):
    before = outcomes(tidemark, name).count("caught_up")
    wait_for(lambda: outcomes(tidemark, name).count("caught_up")
             >= before + times, what="runs that work")


def test_each_change_once(tidemark, served, make_receiver):
    """Also over restarts, and with two processes on one store."""
    source, destination = served
    hook = make_receiver()
    notify(tidemark, {"webhook": hook.url, "secret": SECRET})
    running = [tidemark.start("serve") for _ in range(2)]
    wait_equal(source, destination, "a", "b")
    works(tidemark, "a", 2)
    assert not hook.asked
    source.execute("ALTER TABLE b RENAME TO gone")
    wait_for(lambda: hook.events("b"), what="the failure")
    fails(tidemark, "b", 3)
    for each in running:
        stop(each)
    running = [tidemark.start("serve") for _ in range(2)]
    fails(tidemark, "b", 4)
    source.execute("ALTER TABLE gone RENAME TO b")
    wait_for(lambda: len(hook.events("b")) > 1, what="the recovery")
    works(tidemark, "b", 3)
    for each in running:
        done = stop(each)
        assert SECRET not in done.err
        assert "T0123456789ABCDEF" not in done.err
    assert hook.events("b") == ["failed", "recovered"]
    assert not hook.events("a")
    failed, recovered = hook.told
    # A run may have been reading it when it went.
    assert failed["code"] in ("schema", "transient"), failed
    assert "public.b" in failed["message"], failed
    assert failed["since"] and failed["run_id"] and failed["attempt_id"]
    assert recovered["code"] is None
    assert set(failed) == {"event", "pipeline", "since", "run_id",
                           "attempt_id", "code", "message", "counts"}
    assert len(hook.asked) == 2
    for _, headers, body in hook.asked:
        want = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert headers["X-Tidemark-Signature"] == f"sha256={want}"
        assert headers["Content-Type"] == "application/json"


def test_late(tidemark, served, make_receiver):
    source, destination = served
    hook = make_receiver()
    tidemark.pipelines["b"].update(schedule="manual", alert={"late": "2s"})
    notify(tidemark, {"webhook": hook.url})
    tidemark.run("b")
    running = tidemark.start("serve")
    wait_for(lambda: hook.events("b"), what="the word that it is late")
    works(tidemark, "a", 3)
    assert hook.events("b") == ["late"]
    tidemark.pipelines["b"]["alert"] = {"late": "1h"}
    tidemark.write_config()
    tidemark.run("b")
    running.signal(1)
    wait_for(lambda: len(hook.events("b")) > 1, what="the recovery")
    stop(running)
    assert hook.events("b") == ["late", "recovered"]


def test_only_what_was_asked_for(tidemark, served, make_receiver):
    source, destination = served
    some, others = make_receiver(), make_receiver()
    notify(tidemark, {"webhook": some.url, "on": "recovered"},
           {"webhook": others.url, "on": ["late", "failed"]})
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    wait_for(lambda: others.events("b"), what="the failure")
    source.execute("ALTER TABLE gone RENAME TO b")
    wait_for(lambda: some.events("b"), what="the recovery")
    works(tidemark, "b", 2)
    stop(running)
    assert some.events("b") == ["recovered"]
    assert others.events("b") == ["failed"]


def test_a_receiver_that_hangs_holds_nobody(tidemark, served, make_receiver):
    source, destination = served
    release = threading.Event()

    def hang(_):
        release.wait()

    slow, quick = make_receiver(hang), make_receiver()
    notify(tidemark, {"webhook": slow.url, "timeout": "1s"},
           {"webhook": quick.url})
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    wait_for(lambda: slow.asked, what="the question")
    works(tidemark, "a", 3)
    wait_for(lambda: quick.events("b"), what="the other one")
    wait_for(lambda: len(slow.asked) >= 2, what="another try")
    stop(running)
    release.set()
    assert quick.events("b") == ["failed"]


def test_refusals_are_tried_again(tidemark, served, make_receiver):
    """A redirect is a refusal, too."""
    source, destination = served
    hook = make_receiver(lambda n: {1: 500, 2: 302}.get(n, 200))
    notify(tidemark, {"webhook": hook.url})
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    wait_for(lambda: hook.events("b"), what="the failure")
    fails(tidemark, "b", 2)
    stop(running)
    assert hook.events("b") == ["failed"]
    assert [path for path, *_ in hook.asked] == ["/hooks/T0123456789ABCDEF"] * 3


def test_what_was_not_taken_is_told_by_the_next(tidemark, served,
                                                make_receiver):
    source, destination = served
    hook = make_receiver(lambda _: 503)
    notify(tidemark, {"webhook": hook.url})
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    wait_for(lambda: hook.asked, what="the try")
    running.signal(9)
    running.wait()
    hook.behave = lambda _: 200
    running = tidemark.start("serve")
    wait_for(lambda: hook.events("b"), what="the failure")
    stop(running)
    assert hook.events("b") == ["failed"]


def test_killed_behind_a_failure_that_was_heard(tidemark, served,
                                                make_receiver):
    """It was not noted, and is over when the next one looks."""
    source, destination = served
    killed = threading.Event()
    hook = make_receiver(lambda n: killed.wait() and 200 if n == 1 else 200)
    notify(tidemark, {"webhook": hook.url, "timeout": "1s"})
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    wait_for(lambda: hook.asked, what="the word")
    running.kill()
    killed.set()
    wait_for(lambda: hook.told, what="the failure")
    source.execute("ALTER TABLE gone RENAME TO b")
    running = tidemark.start("serve")
    wait_equal(source, destination, "b")
    wait_for(lambda: len(hook.events("b")) > 1, what="the recovery")
    works(tidemark, "b", 2)
    stop(running)
    assert hook.events("b") == ["failed", "recovered"]


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_a_command(tidemark, served, tmp_path):
    source, destination = served
    heard = tmp_path / "heard"
    page = script(tmp_path / "page", f'cat >> {heard}; echo >> {heard}\n'
                  f'echo "$@" >> {tmp_path}/args; echo it is out >&2\n')
    notify(tidemark, {"command": [page, "$HOME; x", "$HOME; x"],
                      "on": "failed"})
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    wait_for(lambda: logged(running, "it is out"), what="its stderr")
    fails(tidemark, "b", 3)
    stop(running)
    told, = map(json.loads, heard.read_text().splitlines())
    assert told["event"] == "failed" and told["pipeline"] == "b"
    assert (tmp_path / "args").read_text() == "$HOME; x $HOME; x\n"


def test_a_command_that_hangs_is_ended(tidemark, served, tmp_path):
    source, destination = served
    pids = tmp_path / "pids"
    page = script(tmp_path / "page", "trap '' TERM\n"
                  f"echo $$ >> {pids}\nsleep 1000 &\n"
                  f"echo $! >> {pids}\nwait\nsleep 1000\n")
    notify(tidemark, {"command": [page], "timeout": "500ms"})
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    wait_for(lambda: logged(running, "it took longer than 0.5 s"),
             what="its end")
    works(tidemark, "a", 2)
    first = pids.read_text().split()[:2]
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}")
                             and "Z" not in open(f"/proc/{pid}/stat").read()
                             .rsplit(")", 1)[1][:3]
                             for pid in first), what="all of it to end")
    stop(running)


@pytest.mark.parametrize("entry, place", [
    ({}, "takes either a webhook or a command"),
    ({"webhook": "https://a.example/", "command": ["/bin/x"]},
     "takes either a webhook or a command"),
    ({"webhook": "http://a.example/"}, "without TLS"),
    ({"webhook": "ftp://a.example/"}, "begins neither"),
    ({"webhook": "https://ann@a.example/"}, "in front of the host"),
    ({"webhook": "https:///x"}, "names no host"),
    ({"webhook": "https://a.example/", "secret": "short"}, "16 to 1024"),
    ({"webhook": "https://a.example/", "on": ["faild"]},
     'did you mean "failed"?'),
    ({"webhook": "https://a.example/", "on": []}, "names no event"),
    ({"command": ["page"]}, "no absolute path"),
    ({"command": ["/bin/x"], "secret": SECRET}, "is for a webhook"),
    ({"command": ["/bin/x"], "when": 1}, "unknown key"),
])
def test_bad_configs(tidemark, served, entry, place):
    notify(tidemark, entry)
    done = tidemark("status")
    assert done.code == EXIT_CONFIG, done
    assert place in done.err and "tidemark.yaml:" in done.err, done.err


def test_dead_letters(tidemark, target, make_receiver):
    hook = make_receiver()
    tidemark.top["serve"] = {"listen": "off"}
    tidemark.top["notify"] = [{"webhook": hook.url}]
    source, destination = target("sqlite", schedule="every 1s")
    running = tidemark.start("serve")
    works(tidemark, "items", 1)
    poison_some(source)
    wait_for(lambda: hook.told, what="the word about them")
    source.execute("UPDATE items SET name = 'again', updated_at = now() "
                   "WHERE id <= 3")
    works(tidemark, "items", 2)
    stop(running)
    assert hook.events("items") == ["dead_letters"]
    told = hook.told[0]
    assert told["counts"]["dead_letters"] >= 1
    assert "dead-letters list items" in told["message"]


def test_differences(tidemark, served, make_receiver):
    """One that does not ask for them is told that the run failed."""
    source, destination = served
    both, failed = make_receiver(), make_receiver()
    tidemark.pipelines["a"].update(verify="window", schedule="manual")
    notify(tidemark, {"webhook": both.url},
           {"webhook": failed.url, "on": "failed"})
    tidemark.run("a")
    running = tidemark.start("serve")
    works(tidemark, "b", 1)
    # The target changes what it is given.
    for what in ("INSERT", "UPDATE"):
        destination.execute(
            f"CREATE TRIGGER spoil_{what} AFTER {what} ON a "
            "BEGIN UPDATE a SET quantity = 777 WHERE id = 31; END")
    workload.fill_items(source, 31, 33, stamp="now()", table="a")
    workload.settle(source)
    tidemark("run", "a").expect(EXIT_DIFFERENT)
    wait_for(lambda: both.told and failed.told, what="both to be told")
    works(tidemark, "b", 2)
    stop(running)
    assert both.events("a") == ["differences"]
    assert failed.events("a") == ["failed"]
    assert both.told[0]["code"] == "different"


def test_a_store_in_postgres(tidemark, served, own_cluster, make_receiver):
    source, destination = served
    # While one process tells, the others look as well.
    hook = make_receiver(lambda n: time.sleep(1.5) or 200)
    server = own_cluster()
    server.create_database("state")
    tidemark.top["state"] = ends.PostgresEnd(server, "state").connection()
    notify(tidemark, {"webhook": hook.url})
    source.execute("ALTER TABLE b RENAME TO gone")
    running = [tidemark.start("serve") for _ in range(3)]
    wait_for(lambda: hook.events("b"), what="the failure")
    source.execute("ALTER TABLE gone RENAME TO b")
    wait_for(lambda: len(hook.events("b")) > 1, what="the recovery")
    wait_equal(source, destination, "a", "b")
    for each in running:
        stop(each)
    assert hook.events("b") == ["failed", "recovered"]


@pytest.fixture
def crashable_store(tidemark, served, own_cluster):
    """A state store whose server writes its log when it must."""
    server = own_cluster(settings={"wal_writer_delay": "10s",
                                   "bgwriter_lru_maxpages": "0"})
    server.create_database("state")
    end = ends.PostgresEnd(server, "state")
    tidemark.top["state"] = end.connection()
    return server, end


def test_a_store_that_forgets_what_was_told(tidemark, served, crashable_store,
                                            make_receiver):
    """Its server crashes: whoever heard of a failure hears of its end."""
    source, destination = served
    server, end = crashable_store
    hook = make_receiver()
    for name in "ab":
        tidemark.pipelines[name]["schedule"] = "manual"
    notify(tidemark, {"webhook": hook.url})
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    tidemark("run", "b")
    wait_for(lambda: end.query("SELECT 1 FROM tidemark.notices "
                               "WHERE state = 'failing'"), what="the note")
    server.kill()
    source.execute("ALTER TABLE gone RENAME TO b")
    server.start()
    tidemark("run", "b").expect(EXIT_OK)
    wait_for(lambda: len(hook.events("b")) > 1, what="the recovery")
    stop(running)
    assert hook.events("b") == ["failed", "recovered"]


def test_a_store_that_goes_while_one_tells(tidemark, served, crashable_store,
                                           make_receiver):
    """It has been told, so it is noted as soon as may be."""
    source, destination = served
    server, end = crashable_store

    def crash(n):
        if n == 1:
            server.kill()
        return 200
    hook = make_receiver(crash)
    notify(tidemark, {"webhook": hook.url})
    source.execute("ALTER TABLE b RENAME TO gone")
    running = tidemark.start("serve")
    wait_for(lambda: hook.told, what="the failure")
    source.execute("ALTER TABLE gone RENAME TO b")
    server.start()
    wait_equal(source, destination, "a", "b")
    wait_for(lambda: len(hook.events("b")) > 1, what="the recovery")
    stop(running)
    assert hook.events("b") == ["failed", "recovered"]

"""Alerts and the Grafana dashboard, by a real Prometheus that scrapes a real
`tidemark serve`."""

import http.server
import json
import pathlib
import re
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest
import yaml

import workload
from bench import EXIT_OK
from refused_items import BAD, poison_some, target  # noqa: F401
from servers import free_port, wait_for
from test_serve import configure, fill, stop
from test_serve_http import TOKEN, Client

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
RULES = PACKAGING / "prometheus/tidemark.rules.yml"
TESTS = PACKAGING / "prometheus/tidemark.test.yml"
DASHBOARD = PACKAGING / "grafana/tidemark.json"


def promtool(*args, **more):
    done = subprocess.run(["promtool", *map(str, args)], capture_output=True,
                          text=True, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def rules():
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_rules_are_clean():
    promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)


def test_each_alert_fires_and_clears():
    promtool("test", "rules", TESTS)
    tests = yaml.safe_load(TESTS.read_text(encoding="utf-8"))["tests"]
    fired, silent = set(), set()
    for case in tests:
        for look in case["alert_rule_test"]:
            name = look["alertname"]
            if look.get("exp_alerts"):
                fired.add(name)
            elif name in fired:
                silent.add(name)
    assert fired == silent == {rule["alert"] for rule in rules()}


def test_each_alert_says_what_to_do():
    for rule in rules():
        name, notes = rule["alert"], rule["annotations"]
        assert rule["labels"]["severity"] in ("warning", "critical"), name
        assert "Next: " in notes["description"], name
        of = "instance" if name == "TidemarkDown" else "pipeline"
        assert f"$labels.{of}" in notes["summary"], name


def test_example_config(tmp_path):
    """With the token's file where this machine has one."""
    text = (PACKAGING / "prometheus/prometheus.yml").read_text(
        encoding="utf-8")
    (tmp_path / "tidemark.rules.yml").write_bytes(RULES.read_bytes())
    (tmp_path / "token").write_text(TOKEN, encoding="ascii")
    config = tmp_path / "prometheus.yml"
    config.write_text(text.replace("/etc/prometheus/tidemark.token",
                                   str(tmp_path / "token")), encoding="utf-8")
    promtool("check", "config", config)
    job = yaml.safe_load(text)["scrape_configs"][0]["job_name"]
    assert any(f'job="{job}"' in rule["expr"] for rule in rules())


class Plain(threading.Thread):
    """A server between: it asks for the form that an old Prometheus reads,
    which the present one never asks for."""

    def __init__(self, client):
        super().__init__(daemon=True)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                code, text = client("/metrics")
                self.send_response(code)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"

    def run(self):
        self.server.serve_forever()


def hasty(text):
    """Rules whose alerts wait for nothing."""
    return re.sub(r"^ +for: .*\n", "", text, flags=re.M)


class Prometheus:
    """One that scrapes each second. `jobs`: the addresses of each. `change`
    makes its rules from those that are shipped."""

    def __init__(self, directory, jobs, token, change=hasty):
        self.dir = directory
        self.dir.mkdir()
        self.process = None
        self.url = f"http://127.0.0.1:{free_port()}"
        (self.dir / "token").write_text(token + "\n", encoding="ascii")
        (self.dir / "rules.yml").write_text(
            change(RULES.read_text(encoding="utf-8")), encoding="utf-8")
        config = {"global": {"scrape_interval": "1s",
                             "evaluation_interval": "1s"},
                  "rule_files": ["rules.yml"],
                  "scrape_configs": [
                      {"job_name": name, "scrape_timeout": "1s",
                       "authorization": {"credentials_file": "token"},
                       "static_configs": [{"targets": addresses}]}
                      for name, addresses in jobs.items()]}
        (self.dir / "prometheus.yml").write_text(yaml.safe_dump(config),
                                                 encoding="utf-8")

    def start(self):
        with open(self.dir / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={self.dir}/prometheus.yml",
                 f"--storage.tsdb.path={self.dir}/data",
                 "--web.listen-address=" + self.url.removeprefix("http://")],
                stdout=log, stderr=log, cwd=self.dir)
        wait_for(self.is_ready, what="Prometheus")
        return self

    def is_ready(self):
        assert self.process.poll() is None, (self.dir / "log").read_text()
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready") as reply:
                return reply.status == 200
        except OSError:
            return False

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def get(self, path, **query):
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url) as reply:
                said = json.loads(reply.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error
        assert said["status"] == "success", said
        return said["data"]

    def query(self, expr):
        """[(labels, value)]"""
        return [(each["metric"], float(each["value"][1]))
                for each in self.get("query", query=expr)["result"]]

    def fired(self, seconds):
        """{(alert, pipeline)} that fired at some time in the last ones."""
        found = self.query("max by (alertname, pipeline) (max_over_time("
                           f'ALERTS{{alertstate="firing"}}[{seconds}s]))')
        return {(each["alertname"], each.get("pipeline"))
                for each, _ in found}

    def alerts(self, job="tidemark"):
        """{(alert, pipeline)} that fire."""
        return {(each["labels"]["alertname"], each["labels"].get("pipeline"))
                for each in self.get("alerts")["alerts"]
                if each["state"] == "firing"
                and each["labels"].get("job") == job}


@pytest.fixture
def prometheus(tmp_path):
    made = []

    def make(client, token=TOKEN):
        plain = Plain(client)
        plain.start()
        made.append(plain.server.shutdown)
        server = Prometheus(tmp_path / "prometheus", {
            "tidemark": [client.url.removeprefix("http://")],
            "plain": [plain.address]}, token)
        made.append(server.stop)
        return server.start()

    yield make
    for end in reversed(made):
        end()


@pytest.fixture
def busy(tidemark, target, make_source):
    """Pipelines to look at: one with dead letters, a backfill and a verified
    window, one that is held, one that is paused, two that fail."""
    tidemark.top["serve"] = {"listen": "127.0.0.1:0", "token": TOKEN}
    source, destination = target("postgres", schedule="every 1s",
                                 verify="window")
    poison_some(source)
    workload.settle(source)
    tables = fill(source, "held", "paused", "broken", "away")
    configure(tidemark, source, destination, tables, schedule="every 1s",
              retry={"attempts": 2, "backoff": "10ms",
                     "breaker": {"failures": 2, "cool_down": "10m"}})
    tidemark.connect("nowhere", f"postgresql://nobody@127.0.0.1:{free_port()}"
                     "/none?sslmode=disable")
    tidemark.pipelines["away"]["source"]["connection"] = "nowhere"
    tidemark.pipelines["held"]["watermark"] = {"strategy": "xmin"}
    tidemark.write_config()
    source.execute("ALTER TABLE broken RENAME TO gone")
    return source, destination


def expressions(job):
    """(title, expression) of each panel, as Grafana asks for all pipelines."""
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    for panel in board["panels"]:
        for each in panel["targets"]:
            expr = each["expr"].replace("$__rate_interval", "1m")
            expr = expr.replace("$pipeline", ".+").replace("$job", job)
            assert "$" not in expr, expr
            yield panel["title"], expr


def loosened(rule):
    """A rule without its threshold: all that it looks at."""
    return re.sub(r"(==|>) [\d.]+", ">= 0", rule["expr"])


def samples(server, job):
    """All that was scraped of a job, without who was asked."""
    return {tuple(sorted((key, value) for key, value in labels.items()
                         if key not in ("job", "instance")))
            for labels, _ in server.query(
                f'{{__name__=~"tidemark_.+", job="{job}"}}')}


def look_at_all(client, server, source):
    """Everything that is asked finds something, in both forms."""
    page = client("/metrics")[1]
    promtool("check", "metrics", input=page)
    for job in ("tidemark", "plain"):
        wait_for(lambda job=job: server.query(f'up{{job="{job}"}}')
                 and server.query(f'up{{job="{job}"}}')[0][1] == 1,
                 what=f"{job} to be scraped")
        for title, expr in expressions(job):
            wait_for(lambda expr=expr: server.query(expr),
                     what=f"series of {title}: {expr}")
        # Without a batch in between a quantile of them is no number.
        source.execute("UPDATE items SET updated_at = now() WHERE id = 1")
        for rule in rules():
            expr = loosened(rule).replace('job="tidemark"', f'job="{job}"')
            wait_for(lambda expr=expr: server.query(expr),
                     what=f"series of {rule['alert']}: {expr}")
    wait_for(lambda: samples(server, "tidemark") == samples(server, "plain"),
             what="the same of both forms")


def ready_to_look(client):
    """All sorts of metrics are there."""
    wanted = {name for _, expr in expressions("x")
              for name in re.findall(r"\btidemark_[a-z_]+", expr)}

    def missing():
        told = {re.split(r"[{ ]", line)[0]
                for line in client("/metrics")[1].splitlines()}
        return wanted - told
    wait_for(lambda: not missing(), what="all metrics")


def test_a_real_prometheus(tidemark, busy, prometheus):
    source, _ = busy
    with source.connect(autocommit=False) as writer:
        writer.execute("UPDATE held SET name = 'not committed' WHERE id = 1")
        running = tidemark.start("serve")
        client = Client(running)
        client.json("/api/v1/pipelines/paused/pause", {"reason": "an index"})
        wait_for(lambda: client.pipeline("items")["dead_letters"] == len(BAD),
                 what="dead letters")
        tidemark("backfill", "items", "--chunk-rows", "50").expect(EXIT_OK)
        ready_to_look(client)
        server = prometheus(client)
        look_at_all(client, server, source)
    numbers = {title: server.query(expr)[0][1]
               for title, expr in expressions("tidemark")}
    assert numbers["Failing"] == 2, numbers
    assert numbers["Paused"] == 1 and numbers["Serve"] == 1, numbers
    assert numbers["Refused rows"] == len(BAD), numbers
    assert {each["health"] for group in server.get("rules")["groups"]
            for each in group["rules"]} == {"ok"}
    wait_for(lambda: {("TidemarkFailing", "broken"),
                      ("TidemarkFailing", "away"),
                      ("TidemarkBreakerOpen", "away"),
                      ("TidemarkErrorRate", "broken"),
                      ("TidemarkDeadLetters", "items")} <= server.alerts(),
             what="alerts")
    assert not any(name in ("TidemarkDown", "TidemarkDifferences")
                   or pipeline in ("held", "paused")
                   for name, pipeline in server.alerts())
    source.execute("ALTER TABLE gone RENAME TO broken")
    wait_for(lambda: ("TidemarkFailing", "broken") not in server.alerts(),
             what="the alert to clear")
    assert ("TidemarkFailing", "away") in server.alerts()
    stop(running)
    wait_for(lambda: ("TidemarkDown", None) in server.alerts(),
             what="the word that nobody answers")

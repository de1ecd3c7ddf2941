"""Bad days of `tidemark serve`: two of them share many tables with writers.
They are killed and stopped, and so are the servers of a source, of the
destination and of the state store. Their counters are compared with the ledger,
and their notifications with what happened. A real Prometheus looks on."""

import random
import re
import time

import psycopg
import pytest

import ends
import oracle
import workload
from bench import EXIT_STOPPED, items_settings, written
from crowd import TOKEN, Crowd, Ledger, check_counters, check_dead
from servers import wait_for
from test_prometheus import Prometheus
from test_serve_http import Client
from test_serve_notify import Receiver

STRATEGIES = ("timestamp", "xmin", "sequence")
AWAY = ("away0", "away1", "away2")
BATCH = 20
MOST = 8 * BATCH  # as batches grow
RETRY = {"attempts": 2, "backoff": "10ms",
         "breaker": {"failures": 3, "cool_down": "3s"}}
EVENTS = ("failed", "late", "recovered")
# The alerts that bad days are for; no other one may fire.
EXPECTED = {"TidemarkDown", "TidemarkFailing", "TidemarkBehind",
            "TidemarkBreakerOpen", "TidemarkErrorRate"}
# A soak is shorter than the times that the shipped rules wait for.
SHORTER = {"for: 15m": "for: 3s", "for: 5m": "for: 2s", "for: 1m": "for: 1s",
           "[1h]": "[10s]", "[15m]": "[15s]", "[2m]": "[4s]"}


class Writers(workload.Writers):
    """They go on when their server is there again."""

    def _work(self, seed):
        while not self.stopping.is_set():
            super()._work(seed)
            with self.lock:
                self.errors = [each for each in self.errors if not isinstance(
                    each, psycopg.OperationalError)]
            self.stopping.wait(0.1)


class Day:
    """The servers, the crowd, and what may happen to them."""

    def __init__(self, tidemark, servers, make_client, seed):
        self.chance, self.servers = random.Random(seed), servers
        self.crowd = Crowd(tidemark, make_client)
        self.deck = []

    def rest(self, low, high):
        time.sleep(self.chance.uniform(low, high))

    def any(self):
        return self.chance.randrange(len(self.crowd.members))

    def kill_serve(self):
        i = self.any()
        self.crowd.kill(i)
        self.rest(0, 2)
        self.crowd.begin(i)

    def stop_serve(self):
        self.crowd.stop_for_a_while(self.any(), self.chance.uniform(0.5, 5))

    def kill_server(self, name):
        self.servers[name].kill()
        if name == "state":
            self.crowd.note_outage()
        self.rest(0.1, 4)
        self.servers[name].start()
        self.crowd.done[f"kills of {name}"] += 1

    def happen(self):
        """The next bad thing: all of them come before one comes again."""
        if not self.deck:
            self.deck = [self.kill_serve, self.stop_serve]
            self.deck += [lambda name=name: self.kill_server(name)
                          for name in self.servers]
            self.chance.shuffle(self.deck)
        self.deck.pop()()


def shorten(text):
    for long, short in SHORTER.items():
        assert long in text, long
        text = text.replace(long, short)
    left = re.findall(r"for: \d+[mh]|\[\d+[mh]\]", text)
    assert not left, left
    return text


def configure(tidemark, source, away, destination, tables, hook, full):
    tidemark.top["state"] = {**tidemark.store.connection(), "lease": "3s"}
    tidemark.top["notify"] = [{"webhook": hook.url, "on": list(EVENTS)}]
    for name, end in (("source", source), ("away", away),
                      ("warehouse", destination)):
        tidemark.connect(name, end.connection())
    for i, table in enumerate((*tables, *AWAY)):
        terms = items_settings(
            source, destination, STRATEGIES[i % 3], table=table,
            batch={"rows": BATCH}, retry=RETRY,
            schedule="every 3s" if full else "every 1s",
            alert={"late": "30s" if full else "8s"})
        if table in AWAY:
            terms["source"]["connection"] = "away"
        tidemark.pipeline(table, **terms)
    tidemark.write_config()


def bad_hour(day, seconds):
    """Every bad thing at least once."""
    end, happened = time.monotonic() + seconds, 0
    while time.monotonic() < end or happened < len(day.servers) + 2:
        day.rest(0.3, 1.5)
        day.happen()
        happened += 1
        day.crowd.look()


def wait_well(crowd, names):
    for member in crowd.members:
        wait_for(lambda member=member: member.client.json(
            "/api/v1/pipelines?brief=1")["summary"]["ok"] == len(names),
            what="all of them to be well")


def every_alert(day, prometheus, hook, names):
    """Each for its own reason; who serves at the end saw the store stay."""
    crowd, servers = day.crowd, day.servers

    def fires(alert, *pipelines):
        wait_for(lambda: {(alert, each) for each in pipelines or (None,)}
                 <= prometheus.alerts(), what=f"{alert} to fire")
    wait_well(crowd, names)
    crowd.note_outage()
    servers["state"].kill()
    crowd.wait_ready(503)
    for member in crowd.members:
        assert member.client.metrics()["tidemark_store_up"] == 0
    fires("TidemarkBehind", "t00")
    servers["state"].start()
    crowd.wait_ready(200)
    crowd.look()
    for i in range(len(crowd.members)):
        crowd.kill(i)
    fires("TidemarkDown")
    crowd.begin_all()
    servers["away"].kill()
    wait_for(lambda: all(hook.events(each)[-1:] == ["failed"]
                         for each in AWAY), what="the word that they fail")
    for alert in ("TidemarkFailing", "TidemarkErrorRate",
                  "TidemarkBreakerOpen"):
        fires(alert, *AWAY)
    servers["away"].start()
    crowd.look()


def check_well(day, prometheus, hook, names):
    """Everybody says so, and nobody but those who have reason to."""
    wait_well(day.crowd, names)
    for name in names:
        wait_for(lambda name=name: hook.events(name)[-1:] in (
            [], ["recovered"]), what=f"the word that {name} works")
    wait_for(lambda: not prometheus.get("alerts")["alerts"],
             what="all alerts to clear")


def come_to_rest(day, ledger, names):
    client = day.crowd.members[0].client
    for name in names:
        client.json(f"/api/v1/pipelines/{name}/pause", {})
    wait_for(lambda: all(member.client.json("/api/v1/pipelines?brief=1")
                         ["summary"]["paused"] == len(names)
                         for member in day.crowd.members), what="the pause")
    wait_for(lambda: not ledger.at_work(), what="the last runs to end")
    day.crowd.look()


def check_metrics(day, ledger, prometheus):
    """How many figures were the same to the row."""
    sums, exact = ledger.sums(), 0
    for member in day.crowd.dead:
        check_dead(member, sums)
    for address, member in zip(day.crowd.addresses, day.crowd.members):
        member.look()
        exact += check_counters(member, sums, MOST)
        of = f'{{instance="{address}"}}'
        for name in ("tidemark_rows_read_total", "tidemark_batches_total"):
            told = sum(value for (_, each), value in member.told.items()
                       if each == name)
            wait_for(lambda name=name, of=of, told=told: prometheus.query(
                f"sum({name}{of})")[0][1] == told, what=f"the scrape of {name}")
    assert exact > 0
    return exact


def check_told(hook, ledger, names):
    """Each change once. How many were told again: a killed process may not have
    come to note that it told."""
    attempts = ledger.attempts()
    outcomes = {"failed": ("failed",), "recovered": ("caught_up", "stopped")}
    again = 0
    for name in names:
        last = "recovered"
        for each in hook.told:
            if each["pipeline"] != name:
                continue
            again += each["event"] == last
            last = each["event"]
            if last in outcomes:
                pipeline, outcome = attempts[each["attempt_id"]][:2]
                assert pipeline == name, each
                assert outcome in outcomes[last], (outcome, each)
    return again


def check_alerts(day, prometheus, ledger, seconds):
    fired = prometheus.fired(seconds)
    assert {alert for alert, _ in fired} == EXPECTED, fired
    failed = {pipeline for pipeline, outcome, _ in ledger.attempts().values()
              if outcome == "failed"}
    assert {pipeline for alert, pipeline in fired
            if alert == "TidemarkFailing"} <= failed


def check_ends(tidemark, pairs, destination):
    tidemark.run("--wait", "60s")
    for result in tidemark.run("--wait", "60s").json()["pipelines"]:
        assert written(result) == 0, result
    for end_of, names in pairs:
        for table in names:
            oracle.check_equal(end_of, destination, table,
                               f"{destination.schema}.{table}", oracle.ITEMS,
                               pipeline=table, leftovers=False)
    oracle.check_leftovers(destination)


@pytest.fixture
def prometheus(tmp_path):
    made = []

    def make(addresses):
        made.append(Prometheus(tmp_path / "prometheus",
                               {"tidemark": addresses}, TOKEN, shorten))
        return made[-1].start()
    yield make
    for each in made:
        each.stop()


@pytest.mark.threads
@pytest.mark.timeout(1800)
def test_bad_days(tidemark, own_cluster, source, prometheus, full,
                  record_property):
    seconds, begun = 600 if full else 8, time.monotonic()
    tables = [f"t{i:02}" for i in range(47 if full else 12)]
    servers = {name: own_cluster() for name in ("away", "warehouse", "state")}
    for name, server in servers.items():
        server.create_database(name)
    away, destination, tidemark.store = (
        ends.PostgresEnd(server, name) for name, server in servers.items())
    pairs = ((source, tables), (away, AWAY))
    for end, names in pairs:
        for table in names:
            workload.create_items(end, table, 50)
    names, hook, ledger = [*tables, *AWAY], Receiver(), Ledger(tidemark)
    configure(tidemark, source, away, destination, tables, hook, full)
    day = Day(tidemark, servers, Client, 7)
    day.crowd.begin_all()
    watcher = prometheus(day.crowd.addresses)
    with Writers(source, tables, threads=2) as writers, \
            Writers(away, AWAY, threads=1, seed=2):
        bad_hour(day, seconds)
        every_alert(day, watcher, hook, names)
    for each in (source, away):
        workload.settle(each)
    check_well(day, watcher, hook, names)
    come_to_rest(day, ledger, names)
    exact = check_metrics(day, ledger, watcher)
    tidemark("resume", *names).expect(0)
    for done in day.crowd.end():
        assert done.code == EXIT_STOPPED, done
    check_ends(tidemark, pairs, destination)
    again = check_told(hook, ledger, names)
    assert again <= day.crowd.done["kills of serve"]
    check_alerts(day, watcher, ledger, int(time.monotonic() - begun))
    record_property("figures", f"{len(names)} tables, {seconds} s: "
                    f"{writers.figures()}; {dict(day.crowd.done)}, "
                    f"{len(hook.told)} notifications, {again} of them twice, "
                    f"{exact} figures as in the ledger")

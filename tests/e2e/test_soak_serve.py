"""Bad days of `tidemark serve`: two of them share many tables with writers,
and are killed, stopped and cut off from one of their servers."""

import random
import signal
import time

import pytest

import ends
import oracle
import workload
from bench import items_settings, written
from servers import wait_for
from test_serve_http import TOKEN, Client
from test_serve_notify import Receiver

STRATEGIES = ("timestamp", "xmin", "sequence")
AWAY = ("away0", "away1", "away2")
SHORT = {"attempts": 2, "backoff": "10ms"}


class Crowd:
    """Two serves, one of which is begun anew when it was killed."""

    def __init__(self, tidemark):
        self.tidemark = tidemark
        self.running = [self.begin(), self.begin()]
        self.kills = self.stops = 0

    def begin(self):
        return self.tidemark.start("serve", "--jobs", "4")

    def kill(self, chance):
        i = chance.randrange(len(self.running))
        assert self.running[i].alive(), self.running[i].wait()
        self.running[i].kill()
        self.running[i].wait()
        self.running[i] = self.begin()
        self.kills += 1

    def stop_for_a_while(self, chance):
        one = chance.choice(self.running)
        one.signal(signal.SIGSTOP)
        time.sleep(chance.uniform(0.5, 4))
        one.signal(signal.SIGCONT)
        self.stops += 1

    def end(self):
        for one in self.running:
            one.signal(signal.SIGTERM)
            one.wait()


def configure(tidemark, source, away, destination, tables, hook):
    tidemark.top["serve"] = {"listen": "127.0.0.1:0", "token": TOKEN}
    tidemark.top["state"] = {**tidemark.store.connection(), "lease": "3s"}
    tidemark.top["notify"] = [{"webhook": hook.url,
                               "on": ["failed", "recovered"]}]
    for name, end in (("source", source), ("away", away),
                      ("warehouse", destination)):
        tidemark.connect(name, end.connection())
    for i, table in enumerate((*tables, *AWAY)):
        terms = items_settings(source, destination, STRATEGIES[i % 3],
                               table=table, batch={"rows": 20}, retry=SHORT,
                               schedule="every 1s")
        if table in AWAY:
            terms["source"]["connection"] = "away"
        tidemark.pipeline(table, **terms)
    tidemark.write_config()


def events_of(hook, pipeline):
    return [each["event"] for each in hook.told
            if each["pipeline"] == pipeline]


@pytest.mark.threads
def test_bad_days(tidemark, own_cluster, source, make_destination,
                  make_database, full, record_property):
    seconds, chance = 600 if full else 12, random.Random(7)
    tables = [f"t{i:02}" for i in range(47 if full else 12)]
    server = own_cluster()
    server.create_database("data")
    away = ends.PostgresEnd(server, "data")
    destination = make_destination("postgres")
    tidemark.store = make_database("state")
    for end, names in ((source, tables), (away, AWAY)):
        for table in names:
            workload.create_items(end, table, 50)
    hook = Receiver()
    configure(tidemark, source, away, destination, tables, hook)
    crowd = Crowd(tidemark)
    with workload.Writers(source, tables, threads=2) as writers:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(chance.uniform(0.5, 2))
            crowd.kill(chance)
            crowd.stop_for_a_while(chance)
            server.stop("immediate")
            time.sleep(chance.uniform(0.1, 3))
            server.start()
    server.stop("immediate")
    wait_for(lambda: all("failed" in events_of(hook, each) for each in AWAY),
             what="the word that they fail")
    server.start()
    for table in AWAY:
        workload.fill_items(away, 51, 80, stamp="now()", table=table)
    for each in (source, away):
        workload.settle(each)
    wait_for(lambda: all(events_of(hook, each)[-1] == "recovered"
                         for each in AWAY), what="the word that they work")
    client = Client(crowd.running[0])
    wait_for(lambda: client.json("/api/v1/pipelines")["summary"]["ok"]
             == len(tables) + len(AWAY), what="all of them to be well")
    crowd.end()
    tidemark.run("--wait", "60s")
    for result in tidemark.run("--wait", "60s").json()["pipelines"]:
        assert written(result) == 0, result
    for end_of, names in ((source, tables), (away, AWAY)):
        for table in names:
            oracle.check_equal(end_of, destination, table,
                               f"{destination.schema}.{table}", oracle.ITEMS,
                               pipeline=table, leftovers=False)
    oracle.check_leftovers(destination)
    record_property("figures", f"{len(tables)} tables, {seconds} s: "
                    f"{writers.figures()}; {crowd.kills} kills, "
                    f"{crowd.stops} stops, {len(hook.told)} notifications")

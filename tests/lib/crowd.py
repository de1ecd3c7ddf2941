"""Several `tidemark serve` on one state store that are killed, stopped and begun
anew; what each of them counted, and the ledger's word on it."""

import collections
import os
import shutil
import signal
import time

from servers import free_port, wait_for
from state import StateStore

TOKEN = "a-token-of-thirty-two-characters"
# Counters, and the columns of the ledger that they are the sums of.
COUNTED = {
    "tidemark_batches_total": "batches",
    "tidemark_rows_read_total": "rows_read",
    "tidemark_rows_total/inserted": "rows_inserted",
    "tidemark_rows_total/updated": "rows_updated",
    "tidemark_rows_total/unchanged": "rows_unchanged",
    "tidemark_batch_seconds_count": "batches",
}
ENDED = {
    "tidemark_runs_total/caught_up": "caught_up",
    "tidemark_runs_total/failed": "failed",
    "tidemark_retries_total": "retried",
}
# Ended by others: its last batch may not be on record.
LOST = "error_code IN ('killed', 'lost') OR outcome = 'busy'"


def counters(metrics):
    """{(pipeline, name): value}, of those that the ledger knows. Retries are
    summed, whatever their class."""
    found = collections.Counter()
    for text, value in metrics.items():
        name, _, rest = text.partition("{")
        labels = dict(part.split("=", 1) for part in
                      rest.rstrip("}").replace('"', "").split(",") if part)
        op = labels.get("op") or labels.get("outcome")
        whole = f"{name}/{op}" if op else name
        if whole in COUNTED or whole in ENDED:
            found[labels["pipeline"], whole] += value
    return found


class Ledger:
    """The attempts in a state store, by process and pipeline."""

    def __init__(self, tidemark):
        self.store = StateStore(tidemark, tidemark.store)

    def sums(self):
        """{(pid, pipeline): {column: sum}}"""
        columns = sorted(set(COUNTED.values()))
        outcomes = sorted(ENDED.values())
        said = ", ".join([f"sum({name})" for name in columns] +
                         [f"sum(CASE WHEN outcome = '{name}' THEN 1 ELSE 0 "
                          "END)" for name in outcomes] +
                         [f"sum(CASE WHEN {LOST} THEN 1 ELSE 0 END)"])
        names = [*columns, *outcomes, "lost"]
        return {(pid, pipeline): dict(zip(names, map(int, values)))
                for pid, pipeline, *values in self.store.query(
                    f"SELECT pid, pipeline, {said} FROM {{t}}attempts "
                    "GROUP BY pid, pipeline")}

    def at_work(self):
        """Runs that go on, and are not held."""
        return self.store.query("SELECT count(*) FROM {t}attempts WHERE "
                                "state = 'RUNNING' AND paused IS NULL")[0][0]

    def attempts(self):
        """{attempt_id: (pipeline, outcome, error_code)}"""
        return {each: rest for each, *rest in self.store.query(
            "SELECT attempt_id, pipeline, outcome, error_code "
            "FROM {t}attempts")}


class Member:
    """One process. `outages`: how often its state store was killed."""

    def __init__(self, running, client):
        self.running, self.client = running, client
        self.told = collections.Counter()
        self.outages = 0

    @property
    def pid(self):
        return self.running.process.pid

    def look(self):
        """No counter ever goes back."""
        now = counters(self.client.metrics())
        back = {key: (value, now[key]) for key, value in self.told.items()
                if now[key] < value}
        assert not back, f"counters went back: {back}"
        self.told = now

    def alive(self):
        assert self.running.alive(), self.running.wait()


class Crowd:
    """Processes at an address each. `make_client` asks one."""

    def __init__(self, tidemark, make_client, size=2):
        self.tidemark, self.make_client = tidemark, make_client
        self.addresses = [f"127.0.0.1:{free_port()}" for _ in range(size)]
        self.members, self.dead = [None] * size, []
        self.done = collections.Counter()
        for i, address in enumerate(self.addresses):
            tidemark.top["serve"] = {"listen": address, "token": TOKEN}
            tidemark.write_config()
            shutil.copy(tidemark.config, self.config(i))

    def config(self, i):
        return os.path.join(self.tidemark.dir, f"serve{i}.yaml")

    def begin(self, i):
        running = self.tidemark.start("-c", self.config(i), "serve",
                                      "--jobs", "4")
        self.members[i] = Member(running, self.make_client(running))

    def begin_all(self):
        for i in range(len(self.members)):
            self.begin(i)

    def kill(self, i):
        """Its last word is kept."""
        member = self.members[i]
        member.alive()
        member.look()
        member.running.kill()
        self.dead.append(member)
        self.done["kills of serve"] += 1

    def stop_for_a_while(self, i, seconds):
        member = self.members[i]
        member.alive()
        member.running.signal(signal.SIGSTOP)
        time.sleep(seconds)
        member.running.signal(signal.SIGCONT)
        self.done["stops of serve"] += 1

    def note_outage(self):
        for member in self.members:
            member.outages += 1

    def look(self):
        for member in self.members:
            member.alive()
            member.look()

    def wait_ready(self, code):
        for member in self.members:
            wait_for(lambda member=member: member.client("/readyz")[0] == code,
                     what=f"/readyz to say {code}")

    def end(self):
        for member in self.members:
            member.running.signal(signal.SIGTERM)
        return [member.running.wait() for member in self.members]


def check_counters(member, sums, most):
    """A process at rest told what the ledger has. For each run that another
    process had to close, a batch of `most` rows may be missing there. So may the
    last ones before the store's server was killed: the store does not wait for
    its disk. Returns how many figures were the same to the row."""
    exact = 0
    for (pipeline, name), told in member.told.items():
        has = sums.get((member.pid, pipeline), collections.Counter())
        column = COUNTED.get(name) or ENDED[name]
        where = (member.pid, pipeline, name, told, dict(has))
        assert member.outages or column != "caught_up" or \
            told == has[column], where
        if name in COUNTED:
            assert told >= has[column], where
            assert member.outages or told <= has[column] + has["lost"] * most, \
                where
        elif column == "failed":
            # A run that its breaker ends at once leaves no trace.
            assert told >= has[column] - has["lost"], where
        exact += told > 0 and told == has[column]
    return exact


def check_dead(member, sums):
    """The last word of a process that was killed is on record, if the store
    stayed."""
    for (pipeline, name), told in member.told.items():
        has = sums.get((member.pid, pipeline), collections.Counter())
        column = COUNTED.get(name) or ENDED[name]
        assert member.outages or column == "failed" or told <= has[column], (
            member.pid, pipeline, name, told, dict(has))

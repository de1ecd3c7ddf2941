"""Servers that lie to each command that listens to them, and to BigQuery's
answers value by value."""

import json
import random

import pytest

from prey import LIES, TALKERS, Results, cast

COMMANDS = ("check", "verify", "status", "copy", "init", "grants")
NOBODY = 1 << 30  # the number of no answer


def some(n, full, at):
    """Indexes of n answers: all, or two that differ from command to command."""
    return range(n) if full else sorted({at % n, (at + n // 2) % n})


@pytest.mark.parametrize("engine, part", TALKERS)
def test_each_command(prey, full, engine, part):
    """After an honest run, so that there is something to be told of."""
    results = Results(None, NOBODY)
    lie = getattr(results, {"mariadb": "mysql"}.get(engine, engine))
    it = prey(lie, silence="60s", **cast(engine, part))
    it.run()
    told = {}
    for at, name in enumerate(COMMANDS):
        if part == "state" and name in ("copy", "init"):
            continue  # they take no state by these URLs
        results.only = NOBODY
        results.begin()
        done = it.run(*it.command(name))
        heard = results.n + 1
        told[name] = (heard, done.code)
        for i, n in enumerate(some(heard, full, at) if heard else ()):
            results.only, results.alter = n, LIES[(at + i) % len(LIES)]
            results.begin()
            it.run(*it.command(name))
            it.loaded()
    assert sum(heard for heard, _ in told.values()) > 5, (told, done)


# Instead of a value of an answer of BigQuery's.
REPLACEMENTS = {
    "missing": None, "null": None, "huge": "9" * 40,
    "negative": "-9223372036854775809", "list": [[], [{}]],
    "object": {"v": {"f": [{"v": "1"}]}}, "number": 1e308, "true": True,
    "text": "');\nDROP TABLE `x`; --", "empty": "",
}


class Leaves:
    """One value of one answer is another: which one says the random number,
    drawn from those that were last seen."""

    def __init__(self):
        self.at, self.kind, self.seen = NOBODY, "null", 0

    def begin(self, at, kind):
        self.at, self.kind, self.seen = at, kind, 0

    def __call__(self, _, body):
        try:
            answer = json.loads(body)
        except ValueError:
            return body
        return json.dumps(self.walk(answer)).encode()

    def walk(self, value):
        if isinstance(value, list):
            return [self.walk(each) for each in value]
        if not isinstance(value, dict):
            return value
        out = {}
        for key, each in value.items():
            self.seen += 1
            if self.seen - 1 != self.at:
                out[key] = self.walk(each)
            elif self.kind != "missing":
                out[key] = REPLACEMENTS[self.kind]
        return out


@pytest.mark.parametrize("kind", REPLACEMENTS)
@pytest.mark.parametrize("part", ("source", "warehouse"))
def test_values_of_bigquery(prey, full, part, kind):
    """Values of jobs, statistics, tables, INFORMATION_SCHEMA and rows are
    missing, of another type, or greater than any number."""
    leaves = Leaves()
    it = prey(leaves, silence="60s", **cast("bigquery", part))
    pick = random.Random(f"{part} {kind}")
    for command in ("run", "check"):
        leaves.begin(NOBODY, kind)
        it.run(command, "--json")
        for _ in range(60 if full else 2):
            leaves.begin(pick.randrange(max(1, leaves.seen)), kind)
            it.run(command, "--json")
            it.loaded()

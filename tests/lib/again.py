"""Tests that failed are run again, alone, once all suites have ended.

Two cores carry up to nine tests at a time. A test that takes its patience
from the clock can fail there although nothing is wrong. Such a test passes
TIMES times in a row on a machine with nothing else to do. It is then reported
as unsteady, by its name and with its first output, and does not fail the run.
Someone has to mend it: no test may depend on how busy the machine is.

Some failures are never unsteady: what a sanitizer reports, and all failures of
the suites that look for races and lost rows. More than MOST failures have a
cause that is not the machine. A suite that somebody runs alone is not run again.
"""

import json
import re
import sys
import types

TIMES = 3
MOST = 5
SUITES = {"e2e", "faults", "contract", "unit"}
REPORT = re.compile(r"(Address|Leak|Thread|UndefinedBehavior)Sanitizer"
                    r"|runtime error: ")
GROUP = re.compile(r"@[^@\]:]*$")


def failed_programs(log):
    """The programs that failed, by meson's log of a run: a line of JSON each."""
    if not log.exists():
        return []
    lines = map(json.loads, log.read_text(errors="replace").splitlines())
    return [re.sub(r"^.* / ", "", line["name"]) for line in lines
            if line["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")]


def failed_tests(list_of_failed):
    """The tests that failed, as pytest names them; xdist adds their group."""
    return (failed_names(list_of_failed.read_text())
            if list_of_failed.exists() else [])


def failed_names(text):
    return [GROUP.sub("", name) for name in text.splitlines()]


def may_be_unsteady(suites):
    failed = [suite for suite in suites if suite.tally.failed]
    return (bool(failed) and not any(suite.stream for suite in suites) and
            all(suite.name in SUITES and suite.failed and not suite.stopped
                for suite in failed) and
            sum(len(suite.failed) for suite in failed) <= MOST and
            not any(REPORT.search(suite.log.read_text(errors="replace"))
                    for suite in failed))


def run_again(suites):
    """True, if each failed test of these suites passes TIMES times."""
    if not may_be_unsteady(suites):
        return False
    for suite in suites:
        for name in list(suite.failed) if suite.tally.failed else []:
            print(f"again, alone: {suite.name}: {name}", flush=True)
            for _ in range(TIMES):
                if suite.run_alone(name) != 0:
                    print("  failed again", flush=True)
                    return False
    return True


class Planted:
    """A suite that has run, as the runner has it."""

    def __init__(self, name, failed, log="", codes=()):
        self.name, self.failed, self.codes = name, failed, list(codes)
        self.stream = self.stopped = False
        self.tally = types.SimpleNamespace(failed=len(failed))
        self.log = types.SimpleNamespace(read_text=lambda errors: log)

    def run_alone(self, _):
        return self.codes.pop(0)


def self_test():
    """Planted failures: which are forgiven?"""
    assert failed_names("a.py::t[x-y]@g\na.py::t[a@b]\n") == \
        ["a.py::t[x-y]", "a.py::t[a@b]"]
    passes = [0] * TIMES
    assert run_again([Planted("e2e", ["a"], codes=passes),
                      Planted("crash", [])])
    assert not run_again([Planted("e2e", ["a"], codes=passes[1:] + [1])])
    for suite in (Planted("crash", ["a"]), Planted("thread", ["a"]),
                  Planted("unit", ["a"], "ERROR: AddressSanitizer: leak"),
                  Planted("unit", ["a"], "a.c:1: runtime error: shift"),
                  Planted("e2e", ["a"] * (MOST + 1)), Planted("e2e", [])):
        assert not may_be_unsteady([suite]), vars(suite)
    print("again: all planted failures are judged rightly")


if __name__ == "__main__":
    sys.exit(self_test())

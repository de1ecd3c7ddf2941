"""Tests that failed are run again, alone, once all suites have ended.

Two cores carry up to twelve tests at a time. A test that takes its patience
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
    if not list_of_failed.exists():
        return []
    return [GROUP.sub("", name)
            for name in list_of_failed.read_text().splitlines()]


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


def self_test():
    assert GROUP.sub("", "e2e/test_a.py::test_b[x-y]@g") == \
        "e2e/test_a.py::test_b[x-y]"
    assert GROUP.sub("", "e2e/test_a.py::test_b[a@b]") == \
        "e2e/test_a.py::test_b[a@b]"
    assert REPORT.search("==1==ERROR: AddressSanitizer: heap-use-after-free")


if __name__ == "__main__":
    sys.exit(self_test())

"""The crash suite's server writes to disk as a real one does. At the end the
suite fails if there is a failpoint that no case reached: it tests nothing.
"""

import collections

import pytest

import failpoints
from servers import Cluster

reached = collections.defaultdict(list)
missed = collections.defaultdict(list)


@pytest.fixture(scope="session")
def cluster():
    server = Cluster("crash", fsync=True).create().start().prepare()
    yield server
    server.remove()


def pytest_runtest_logreport(report):
    """Runs where the reports come together, also when workers made them."""
    if report.when == "call":
        for name, (failpoint, case, hit) in report.user_properties:
            if name == "failpoint":
                (reached if hit else missed)[failpoint].append(case)


def never_reached():
    """Failpoints whose every case was run and that none reached."""
    expected = collections.Counter(
        case[0] for case in failpoints.cases(full=False))
    return [name for name in failpoints.failpoints() if not reached[name]
            and len(missed[name]) >= expected[name]]


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == 0 and never_reached():
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    for name in sorted(missed):
        terminalreporter.write_line(
            f"{name}: reached in {len(reached[name])} cases, not in "
            f"{len(missed[name])}: {' '.join(missed[name][:12])}")
    for name in never_reached():
        terminalreporter.write_line(f"FAILED no case reaches {name}")

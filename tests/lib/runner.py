"""tests/run, once everything is installed: build, run the suites, add up, and
close with `N passed, N failed, N skipped`.

Tests often wait: for servers, for marks to settle, for leases to end. So more
of them run at a time than there are cores. PLACES says how many, from as many
suites as that takes, while the builds of later suites go on. With many more than
four a core the whole ends no sooner, and tests fail for want of time. A suite
alone shows its output as it comes. Several suites show one line each, and the
whole output of failed ones.
"""

import argparse
import collections
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor

import again
import builds

TESTS = pathlib.Path(__file__).resolve().parents[1]
FUZZ_SECONDS = 5  # as many tries as three seconds of -O1
FUZZ_FULL_SECONDS = 60
# Twice what the suites were seen to hold at once.
SCRATCH_BYTES = 4 << 30

# As meson has it; with less of what was freed kept aside, for a process as big
# as that is slow to fork.
SANITIZER = ("halt_on_error=1:abort_on_error=1:print_summary=1"
             ":quarantine_size_mb=16")
STOPPED = 130
MOST_PLACES = 13
PLACES = min(MOST_PLACES, 4 * (os.cpu_count() or 1) + 1)

# For each suite, how many of its tests run at a time where there are
# MOST_PLACES, and the builds it needs. Suites begin in this order, the long
# ones first. e2e has more than half of the work, and so of the places. With
# fewer it would end alone, beside empty places.
SUITES = {
    "e2e": (7, {"plain", "failpoints"}),
    "crash": (3, {"failpoints"}),
    "faults": (3, {"plain", "failpoints", "sanitize"}),
    "contract": (3, {"sanitize"}),
    "packages": (2, {"plain"}),
    "airflow": (1, {"plain", "failpoints"}),
    "idempotency": (3, {"plain"}),
    "fidelity": (3, {"plain"}),
    "thread": (2, {"thread"}),
    "browser": (3, {"plain"}),
    "unit": (1, {"sanitize"}),
    "fuzz": (1, {"fuzz"}),
}
# The contract suite's programs that take long are begun first.
SLOW_PROGRAMS = ("destination clickhouse", "destination duckdb",
                 "destination bigquery", "destination postgres",
                 "destination mysql", "destination mariadb",
                 "connector mysql")
# The thread sanitizer cannot look into DuckDB's module, which is not built with
# it.
THREAD_SELECTION = "postgres or sqlite or test_jobs"


class Tally:
    """How many tests did what, and what was skipped or failed."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.reasons = collections.Counter()
        self.failures = []
        self.unsteady = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.reasons.update(other.reasons)
        self.failures += other.failures

    def fail(self, name):
        self.failed += 1
        self.failures.append(name)

    def skip(self, reason):
        self.skipped += 1
        self.reasons[reason] += 1

    def forgive(self):
        """Count failures beside other tests as passed, once they have passed
        alone."""
        self.unsteady += self.failures
        self.passed += self.failed
        self.failed, self.failures = 0, []

    def case(self, element):
        name = f"{element.get('classname', '')}.{element.get('name')}"
        skipped = element.find("skipped")
        if element.find("failure") is not None or \
                element.find("error") is not None:
            self.fail(name)
        elif skipped is not None:
            self.skip(skipped.get("message") or f"{name} says no reason")
        else:
            self.passed += 1

    def junit(self, path):
        """Add a JUnit file; False if the suite did not write one."""
        if not path.exists():
            return False
        for element in xml.parse(path).iter("testcase"):
            self.case(element)
        return True

    def line(self):
        return (f"{self.passed} passed, {self.failed} failed, "
                f"{self.skipped} skipped" +
                (f", {len(self.unsteady)} unsteady" if self.unsteady else ""))


class Suite:
    """One suite's run: its output goes to a log, or straight through."""

    def __init__(self, name, options, scratch, stream):
        self.name, self.options, self.stream = name, options, stream
        share, self.builds = SUITES[name]
        self.places = max(1, round(share * PLACES / MOST_PLACES))
        self.scratch = scratch / name
        self.scratch.mkdir()
        self.log = self.scratch / "log"
        self.tally = Tally()
        self.failed = []  # as run_alone() takes them
        self.processes = []
        self.stopped = False
        self.lock = threading.Lock()
        # All that a suite makes lies in one place, to be found afterwards.
        self.env = dict(os.environ, TMPDIR=str(scratch), PYTHONUNBUFFERED="1")

    def execute(self, command, env=None, **more):
        """Run one command of the suite; its exit status is returned."""
        if self.stopped:
            return STOPPED
        with open(self.log, "ab") as log:
            sink = {} if self.stream else {"stdout": log, "stderr": log}
            process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL,
                env={**self.env, **(env or {})}, **sink, **more)
            self.processes.append(process)
            return process.wait()

    def run(self):
        runner = {"unit": self.run_unit, "contract": self.run_contract,
                  "fuzz": self.run_fuzz}.get(self.name, self.run_pytest)
        status = runner()
        ran = self.tally.passed + self.tally.failed + self.tally.skipped
        if ran == 0 and not self.options.k:
            self.tally.fail(f"{self.name} has run nothing")
        if status != 0 and self.tally.failed == 0:
            self.tally.fail(f"{self.name} ended with status {status}")
        return self.tally

    def run_meson(self, names, log_name=None, env=None, case=None):
        """Some of the suite's cmocka programs, under ASan and UBSan; or only
        the cases of one whose names match a pattern."""
        directory = builds.BUILDS / "sanitize"
        log_name = log_name or self.name
        junit = directory / f"meson-logs/{log_name}.junit.xml"
        junit.unlink(missing_ok=True)
        env = {"ASAN_OPTIONS": SANITIZER, **(env or {})}
        status = self.execute(["meson", "test", "-C", directory, "--no-rebuild",
                               "--logbase", log_name, "--print-errorlogs",
                               "--timeout-multiplier", "4",
                               "--suite", self.name,
                               *(["--test-args", shlex.quote(case)] if case
                                 else []), *names], env)
        with self.lock:
            self.tally.junit(junit)
            if not case:
                self.failed += again.failed_programs(
                    directory / f"meson-logs/{log_name}.json")
        return status

    def meson_names(self):
        return [test["name"] for test in builds.tests("sanitize", self.name)]

    def run_unit(self):
        names = [name for name in self.meson_names()
                 if builds.holds(name, self.options.k)]
        return self.run_meson(names) if names else 0

    def run_contract(self):
        """Some programs at a time, because they wait for servers."""
        import contract  # and with it what talks to servers
        programs = contract.chosen(self.options.k, self.meson_names())
        names = sorted(programs, key=lambda name: (
            SLOW_PROGRAMS.index(name) if name in SLOW_PROGRAMS
            else len(SLOW_PROGRAMS)))

        def run_program(name):
            with contract.server(name) as env:
                statuses = [self.run_meson([name], contract.log_name(name),
                                           env, case)
                            for case in programs[name] or [None]]
                return max(statuses, key=abs)

        self.run_program = run_program
        with ThreadPoolExecutor(self.places) as pool:
            every = list(pool.map(run_program, names))
        return next((status for status in every if status != 0), 0)

    def run_fuzz(self):
        """Each libFuzzer target a few seconds, or a minute, from its seeds."""
        status = 0
        seconds = FUZZ_FULL_SECONDS if self.options.full else FUZZ_SECONDS
        found = sorted((builds.BUILDS / "fuzz/tests/fuzz").glob("fuzz_*"))
        for target in found:
            if not os.access(target, os.X_OK) or target.is_dir() \
                    or not builds.holds(target.name, self.options.k):
                continue
            corpus = self.scratch / target.name
            corpus.mkdir()
            seeds = TESTS / "fuzz/corpus" / target.name.removeprefix("fuzz_")
            code = self.execute([target, f"-max_total_time={seconds}",
                                 "-verbosity=0", "-print_final_stats=1",
                                 "-timeout=10", corpus,
                                 *([seeds] if seeds.is_dir() else [])],
                                cwd=corpus)
            if code == 0:
                self.tally.passed += 1
            else:
                self.tally.fail(target.name)
                self.keep_findings(target.name, corpus)
            status = status or code
        return status

    @staticmethod
    def keep_findings(name, corpus):
        keep = builds.BUILDS / "findings"
        keep.mkdir(exist_ok=True)
        for path in corpus.iterdir():
            if path.name.startswith(("crash-", "leak-", "oom-", "timeout-")):
                kept = keep / f"{name}-{path.name}"
                shutil.copy(path, kept)
                print(f"kept {kept}", flush=True)

    def pytest(self, where, *more):
        """The exit status of pytest over a directory or one test."""
        # Airflow has an environment of its own.
        python = os.environ["TIDEMARK_AIRFLOW_PYTHON"] \
            if self.name == "airflow" else sys.executable
        return self.execute([python, "-m", "pytest", where,
                             "-c", TESTS / "pytest.ini", "-q", "-rs", *more],
                            cwd=TESTS)

    def run_pytest(self):
        """A suite of tests/<name>, or for `thread` a choice out of e2e."""
        list_of_failed = self.scratch / "failed"
        self.env["TIDEMARK_TEST_FAILED"] = str(list_of_failed)
        self.env["TIDEMARK_BINARY"] = str(builds.BUILDS / "plain/tidemark")
        self.env["TIDEMARK_FAILPOINT_BINARY"] = str(
            builds.BUILDS / "failpoints/tidemark")
        self.env["TIDEMARK_SANITIZED_BINARY"] = str(
            builds.BUILDS / "sanitize/tidemark")
        junit = self.scratch / "junit.xml"
        where = TESTS / self.name
        selection = " or ".join(f"({words})" for words in self.options.k)
        more = ["--full"] if self.options.full else []
        if self.options.missing and self.name == "crash":
            more.append("--missing")
        more += ["-n", str(self.places), "--dist", "loadgroup"]
        if self.name == "thread":
            where = TESTS / "e2e"
            more += ["-m", "threads"]
            selection = f"({selection or 'test'}) and ({THREAD_SELECTION})"
            self.env["TIDEMARK_BINARY"] = str(builds.BUILDS / "thread/tidemark")
            self.env["TSAN_OPTIONS"] = "halt_on_error=1:exitcode=66"
        status = self.pytest(where, f"--junitxml={junit}", "-k", selection,
                             *more)
        self.tally.junit(junit)
        self.failed = again.failed_tests(list_of_failed)
        nothing_selected = status == 5 and self.options.k
        return 0 if nothing_selected else status

    def run_alone(self, name):
        """One program or test that failed, once more; its exit status."""
        aside, self.tally = self.tally, Tally()
        try:
            if self.name == "unit":
                return self.run_meson([name], "again")
            if self.name == "contract":
                return self.run_program(name)
            return self.pytest(name, "-n", "0")
        finally:
            self.tally = aside

    def stop(self):
        self.stopped = True
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)


class Builds:
    """The builds, one after the other, while tests run."""

    def __init__(self, suites, duckdb, words):
        self.suites, self.words = suites, words
        wanted = {build for name in suites for build in SUITES[name][1]}
        self.done = {name: threading.Event() for name in builds.OPTIONS
                     if name in wanted}
        self.made, self.duckdb, self.stopped = set(), duckdb, False
        self.thread = threading.Thread(target=self.work)

    def work(self):
        for name, done in self.done.items():
            try:
                if not self.stopped:
                    self.build(name)
            except Exception as error:  # a thread must report, not vanish
                print(f"{name} is not built: {error}", flush=True)
            done.set()

    def build(self, name):
        start = time.monotonic()
        builds.build(name, [self.duckdb], [
            suite for suite in self.suites if name in SUITES[suite][1]],
            self.words)
        self.made.add(name)
        if time.monotonic() - start > 1:
            print(f"built {name} in {time.monotonic() - start:.0f} s",
                  flush=True)

    def wait(self, names):
        """True: they are there."""
        for name in names:
            self.done[name].wait()
        return names <= self.made


class Run:
    """All suites that were asked for."""

    def __init__(self, options, scratch):
        names = [name for name in SUITES if name in options.suites]
        self.stream = len(names) == 1
        self.suites = [Suite(name, options, scratch, self.stream)
                       for name in names]
        self.builds = Builds(names, options.duckdb, options.k)
        self.total = Tally()
        self.free, self.change = PLACES, threading.Condition()
        self.threads = []

    def run_suite(self, suite):
        """In a thread of its own, on places that it has."""
        start = time.monotonic()
        try:
            tally = suite.run()
        except Exception as error:  # a thread must report, not vanish
            tally = suite.tally
            tally.fail(f"{suite.name}: {error}")
        with self.change:
            self.report(suite, tally, time.monotonic() - start)
            self.free += suite.places
            self.change.notify_all()

    def begin(self, suite):
        """As soon as there are places for it, and it is built."""
        with self.change:
            self.change.wait_for(lambda: self.free >= suite.places)
            self.free -= suite.places
        if not self.builds.wait(suite.builds):
            self.total.fail(f"{suite.name}: not built")
            self.free += suite.places
            return
        thread = threading.Thread(target=self.run_suite, args=(suite,))
        self.threads.append(thread)
        thread.start()

    def report(self, suite, tally, seconds):
        if tally.failed and not self.stream:
            print(f"---- {suite.name}", flush=True)
            sys.stdout.write(suite.log.read_text(errors="replace"))
        print(f"{suite.name}: {tally.line()} ({seconds:.0f} s)", flush=True)
        for reason, times in tally.reasons.items():
            print(f"  skipped {times}: {reason}", flush=True)
        for name in tally.failures:
            print(f"  failed: {name}", flush=True)
        self.total.add(tally)

    def stop(self):
        self.builds.stopped = True
        for suite in self.suites:
            suite.stop()

    def run(self):
        self.builds.thread.start()
        try:
            for suite in self.suites:
                self.begin(suite)
            for thread in self.threads:
                thread.join()
        except KeyboardInterrupt:
            self.total.fail("interrupted")
            self.stop()
        for thread in [self.builds.thread, *self.threads]:
            thread.join()

    def look_again(self):
        """Once nothing else runs, forgive the tests that pass alone."""
        told = sum(suite.tally.failed for suite in self.suites)
        if told == self.total.failed and again.run_again(self.suites):
            self.total.forgive()
            for name in self.total.unsteady:
                print(f"unsteady: {name}: failed beside other tests, passed "
                      f"{again.TIMES} times alone; mend the test", flush=True)


def scratch_parent():
    """Memory, where there is plenty: the servers make and drop thousands of
    small files, which costs a disk's file system as much as the tests."""
    with open("/proc/meminfo", encoding="ascii") as text:
        memory = int(re.search(r"MemAvailable: +(\d+)", text.read())[1]) * 1024
    shared = pathlib.Path("/dev/shm")
    room = shutil.disk_usage(shared).free if shared.is_mount() else 0
    return shared if min(memory, room) >= SCRATCH_BYTES else None


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="tests/run", description="Suites: " + ", ".join(SUITES))
    parser.add_argument("suites", nargs="*", metavar="SUITE",
                        help="all of them when none is named")
    parser.add_argument("-k", metavar="EXPR", action="append", default=[],
                        help="only tests whose name matches, one of them if "
                        "there are several; of the suite contract PROGRAM:CASE "
                        "chooses cases as well")
    parser.add_argument("--full", action="store_true",
                        help="every combination, the minute-long soak, and a "
                        "minute of each fuzz target")
    parser.add_argument("--missing", action="store_true", help="with --full: "
                        "only crash cases that have no result yet")
    parser.add_argument("--duckdb", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.suites:
        if name not in SUITES:
            parser.error(f"no suite '{name}': there are {', '.join(SUITES)}")
    options.suites = options.suites or list(SUITES)
    options.k = [words for words in options.k if words]
    return options


def interrupt(*_):
    raise KeyboardInterrupt


def stop_servers_below(scratch, suites):
    """Stop what suites with servers have left running. The others run where
    nothing is installed that talks to servers."""
    if set(suites) <= {"unit", "fuzz"}:
        return
    import mysql_servers
    import servers
    servers.stop_servers_below(scratch)
    mysql_servers.stop_servers_below(scratch)


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, interrupt)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="tidemark-run-",
                                            dir=scratch_parent()))
    scratch.chmod(0o711)  # the servers run as another user
    tempfile.tempdir = str(scratch)
    templates = scratch / "templates"
    templates.mkdir()
    os.environ["TIDEMARK_TEST_TEMPLATES"] = str(templates)
    run = Run(options, scratch)
    try:
        run.run()
        run.look_again()
    finally:
        stop_servers_below(scratch, options.suites)
        shutil.rmtree(scratch, ignore_errors=True)
    total = run.total
    nothing_ran = total.passed + total.failed == 0
    if nothing_ran:
        print("no test ran")
    print(total.line())
    return 1 if total.failed or nothing_ran else 0


if __name__ == "__main__":
    sys.exit(main())

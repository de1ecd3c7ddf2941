"""docs/reliability.md, written from the results of `tests/run crash --full`:
`reliability.py --write`. The suite leaves its results in
build-test/crash.jsonl.
"""

import collections
import hashlib
import json
import pathlib
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

import failpoints  # noqa: E402
from failpoints import (ACTIONS, DELTA, DESTINATIONS,  # noqa: E402
                        FAILPOINTS, FIRST, MODES, SOURCES, Case)

ROOT = failpoints.ROOT
PAGE = ROOT / "docs/reliability.md"
RESULTS = ROOT / "build-test/crash.jsonl"
TITLES = {"postgres": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL",
          "sqlite": "SQLite", "duckdb": "DuckDB", "clickhouse": "ClickHouse",
          "bigquery": "BigQuery"}

HEAD = """\
# Reliability

You want to know whether rows get lost or doubled when `tidemark run` dies. It
was killed at each of its steps, and this page has the results. They come from
`tests/run crash --full` (written by `tests/crash/reliability.py --write`); no
number is typed in.

A test build stops itself at named points: {points} of them, from the config
being read to the lease being given back. {others} more, where bad rows are set
aside, have tests of their own. A case is one of the points, a load mode, a
source, a destination, and one of these events:

- **kill**: SIGKILL, in the first load of a table that is quiet. It comes again
  in a delta with a new column, while somebody else goes on writing to the
  table. Each time the next run has to put it right. Every point x mode x source
  x destination is a case.
- **error**: the step fails, and goes on failing. The run ends with exit code 3
  after the retries, and nothing of the batch is there. At some points the error
  comes too late, or each try gets further, and the run may get over it
  (`commit_sent`, `state_saved`, `mid_alter`, `stage_dropped`,
  `lease_released`). The next run has to put it right.
- **hang**: the step never ends. Another run meanwhile is told that the
  pipeline is busy (exit code 6, and by whom). SIGKILL, or a second SIGTERM,
  then ends the stuck process, and the next run goes on at once.
- **stop**: SIGSTOP, until the lease has run out. Another run takes over. It
  cannot take over a file that the stopped process holds locked (exit code 6,
  and by whom). After SIGCONT the stopped run changes nothing, and exits 6. It
  ends well only before it has taken the lease, or behind all of its work.

The tables hold {rows} rows and go over in batches of {batch} and more. Their
strategies (timestamp, sequence, and xmin on PostgreSQL) and state stores
(SQLite, PostgreSQL) take turns. After each death, and again after the recovery,
other clients read both sides. They are psycopg, PyMySQL, Python's sqlite3 and
DuckDB, and HTTP requests of the tests' own. They read the table or view that
users read, and compare whole rows:

- right after the death: no row at or below the mark is missing or old, and no
  key is there twice;
- right after a death in a first load: no row past the mark is there. This holds
  where rows and mark are one transaction (PostgreSQL, MariaDB, MySQL, SQLite,
  DuckDB, BigQuery). ClickHouse has no such transaction, and a batch is in before
  its mark is. After a death between the two, rows past the mark are there. They
  are the next ones in order, without a gap;
- after the next run: both sides are equal, one row a key, and no version is
  appended twice. No table or session is left behind, the lease is free, and the
  ledger records nothing as running;
- one more run of a quiet source reads no row (but with mode replace).

{versions}

The servers and libraries are real, but for two. ClickHouse's engine is real,
with its tables on disk. It is a library (chdb), and the HTTP server before it
belongs to the tests. BigQuery's API is played as a whole: these figures show
how Tidemark uses it, and say nothing of Google's machines.

## Results

"""

# (program, where or how it dies, file, test): no cases of the matrix.
OTHERS = (
    ("a worker, in a chunk of a `backfill`", "at each point that it passes",
     "test_backfill.py", "test_killed_at_each_point"),
    ("a `backfill` with two workers", "while both write",
     "test_backfill_crew.py", "test_stopped_and_killed_in_the_middle"),
    ("two of four workers, beside a live sync and a writer",
     "again and again, anywhere", "test_backfill.py", "test_killed_workers"),
    ("two workers of a queue in PostgreSQL, and their sessions",
     "again and again, anywhere", "test_backfill_days.py",
     "test_workers_over_a_store_that_is_a_server"),
    ("a worker that is stopped past its lease, and wakes",
     "between two batches; in the load; before and behind a commit",
     "test_worker_days.py", "test_a_worker_that_wakes_is_fenced"),
    ("the primary of a store, under two workers", "before its standby knows "
     "of their claims", "test_worker_days.py", "test_the_store_fails_over"),
    ("`verify --repair`", "with the lease; in the load; around its commit; "
     "behind it", "test_repair.py", "test_killed_and_called_again"),
    ("`verify --deletes apply`", "behind the delete; before the mark; around "
     "its commit; behind it", "test_deletes.py",
     "test_deletes_killed_and_called_again"),
    ("a run into ClickHouse", "three times at the same place, between a "
     "batch and its mark", "test_crash_clickhouse.py",
     "test_killed_between_load_and_mark"),
    ("a run into BigQuery", "while its script runs there, which goes on",
     "test_crash_bigquery.py", "test_killed_while_the_script_runs"),
    ("a run in mode `update`", "in the load; behind the update; around its "
     "commit; behind it", "test_update.py", "test_killed_and_run_again"),
)

REPEAT = """\
## To repeat it

    tests/run crash --full                  # every case
    tests/run crash --full -k "kill and mid_load-upsert-mysql"   # some anew
    tests/run crash --full --missing        # those that have no result yet
    tests/crash/reliability.py --write      # this page, from the results

Without `--full`, as in CI, {pairs} are killed. Every two choices out of point,
mode, source, strategy, destination and state store meet in one of them. Error
and hang take turns at the same {pairs}, and {stops} are stopped. By hand:

    meson setup build-fail -Dfailpoints=true && ninja -C build-fail
    TIDEMARK_FAILPOINTS=after_merge=kill@3 build-fail/tidemark run

A case whose point is not reached fails the suite. The cases are a set with the
SHA-256 `{digest}`, which a test compares with the code's.
"""


def matrix():
    """Every case of `--full`: (action, *case)."""
    return [(action, *case) for action in ACTIONS
            for case in failpoints.cases(action, full=True)]


def digest(cases):
    lines = sorted("-".join(case) for case in cases)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n"
                   for line in lines) + "\n"


def listed(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


class Results:
    """The suite's results: case -> figures."""

    def __init__(self, lines):
        self.versions, self.cases = {}, {}
        for line in map(json.loads, lines):
            self.versions = line.get("versions", self.versions)
            if "crash" in line:
                figures = {**line["crash"], "cases": 1}
                self.cases[tuple(figures["case"].split("-"))] = figures

    def missing(self):
        return [case for case in matrix() if case not in self.cases]

    def total(self, figure, **where):
        """The sum over the cases whose parts are `where`."""
        fields = ("action", *Case._fields)
        wanted = {fields.index(name): value for name, value in where.items()}
        return sum(figures.get(figure, 0)
                   for case, figures in self.cases.items() if all(
                       case[at] == value for at, value in wanted.items()))


def read():
    if not RESULTS.exists():
        return Results([])
    with open(RESULTS, encoding="ascii") as lines:
        return Results(lines)


def summary(results):
    rows = []
    for action in ACTIONS:
        figures = [f"{results.total(figure, action=action):,}" for figure in
                   ("cases", "deaths", "failed", "compared", "lost", "doubled")]
        rows.append([action, *figures])
    return table(["", "cases", "times", "failed", "rows compared",
                  "rows lost", "rows doubled"], rows)


def deaths_by(results, action, field, choices):
    """How often it happened at each failpoint, by an engine."""
    rows = []
    for failpoint in FAILPOINTS:
        each = [results.total("deaths", action=action, failpoint=failpoint,
                              **{field: engine}) for engine in choices]
        rows.append([f"`{failpoint}`", *(each or "-" for each in each),
                     sum(each)])
    return rows


def engines_table(results, action):
    to = deaths_by(results, action, "destination", DESTINATIONS)
    out_of = deaths_by(results, action, "source", SOURCES)
    head = ["", *(f"to {TITLES[name]}" for name in DESTINATIONS),
            *(f"from {TITLES[name]}" for name in SOURCES), "all"]
    return table(head, [[*left[:-1], *right[1:]]
                        for left, right in zip(to, out_of)])


def actions_table(results):
    """How often at each failpoint the other things happened."""
    others = ACTIONS[1:]
    return table(["", *others], [
        [f"`{failpoint}`", *(results.total("deaths", action=action,
                                           failpoint=failpoint)
                             for action in others)]
        for failpoint in FAILPOINTS])


def grouped(reasons):
    """(failpoint, mode, destination, text), joined over what differs."""
    joined = collections.defaultdict(lambda: (set(), set()))
    for failpoint, mode, destination, text in reasons:
        modes, engines = joined[failpoint, text]
        modes.add(mode)
        engines.add(destination)
    exact = {(failpoint, mode, destination)
             for failpoint, mode, destination, _ in reasons}
    for (failpoint, text), (modes, engines) in joined.items():
        assert all((failpoint, mode, engine) in exact
                   for mode in modes for engine in engines), (failpoint, text)
        yield [f"`{failpoint}`",
               ", ".join(name for name in MODES if name in modes),
               ", ".join(TITLES[name] for name in DESTINATIONS
                         if name in engines), text]


def exceptions():
    """Combinations that are no case, or only half of one, and why."""
    reasons = []
    for failpoint in FAILPOINTS:
        for mode in MODES:
            for destination in DESTINATIONS:
                case = Case(failpoint, mode, SOURCES[0], "timestamp",
                            destination, "sqlite")
                text = failpoints.why_not(failpoint, mode, destination)
                if not text and FIRST not in failpoints.phases(case):
                    text = (f"in the {DELTA} only: into an empty table rows "
                            "go without it")
                if text:
                    reasons.append((failpoint, mode, destination, text))
    return listed(["point", "mode", "destination", "why"], grouped(reasons))


def suite(file):
    return "crash" if file.startswith("test_crash") else "e2e"


def others():
    rows = [[what, where, f"`tests/run {suite(file)} -k {name}`"]
            for what, where, file, name in OTHERS]
    return ("## Other runs that are killed\n\nBackfills, repairs and mode "
            "`update` are no cases above, nor are ClickHouse and BigQuery\nas "
            "sources. These are killed, too, and called again; then rows are "
            "compared by\nthe same clients:\n\n"
            + listed(["program", "killed", "by"], rows))


def run_with(results):
    *engines, played = [f"{TITLES[name]} {results.versions[name]}"
                        for name in TITLES]
    return textwrap.fill(f"Versions: {', '.join(engines)}. {played}.", 80,
                         break_on_hyphens=False)


def made_of(results):
    """The commits and days of the runs."""
    made = collections.defaultdict(list)
    for case, figures in results.cases.items():
        made[figures["commit"], figures["day"]].append(Case(*case[1:]))
    parts = []
    for (commit, day), cases in sorted(made.items(), key=lambda each:
                                       each[0][::-1]):
        every = {case.destination for case in cases}
        engines = ", ".join(TITLES[name] for name in DESTINATIONS
                            if name in every)
        to = "" if len(made) == 1 else f" (to {engines})"
        parts.append(f"{len(cases):,} cases{to} at commit `{commit}` on {day}")
    return textwrap.fill(f"Run: {'; '.join(parts)}.", 80,
                         break_on_hyphens=False) + "\n\n"


def page(results):
    pairs = len(failpoints.pairs())
    stops = len(failpoints.cases("stop", full=False))
    parts = [
        HEAD.format(points=len(FAILPOINTS), others=len(failpoints.ELSEWHERE),
                    versions=run_with(results),
                    rows=failpoints.ROWS, batch=failpoints.BATCH),
        made_of(results), summary(results),
        f"While it died and recovered, somebody else committed "
        f"{results.total('writes'):,} transactions at\nthe source.\n\n"
        "How often it was killed where, by destination and again by source; "
        "and how often\nthe other things happened there:\n\n",
        engines_table(results, "kill"), actions_table(results),
        "## Cases that do not exist\n\nRuns do not come by these:\n\n", exceptions(),
        "Nobody writes beside a DuckDB source: its file belongs to one "
        "process.\n\n",
        others(),
        REPEAT.format(pairs=pairs, stops=stops, digest=digest(matrix()))]
    return "".join(parts)


def main():
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: reliability.py --write")
    results = read()
    missing = results.missing()
    if missing:
        sys.exit(f"{RESULTS}: {len(missing)} of {len(matrix())} cases were not "
                 f"run, such as {'-'.join(missing[0])}: tests/run crash --full")
    if not results.versions:
        sys.exit(f"{RESULTS}: the versions are not known")
    PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()

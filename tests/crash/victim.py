"""One pipeline that is going to die, on servers that live for a whole suite.

Each case has tables and a pipeline of its own, in databases that the cases of
one worker share. The sessions that look into them are kept. So a case costs
little more than the starts of the binary.
"""

import itertools
import signal
import threading

import canon
import ends
import oracle
import workload
from bench import EXIT_OK, items_settings
from failpoints import BATCH, BEHIND, ROWS
from servers import wait_for

DELTA = 40
MOST_WRITES = 70
numbers = itertools.count(1)


class Kept:
    """A session for `with`, which does not end it."""

    def __init__(self, db):
        self.db = db

    def __enter__(self):
        return self.db

    def __exit__(self, *_):
        return False


def keep(end):
    """The same end, through one session that stays open."""
    if isinstance(end, (ends.FileEnd, ends.ClickhouseEnd)):
        return end
    db = end.connect()
    end.connect = lambda **_: Kept(db)
    end.hang_up = db.close
    return end


class Writer:
    """Somebody who goes on changing half of the table: short transactions, one
    after the other, some rolled back."""

    def __init__(self, end, table):
        self.end, self.table = end, table
        self.stopping = threading.Event()
        self.error = None
        self.committed = 0
        self.thread = threading.Thread(target=self.work)

    def __enter__(self):
        self.thread.start()
        wait_for(lambda: self.committed or self.error,
                 step=0.001, what="a write")
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        self.end.hang_up()
        if self.error:
            raise self.error

    def work(self):
        try:
            # Not without an end: who reads slower than that never catches up.
            while self.committed < MOST_WRITES and not self.stopping.is_set():
                self.write(self.committed)
                self.committed += 1
                self.stopping.wait(0.005 if self.committed < 40 else 0.15)
        except Exception as error:  # a dead writer would let any case pass
            self.error = error

    def write(self, turn):
        begin = "BEGIN IMMEDIATE" if self.end.engine == "sqlite" else "BEGIN"
        self.end.execute(begin)
        workload.touch_items(self.end, f"id % 20 = {turn % 10}", self.table)
        workload.fill_items(self.end, 1000 + turn, 1001 + turn, self.table,
                            workload.dialect(self.end).now)
        self.end.execute("ROLLBACK" if turn % 7 == 6 else "COMMIT")


class Nobody:
    """A writer that does not write."""

    committed = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class Victim:
    """The tables and the pipeline of a case. `figures`: what to count in."""

    def __init__(self, tidemark, case, figures, ends, state):
        self.tidemark, self.mode = tidemark, case.mode
        self.strategy, self.state = case.strategy, state
        self.source, self.destination = ends
        self.table = f"items_{next(numbers)}"
        self.to = f"{self.destination.schema}.{self.table}"
        self.columns = dict(oracle.ITEMS)
        self.changed = False
        self.started = []
        self.figures = {} if figures is None else figures
        self.figures.update(compared=0, lost=0, doubled=0)
        workload.create_items(self.source, self.table, ROWS)
        self.configure()

    def configure(self, lease="30s"):
        """For the runs that begin from now on."""
        t = self.tidemark
        t.top["state"] = self.state.terms(lease)
        t.connections = {"source": self.source.connection(),
                         "warehouse": self.destination.connection()}
        t.pipelines = {self.table: items_settings(
            self.source, self.destination, self.strategy, self.mode,
            self.table, batch={"rows": BATCH},
            retry={"attempts": 3, "backoff": "1ms", "max_backoff": "2ms",
                   "breaker": {"failures": 0}})}
        t.write_config()

    def start(self, *args, **more):
        """A run in the background, which does not outlive the case."""
        self.started.append(self.tidemark.start(*args, **more))
        return self.started[-1]

    def release(self):
        """Servers are left as they were; files go with their directory."""
        for run in self.started:
            if run.alive():
                run.kill()
        if not isinstance(self.source, ends.FileEnd):
            self.source.execute(f"DROP TABLE {self.table}")
        if self.source.engine == "postgres":
            self.source.execute(f"DROP SEQUENCE {self.table}_seq")
        if not isinstance(self.destination,
                          (ends.FileEnd, ends.BigqueryEnd)):
            empty(self.destination)

    def changes(self):
        """A delta with a new column, so that the target is altered too."""
        of = workload.dialect(self.source)
        self.source.execute(f"ALTER TABLE {self.table} ADD color text")
        workload.update_items(
            self.source, "id % 4 = 0", "quantity = quantity + 100, "
            f"color = {of.labelled}", "2024-06-01 00:00:00", self.table)
        workload.fill_items(self.source, ROWS + 1, ROWS + DELTA, self.table,
                            of.instant("2024-06-02 00:00:00"))
        self.columns["color"] = "text"
        self.changed = True

    def writing(self):
        """Somebody who writes meanwhile; nobody where no other process may."""
        alone = self.source.engine == "duckdb"
        return Nobody() if alone else Writer(own_session(self.source),
                                             self.table)

    def leave_what(self, failpoint):
        """Leave a stage of a refresh that was killed, for the run to find.
        DuckDB drops one after each batch."""
        if failpoint == "stage_dropped" and self.mode != "replace" \
                and self.destination.engine != "duckdb":
            done = self.tidemark("run", "--full-refresh",
                                 failpoints="state_saved=kill@1")
            assert done.code == -signal.SIGKILL, done

    def picture(self):
        """The rows, the mark and their batch."""
        rows = self.destination.rows(self.to, self.columns)
        mark = self.destination.query(
            "SELECT batch_id, fence, rows_total FROM "
            f"{self.destination.schema}._tidemark_watermark")
        return sorted(rows, key=repr), mark

    def killed(self, failpoint, n=1):
        """Die there; False: the point was not reached. On a busy machine a
        writer's transaction may stay open, and a run may hold every row back.
        Then the next run tries."""
        for _ in range(20):
            done = self.tidemark("run", "--json",
                                 failpoints=f"{failpoint}=kill@{n}")
            if done.code == -signal.SIGKILL:
                return True
            result = done.expect(EXIT_OK).pipeline()
            if result["rows_read"] or not result["rows_held"]:
                return False
        return False

    # ---- what must hold

    def read_source(self):
        """(mark, row) of each row; the mark as a number."""
        columns = dict(self.columns)
        if self.strategy == "xmin":
            columns["xmin"] = "int"
        rows = self.source.rows(f"{self.source.schema}.{self.table}", columns)
        at = list(columns).index({"timestamp": "updated_at", "xmin": "xmin",
                                  "sequence": "seq"}[self.strategy])
        n = len(self.columns)
        return [(row[at], row[:n]) for row in rows]

    def count_doubled(self, rows):
        """`rows`, of which no key is there twice."""
        self.figures["doubled"] += len(rows) - len({row[0] for row in rows})
        oracle.check_keys(rows)
        return rows

    def count_lost(self, wanted, there):
        lost = set(wanted) - set(there)
        self.figures["compared"] += len(wanted)
        self.figures["lost"] += len(lost)
        assert not lost, f"{len(lost)} rows missing or old: {lost}"

    def mark(self, watermark):
        value = watermark["value"]
        return (canon.parse_instant(value) if self.strategy == "timestamp"
                else int(value))

    def check_crashed(self):
        """Right after the death, before anything is repaired: mark and rows
        belong together, and no key is there twice."""
        end = ends.open_copy(self.destination)
        tables = set(end.tables())
        watermark = ("_tidemark_watermark" in tables
                     and end.watermark(self.table))
        marked = watermark and watermark.get("value") is not None
        assert self.table in tables or not marked, "a mark, and no table"
        if self.table not in tables:
            return
        if not marked:
            self.count_doubled(end.rows(self.to, {"id": "int"}))
            return
        columns = {name: kind for name, kind in self.columns.items()
                   if name in watermark["columns"]}
        there = self.count_doubled(end.rows(self.to, columns))
        here = [(at, row[:len(columns)]) for at, row in self.read_source()]
        self.check_covered(here, there, self.mark(watermark))
        if not self.changed and self.strategy != "xmin":
            self.check_no_more(here, there, watermark)

    def check_covered(self, here, there, mark):
        """Every row below the mark is there, at its version."""
        assert mark <= max(at for at, _ in here) or self.strategy == "xmin", \
            f"the mark {mark} is past every row"
        self.count_lost([row for at, row in here if at < mark], there)

    def check_no_more(self, here, there, watermark):
        """A first load from a quiet source. The rows are those that the mark
        covers, and no row of an unfinished batch. Where no transaction holds
        the two, the next rows may be there, in order."""
        upto = self.mark(watermark), [int(key) for key in watermark["key"]]
        past = sorted((at, [row[0]], row) for at, row in here
                      if (at, [row[0]]) > upto)
        there = set(there)
        early = [row for _, _, row in past if row in there]
        next_ones = [row for _, _, row in past[:len(early)]]
        if self.destination.engine in BEHIND:
            assert early == next_ones, f"a gap in the rows past {upto}"
        else:
            assert not early, f"{len(early)} rows past {upto}: {early[:3]}"

    def check(self):
        """Both sides are equal, one row a key, and nothing else is left."""
        here = [row for _, row in self.read_source()]
        there = self.count_doubled(
            self.destination.rows(self.to, self.columns))
        self.count_lost(here, there)
        oracle.check_rows(here, there)
        raw = [self.table + "_raw"] if self.mode == "append" else []
        expected = [self.table, "_tidemark_watermark"]
        # There each of them is a view.
        every = self.destination.engine == "clickhouse"
        assert sorted(self.destination.tables()) == sorted(
            expected + ([name + "_raw" for name in expected] if every
                        else raw))
        for end in (self.source, self.destination):
            wait_for(lambda: not end.sessions(),
                     step=0.005, what="sessions to end")
        if raw:
            every = self.destination.rows(
                f"{self.destination.schema}.{raw[0]}", self.columns)
            assert len(every) == len(set(every)), "a version appended twice"

    def check_ledger(self):
        """No lease is held, nothing is said to run."""
        free, = self.state.query("SELECT until FROM {t}leases WHERE name = "
                                 f"'{self.table}'")
        assert free[0] == 0, free
        states = self.state.query(
            "SELECT state, count(*) FROM {t}attempts WHERE pipeline = "
            f"'{self.table}' GROUP BY state")
        assert dict(states).keys() <= {"SUCCEEDED", "FAILED"}, states
        assert dict(states)["SUCCEEDED"], states

    def flush_log(self):
        """Flush the source's log. A reader tidies up pages, which is logged. If
        it is killed, PostgreSQL flushes that with the next commit, or after 15
        seconds, and the mark waits for it."""
        assert self.source.engine == "postgres"
        self.source.execute("SELECT pg_logical_emit_message(true, 'test', '')")

    def recover(self):
        """One more run and all is as it should be; one more, and there is
        nothing to do."""
        done = self.tidemark.run().pipeline()
        self.check()
        if "flushed its log" in done["guarantee_reason"]:
            self.flush_log()
            self.tidemark.run()
        if self.mode != "replace":
            again = self.tidemark.run().pipeline()
            assert again["rows_read"] == 0, again
        self.check_ledger()

    def recover_from_writer(self):
        """The writer is over: what it wrote last is not settled at once, and
        append holds it back until then."""
        wait_for(lambda: not self.tidemark.run().pipeline()["rows_held"],
                 step=0.4, what="the tail to settle")
        self.check()
        self.check_ledger()


def own_session(end):
    """A session of somebody else's."""
    if end.engine == "postgres":
        return keep(ends.PostgresEnd(end.cluster, end.database))
    if end.engine == "sqlite":
        return SqliteSession(end.path)
    return keep(ends.MysqlEnd(end.server, end.database))


class SqliteSession(ends.SqliteEnd):
    """One connection, made by the thread that uses it."""

    db = None

    def held(self):
        if self.db is None:
            self.db = self.connect()
            self.db.isolation_level = None
            self.db.execute("PRAGMA busy_timeout = 20000")
        return self.db

    def execute(self, *statements):
        for sql in statements:
            self.held().execute(sql)

    def query(self, sql):
        return self.held().execute(sql).fetchall()

    def hang_up(self):
        """Closed with the thread that made it."""


def empty(end):
    """Drop every table and view of a destination's database."""
    if end.engine == "clickhouse":
        for name, kind in end.query(
                "SELECT name, if(engine = 'View', 'VIEW', 'TABLE') FROM "
                "system.tables WHERE database = currentDatabase()"):
            end.execute(f"DROP {kind} `{name}` SYNC")
        return
    for name, kind in end.query(
            "SELECT table_name, table_type FROM information_schema.tables "
            f"WHERE table_schema = '{end.schema}' ORDER BY table_type = 'VIEW'"
            " DESC"):
        kind = "VIEW" if kind == "VIEW" else "TABLE"
        end.execute(f"DROP {kind} {canon.quote(name)}" if end.engine ==
                    "postgres" else f"DROP {kind} `{name}`")

"""One session asks about the tables that come next. They may change before it is
their turn, and one of them may be unfit."""

import signal

import pytest

from bench import EXIT_OK, EXIT_SCHEMA
from servers import wait_for
from test_pool import check_tables

TABLES = 8
CHANGES = {
    "column added": "ALTER TABLE t5 ADD COLUMN more text DEFAULT 'new'",
    "column dropped": "ALTER TABLE t5 DROP COLUMN note",
    "type changed": "ALTER TABLE t5 ALTER COLUMN note TYPE bigint"
                    " USING length(note)",
    "replaced": "DROP TABLE t5; CREATE TABLE t5 (note text, id bigint"
                " PRIMARY KEY, seq bigint, at timestamptz DEFAULT now());"
                " INSERT INTO t5 (note, id, seq) VALUES ('other', 7, 7)",
    "renamed": "ALTER TABLE t5 RENAME TO gone; CREATE TABLE t5"
               " (LIKE gone INCLUDING ALL);"
               " INSERT INTO t5 (id, seq, note) VALUES (9, 9, 'nine')",
    "partitioned": "ALTER TABLE t5 RENAME TO part; CREATE TABLE t5"
                   " (LIKE part INCLUDING ALL) PARTITION BY RANGE (id);"
                   " ALTER TABLE t5 ATTACH PARTITION part DEFAULT",
}


@pytest.fixture
def ends(make_database):
    source, destination = make_database("source"), make_database("warehouse")
    for i in range(TABLES):
        source.execute(
            f"CREATE TABLE t{i} (id bigint PRIMARY KEY, seq bigint, note text,"
            " at timestamptz NOT NULL DEFAULT now())",
            f"INSERT INTO t{i} (id, seq, note) VALUES (1, 1, 'a'), (2, 2, 'b')")
    return source, destination


def write(tidemark, ends, strategy="timestamp"):
    source, destination = ends
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for i in range(TABLES):
        tidemark.pipeline(
            f"p{i}", source={"connection": "source", "table": f"public.t{i}"},
            destination={"connection": "warehouse", "table": f"public.t{i}"},
            watermark={"strategy": strategy}
            | ({"column": "at"} if strategy == "timestamp" else {}),
            retry={"attempts": 3, "backoff": "10ms"})
    return tidemark.write_config()


def paused(tidemark, failpoints="first_row=stop@1"):
    """The first pipeline has asked about all, and has read its first row."""
    run = tidemark.start("run", "--jobs", "1", "--json",
                         failpoints=failpoints)
    wait_for(lambda: run.stopped() or not run.alive(), step=0.01,
             what="the failpoint")
    return run


@pytest.mark.parametrize("strategy", ("timestamp", "xmin"))
@pytest.mark.parametrize("change", CHANGES)
def test_source_changes_in_between(tidemark_failpoints, ends, change, strategy):
    tidemark = write(tidemark_failpoints, ends, strategy)
    run = paused(tidemark)
    ends[0].execute(*CHANGES[change].split("; "))
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_OK)
    check_tables(*ends, n=TABLES)
    tidemark.run()
    check_tables(*ends, n=TABLES)


@pytest.mark.parametrize("change", (
    "DROP TABLE t5", "ALTER TABLE t5 ADD COLUMN mine text",
    "ALTER TABLE t5 DROP COLUMN note",
    "ALTER TABLE t5 ALTER COLUMN seq TYPE numeric"))
def test_target_changes_in_between(tidemark_failpoints, ends, change):
    tidemark = write(tidemark_failpoints, ends)
    tidemark.run()
    for i in range(TABLES):
        ends[0].execute(f"INSERT INTO t{i} VALUES (3, 3, 'c')")
    run = paused(tidemark)
    ends[1].execute(change)
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_OK)
    check_tables(*ends, n=TABLES)


def test_replaced_between_two_questions(tidemark_failpoints, ends):
    """The number that the table had has no columns any more."""
    source, destination = ends
    tidemark = write(tidemark_failpoints, ends)
    # Its type has to be known before the columns are asked for.
    tidemark.pipelines["p5"]["source"]["expressions"] = {"twice": "seq * 2"}
    tidemark.pipelines = {"p5": tidemark.pipelines["p5"]}
    tidemark.write_config()
    run = paused(tidemark, "table_found=stop@1")
    assert run.stopped()
    source.execute(*CHANGES["replaced"].split("; "))
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_OK)
    assert destination.query("SELECT id, note, twice FROM t5") == \
        [(7, "other", 14)]


def test_a_table_without_columns(tidemark, ends):
    """It is looked at twice before it is believed."""
    ends[0].execute("DROP TABLE t5", "CREATE TABLE t5 ()")
    write(tidemark, ends)
    done = tidemark("run", "p5").expect(EXIT_SCHEMA)
    assert "has no columns" in done.err


def test_one_that_cannot_be_asked_about(tidemark, ends):
    """A table that is missing fails alone, and so does one without a key."""
    source, destination = ends
    source.execute(
        "ALTER TABLE t3 RENAME TO away",
        "ALTER TABLE t4 DROP CONSTRAINT t4_pkey")
    write(tidemark, ends)
    done = tidemark("run", "--json", "--jobs", "1").expect(EXIT_SCHEMA).json()
    failed = {p["pipeline"] for p in done["pipelines"] if p["error"]}
    assert failed == {"p3", "p4"}
    for i in set(range(TABLES)) - {3, 4}:
        assert destination.query(f"SELECT count(*) FROM t{i}") == \
            source.query(f"SELECT count(*) FROM t{i}")


def test_rights_go_in_between(tidemark_failpoints, ends):
    """A policy that came after the question hides rows. The next run says so,
    docs/guarantees.md."""
    tidemark = write(tidemark_failpoints, ends)
    source = ends[0]
    source.execute("ALTER TABLE t5 ENABLE ROW LEVEL SECURITY",
                   "ALTER TABLE t5 FORCE ROW LEVEL SECURITY",
                   "CREATE POLICY all_rows ON t5 USING (true)")
    run = paused(tidemark)
    source.execute("DROP POLICY all_rows ON t5",
                   "CREATE POLICY few ON t5 USING (id = 1)")
    run.signal(signal.SIGCONT)
    done = run.wait().expect(EXIT_OK)
    p5 = next(p for p in done.json()["pipelines"] if p["pipeline"] == "p5")
    assert p5["rows_read"] == 1, p5
    p5 = next(p for p in tidemark.run().json()["pipelines"]
              if p["pipeline"] == "p5")
    assert p5["guarantee"] == "none", p5
    assert "row level security" in p5["guarantee_reason"], p5


def test_order_of_an_id_and_its_transactions(tidemark_failpoints, ends):
    """Strategy sequence looks for transactions behind the highest id. An answer
    that another pipeline got before is too old for that."""
    tidemark = write(tidemark_failpoints, ends)
    source = ends[0]
    source.execute("DROP TABLE t1", "CREATE TABLE t1 (id bigint GENERATED BY"
                   " DEFAULT AS IDENTITY PRIMARY KEY, seq bigint)",
                   "INSERT INTO t1 (seq) VALUES (1), (2)")
    tidemark.pipelines["p1"]["watermark"] = {"strategy": "sequence",
                                             "column": "id"}
    tidemark.write_config().run()
    source.execute("INSERT INTO t0 (id, seq) VALUES (3, 3)")
    run = paused(tidemark)
    with source.connect(autocommit=False) as writer:
        writer.execute("INSERT INTO t1 (seq) VALUES (3)")
        source.execute("INSERT INTO t1 (seq) VALUES (4)")
        run.signal(signal.SIGCONT)
        run.wait().expect(EXIT_OK)
        writer.commit()
    tidemark.run()
    check_tables(*ends, n=TABLES)


@pytest.mark.parametrize("end", (0, 1), ids=("source", "destination"))
def test_a_locked_table_holds_up_no_other(tidemark, ends, end):
    """Sizes and views are asked for under a lock."""
    write(tidemark, ends)
    tidemark.run()
    for i in range(TABLES):
        ends[0].execute(f"INSERT INTO t{i} VALUES (3, 3, 'c')")
    with ends[end].connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE t5 IN ACCESS EXCLUSIVE MODE")
        run = tidemark.start("run", "--json")
        for i in set(range(TABLES)) - {5}:
            wait_for(lambda: ends[1].query(f"SELECT count(*) FROM t{i}")
                     == [(3,)], what=f"t{i}")
        assert run.alive()
    run.wait().expect(EXIT_OK)
    check_tables(*ends, n=TABLES)

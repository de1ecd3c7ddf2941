"""Mode append of tables without a key: each row past the mark is kept as it is.
Equal rows stay as many as they are, whatever happens."""

import collections
import json

import pytest

from bench import EXIT_CONFIG, EXIT_DIFFERENT, EXIT_OK, EXIT_SCHEMA, items_settings

TARGETS = ("postgres", "mysql", "mariadb", "sqlite", "duckdb")
SOURCES = ("postgres", "mysql", "mariadb", "sqlite", "duckdb")
TIMES = {"postgres": "timestamptz", "mysql": "datetime(6)",
         "mariadb": "datetime(6)", "sqlite": "text", "duckdb": "timestamptz"}
# The first second has more rows than a batch; rows are there twice.
ROWS = ([("a", 1)] * 7 + [("b", 2), ("b", 2), (None, 2), ("", 2)]
        + [("c", 3)] + [("d", 4)] * 3)


def moment(second):
    return f"2024-01-01 00:00:{second:02d}"


def fill(source, rows):
    source.execute(*("INSERT INTO log VALUES ({}, {}, '{}')".format(
        "NULL" if text is None else f"'{text}'", n, moment(n))
        for text, n in rows))


def log(tidemark, source, destination, strategy="timestamp", rows=tuple(ROWS),
        **settings):
    kind = TIMES[source.engine]
    source.execute(f"CREATE TABLE log (t varchar(10), n integer, since {kind})")
    fill(source, rows)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    settings.setdefault("batch", {"rows": 2})
    made = items_settings(source, destination, strategy, "append", "log",
                          **settings)
    made["watermark"]["column"] = {"timestamp": "since", "sequence": "n"}[strategy]
    return tidemark.pipeline("log", **made).write_config()


def expect(destination, rows):
    for table in ("log", "log_raw"):
        found = collections.Counter(
            (t, int(n)) for t, n in destination.query(
                f"SELECT t, n FROM {table}"))
        assert found == collections.Counter(rows), table


@pytest.mark.parametrize("engine", TARGETS)
@pytest.mark.parametrize("start", SOURCES)
@pytest.mark.parametrize("strategy", ("timestamp", "sequence"))
@pytest.mark.thinned(3)
def test_rows_are_kept_as_they_are(tidemark, make_source, make_destination,
                                   start, engine, strategy):
    source, destination = make_source(start), make_destination(engine)
    log(tidemark, source, destination, strategy)
    checked = tidemark("check", "--json").expect(EXIT_OK).pipeline()
    assert not [each for each in checked["problems"]
                if each["severity"] == "error"], checked
    planned = tidemark.run("--dry-run").pipeline()
    assert planned["rows_inserted"] == len(ROWS)
    told = tidemark.run().pipeline()
    assert (told["rows_read"], told["rows_inserted"]) == (len(ROWS),) * 2
    expect(destination, ROWS)
    tidemark("verify").expect(EXIT_OK)
    told = tidemark.run().pipeline()
    assert (told["rows_read"], told["batches"]) == (0, 0)
    more = [("e", 5)] * 5 + [("f", 6)]
    fill(source, more)
    assert tidemark.run("--dry-run").pipeline()["rows_inserted"] == len(more)
    told = tidemark.run().pipeline()
    assert told["rows_inserted"] == len(more)
    expect(destination, ROWS + more)
    tidemark("verify").expect(EXIT_OK)
    tidemark.run("--full-refresh")
    expect(destination, ROWS + more)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("engine", TARGETS)
@pytest.mark.parametrize("start", SOURCES)
@pytest.mark.parametrize("strategy", ("timestamp", "sequence"))
@pytest.mark.thinned(4)
def test_killed_at_every_step(tidemark_failpoints, make_source,
                              make_destination, start, engine, strategy):
    """No row is there twice, and none is missing, wherever a run dies."""
    tidemark = tidemark_failpoints
    source, destination = make_source(start), make_destination(engine)
    log(tidemark, source, destination, strategy)
    for point in ("mid_load=kill@2", "commit_acked=kill@1",
                  "commit_acked=kill@3", "before_merge=kill@1",
                  "after_watermark=kill@2", "before_watermark=kill@4",
                  "after_merge=kill@5", "mid_load=kill@6"):
        tidemark.killed(failpoints=point)
    tidemark.run()
    expect(destination, ROWS)
    more = [("e", 5)] * 5 + [("f", 6)] * 4
    fill(source, more)
    tidemark.killed(failpoints="commit_acked=kill@2")
    tidemark.killed(failpoints="commit_acked=kill@1")
    tidemark.killed(failpoints="commit_acked=kill@3")
    tidemark.run()
    expect(destination, ROWS + more)
    assert tidemark.run().pipeline()["rows_read"] == 0
    tidemark("verify").expect(EXIT_OK)


@pytest.mark.parametrize("engine", TARGETS)
@pytest.mark.thinned(2)
def test_rows_that_go_while_a_run_is_cut_off(tidemark_failpoints, source,
                                             make_destination, engine):
    """Rows behind the mark, which the source has no longer, go too."""
    tidemark, destination = tidemark_failpoints, make_destination(engine)
    log(tidemark, source, destination)
    tidemark.run()
    fill(source, [("e", 5)] * 5)
    tidemark.killed(failpoints="commit_acked=kill@2")
    assert len(destination.query("SELECT t FROM log")) > len(ROWS)
    source.execute("DELETE FROM log WHERE n = 5")
    tidemark.run()
    expect(destination, ROWS)
    fill(source, [("g", 6)])
    tidemark.run()
    expect(destination, ROWS + [("g", 6)])


@pytest.mark.parametrize("engine", TARGETS)
@pytest.mark.thinned(2)
def test_all_rows_again(tidemark, source, make_destination, engine):
    """A mark that is reset: the table is built anew. A column that comes, and
    a mark of a hand: that is left to somebody, for it may lose rows."""
    destination = make_destination(engine)
    log(tidemark, source, destination)
    tidemark.run()
    tidemark("watermark", "reset", "log").expect(EXIT_OK)
    tidemark.run()
    expect(destination, ROWS)
    source.execute("ALTER TABLE log ADD COLUMN extra integer DEFAULT 7")
    refused(tidemark, "columns or settings have changed")
    expect(destination, ROWS)
    tidemark.run("--full-refresh")
    expect(destination, ROWS)
    assert set(destination.query("SELECT extra FROM log")) == {(7,)}
    tidemark("verify").expect(EXIT_OK)
    fill_more = "INSERT INTO log (t, n, since) VALUES ('e', 5, '{}')"
    source.execute(fill_more.format(moment(5)))
    assert tidemark.run().pipeline()["rows_inserted"] == 1
    # A mark of a hand does not say which rows are there.
    shown = tidemark("watermark", "show", "log", "--json").expect(EXIT_OK)
    mark = {key: shown.pipeline()["watermark"][key]
            for key in ("strategy", "column", "value")}
    tidemark("watermark", "set", "log", json.dumps(mark)).expect(EXIT_OK)
    source.execute("DELETE FROM log WHERE n = 5")
    refused(tidemark, "set by hand")
    expect(destination, ROWS + [("e", 5)])
    tidemark.run("--full-refresh")
    expect(destination, ROWS)


def refused(tidemark, why):
    done = tidemark("run").expect(EXIT_SCHEMA)
    assert why in done.err and "--full-refresh" in done.err, done


def mark_of(tidemark):
    shown = tidemark("watermark", "show", "log", "--json").expect(EXIT_OK)
    return shown.pipeline()["watermark"]


@pytest.mark.parametrize("engine", TARGETS)
@pytest.mark.thinned(2)
def test_mark_that_was_shown_before(tidemark, source, make_destination, engine):
    """The rows behind a mark are counted for the mark that stands. An earlier
    one that is set again does not say how many they are by now."""
    destination = make_destination(engine)
    log(tidemark, source, destination)
    tidemark.run()
    marks = [mark_of(tidemark)]
    rows = ROWS + [("e", 5)] * 9 + [("f", 6)]
    fill(source, rows[len(ROWS):])
    tidemark.run("--max-batches", "1", expect=EXIT_CONFIG)
    marks.append(mark_of(tidemark))
    assert (marks[0]["open"], marks[1]["open"] > 0) == (0, True)
    # To set the mark that stands changes nothing.
    tidemark("watermark", "set", "log", json.dumps(marks[1])).expect(EXIT_OK)
    assert mark_of(tidemark) == marks[1]
    done = tidemark("run").expect(EXIT_OK)
    assert "built anew" not in done.err
    expect(destination, rows)
    for mark in marks:
        tidemark("watermark", "set", "log", json.dumps(mark)).expect(EXIT_OK)
        assert "open" not in mark_of(tidemark)
        refused(tidemark, "set by hand")
        expect(destination, rows)
        tidemark.run("--full-refresh")
        expect(destination, rows)


def test_part_that_comes_back(tidemark, source, make_destination):
    """Nothing tells whether the rows of a new part were loaded before."""
    destination = make_destination("duckdb")
    log(tidemark, source, destination, rows=[])
    source.execute("DROP TABLE log",
                   "CREATE TABLE log (t varchar(10), n integer,"
                   " since timestamptz) PARTITION BY LIST (n)",
                   "CREATE TABLE log_1 PARTITION OF log FOR VALUES IN (1)",
                   "CREATE TABLE log_rest PARTITION OF log DEFAULT")
    fill(source, ROWS)
    tidemark.run()
    # A part whose rows are all past the mark is read as the others are.
    source.execute("CREATE TABLE log_5 PARTITION OF log FOR VALUES IN (5)")
    rows = ROWS + [("e", 5)] * 2
    fill(source, rows[len(ROWS):])
    assert tidemark.run().pipeline()["rows_inserted"] == 2
    source.execute("ALTER TABLE log DETACH PARTITION log_1")
    tidemark.run()
    source.execute("ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES IN (1)")
    done = tidemark("run").expect(EXIT_SCHEMA)
    assert "log_1" in done.err and "--full-refresh" in done.err
    expect(destination, rows)
    tidemark.run("--full-refresh")
    expect(destination, rows)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("settings, word", (
    ({"watermark": {"lag": "1m"}}, "leave watermark.lag out"),
    ({"watermark": {"tail": "deliver"}}, "write tail: hold"),
    ({"watermark": {"nulls": "include"}}, "write nulls: skip"),
    ({"on_bad_row": "dead_letter"}, "write on_bad_row: halt"),
    ({"verify": "window"}, "leave --verify"),
))
def test_refused_settings(tidemark, source, make_destination, settings, word):
    log(tidemark, source, make_destination("postgres"), **settings)
    done = tidemark("run").expect(EXIT_CONFIG)
    assert word in done.err
    if "verify" not in settings:
        done = tidemark("check", "--json").expect(EXIT_CONFIG).pipeline()
        assert any(word in each["fix"] for each in done["problems"])


def test_refused_commands(tidemark, source, make_destination):
    destination = make_destination("postgres")
    log(tidemark, source, destination)
    run = tidemark.run().pipeline()["run_id"]
    destination.execute("DELETE FROM log_raw WHERE t = 'c'")
    window = ("--from", "2024-01-01", "--to", "2024-01-02")
    for command in (("runs", "replay", run),
                    ("backfill", "log", *window),
                    ("backfill", "log", "--plan"),
                    ("backfill", "log", *window, "--queue"),
                    ("run", "--verify"),
                    ("verify", "--repair", "--yes")):
        done = tidemark(*command)
        assert done.code == EXIT_CONFIG, done
        if command[0] == "backfill":
            assert "no key" in done.err and "--full-refresh log" in done.err
    # Nothing waits for a worker.
    assert tidemark("status", "--json").pipeline()["backfill"] is None
    assert tidemark.run().pipeline()["rows_read"] == 0
    done = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
    assert (done["missing"], done["extra"]) == (1, 0)


def test_verify_tells_rows_past_the_mark(tidemark, source, make_destination):
    destination = make_destination("duckdb")
    log(tidemark, source, destination)
    tidemark.run()
    fill(source, [("z", 9)] * 2)
    done = tidemark("verify", "--json").expect(EXIT_OK).pipeline()
    assert done["unsettled"] == 1
    # Somebody puts the same row there once more: it is counted.
    destination.execute("INSERT INTO log_raw SELECT * FROM log_raw"
                        " WHERE t = 'c'")
    done = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
    assert (done["missing"], done["extra"]) == (0, 1)


def test_bounded_runs_get_to_the_end(tidemark, source, make_destination):
    """A run that is cut off goes on where its last mark is shared by none."""
    destination = make_destination("postgres")
    rows = [(chr(97 + n % 26), n) for n in range(40)]
    log(tidemark, source, destination, rows=rows)
    counts = []
    for _ in range(60):
        counts.append(tidemark.run("--max-batches", "4").pipeline())
        if counts[-1]["outcome"] == "caught_up":
            break
    assert counts[-1]["outcome"] == "caught_up"
    assert len(counts) > 3
    expect(destination, rows)


@pytest.mark.parametrize("start", SOURCES)
@pytest.mark.parametrize("strategy", ("timestamp", "sequence"))
@pytest.mark.thinned(2)
def test_bounded_runs_over_shared_marks(tidemark, make_source,
                                        make_destination, start, strategy):
    """No batch ends where a mark does, and the runs get further all the same.
    PostgreSQL holds the mark back until its log is flushed."""
    source, destination = make_source(start), make_destination("sqlite")
    rows = [("a", 0)] + [("b", 1 + n // 2) for n in range(20)]
    log(tidemark, source, destination, strategy, rows=rows, batch={"rows": 3})
    marks = []
    for _ in range(8 * len(rows)):
        told = tidemark.run("--max-batches", "1").pipeline()
        if told["outcome"] == "caught_up":
            break
        marks.append(mark_of(tidemark))
        if start != "postgres":
            assert marks[-1]["open"] == 0 and marks[-1] not in marks[:-1]
        done = tidemark("verify", "--json").expect(EXIT_OK).pipeline()
        assert (done["missing"], done["extra"]) == (0, 0)
    assert told["outcome"] == "caught_up"
    assert len({mark.get("value") for mark in marks}) > 5
    expect(destination, rows)
    tidemark("verify").expect(EXIT_OK)


@pytest.mark.parametrize("bound", ("--max-batches", "--max-seconds"))
def test_bounds_within_one_mark_are_refused(tidemark, make_source,
                                            make_destination, bound):
    """Each run would load the same rows once more, and say nothing."""
    source, destination = make_source("sqlite"), make_destination("postgres")
    log(tidemark, source, destination)
    tidemark.run()
    more = [("e", 5)] * 200
    fill(source, more)
    if bound == "--max-seconds":
        tidemark.pipelines["log"]["pace"] = {"rows_per_second": 10}
        tidemark.write_config()
    for _ in range(2):
        done = tidemark("run", bound, "2").expect(EXIT_CONFIG)
        assert f"ended for {bound} among rows of one mark" in done.err
        assert destination.query("SELECT count(*) < 214 FROM log") == [(True,)]
    tidemark.pipelines["log"].pop("pace", None)
    tidemark.pipelines["log"]["batch"] = {"rows": 150}
    tidemark.write_config().run("--max-batches", "2")
    expect(destination, ROWS + more)


@pytest.mark.parametrize("engine", ("clickhouse", "bigquery"))
def test_target_without_one_transaction(tidemark, source, make_destination,
                                        engine):
    log(tidemark, source, make_destination(engine))
    done = tidemark("run", "--json").expect(EXIT_SCHEMA)
    message = done.pipeline()["error"]["message"]
    assert "nothing tells which of its rows have come" in message, message

"""`run --dry-run`: what a run would do, to the row, and nothing written."""

import hashlib
import os

import pytest

import poison
import workload
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_SCHEMA,
                   check_accounting, items_settings, sync_items)
from servers import CANARY

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
MODES = ("upsert", "append", "delete_insert", "replace")
COUNTS = ("rows_read", "rows_inserted", "rows_updated", "rows_unchanged",
          "rows_deleted", "rows_dead_lettered", "rows_held", "outcome",
          "run_id", "watermark_before", "watermark_after", "guarantee")


def everything(end):
    """All that the database holds."""
    whole = "COLUMNS(*)::VARCHAR" if end.engine == "duckdb" else "*"
    return {table: sorted(map(repr, end.query(f"SELECT {whole} FROM {table}")))
            for table in end.tables()}


def files_below(directory):
    """But for what SQLite's readers keep of each other."""
    found = {}
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if os.path.isfile(path) and not name.endswith("-shm"):
            with open(path, "rb") as data:
                found[name] = hashlib.sha256(data.read()).hexdigest()
    return found


class Untouched:
    """Neither the target nor the state changes within, nor any file beside
    them."""

    def __init__(self, tidemark, *ends):
        self.tidemark, self.ends = tidemark, ends

    def look(self):
        files = [files_below(self.tidemark.dir)]
        files += [files_below(os.path.dirname(end.path)) for end in self.ends
                  if hasattr(end, "path")]
        # A file that is not there is not to be made by looking.
        rows = [everything(end) for end in self.ends
                if not hasattr(end, "path") or os.path.exists(end.path)]
        return files, rows

    def __enter__(self):
        self.before = self.look()
        self.before = self.look()
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            assert self.look() == self.before


def dry_run(tidemark, *args, expect=EXIT_OK):
    done = tidemark("run", "--dry-run", "--json", *args).expect(expect)
    results = done.json()["pipelines"]
    for result in results:
        assert result["dry_run"] is True and result["attempt_id"] is None
        check_accounting(result)
    return results


def counts(result):
    """The marks but for what MySQL's says of when it was looked at."""
    found = {name: result[name] for name in COUNTS}
    for name in ("watermark_before", "watermark_after"):
        if found[name]:
            found[name] = {key: value for key, value in found[name].items()
                           if key != "pending"}
    return found


def agrees(tidemark, source, destination, *args, expect=EXIT_OK):
    """The dry run writes nothing and says what the run right after does."""
    with Untouched(tidemark, destination):
        before = dry_run(tidemark, *args, expect=expect)
    after = tidemark.run(*args, expect=expect).json()["pipelines"]
    for said, did in zip(before, after, strict=True):
        assert counts(said) == counts(did), said["pipeline"]
    return {each["pipeline"]: each for each in before}


def by_purpose(result):
    return {step["purpose"]: step for step in result["plan"]}


def settings_of(tidemark, source, destination, modes=MODES, **settings):
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for mode in modes:
        # A replace has no mark of its own table's rows to look back from.
        tidemark.pipeline(mode, **items_settings(
            source, destination, "timestamp", mode,
            to=f"{destination.schema}.items_{mode}", batch={"rows": 150},
            watermark={"lag": "3650d", "tail": "deliver"}, **settings))
    tidemark.write_config()


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_are_those_of_the_run(tidemark, make_source, make_destination,
                                      engine):
    """Before a first run; with changes; with a new column; with nothing new;
    and of a full refresh."""
    source, destination = make_source("postgres"), make_destination(engine)
    workload.create_items(source, rows=400)
    settings_of(tidemark, source, destination)
    workload.settle(source)
    first = agrees(tidemark, source, destination)
    for mode, result in first.items():
        assert result["rows_inserted"] == 400 and result["lease"] is None
        assert any(" TABLE " in sql for sql in result["ddl"]), mode
        assert "items" in by_purpose(result)["read"]["sql"]
    workload.fill_items(source, 401, 420)
    workload.change_items(source, "id IN (7, 151, 400)")
    workload.settle(source)
    second = agrees(tidemark, source, destination)
    for mode in ("upsert", "delete_insert"):
        assert (second[mode]["rows_inserted"], second[mode]["rows_updated"],
                second[mode]["rows_unchanged"]) == (20, 3, 397)
        assert second[mode]["ddl"] == []
        loads = [step for step in second[mode]["plan"] if step["purpose"] in
                 ("merge", "delete", "update", "insert")]
        assert loads and all(step["index"] or engine == "duckdb"
                             for step in loads), second[mode]["plan"]
        if engine == "duckdb":
            assert all(step["plan"] for step in second[mode]["plan"])
    assert second["append"]["rows_inserted"] == 23
    source.execute("ALTER TABLE items ADD COLUMN extra integer DEFAULT 5")
    third = agrees(tidemark, source, destination)
    assert third["upsert"]["rows_updated"] == 420
    assert any("extra" in sql for sql in third["upsert"]["ddl"])
    again = agrees(tidemark, source, destination, "upsert", "append")
    assert all(each["rows_unchanged"] == 420 for each in again.values())
    fresh = agrees(tidemark, source, destination, "upsert", "--full-refresh")
    assert fresh["upsert"]["rows_inserted"] == 420
    part = agrees(tidemark, source, destination, "upsert", "--max-batches", "1")
    assert part["upsert"]["outcome"] == "stopped"


@pytest.mark.parametrize("kind, strategy", [
    ("postgres", "xmin"), ("postgres", "sequence"), ("mariadb", "timestamp"),
    ("mysql", "sequence"), ("sqlite", "timestamp"), ("duckdb", "timestamp")])
def test_every_source_shows_its_statements(tidemark, make_source,
                                           make_destination, kind, strategy):
    source, destination = make_source(kind), make_destination("sqlite")
    workload.create_items(source, rows=2000)
    if kind == "postgres":
        source.execute("ANALYZE items")
    sync_items(tidemark, source, destination, strategy)
    workload.settle(source)
    agrees(tidemark, source, destination)
    workload.touch_items(source, "id = 20")
    workload.settle(source)
    result, = agrees(tidemark, source, destination).values()
    assert result["rows_updated"] == 1
    read = [step for step in result["plan"] if step["purpose"] == "read"]
    assert read and "items" in read[0]["sql"]
    indexed = strategy != "xmin" and kind != "duckdb"
    assert bool(read[0]["index"]) == indexed, read
    assert read[0]["plan"].startswith("a scan: DuckDB") == (kind == "duckdb")


def test_a_secret_in_an_expression(tidemark, source, make_destination, work_dir):
    """Its statement is shown, and the mask's key is not."""
    path = work_dir / "holds-secret"
    path.write_text(CANARY)
    path.chmod(0o600)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.pipelines["items"]["source"]["expressions"] = {
        "masked": f"md5('${{file:{path}}}' || id)"}
    tidemark.write_config()
    result = tidemark("run", "--dry-run", "--json").expect(EXIT_OK)
    assert "md5('***'" in result.out


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_the_target_refuses(tidemark, make_source, make_destination,
                                      engine):
    source, destination = make_source("postgres"), make_destination(engine)
    workload.create_items(source, rows=2)
    source.execute("UPDATE items SET amount = 1")
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 100}, on_bad_row={"dead_letter": {"limit": 3}})
    tidemark.run()
    poison.refuse_below_zero(destination, f"{destination.schema}.items")
    workload.fill_items(source, 3, 200)
    source.execute("UPDATE items SET amount = 1 WHERE amount IS NULL")
    poison.poison(source, "id IN (1, 60, 199)")
    workload.settle(source)
    result, = agrees(tidemark, source, destination).values()
    assert (result["rows_dead_lettered"], result["rows_inserted"]) == (3, 196)
    poison.poison(source, "id IN (2, 3, 4, 5)")
    workload.settle(source)
    result, = dry_run(tidemark, expect=EXIT_DATA)
    assert "limit is 3" in result["error"]["message"]
    assert tidemark("dead-letters", "list", "--json").json()[
        "dead_letters"].__len__() == 3


def test_what_stands_in_the_way(tidemark, make_source, make_destination):
    """A gate, another's table, a source that is away, flags that make no
    sense: exit codes as those of a run."""
    source, destination = make_source("postgres"), make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp",
               gate={"max": {"quantity": 3}})
    with Untouched(tidemark, destination):
        result, = dry_run(tidemark, expect=EXIT_DATA)
    assert "gate" in result["error"]["message"]
    tidemark.pipelines["items"]["gate"] = {"min_rows": 100}
    tidemark.write_config()
    with Untouched(tidemark, destination):
        dry_run(tidemark, expect=EXIT_DATA)
    del tidemark.pipelines["items"]["gate"]
    tidemark.write_config()
    done = tidemark("run", "--dry-run", "--watch", "1s").expect(EXIT_CONFIG)
    assert "--watch" in done.err
    destination.execute("CREATE TABLE items (id integer, other text)")
    with Untouched(tidemark, destination):
        result, = dry_run(tidemark, expect=EXIT_SCHEMA)
    assert result["error"]["code"] == "schema"
    tidemark.connect("source", "postgresql://nobody@127.0.0.1:1/none")
    tidemark.pipelines["items"]["retry"] = {"attempts": 1}
    tidemark.write_config()
    with Untouched(tidemark, destination):
        dry_run(tidemark, expect=EXIT_ACCESS)


@pytest.mark.parametrize("engine", ("postgres", "mariadb"))
def test_beside_a_run(tidemark, failpoint_binary, make_source,
                      make_destination, engine):
    """It waits for no lock of the run that is under way, and names it."""
    source, destination = make_source("postgres"), make_destination(engine)
    workload.create_items(source, rows=30)
    sync_items(tidemark, source, destination, "timestamp")
    workload.settle(source)
    tidemark.run()
    workload.change_items(source, "id <= 10")
    workload.settle(source)
    plain, tidemark.binary = tidemark.binary, failpoint_binary
    running = tidemark.start("run", failpoints="after_merge=hang")
    try:
        tidemark.binary = plain
        for _ in range(100):
            result, = dry_run(tidemark)
            if result["lease"]:
                break
        assert result["lease"]["pid"] == running.process.pid
        assert (result["rows_updated"], result["rows_unchanged"]) == (10, 0)
    finally:
        running.kill()
    assert tidemark.run().pipeline()["rows_updated"] == 10


@pytest.mark.parametrize("engine, log", (("sqlite", "-wal"),
                                         ("duckdb", ".wal")))
def test_after_a_kill(tidemark, failpoint_binary, make_source,
                      make_destination, engine, log):
    """The dry run reads the log that the killed run has left beside the file,
    and does not fold it in."""
    source, destination = make_source("postgres"), make_destination(engine)
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp", batch={"rows": 20})
    workload.settle(source)
    plain, tidemark.binary = tidemark.binary, failpoint_binary
    # Batches grow: how many there are depends on how quick they are, but the
    # first two never have all rows.
    killed = tidemark.start("run", failpoints="before_merge=kill@3").wait()
    assert killed.code < 0, killed
    tidemark.binary = plain
    places = tidemark.dir, os.path.dirname(destination.path)
    before = [files_below(place) for place in places]
    assert os.path.getsize(destination.path + log)
    result, = dry_run(tidemark)
    assert [files_below(place) for place in places] == before
    rest = tidemark.run().pipeline()["rows_inserted"]
    assert 0 < result["rows_inserted"] == rest < 100, result


def test_at_the_pace_that_is_set(tidemark, make_source, make_destination):
    """It reads what a run reads, and beside the same production."""
    source, destination = make_source("postgres"), make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark("pace", "items", "rows_per_second=100000").expect(EXIT_OK)
    with Untouched(tidemark, destination):
        done = tidemark("run", "--dry-run").expect(EXIT_OK)
    assert '{"rows_per_second":"100000"}' in done.err


def test_what_people_read(tidemark, make_source, make_destination):
    source, destination = make_source("sqlite"), make_destination("sqlite")
    workload.create_items(source, rows=30)
    done = tidemark("copy", source.url(), destination.url(), "--table",
                    "items", "--watermark", "timestamp:updated_at",
                    "--dry-run").expect(EXIT_OK)
    assert "nothing was written" in done.out
    assert "30 rows read (30 inserted" in done.out
    assert "CREATE TABLE" in done.out and "by index" in done.out
    assert not os.path.exists(destination.path)
    assert not os.path.exists(os.path.join(tidemark.dir, ".tidemark"))

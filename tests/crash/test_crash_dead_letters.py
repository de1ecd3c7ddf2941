"""A run dies while it loads a batch with bad rows in pieces, or between its
letters and its mark. No row is lost, none is doubled, none is both."""

import signal

import pytest

import ends
import oracle
import poison
import workload
from bench import EXIT_ACCESS, EXIT_OK, sync_items
from failpoints import DESTINATIONS
from servers import wait_for
from state import StateStore

ROWS, BAD = 120, (7, 8, 70)


def ids(end, table):
    return sorted(row[0] for row in end.rows(table, {"id": "int"}))


def letters(tidemark):
    found = tidemark("dead-letters", "list", "--json").expect(EXIT_OK)
    return sorted(each["key"]["id"] for each in found.json()["dead_letters"])


@pytest.fixture
def victim(tidemark_failpoints, source, make_destination):
    def make(engine, mode):
        destination = make_destination(engine)
        workload.create_items(source, rows=2)
        source.execute("UPDATE items SET amount = 1")
        sync_items(tidemark_failpoints, source, destination, "timestamp", mode,
                   on_bad_row="dead_letter", batch={"rows": 50},
                   retry={"attempts": 2, "backoff": "5ms"})
        tidemark_failpoints.run()
        table = f"{destination.schema}.items"
        raw = destination.raw(table) if mode == "append" else table
        poison.refuse_below_zero(destination, raw)
        workload.fill_items(source, 3, ROWS)
        source.execute("UPDATE items SET amount = 1 WHERE amount IS NULL",
                       "UPDATE items SET quantity = -1, amount = NULL "
                       f"WHERE id IN {BAD}")
        return destination, table, raw
    return make


# Engines that can be made to refuse a row.
ENGINES = [engine for engine in DESTINATIONS if engine in poison.REASON]
# Between pieces early and late, before and after the mark's move.
DEATHS = ("piece_loaded=kill@1", "piece_loaded=kill@5", "letters_saved=kill@1",
          "commit_sent=kill@3", "after_watermark=kill@4",
          "letters_saved=kill@2")


def cases():
    """Deaths and engines pairwise, modes taking turns."""
    modes = ("upsert", "append", "delete_insert")
    return [(death, engine, modes[(i + k) % 3])
            for i, death in enumerate(DEATHS)
            for k, engine in enumerate(ENGINES)
            if engine == "sqlite" or (i + k) % 3 == 0]


@pytest.mark.parametrize("death,engine,mode", cases())
def test_killed_on_the_way(victim, tidemark_failpoints, source, death, engine,
                           mode):
    tidemark = tidemark_failpoints
    destination, table, raw = victim(engine, mode)
    assert tidemark.killed(failpoints=death)
    result = tidemark.run().pipeline()
    assert result["outcome"] == "caught_up"
    assert letters(tidemark) == sorted(BAD)
    assert ids(destination, table) == [n for n in range(1, ROWS + 1)
                                       if n not in BAD]
    if mode == "append":
        rows = destination.rows(raw, oracle.ITEMS)
        assert len(rows) == len(set(rows)), "a version was appended twice"
    assert tidemark.run().pipeline()["rows_read"] == 0
    poison.mend(source, f"id IN {BAD}")
    workload.settle(source)
    tidemark.run()
    assert letters(tidemark) == []
    oracle.check_equal(source, destination, "items", table, oracle.ITEMS,
                       pipeline="items")


@pytest.mark.parametrize("engine", ("postgres", "sqlite"))
def test_pieces_are_known_as_delivered(victim, tidemark_failpoints, source,
                                       engine):
    """A row was loaded in a piece before the run died. It comes again with an
    older mark, from a transaction that began before: it is the newer one."""
    tidemark = tidemark_failpoints
    destination, table, _ = victim(engine, "upsert")
    assert tidemark.killed(failpoints="piece_loaded=kill@3")
    end = destination if engine == "postgres" else destination.after_crash()
    loaded = [row for row in ids(end, table) if row >= 10]
    assert loaded, "no piece was loaded"
    source.execute("UPDATE items SET quantity = 99, updated_at = timestamptz "
                   "'2024-03-01 00:00:00.501+00' WHERE id = "
                   f"{loaded[-1]}")
    # In a batch of its own: nothing beside it that is newer.
    tidemark.pipelines["items"]["batch"] = {"rows": 1, "target": "1ms"}
    tidemark.write_config().run("--max-batches", "12")
    tidemark.pipelines["items"]["batch"] = {"rows": 50}
    poison.mend(source, f"id IN {BAD}")
    workload.settle(source)
    tidemark.write_config().run()
    oracle.check_equal(source, destination, "items", table, oracle.ITEMS,
                       pipeline="items")


@pytest.mark.parametrize("store", ("sqlite", "postgres"))
def test_a_newer_letter_outlives_a_sleeper(victim, tidemark_failpoints, source,
                                           make_database, store):
    """Stopped past its lease with a mended row loaded and its letter still to
    be deleted. Meanwhile another run has found the row bad again: its letter
    is all there is of that version."""
    tidemark = tidemark_failpoints
    end = make_database("state") if store == "postgres" else None
    tidemark.top["state"] = StateStore(tidemark, end).terms("1s")
    destination, _, _ = victim("postgres", "upsert")
    tidemark.run()
    poison.mend(source, "id = 8")
    workload.settle(source)
    sleeper = tidemark.start("run", failpoints="commit_acked=stop@1")
    wait_for(sleeper.stopped, what="the commit")
    poison.poison(source, "id = 8")
    workload.settle(source)
    tidemark.run("--wait", "10s")
    sleeper.signal(signal.SIGCONT)
    sleeper.wait()
    assert destination.query("SELECT quantity FROM items WHERE id = 8") == [
        (1,)]
    assert letters(tidemark) == sorted(BAD)


@pytest.mark.parametrize("tries", (2, 1))
def test_store_fails_behind_a_mended_row(victim, tidemark_failpoints, source,
                                         tries):
    """Its row is loaded, and no later try reads it again: its letter goes all
    the same."""
    tidemark = tidemark_failpoints
    destination, table, _ = victim("sqlite", "upsert")
    tidemark.run()
    poison.mend(source, "id = 8")
    workload.settle(source)
    tidemark.pipelines["items"]["retry"]["attempts"] = tries
    tidemark.write_config()
    done = tidemark("run", failpoints="state_saved=error@1")
    assert "failpoint state_saved" in done.err, done
    assert done.code == (EXIT_OK if tries > 1 else EXIT_ACCESS), done
    assert 8 in ids(destination, table)
    assert letters(tidemark) == [7, 70]


def test_letters_outlive_a_crash_of_their_server(
        victim, tidemark_failpoints, own_cluster):
    """Behind the letters the mark moves: nothing would read the rows again."""
    tidemark = tidemark_failpoints
    server = own_cluster(settings={"wal_writer_delay": "10s"})
    server.create_database("state")
    tidemark.top["state"] = StateStore(
        tidemark, ends.PostgresEnd(server, "state")).terms("1s")
    victim("sqlite", "upsert")
    run = tidemark.start("run", failpoints="letters_saved=stop@1")
    wait_for(run.stopped, what="the letters")
    server.stop("immediate")
    run.kill()
    server.start()
    found = letters(tidemark)
    assert found and set(found) <= set(BAD), found

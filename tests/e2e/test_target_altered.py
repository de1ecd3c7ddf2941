"""Somebody alters the target while a run loads it."""

import signal

import pytest

import workload
from bench import EXIT_DATA, EXIT_OK, EXIT_SCHEMA, sync_items
from oracle import check_items
from servers import wait_for

TAKE = {
    "postgres": (
        "CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER taker BEFORE INSERT OR UPDATE ON items FOR EACH ROW "
        "EXECUTE FUNCTION take()"),
    "sqlite": ("CREATE TRIGGER taker BEFORE INSERT ON items BEGIN "
               "SELECT RAISE(IGNORE); END",),
}


def alter(tidemark, source, destination, *statements,
          failpoint="commit_acked"):
    """Run, and let the statements come between its first two batches, or at
    another failpoint of the first."""
    workload.create_items(source, rows=1000)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200}, retry={"attempts": 3, "backoff": "100ms"})
    run = tidemark.start("run", "--json", failpoints=f"{failpoint}=stop@1")
    wait_for(lambda: run.stopped() or not run.alive(), step=0.01,
             what="the failpoint")
    destination.execute(*statements)
    run.signal(signal.SIGCONT)
    return run.wait()


@pytest.mark.parametrize("engine", TAKE)
def test_trigger_that_comes_between_two_batches(tidemark_failpoints, source,
                                                make_destination, engine):
    """The run looks at the table anew, and then names the trigger: the rows
    that it takes away do not count as unchanged."""
    tidemark = tidemark_failpoints
    destination = make_destination(engine)
    done = alter(tidemark, source, destination, *TAKE[engine]).expect(EXIT_DATA)
    assert "was altered while the run loaded it" in done.err, done
    assert "trigger taker" in done.pipeline()["error"]["message"], done
    destination.execute("DROP TRIGGER taker" +
                        " ON items" * (engine == "postgres"))
    tidemark("run", "--json").expect(EXIT_OK)
    check_items(source, destination)


def test_target_truncated_between_two_batches(tidemark_failpoints, source,
                                              make_destination):
    """The rows of the batch before lie below the mark: the run stops, as one
    that begins with an emptied target does."""
    tidemark = tidemark_failpoints
    destination = make_destination("postgres")
    done = alter(tidemark, source, destination, "TRUNCATE items").expect(EXIT_SCHEMA)
    assert "or it was truncated" in done.err, done
    assert "200 rows were delivered" in done.pipeline()["error"]["message"]
    tidemark("run", "--full-refresh").expect(EXIT_OK)
    check_items(source, destination)

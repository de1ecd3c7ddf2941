"""One chunk by its name, as a scheduler of somebody else's calls it."""

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_STATE, sync_items)
from oracle import check_items
from servers import wait_for
from test_backfill import chunks, damage, in_store, no_rows_left


@pytest.fixture
def queued(tidemark_failpoints, source, make_destination):
    """Three chunks of a damaged table. `ids` are theirs."""
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    workload.create_items(source, rows=90)
    sync_items(tidemark, source, destination, "sequence", batch={"rows": 10})
    tidemark.run()
    damage(destination)
    tidemark.destination = destination
    tidemark.ids = [each["chunk_id"] for each in chunks(
        tidemark, "--queue", "--chunk-rows", "30")]
    assert len(tidemark.ids) == 3
    return tidemark


def work(tidemark, name, *args, expect=EXIT_OK, **more):
    return tidemark("worker", "--chunk", name, "--json", *args,
                    **more).expect(expect)


def test_each_once(queued, source):
    for name in reversed(queued.ids):
        done = work(queued, name).json()
        assert done["chunk_id"] == name and done["pipeline"] == "items"
        assert (done["state"], done["rows"], done["attempts"]) == (
            "done", 30, 1)
        assert done["verified"] is True and done["seconds"] >= 0
        assert done["started_at"] and done["ended_at"]
        assert done["error"] is None and done["error_code"] is None
    check_items(source, queued.destination)
    no_rows_left(queued.destination)
    # As a scheduler that never heard the answer.
    again = work(queued, queued.ids[0]).json()
    assert again["state"] == "done" and again["attempts"] == 1
    assert "done, 30 rows" in queued(
        "worker", "--chunk", queued.ids[0]).expect(EXIT_OK).out


def test_names_that_cannot_be(queued):
    first, *_ = queued.ids
    backfill = first.rpartition("/")[0]
    several = work(queued, backfill, expect=EXIT_CONFIG)
    assert "3 chunks begin with" in several.err
    assert "no chunk items/no" in work(queued, "items/no",
                                       expect=EXIT_CONFIG).err
    for flag in (("--once",), ("--chunks",), ("--interval", "1s")):
        assert "alone" in work(queued, first, *flag, expect=EXIT_CONFIG).err
    queued.pipelines["others"] = {
        **queued.pipelines["items"],
        "destination": {**queued.pipelines["items"]["destination"],
                        "table": "others"}}
    queued.write_config()
    alien = work(queued, first, "others", expect=EXIT_CONFIG)
    assert "of pipeline items" in alien.err
    del queued.pipelines["others"]
    queued.pipelines["items"]["source"]["where"] = "id > 5"
    queued.write_config()
    other = work(queued, first, expect=EXIT_CONFIG)
    assert "another config" in other.err
    assert {each[1:3] for each in in_store(queued)} == {("queued", 0)}


def test_another_has_it(queued, source):
    """Its lease says so, until its process is gone."""
    first = queued.ids[0]
    holder = queued.start("worker", "--chunk", first, "--json",
                          failpoints="mid_load=stop@1")
    wait_for(holder.stopped, what="its first batch")
    busy = work(queued, first, expect=EXIT_STATE)
    assert busy.json()["state"] == "running"
    assert "another worker has chunk" in busy.err
    holder.kill()
    done = work(queued, first).json()
    assert (done["state"], done["attempts"]) == ("done", 2)
    for name in queued.ids[1:]:
        work(queued, name)
    check_items(source, queued.destination)


def test_one_that_was_set_aside_is_tried_again(queued, source):
    queued.destination.execute(
        "UPDATE items SET quantity = 1 WHERE quantity = 777",
        "ALTER TABLE items ADD CONSTRAINT poison CHECK (id <> 42) NOT VALID")
    failed = work(queued, queued.ids[1], expect=EXIT_DATA)
    assert failed.json()["state"] == "failed"
    assert failed.json()["error_code"] == "data"
    assert failed.json()["verified"] is False
    assert "poison" in failed.json()["error"]
    work(queued, queued.ids[0])
    work(queued, queued.ids[1], expect=EXIT_DATA)
    queued.destination.execute("ALTER TABLE items DROP CONSTRAINT poison")
    assert work(queued, queued.ids[1]).json()["state"] == "done"
    work(queued, queued.ids[2])
    check_items(source, queued.destination)


def test_completion_knows_those_that_are_left(queued):
    def words(*line):
        out = queued("completion", "words", "--", "tidemark", "-c",
                     queued.config, *line).expect(EXIT_OK).out
        return [each.split("\t")[0] for each in out.splitlines()]
    assert words("worker", "--chunk", "") == queued.ids
    work(queued, queued.ids[0])
    assert words("worker", "--chunk", "items") == queued.ids[1:]
    queued.top["state"] = "postgresql://nobody@127.0.0.1:1/none"
    queued.write_config()
    assert words("worker", "--chunk", "") == []

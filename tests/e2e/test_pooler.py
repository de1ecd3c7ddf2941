"""A pooler between Tidemark and PostgreSQL. In session mode all is as without
it. In the other modes a session would not keep its locks and settings: it is
refused before anything is read or written."""

import pytest

import workload
from bench import EXIT_ACCESS, EXIT_OK, sync_items
from oracle import check_items
from pooler import Pooler
from test_pool import add_pipelines, attempts, check_tables, make_tables


@pytest.fixture
def make_pooler():
    made = []

    def make(end, mode, **settings):
        pooler = Pooler(end.cluster, mode, **settings)
        made.append(pooler)
        return pooler.start()

    yield make
    for pooler in made:
        pooler.remove()


def test_session_mode(make_database, make_pooler, tidemark):
    source, destination = make_database("source"), make_database("warehouse")
    state = make_database("state")
    make_tables(source)
    pooler = make_pooler(source, "session")
    tidemark.connect("source", pooler.connection(source))
    tidemark.connect("warehouse", pooler.connection(destination))
    tidemark.top["state"] = pooler.connection(state)
    add_pipelines(tidemark, source, destination)
    for _ in range(2):
        tidemark.run()
    check_tables(source, destination)
    assert set(attempts(tidemark)) == {1}
    tidemark("verify").expect(EXIT_OK)


@pytest.mark.parametrize("mode, which", (
    ("transaction", "source"), ("transaction", "warehouse"),
    ("transaction", "state"), ("statement", "source")))
def test_other_modes_are_refused(mode, which, make_database, make_pooler,
                                 tidemark):
    ends = {name: make_database(name)
            for name in ("source", "warehouse", "state")}
    workload.create_items(ends["source"], rows=50)
    sync_items(tidemark, ends["source"], ends["warehouse"], "timestamp",
               retry={"attempts": 1})
    pooler = make_pooler(ends["source"], mode)
    places = {name: end.connection() for name, end in ends.items()}
    places[which] = pooler.connection(ends[which])
    tidemark.connect("source", places["source"])
    tidemark.connect("warehouse", places["warehouse"])
    tidemark.top["state"] = places["state"]
    tidemark.write_config()
    for _ in range(2):
        done = tidemark("run").expect(EXIT_ACCESS)
        assert "pool_mode = session" in done.err, done
    assert "items" not in "".join(ends["warehouse"].tables())
    pooler.remove()
    places[which] = ends[which].connection()
    tidemark.connect("source", places["source"])
    tidemark.connect("warehouse", places["warehouse"])
    tidemark.top["state"] = places["state"]
    tidemark.write_config().run()
    check_items(ends["source"], ends["warehouse"])


def test_sessions_that_nobody_resets(make_database, make_pooler, tidemark):
    """Statements that an earlier process has prepared are still there."""
    source, destination = make_database("source"), make_database("warehouse")
    make_tables(source)
    pooler = make_pooler(source, "session", server_reset_query="")
    tidemark.connect("source", pooler.connection(source))
    tidemark.connect("warehouse", pooler.connection(destination))
    add_pipelines(tidemark, source, destination)
    for _ in range(2):
        tidemark.run("--jobs", "1")
    check_tables(source, destination)
    assert set(attempts(tidemark)) == {1}

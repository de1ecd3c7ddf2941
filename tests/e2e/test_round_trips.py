"""How often an idle run waits for an answer of its servers. Over a distance each
question costs its way there and back, so a guard must travel with a question
that is asked anyway. The proxies count. A session's first bytes, TLS and the
password are round trips as well; a goodbye, which nobody answers, is none."""

import operator

import pytest

import workload
from bench import sync_items

# (source, strategy, destination) -> round trips to the source, and to the
# destination. To lower one is progress; to raise one needs a reason. One of the
# seven to PostgreSQL costs no time: the source is asked meanwhile, and the new
# process gets to know the catalogs.
MOST = {
    ("postgres", "timestamp", "postgres"): (7, 7),
    ("postgres", "xmin", "postgres"): (9, 7),
    ("postgres", "sequence", "postgres"): (8, 7),
    ("mariadb", "timestamp", "mariadb"): (4, 3),
    ("mariadb", "sequence", "mariadb"): (4, 3),
    ("mysql", "timestamp", "mysql"): (4, 3),
    ("mysql", "sequence", "mysql"): (4, 3),
    ("postgres", "timestamp", "clickhouse"): (7, 4),
}
TRIES = 5
# A message of many questions is sent before the first answer comes.
DISTANCE = 0.05


@pytest.mark.parametrize("kinds", MOST, ids="-".join)
def test_an_idle_run_asks_no_more_than_this(tidemark, make_source,
                                            make_destination, make_proxy,
                                            kinds):
    kind, strategy, engine = kinds
    source, destination = make_source(kind), make_destination(engine)
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, strategy)
    tidemark.run()
    workload.settle(source)
    tidemark.run()
    asked = make_proxy(source, DISTANCE)
    told = make_proxy(destination, DISTANCE)
    tidemark.connect("source", asked.connection(source))
    tidemark.connect("warehouse", told.connection(destination))
    tidemark.write_config()
    # A run that waits until the source has flushed its log, or for another
    # session's transaction, is not idle: the next one is.
    for _ in range(TRIES):
        before = asked.round_trips, told.round_trips
        assert tidemark.run().pipeline()["rows_read"] == 0
        counted = (asked.round_trips - before[0], told.round_trips - before[1])
        if all(map(operator.le, counted, MOST[kinds])):
            return
    raise AssertionError(
        f"{kinds}: {counted} round trips, at most {MOST[kinds]}")


# Ten pipelines one after the other: to the source, the destination, and the
# state store in PostgreSQL. Two of them are for all ten tables, at each end, and
# a session that is reset for the next pipeline is counted, too. The state store
# is near, for answers that serve all are soon too old.
TABLES = 10
MOST_OF_TEN = (28, 28, 121)
NEARER = (0.02, 0.02, 0)


def check_ten(tidemark, proxies, most):
    for _ in range(TRIES):
        before = [proxy.round_trips for proxy in proxies]
        tidemark.run("--jobs", "1")
        counted = tuple(proxy.round_trips - old
                        for proxy, old in zip(proxies, before))
        if all(map(operator.le, counted, most)):
            return
    raise AssertionError(f"{counted} round trips, at most {most}")


def test_ten_idle_pipelines_ask_no_more_than_this(tidemark, make_database,
                                                  make_proxy):
    ends = [make_database(name) for name in ("source", "warehouse", "state")]
    proxies = [make_proxy(*near) for near in zip(ends, NEARER)]
    for i in range(TABLES):
        ends[0].execute(
            f"CREATE TABLE t{i} (id bigint PRIMARY KEY,"
            " at timestamptz NOT NULL DEFAULT now())",
            f"INSERT INTO t{i} VALUES (1), (2)")
        tidemark.pipeline(
            f"p{i}", source={"connection": "source", "table": f"public.t{i}"},
            destination={"connection": "warehouse", "table": f"public.t{i}"},
            watermark={"strategy": "timestamp", "column": "at"})
    for name, end in zip(("source", "warehouse"), ends):
        tidemark.connect(name, end.connection())
    tidemark.top["state"] = ends[2].connection()
    tidemark.write_config()
    tidemark.run()
    workload.settle(ends[0])
    tidemark.run()
    for name, proxy, end in zip(("source", "warehouse"), proxies, ends):
        tidemark.connect(name, proxy.connection(end))
    tidemark.top["state"] = proxies[2].connection(ends[2])
    tidemark.write_config()
    check_ten(tidemark, proxies, MOST_OF_TEN)


# To the source and the destination.
MOST_OF_TEN_ITEMS = {"mariadb": (31, 21), "mysql": (31, 21)}


@pytest.mark.parametrize("kind", MOST_OF_TEN_ITEMS)
def test_ten_idle_tables_ask_no_more_than_this(tidemark, make_source,
                                               make_destination, make_proxy,
                                               kind):
    ends = [make_source(kind), make_destination(kind)]
    proxies = [make_proxy(end, DISTANCE) for end in ends]
    for i in range(TABLES):
        workload.create_items(ends[0], f"t{i}", rows=2)
        sync_items(tidemark, *ends, "timestamp", name=f"p{i}",
                   table=f"t{i}")
    tidemark.run()
    workload.settle(ends[0])
    tidemark.run()
    for name, proxy, end in zip(("source", "warehouse"), proxies, ends):
        tidemark.connect(name, proxy.connection(end))
    tidemark.write_config()
    check_ten(tidemark, proxies, MOST_OF_TEN_ITEMS[kind])

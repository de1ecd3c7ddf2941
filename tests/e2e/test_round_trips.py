"""How often an idle run asks its servers. Over a distance each question costs
its way there and back, so a guard must travel with a question that is asked
anyway. The proxies count. A session's first bytes, TLS and the password are
round trips as well."""

import operator

import pytest

import workload
from bench import sync_items

# (source, strategy, destination) -> round trips to the source, and to the
# destination. To lower one is progress; to raise one needs a reason.
MOST = {
    ("postgres", "timestamp", "postgres"): (9, 29),
    ("postgres", "xmin", "postgres"): (10, 33),
    ("postgres", "sequence", "postgres"): (10, 29),
    ("mariadb", "timestamp", "mariadb"): (16, 8),
    ("mariadb", "sequence", "mariadb"): (17, 8),
    ("mysql", "timestamp", "mysql"): (16, 8),
    ("mysql", "sequence", "mysql"): (17, 8),
    ("postgres", "timestamp", "clickhouse"): (9, 14),
}
TRIES = 5


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
    asked, told = make_proxy(source), make_proxy(destination)
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

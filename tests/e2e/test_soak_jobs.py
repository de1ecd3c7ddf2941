"""The soak of test_soak.py over many tables, eight of them side by side."""

import random

import pytest

import oracle
import workload
from bench import items_settings, written
from test_soak import STRATEGIES, check_worked, watch_and_kill

JOBS = ("--jobs", "8")


def configure(tidemark, source, destinations, tables):
    """The ends and the strategies are dealt out; where each table goes."""
    tidemark.connect("source", source.connection())
    for end in destinations:
        tidemark.connect(end.engine, end.connection())
    goes = {}
    for i, table in enumerate(tables):
        # Few go into the file, which has one writer at a time.
        end = destinations[(i % 8 + 1) // 4 % len(destinations)]
        settings = items_settings(
            source, end, STRATEGIES[i % 3], table=table, batch={"rows": 20})
        settings["destination"]["connection"] = end.engine
        tidemark.pipeline(table, **settings)
        goes[table] = end
    tidemark.write_config()
    return goes


@pytest.mark.parametrize("engines", [
    pytest.param(engines, id="-".join(engines),
                 marks=() if "duckdb" in engines else pytest.mark.threads)
    for engines in (("postgres",), ("postgres", "mariadb", "duckdb"))])
def test_many_tables(tidemark, source, make_destination, full, engines,
                     record_property):
    seconds = 60 if full else 10
    tables = [f"t{i:03}" for i in range(200 if full else 30)]
    destinations = [make_destination(engine) for engine in engines]
    for table in tables:
        workload.create_items(source, table, 50)
    goes = configure(tidemark, source, destinations, tables)
    with workload.Writers(source, tables, threads=4) as writers:
        kills, in_run = watch_and_kill(tidemark, seconds, random.Random(5),
                                       *JOBS)
    workload.settle(source)
    rest = tidemark.run(*JOBS, "--wait", "60s").json()["pipelines"]
    for result in tidemark.run(*JOBS).json()["pipelines"]:
        assert result["rows_read"] == written(result) == 0, result
    check_worked(tidemark, kills, in_run, seconds)
    for table, end in goes.items():
        oracle.check_equal(source, end, table, f"{end.schema}.{table}",
                           oracle.ITEMS, pipeline=table, leftovers=False)
    for end in (source, *destinations):
        oracle.check_leftovers(end)
    record_property("figures", f"{len(tables)} tables, {seconds} s: "
                    f"{writers.figures()}; {kills} kills, {in_run} in "
                    "mid-run; left for the end: "
                    f"{sum(each['rows_read'] for each in rest)} rows")

"""A file that many pipelines share, one after the other."""

from bench import EXIT_OK


def load(tidemark, source, destination, n):
    """The peak, in KiB, of small changes of `n` tables."""
    tidemark.pipelines.clear()
    for i in range(n):
        tidemark.pipeline(
            f"p{i}",
            source={"connection": "source", "table": f"{source.schema}.t{i}"},
            destination={"connection": "warehouse", "table": f"main.t{i}"},
            watermark={"strategy": "sequence", "column": "seq"},
            load={"mode": "upsert"})
    tidemark.write_config().run()
    for i in range(n):
        source.execute(f"UPDATE t{i} SET seq = seq + 1000, note = 'new' "
                       "WHERE id <= 5")
    done, peak = tidemark.run_measured("--jobs", "1")
    assert done.code == EXIT_OK
    assert destination.query("SELECT count(*) FROM t0 WHERE note = 'new'") \
        == [(5,)]
    return peak


def test_tables_that_are_done_hold_no_memory(tidemark, source,
                                             make_destination):
    """DuckDB lets go of one table for the next ones."""
    destination = make_destination("duckdb")
    for i in range(40):
        source.execute(
            f"CREATE TABLE t{i} (id bigint PRIMARY KEY, n int, note text, "
            "at timestamptz, seq bigint NOT NULL)",
            f"INSERT INTO t{i} SELECT g, g % 7, 'note ' || g, now(), g FROM "
            "generate_series(1, 200) g")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    few = load(tidemark, source, destination, 4)
    many = load(tidemark, source, destination, 40)
    assert many < few + 40 * 1024, (few, many)

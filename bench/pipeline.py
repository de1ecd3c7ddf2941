"""Jobs of a pipeline that is in a config file: orders, Postgres to Postgres."""

import os

CONFIG = """version: 1
state: sqlite:{directory}/state-pipeline.db
connections:
  source: {source}
  target: {target}
pipelines:
  orders:
    source: {{ connection: source, table: public.orders }}
    destination: {{ connection: target, table: public.orders }}
    watermark: {{ strategy: timestamp, column: updated_at }}
"""


class Pipeline:
    def __init__(self, bench):
        self.bench = bench
        self.config = os.path.join(bench.dir, "pipeline.yaml")
        with open(self.config, "w", encoding="ascii") as out:
            out.write(CONFIG.format(directory=bench.dir,
                                    source=bench.url("source"),
                                    target=bench.url("target")))

    def tidemark(self, *arguments, code=0):
        """Seconds, MiB."""
        return self.bench.peak_run(
            [self.bench.options.binary, "-q", "-c", self.config, *arguments],
            self.bench.env, os.path.join(self.bench.dir, "peak"),
            code=code)[:2]


def backfill(bench):
    """Every row but one into a table that has lost them, each chunk
    compared with the source after that."""
    pipeline = Pipeline(bench)
    bench.reset_target()
    pipeline.tidemark("run")

    def lose():
        bench.sql("target", "delete from orders where id > 1")
        bench.vacuum()

    bench.measure("backfill, Postgres", {
        f"tidemark, {workers} worker{'s' if workers > 1 else ''}": (
            lose,
            lambda n=workers: pipeline.tidemark(
                "backfill", "orders", "--again", "--workers", str(n),
                "--chunk-rows", str(max(1000, bench.rows // 20))),
            "postgres") for workers in (1, 2, 4)}, bench.rows)


def dry_run(bench):
    """The cost of a dry run of a delta beside the run itself."""
    pipeline = Pipeline(bench)
    bench.reset_target()
    pipeline.tidemark("run")
    generation = iter(range(100, 1000))

    def change():
        bench.change(next(generation))
        bench.vacuum()

    bench.measure("delta, Postgres, dry", {
        "tidemark run": (change, lambda: pipeline.tidemark("run"),
                         "postgres"),
        "tidemark run --dry-run": (
            change, lambda: pipeline.tidemark("run", "--dry-run"), None)},
                  bench.changed + bench.added)

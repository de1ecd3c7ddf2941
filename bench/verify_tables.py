"""`tidemark verify` of a Postgres table against its copy. The other contenders
are the least cost of reading both, a count and checksum computed in the
servers, and reladiff from PyPI. Every contender looks at both sides at the same
time."""

import os
import subprocess
import sys
import time

from pipeline import Pipeline
from servers import CANARY

RELADIFF = "0.6.0"
TIMES = 4  # the rows of the other jobs
CHECKSUM = ("select count(*), sum(('x' || substr(md5(o::text), 1, 16))"
            "::bit(64)::bigint::numeric) from orders o")


def reladiff_command():
    """Its own environment, made when first asked for."""
    cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    venv = os.path.join(cache, "tidemark-tests", f"reladiff-{RELADIFF}")
    command = os.path.join(venv, "bin", "reladiff")
    if not os.path.exists(command):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([f"{venv}/bin/pip", "install", "--quiet",
                        "--disable-pip-version-check",
                        f"reladiff=={RELADIFF}", "psycopg2-binary"],
                       check=True)
    return command


class Verifying(Pipeline):
    def __init__(self, bench):
        super().__init__(bench)
        bench.reset_target()
        self.tidemark("run")
        bench.vacuum()

    def both(self, sql):
        """Ask both at once; seconds until both have answered."""
        cluster = self.bench.cluster
        env = dict(os.environ, PGHOST=cluster.dir, PGPORT=str(cluster.port),
                   PGUSER="postgres",
                   PATH=f"{cluster.bin}:{os.environ['PATH']}")
        begun = time.monotonic()
        children = [subprocess.Popen(["psql", "-qXc", sql, database], env=env,
                                     stdout=subprocess.DEVNULL)
                    for database in ("source", "target")]
        if any(child.wait() for child in children):
            sys.exit(f"psql failed: {sql}")
        return time.monotonic() - begun, None

    def reladiff(self, differs):
        cluster = self.bench.cluster
        urls = [f"postgresql://app:{CANARY}@127.0.0.1:{cluster.port}/{name}"
                for name in ("source", "target")]
        seconds, peak, out = self.bench.peak_run(
            [reladiff_command(), urls[0], "orders", urls[1], "orders",
             "-k", "id", "-c", "%"], dict(os.environ),
            os.path.join(self.bench.dir, "peak"))
        if bool(out.strip()) != differs:
            sys.exit(f"reladiff found: {out!r}")
        return seconds, peak

    def contenders(self, differs):
        code = 7 if differs else 0
        found = {
            "COPY of both to nowhere": lambda: self.both(
                "copy orders to stdout binary"),
            "count and md5 in the servers": lambda: self.both(CHECKSUM),
            "reladiff": lambda: self.reladiff(differs),
            "tidemark": lambda: self.tidemark("verify", code=code)}
        if self.bench.options.smoke:
            del found["reladiff"]
        return {name: (lambda: None, run, None) for name, run in found.items()}


def verify(bench):
    """Use a table that takes longer than the start of a process. The tables of
    the other jobs are gone after that."""
    bench.rows *= TIMES
    bench.fill()
    verifying = Verifying(bench)
    bench.measure("verify, equal", verifying.contenders(False), bench.rows)
    bench.sql("target", "update orders set note = 'another' "
                        f"where id = {bench.rows // 2}")
    bench.measure("verify, one wrong row", verifying.contenders(True),
                  bench.rows)
    bench.rows //= TIMES

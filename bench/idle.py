"""The looks of a worker that finds no work: the third part of scale.py.

All chunks are in the hands of a thousand workers of other machines, whose leases
live. One worker of this machine looks for work.
"""

import signal
import time

from servers import wait_for

AFAR = ("DELETE FROM tidemark.chunks",
        "DELETE FROM tidemark.leases WHERE name LIKE '%/%'",
        "INSERT INTO tidemark.chunks (chunk_id, number, state, attempts, {names})"
        " SELECT 'items/made/' || n, n, CASE WHEN n > {running} THEN 'done'"
        " ELSE 'running' END, 1, {names} FROM public.one,"
        " generate_series(1, {all}) n",
        "INSERT INTO tidemark.leases (name, fence, holder, host, pid, process,"
        " session, since, until) SELECT 'items/made/' || n, 1, 'live', 'far', 1,"
        " 'far/1/1', '', 0, 4102444800000000"
        " FROM generate_series(1, {running}) n", "VACUUM ANALYZE")
CALLS = ("SELECT coalesce(sum(calls), 0), coalesce(sum(total_exec_time), 0)"
         " FROM public.pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database"
         " WHERE datname = current_database())"
         " AND userid = 'app'::regrole")
# The statement by which each look begins, in builds of both kinds.
LOOKS = ("SELECT coalesce(sum(calls), 0) FROM public.pg_stat_statements"
         r" WHERE query ~ '^SELECT \$?\d FROM chunks'"
         " AND query ~ 'UNION ALL|chunk_id IN'")


def looks(place, made, running, others, seconds):
    """Statements and milliseconds of the server, for one look."""
    values = {"names": ", ".join(made.columns()), "running": running,
              "all": running + others}
    made.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements"
                 " SCHEMA public",
                 *(sql.format(**values) for sql in AFAR))
    worker = place.start()
    wait_for(lambda: made.query(LOOKS)[0][0], what="the first look")
    made.execute("SELECT public.pg_stat_statements_reset()")
    time.sleep(seconds)
    calls, spent = made.query(CALLS)[0]
    n = made.query(LOOKS)[0][0]
    worker.send_signal(signal.SIGTERM)
    worker.communicate()
    return {"calls": float(calls) / max(1, float(n)),
            "spent": spent / max(1, float(n))}

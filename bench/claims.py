"""The statements by which a worker claims, keeps and settles a chunk, as the
binary sends them, for pgbench to send again from many sessions.

They are read from the log of a store's server, while one worker does three
chunks. So they are those of the binary that is measured. The worker
alone is simulated: it reads and loads nothing between its claim and its settling.
"""

import pathlib
import re
import time

TURN = re.compile(r"^(\d+)\|[^|]*\|LOG:  (?:execute [^:]*|statement): (.*)",
                  re.S)
VALUES = re.compile(r"^\d+\|[^|]*\|DETAIL:  parameters: (.*)", re.S)
VALUE = re.compile(r"\$(\d+) = (NULL|'(?:[^']|'')*')")


def statements(log):
    """(session, SQL, values) of each, in order."""
    entries = re.split(r"\n(?=\d+\|)", log)
    found = []
    for entry in entries:
        entry = entry.replace("\n\t", "\n")
        turn, values = TURN.match(entry), VALUES.match(entry)
        if turn:
            found.append((turn[1], turn[2].strip(), {}))
        elif values and found:
            found[-1][2].update({int(n): text for n, text in
                                 VALUE.findall(values[1])})
    return found


def of_one_chunk(found):
    """From the second claim to the third, and the renewal of a lease."""
    looks = [i for i, (_, sql, _) in enumerate(found)
             if sql.startswith("SELECT 1 FROM chunks")]
    main = found[looks[1]][0]
    chunk = [each for each in found[looks[1]:looks[2]] if each[0] == main]
    renewal = next(each for each in found
                   if each[1].startswith("UPDATE leases SET until = ")
                   and "until >" in each[1])
    return chunk, renewal


def literal(text):
    """pgbench takes what follows a colon for the name of a variable."""
    if text == "NULL":
        return text
    inner = text[1:-1].replace("\\", "\\\\").replace(":", "\\x3a")
    return f"E'{inner}'"


def script(chunk):
    """pgbench's, of a worker's whole turn. It takes whatever chunk it gets."""
    claimed = next(values for _, sql, values in chunk
                   if sql.startswith("UPDATE chunks SET state = 'running'"))
    holder, name = claimed[1], claimed[3]
    lines = ["\\set holder random(1, 1000000000000000)"]
    for _, sql, values in chunk:
        def value(match):
            text = values[int(match[1])]
            return {holder: ":holder", name: ":c_chunk_id"}.get(
                text, literal(text))
        sql = re.sub(r"\$(\d+)", value, sql)
        ends = "\\gset c_" if "state = 'queued'\nORDER BY" in sql else ";"
        lines.append(" ".join(sql.split("\n")) + " " + ends)
    return "\n".join(lines) + "\n"


def renewal_script(renewal):
    """It renews leases that `leases_of_many` has made."""
    _, sql, values = renewal
    sql = re.sub(r"\$(\d+)", lambda m: {
        2: "'live/' || :n", 3: "'live'"}.get(int(m[1]), values[int(m[1])]),
        sql)
    return ("\\set n random(1, 1000)\n" + " ".join(sql.split("\n")) + ";\n")


class Store:
    """A state store with chunks that wait, and pgbench beside it."""

    def __init__(self, cluster, database):
        self.cluster, self.database = cluster, database
        self.files = {}

    def query(self, sql):
        with self.cluster.admin(self.database) as admin:
            return admin.execute(sql).fetchall()

    def execute(self, *statements_):
        with self.cluster.admin(self.database) as admin:
            for sql in statements_:
                admin.execute(sql)

    def take(self, log):
        chunk, renewal = of_one_chunk(statements(log))
        # As a worker's sessions have them.
        self.execute(*(f"ALTER DATABASE {self.database} SET {setting}" for
                       setting in ("search_path = pg_catalog, tidemark, "
                                   "pg_temp", "synchronous_commit = off")))
        self.sent = len(chunk)
        for name, text in (("claim", script(chunk)),
                           ("renew", renewal_script(renewal))):
            path = pathlib.Path(self.cluster.dir, name)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o644)
            self.files[name] = path

    def columns(self):
        """Names in `public.one`, a chunk that others are made of."""
        self.execute("CREATE TABLE IF NOT EXISTS public.one AS"
                     " SELECT * FROM tidemark.chunks LIMIT 1")
        return [name for name, in self.query(
            "SELECT attname FROM pg_attribute WHERE attrelid = "
            "'tidemark.chunks'::regclass AND attnum > 0 AND attname NOT IN "
            "('chunk_id', 'number', 'state', 'attempts') ORDER BY attnum")]

    def queue(self, n):
        """`n` chunks that wait, of the pipeline whose chunks are there; and a
        thousand leases that live."""
        names = ", ".join(self.columns())
        self.execute(
            "DELETE FROM tidemark.chunks",
            "DELETE FROM tidemark.leases WHERE name LIKE '%/%'",
            f"INSERT INTO tidemark.chunks (chunk_id, number, state, attempts,"
            f" {names}) SELECT 'items/made/' || n, n, 'queued', 0, {names}"
            f" FROM public.one, generate_series(1, {n}) n",
            "INSERT INTO tidemark.leases (name, fence, holder, host, pid,"
            " process, session, since, until) SELECT 'live/' || n, 1, 'live',"
            " 'far', 1, 'far/1/1', '', 0, 4102444800000000"
            " FROM generate_series(1, 1000) n", "VACUUM ANALYZE", "CHECKPOINT")

    def bench(self, clients, last, *scripts, rate=None):
        """pgbench's own figures: turns a second, and its latencies in ms.
        `last`: how long, or how many turns of each client."""
        line = ["pgbench", "-n", "-M", "prepared", "-h", self.cluster.dir,
                "-p", str(self.cluster.port), "-U", "postgres", "-c",
                str(clients), "-j", "2", *last]
        for name, weight in scripts:
            line += ["-f", f"{self.files[name]}@{weight}"]
        if rate:
            line += ["-R", str(rate)]
        line.append(self.database)
        before, begun = self.written(), time.monotonic()
        out = self.cluster.program(*line).stdout
        took = time.monotonic() - begun
        found = {name: float(value) for name, value in re.findall(
            r"(tps|latency average|latency stddev) = ([\d.]+)", out)}
        found["wal"] = (self.written() - before) / took
        done = re.search(r"actually processed: (\d+)", out)
        found["turns"] = int(done[1])
        return found

    def written(self):
        return int(self.query("SELECT pg_current_wal_insert_lsn() - "
                              "'0/0'::pg_lsn")[0][0])

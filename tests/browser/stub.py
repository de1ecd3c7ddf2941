"""A small server that answers as `tidemark serve` does, for tests of the page.

It serves the page's three files under the server's Content-Security-Policy. The
answers of its API lie in a `State`, and orders change it. Tests can make it hang
up, refuse tokens, or tell hostile names and errors.
"""

import datetime
import http.server
import json
import math
import pathlib
import threading
import time
import urllib.parse

PAGE = pathlib.Path(__file__).resolve().parents[2] / "core/serve/page"
CSP = ("default-src 'none'; script-src 'self'; style-src 'self'; "
       "connect-src 'self'; img-src 'self' data:")
FILES = {"/": ("index.html", "text/html; charset=utf-8"),
         "/tidemark.css": ("tidemark.css", "text/css; charset=utf-8"),
         "/tidemark.js": ("tidemark.js", "text/javascript; charset=utf-8")}
TOKEN = "correct-token"
STATES = ("failing", "late", "waiting", "paused", "never_run", "ok")


def stamp(seconds_ago=0.0):
    """A time as the API writes it."""
    at = datetime.datetime.now(datetime.timezone.utc) - \
        datetime.timedelta(seconds=seconds_ago)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def pipeline(name, state="ok", **more):
    """One entry of /api/v1/pipelines."""
    never = state == "never_run"
    return {
        "pipeline": name, "state": state,
        "since": None if never else stamp(7200),
        "last_success": None if never else stamp(40), "last_error": None,
        "lag_seconds": None if never else 12.5,
        "lag_reason": "never run" if never else None,
        "schedule": "every 5m", "next_due": stamp(-120), "waiting": None,
        "paused_by": None, "paused_reason": None, "watermark": None if never else {
            "strategy": "timestamp", "column": "updated_at",
            "value": "2026-11-27 03:00:00.000000", "key": {"id": "4711"}},
        "dead_letters": 0, "lease": None, "progress": None,
        "last_run": None if never else {
            "outcome": "caught_up", "started_at": stamp(45),
            "ended_at": stamp(40), "rows_read": 1200, "batches": 3},
        "guarantee": "exactly-once", "source": "shop (postgres) public.orders",
        "destination": "warehouse (postgres) public.orders", **more}


def run(number, pipeline_name, error=None):
    """One run with one attempt, as `runs list --json` has it."""
    began = 300 * number + 40
    return {
        "run_id": f"run-{number}-{pipeline_name}", "pipeline": pipeline_name,
        "state": "FAILED" if error else "SUCCEEDED",
        "window": {"from": None, "to": None}, "created_at": stamp(began),
        "updated_at": stamp(began - 5), "attempts": [{
            "attempt_id": f"attempt-{number}", "state": "SUCCEEDED",
            "outcome": "failed" if error else "caught_up",
            "started_at": stamp(began), "ended_at": stamp(began - 4.2),
            "host": "db-host-3", "pid": 4021, "batches": 3,
            "rows_read": 400 * number, "rows_inserted": 10,
            "rows_updated": 390, "rows_unchanged": 0, "error": error}]}


def batches():
    return [{"number": n, "batch_id": f"batch-{n}", "at": stamp(60 - n),
             "rows_read": 400, "rows_inserted": 100 * n, "rows_updated": 20,
             "rows_unchanged": 0, "rows_deleted": 0, "rows_dead_lettered": n % 2,
             "read_seconds": 0.021 * n, "load_seconds": 0.2 * n, "error": None}
            for n in range(1, 4)]


def letter(number, pipeline_name, **more):
    return {"id": f"letter-{number}", "pipeline": pipeline_name,
            "run_id": "run-1", "attempt_id": "attempt-1", "batch_id": "batch-1",
            "key": {"id": f"hidden-key-{number}"}, "category": "permanent",
            "error": {"code": "row-refused", "server_code": "23514",
                      "message": 'violates check constraint "price_positive"'},
            "attempts": number, "next_try_at": None,
            "created_at": stamp(3600 * number), "updated_at": stamp(600),
            "checkpoint": None, **more}


def chunks():
    states = ["done"] * 14 + ["failed"] + ["done"] * 3 + ["running"] * 2 + \
        ["queued"] * 20
    return {"backfill": {
        "backfill_id": "backfill-1", "chunks": 40, "done": 17, "failed": 1,
        "running": 2, "queued": 20, "rows_per_second": 8200.0,
        "eta_seconds": 340}, "chunks": [
                {"chunk_id": f"chunk-{n}", "from": f"border-{n}",
                 "to": f"border-{n + 1}", "state": state, "rows": 50000,
                 "error": "connection lost" if state == "failed" else None}
                for n, state in enumerate(states)]}


def series():
    """24 hours with a gap, a failure, and a bad hour."""
    points, step = [], 300
    begin = time.time() // step * step - 24 * 3600
    for n in range(288):
        gap = 100 <= n < 110
        bad = 150 <= n < 170
        points.append({
            "at": datetime.datetime.fromtimestamp(
                begin + n * step, datetime.timezone.utc
            ).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "lag_seconds": None if gap else (900 if bad else 12) +
            5 * math.sin(n / 9),
            "rows": 0 if gap else 9000,
            "rows_per_second": None if gap else 900 + 600 * math.sin(n / 20),
            "batches": 0 if gap else 3,
            "batch_p50": None if gap else 0.12 + 0.02 * math.sin(n / 7),
            "batch_p99": None if gap else (2.5 if bad else 0.4) +
            0.1 * math.sin(n / 5), "failed": 1 if n in (150, 155) else 0})
    return {"step_seconds": step, "from": points[0]["at"], "points": points}


def usual():
    """One pipeline of each kind that a test asks for by its name."""
    return [
        pipeline("customers"),
        pipeline("orders", "failing", since=stamp(5400),
                 last_success=stamp(5700), lag_seconds=5700.0,
                 last_error={"code": "source-unreachable", "message":
                             "could not connect to db1.internal:5432: "
                             "Connection refused. Is the server running?"}),
        pipeline("payments", dead_letters=3),
        pipeline("events", "waiting", since=stamp(95), waiting={
            "reason": "pace", "whom": "replica db2 is 40 s behind",
            "since": stamp(95)}, lease={
                "host": "worker-7", "pid": 881, "since": stamp(300),
                "until": stamp(-20)}, progress={
                    "share": 0.425, "eta_seconds": 340}),
        pipeline("invoices", "paused", since=stamp(86400 * 2), lag_seconds=None,
                 lag_reason="paused", paused_by={
                     "reason": "pause", "whom": "anna@db-host-3",
                     "since": stamp(86400 * 2)},
                 paused_reason="the tax table is being rebuilt"),
        pipeline("refunds", "late", since=stamp(1800), lag_seconds=2700.0),
        pipeline("audit_log", "never_run", schedule="manual", next_due=None),
    ]


def many(n=1000):
    """As many as a big site has, a few of them in trouble."""
    made = []
    for i in range(n):
        state = "ok" if i % 23 else STATES[i // 23 % 6]
        made.append(pipeline(
            f"tenant_{i:04}.orders_and_items", state, lag_seconds=float(i),
            since=stamp(60 * i), last_error={
                "code": "source-unreachable",
                "message": f"could not connect to db{i}"}
            if state == "failing" else None,
            paused_by={"reason": "pause", "whom": "anna", "since": stamp(60)}
            if state == "paused" else None,
            waiting={"reason": "pace", "whom": "replica", "since": stamp(60)}
            if state == "waiting" else None))
    return made


class State:
    """All that the stub answers."""

    def __init__(self, pipelines):
        self.pipelines = {p["pipeline"]: p for p in pipelines}
        self.letters = {n: [letter(i, n) for i in range(1, p["dead_letters"] + 1)]
                        for n, p in self.pipelines.items() if p["dead_letters"]}
        self.runs = {n: [run(i, n, p["last_error"] if i == 0 else None)
                         for i in range(6)]
                     for n, p in list(self.pipelines.items())[:50]
                     if p["state"] != "never_run"}
        self.pace = {}
        self.row = {"id": "4711", "price": "-3", "note": "SECRET-ROW-VALUE"}
        self.store_error = None
        self.orders = []  # (path, body) of each POST that had the token
        self.asked = []  # the path of each GET
        self.has_token = True  # with one, it answers nobody without it
        self.broken = False  # hangs up on whoever asks the API
        self.gate = threading.Event()  # clear: answers to GET are held back
        self.gate.set()
        self.fail_next = None  # (status, error) for the next order
        self.raw = {}  # path -> text to answer with, as it is

    def listing(self):
        states = [p["state"] for p in self.pipelines.values()]
        return {"version": "1.0.0-test", "now": stamp(), "serve": {
            "host": "worker-7", "pid": 881, "jobs": 4, "since": stamp(9000),
            "store": "away" if self.store_error else "ok",
            "store_error": self.store_error},
            "summary": {"pipelines": len(states),
                        **{s: states.count(s) for s in STATES}},
            "pipelines": list(self.pipelines.values())}

    def get(self, path, query):
        """The status and the answer."""
        name = query.get("pipeline", [""])[0]
        if path == "pipelines":
            return 200, self.listing()
        if path == "runs":
            return 200, {"runs": self.runs.get(name, [])}
        if path.startswith("runs/"):
            return self.one_run(path.removeprefix("runs/"))
        if path == "dead-letters":
            return 200, {"dead_letters": self.letters.get(name, [])}
        if path.startswith("dead-letters/"):
            if not self.has_token:
                return 403, NO_TOKEN
            return 200, {**letter(1, name), "row": self.row,
                         "truncated": False}
        if path == "chunks":
            return 200, chunks() if name == "events" else {
                "chunks": [], "backfill": None}
        if path == "series":
            return 200, series()
        if path == "pace":
            mine = self.pace.get(name)
            return 200, {"pipelines": [{"pipeline": name, "pace": {
                "rows_per_second": int((mine or {}).get("rows_per_second", 0)),
                "bytes_per_second": 0, "replica_lag": "30s", "max_active": 0,
                "pause_file": ""}, "set": mine,
                "changed_at": stamp(5) if mine else None}]}
        return 404, refusal("unknown-route", f"no such address: {path}")

    def one_run(self, run_id):
        for runs in self.runs.values():
            for one in runs:
                if one["run_id"] == run_id:
                    shown = json.loads(json.dumps(one))
                    shown["attempts"][0]["batch_list"] = batches()
                    return 200, {"runs": [shown]}
        return 404, refusal("unknown-run", "no such run")

    def post(self, path, body):
        self.orders.append((path, body))
        if self.fail_next:
            status, error = self.fail_next
            self.fail_next = None
            return status, {"error": error}
        what, name, *action = path.split("/")
        if what == "pipelines" and action == ["pace"]:
            self.pace[name] = body
        elif what == "pipelines":
            self.change(self.pipelines[urllib.parse.unquote(name)], action[0],
                        body)
        elif what == "dead-letters":
            for letters in self.letters.values():
                letters[:] = [one for one in letters if one["id"] != name]
        return 200, {"done": True}

    @staticmethod
    def change(p, action, body):
        if action == "pause":
            p.update(state="paused", since=stamp(), paused_by={
                "reason": "pause", "whom": "token", "since": stamp()},
                paused_reason=body.get("reason"))
        elif action == "resume":
            p.update(state="ok", since=stamp(), paused_by=None,
                     paused_reason=None)


def refusal(code, message):
    return {"error": {"code": code, "message": message}}


WRONG_TOKEN = refusal("unauthorized", "the token is missing or wrong")
NO_TOKEN = refusal("forbidden", "this route needs a token, and none is "
                   "configured; set serve.token")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    @property
    def state(self):
        return self.server.state

    def is_trusted(self):
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def send(self, status, kind, data):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", CSP)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(data)

    def answer(self, status, json_answer):
        self.send(status, "application/json", json.dumps(json_answer).encode())

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path in FILES:
            file, kind = FILES[url.path]
            self.send(200, kind, (PAGE / file).read_bytes())
            return
        path = url.path.removeprefix("/api/v1/")
        self.state.asked.append(path)
        self.state.gate.wait()
        if self.state.broken:
            self.close_connection = True
        elif path in self.state.raw:
            self.send(200, "application/json", self.state.raw[path].encode())
        elif self.state.has_token and not self.is_trusted():
            self.answer(401, WRONG_TOKEN)
        else:
            self.answer(*self.state.get(path, urllib.parse.parse_qs(url.query)))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = urllib.parse.urlsplit(self.path).path.removeprefix("/api/v1/")
        if not self.state.has_token:
            self.answer(403, NO_TOKEN)
        elif not self.is_trusted():
            self.answer(401, WRONG_TOKEN)
        else:
            self.answer(*self.state.post(path, json.loads(body or b"{}")))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, state):
        super().__init__(("127.0.0.1", 0), Handler)
        self.state = state
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def stop(self):
        self.shutdown()
        self.server_close()
        self.thread.join()

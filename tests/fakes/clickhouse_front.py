"""ClickHouse's HTTP interface before a real engine.

The engine is real: PyPI's chdb is today's ClickHouse in a library, with a
database on disk. The front is ours. It takes the requests that Tidemark makes:
a statement as the body, or `?query=INSERT ...` and rows as the body. It hands
them to the engine one at a time. It answers as the server would: status,
content type, X-ClickHouse-Exception-Code. So SQL, types, tables and the disk
after a kill of the client are ClickHouse's own. Connections, users and faults
between the two are played.

    clickhouse_front.py DIRECTORY [PORT]     prints "ready PORT"

There are three users. "app" has the password in $CLICKHOUSE_FRONT_PASSWORD,
"reader" may only read, "default" has no password. POST /faults takes a JSON
list of faults. A fault hits the next requests whose statement begins with
`match` (and after `skip` of those):

    {"match": "INSERT", "do": "status", "status": 503, "retry_after": "1"}
    {"match": "INSERT", "do": "hold"}        a 503, when the faults are next set
    {"match": "INSERT", "do": "cut"}         half of the upload, then goodbye;
                                             without one, goodbye
    {"match": "INSERT", "do": "early", "status": 413}    an answer in the midst
                                             of the upload, then goodbye
    {"match": "INSERT", "do": "lost"}        the work is done, the answer lost
    {"match": "INSERT", "do": "late"}        the work is done, the answer a 504
    {"match": "INSERT", "do": "twice"}       as if sent twice, over two lines
    {"match": "INSERT", "do": "slow", "each": 0.1}    it takes so long for each
                                             row; others go on meanwhile
    {"match": "SELECT", "do": "exception"}   half of a 200, then an exception
    {"match": "SELECT", "do": "truncated"}   half of a 200, then goodbye
    {"match": "SELECT", "do": "html"}        a proxy's page
    {"match": "SELECT", "do": "empty"}       200 of somebody who did nothing
    {"match": "", "do": "refuse"}            the password is not right any more
    {"match": "SELECT", "do": "version", "version": "23.8.1.1"}

POST /profile takes the user's settings profile:

    {"settings": {name: value},
     "const": [names that nobody may change],
     "deaf": true}                           a proxy drops requests' settings

Requests with X-Oracle do not get it.

GET /log gives the statements so far as a JSON list. Each statement is followed
by "-- zstd", or by another word for the packing of its rows. POST /log forgets
them.
"""
import json
import os
import re
import socket
import struct
import sys
import tempfile
import threading
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import chdb
from chdb import session

STATUS = {516: 403, 497: 403, 164: 403, 452: 403, 60: 404, 81: 404, 241: 500,
          159: 408}
READS = ("SELECT", "SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN", "WITH",
         "CHECK")
TYPES = {"TabSeparated": "text/tab-separated-values; charset=UTF-8",
         "JSONCompactStringsEachRow": "application/x-ndjson",
         "JSONCompactEachRow": "application/x-ndjson",
         "RowBinary": "application/octet-stream",
         "RowBinaryWithNamesAndTypes": "application/octet-stream"}
# Parameters of a request that are no settings; readonly is the front's own.
PARAMETERS = ("database", "query", "wait_end_of_query", "session_id",
              "session_timeout", "readonly")
LARGE = 1 << 20
EXCEPTION = re.compile(r"Code: (\d+)")


class Engine:
    """One statement at a time, in the database that the request names."""

    def __init__(self, directory):
        self.lock = threading.Lock()
        self.path = os.path.join(directory, "data")
        self.session = session.Session(self.path)
        self.uploads = os.path.join(directory, "uploads")
        os.makedirs(self.uploads, exist_ok=True)
        self.session.query("CREATE DATABASE IF NOT EXISTS shop ENGINE = Atomic")
        self.database = None
        self.settings = {}

    def set(self, settings):
        """As of this request: what the one before has set is undone."""
        for name in self.settings.keys() - settings.keys():
            self.session.query(f"SET {name} = DEFAULT")
        for name, value in settings.items():
            if self.settings.get(name) != value:
                text = value.replace("\\", "\\\\").replace("'", "\\'")
                self.session.query(f"SET {name} = '{text}'")
        self.settings = settings

    def ask(self, database, sql, form, settings):
        with self.lock:
            self.set(settings)
            if database != self.database:
                self.session.query(f"USE `{database}`")
                self.database = database
            try:
                return bytes(self.session.query(sql, form).bytes())
            except UnicodeDecodeError as error:
                raise RuntimeError(f"Code: 49. DB::Exception: {error}") from None

    def ask_slowly(self, sql, seconds):
        """An INSERT ... SELECT ... WHERE, beside all others."""
        aside = chdb.connect(self.path)
        sql = sql.replace("\nWHERE ", "\nWHERE NOT ignore(sleepEachRow("
                          f"{seconds})) AND ", 1)
        return bytes(aside.query(sql, "TabSeparated").bytes())

    def insert(self, database, sql, body, packed, settings):
        """The rows come from a file, as clients have it; `packed` as their
        Content-Encoding says, or None."""
        with tempfile.NamedTemporaryFile(dir=self.uploads) as file:
            file.write(body)
            file.flush()
            at = re.search(r" SETTINGS | FORMAT ", sql).start()
            how = f" COMPRESSION '{packed}'" if packed else ""
            return self.ask(database, f"{sql[:at]} FROM INFILE '{file.name}'"
                            + how + sql[at:], "TabSeparated", settings)


class Front(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, engine):
        super().__init__(address, Request)
        self.engine = engine
        self.faults = []
        self.released = threading.Event()  # set when held requests may go
        self.profile = {}
        self.log = []
        self.guard = threading.Lock()
        self.password = os.environ.get("CLICKHOUSE_FRONT_PASSWORD", "")

    def set_faults(self, faults):
        with self.guard:
            self.faults = faults
            self.released.set()
            self.released = threading.Event()

    def fault(self, sql):
        """The fault that this statement meets; {} if there is none."""
        with self.guard:
            for fault in self.faults:
                if re.match(fault.get("match", ""), sql, re.I | re.S):
                    if fault.get("skip", 0):
                        fault["skip"] -= 1
                        continue
                    if fault.get("times", 1) == 1:
                        self.faults.remove(fault)
                    else:
                        fault["times"] -= 1
                    return {**fault, "released": self.released}
        return {}

    def handle_error(self, request, client_address):
        """Clients leave as they like."""


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def log_message(self, *_):
        pass

    def body(self, most=None):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while True:
            n = int(self.rfile.readline().split(b";")[0], 16)
            parts.append(self.rfile.read(n))
            if len(parts[-1]) < n:
                raise ConnectionError("the upload breaks off")
            self.rfile.readline()
            if not n or (most and sum(map(len, parts)) > most):
                return b"".join(parts)

    def reply(self, status, body, kind="text/plain; charset=UTF-8",
              nobody=False, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if not nobody:
            self.send_header("X-ClickHouse-Query-Id", str(uuid.uuid4()))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def fail(self, code, text):
        self.reply(STATUS.get(code, 500), text.encode(),
                   X_ClickHouse_Exception_Code=str(code))

    def hang_up(self):
        """Without a word."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
        self.connection.close()

    def do_GET(self):
        if self.path == "/log":
            with self.server.guard:
                return self.reply(200, json.dumps(self.server.log).encode())
        return self.reply(200, b"Ok.\n")

    def allowed(self, sql):
        """The user may do this; else the answer is given."""
        user = self.headers.get("X-ClickHouse-User", "default")
        key = self.headers.get("X-ClickHouse-Key", "")
        want = {"default": "", "app": self.server.password,
                "reader": self.server.password}
        if user not in want or key != want[user]:
            self.fail(516, f"Code: 516. DB::Exception: {user}: Authentication "
                      "failed: password is incorrect, or there is no user with "
                      "such name. (AUTHENTICATION_FAILED)")
        elif user == "reader" and not sql.upper().startswith(READS):
            self.fail(497, f"Code: 497. DB::Exception: {user}: Not enough "
                      "privileges. To execute this query, it's necessary to "
                      "have the grant INSERT ON shop.*. (ACCESS_DENIED)")
        elif self.query.get("readonly", "0") != "0" and \
                not sql.upper().startswith(READS):
            self.fail(164, "Code: 164. DB::Exception: Cannot execute query in "
                      "readonly mode. (READONLY)")
        else:
            return True
        return False

    def do_POST(self):
        path, _, query = self.path.partition("?")
        if path == "/faults":
            self.server.set_faults(json.loads(self.body()))
            return self.reply(200, b"")
        if path == "/profile":
            self.server.profile = json.loads(self.body())
            return self.reply(200, b"")
        if path == "/log":
            with self.server.guard:
                self.server.log.clear()
            return self.reply(200, b"")
        self.query = dict(urllib.parse.parse_qsl(query))
        sql = self.query.get("query")
        fault = self.server.fault(sql) if sql else None
        if fault and fault["do"] == "cut":
            self.body(most=1)
            return self.hang_up()
        if fault and fault["do"] == "early":
            self.body(most=1)
            self.close_connection = True
            self.reply(fault["status"], b"<html>A proxy</html>", "text/html",
                       nobody=True, Connection="close")
            while self.rfile.read1(LARGE):  # as one that lingers does
                pass
            return None
        body = self.body()
        if sql is None:
            sql = body.decode(errors="surrogateescape")
            body = None
            fault = self.server.fault(sql)
        packed = self.headers.get("Content-Encoding")
        with self.server.guard:
            self.server.log.append(sql + f" -- {packed}" * bool(packed))
        if self.headers.get("X-ClickHouse-User") == "reader" and \
                sql.startswith("CHECK GRANT") and "SELECT ON" not in sql:
            return self.reply(200, b"0\n", TYPES["TabSeparated"])
        if self.allowed(sql) and self.may_set():
            self.answer(sql, body, fault)

    def settings(self):
        """The settings of the user's profile, and over them the request's."""
        profile = {} if "X-Oracle" in self.headers else self.server.profile
        sent = {name: value for name, value in self.query.items()
                if name not in PARAMETERS and not profile.get("deaf")}
        return profile.get("settings", {}) | sent

    def may_set(self):
        """No setting that is constant changes; else the answer is given."""
        profile, now = self.server.profile, self.settings()
        for name in profile.get("const", ()):
            if now.get(name) not in (None, profile["settings"][name]):
                self.fail(452, f"Code: 452. DB::Exception: Setting {name} "
                          "should not be changed. "
                          "(SETTING_CONSTRAINT_VIOLATION)")
                return False
        return True

    def answer(self, sql, body, fault):
        do = fault.get("do")
        if do == "hold":
            fault["released"].wait()
            return self.reply(503, b"busy", Retry_After="0")
        if do == "cut":
            return self.hang_up()
        if do == "status":
            more = {"Retry_After": fault["retry_after"]} \
                if "retry_after" in fault else {}
            return self.reply(fault["status"], b"busy", **more)
        if do == "refuse":
            return self.fail(516, "Code: 516. DB::Exception: app: "
                             "Authentication failed: password is incorrect, or "
                             "there is no user with such name. "
                             "(AUTHENTICATION_FAILED)")
        if do == "html":
            return self.reply(200, b"<html>Welcome</html>", "text/html",
                              nobody=True)
        if do == "empty":
            return self.reply(200, b"", nobody=True)
        if do == "version":
            return self.reply(200, fault["version"].encode() + b"\n",
                              TYPES["TabSeparated"])
        try:
            if do == "slow":
                return self.reply(200, self.server.engine.ask_slowly(
                    sql, fault["each"]), TYPES["TabSeparated"])
            form, answer = self.work(sql, body)
        except Exception as error:
            code = EXCEPTION.search(str(error))
            return self.fail(int(code.group(1)) if code else 49, str(error))
        if do == "late":
            return self.reply(504, b"the gateway has not waited")
        if do == "lost":
            return self.hang_up()
        if do == "twice":
            self.work(sql, body)
        if do == "exception":
            return self.break_off(TYPES[form], self.first_rows(sql) + (
                b"Code: 241. DB::Exception: Memory limit (total) exceeded. "
                b"(MEMORY_LIMIT_EXCEEDED)\n"), whole=True)
        if do == "truncated":
            return self.break_off(TYPES[form], answer[:len(answer) // 2],
                                  whole=False)
        return self.reply(200, answer, TYPES[form])

    def work(self, sql, body):
        database = self.query.get("database", "default")
        if body is not None:
            return "TabSeparated", self.server.engine.insert(
                database, sql, body, self.headers.get("Content-Encoding"),
                self.settings())
        text, n, form = sql.rpartition("\nFORMAT ")
        form = form.strip() if n else "TabSeparated"
        return form, self.server.engine.ask(database, text if n else sql, form,
                                            self.settings())

    def first_rows(self, sql):
        text, _, form = sql.rpartition("\nFORMAT ")
        return self.work(f"SELECT * FROM ({text}\n) LIMIT 3\nFORMAT {form}",
                         None)[1]

    def break_off(self, kind, piece, whole):
        """As much of an answer; `whole`: and its proper end."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("X-ClickHouse-Query-Id", str(uuid.uuid4()))
        self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        if whole:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.hang_up()


def serve(directory, port=0):
    front = Front(("127.0.0.1", port), Engine(directory))
    print("ready", front.server_address[1], flush=True)
    front.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)

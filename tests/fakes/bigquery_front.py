"""A front that speaks the part of BigQuery's REST API that Tidemark uses.

The front is ours and the engine below is DuckDB (bigquery_sql.py). HTTP and
SQL's meaning are real here, BigQuery is not. The front refuses the same
requests as the service:
- a job's id that was used (409)
- requests that are too large (413)
- tokens that have run out (401)
- datasets and tables that are not there (404)
- names that the service does not take

On request it has bad days (POST /_faults).

    bigquery_front.py [--port N] [--database FILE] [--sign-in] [--bare]

prints the address that it listens on. With --sign-in every request needs a
token. POST /token gives one for a JWT of the account in GET /_account, and the
metadata server's path gives one for its header. With --bare it is a small
emulator, without scripts and transactions (bigquery_bare.py).
"""

import argparse
import json
import pathlib
import re
import socket
import sys
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from bigquery_jobs import Fault, Front, plain_file  # noqa: E402
from bigquery_sql import kind_of  # noqa: E402
from bigquery_tables import Refused  # noqa: E402

MOST_MULTIPART = 10 << 20
MOST_REQUEST = 10 << 20
CHUNK = 256 << 10


class Cut(Exception):
    """The connection ends here."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer
    disable_nagle_algorithm = True

    def log_message(self, *_):
        """Nothing is printed."""

    @property
    def front(self):
        return self.server.front

    def answer(self, status, body, headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        fault = self.fault
        kind = fault and fault.kind
        if kind == "lost":
            raise Cut
        if kind == "truncated":
            data = data[:len(data) // 2]
        if kind == "html":
            data = b"<html>It works!</html>"
        if kind == "huge":
            data = b'{"rows": "' + b"x" * fault.spec.get("bytes", 80 << 20)
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if kind == "html"
                         else "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, refused, headers=()):
        self.answer(refused.status, {"error": {
            "code": refused.status, "message": refused.message,
            "errors": [{"message": refused.message, "domain": "global",
                        "reason": refused.reason}],
            "status": refused.reason}}, headers)

    def body(self):
        n = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while True:
                n = int(self.rfile.readline(), 16)
                data += self.rfile.read(n)
                self.rfile.readline()
                if not n:
                    return data
        data = self.rfile.read(n)
        if len(data) != n:
            raise Cut
        return data

    def bad_day(self):
        """True: the fault has answered."""
        fault = self.fault
        if fault is None:
            return False
        if fault.kind == "cut":
            self.rfile.read(1)
            raise Cut
        if fault.kind == "hang":
            time.sleep(fault.spec.get("seconds", 30))
            raise Cut
        if fault.kind == "says":
            return self.say(fault.spec)
        if fault.kind != "status":
            return False
        self.body()
        status, again = fault.spec["status"], fault.spec.get("retry_after")
        self.fault = None
        reason = fault.spec.get("reason", "backendError")
        self.refuse(Refused(status, reason, fault.spec.get(
            "message", "planted: " + reason)),
            [("Retry-After", str(again))] if again is not None else [])
        return True

    def say(self, spec):
        """Answer as somebody else in the service's place."""
        self.body()
        data = spec.get("text", "").encode()
        self.send_response(spec.get("status", 200))
        self.send_header("Content-Type", spec.get("type", "application/json"))
        self.send_header("Content-Length", str(len(data)))
        for name, value in spec.get("headers", {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        return True

    def handle_one(self):
        line = f"{self.command} {self.path}"
        self.fault = None
        try:
            if self.path.startswith("/_"):
                return self.control()
            self.fault = self.front.fault(line)
            if self.bad_day():
                return None
            self.check_token()
            return self.route()
        except Refused as refused:
            return self.refuse(refused)
        except (Cut, ConnectionError):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return None

    do_GET = do_POST = do_PUT = do_DELETE = handle_one

    def control(self):
        """A test's command to the front."""
        front = self.front
        if self.path == "/_faults":
            front.faults = [Fault(each) for each in json.loads(self.body())]
        elif self.path == "/_log":
            self.answer(200, front.log)
            front.log = []
            return
        elif self.path == "/_conflicts":
            self.answer(200, front.house.conflicts)
            return
        elif self.path == "/_bytes":
            front.bytes = json.loads(self.body())
        elif self.path == "/_account" and front.sign_in:
            self.answer(200, front.sign_in.account())
            return
        elif self.path == "/_expire" and front.sign_in:
            front.sign_in.expire()
            front.sign_in.seconds = json.loads(self.body()).get("seconds",
                                                                3600)
        self.answer(200, {})

    def check_token(self):
        sign_in = self.front.sign_in
        path = self.path.split("?")[0]
        if sign_in is None or path == "/token" or "/computeMetadata/" in path:
            return
        given = self.headers.get("Authorization", "")
        if not sign_in.valid(given.removeprefix("Bearer ")):
            self.body()
            raise Refused(401, "authError", "Request had invalid "
                          "authentication credentials.")

    def route(self):
        parts = urllib.parse.urlsplit(self.path)
        self.asked = dict(urllib.parse.parse_qsl(parts.query))
        path = urllib.parse.unquote(parts.path)
        for method, pattern, call in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and method == self.command:
                return call(self, *match.groups())
        self.body()
        raise Refused(404, "notFound", "Not Found")

    def json(self):
        data = self.body()
        if len(data) > MOST_REQUEST:
            raise Refused(413, "invalid", "Request payload size exceeds the "
                          "limit: 10485760 bytes.")
        return json.loads(data or b"{}")

    # ---- the API

    def insert_dataset(self, _):
        resource = self.json()
        self.front.house.create_dataset(
            resource["datasetReference"]["datasetId"])
        self.answer(200, resource)

    def delete_dataset(self, _, dataset):
        if self.front.house.tables(dataset) and \
                self.asked.get("deleteContents") != "true":
            raise Refused(400, "resourceInUse", f"Dataset {dataset} is still "
                          "in use")
        self.front.house.drop_dataset(dataset)
        self.answer(200, b"")

    def get_dataset(self, _, dataset):
        self.front.house.check_dataset(dataset)
        self.answer(200, {"datasetReference": {"datasetId": dataset},
                          "location": "US"})

    def list_tables(self, project, dataset):
        every = self.front.house.tables(dataset)
        start = int(self.asked.get("pageToken") or 0)
        most = int(self.asked.get("maxResults") or 50)
        answer = {"tables": [
            {"tableReference": {"projectId": project, "datasetId": dataset,
                                "tableId": name}, "type": kind}
            for name, kind in every[start:start + most]],
            "totalItems": len(every)}
        if start + most < len(every):
            answer["nextPageToken"] = str(start + most)
        self.answer(200, answer)

    def get_table(self, _, dataset, table):
        self.answer(200, self.front.house.describe(dataset, table))

    def insert_table(self, _, dataset):
        self.answer(200, self.front.house.create(dataset, self.json()))

    def delete_table(self, _, dataset, table):
        self.front.house.drop(dataset, table)
        self.answer(200, b"")

    def insert_job(self, project):
        body = self.json()
        query = body["configuration"].get("query")
        if query is None:
            raise Refused(400, "invalid", "Job configuration must contain "
                          "exactly one job-specific configuration object")
        # Values of a project with another default_time_zone would differ.
        if {"key": "time_zone", "value": "UTC"} not in query.get(
                "connectionProperties", ()):
            raise Refused(400, "invalidQuery",
                          "this fake's project has no default time zone")
        if body["configuration"].get("dryRun"):
            return self.answer(200, {
                "jobReference": {"projectId": project},
                "status": {"state": "DONE"}, "statistics": {
                    "totalBytesProcessed": str(self.front.bytes),
                    "query": {"statementType": kind_of(query["query"])}}})
        return self.answer(200, self.front.query(project, body,
                                                self.fault).resource())

    def get_job(self, _, name):
        self.answer(200, self.front.job(name).resource())

    def cancel_job(self, _, name):
        self.body()
        job = self.front.job(name)
        if job.script:
            job.script.cancel()
        self.answer(200, {"job": job.resource()})

    def run_query(self, project):
        body = self.json()
        job = self.front.query(project, {
            "configuration": {"query": body}, "jobReference": {}})
        self.results(job, body)

    def get_results(self, _, name):
        self.results(self.front.job(name), self.asked)

    def results(self, job, asked):
        job.done.wait(min(int(asked.get("timeoutMs") or 10000), 60000) / 1000)
        self.answer(200, job.results(asked))

    def upload(self, project):
        kind = self.asked.get("uploadType")
        if kind == "multipart":
            return self.upload_multipart(project)
        if kind != "resumable" or self.front.house.bare:
            raise Refused(400, "badRequest", "uploadType")
        body, name = self.json(), uuid.uuid4().hex
        self.front.uploads[name] = (project, body, bytearray())
        host = self.headers["Host"]
        return self.answer(200, b"", [("Location", f"http://{host}/upload/"
                                       f"bigquery/v2/projects/{project}/jobs"
                                       f"?uploadType=resumable&upload_id="
                                       f"{name}")])

    def upload_multipart(self, project):
        data = self.body()
        if len(data) > MOST_MULTIPART:
            raise Refused(413, "uploadTooLarge", "Request Entity Too Large")
        boundary = re.search(r'boundary="?([^";]+)',
                             self.headers["Content-Type"])[1].encode()
        parts = data.split(b"--" + boundary)
        if len(parts) != 4 or not parts[3].startswith(b"--"):
            raise Refused(400, "badRequest", "Malformed multipart body.")
        bodies = [part.split(b"\r\n\r\n", 1)[1][:-2] for part in parts[1:3]]
        path = plain_file(bodies[1], self.front.house.bare)
        job = self.front.load(project, json.loads(bodies[0]), path,
                              self.fault)
        self.answer(200, job.resource())

    def upload_piece(self, _):
        name = self.asked.get("upload_id")
        data = self.body()
        if name not in self.front.uploads:
            raise Refused(404, "notFound", "No such upload")
        project, body, so_far = self.front.uploads[name]
        match = re.fullmatch(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)",
                             self.headers["Content-Range"])
        first, _, total = match.groups()
        if first is not None and int(first) <= len(so_far):
            so_far[int(first):] = data
        if total == "*" or len(so_far) < int(total):
            if total == "*" and len(data) % CHUNK:
                raise Refused(400, "badRequest", "The size of a piece is no "
                              "multiple of 256 KiB")
            return self.answer(308, b"", [("Range", f"bytes=0-{len(so_far) - 1}"
                                           )] if so_far else [])
        job = self.front.load(project, body, plain_file(bytes(so_far)))
        del self.front.uploads[name]
        return self.answer(200, job.resource())

    def token(self):
        data = dict(urllib.parse.parse_qsl(self.body().decode()))
        self.answer(200, self.front.sign_in.exchange(data))

    def metadata(self):
        if self.headers.get("Metadata-Flavor") != "Google":
            raise Refused(403, "accessDenied", "Missing Metadata-Flavor")
        if self.front.sign_in is None:
            return self.answer(200, {"access_token": "x", "expires_in": 3600})
        return self.answer(200, self.front.sign_in.token(),
                           [("Metadata-Flavor", "Google")])


V2 = "/bigquery/v2/projects/([^/]+)"
UPLOAD = "/upload/bigquery/v2/projects/([^/]+)/jobs"
ROUTES = [
    ("POST", V2 + "/datasets", Handler.insert_dataset),
    ("GET", V2 + "/datasets/([^/]+)", Handler.get_dataset),
    ("DELETE", V2 + "/datasets/([^/]+)", Handler.delete_dataset),
    ("GET", V2 + "/datasets/([^/]+)/tables", Handler.list_tables),
    ("POST", V2 + "/datasets/([^/]+)/tables", Handler.insert_table),
    ("GET", V2 + "/datasets/([^/]+)/tables/([^/]+)", Handler.get_table),
    ("DELETE", V2 + "/datasets/([^/]+)/tables/([^/]+)", Handler.delete_table),
    ("POST", V2 + "/jobs", Handler.insert_job),
    ("GET", V2 + "/jobs/([^/]+)", Handler.get_job),
    ("POST", V2 + "/jobs/([^/]+)/cancel", Handler.cancel_job),
    ("POST", V2 + "/queries", Handler.run_query),
    ("GET", V2 + "/queries/([^/]+)", Handler.get_results),
    ("POST", UPLOAD, Handler.upload),
    ("PUT", UPLOAD, Handler.upload_piece),
    ("POST", "/token", Handler.token),
    ("GET", "/computeMetadata/v1/instance/service-accounts/default/token",
     Handler.metadata),
]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--database")
    parser.add_argument("--sign-in", action="store_true")
    parser.add_argument("--bare", action="store_true")
    options = parser.parse_args()
    server = Server(("127.0.0.1", options.port), Handler)
    host = f"127.0.0.1:{server.server_address[1]}"
    sign_in = None
    if options.sign_in:
        from bigquery_sign_in import SignIn
        sign_in = SignIn(f"http://{host}/token")
    server.front = Front(options, sign_in)
    print(host, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

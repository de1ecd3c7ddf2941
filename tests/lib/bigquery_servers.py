"""BigQuery for the tests: our front (tests/fakes), or the emulator that
BIGQUERY_EMULATOR_HOST names; and a small client of the API, which knows
nothing of Tidemark."""

import base64
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

FRONT = pathlib.Path(__file__).resolve().parents[1] / "fakes/bigquery_front.py"
PROJECT = "tidemark-test"
HOST = "BIGQUERY_EMULATOR_HOST"
# An emulator from outside, if there is one.
OUTSIDE = os.environ.get(HOST, "")
# goccy/bigquery-emulator lacks these, in 0.8.1 and at its head of 2026.
LACKS = {
    "transactions": "it has neither transactions nor scripts, and Tidemark "
                    "refuses there what is made of them: refreshes, mode "
                    "update, dry runs, removing rows",
    "layout": "its tables do not tell how they are laid out",
    "sized pages": "it cuts no page by its size",
    "NaN": "its load jobs take no NaN",
    "JSON null": "a row where it takes the place of NULL is not found there",
    "types": "not every value comes back as it went in",
    "speed": "it takes minutes, and more memory than it can count",
}
TYPES = {"INTEGER": int, "FLOAT": float, "BYTES": base64.b64decode,
         "BOOLEAN": lambda text: text == "true"}


def needs(end, what):
    """Skip, with the reason, what an emulator from outside cannot do."""
    if not end.front.ours:
        import pytest  # not there for everybody who starts a front
        pytest.skip(f"the emulator lacks {what}: {LACKS[what]}")


class ApiError(Exception):
    """The API's refusal of a request."""


class Client:
    """Statements in BigQuery's SQL; rows as Python values, or as text."""

    def __init__(self, host, project=PROJECT, headers=()):
        self.base = host if "://" in host else "http://" + host
        self.project, self.headers = project, dict(headers)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base + path, data, method=method,
            headers={"Content-Type": "application/json", **self.headers})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise ApiError(json.load(error)["error"]["message"]) from None
        return json.loads(text) if text else None

    def api(self, method, path, body=None):
        return self.call(method, f"/bigquery/v2/projects/{self.project}{path}",
                         body)

    def query(self, sql, dataset=None):
        """(fields, rows as text)."""
        body = {"query": sql, "useLegacySql": False, "timeoutMs": 60000,
                "formatOptions": {"useInt64Timestamp": True}}
        if dataset:
            body["defaultDataset"] = {"projectId": self.project,
                                      "datasetId": dataset}
        answer = self.api("POST", "/queries", body)
        fields = answer.get("schema", {}).get("fields", [])
        rows = answer.get("rows") or []
        while answer.get("pageToken"):
            answer = self.api(
                "GET", f"/queries/{answer['jobReference']['jobId']}?pageToken="
                f"{answer['pageToken']}&formatOptions.useInt64Timestamp=true")
            rows += answer["rows"]
        return fields, [[cell["v"] for cell in row["f"]] for row in rows]

    def values(self, sql, dataset=None):
        fields, rows = self.query(sql, dataset)
        return [tuple(None if text is None else
                      TYPES.get(field["type"], str)(text)
                      for field, text in zip(fields, row)) for row in rows]


class Front(Client):
    """A front of one's own, or the emulator from outside."""

    name = "bigquery"

    def __init__(self, *options):
        self.options, self.process = options, None
        super().__init__(OUTSIDE)

    @property
    def ours(self):
        return self.process is not None

    def start(self):
        if self.options or not OUTSIDE:
            self.process = subprocess.Popen(
                [sys.executable, str(FRONT), *self.options],
                stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            self.base = "http://" + self.process.stdout.readline().strip()
        return self

    @property
    def host(self):
        return self.base.removeprefix("http://")

    @property
    def port(self):
        return int(self.host.rpartition(":")[2])

    def remove(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()

    def create_dataset(self, name):
        self.api("POST", "/datasets", {"datasetReference": {
            "projectId": self.project, "datasetId": name}})

    def drop_dataset(self, name):
        self.api("DELETE", f"/datasets/{name}?deleteContents=true")

    def tables(self, dataset):
        """Names, by the API: INFORMATION_SCHEMA of no table is none there."""
        path, token = f"/datasets/{dataset}/tables?maxResults=1000", ""
        names = []
        while token is not None:
            answer = self.api("GET", path + token)
            names += [each["tableReference"]["tableId"]
                      for each in answer.get("tables") or []]
            token = answer.get("nextPageToken")
            token = token and f"&pageToken={token}"
        return names

    def url(self, dataset, **options):
        more = "&".join(f"{name}={value}" for name, value in options.items())
        return (f"bigquery://{self.project}/{dataset}"
                + ("?" + more if more else ""))

    # ---- what only our front knows

    def faults(self, *faults):
        self.call("POST", "/_faults", list(faults))

    def log(self):
        """Requests since the last time, as "METHOD path"."""
        return self.call("GET", "/_log")

    def conflicts(self):
        """How many transactions met another one so far."""
        return self.call("GET", "/_conflicts")

    def set_bytes(self, number):
        self.call("POST", "/_bytes", number)

    def wait_for(self, text, seconds=120):
        """Until a request of that kind has come."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if any(text in line for line in self.log()):
                return
            time.sleep(0.01)
        raise TimeoutError(text)

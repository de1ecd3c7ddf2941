"""The memory of bigquery_front.py: jobs, uploads, and the faults that tests
plant.
"""

import gzip
import os
import re
import tempfile
import threading
import time
import uuid

from bigquery_bare import BareScript
from bigquery_sql import Script
from bigquery_tables import Refused, Warehouse
from bigquery_values import cells

PROJECT = "tidemark-test"
MOST_ROWS = 50000
MOST_PAGE = 10 << 20  # bytes of rows


class Fault:
    """Something that goes wrong with the next requests that match."""

    def __init__(self, spec):
        self.pattern = re.compile(spec["match"])
        self.kind, self.spec = spec["kind"], spec
        self.left, self.skip = spec.get("times", 1), spec.get("skip", 0)

    def takes(self, line):
        if self.left <= 0 or not self.pattern.search(line):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.left -= 1
        return True


class Job:
    """A job: begun once, asked about for as long as the front lives."""

    def __init__(self, front, reference, configuration, work):
        self.front, self.reference = front, reference
        self.configuration = configuration
        self.error, self.script, self.rows = None, None, 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.work, args=(work,),
                                       daemon=True)
        self.thread.start()

    def work(self, work):
        try:
            work(self)
        except Refused as refused:
            self.error = refused
        except Exception as error:  # a job ends, whatever becomes of it
            self.error = Refused(500, "internalError", repr(error))
        self.done.set()

    def resource(self):
        status = {"state": "DONE" if self.done.is_set() else "RUNNING"}
        if self.error:
            status.update(errorResult=self.error.proto(),
                          errors=[self.error.proto()])
        statistics = {"totalBytesProcessed": str(self.front.bytes)}
        if "load" in self.configuration:
            statistics["load"] = {"outputRows": str(self.rows)}
        return {"kind": "bigquery#job", "jobReference": self.reference,
                "configuration": self.configuration, "status": status,
                "statistics": statistics}

    def results(self, asked):
        """As getQueryResults and query answer."""
        answer = {"jobReference": self.reference,
                  "jobComplete": self.done.is_set()}
        if not self.done.is_set():
            return answer
        if self.error:
            raise self.error
        rows = self.script.rows or []
        start = int(asked.get("pageToken") or 0)
        most = min(int(asked.get("maxResults") or MOST_ROWS), MOST_ROWS)
        columns = self.script.columns
        page, size = [], 0
        for row in rows[start:start + most]:
            page.append({"f": cells(row)})
            size += sum(len(each["v"]) for each in page[-1]["f"]
                        if isinstance(each["v"], str))
            if size > MOST_PAGE:
                break
        answer.update(schema={"fields": columns}, totalRows=str(len(rows)),
                      rows=page, totalBytesProcessed=str(self.front.bytes))
        if start + len(page) < len(rows):
            answer["pageToken"] = str(start + len(page))
        return answer


class Front:
    """State that the requests of all connections share."""

    def __init__(self, options, sign_in=None):
        self.house = Warehouse(PROJECT, options.database or ":memory:",
                               bare=options.bare)
        self.sign_in = sign_in
        self.script = BareScript if options.bare else Script
        self.jobs, self.uploads, self.faults, self.log = {}, {}, [], []
        self.lock = threading.Lock()
        self.bytes = 0

    def fault(self, line):
        with self.lock:
            self.log.append(line)
            return next((each for each in self.faults if each.takes(line)),
                        None)

    def begin(self, project, body, work):
        reference = dict(body.get("jobReference") or {})
        name = reference.setdefault("jobId", "job_" + uuid.uuid4().hex)
        reference.update(projectId=project)
        place = reference.setdefault("location", "US")
        if place != "US":
            raise Refused(404, "notFound", f"Not found: Dataset {project}:"
                          f"{self.dataset_of(body)} was not found in location "
                          f"{place}")
        if not re.fullmatch(r"[\w-]{1,1024}", name):
            raise Refused(400, "invalid", f"Invalid job ID \"{name}\"")
        with self.lock:
            if name in self.jobs:
                raise Refused(409, "duplicate", f"Already Exists: Job "
                              f"{project}:US.{name}")
            job = Job(self, reference, body["configuration"], work)
            self.jobs[name] = job
        return job

    @staticmethod
    def dataset_of(body):
        work = body["configuration"]
        place = work.get("query", {}).get("defaultDataset") or work.get(
            "load", {}).get("destinationTable") or {}
        return place.get("datasetId")

    def query(self, project, body, fault=None):
        query = body["configuration"]["query"]
        dataset = (query.get("defaultDataset") or {}).get("datasetId")
        if len(query["query"]) > 1 << 20:
            raise Refused(413, "invalid", "The query is too large. The maximum"
                          " standard SQL query length is 1024.00K characters")
        script = self.script(self.house, query, dataset)
        if fault and fault.kind == "statement" and \
                fault.spec["within"] in query["query"]:
            script.fails_at = fault.spec["statement"]
            script.fails_by = fault.spec.get("reason", script.fails_by)
            script.fails_with = fault.spec.get("message", script.fails_with)

        def work(job):
            job.script = script
            script.run()

        return self.begin(project, body, work)

    def load(self, project, body, path, fault=None):
        load = body["configuration"]["load"]
        target = load["destinationTable"]
        if load["sourceFormat"] != "NEWLINE_DELIMITED_JSON":
            raise Refused(400, "invalid", "Unsupported format")

        def work(job):
            spec = fault.spec if fault else {}
            short = spec.get("kind") == "short"
            time.sleep(spec.get("seconds", 0))
            try:
                job.rows = self.house.load(
                    target["datasetId"], target["tableId"],
                    self.house.describe(target["datasetId"],
                                        target["tableId"])["schema"]["fields"],
                    path, short) - (short and spec.get("told", False))
            finally:
                os.unlink(path)

        self.house.check_dataset(target["datasetId"])
        return self.begin(project, body, work)

    def job(self, name):
        if name not in self.jobs:
            raise Refused(404, "notFound", f"Not found: Job {PROJECT}:US.{name}")
        return self.jobs[name]


def plain_file(data, bare=False):
    """An upload, unpacked, in a file of its own."""
    if bare and data[:1] != b"{":
        raise Refused(400, "jobInternalError",
                      "expected { character for map value")
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    with tempfile.NamedTemporaryFile(delete=False, suffix=".json") as file:
        file.write(data)
        return file.name

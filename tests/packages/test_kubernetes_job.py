"""The chart's objects in a real control plane of Kubernetes. Its API server judges
them, and its Job controller makes the pods. A stand-in runs their commands in a
Debian tree, as the image's user, beside a real PostgreSQL. With --full alone."""

import itertools
import json
import signal
import subprocess

import pytest

import builds
import chart
import control_plane
import kubelet
import workload
from bench import EXIT_DATA, EXIT_OK, EXIT_SCHEMA, EXIT_STATE
from debian_tree import NEEDS_ROOT, DebianTree
from oracle import check_items
from servers import CANARY, wait_for

SECRETS = "/run/secrets/tidemark"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
HOME = "/var/lib/tidemark"
ROWS, CHUNK = 180, 30
KILLED = 128 + signal.SIGKILL
# By index: what becomes of it.
FINE, IS_KILLED, LOSES_SERVER, DOES_NOT_FIT, POISONED, BUSY = range(6)
counter = itertools.count(1)
# The first one compiles Kubernetes, if that is not there yet.
pytestmark = [NEEDS_ROOT, pytest.mark.xdist_group("kubernetes"),
              pytest.mark.timeout(3600)]


@pytest.fixture(scope="session")
def plane(full):
    if not full:
        pytest.skip("with --full")
    builds.run_quietly([builds.ROOT / "tools/setup", "--kubernetes"])
    made = control_plane.ControlPlane()
    yield made
    made.close()


@pytest.mark.parametrize("case", chart.CASES)
def test_the_api_server_takes_all_of_it(plane, case):
    namespace = f"case-{case}"
    plane.make_namespace(namespace, **RESTRICTED)
    plane.create(namespace, {"apiVersion": "v1", "kind": "ServiceAccount",
                             "metadata": {"name": "default"}})
    plane.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
               {"metadata": {"generateName": "some-"}, "value": 1})
    made = chart.manifests(chart.values_of(case))
    for each in sorted(made, key=lambda each: each["kind"] != "ServiceAccount"):
        if each["kind"] not in ("ServiceMonitor", "Pod"):
            plane.create(namespace, each)


class Pods:
    """The image's tree, and the namespace `data` with the chart's objects."""

    def __init__(self, plane, tree, source, destination, state):
        self.plane, self.tree = plane, tree
        self.begun = []
        self.namespace = f"data-{next(counter)}"
        self.source, self.destination = source, destination
        self.values = {
            "secret": "passwords", "config": {
                "version": 1,
                "state": {**connection(state), "lease": "20s"},
                "connections": {"source": connection(source),
                                "warehouse": connection(destination)},
                "pipelines": {"items": {
                    "schedule": "manual", "retry": {"attempts": 1},
                    "batch": {"rows": 10},
                    "source": {"connection": "source",
                               "table": "public.items"},
                    "destination": {"connection": "warehouse",
                                    "table": "public.items"},
                    "watermark": {"strategy": "sequence", "column": "seq"}}}},
            "runs": {"nightly": {"schedule": "@daily", "retries": 2}}}
        plane.make_namespace(self.namespace, **RESTRICTED)
        self.put_files()
        self.kubelet = kubelet.Kubelet(plane, self.namespace, self.start, ["tidemark"])
        self.create(*(each for each in self.manifests() if each["kind"] in
                      ("ServiceAccount", "ConfigMap", "Secret")))

    def manifests(self):
        return chart.manifests(self.values)

    def create(self, *manifests):
        for each in manifests:
            self.plane.create(self.namespace, each)

    def put_files(self):
        """The volumes of all pods. A mount is read-only."""
        made = chart.only(self.manifests(), "ConfigMap")
        self.tree.write("/etc/tidemark/tidemark.yaml",
                        made["data"]["tidemark.yaml"])
        for name, text in (("password", CANARY), ("token", "0123456789abcdef")):
            self.tree.write(f"{SECRETS}/{name}", text)
        root = f"{self.tree.place}/root"
        self.tree.run("mkdir", "-p", HOME)
        for place in ("/etc/tidemark", SECRETS, ""):
            builds.run_quietly(self.tree.inside(
                "sh", "-ec", 'mount --bind "$0" "$0"; '
                'mount -o remount,bind,ro "$0"', root + place))

    def start(self, command, env):
        return kubelet.piped(self.tree.inside(
            "chroot", f"{self.tree.place}/root", "setpriv", "--reuid=900",
            "--regid=900", "--clear-groups", "--no-new-privs",
            "--bounding-set=-all", "--inh-caps=-all", "env", f"--chdir={HOME}",
            *command), {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": HOME, **env})

    def tidemark(self, *args, expect=EXIT_OK, failpoints=None):
        """By hand in a pod: its output."""
        process = self.by_hand(*args, failpoints=failpoints)
        out, err = process.communicate()
        assert process.returncode == expect, out + err
        return out

    def by_hand(self, *args, failpoints=None):
        """A process, which ends with the test."""
        process = self.start(["tidemark", *args], {
            "TIDEMARK_CONFIG": "/etc/tidemark/tidemark.yaml",
            "POD_IP": kubelet.POD_IP,
            **({"TIDEMARK_FAILPOINTS": failpoints} if failpoints else {})})
        self.begun.append(process)
        return process

    def job(self, name, method="GET"):
        return self.plane.call(
            method, f"/apis/batch/v1/namespaces/{self.namespace}/jobs/{name}"
            "?propagationPolicy=Background")

    def delete(self, job):
        name = job["metadata"]["name"]
        self.job(name, "DELETE")

        def is_gone():
            try:
                self.job(name)
            except control_plane.Problem as problem:
                return "not found" in str(problem)
            return False
        wait_for(is_gone, what="the Job to be gone")

    def wait(self, name, condition):
        """The Job's status once it is so, and why."""
        def found():
            return [each for each in self.job(name)["status"].get("conditions", ())
                    if each["type"] == condition and each["status"] == "True"]
        self.kubelet.wait_until(found, f"the Job to be {condition}")
        return self.job(name)["status"], found()[0]["reason"]

    def close(self):
        self.kubelet.close()
        for process in self.begun:
            process.kill()
        self.tree.close()


def connection(end):
    return {**end.connection(), "password": f"${{file:{SECRETS}/password}}"}


def put_program(tree, binary):
    """With the libraries that only a build for tests takes."""
    tree.put(binary, "/usr/bin/tidemark")
    listed = subprocess.run(["ldd", binary], check=True, capture_output=True,
                            text=True).stdout
    for line in listed.splitlines():
        if "libfiu" in line:
            tree.run("mkdir", "-p", "/usr/local/lib")
            tree.put(builds.ROOT.joinpath(line.split()[2]).resolve(),
                     "/usr/lib/x86_64-linux-gnu/libfiu.so.0")


@pytest.fixture
def pods(plane, failpoint_binary, tmp_path, source, make_database):
    tree = DebianTree(tmp_path / "tree")
    put_program(tree, failpoint_binary)
    workload.create_items(source, rows=ROWS)
    made = Pods(plane, tree, source, make_database("warehouse"),
                make_database("state"))
    yield made
    made.close()


def poison(end, chunk):
    """The target refuses a row of a chunk: one of those that are damaged."""
    end.execute("ALTER TABLE items ADD CONSTRAINT poison "
                f"CHECK (seq <> {chunk * CHUNK + 6}) NOT VALID")


def spoil(end):
    """The tables do not fit each other any more."""
    end.execute("ALTER TABLE items RENAME COLUMN id TO other")


def mend(pods):
    pods.destination.execute("ALTER TABLE items RENAME COLUMN other TO id",
                             "ALTER TABLE items DROP CONSTRAINT IF EXISTS poison")
    pods.kubelet.before = lambda pod: {}


def after_waits(codes):
    """Without those who met the lease of one that was killed."""
    return [code for code in codes if code != EXIT_STATE]


def days(pods, pod, busy):
    """The variables of a pod. The one that will not fit waits for all others."""
    codes = pods.kubelet.codes
    if pod.index in (IS_KILLED, LOSES_SERVER) and not codes(pod.index):
        action = "kill@1" if pod.index == IS_KILLED else "error"
        return {"TIDEMARK_FAILPOINTS": f"mid_load={action}"}
    if pod.index == BUSY and codes(BUSY):
        busy.kill()
    if pod.index == DOES_NOT_FIT:
        wait_for(lambda: codes(POISONED) and all(
            0 in codes(each) for each in (FINE, IS_KILLED, LOSES_SERVER, BUSY)),
            what="the other chunks")
        spoil(pods.destination)
    return {}


def test_a_backfill(pods):
    """Each index has a day of its own. In the end both sides are equal."""
    pods.tidemark("run")
    pods.destination.execute("UPDATE items SET name = 'damaged' WHERE id % 3 = 0")
    last = json.loads(pods.tidemark(
        "backfill", "items", "--queue", "--chunk-rows", str(CHUNK),
        "--json"))["chunks"][-1]["chunk_id"]
    assert last.endswith("/6")
    poison(pods.destination, POISONED)
    pods.values["backfills"] = {"all": {"lastChunk": last, "parallelism": 6}}
    busy = pods.by_hand("worker", "--chunk", last, failpoints="mid_load=hang@1")
    assert any("hangs" in line for line in busy.stderr)
    pods.kubelet.before = lambda pod: days(pods, pod, busy)
    job = chart.only(pods.manifests(), "Job")
    pods.create(job)
    status, reason = pods.wait(job["metadata"]["name"], "Failed")
    assert reason == "FailedIndexes"
    assert status["failedIndexes"] == f"{DOES_NOT_FIT},{POISONED}"
    assert status["completedIndexes"] == f"{FINE}-{LOSES_SERVER},{BUSY}"
    assert pods.kubelet.codes(FINE) == [0]
    assert after_waits(pods.kubelet.codes(IS_KILLED)) == [KILLED, 0]
    assert pods.kubelet.codes(BUSY)[0] == EXIT_STATE
    assert after_waits(pods.kubelet.codes(BUSY)) == [0]
    assert pods.kubelet.codes(LOSES_SERVER) == [3, 0]
    assert pods.kubelet.codes(DOES_NOT_FIT) == [EXIT_SCHEMA]
    assert pods.kubelet.codes(POISONED) == [EXIT_DATA]
    mend(pods)
    pods.delete(job)
    pods.create(chart.only(pods.manifests(), "Job"))
    status, _ = pods.wait(job["metadata"]["name"], "Complete")
    assert status["completedIndexes"] == "0-5"
    assert pods.kubelet.codes(DOES_NOT_FIT) == [EXIT_SCHEMA, 0]
    assert pods.kubelet.codes(FINE) == [0, 0]
    check_items(pods.source, pods.destination)


def test_a_run(pods):
    """One that cannot end well is not tried again. Another one is."""
    template = chart.only(pods.manifests(), "CronJob")["spec"]["jobTemplate"]
    pods.tidemark("run")
    spoil(pods.destination)
    pods.source.execute("UPDATE items SET name = 'new', seq = seq + 1000")

    def run(name):
        pods.create({"apiVersion": "batch/v1", "kind": "Job",
                     "metadata": {"name": name}, **template})
    run("unfit")
    _, reason = pods.wait("unfit", "Failed")
    assert reason == "PodFailurePolicy"
    assert pods.kubelet.codes(None) == [EXIT_SCHEMA]
    mend(pods)
    first = iter([{"TIDEMARK_FAILPOINTS": "mid_load=kill@1"}])
    pods.kubelet.before = lambda pod: next(first, {})
    run("killed")
    pods.wait("killed", "Complete")
    assert after_waits(pods.kubelet.codes(None)) == [EXIT_SCHEMA, KILLED, 0]
    check_items(pods.source, pods.destination)

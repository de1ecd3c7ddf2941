"""A stand-in for Kubernetes' kubelet. It runs the command of each pod of a namespace
as a process, and tells the API server how that ended. A pod has one container.

Files of a pod are those of the tree that the processes live in: its volumes are not
looked at."""

import dataclasses
import re
import subprocess
import threading

from control_plane import Problem
from servers import wait_for

LOOK = 0.5  # seconds
POD_IP = "10.1.2.3"
INDEX = "batch.kubernetes.io/job-completion-index"


@dataclasses.dataclass
class Ended:
    """A pod that has ended. `index` is None where its Job has none."""
    name: str
    index: int
    code: int
    out: str
    err: str


class Pod:
    def __init__(self, manifest):
        self.manifest = manifest
        self.meta = manifest["metadata"]
        self.name = self.meta["name"]
        (self.container,) = manifest["spec"]["containers"]

    @property
    def index(self):
        text = self.meta.get("annotations", {}).get(INDEX)
        return None if text is None else int(text)

    def field(self, path):
        """A value of the downward API."""
        named = re.fullmatch(r"metadata\.(annotations|labels)\['(.+)'\]", path)
        if named:
            return self.meta[named[1]][named[2]]
        return {"metadata.name": self.name, "status.podIP": POD_IP}[path]

    def env(self):
        return {each["name"]: each["value"] if "value" in each else
                self.field(each["valueFrom"]["fieldRef"]["fieldPath"])
                for each in self.container.get("env", ())}

    def command(self, entry):
        """With $(NAME) of variables that there are, as Kubernetes does it."""
        env = self.env()
        words = self.container.get("command", entry) + \
            self.container.get("args", [])
        return [re.sub(r"\$\(([^()]+)\)", lambda found: env.get(
            found[1], found[0]), word) for word in words]

    def status(self, phase, state):
        """For the API server: the pod and its container."""
        return {"status": {"phase": phase, "podIP": POD_IP, "containerStatuses": [{
            "name": self.container["name"], "image": self.container["image"],
            "imageID": "", "restartCount": 0, "ready": phase == "Running",
            "state": state}]}}


class Kubelet:
    """`start(command, env)` begins a process, a Popen with pipes of text. `before(pod)`
    gives variables for that pod alone, and may hold it as long as it likes."""

    def __init__(self, plane, namespace, start, entry):
        self.plane, self.namespace = plane, namespace
        self.begin, self.entry = start, entry
        self.before = lambda pod: {}
        self.ended = []
        self.broken = []  # errors of this program
        self.known = set()
        self.processes = {}
        self.over = threading.Event()
        self.looker = threading.Thread(target=self.look, daemon=True)
        self.looker.start()

    def pods(self):
        found = self.plane.call(
            "GET", f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return [Pod(each) for each in found]

    def look(self):
        while not self.over.wait(LOOK):
            here = self.pods()
            for pod in here:
                if pod.name not in self.known:
                    self.known.add(pod.name)
                    threading.Thread(target=self.run, args=(pod,),
                                     daemon=True).start()
            for name in set(self.processes) - {pod.name for pod in here}:
                self.processes.pop(name).terminate()

    def tell(self, pod, phase, state):
        self.plane.call(
            "PATCH", f"/api/v1/namespaces/{self.namespace}/pods/{pod.name}/status",
            pod.status(phase, state), kind="application/merge-patch+json")

    def run(self, pod):
        try:
            self.live(pod)
        except Exception as error:  # told by wait_until()
            self.broken.append(error)
            raise

    def live(self, pod):
        more = self.before(pod)
        self.tell(pod, "Running", {"running": {}})
        process = self.begin(pod.command(self.entry), {**pod.env(), **more})
        self.processes[pod.name] = process
        out, err = process.communicate()
        self.processes.pop(pod.name, None)
        code = process.returncode
        code = code if code >= 0 else 128 - code  # a signal's
        self.ended.append(Ended(pod.name, pod.index, code, out, err))
        try:
            self.tell(pod, "Failed" if code else "Succeeded",
                      {"terminated": {"exitCode": code}})
        except Problem:
            assert pod.name not in {each.name for each in self.pods()}

    def codes(self, index):
        """The exit codes of an index, in their order."""
        return [each.code for each in self.ended if each.index == index]

    def wait_until(self, done, what):
        """An error here ends it, and says which pods had ended."""
        def look():
            assert not self.broken, (self.broken, self.ended)
            return done()
        try:
            wait_for(look, step=LOOK, what=what)
        except TimeoutError as error:
            raise AssertionError(f"{error}; ended: {self.ended}") from error

    def close(self):
        self.over.set()
        self.looker.join()
        for process in list(self.processes.values()):
            process.kill()


def piped(command, env):
    """A process for `start`."""
    return subprocess.Popen(command, env=env, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)

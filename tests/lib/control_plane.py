"""A control plane of Kubernetes on this machine: etcd, the API server and the Job
controller, from their makers' modules. `tools/setup --kubernetes` compiles them."""

import contextlib
import json
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request

import chart
from servers import free_port, wait_for

PROGRAMS = chart.TOOLS / "cluster"
TOKEN = "administrator"
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: here, cluster: {{server: "{url}", certificate-authority: {ca}}}}}]
users: [{{name: admin, user: {{token: {token}}}}}]
contexts: [{{name: here, context: {{cluster: here, user: admin}}}}]
current-context: here
"""


class Problem(Exception):
    """The API server's refusal, with its words."""


class ControlPlane:
    """`call()` asks the API server. It ends with close()."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="tidemark-kubernetes-"))
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.authority = self.dir / "certificates/apiserver.crt"
        self.running = []
        self.trust = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def program(self, name, *flags):
        """Start it; its log lies in the directory."""
        with open(self.dir / f"{name}.log", "wb") as log:
            self.running.append(subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", PROGRAMS / name, *flags],
                cwd=self.dir, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def start(self):
        clients, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        (self.dir / "tokens").write_text(f"{TOKEN},admin,1,system:masters\n")
        subprocess.run(["openssl", "genrsa", "-out", self.dir / "accounts.key",
                        "2048"], check=True, capture_output=True)
        self.program("server", "--data-dir=etcd", "--unsafe-no-fsync",
                     f"--listen-client-urls={clients}",
                     f"--advertise-client-urls={clients}",
                     f"--listen-peer-urls={peers}", "--log-level=error")
        self.program(
            "kube-apiserver", f"--etcd-servers={clients}",
            f"--secure-port={self.port}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
            "--cert-dir=certificates", "--token-auth-file=tokens",
            "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file=accounts.key",
            "--service-account-signing-key-file=accounts.key")
        wait_for(self.is_ready, what="the API server")
        (self.dir / "kubeconfig").write_text(KUBECONFIG.format(
            url=self.url, ca=self.authority, token=TOKEN))
        self.program("kube-controller-manager", "--kubeconfig=kubeconfig",
                     "--controllers=job-controller", "--leader-elect=false",
                     "--secure-port=0")

    def is_ready(self):
        for each in self.running:
            assert each.poll() is None, self.logs()
        if not self.authority.exists():
            return False
        with contextlib.suppress(OSError, Problem, ValueError):
            self.trust = ssl.create_default_context(cafile=self.authority)
            self.call("GET", "/api/v1/namespaces/default")
            return True
        return False

    def logs(self):
        return "\n".join(f"{file.name}: {file.read_text()[-2000:]}"
                         for file in self.dir.glob("*.log"))

    def call(self, method, path, body=None, kind="application/json"):
        """The object that it answers."""
        request = urllib.request.Request(
            self.url + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, timeout=60,
                                        context=self.trust) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            raise Problem(json.load(error)["message"]) from error

    def create(self, namespace, manifest):
        """Put it there; unknown keys are refused."""
        return self.call("POST", f"{place(namespace, manifest)}"
                         "?fieldValidation=Strict", manifest)

    def make_namespace(self, name, **labels):
        """Its pods use service accounts that the caller creates."""
        self.call("POST", "/api/v1/namespaces", {
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": labels}})

    def close(self):
        for each in reversed(self.running):
            each.kill()
            each.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def place(namespace, manifest):
    """The path of the API for objects of its kind."""
    version = manifest["apiVersion"]
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    kind = manifest["kind"].lower()
    many = kind[:-1] + "ies" if kind.endswith("y") else f"{kind}s"
    return f"{root}/namespaces/{namespace}/{many}"

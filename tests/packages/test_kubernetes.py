"""The Helm chart: accepted by Helm and by Kubernetes' schemas, sealed, and with
what `tidemark` needs. Helm's library and the schemas come from tools/setup."""

import difflib
import functools
import json
import os
import re
import stat
import subprocess
import urllib.error
import urllib.request

import jsonschema
import pytest
import yaml

import builds
import chart
from bench import EXIT_STOPPED, Running
from servers import CANARY, free_port, wait_for

each_case = pytest.mark.parametrize("case", chart.CASES)
WRITE = "python3 tests/lib/chart.py --write"
TOKEN = "0123456789abcdef"
POD_IP = "10.1.2.3"
SECRETS = "/run/secrets/tidemark"


def usual(**more):
    """The values of the case `usual`, and others in their place."""
    text = chart.values_of("usual").read_text("utf-8")
    return {**yaml.safe_load(text), **more}


@each_case
def test_helm_has_no_fault_to_find(case):
    chart.helm("lint", chart.values_of(case))


@each_case
def test_it_is_as_expected(case):
    found = chart.as_text(chart.values_of(case))
    expected = chart.expected_of(case).read_text("utf-8")
    diff = "".join(difflib.unified_diff(
        expected.splitlines(True), found.splitlines(True), "expected", "found"))
    assert not diff, f"{diff}\nIf that is right: {WRITE}"


@functools.cache
def definitions(release):
    return json.loads(
        (chart.SCHEMAS / release / "_definitions.json").read_bytes())


def schema_errors(manifest, release):
    """The faults that an API server of that release would find."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    name = "-".join([manifest["kind"].lower(),
                     *filter(None, [group.split(".")[0], version])])
    schema = json.loads(
        (chart.SCHEMAS / release / f"{name}.json").read_bytes())
    common = definitions(release)
    resolver = jsonschema.RefResolver(
        schema["$id"], schema, store={common["$id"]: common})
    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
    return [f"{manifest['kind']} {'.'.join(map(str, error.path))}: "
            f"{error.message}" for error in validator.iter_errors(manifest)]


@pytest.mark.parametrize("release", chart.RELEASES)
@each_case
def test_kubernetes_knows_each_key(case, release):
    made = [each for each in chart.manifests(chart.values_of(case))
            if each["kind"] != "ServiceMonitor"]  # an operator's
    assert made
    for each in made:
        assert not schema_errors(each, release)


def test_the_schemas_find_a_fault():
    job = chart.only(chart.manifests(usual()), "Job")
    job["spec"]["backofLimitPerIndex"] = 1
    job["spec"]["template"]["spec"]["containers"][0]["args"] = "worker"
    assert len(schema_errors(job, chart.RELEASES[-1])) == 2


def test_older_releases_are_refused():
    with pytest.raises(chart.Refused, match="incompatible with Kubernetes"):
        chart.helm("template", usual(), kubernetes="v1.28.0")


@each_case
def test_each_pod_is_sealed(case):
    """As the standard `restricted` wants it, and more."""
    specs = [spec for each in chart.manifests(chart.values_of(case))
             if (spec := chart.pod_spec(each))]
    assert specs
    user = re.search(r"^USER (\d+):(\d+)$",
                     (builds.ROOT / "Dockerfile").read_text("utf-8"), re.M)
    for spec in specs:
        assert spec["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
        pod = spec["securityContext"]
        assert pod["runAsNonRoot"] is True
        assert [str(pod["runAsUser"]), str(pod["runAsGroup"])] == [*user.groups()]
        assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
        container, = spec["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]}}
        mounts = {each["name"]: each for each in container["volumeMounts"]}
        assert mounts["config"]["readOnly"] and mounts["secrets"]["readOnly"]
        assert container["resources"]
        assert not [each for each in container["env"] if "secretKeyRef" in
                    each.get("valueFrom", {})]


@pytest.mark.parametrize("change, words", [
    ({"config": {}}, "config is empty: write tidemark.yaml there"),
    ({"existingConfig": "mine"}, "config and existingConfig are both given"),
    ({"secret": ""}, "secret is empty: serve needs a token"),
    ({"config": {"version": 1}}, "/config"),
    ({"config": {"state": "sqlite:state.db"}},
     "'/config/state': 'sqlite:state.db' does not match"),
    ({"config": {"state": {"url": "sqlite:state.db"}}}, "'/config/state/url'"),
    ({"config": {"state": "postgresql://db", "serve": {"listen": "off"}}},
     "config.serve.listen is given: write serve.listen"),
    ({"replicas": 2}, "'replicas' not allowed"),
    ({"serve": {"replicas": -1}}, "'/serve/replicas': minimum"),
    ({"serve": {"listen": "127.0.0.1:9464"}}, "'/serve/listen'"),
    ({"runs": {"nightly": {}}}, "missing property 'schedule'"),
    ({"runs": {"Nightly": {"schedule": "@daily"}}}, "'Nightly' not allowed"),
    ({"runs": {"nightly": {"schedule": "@daily", "command": "serve"}}},
     "'/runs/nightly/command'"),
    ({"backfills": {"all": {"lastChunk": "orders"}}},
     "'/backfills/all/lastChunk': 'orders' does not match"),
    ({"backfills": {"all": {"lastChunk": "orders/2e339942df21/0"}}},
     "'/backfills/all/lastChunk'"),
    ({"backfills": {"a" * 17: {"lastChunk": "orders/2e339942df21/1"}}},
     "not allowed"),
    ({"image": {"digest": "sha256:1"}}, "'/image/digest'"),
    ({"networkPolicy": {"ports": [70000]}}, "'/networkPolicy/ports/0': maximum"),
])
def test_a_wrong_value_is_named(change, words):
    with pytest.raises(chart.Refused) as refused:
        chart.helm("template", usual(**change))
    assert words in str(refused.value)


def page_values():
    """The examples of the page, each merged into the first."""
    page = (builds.ROOT / "docs/kubernetes.md").read_text("utf-8")
    first, *others = [yaml.safe_load(text) for text in re.findall(
        r"^```yaml\n(# values.yaml\n.*?)^```", page, re.M | re.S)]
    return [first, *({**first, **each, "config": first["config"]}
                     for each in others)]


@pytest.mark.parametrize("values", page_values())
def test_the_page_is_right(values):
    chart.helm("lint", values)
    made = chart.manifests(values)
    assert {"Deployment", "ConfigMap"} <= {each["kind"] for each in made}


def test_names_fit():
    """Behind a Job's name come an index and a pod's letters."""
    for each in chart.manifests(chart.values_of("usual"), release="r" * 53):
        longest = {"CronJob": 52, "Job": 63 - len("-99999")}
        assert len(each["metadata"]["name"]) <= longest.get(each["kind"], 63)


def test_words_stay_words(tmp_path):
    """Helm takes `on` and `off` for truth values, and the config does not."""
    values = tmp_path / "values.yaml"
    values.write_text(chart.values_of("usual").read_text("utf-8").replace(
        "config:\n", """config:
  notify:
    - { webhook: "https://alerts.example/hook", on: [failed] }
  log: { row_values: false }
""").replace("defaults: {", "defaults: { verify: off, ").replace(
        "column: updated_at }", "column: updated_at, settle: off }"), "utf-8")
    text = chart.only(chart.manifests(values), "ConfigMap")["data"][
        "tidemark.yaml"]
    config = yaml.safe_load(text)
    assert config["notify"][0] == {"webhook": "https://alerts.example/hook",
                                   "on": ["failed"]}
    assert config["defaults"]["verify"] == "off"
    assert config["pipelines"]["orders"]["watermark"]["settle"] == "off"
    assert config["log"] == {"row_values": False}


def test_names_are_names():
    """A Service's begins with a letter and has no dot. Whatever looks like a
    number is a text for Kubernetes."""
    made = chart.manifests(usual(), release="my.shop")
    assert {each["metadata"]["name"].split("-tidemark")[0]
            for each in made} == {"my-shop"}
    with pytest.raises(chart.Refused, match="fullnameOverride"):
        chart.helm("template", usual(), release="7shop")
    made = chart.manifests(usual(
        fullnameOverride="shop", nameOverride="12", secret="34",
        priorityClassName="56", serviceAccount={"name": "78"}), release="90")
    for each in made:
        assert not schema_errors(each, chart.RELEASES[-1])
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "90"


def test_a_volume_of_one_node():
    """Its old pod goes before the new one comes. Kubernetes refuses the numbers
    of a rolling update beside that."""
    for strategy in ("RollingUpdate", "Recreate"):
        made = chart.only(chart.manifests(usual(
            serve={"strategy": strategy})), "Deployment")["spec"]["strategy"]
        assert made["type"] == strategy
        assert ("rollingUpdate" in made) == (strategy == "RollingUpdate")


def test_a_job_may_go_at_once():
    chunk = {"lastChunk": "orders/2e339942df21/12"}
    for more, expected in (({}, None), ({"ttlSecondsAfterFinished": 0}, 0)):
        job = chart.only(chart.manifests(usual(
            backfills={"january": {**chunk, **more}})), "Job")
        assert job["spec"].get("ttlSecondsAfterFinished") == expected


def test_another_backfill_is_another_job():
    """Kubernetes refuses to change a Job."""
    def name(**more):
        job = chart.only(chart.manifests(usual(**more)), "Job")
        return job["metadata"]["name"]
    assert name() == name(serve={"replicas": 2})
    assert name() != name(image={"tag": "0.2.0"})
    chunks = {"lastChunk": "orders/2e339942df21/13"}
    assert name() != name(backfills={"january": chunks})


@pytest.mark.parametrize("index, number", [(0, 1), (11, 12)])
def test_an_index_is_a_chunk(tmp_path, index, number):
    stub = tmp_path / "tidemark"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit 4\n', "utf-8")
    stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    job = chart.only(chart.manifests(usual()), "Job")
    assert job["spec"]["completions"] == 12
    container = chart.pod_spec(job)["containers"][0]
    done = subprocess.run(
        container["command"], check=False, capture_output=True, text=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}",
             "JOB_COMPLETION_INDEX": str(index)})
    assert done.returncode == 4
    assert done.stdout.split() == [
        "worker", "--chunk", f"orders/2e339942df21/{number}", "--share", "4",
        "--json"]


class Served:
    """The chart's `serve` with the chart's config, and a pod's files."""

    def __init__(self, binary, work_dir, state):
        self.port = free_port()
        values = usual(config={
            "version": 1, "state": {**state.connection(), "password":
                                    f"${{file:{SECRETS}/state}}"},
            "connections": {"shop": state.connection()["url"]},
            "defaults": {"batch": {"rows": 1000000}},
            "pipelines": {"orders": {
                "schedule": "manual",
                "source": {"connection": "shop", "table": "public.orders"},
                "destination": {"connection": "shop", "table": "public.copy"},
                "watermark": {"strategy": "sequence", "column": "id"}}}},
            serve={"listen": f"0.0.0.0:{self.port}"})
        made = chart.manifests(values)
        container = chart.pod_spec(chart.only(made, "Deployment"))["containers"][0]
        self.probes = [container[name]["httpGet"]
                       for name in ("livenessProbe", "readinessProbe")]
        text = chart.only(made, "ConfigMap")["data"]["tidemark.yaml"]
        for name, secret in (("state", CANARY), ("token", TOKEN)):
            with open(work_dir / name, "w", opener=private) as file:
                file.write(secret)
        (work_dir / "holds-secret").symlink_to(work_dir / "state")
        config = work_dir / "tidemark.yaml"
        config.write_text(text.replace(SECRETS, str(work_dir)), "utf-8")
        self.running = Running(
            [binary, *container["args"]],
            {"TIDEMARK_CONFIG": str(config), "POD_IP": POD_IP,
             "HOME": str(work_dir)}, work_dir)

    def answers(self, path, host, token=None):
        """The status of a reply."""
        headers = {"Host": host}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code
        except urllib.error.URLError:
            assert self.running.alive(), self.running.wait()
            return None


def private(path, flags):
    return os.open(path, flags, 0o600)


@pytest.fixture
def served(tidemark_binary, work_dir, make_database):
    made = Served(tidemark_binary, work_dir, make_database("state"))
    yield made
    if made.running.alive():
        made.running.kill()
    (work_dir / "state").unlink()


def test_serve_answers_its_pod(served):
    """To the probes, to Prometheus by the pod's address, to the Service."""
    for probe in served.probes:
        (header,) = probe["httpHeaders"]
        assert header["name"] == "Host"
        wait_for(lambda: served.answers(probe["path"], header["value"]) == 200,
                 what=probe["path"])
    for host in (f"{POD_IP}:9464", "shop-tidemark.data.svc:9464"):
        assert served.answers("/metrics", host, TOKEN) == 200
    assert served.answers("/metrics", f"{POD_IP}:9464") == 401
    assert served.answers("/metrics", "10.1.2.4:9464", TOKEN) == 421
    served.running.signal(15)
    served.running.wait().expect(EXIT_STOPPED)

"""The Helm chart of packaging/kubernetes: rendered by Helm's own library, and judged
by the schemas of Kubernetes' API servers. `--write` renews what the tests expect."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "packaging/kubernetes"
EXPECTED = ROOT / "tests/packages/kubernetes"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or
                     pathlib.Path.home() / ".cache")
TOOLS = CACHE / "tidemark-tests/kubernetes"
SCHEMAS = TOOLS / "schemas-1.37.0"
RELEASES = ("v1.29.0", "v1.37.0")
CASES = sorted(file.name.removesuffix(".values.yaml")
               for file in EXPECTED.glob("*.values.yaml"))


class Refused(Exception):
    """By Helm, with its words."""


def helm(command, values, release="shop", kubernetes=RELEASES[-1]):
    """Its output. `values`: a file, or an object."""
    if not isinstance(values, pathlib.Path):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(values, file)
            file.flush()
            return helm(command, pathlib.Path(file.name), release, kubernetes)
    done = subprocess.run(
        [TOOLS / "helm", command, CHART, values, release, "data", kubernetes],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def texts(values, **more):
    """{template: what became of it}, without those that are empty."""
    rendered = json.loads(helm("template", values, **more))
    return {name.removeprefix("tidemark/templates/"): text.strip("\n") + "\n"
            for name, text in sorted(rendered.items()) if text.strip()}


def as_text(values):
    """All of it in one text."""
    return "".join(f"# {name}\n{text}" if name == "NOTES.txt" else
                   "".join(("---\n" if not text.startswith("---\n") else "",
                            f"# {name}\n", text))
                   for name, text in texts(values).items())


def manifests(values, **more):
    """The objects for Kubernetes."""
    return [each for name, text in texts(values, **more).items()
            if name.endswith(".yaml")
            for each in yaml.safe_load_all(text) if each]


def only(objects, kind):
    """The object of a kind, which is there once."""
    found = [each for each in objects if each["kind"] == kind]
    assert len(found) == 1, (kind, found)
    return found[0]


def pod_spec(manifest):
    """The pods' spec of what makes pods, else None."""
    spec = manifest.get("spec", {})
    if manifest["kind"] == "Pod":
        return spec
    spec = spec.get("jobTemplate", {}).get("spec", spec)
    return spec.get("template", {}).get("spec")


def values_of(case):
    return EXPECTED / f"{case}.values.yaml"


def expected_of(case):
    return EXPECTED / f"{case}.txt"


def main():
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: chart.py --write")
    for case in CASES:
        expected_of(case).write_text(as_text(values_of(case)), "utf-8")


if __name__ == "__main__":
    main()

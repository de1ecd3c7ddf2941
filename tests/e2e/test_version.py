"""The facts of the build that `tidemark version --json` tells."""

import json
import os
import re
import subprocess

from builds import ROOT

KEYS = ["version", "commit", "compiler", "build_type", "target", "libraries",
        "plugins"]


def facts(tidemark):
    return json.loads(tidemark("version", "--json").expect(0).out)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          cwd=ROOT).stdout.strip()


def test_version_tells_the_build(tidemark):
    told = facts(tidemark)
    assert list(told) == KEYS
    assert tidemark("version").expect(0).out == \
        f"tidemark {told['version']}\n"
    assert told["version"] in (ROOT / "meson.build").read_text("utf-8")
    assert told["compiler"].split()[0] in ("gcc", "clang")
    assert told["target"] == f"{os.uname().machine}-linux"


def test_version_tells_the_commit(tidemark):
    """Such as was built: a commit may have been made since."""
    commit = facts(tidemark)["commit"]
    asked = subprocess.run(["git", "--git-dir", ROOT / ".git", "rev-parse",
                            "HEAD"], capture_output=True, check=False)
    if asked.returncode:
        assert commit is None
        return
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", commit)
    assert output_of("git", "cat-file", "-t", commit[:40]) == "commit"


def test_version_tells_the_libraries(tidemark):
    """With the versions that the system has."""
    told = facts(tidemark)["libraries"]
    assert {"libpq", "libcurl", "jansson", "sqlite3"} <= set(told)
    assert told == {name: output_of("pkg-config", "--modversion", name)
                    for name in told}


def test_version_tells_the_engines_and_loads_none(tidemark, tmp_path):
    """A module that could not be loaded is found all the same."""
    (tmp_path / "tidemark-lake.so").write_text("no ELF", encoding="ascii")
    told = {name: origin if origin == "built in" else os.path.basename(origin)
            for name, origin in json.loads(tidemark(
                "version", "--json", env={
                    "TIDEMARK_PLUGIN_PATH": str(tmp_path)
                }).expect(0).out)["plugins"].items()}
    assert list(told) == sorted(told)
    assert told["lake"] == "tidemark-lake.so"
    assert told["duckdb"] == "tidemark-duckdb.so"
    assert told["postgres"] == told["sqlite"] == "built in"

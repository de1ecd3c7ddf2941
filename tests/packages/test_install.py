"""A tree made by `meson install` has all that is needed to run."""

import json
import subprocess


def only(tree, pattern):
    found = list(tree.rglob(pattern))
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


def test_the_installed_module_finds_its_library(installed_tree):
    """DuckDB lies beside the module. The linker need not know the build
    directory."""
    module = only(installed_tree, "tidemark-duckdb.so")
    done = subprocess.run(
        [only(installed_tree, "bin/tidemark"), "plugins", "--json"],
        env={"TIDEMARK_PLUGIN_PATH": str(module.parent)},
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listed = {each["engine"]: each
              for each in json.loads(done.stdout)["plugins"]}
    assert listed["duckdb"]["destination"], listed
    assert listed["duckdb"]["from"] == str(module)

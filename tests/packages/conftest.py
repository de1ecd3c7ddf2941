"""The tree that all packages are made of."""

import pathlib
import subprocess

import pytest


@pytest.fixture(scope="session")
def installed_tree(tidemark_binary, tmp_path_factory):
    """The build under test as `meson install` puts it into a tree."""
    tree = tmp_path_factory.mktemp("installed")
    done = subprocess.run(
        ["meson", "install", "-C", pathlib.Path(tidemark_binary).parent,
         "--no-rebuild", "--quiet", "--destdir", tree],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return tree

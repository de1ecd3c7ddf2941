"""The tree that all packages are made of."""

import pathlib
import subprocess

import pytest

import debian_tree
import wheels
from bench import Tidemark
from clean_tree import CleanTree


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


@pytest.fixture
def make_clean_tree(tmp_path):
    """An untouched Debian 12, made anew for each call."""
    made = []

    def make():
        made.append(CleanTree(tmp_path / f"tree-{len(made)}"))
        return made[-1]

    yield make
    for tree in made:
        tree.close()


@pytest.fixture
def clean_tree(make_clean_tree):
    return make_clean_tree()


@pytest.fixture(scope="session")
def wheel(tidemark_binary, tmp_path_factory):
    return wheels.build(tidemark_binary, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    made = wheels.Installed(wheel, tmp_path_factory.mktemp("tree"))
    yield made
    made.close()


@pytest.fixture
def wheel_tidemark(installed, work_dir):
    """The command of the wheel. It sees the test's own directory."""
    installed.tree.share(work_dir)
    return Tidemark(installed.tree.wrapper(work_dir / "wheel-tidemark",
                                           "/venv/bin/tidemark"), work_dir)


@pytest.fixture(scope="session")
def debs(tidemark_binary, tmp_path_factory):
    """{name: file} of Debian's packages. Tests that use them are of one
    xdist_group, "debian", because they take seconds to make."""
    return debian_tree.build(tidemark_binary, tmp_path_factory.mktemp("debs"))


@pytest.fixture
def make_debian_tree(tmp_path):
    """A Debian 12 with the libraries that the packages depend on."""
    made = []

    def make():
        made.append(debian_tree.DebianTree(tmp_path / f"debian-{len(made)}"))
        return made[-1]

    yield make
    for tree in made:
        tree.close()

"""The same sources give the same bytes: at another path, another time, with
another umask and locale. Three cheap looks cover what differs in practice; with
--full all of it is compiled twice."""

import glob
import json
import os
import pathlib
import shlex
import shutil
import subprocess

import pytest

import builds
import debian_tree
from debian_tree import NEEDS_ROOT, output_of

pytestmark = [pytest.mark.xdist_group("debian"), NEEDS_ROOT]

SOURCES = ("cli", "clients", "connectors", "core", "destinations", "engines",
           "stores")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def elsewhere():
    """Another time, locale, zone, order of sets and place for what is
    temporary."""
    found = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    assert found, "libfaketime is missing: run tools/setup --tests"
    return {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "Asia/Kolkata",
            "PYTHONHASHSEED": "7", "LD_PRELOAD": found[0],
            "FAKETIME": "+400d", "NO_FAKE_STAT": "1", "CCACHE_DISABLE": "1"}


def same(one, other):
    assert sorted(one) == sorted(other) and one
    for name, file in one.items():
        assert file.read_bytes() == other[name].read_bytes(), name


def test_packing_twice_gives_the_same(debs, tidemark_binary, tmp_path):
    scratch = tmp_path / "scratch of another name"
    scratch.mkdir()
    again = debian_tree.build(
        tidemark_binary, tmp_path / "again", umask=0o077,
        env={**elsewhere(), "TMPDIR": str(scratch)})
    same(debs, again)


def generators(build):
    """[(command, file that it writes)] of the build's own generators."""
    listed = output_of("ninja", "-C", build, "-t", "commands", "tidemark")
    found = []
    for line in listed.splitlines():
        words = shlex.split(line.split("] ")[-1])
        if len(words) > 2 and "python3" in words[0] and \
                "/tools/" in words[1] and words[2].endswith(".c"):
            found.append((words, words[2]))
    return found


def test_sources_are_generated_the_same(tidemark_binary, tmp_path):
    build = pathlib.Path(tidemark_binary).parent
    found = generators(build)
    assert {"builtin.c", "clients/library_pq.c"} <= {file for _, file in found}
    for command, file in found:
        out = tmp_path / os.path.basename(file)
        output_of(*command[:2], out, *command[3:], cwd=build,
                  env=elsewhere())
        assert out.read_bytes() == (build / file).read_bytes(), file


def copy_sources(root, build):
    """The sources with what `build` has generated, at another path."""
    for name in SOURCES:
        shutil.copytree(builds.ROOT / name, root / name)
    target = root / build.relative_to(builds.ROOT)
    for file in build.rglob("*.[ch]"):
        copy = target / file.relative_to(build)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    return target


def compile_at(build, root, entry, out, env):
    """As the release does, but with what is known for debuggers: it has most
    of the paths."""
    words = shlex.split(entry["command"].replace(str(builds.ROOT), str(root)))
    start = words.index("-MD")
    end = words.index("-c")
    words[start:end] = ["-o", str(out)]
    if "ccache" in words[0]:
        words.pop(0)
    output_of(*words, "-O3", "-g", f"-ffile-prefix-map={root}=.", cwd=build,
              env=env)


def test_objects_are_the_same_at_another_path(tidemark_binary, tmp_path):
    build = pathlib.Path(tidemark_binary).parent
    if builds.ROOT not in build.parents:
        pytest.skip("the binary is not of a build directory in this tree")
    entries = [entry for entry in json.loads(
        (build / "compile_commands.json").read_text(encoding="utf-8"))
        if entry["file"].startswith("../../c")
        and "tests" not in entry["file"]]
    chosen = entries[::len(entries) // 6]
    assert len(chosen) >= 6
    root = tmp_path / "a/much/longer path"
    copy = copy_sources(root, build)
    for number, entry in enumerate(chosen):
        here, there = (tmp_path / f"{number}.{name}.o" for name in "ab")
        compile_at(build, builds.ROOT, entry, here,
                   {**os.environ, "CCACHE_DISABLE": "1"})
        compile_at(copy, root, entry, there, elsewhere())
        assert here.read_bytes() == there.read_bytes(), entry["file"]


def copy_tree(root):
    """All that git would give."""
    listed = output_of("git", "ls-files", "-z", cwd=builds.ROOT)
    for name in filter(None, listed.split("\0")):
        copy = root / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(builds.ROOT / name, copy, follow_symlinks=False)
    return root


def build_all(root, env, umask):
    subprocess.run(
        [root / "packaging/debian/build", "--out", root / "out", "--commit",
         COMMIT, "--compression", "gzip:1"], check=True, env=env, umask=umask)
    return {file.name: file for file in (root / "out").glob("*.deb")}


@pytest.mark.timeout(3600)
def test_building_twice_gives_the_same(tmp_path, full):
    if not full:
        pytest.skip("with --full: it compiles a release twice")
    same(build_all(copy_tree(tmp_path / "one"),
                   {**os.environ, "CCACHE_DISABLE": "1"}, 0o022),
         build_all(copy_tree(tmp_path / "a/much/longer path"), elsewhere(),
                   0o077))

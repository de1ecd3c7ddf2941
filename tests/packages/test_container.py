"""The Dockerfile, as far as no Docker is needed for it. The stage that installs is
run in a Debian 12. The image's program runs as its user with a read-only root. Two
things are not run: the compilation, and the download by apt-get."""

import json
import re
import shlex
import sqlite3

import pytest

import builds
from debian_tree import NEEDS_ROOT, named, page_block

pytestmark = [pytest.mark.xdist_group("debian"), NEEDS_ROOT]
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Installs the files that it is given. The other packages have to be there.
APT_GET = """#!/bin/sh
set -e
[ "$1" = install ] || exit 0
for each; do
	case $each in
	*.deb) files="$files $each" ;;
	install | -*) ;;
	*) dpkg -s "$each" >/dev/null ;;
	esac
done
exec dpkg --force-unsafe-io --install $files
"""
CONFIG = """\
version: 1
state: sqlite:state.db
connections: { shop: "sqlite:shop.db", lake: "duckdb:lake.db" }
pipelines:
  items:
    source: { connection: shop, table: items }
    destination: { connection: lake, table: items }
    watermark: { strategy: sequence, column: id }
"""


def stages():
    """[(image, [(instruction, text)])] of the Dockerfile."""
    text = (builds.ROOT / "Dockerfile").read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    found = []
    for line in filter(None, text.splitlines()):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append((rest, []))
        else:
            found[-1][1].append((word, rest))
    return found


def only(instructions, word):
    """The text of the instruction, which is there once."""
    found = [text for each, text in instructions if each == word]
    assert len(found) == 1, (word, found)
    return found[0]


class Image:
    """The last stage in a tree."""

    def __init__(self, tree):
        self.tree = tree
        image, instructions = stages()[-1]
        assert image == "scratch"
        self.user = only(instructions, "USER").split(":")
        self.folder = only(instructions, "WORKDIR")
        self.volume = only(instructions, "VOLUME")
        self.entry = json.loads(only(instructions, "ENTRYPOINT"))
        self.command = json.loads(only(instructions, "CMD"))
        self.env = dict([only(instructions, "ENV").split("=")])

    def seal(self):
        """As --read-only: a new volume has the rights of the image's folder."""
        root = f"{self.tree.place}/root"
        script = """
            rights=$(stat -c '%u:%g' "$0$1") mode=$(stat -c %a "$0$1")
            mount -t tmpfs -o "mode=$mode" tmpfs "$0$1"
            chown "$rights" "$0$1"
            mount -o remount,ro "$0"
        """
        builds.run_quietly(self.tree.inside("sh", "-ec", script, root,
                                            self.volume))
        return self

    def shell(self, *command, **more):
        """Run as Docker would: the image's user, no capabilities."""
        uid, gid = self.user
        return self.tree.run(
            "setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups",
            "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all",
            *command, cwd=self.folder,
            env={**self.env, "PATH": PATH, "HOME": self.folder}, **more)

    def run(self, *args, **more):
        return self.shell(*self.entry, *(args or self.command), **more)


@pytest.fixture
def image(make_debian_tree, debs):
    """The stages behind the first one."""
    tree = make_debian_tree()
    tree.write("/usr/local/sbin/apt-get", APT_GET)
    tree.run("chmod", "755", "/usr/local/sbin/apt-get")
    _, instructions = stages()[1]
    source, target = only(instructions, "COPY").split()[1:]
    assert only(instructions, "COPY").startswith("--from=build ")
    assert f"--out {source} " in " ".join(runs(stages()[0]))
    tree.run("mkdir", "-p", target)
    for file in debs.values():
        tree.put(file, target)
    tree.run("sh", "-ec", only(instructions, "RUN"))
    assert stages()[2][1][0] == ("COPY", "--from=installed / /")
    return Image(tree)


def runs(stage):
    return [text for word, text in stage[1] if word == "RUN"]


def test_it_is_built_by_the_packages_own_script(make_debian_tree):
    """All that the script takes is there, of the Debian that the tests have."""
    image, instructions = stages()[0]
    assert image == "debian:12-slim AS build"
    release = make_debian_tree().run("cat", "/etc/os-release").stdout
    assert 'VERSION_ID="12"' in release
    copied = [text.split() for word, text in instructions if word == "COPY"]
    for *files, _ in copied:
        assert all((builds.ROOT / file).exists() for file in files), files
    command = next(shlex.split(text) for text in runs(stages()[0])
                   if "packaging" in text)
    assert command[0] == "packaging/debian/build"
    script = (builds.ROOT / command[0]).read_text(encoding="utf-8")
    for flag in command[1::2]:
        assert f"\n\t{flag})" in script, flag
    ignored = (builds.ROOT / ".dockerignore").read_text(encoding="utf-8")
    assert not set(ignored.split()) & {"packaging", "docs", "examples",
                                       "README.md", "CHANGELOG.md"}


def test_it_runs_sealed(image, tmp_path):
    """Not root, nothing but the volume is written."""
    shop = tmp_path / "shop.db"
    with sqlite3.connect(shop) as db:
        db.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)")
        db.execute("INSERT INTO items VALUES (1, 'one')")
    image.tree.write("/etc/tidemark/tidemark.yaml", CONFIG)
    image.seal()
    assert image.run().stdout == image.run("help").stdout
    assert image.shell("id", "-u").stdout == "900\n"
    for place in ("/", "/etc", "/etc/tidemark", "/usr/bin", "/tmp"):
        assert image.shell("touch", f"{place}/x", check=False).returncode
    image.tree.put(shop, image.volume)
    image.tree.run("chown", "900:900", f"{image.volume}/shop.db")
    done = json.loads(image.run("run", "--json").stdout)
    assert done["pipelines"][0]["rows_inserted"] == 1
    assert "equal" in image.run("verify").stdout


def test_its_user_owns_nothing_but_the_volume(image):
    """So that a mistake of the program cannot change the program."""
    found = image.shell("find", "/", "-xdev", "-writable", "!", "-type", "l",
                        check=False).stdout.split()
    assert image.volume in found
    assert {path for path in found
            if not path.startswith(image.volume)} <= {
                "/tmp", "/var/tmp", "/run/lock"}


def test_it_has_what_the_package_recommends(debs):
    """It is installed without other recommendations, for they are many."""
    command = only(stages()[1][1], "RUN").split()
    assert "--no-install-recommends" in command
    assert named(debs["tidemark"], "Recommends") <= set(command)


def test_the_page_mounts_what_the_image_reads():
    """`docker run` of docs/install.md, as no Docker is here to run it."""
    instructions = stages()[-1][1]
    build, run = map(shlex.split, page_block("Container", 0).replace(
        "\\\n", " ").strip().splitlines())
    assert build[0] == run[0] == "docker" and build[-1] == "."
    name = build[build.index("-t") + 1]
    mounts = [run[n + 1].split(":") for n, word in enumerate(run)
              if word == "-v"]
    assert mounts == [
        ["./tidemark.yaml", only(instructions, "ENV").split("=")[1], "ro"],
        ["tidemark", only(instructions, "VOLUME")]]
    assert {"--read-only", "--rm"} <= set(run) and run[-2:] == [name, "run"]


def test_it_has_no_package_files(image):
    assert image.tree.run("ls", "/packages", check=False).returncode
    left = image.tree.run("find", "/", "-xdev", "-name", "*.deb").stdout
    assert left == ""

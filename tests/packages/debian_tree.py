"""Debian's packages of the build under test, and a Debian 12 that has what they
depend on."""

import os
import pathlib
import re
import subprocess

import pytest

import builds
import clean_tree

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="dpkg needs root")
DEBIAN = builds.ROOT / "packaging/debian"
USER = ("setpriv", "--reuid=tidemark", "--regid=tidemark", "--clear-groups")


def output_of(*command, **more):
    """Its stdout. A failure shows all that was printed."""
    done = subprocess.run(list(map(str, command)), capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL,
                          **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(binary, out, **more):
    """{name of a package: its file}. Nothing is compiled."""
    out.mkdir(exist_ok=True)
    output_of(DEBIAN / "build", "--out", out, "--compression", "gzip:1",
              "--build", pathlib.Path(binary).parent, **more)
    return {file.name.split("_")[0]: file for file in out.glob("*.deb")}


def page_block(part, number):
    """The commands of the numberth block in a part of docs/install.md."""
    page = (builds.ROOT / "docs/install.md").read_text(encoding="utf-8")
    text = page.split(f"\n## {part}\n")[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", text, re.S)[number]


def named(deb, field):
    """The packages that a field of a package names."""
    text = output_of("dpkg-deb", "-f", deb, field).strip()
    return {each.split()[0] for each in text.split(", ")}


def layers():
    """The trees of tools/setup, as overlayfs takes them."""
    layer = output_of("bash", "-c", '. tools/paths.sh; echo "$layer_dir"',
                      cwd=builds.ROOT).strip()
    return f"{layer}:{clean_tree.lower()}"


class DebianTree(clean_tree.CleanTree):
    """A tree in which packages are installed by dpkg, without the network."""

    def __init__(self, place):
        super().__init__(place, layers())

    def install(self, *files):
        for file in files:
            self.put(file, "/root/")
        self.run("dpkg", "--force-unsafe-io", "--install",
                 *(f"/root/{file.name}" for file in files))
        self.run("rm", *(f"/root/{file.name}" for file in files))

    def files(self):
        """All names but those of dpkg's own business."""
        listed = self.run(
            "find", "/", "-xdev", "-path", "/var/lib/dpkg", "-prune", "-o",
            "-path", "/var/log", "-prune", "-o", "-path", "/var/cache",
            "-prune", "-o", "-print").stdout
        return set(listed.splitlines())

    def rights(self, *paths):
        return self.run("stat", "-c", "%U:%G %a", *paths).stdout.splitlines()

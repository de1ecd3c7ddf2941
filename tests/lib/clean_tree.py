"""A Debian 12 without compilers or -dev packages, to install packages in.

tools/setup makes the tree once. Each test writes into a layer of its own above
it, which a mount namespace holds. The namespace, and with it the mounts, end
with the process that holds it, which ends with the tests at the latest. The
network is the machine's own, so that servers of the tests answer on 127.0.0.1.
"""

import pathlib
import shlex
import subprocess

import pytest

import builds

MOUNT = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" \\
	"$1/root"
mount -t proc proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
echo ready
exec sleep infinity
"""


def lower():
    """The tree that all tests share and none may change."""
    said = subprocess.run(
        ["bash", "-c", '. tools/paths.sh; echo "$clean_dir"'], check=True,
        cwd=builds.ROOT, capture_output=True, text=True).stdout
    return pathlib.Path(said.strip())


class CleanTree:
    """`run()` runs a command in the tree, `path()` names a file of it as the
    command sees it, and `put()` copies one into it."""

    def __init__(self, place, tree=None):
        self.place = pathlib.Path(place)
        self.place.mkdir(exist_ok=True)
        self.holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount",
             "--propagation", "private", "sh", "-c", MOUNT, "sh",
             str(self.place), str(tree or lower())],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            said = self.holder.communicate()[1]
            # Containers often forbid what this needs.
            if "Operation not permitted" in said or "permission" in said:
                pytest.skip(f"no mounts for a clean tree: {said.strip()}")
            raise RuntimeError(f"no clean tree: {said}")

    def inside(self, *command):
        return ["nsenter", f"--target={self.holder.pid}", "--mount", *command]

    def run(self, *command, env=None, cwd="/root", check=True, **more):
        """The completed process; output as text. Only `env` is passed on."""
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
               ":/sbin:/bin", "HOME": "/root", **(env or {})}
        done = subprocess.run(
            self.inside("chroot", str(self.place / "root"), "/bin/sh", "-c",
                        'cd "$0" && exec "$@"', cwd, *map(str, command)),
            env=env, capture_output=True, text=True, check=False,
            **{"stdin": subprocess.DEVNULL, **more})
        assert not check or done.returncode == 0, (
            f"$ {' '.join(map(str, command))}\nexit {done.returncode}\n"
            f"{done.stdout}{done.stderr}")
        return done

    def put(self, source, target):
        """Copy a file or a directory of the machine to a path in the tree."""
        subprocess.run(self.inside("cp", "-a", str(source),
                                   f"{self.place}/root{target}"), check=True)

    def write(self, target, text):
        self.run("sh", "-c", 'mkdir -p "$(dirname "$0")" && cat >"$0"', target,
                 stdin=None, input=text)

    def share(self, directory):
        """Show a directory of the machine under the same path in the tree."""
        self.run("mkdir", "-p", directory)
        subprocess.run(self.inside("mount", "--bind", str(directory),
                                   f"{self.place}/root{directory}"), check=True)

    def wrapper(self, path, program):
        """Write a script of the machine that runs a program of the tree, with
        the caller's environment and directory."""
        inside = shlex.join(self.inside("chroot", f"{self.place}/root"))
        path.write_text("#!/bin/sh\n"
                        f"exec {inside} /bin/sh -c 'cd \"$0\" && exec \"$@\"' "
                        f"\"$PWD\" {shlex.quote(str(program))} \"$@\"\n")
        path.chmod(0o755)
        return str(path)

    def close(self):
        self.holder.kill()
        self.holder.communicate()
        self.place.rmdir()

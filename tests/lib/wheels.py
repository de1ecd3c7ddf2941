"""The wheel of the build under test, and a clean tree that has it installed."""

import pathlib
import subprocess
import zipfile

import builds
from clean_tree import CleanTree


def build(binary, out):
    """Pack the build that has this binary; the wheel's path is returned."""
    done = subprocess.run(
        [builds.ROOT / "packaging/wheel/build", "--out", out, "--build",
         pathlib.Path(binary).parent], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return pathlib.Path(done.stdout.strip())


class Installed:
    """The wheel in a virtual environment of a clean tree."""

    def __init__(self, wheel, place):
        self.tree = CleanTree(place)
        self.wheel = f"/root/{wheel.name}"
        self.tree.put(wheel, self.wheel)
        self.tree.run("python3", "-m", "venv", "--without-pip", "/venv")
        # By its name, as from an index that has it.
        self.pip("install", "--find-links", "/root", "tidemark")
        with zipfile.ZipFile(wheel) as archive:
            self.names = archive.namelist()
        self.package = pathlib.Path(self.tree.run(
            "/venv/bin/python", "-c",
            "import tidemark; print(tidemark.__path__[0])").stdout.strip())
        self.program = self.package / "_program"

    def pip(self, *words, check=True):
        """Debian's pip, out of its archive: to unpack it into the environment
        would take longer than all the rest."""
        return self.tree.run(
            "sh", "-c", 'exec /venv/bin/python '
            '"$(echo /usr/share/python-wheels/pip-*.whl)/pip" "$@"', "sh", *words,
            "--no-index", "--no-compile", "--disable-pip-version-check",
            check=check)

    def python(self, text, *words, **more):
        return self.tree.run("/venv/bin/python", "-c", text, *words, **more)

    def close(self):
        self.tree.close()

"""The licences of the libraries in the wheel, as Debian's packages state them."""

import pathlib
import re
import subprocess

DOCUMENTS = pathlib.Path("/usr/share/doc")
COMMON = pathlib.Path("/usr/share/common-licenses")
HEAD = """The wheel carries these libraries, unchanged but for the path by which they find
one another. NAME.copyright is the licence of package NAME. Texts that it refers to
in /usr/share/common-licenses are in common-licenses/ here. The source of a Debian
package, in this very version, is at https://snapshot.debian.org/. A library can be
replaced by your own: it is a file of its own in tidemark/_program/lib.

"""


def packages(files):
    """{file: (Debian's package, version)}; a file of no package is left out."""
    asked = {}
    for file in files:
        real = str(file.resolve())
        asked[real] = file
        # Packages of Debian 12 name files as they were before /lib moved.
        asked[real.removeprefix("/usr")] = file
        asked[str(file)] = file
    said = subprocess.run(["dpkg-query", "-S", *asked], check=False,
                          capture_output=True, text=True).stdout
    owner = {}
    for line in said.splitlines():
        package, path = line.split(": ", 1)
        owner[asked[path]] = package
    versions = subprocess.run(
        ["dpkg-query", "-W", "-f", "${binary:Package} ${Version}\n",
         *sorted(set(owner.values()))], check=True, capture_output=True,
        text=True).stdout
    known = dict(line.split(" ") for line in versions.splitlines())
    return {file: (package.split(":")[0], known.get(package) or
                   known[package.split(":")[0]])
            for file, package in owner.items()}


def collect(libraries, root):
    """{path below licenses/: contents} for all libraries."""
    notices = {"LICENSE": (root / "LICENSE").read_bytes(),
               "libraries/duckdb.txt": (
                   root / "packaging/wheel/licences/duckdb.txt").read_bytes()}
    owners, lines = packages(libraries.values()), []
    for name, file in libraries.items():
        if file not in owners and name != "libduckdb.so":
            raise SystemExit(f"{file} is of no Debian package: whose is it?")
        package, version = owners.get(file, ("duckdb", "see duckdb.txt"))
        lines.append(f"{name:24} {package} {version}\n")
        if file in owners:
            add(notices, package)
    notices["libraries/README.txt"] = (HEAD + "".join(lines)).encode()
    return notices


def add(notices, package):
    text = (DOCUMENTS / package / "copyright").read_bytes()
    notices[f"libraries/{package}.copyright"] = text
    for name in re.findall(rb"/usr/share/common-licenses/([A-Za-z0-9.-]*\w)",
                           text):
        file = COMMON / name.decode()
        if file.exists():
            notices[f"libraries/common-licenses/{file.name}"] = \
                file.read_bytes()

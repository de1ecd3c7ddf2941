"""Questions to ELF files: which libraries they need, and how new a glibc."""

import pathlib
import re
import subprocess

# Every system with glibc has these from glibc itself, and the loader and its
# libraries must be of one version. Wheels for Linux may take those of the C++
# compiler from the system, too (PEP 600). They grow with the compiler and stay
# compatible, and our own copy would need a newer glibc than all the rest.
SYSTEM = re.compile(
    r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|anl|nsl|mvec)|libgcc_s"
    r"|libstdc\+\+)\.so\.\d+$")
LATE = re.compile(r'\.soname = "([^"]+)"')


def readelf(option, file):
    return subprocess.run(["readelf", "-W", option, str(file)], check=True,
                          capture_output=True, text=True).stdout


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", file))


def late(build):
    """The libraries that the program loads by name when a connection needs
    them. tools/generate-library has written them down."""
    found = {name for file in build.rglob("library_*.c")
             for name in LATE.findall(file.read_text())}
    if not found:
        raise SystemExit(f"no library_*.c in {build}: it needs -Dbind_late=true")
    return found


def where():
    """{name of a library: its path}, as the loader of this machine has it."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True,
                            capture_output=True, text=True).stdout
    wanted = "AArch64" if "AArch64" in listed else "x86-64"
    found = {}
    for name, kind, path in re.findall(r"^\s(\S+) \((.*)\) => (.*)$", listed,
                                       re.MULTILINE):
        if wanted in kind:
            found.setdefault(name, path)
    return found


def closure(names, known):
    """{name: path} of these libraries and all that they need in turn, but for
    the system's. `known` are not where loaders look."""
    paths, found, left = {**where(), **known}, {}, list(names)
    while left:
        name = left.pop()
        if SYSTEM.match(name) or name in found:
            continue
        if name not in paths:
            raise SystemExit(f"{name} is needed, and not installed here")
        found[name] = pathlib.Path(paths[name])
        left += needed(found[name])
    return dict(sorted(found.items()))


def mariadb_plugins(libraries):
    """The ways to sign in at MySQL that libmariadb loads as files."""
    base = libraries["libmariadb.so.3"].parent
    found = sorted((base / "libmariadb3/plugin").glob("*.so"))
    if not any(file.stem == "caching_sha2_password" for file in found):
        raise SystemExit(f"no plug-ins of libmariadb in {base}")
    return found


def newest_glibc(files):
    """(2, 36): the oldest glibc that has all versions the files ask for."""
    versions = set()
    for file in files:
        if file.is_file():
            versions.update(re.findall(r"\bGLIBC_(\d+)\.(\d+)",
                                       readelf("-V", file)))
    return max((int(major), int(minor)) for major, minor in versions)

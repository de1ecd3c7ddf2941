"""The files of the wheel, and the archive that holds them (PEP 427)."""

import base64
import hashlib
import os
import platform
import zipfile

# The same archive, whenever and wherever it is made.
EPOCH = (1980, 1, 1, 0, 0, 0)
SUMMARY = "Keeps warehouse tables equal to database tables, and proves it"
DESCRIPTION = """Tidemark keeps a table in a warehouse equal to a table in
another database. It reads only the rows that changed, loads them, and remembers
how far it has come. `tidemark verify` compares both tables row by row.

    tidemark init 'postgresql://app:${SHOP_PASSWORD}@db.example/shop' \\
        duckdb:warehouse.duckdb
    tidemark check
    tidemark run

This wheel has the program and all that it needs. The same from Python:

    import tidemark
    tidemark.run("orders", config="tidemark.yaml")
    tidemark.verify("orders", config="tidemark.yaml")
"""


def tag(glibc):
    return (f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_"
            f"{platform.machine()}")


def write_module(source, package, version, glibc):
    for file in sorted(source.iterdir()):
        if file.suffix == ".py" or file.name == "py.typed":
            (package / file.name).write_bytes(file.read_bytes())
    (package / "_build.py").write_text(
        '"""Written when the wheel was made."""\n\n'
        f'VERSION = "{version}"\nGLIBC = {glibc}  # or newer\n')


def metadata(version, notices):
    lines = ["Metadata-Version: 2.4", "Name: tidemark", f"Version: {version}",
             f"Summary: {SUMMARY}", "License-Expression: Apache-2.0",
             "Requires-Python: >=3.9",
             "Description-Content-Type: text/markdown",
             "Classifier: Operating System :: POSIX :: Linux",
             "Classifier: Topic :: Database",
             "Classifier: Typing :: Typed"]
    lines += [f"License-File: {name}" for name in sorted(notices)]
    return "\n".join(lines) + "\n\n" + DESCRIPTION


def pack(package, script, notices, version, glibc, out):
    """Write the wheel into a directory; the path is returned."""
    info = f"tidemark-{version}.dist-info"
    files = {f"tidemark/{file.relative_to(package)}":
             (file.read_bytes(), file.parent.name == "_program")
             for file in package.rglob("*") if file.is_file()}
    files[f"tidemark-{version}.data/scripts/tidemark"] = (
        script.read_bytes(), True)
    for name, text in notices.items():
        files[f"{info}/licenses/{name}"] = (text, False)
    files[f"{info}/METADATA"] = (metadata(version, notices).encode(), False)
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: packaging/wheel/build\n"
        f"Root-Is-Purelib: false\nTag: {tag(glibc)}\n".encode(), False)
    files[f"{info}/RECORD"] = (record(files, info), False)
    wheel = out / f"tidemark-{version}-{tag(glibc)}.whl"
    part = wheel.with_suffix(".part")
    with zipfile.ZipFile(part, "w") as archive:
        for name, (data, runs) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data, compresslevel=6)
    os.replace(part, wheel)
    return wheel


def record(files, info):
    lines = []
    for name, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        lines.append(f"{name},sha256={digest.decode().rstrip('=')},{len(data)}")
    return "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()

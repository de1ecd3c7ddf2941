"""Debian's packages: clean by lintian, installed, used, upgraded, removed and
purged in a clean tree."""

import json
import os
import re
import sqlite3
import subprocess

import pytest

import debian_tree
import oracle
import workload
from bench import Tidemark, sync_items
from debian_tree import NEEDS_ROOT, USER, named, output_of, page_block

pytestmark = [pytest.mark.xdist_group("debian"), NEEDS_ROOT]

CONFIG = """\
version: 1
state: sqlite:/var/lib/tidemark/state.db
connections:
  shop: "sqlite:/var/lib/tidemark/shop.db"
  lake: "ENGINE:/var/lib/tidemark/lake.db"
pipelines:
  items:
    source: { connection: shop, table: items }
    destination: { connection: lake, table: items }
    watermark: { strategy: sequence, column: id }
"""
ETC = "/etc/tidemark/tidemark.yaml"


@pytest.fixture
def tree(make_debian_tree):
    return make_debian_tree()


def older(deb, folder, version="0.0.9-1"):
    """The same package as if it were of an older version."""
    unpacked = folder / f"{deb.name}.unpacked"
    output_of("dpkg-deb", "-R", deb, unpacked)
    control = unpacked / "DEBIAN/control"
    text = control.read_text(encoding="utf-8")
    now = output_of("dpkg-deb", "-f", deb, "Version").strip()
    control.write_text(text.replace(now, version), encoding="utf-8")
    output_of("dpkg-deb", "-Znone", "-b", unpacked,
              folder / f"older-{deb.name}")
    return folder / f"older-{deb.name}"


def configure(tree, tmp_path, engine):
    """A config that root writes, and a source of three rows."""
    tree.write(ETC, CONFIG.replace("ENGINE", engine))
    shop = tmp_path / "shop.db"
    with sqlite3.connect(shop) as db:
        db.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)")
        db.executemany("INSERT INTO items VALUES (?, ?)",
                       [(n, f"n{n}") for n in range(3)])
    tree.put(shop, "/var/lib/tidemark/")
    tree.run("chown", "tidemark:tidemark", "/var/lib/tidemark/shop.db")


def sync(tree):
    """The pipeline's result, as the user of the units runs it."""
    done = tree.run(*USER, "tidemark", "-c", ETC, "run", "--json", cwd="/")
    return json.loads(done.stdout)["pipelines"][0]


@pytest.mark.parametrize("args, told", (
    (("--fast", "yes"), "unknown: --fast"),
    (("--out",), "unknown or without a value: --out"),
    (("--build", "BUILD"), "is not a build with --prefix=/usr"),
))
def test_a_wrong_build_is_refused(tmp_path, args, told):
    (tmp_path / "tidemark_config.h").write_text(
        '#define TIDEMARK_LIBDIR "/usr/local/lib/tidemark"\n', "utf-8")
    done = subprocess.run(
        [debian_tree.DEBIAN / "build", "--out", tmp_path / "out"] +
        [str(tmp_path) if arg == "BUILD" else arg for arg in args],
        capture_output=True, text=True, check=False)
    assert done.returncode == 1 and told in done.stderr, done
    assert not list(tmp_path.glob("out/*.deb"))


def test_lintian_has_nothing_to_say(debs):
    output_of("lintian", "--allow-root", "--fail-on", "error,warning",
              *debs.values())


def test_the_program_and_modules_are_small(debs):
    listed = output_of("dpkg-deb", "-c", debs["tidemark"]) + \
        output_of("dpkg-deb", "-c", debs["tidemark-duckdb"])
    sizes = {line.split()[5]: int(line.split()[2])
             for line in listed.splitlines()}
    ours = {name: size for name, size in sizes.items()
            if name.endswith("bin/tidemark") or
            re.search(r"/tidemark/tidemark-\w+\.so$", name)}
    assert len(ours) == 2, sizes
    assert sum(ours.values()) < 12_000_000


def test_late_libraries_are_depended_on(debs, tidemark_binary):
    """The linker does not know them: they are loaded when they are needed."""
    generated = os.path.dirname(tidemark_binary)
    late = output_of("grep", "-rhoP", r'\.package = "\K[^"]+', "--include",
                     "library_*.c", generated).split()
    assert {"libpq5", "libmariadb3", "libcurl4", "libsqlite3-0"} <= set(late)
    depends = named(debs["tidemark"], "Depends")
    recommends = named(debs["tidemark"], "Recommends")
    assert set(late) - {"libjwt0"} <= depends
    assert {"libc6", "libjansson4", "libfyaml0"} <= depends
    assert recommends == {"libjwt0", "ca-certificates", "tzdata"}


def test_installed_it_runs(tree, debs, tmp_path):
    tree.install(debs["tidemark"])
    told = json.loads(tree.run("tidemark", "version", "--json").stdout)
    deb_version = output_of("dpkg-deb", "-f", debs["tidemark"], "Version")
    assert deb_version.strip() == told["version"] + "-1"
    configure(tree, tmp_path, "sqlite")
    assert sync(tree)["rows_inserted"] == 3
    done = tree.run(*USER, "tidemark", "-c", ETC, "verify", cwd="/")
    assert "equal" in done.stdout, done.stdout


@pytest.mark.parametrize("engine", ("postgres", "mysql"))
def test_servers_to_duckdb(tree, debs, work_dir, make_source, make_destination,
                           engine):
    """Their libraries are loaded when they are needed, and nothing else than the
    package asks for them."""
    tree.install(debs["tidemark"], debs["tidemark-duckdb"])
    tree.share(work_dir)
    tidemark = Tidemark(tree.wrapper(work_dir / "in-tree", "/usr/bin/tidemark"),
                        work_dir)
    source, destination = make_source(engine), make_destination("duckdb")
    workload.create_items(source, rows=50)
    workload.settle(source)
    sync_items(tidemark, source, destination, "timestamp").run()
    oracle.check_rows(source.rows("items", oracle.ITEMS), destination.rows(
        "items", oracle.ITEMS))


def test_duckdb_is_a_package_of_its_own(tree, debs, tmp_path):
    tree.install(debs["tidemark"])
    configure(tree, tmp_path, "duckdb")
    done = tree.run(*USER, "tidemark", "-c", ETC, "run", check=False, cwd="/")
    assert done.returncode == 2 and \
        "install Debian's package tidemark-duckdb" in done.stderr
    tree.install(debs["tidemark-duckdb"])
    assert sync(tree)["rows_inserted"] == 3


def test_texts_lie_where_shells_and_man_look(tree, debs):
    tree.install(debs["tidemark"])
    assert tree.run("sh", "-c", "zcat /usr/share/man/man1/tidemark.1.gz").stdout \
        == tree.run("tidemark", "help", "--man").stdout
    for shell, path in (
            ("bash", "bash-completion/completions/tidemark"),
            ("zsh", "zsh/vendor-completions/_tidemark"),
            ("fish", "fish/vendor_completions.d/tidemark.fish")):
        assert tree.run("cat", f"/usr/share/{path}").stdout == \
            tree.run("tidemark", "completion", shell).stdout


def test_pages_lead_to_pages(debs, tmp_path):
    """Pages within the package, and the files beside them."""
    output_of("dpkg-deb", "-x", debs["tidemark"], tmp_path)
    pages = list((tmp_path / "usr/share/doc/tidemark").rglob("*.md"))
    assert len(pages) > 50
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"),
                      flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), (page, target)


@pytest.mark.parametrize("sysusers", (True, False))
def test_the_user_of_the_units(tree, debs, sysusers):
    """systemd-sysusers makes it, or useradd where that is not there."""
    if not sysusers:
        tree.run("rm", "/usr/bin/systemd-sysusers")
    tree.install(debs["tidemark"])
    name, _, uid, gid, text, home, shell = tree.run(
        "getent", "passwd", "tidemark").stdout.strip().split(":")
    assert (name, text, home) == ("tidemark", "Tidemark", "/var/lib/tidemark")
    assert int(uid) < 1000 and int(gid) < 1000 and shell.endswith("/nologin")
    units = tree.run("sh", "-c", "cat /usr/lib/systemd/system/tidemark*").stdout
    assert set(re.findall(r"^(?:User|Group)=(.*)", units, re.M)) == {"tidemark"}
    assert tree.rights("/var/lib/tidemark") == ["tidemark:tidemark 750"]


def test_others_cannot_read_a_config(tree, debs, tmp_path):
    tree.install(debs["tidemark"])
    configure(tree, tmp_path, "sqlite")
    tree.run("chmod", "644", ETC)
    nobody = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
    assert "Permission denied" in tree.run(*nobody, "cat", ETC, check=False,
                                           cwd="/").stderr
    assert "version: 1" in tree.run(*USER, "cat", ETC, cwd="/").stdout
    assert tree.rights("/etc/tidemark", "/etc/tidemark/secrets") == \
        ["root:tidemark 750", "root:root 700"]


def test_an_administrator_chooses_other_rights(tree, debs):
    tree.run("groupadd", "staffers")
    tree.run("dpkg-statoverride", "--add", "root", "staffers", "2770",
             "/etc/tidemark")
    tree.install(debs["tidemark"])
    assert tree.rights("/etc/tidemark") == ["root:staffers 2770"]


def test_an_upgrade_keeps_config_and_state(tree, debs, tmp_path):
    tree.install(*(older(debs[name], tmp_path)
                   for name in ("tidemark", "tidemark-duckdb")))
    configure(tree, tmp_path, "duckdb")
    assert sync(tree)["rows_inserted"] == 3
    tree.write("/etc/tidemark/secrets/token", "secret")
    kept = ("/etc/tidemark/secrets/token", ETC, "/var/lib/tidemark/state.db",
            "/var/lib/tidemark/lake.db")
    before = tree.run("sha256sum", *kept).stdout, tree.rights(*kept)
    tree.install(debs["tidemark"], debs["tidemark-duckdb"])
    assert (tree.run("sha256sum", *kept).stdout, tree.rights(*kept)) == before
    assert sync(tree)["rows_read"] == 0
    listed = tree.run(*USER, "tidemark", "-c", ETC, "runs", "list", "items",
                      "--json", cwd="/").stdout
    assert len(json.loads(listed)["runs"]) == 2


def test_duckdb_is_of_the_programs_version(tree, debs, tmp_path):
    """An upgrade of one alone would leave a module that cannot be used."""
    tree.install(older(debs["tidemark"], tmp_path))
    tree.put(debs["tidemark-duckdb"], "/root/")
    done = tree.run("dpkg", "-i", f"/root/{debs['tidemark-duckdb'].name}",
                    check=False)
    assert done.returncode and "depends on tidemark (=" in done.stderr


def test_a_removal_keeps_what_is_the_users(tree, debs, tmp_path):
    before = tree.files()
    tree.install(debs["tidemark"], debs["tidemark-duckdb"])
    configure(tree, tmp_path, "duckdb")
    sync(tree)
    data = {"/etc/tidemark", ETC, "/var/lib/tidemark"} | {
        f"/var/lib/tidemark/{name}" for name in
        tree.run("ls", "-A", "/var/lib/tidemark").stdout.split()}
    tree.run("dpkg", "--remove", "tidemark-duckdb", "tidemark")
    assert data <= tree.files()
    assert tree.run("sh", "-c", "command -v tidemark",
                    check=False).returncode
    done = tree.run("dpkg", "--purge", "tidemark-duckdb", "tidemark")
    assert "/var/lib/tidemark stays" in done.stderr
    assert tree.files() - before - data - BESIDE_PASSWD == set()
    assert data <= tree.files()
    assert tree.run("getent", "passwd", "tidemark").stdout


# Copies that the tools of Debian keep of files they change.
BESIDE_PASSWD = {f"/etc/{name}-" for name in (
    "passwd", "group", "shadow", "gshadow", "subuid", "subgid")} | {
    "/etc/.pwd.lock"}


def test_a_purge_leaves_nothing(tree, debs):
    before = tree.files()
    tree.install(debs["tidemark"], debs["tidemark-duckdb"])
    wants = "/etc/systemd/system/multi-user.target.wants"
    tree.run("mkdir", "-p", wants)
    for name in ("tidemark.service", "tidemark@shop.service"):
        tree.run("ln", "-s", "/usr/lib/systemd/system/" +
                 name.replace("shop", ""), f"{wants}/{name}")
    done = tree.run("dpkg", "--purge", "tidemark-duckdb", "tidemark")
    assert not done.stderr
    left = tree.files() - before - BESIDE_PASSWD
    assert not {name for name in left if "tidemark" in name}, left


def as_root(block):
    """Without questions, and without the network's packages."""
    return block.replace("sudo ", "").replace("apt-get", "apt-get -q -y")


def test_the_page_installs_and_deletes_all(tree, debs, tmp_path):
    """The commands as docs/install.md has them."""
    before = tree.files()
    tree.run("mkdir", "/root/debs")
    for deb in debs.values():
        tree.put(deb, "/root/debs/")
    done = tree.run("sh", "-ec", as_root(page_block("Debian packages", 0)),
                    cwd="/root/debs")
    assert "tidemark 0." in done.stdout
    tree.run("rm", "-r", "/root/debs")
    configure(tree, tmp_path, "duckdb")
    sync(tree)
    tree.run("sh", "-ec", as_root(page_block("Debian packages", 2)))
    left = tree.files() - before
    assert not {name for name in left if "tidemark" in name}, left
    assert tree.run("getent", "passwd", "tidemark", check=False).returncode


# Stand-ins for systemd, which does not run here. They note how they are called.
SYSTEMCTL = """#!/bin/sh
echo "systemctl $*" >>/root/calls
case $1 in
list-units)
	echo "tidemark.service loaded active running Tidemark"
	echo "tidemark@shop.service loaded active running Tidemark (shop)"
	;;
esac
"""
INVOKE = """#!/bin/sh
echo "invoke $*" >>/root/calls
exit 101
"""


def calls(tree):
    """Since the last question."""
    noted = tree.run("sh", "-c", "cat /root/calls; rm /root/calls").stdout
    return [line for line in noted.splitlines() if "list-units" not in line]


def test_units_that_run_go_on_with_the_new_program(tree, debs, tmp_path):
    """policy-rc.d may forbid it (101), which is no failure."""
    tree.run("mkdir", "-p", "/run/systemd/system")
    for name, text in (("systemctl", SYSTEMCTL), ("deb-systemd-invoke", INVOKE)):
        tree.write(f"/usr/local/bin/{name}", text)
        tree.run("chmod", "755", f"/usr/local/bin/{name}")
    tree.install(older(debs["tidemark"], tmp_path))
    assert calls(tree) == ["systemctl --system daemon-reload"]
    tree.install(debs["tidemark"])
    units = ("tidemark.service", "tidemark@shop.service")
    assert calls(tree) == ["systemctl --system daemon-reload"] + [
        f"invoke restart {unit}" for unit in units]
    tree.run("dpkg", "--remove", "tidemark")
    assert calls(tree) == [f"invoke stop {unit}" for unit in units] + [
        "systemctl --system daemon-reload"]

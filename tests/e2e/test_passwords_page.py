"""The examples of docs/passwords.md, run as they stand there but for host and
password. A file with a password lies where systemd, Kubernetes and Docker put
it, with their owners and modes."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import workload
from bench import EXIT_CONFIG, EXIT_OK
from certificates import make_certificates
from ends import KeptEnd
from servers import CANARY, Cluster

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "passwords.md"
USER = 65534  # the user that runs Tidemark, where that is not root
GROUP = 2000  # fsGroup of a pod

pytestmark = pytest.mark.xdist_group("passwords_page")
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root mounts")


def blocks(language, word):
    """The page's examples that hold a word."""
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text("utf-8"),
                       re.M | re.S)
    return [block for block in found if word in block]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A server with TLS, whose database and user are those of the page."""
    cwd = tmp_path_factory.mktemp("certificates")
    make_certificates(cwd)
    cluster = Cluster("page").create().start().prepare()
    cluster.use_tls(cwd)
    cluster.create_database("shop")
    cluster.authority = cwd / "ours.pem"
    end = KeptEnd(cluster, "shop")
    workload.create_items(end, rows=3)
    yield cluster
    end.hang_up()
    cluster.remove()


@pytest.fixture
def write(tidemark, shop):
    """A config that begins with a block of the page."""
    def write(block):
        assert block.startswith("connections:\n  shop:"), block
        block = block.replace("@db.example/", f"@localhost:{shop.port}/")
        tidemark.pipeline("items", **{
            "source": {"connection": "shop", "table": "public.items"},
            "destination": {"connection": "here", "table": "items"},
            "watermark": {"strategy": "timestamp", "column": "updated_at"},
            "retry": {"attempts": 1}})
        # Where libpq looks for whom to believe.
        authority = pathlib.Path(tidemark.dir) / ".postgresql" / "root.crt"
        authority.parent.mkdir(exist_ok=True)
        shutil.copy(shop.authority, authority)
        return tidemark.write_config(
            block + f"  here: sqlite:{tidemark.dir}/w.db\n"
            f"state: sqlite:{tidemark.dir}/state.db\n"
            f"pipelines: {json.dumps(tidemark.pipelines)}\n")
    return write


def test_variable(write):
    block, = blocks("yaml", "${SHOP_PASSWORD}")
    write(block)("run", env={"SHOP_PASSWORD": CANARY}).expect(EXIT_OK)


def test_variable_on_a_command_line(tidemark, shop):
    """In single quotes it is Tidemark that puts it in."""
    url, = re.findall(r"`tidemark copy '(\S+)' \.\.\.`", PAGE.read_text())
    tidemark("copy", url.replace("db.example", f"localhost:{shop.port}"),
             f"sqlite:{tidemark.dir}/w.db", "--table", "public.items",
             "--watermark", "timestamp:updated_at",
             env={"SHOP_PASSWORD": CANARY}).expect(EXIT_OK)


def test_service_file(write, shop, work_dir):
    """With the password and the mode of TLS that stand in it."""
    service, = blocks("ini", "[shop]")
    block, = blocks("yaml", "?service=shop")
    service = service.replace("=db.example", f"=localhost\nport={shop.port}")
    path = work_dir / "holds-secret"
    path.write_text(service.replace("password=...", f"password={CANARY}"))
    path.chmod(0o600)
    done = write(block)("run", env={"PGSERVICEFILE": str(path)})
    done.expect(EXIT_OK)
    home = work_dir / ".pg_service.conf"
    home.symlink_to(path)
    write(block)("run").expect(EXIT_OK)
    home.unlink()


@pytest.mark.parametrize("variable", (True, False))
def test_password_file(write, shop, work_dir, variable):
    """A password file that PGPASSFILE names, and the one that libpq finds."""
    line, = blocks("text", "db.example:")
    block, = blocks("yaml", "shop: postgresql://app@")
    path = work_dir / "holds-secret"
    path.write_text(line.replace("db.example:5432", f"localhost:{shop.port}")
                    .replace("...", CANARY))
    path.chmod(0o600)
    home = work_dir / ".pgpass"
    if not variable:
        home.symlink_to(path)
    done = write(block)("run", env={"PGPASSFILE": str(path)} if variable
                        else {})
    home.unlink(missing_ok=True)
    done.expect(EXIT_OK)


# A file at $1 with the password; $2 is its owner and group, $3 its mode.
SECRET = 'printf "%s\\n" "$TIDEMARK_TEST_PASSWORD" > "$1" && chown $2 "$1" && ' \
         'chmod $3 "$1"\n'
LAYOUTS = {
    "docker": 'put() {\n' + SECRET + '}\nput "$path" 0:0 444\n',
    # As kubelet writes it: what is new comes with one rename of ..data.
    "kubernetes": 'put() {\n' + SECRET + '}\n'
    'cd $(dirname "$path") && mkdir ..2024_11_24_1 && '
    'put "..2024_11_24_1/shop" 0:$group $mode && '
    'ln -s ..2024_11_24_1 ..data && ln -s ..data/shop shop\n',
    # Where the kernel knows of no ACL, the user owns both.
    "systemd": 'put() {\n' + SECRET + '}\n'
    'put "$path" $user:$user 400 && chown $user:$user $(dirname "$path") && '
    'chmod 500 $(dirname "$path")\n',
    # Else they are root's, and an ACL names the user.
    "systemd acl": 'put() {\n' + SECRET + '}\n'
    'put "$path" 0:0 400 && chmod 500 $(dirname "$path") && '
    '"$python" -c "$acl" $(dirname "$path") 5 && "$python" -c "$acl" "$path" 4'
    '\n',
}
# user::r-- user:USER:r-- group::--- mask::r-- other::---
ACL = """
import os, struct, sys
rights, user = int(sys.argv[2]), int(os.environ["user"])
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) +
            b"".join(struct.pack("<HHI", *each) for each in (
                (1, rights, 2**32 - 1), (2, rights, user), (4, 0, 2**32 - 1),
                (16, rights, 2**32 - 1), (32, 0, 2**32 - 1))))
"""


def run_there(tidemark, layout, path, read_only, user, **more):
    """In a mount namespace, so that /run is the test's own."""
    binary = shutil.copy(tidemark.binary, tidemark.dir)
    subprocess.run(["chown", "-R", f"{user}:{user}", tidemark.dir], check=True)
    script = (
        "set -e\nmount -t tmpfs none /run\n"
        "mkdir -p $(dirname \"$path\")\n"
        "mount -t tmpfs -o mode=755 none $(dirname \"$path\")\n"
        + LAYOUTS[layout]
        + ('mount -o remount,ro,bind $(dirname "$path")\n' if read_only
           else "")
        + f"cd '{tidemark.dir}'\nexec setpriv --reuid={user} --regid={user} "
        f"--groups={user},{GROUP} '{binary}' run\n")
    env = {"path": path, "user": str(user), "python": sys.executable,
           "acl": ACL, **more}
    done = subprocess.run(["unshare", "-m", "sh", "-c", script],
                          env={**tidemark.command_env(), **env},
                          capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(done.stderr)
    return done


def of_a_file(word):
    """The page's config for a file, and the file's name in it."""
    block, = [each for each in blocks("yaml", word) if "${file:" in each]
    return block, re.search(r"\$\{file:([^}]+)\}", block)[1]


@as_root
def test_docker(tidemark, write):
    block, path = of_a_file("/run/secrets")
    write(block)
    done = run_there(tidemark, "docker", path, True, USER)
    assert done.returncode == EXIT_OK, done.stderr


@as_root
@pytest.mark.parametrize("user, layout", (
    (USER, "systemd"), (0, "systemd"), (USER, "systemd acl")))
@pytest.mark.parametrize("read_only", (True, False))
def test_systemd(tidemark, write, user, layout, read_only):
    """A mount of its own, or without the right to mount a plain directory."""
    block, path = of_a_file("/run/credentials")
    unit, = blocks("ini", "LoadCredential=")
    name, = re.findall(r"^LoadCredential=(\w+):/", unit, re.M)
    service, = re.findall(r"^# (\S+\.service)$", unit, re.M)
    assert path == f"/run/credentials/{service}/{name}"
    write(block)
    done = run_there(tidemark, layout, path, read_only, user)
    assert done.returncode == EXIT_OK, done.stderr


# A volume has mode 0644 unless defaultMode says otherwise, and with fsGroup
# this group.
@as_root
@pytest.mark.parametrize("user", (USER, 0))
@pytest.mark.parametrize("group, mode, read_only, code", (
    ("0", "644", True, EXIT_OK), (str(GROUP), "640", True, EXIT_OK),
    (str(GROUP), "440", True, EXIT_OK), (str(GROUP), "440", False, EXIT_OK),
    ("0", "644", False, EXIT_CONFIG)))
def test_kubernetes(tidemark, write, user, group, mode, read_only, code):
    block, path = of_a_file("/run/secrets")
    pod, = blocks("yaml", "secretName")
    assert re.search(r"mountPath: (\S+?),", pod)[1] == os.path.dirname(path)
    assert "readOnly: true" in pod and "defaultMode: 0440" in pod
    write(block)
    done = run_there(tidemark, "kubernetes", path, read_only, user,
                     group=group, mode=mode)
    if user == 0 and not read_only:  # root reads by no group
        code = EXIT_CONFIG
    assert done.returncode == code, done.stderr

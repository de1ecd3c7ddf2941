"""PostgreSQL servers of the tests: started from Debian's packages in a
temporary directory, on loopback and a free port, stopped at the end.

As root the server runs as user postgres, because it refuses to run as root.
"""

import base64
import contextlib
import glob
import hashlib
import hmac
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

import psycopg

import templates

# Every output of every command is searched for this password.
CANARY = "canary-5up3r-s3cret"
# How many seconds a test waits for an event. It is far more than an event takes
# on a machine that is busy with other things. Only a test that hangs reaches
# it.
PATIENCE = 300
ADMIN = "postgres"
APP = "app"


def server_bin():
    """The directory of the newest installed server's programs."""
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    if not found:
        raise RuntimeError("no PostgreSQL server: run tools/setup --tests")
    newest = max(found, key=lambda path: int(path.split("/")[-3]))
    return os.path.dirname(newest)


def free_port():
    """Below those that the system gives to outgoing connections: one of them
    could take it before the server does, or while it is down."""
    while True:
        port = random.randrange(15000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def scram_secret(password, rounds=16):
    """The server's form of a password. By itself the server proposes 4096
    rounds, which cost every session of every command some milliseconds."""
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    keys = [hmac.digest(salted, word, "sha256")
            for word in (b"Client Key", b"Server Key")]
    stored = hashlib.sha256(keys[0]).digest()
    salt, stored, served = (base64.b64encode(each).decode()
                            for each in (salt, stored, keys[1]))
    return f"SCRAM-SHA-256${rounds}:{salt}${stored}:{served}"


def as_server_user(command):
    """The command line that runs `command` as a user the server accepts."""
    if os.getuid() == 0:
        return ["runuser", "-u", "postgres", "--", *command]
    return list(command)


def children(pid):
    """Processes whose parent is `pid`."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as stat:
            if int(stat.read().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.split("/")[2]))
    return found


def lives(pid):
    """A zombie does not."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return bool(file.read())
    except OSError:
        return False


class Cluster:
    """One PostgreSQL server with its data directory."""

    def __init__(self, name="pg", fsync=False, settings=None):
        self.dir = tempfile.mkdtemp(prefix=f"tidemark-{name}-")
        self.data = os.path.join(self.dir, "data")
        self.log = os.path.join(self.dir, "log")
        self.port = free_port()
        self.bin = server_bin()
        self.version = int(self.bin.split("/")[-2])
        self.session = None
        self.settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.dir,
            "port": str(self.port),
            "fsync": "on" if fsync else "off",
            "max_prepared_transactions": "10",
            "max_connections": "60",
            "shared_buffers": "64MB",
            "max_wal_size": "128MB",  # the data may lie in memory
            "autovacuum": "off",
            "timezone": "UTC",
        }
        self.settings.update(settings or {})
        if os.getuid() == 0:
            shutil.chown(self.dir, "postgres")
        os.chmod(self.dir, 0o711)

    def program(self, *command, check=True, **more):
        """Run one of the server's programs as the server's user."""
        line = as_server_user([os.path.join(self.bin, command[0]), *command[1:]])
        done = subprocess.run(line, cwd=self.dir, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, **more)
        if check and done.returncode != 0:
            raise RuntimeError(f"{command[0]}: {done.stdout}{done.stderr}")
        return done

    def shell(self, script):
        """Run a shell script as the server's user."""
        subprocess.run(as_server_user(["sh", "-c", script]), cwd=self.dir,
                       stdin=subprocess.DEVNULL, check=True)

    def create(self, copied=False):
        """`copied`: perhaps with the system identifier of another one."""
        if copied:
            templates.fill("postgres", self.data, self.create_data)
        else:
            self.create_data()
        return self

    def create_data(self):
        password_file = os.path.join(self.dir, "password")
        with open(password_file, "w", encoding="ascii") as out:
            out.write(CANARY + "\n")
        if os.getuid() == 0:
            shutil.chown(password_file, "postgres")
        self.program("initdb", "--no-sync", "-A", "scram-sha-256",
                     "--auth-local=trust", f"--pwfile={password_file}",
                     "-U", ADMIN, "-E", "UTF8", "--locale=C.UTF-8",
                     "-D", self.data)

    def start(self):
        options = " ".join(f"-c {k}='{v}'" for k, v in self.settings.items())
        # The server inherits pg_ctl's output: a pipe would never close.
        line = as_server_user([f"{self.bin}/pg_ctl", "-D", self.data, "-l",
                               self.log, "-w", "-t", "60", "-s", "-o",
                               options, "start"])
        done = subprocess.run(line, cwd=self.dir, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                raise RuntimeError("server did not start:\n" + log.read())
        return self

    def prepare(self):
        """The unprivileged role that Tidemark signs in as; in databases made
        from now on the schema public is its own."""
        with self.admin("template1") as admin:
            admin.execute(f"CREATE ROLE {APP} LOGIN PASSWORD "
                          f"'{scram_secret(CANARY)}'")
            admin.execute(f"GRANT pg_read_all_stats TO {APP}")
            admin.execute(f"ALTER SCHEMA public OWNER TO {APP}")
        return self

    def stop(self, mode="fast"):
        if self.session:
            self.session.close()
        self.program("pg_ctl", "-D", self.data, "-m", mode, "-w", "-s",
                     "stop", check=False)

    def kill(self):
        """SIGKILL to all of its processes at once. Nothing is left in the way
        of start()."""
        if self.session:
            self.session.close()
        with open(f"{self.data}/postmaster.pid", encoding="ascii") as file:
            pid = int(file.readline())
        os.kill(pid, signal.SIGSTOP)  # it begins no other one
        every = [pid, *children(pid)]
        for each in every:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        wait_for(lambda: not any(map(lives, every)), what="a server's end")
        # Whoever is to reap the processes may not have done so yet.
        for path in (f"{self.data}/postmaster.pid",
                     *glob.glob(f"{self.dir}/.s.PGSQL.*")):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def restart(self, mode="fast"):
        self.stop(mode)
        self.start()

    def remove(self):
        self.stop("immediate")
        shutil.rmtree(self.dir, ignore_errors=True)

    def connect(self, database, user, **more):
        return psycopg.connect(host=self.dir, port=self.port, user=user,
                               dbname=database, **{"autocommit": True, **more})

    def admin(self, database="postgres"):
        return self.connect(database, ADMIN)

    def use_tls(self, certificates):
        """Serve with good.pem of that directory, and with its key."""
        with self.admin() as db:
            for name, setting in (("good.pem", "ssl_cert_file"),
                                  ("good.key", "ssl_key_file")):
                path = shutil.copy(certificates / name, self.dir)
                os.chmod(path, 0o600)
                if os.getuid() == 0:
                    shutil.chown(path, "postgres")
                db.execute(f"ALTER SYSTEM SET {setting} = '{path}'")
            db.execute("ALTER SYSTEM SET ssl = on")
            db.execute("SELECT pg_reload_conf()")

    def url(self, database, user=APP, password=CANARY, **parameters):
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        secret = f":{password}" if password else ""
        return (f"postgresql://{user}{secret}@127.0.0.1:{self.port}/"
                f"{database}{query}")

    def order(self, sql, parameters=None):
        """The answer to the administrator, whose session is kept."""
        for last in (False, True):
            if self.session is None:
                self.session = self.admin()
            try:
                return self.session.execute(sql, parameters)
            except psycopg.OperationalError:
                # The server was stopped meanwhile.
                if last or not self.session.closed:
                    raise
                self.session = None

    def create_database(self, name, template="template1"):
        # Through the WAL, as is the default since 15, it takes eight times as
        # long.
        copied = "STRATEGY file_copy" if self.version >= 15 else ""
        self.order(f'CREATE DATABASE "{name}" OWNER {APP} '
                   f'TEMPLATE "{template}" {copied}')

    def drop_database(self, name):
        self.order(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def psql(self, database, sql):
        """The output of psql for `sql`: unaligned, rows only."""
        line = [os.path.join(self.bin, "psql"), "-XAtq", "-v",
                "ON_ERROR_STOP=1", "-h", self.dir, "-p", str(self.port),
                "-U", ADMIN, "-d", database, "-c", sql]
        done = subprocess.run(line, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout


def stop_servers_below(directory):
    """Stop what a killed test run has left running."""
    for path in glob.glob(f"{directory}/*/data/postmaster.pid"):
        data = os.path.dirname(path)
        subprocess.run(as_server_user([f"{server_bin()}/pg_ctl", "-D", data,
                                       "-m", "immediate", "-s", "stop"]),
                       cwd="/", stdin=subprocess.DEVNULL, check=False)


def wait_for(condition, step=0.02, what="condition"):
    """Poll until `condition()` is true; its value is returned."""
    end = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {PATIENCE} s for {what}")
        time.sleep(step)


def kill_group(process, sig=signal.SIGKILL):
    """Kill a process that was started with start_new_session."""
    try:
        os.killpg(process.pid, sig)
    except ProcessLookupError:
        pass

"""MariaDB and MySQL servers of the tests: in a temporary directory, on loopback
and a free port, stopped at the end.

MariaDB comes from Debian's package. MySQL comes from a tree of a newer Debian
that tools/setup keeps in the cache. The tree's loader starts the server with
the tree's libraries. The server runs as the user of the tests.
"""

import getpass
import glob
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse

import pymysql

import templates
from servers import APP, CANARY, free_port

ADMIN = "root"
BOSS = "boss"  # may do all that root may, over TCP too
OBSERVE = f"GRANT SELECT ON performance_schema.* TO {APP}@'%'"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME")
                     or pathlib.Path.home() / ".cache")
MYSQL_TREE = CACHE / "tidemark-tests/mysql"
# Durability costs time and is not what is tested: the server believes that it
# has synced.
FAST = ["--innodb-flush-log-at-trx-commit=1", "--innodb-flush-method=nosync",
        "--innodb-doublewrite=0",
        "--innodb-buffer-pool-size=64M", "--sync-binlog=0",
        "--skip-log-bin", "--skip-name-resolve", "--secure-file-priv=",
        "--max-connections=60", "--local-infile=1"]


class MysqlFamily:
    """One server with its data directory; see the two below."""

    def __init__(self, settings=None):
        self.dir = tempfile.mkdtemp(prefix=f"tidemark-{self.name}-")
        os.chmod(self.dir, 0o711)
        self.data = os.path.join(self.dir, "data")
        self.socket = os.path.join(self.dir, "s")
        self.log = os.path.join(self.dir, "log.err")
        # A server that starts clears its directory of temporary tables.
        self.tmp = os.path.join(self.dir, "tmp")
        os.mkdir(self.tmp)
        self.port = free_port()
        self.settings = list(settings or [])
        self.process = None

    def base(self):
        # A server that starts empties its directory for temporary tables.
        return ["--no-defaults", f"--user={getpass.getuser()}",
                f"--datadir={self.data}", f"--tmpdir={self.dir}"]

    def run_quietly(self, command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]}: {done.stdout}{done.stderr}")

    def create(self):
        # auto.cnf is MySQL's identity: each server makes one of its own.
        templates.fill(self.name, self.data, self.create_data, ["auto.cnf"])
        return self

    def start(self):
        line = [*self.program(), *self.base(), *FAST, *self.own_settings(),
                f"--port={self.port}", "--bind-address=127.0.0.1",
                f"--socket={self.socket}", f"--tmpdir={self.tmp}",
                f"--pid-file={self.dir}/pid", *self.settings]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                line, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.admin().close()
                return self
            except pymysql.err.OperationalError:
                time.sleep(0.05)
        with open(self.log, encoding="utf-8", errors="replace") as log:
            raise RuntimeError("server did not start:\n" + log.read()[-4000:])

    def prepare(self):
        """The unprivileged user that Tidemark signs in as."""
        with self.admin() as db, db.cursor() as cursor:
            cursor.execute(f"CREATE USER {APP}@'%' IDENTIFIED "
                           f"{self.plugin}BY '{CANARY}'")
            cursor.execute(f"GRANT PROCESS ON *.* TO {APP}@'%'")
            cursor.execute(f"CREATE USER {BOSS}@'%' IDENTIFIED BY '{CANARY}'")
            cursor.execute(f"GRANT ALL ON *.* TO {BOSS}@'%' WITH GRANT OPTION")
            for grant in self.more_grants:
                cursor.execute(grant)
        return self

    def stop(self, sig=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(sig)
            self.process.wait(60)
        self.process = None

    def restart(self, sig=signal.SIGTERM):
        self.stop(sig)
        self.start()

    def remove(self):
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.dir, ignore_errors=True)

    def admin(self, database=None):
        return pymysql.connect(unix_socket=self.socket, user=ADMIN,
                               database=database, autocommit=True,
                               charset="utf8mb4")

    def url(self, database, user=APP, password=CANARY, **parameters):
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        secret = f":{password}" if password else ""
        return (f"{self.name}://{user}{secret}@127.0.0.1:{self.port}/"
                f"{database}{query}")

    def create_database(self, name):
        with self.admin() as db, db.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
            cursor.execute(f"GRANT ALL ON `{name}`.* TO {APP}@'%'")

    def drop_database(self, name):
        with self.admin() as db, db.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")


class MariadbServer(MysqlFamily):
    name = "mariadb"
    plugin = ""
    more_grants = (OBSERVE,)
    # Rows that were really written to a table: database, name.
    written_sql = ("SELECT rows_changed FROM"
                   " information_schema.table_statistics"
                   " WHERE table_schema = '%s' AND table_name = '%s'")

    @staticmethod
    def missing():
        """Why it cannot be started here; None: it can."""
        if shutil.which("mariadbd"):
            return None
        return "no MariaDB server: run tools/setup --tests"

    @staticmethod
    def program():
        return ["mariadbd"]

    @staticmethod
    def own_settings():
        # A source has to show these for `exact`. Observing more costs memory.
        return ["--innodb-log-file-size=64M", "--userstat=1",
                "--performance-schema=ON",
                "--performance-schema-consumer-events-transactions-current=ON",
                "--performance-schema-instrument=transaction=ON",
                "--performance-schema-digests-size=0",
                *(f"--performance-schema-events-{each}-history-long-size=0"
                  for each in ("statements", "waits", "stages",
                               "transactions"))]

    def create_data(self):
        self.run_quietly(["mariadb-install-db", *self.base(),
                          "--auth-root-authentication-method=normal",
                          "--skip-test-db", "--skip-name-resolve"])


class MysqlServer(MysqlFamily):
    name = "mysql"
    plugin = "WITH caching_sha2_password "
    more_grants = (OBSERVE, f"GRANT XA_RECOVER_ADMIN ON *.* TO {APP}@'%'")
    written_sql = ("SELECT count_write FROM performance_schema"
                   ".table_io_waits_summary_by_table"
                   " WHERE object_schema = '%s' AND object_name = '%s'")

    @staticmethod
    def missing():
        if (MYSQL_TREE / "usr/sbin/mysqld").exists():
            return None
        return f"no MySQL server in {MYSQL_TREE}: run tools/setup --tests"

    @staticmethod
    def program():
        libraries = MYSQL_TREE / f"usr/lib/{platform.machine()}-linux-gnu"
        loader = glob.glob(str(libraries / "ld-linux-*"))[0]
        return [loader, "--library-path",
                f"{libraries}:{MYSQL_TREE}/usr/lib/mysql/private",
                str(MYSQL_TREE / "usr/sbin/mysqld")]

    def base(self):
        share = MYSQL_TREE / "usr/share/mysql"
        return [*super().base(), f"--basedir={MYSQL_TREE}/usr",
                f"--lc-messages-dir={share}",
                f"--character-sets-dir={share}/charsets"]

    @staticmethod
    def own_settings():
        # Half of the memory that it would take is for what nobody looks at.
        return ["--mysqlx=OFF", "--innodb-redo-log-capacity=64M",
                "--table-open-cache=200", "--table-definition-cache=400",
                "--innodb-log-buffer-size=1M",
                "--performance-schema-digests-size=0",
                "--performance-schema-error-size=0",
                *(f"--performance-schema-events-{each}-history-long-size=0"
                  for each in ("statements", "waits", "stages",
                               "transactions"))]

    def create_data(self):
        self.run_quietly([*self.program(), *self.base(),
                          "--initialize-insecure",
                          "--innodb-doublewrite=0"])


SERVERS = {each.name: each for each in (MariadbServer, MysqlServer)}


def stop_servers_below(directory):
    """Stop what a killed test run has left running."""
    for path in glob.glob(f"{directory}/*/pid"):
        try:
            with open(path, encoding="ascii") as text:
                os.kill(int(text.read()), signal.SIGKILL)
        except (OSError, ValueError):
            pass

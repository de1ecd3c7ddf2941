"""PgBouncer between Tidemark and a PostgreSQL server, as a user runs it."""

import os
import shutil
import subprocess
import tempfile

from bench import password_connection
from servers import (APP, CANARY, as_server_user, free_port, wait_for)

PROGRAM = "/usr/sbin/pgbouncer"


class Pooler:
    """`settings`: more lines of its configuration."""

    def __init__(self, cluster, mode, **settings):
        assert os.path.exists(PROGRAM), "run tools/setup --tests"
        self.dir = tempfile.mkdtemp(prefix="tidemark-pooler-")
        self.port = free_port()
        self.cluster = cluster
        self.process = None
        self.settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "plain",
            "auth_file": f"{self.dir}/users",
            "pool_mode": mode,
            "logfile": f"{self.dir}/log",
            # libpq's own, which PgBouncer does not know.
            "ignore_startup_parameters": "extra_float_digits,options",
            "server_round_robin": 1,
            **settings,
        }

    def start(self):
        self.write("users", f'"{APP}" "{CANARY}"\n')
        self.write("ini", "[databases]\n* = host=127.0.0.1 port="
                   f"{self.cluster.port}\n[pgbouncer]\n" + "".join(
                       f"{k} = {v}\n" for k, v in self.settings.items()))
        self.process = subprocess.Popen(
            as_server_user([PROGRAM, "-q", f"{self.dir}/ini"]), cwd=self.dir,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        wait_for(self.listens, what="PgBouncer")
        return self

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        if os.getuid() == 0:
            shutil.chown(self.dir, "postgres")
            shutil.chown(path, "postgres")

    def listens(self):
        assert self.process.poll() is None, self.said()
        with open("/proc/net/tcp", encoding="ascii") as sockets:
            return any(f":{self.port:04X} 00000000:0000 0A" in line
                       for line in sockets)

    def said(self):
        with open(self.settings["logfile"], encoding="utf-8") as log:
            return log.read()

    def connection(self, end):
        return password_connection(
            f"postgresql://{APP}@127.0.0.1:{self.port}/"
            f"{end.database}")

    def remove(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None
        shutil.rmtree(self.dir, ignore_errors=True)

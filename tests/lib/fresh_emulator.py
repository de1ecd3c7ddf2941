"""A pytest plug-in: each test has an emulator of BigQuery's of its own.

goccy/bigquery-emulator keeps what it has analysed, and slows down with every
table that it has had: behind a handful of tests it answers nothing more. So a
suite against it begins each test with a process that has done nothing yet:

    BIGQUERY_EMULATOR=PATH PYTHONPATH=tests/lib \\
        pytest -p fresh_emulator tests/e2e/test_bigquery*.py

It listens where BIGQUERY_EMULATOR_HOST says then, which the suite reads.
"""

import os
import socket
import subprocess
import time

BINARY = os.environ["BIGQUERY_EMULATOR"]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


PORT = free_port()
os.environ["BIGQUERY_EMULATOR_HOST"] = f"127.0.0.1:{PORT}"


class Emulator:
    process = None

    def start(self):
        self.stop()
        self.process = subprocess.Popen(
            [BINARY, "--project=tidemark-test", "--dataset=first",
             "--host=127.0.0.1", f"--port={PORT}",
             f"--grpc-port={free_port()}", "--log-level=error"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Its memory is that of a garbage collector seldom called.
            env={"GOGC": "20", **os.environ})
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", PORT), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError(f"{BINARY} does not listen")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


emulator = Emulator()


def pytest_runtest_setup():
    emulator.start()


def pytest_sessionfinish():
    emulator.stop()

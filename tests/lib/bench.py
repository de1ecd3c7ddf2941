"""Running the binary as a user does: a config file, a command, what it said.

Every byte that a command prints is searched for the canary password, so no
test can overlook a leaked secret.
"""

import json
import os
import signal
import subprocess
import threading

import json_outputs
from servers import CANARY, PATIENCE, kill_group

PASSWORD_VARIABLE = "TIDEMARK_TEST_PASSWORD"
# Where an engine is, of those that no URL says it of.
CONNECTIONS = ("BIGQUERY_EMULATOR_HOST",)
EXIT_OK, EXIT_BUG, EXIT_CONFIG, EXIT_ACCESS, EXIT_SCHEMA = 0, 1, 2, 3, 4
EXIT_DATA, EXIT_STATE, EXIT_DIFFERENT, EXIT_STOPPED = 5, 6, 7, 8


def assert_no_secret(text, where):
    data = text if isinstance(text, bytes) else text.encode()
    assert CANARY.encode() not in data, f"the password is in {where}"


class Outcome:
    """The result of one command."""

    def __init__(self, command, code, out, err):
        self.command, self.code = command, code
        self.out, self.err = out, err
        assert_no_secret(out, "stdout of " + " ".join(command))
        assert_no_secret(err, "stderr of " + " ".join(command))

    def json(self):
        try:
            said = json.loads(self.out)
        except ValueError as error:
            raise AssertionError(f"not JSON: {error}\n{self}") from error
        for pipeline in said.get("pipelines", ()):
            for problem in pipeline.get("problems", ()):
                assert problem["fix"], f"nothing to do about it: {problem}"
        wrong = json_outputs.output_errors(self.command, self.out)
        assert not wrong, "\n".join([*wrong, json_outputs.REMEDY])
        return said

    def pipeline(self, name=None):
        """One pipeline's object of `--json` output."""
        every = self.json()["pipelines"]
        if name is None:
            assert len(every) == 1, self
            return every[0]
        return {each["pipeline"]: each for each in every}[name]

    def expect(self, code):
        assert self.code == code, f"exit {self.code}, expected {code}\n{self}"
        return self

    def __repr__(self):
        return (f"$ {' '.join(self.command)}\nexit {self.code}\n"
                f"--- stdout\n{self.out[-4000:]}\n"
                f"--- stderr\n{self.err[-4000:]}")


class Running:
    """A command in the background; its output is read while it runs."""

    def __init__(self, command, env, cwd, capture=True):
        self.command = command
        sink = subprocess.PIPE if capture else subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, env=env, cwd=cwd, stdin=subprocess.DEVNULL,
            stdout=sink, stderr=sink, start_new_session=True)
        self.text = {"out": b"", "err": b""}
        self.readers = []
        if capture:
            for name, pipe in (("out", self.process.stdout),
                               ("err", self.process.stderr)):
                reader = threading.Thread(target=self._read, args=(name, pipe),
                                          daemon=True)
                reader.start()
                self.readers.append(reader)

    def _read(self, name, pipe):
        while True:
            data = pipe.read1(65536)
            if not data:
                return
            self.text[name] += data

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        kill_group(self.process)
        return self.wait()

    def alive(self):
        return self.process.poll() is None

    def stopped(self):
        """By SIGSTOP."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "T"

    def wait(self, timeout=PATIENCE):
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            kill_group(self.process)
            self.process.wait()
            raise AssertionError(f"still running after {timeout} s: "
                                 f"{self.command}\n"
                                 f"{self.text['err'].decode()}") from error
        for reader in self.readers:
            reader.join(5)
        return Outcome(self.command, status,
                       self.text["out"].decode(errors="replace"),
                       self.text["err"].decode(errors="replace"))


class Tidemark:
    """The binary with a directory of its own for config and state."""

    def __init__(self, binary, directory):
        self.binary = binary
        self.started = []
        self.dir = str(directory)
        self.connections = {}
        self.pipelines = {}
        self.top = {"version": 1, "state": f"sqlite:{self.dir}/state.db"}
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": self.dir,
            "LC_ALL": "C.UTF-8",
            PASSWORD_VARIABLE: CANARY,
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]

    @property
    def config(self):
        return os.path.join(self.dir, "tidemark.yaml")

    @property
    def state_file(self):
        return os.path.join(self.dir, "state.db")

    def connect(self, name, url):
        """A connection: a URL, or the whole object of the config."""
        self.connections[name] = url
        return self

    def pipeline(self, name, **settings):
        self.pipelines[name] = settings
        return self

    def write_config(self, text=None):
        """Write the config (JSON is YAML too), or `text` as it is."""
        if text is None:
            text = json.dumps({**self.top, "connections": self.connections,
                               "pipelines": self.pipelines}, indent=1)
        with open(self.config, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(self.config, 0o600)
        return self

    def long_lease(self):
        """Runs from now on keep their lease, however busy the machine is."""
        self.top["state"]["lease"] = "60s"
        return self.write_config()

    def command_env(self, failpoints=None, env=None):
        merged = dict(self.env)
        for name in CONNECTIONS:
            if name in os.environ:
                merged.setdefault(name, os.environ[name])
        if failpoints:
            merged["TIDEMARK_FAILPOINTS"] = failpoints
        merged.update(env or {})
        return {k: v for k, v in merged.items() if v is not None}

    def end(self):
        """Kill what still runs."""
        for running in self.started:
            if running.alive():
                running.kill()

    def start(self, *args, failpoints=None, env=None, capture=True,
              under=()):
        """`under`: a program that runs the binary, with its arguments."""
        self.started.append(Running([*under, self.binary, *args],
                                    self.command_env(failpoints, env),
                                    self.dir, capture))
        return self.started[-1]

    def __call__(self, *args, failpoints=None, env=None,
                 timeout=PATIENCE):
        return self.start(*args, failpoints=failpoints, env=env).wait(timeout)

    def run(self, *args, **more):
        """`tidemark run --json`: must succeed unless told otherwise."""
        expect = more.pop("expect", EXIT_OK)
        done = self("run", "--json", *args, **more).expect(expect)
        for result in done.json()["pipelines"] if done.out else []:
            check_accounting(result)
        return done

    def measured(self, *args):
        """A command's outcome and its peak resident memory in KiB."""
        # Not getrusage here: a child starts with its parent's peak.
        report = os.path.join(self.dir, "memory")
        done = self.start(*args, under=(
            "/usr/bin/time", "-q", "-f", "%M", "-o", report)).wait(200)
        with open(report, encoding="ascii") as text:
            return done, int(text.read())

    def run_measured(self, *args):
        done, peak = self.measured("run", "--json", *args)
        return done.expect(EXIT_OK), peak

    def killed(self, *args, failpoints, **more):
        """Run to a `kill` failpoint: True if it was reached."""
        done = self("run", "--json", *args, failpoints=failpoints, **more)
        assert done.code in (EXIT_OK, -signal.SIGKILL), done
        return done.code == -signal.SIGKILL


def password_connection(url):
    """A connection whose password comes from the environment."""
    return {"url": url, "password": "${%s}" % PASSWORD_VARIABLE}


def written(result):
    """Rows that a run changed at the destination."""
    return (result["rows_inserted"] + result["rows_updated"]
            + result["rows_deleted"])


def check_accounting(result):
    """Every row read is accounted for."""
    told = (result["rows_inserted"] + result["rows_updated"]
            + result["rows_unchanged"] + result["rows_dead_lettered"])
    assert result["rows_read"] == told, result


def items_settings(source, destination, strategy, mode="upsert",
                   table="items", to=None, **settings):
    """The config of a pipeline over a table of workload.py."""
    watermark = {"strategy": strategy}
    column = {"timestamp": "updated_at", "sequence": "seq"}.get(strategy)
    if column:
        watermark["column"] = column
    watermark.update(settings.pop("watermark", {}))
    to = to or f"{destination.schema}.{table}"
    return {"source": {"connection": "source",
                       "table": f"{source.schema}.{table}"},
            "destination": {"connection": "warehouse", "table": to},
            "watermark": watermark, "load": {"mode": mode}, **settings}


def sync_items(tidemark, source, destination, strategy, mode="upsert",
               name="items", **settings):
    """Write a config with one pipeline over `items`; returns tidemark."""
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline(name, **items_settings(source, destination, strategy,
                                             mode, **settings))
    return tidemark.write_config()

"""The output of `tidemark verify`, for programs and at a terminal, and the
values that it is about."""

import os
import pty
import signal
import subprocess

from bench import EXIT_OK


def verify(tidemark, *args, expect=EXIT_OK):
    done = tidemark("verify", "--json", *args).expect(expect)
    return {each["pipeline"]: each for each in done.json()["pipelines"]}


def at_terminal(tidemark, *args, answer, meanwhile=None):
    """The exit code and what stood on the screen."""
    master, slave = pty.openpty()
    child = subprocess.Popen([tidemark.binary, *args], stdin=slave,
                             stdout=subprocess.PIPE, stderr=slave,
                             cwd=tidemark.dir, env=tidemark.command_env())
    os.close(slave)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(master, 4096)
    if meanwhile:
        meanwhile()
    if answer is None:
        child.send_signal(signal.SIGINT)
    else:
        os.write(master, answer)
    child.communicate(timeout=60)
    try:
        while more := os.read(master, 4096):
            shown += more
    except OSError:
        pass  # all has been read
    os.close(master)
    return child.returncode, shown.decode()


def named(result):
    """{kind: ids} of the examples."""
    found = {}
    for example in result["examples"]:
        found.setdefault(example["kind"], set()).add(example["key"]["id"])
    return found


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value!r}e0"
    return "'" + str(value).replace("'", "''") + "'"


def set_value(end, key, column, value, table="items"):
    end.execute(f"UPDATE {table} SET {column} = {literal(value)} "
                f"WHERE id = {key}")


def get_value(end, key, column, kind, table="items"):
    row = end.rows(f"{end.schema}.{table}", {"id": "int", column: kind})
    return dict(row)[key]


def rows_table(destination, mode):
    return "items_raw" if mode == "append" else "items"

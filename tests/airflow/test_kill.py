"""A task that is killed: the program ends, and nothing is lost."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

import workload
from airflow_provider_tidemark.operators import TidemarkRunOperator
from airflow_provider_tidemark.process import Process
from bench import PASSWORD_VARIABLE, sync_items
from conftest import PROVIDER
from oracle import check_items
from servers import CANARY, lives, wait_for

# A task that Airflow kills without a word, less Airflow itself.
TASK = """
import json, logging, os, signal, sys
sys.path.insert(0, sys.argv[1])
from airflow_provider_tidemark.process import Process
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
process = Process(sys.argv[2], sys.argv[3:], os.environ, None, logging.root)
print(process.process.pid, flush=True)
process.wait(60)
"""


@pytest.fixture
def held(tidemark_failpoints, source, make_destination):
    """A table of the destination whose lock holds back the second batch."""
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "sequence", batch={"rows": 10})
    tidemark.run()
    workload.fill_items(source, 6, 50)
    with destination.connect(autocommit=False) as lock:
        lock.execute("LOCK TABLE items IN SHARE MODE")
        tidemark.destination, tidemark.lock = destination, lock
        yield tidemark


def waits(tidemark):
    return tidemark.destination.query(
        "SELECT 1 FROM pg_locks WHERE NOT granted "
        "AND database = (SELECT oid FROM pg_database "
        "WHERE datname = current_database())")


def count(tidemark):
    return tidemark.destination.query("SELECT count(*) FROM items")[0][0]


def test_sigterm_waits_for_the_batch_in_hand(airflow, held, source,
                                             monkeypatch):
    """Airflow calls on_kill() in a signal handler, in the middle of the wait."""
    task = airflow.operator(TidemarkRunOperator, stop_grace=300)
    told = threading.Event()
    send = Process._signal
    monkeypatch.setattr(Process, "_signal", lambda self, number: (
        send(self, number), told.set()))
    previous = signal.signal(signal.SIGUSR1, lambda *_: task.on_kill())

    def kill():
        wait_for(lambda: waits(held), what="its batch")
        os.kill(os.getpid(), signal.SIGUSR1)
        told.wait()
        held.lock.commit()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        ended = airflow.run(task).expect("retry")
    finally:
        killer.join()
        signal.signal(signal.SIGUSR1, previous)
    assert "exit code 8" in str(ended.why)
    assert 5 < count(held) < 50
    airflow.run(task).expect("success")
    check_items(source, held.destination)


def test_sigkill_after_the_grace(airflow, held, source):
    task = airflow.operator(TidemarkRunOperator, stop_grace=0.1)
    killer = threading.Thread(target=lambda: (
        wait_for(lambda: waits(held), what="its batch"), task.on_kill()))
    killer.start()
    ended = airflow.run(task).expect("retry")
    killer.join()
    assert "ended by signal 9" in str(ended.why)
    held.lock.commit()
    airflow.run(task).expect("success")
    check_items(source, held.destination)


def test_a_timeout_of_the_task_stops_it(airflow, held, source):
    """Airflow's timeout is an exception in the middle of the wait."""
    task = airflow.operator(TidemarkRunOperator, stop_grace=0.1)

    def timeout(*_):
        raise TimeoutError("execution_timeout")

    previous = signal.signal(signal.SIGUSR1, timeout)
    killer = threading.Thread(target=lambda: (
        wait_for(lambda: waits(held), what="its batch"),
        os.kill(os.getpid(), signal.SIGUSR1)))
    killer.start()
    try:
        with pytest.raises(TimeoutError):
            airflow.run(task)
    finally:
        killer.join()
        signal.signal(signal.SIGUSR1, previous)
    assert task._hook.process.process.returncode == -signal.SIGKILL
    held.lock.commit()
    airflow.run(task).expect("success")
    check_items(source, held.destination)


def test_a_task_that_is_killed_takes_the_program_along(held, source):
    """The program would load all rows if nobody told it."""
    task = subprocess.Popen(
        [sys.executable, "-c", TASK, PROVIDER, held.binary, "run", "--json",
         "--config", held.config], stdout=subprocess.PIPE, text=True,
        env={**os.environ, PASSWORD_VARIABLE: CANARY})
    program = int(task.stdout.readline())
    wait_for(lambda: waits(held), what="its batch")
    task.kill()
    task.wait()
    task.stdout.close()
    assert lives(program)
    held.lock.commit()
    wait_for(lambda: not lives(program), what="the program's end")
    assert 5 < count(held) < 50
    assert held.run().pipeline()["rows_read"] > 0
    check_items(source, held.destination)
    assert json.loads(held("status", "--json").out)["summary"]["ok"] == 1

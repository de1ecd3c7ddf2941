"""The workers of one `backfill`: threads of one process, which share its
sessions."""

import os
import signal
import threading
import time

import pytest

import workload
from bench import EXIT_OK, EXIT_STOPPED, sync_items
from oracle import check_items
from servers import APP, wait_for
from test_backfill import (chunks, damage, in_store, in_store_or_none,
                           no_rows_left)
from test_streams_room import bound, two_ends  # pylint: disable=unused-import

ROWS = 3000
TWO_BLOCKED = ("SELECT FROM pg_locks WHERE NOT granted AND relation = "
               "'items'::regclass OFFSET 1")


def open_ports(process):
    """Local ports of the process's open connections."""
    inodes, ports = set(), set()
    for fd in os.listdir(f"/proc/{process.pid}/fd"):
        try:
            link = os.readlink(f"/proc/{process.pid}/fd/{fd}")
        except FileNotFoundError:
            continue
        inodes.add(link)
    with open(f"/proc/{process.pid}/net/tcp", encoding="ascii") as table:
        for line in table.readlines()[1:]:
            fields = line.split()
            if f"socket:[{fields[9]}]" in inodes:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


class Counter:
    """The most sessions that a process had open at once, by database. A session
    that the server sees, but whose client has closed it, is none."""

    def __init__(self, running, cluster):
        self.running, self.cluster = running, cluster
        self.most, self.looks = {}, 0
        self.thread = threading.Thread(target=self.work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join()

    def look(self, db):
        rows = db.execute("SELECT datname, client_port FROM pg_stat_activity "
                          "WHERE client_port > 0").fetchall()
        ports = open_ports(self.running.process)
        for name in {name for name, _ in rows}:
            n = sum(1 for of, port in rows if of == name and port in ports)
            self.most[name] = max(n, self.most.get(name, 0))
        self.looks += 1

    def work(self):
        with self.cluster.admin() as db:
            while self.running.alive():
                try:
                    self.look(db)
                except (FileNotFoundError, ProcessLookupError):
                    return  # it has just ended
                time.sleep(0.002)


def begin(tidemark, source, destination, sessions=0, rows=ROWS, **more):
    """A damaged table, in chunks of 100 rows and batches of 20."""
    workload.create_items(source, rows=rows)
    sync_items(tidemark, source, destination, "xmin", batch={"rows": 20},
               **more)
    if sessions:
        bound(tidemark, source, destination, sessions)
    tidemark.run()
    damage(destination)


@pytest.mark.threads
@pytest.mark.parametrize("sessions, room", ((2, 1), (5, 2), (8, 4)))
def test_sessions_are_bounded_for_all(tidemark, two_ends, sessions, room):
    """Four workers have no more sessions at either end than the config allows,
    and as many of them work as have room."""
    source, destination = two_ends(50)
    begin(tidemark, source, destination, sessions)
    running = tidemark.start("backfill", "items", "--workers", "4",
                             "--chunk-rows", "100")
    with Counter(running, source.cluster) as counter:
        done = running.wait().expect(EXIT_OK)
    assert ("there is room for" in done.err) == (room < 4)
    assert room == 4 or f"there is room for {room}: " in done.err
    assert "given back in time" not in done.err
    assert counter.looks and counter.most
    for end in (source, destination):
        assert counter.most[end.database] <= sessions, counter.most
    assert [(state, attempts) for _, state, attempts, _ in in_store(tidemark)
            ] == [("done", 1)] * (ROWS // 100)
    check_items(source, destination, pipeline=None)
    no_rows_left(destination)


@pytest.mark.parametrize("of, to", [
    pytest.param(of, to, marks=() if "duckdb" in of else pytest.mark.threads)
    for of, to in (("mariadb", "mysql"), ("mysql", "mariadb"),
                   ("sqlite", "postgres"), ("duckdb", "postgres"),
                   ("postgres", "clickhouse"))])
def test_several_at_each_engine(tidemark, make_source, make_destination, of,
                                to):
    """Their sessions, or the files of their source, are shared by threads."""
    source, destination = make_source(of), make_destination(to)
    workload.create_items(source, rows=400)
    for first in range(0, 400, 20):
        workload.update_items(source, f"id > {first} AND id <= {first + 20}",
                              "quantity = quantity",
                              f"2024-01-01 00:00:{first // 20:02}")
    # Each batch takes long there.
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 20 if to == "clickhouse" else 7})
    tidemark.run()
    if to == "clickhouse":
        destination.execute("ALTER TABLE items_raw DELETE WHERE id % 3 = 0 "
                            "SETTINGS mutations_sync = 2")
    else:
        damage(destination)
    done = chunks(tidemark, "--workers", "3", "--chunk-rows", "20")
    assert [(c["state"], c["rows"], c["attempts"]) for c in done] == [
        ("done", 20, 1)] * 20
    check_items(source, destination, pipeline=None)
    no_rows_left(destination)


def held_by(end):
    """A session that keeps all others from writing the table."""
    db = end.connect()
    db.execute("BEGIN")
    db.execute("LOCK TABLE items IN SHARE ROW EXCLUSIVE MODE")
    return db


@pytest.mark.threads
def test_stopped_and_killed_in_the_middle(tidemark, source, make_destination):
    """SIGTERM ends each worker at its batch, and SIGKILL all at once. The same
    command goes on, with a worker process beside it."""
    destination = make_destination("postgres")
    begin(tidemark, source, destination)
    command = ("backfill", "items", "--workers", "2", "--chunk-rows", "300")
    with held_by(destination) as db:
        first = tidemark.start(*command)
        wait_for(lambda: destination.query(TWO_BLOCKED),
                 what="two workers that write")
        assert len(os.listdir(f"/proc/{first.process.pid}/task")) > 2
        with open(f"/proc/{first.process.pid}/task/{first.process.pid}"
                  "/children", encoding="ascii") as processes:
            assert not processes.read()
        first.signal(signal.SIGTERM)
        db.rollback()
    stopped = first.wait().expect(EXIT_STOPPED)
    assert "chunks done" in stopped.out
    assert {state for _, state, *_ in in_store(tidemark)} == {"queued"}
    assert not any(attempts for _, _, attempts, _ in in_store(tidemark))
    with held_by(destination) as db:
        second = tidemark.start(*command)
        wait_for(lambda: destination.query(TWO_BLOCKED),
                 what="two workers that write")
        second.kill()
        assert [state for _, state, *_ in in_store(tidemark)
                ].count("running") == 2
        db.rollback()
    beside = tidemark.start("worker", "--chunks", "--once")
    tidemark(*command).expect(EXIT_OK)
    beside.wait().expect(EXIT_OK)
    assert {state for _, state, *_ in in_store(tidemark)} == {"done"}
    check_items(source, destination, pipeline=None)
    no_rows_left(destination)


def test_one_chunk_waits_and_the_others_go_on(tidemark, source,
                                              make_destination):
    """A row that another session has locked holds one worker."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=600)
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    destination.execute("UPDATE items SET name = 'damaged'")
    with destination.connect() as db:
        db.execute("BEGIN")
        db.execute("SELECT FROM items WHERE id = 250 FOR UPDATE")
        running = tidemark.start("backfill", "items", "--workers", "2",
                                 "--chunk-rows", "100")
        wait_for(lambda: [state for _, state, *_ in
                          in_store_or_none(tidemark) or []].count("done") == 5,
                 what="all chunks but one")
        assert running.alive()
        assert "running" in {state for _, state, *_ in in_store(tidemark)}
        db.rollback()
    running.wait().expect(EXIT_OK)
    check_items(source, destination, pipeline=None)


@pytest.mark.threads
def test_a_full_server_has_fewer_workers(tidemark, two_ends):
    """Workers that find no room rest, which is no attempt of their chunks."""
    source, destination = two_ends(50)
    begin(tidemark, source, destination, rows=2000,
          retry={"attempts": 3, "backoff": "100ms", "max_backoff": "200ms"})
    source.cluster.order(f"ALTER ROLE {APP} CONNECTION LIMIT 6")
    running = tidemark.start("backfill", "items", "--workers", "6",
                             "--chunk-rows", "100")
    done = running.wait().expect(EXIT_OK)
    assert "one worker fewer for a while" in done.err
    known = in_store(tidemark)
    assert {state for _, state, *_ in known} == {"done"}
    assert sum(attempts for _, _, attempts, _ in known) <= \
        len(known) + done.err.count("left to another attempt")
    source.cluster.order(f"ALTER ROLE {APP} CONNECTION LIMIT 50")
    check_items(source, destination, pipeline=None)
    no_rows_left(destination)


def test_few_open_files(tidemark, source, make_destination):
    destination = make_destination("postgres")
    begin(tidemark, source, destination, rows=600)
    running = tidemark.start("backfill", "items", "--workers", "16",
                             "--chunk-rows", "50", under=(
                                 "sh", "-c", 'ulimit -n 64; exec "$0" "$@"'))
    done = running.wait().expect(EXIT_OK)
    assert "workers run at once, not 16" in done.err
    check_items(source, destination, pipeline=None)


def test_store_that_is_lost(tidemark, source, make_destination, make_database):
    """The store's server ends all sessions in the middle. The workers find it
    again, and so does the command that tells how the chunks ended."""
    destination, store = make_destination("postgres"), make_database("state")
    tidemark.top["state"] = {"url": store.url(), "lease": "3s",
                             "password": store.connection()["password"]}
    begin(tidemark, source, destination)
    with held_by(destination) as db:
        running = tidemark.start("backfill", "items", "--workers", "3",
                                 "--chunk-rows", "300")
        wait_for(lambda: destination.query(TWO_BLOCKED),
                 what="two workers that write")
        with store.cluster.admin() as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM "
                          "pg_stat_activity WHERE datname = %s",
                          [store.database])
        db.rollback()
    assert "10 of 10 chunks done" in running.wait().expect(EXIT_OK).out
    check_items(source, destination, pipeline=None)
    no_rows_left(destination)

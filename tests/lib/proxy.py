"""A TCP proxy on loopback that spoils connections at a chosen byte or moment.

A fault strikes the connection on which the counted byte goes by: what came
before it is passed on, the rest is not. The kinds:

  cut    both sides get a reset, as from a firewall or a crashed host
  close  both sides get an orderly end, in the middle of what was being said
  stall  nothing passes any more, not even an end: a network that went away
  deaf   the counted direction goes silent and the other one works on, so what
         is asked arrives, and no answer comes (or the other way round)
"""

import collections
import select
import socket
import struct
import threading
import time

from bench import password_connection

UP, DOWN = "up", "down"  # to the server, to the client
KINDS = ("cut", "close", "stall", "deaf")
CHUNK = 65536
RESET = struct.pack("ii", 1, 0)


class Fault:
    """`lasting`: connections that are made afterwards get nowhere either."""

    def __init__(self, kind, way=DOWN, after=0, lasting=False):
        assert kind in KINDS, kind
        self.kind, self.way, self.after = kind, way, after
        self.lasting = lasting
        self.passed = 0
        self.struck = False

    def admits(self, way, data):
        """How many of these bytes still pass."""
        if self.struck or way != self.way:
            return len(data)
        room = self.after - self.passed
        self.passed += len(data)
        self.struck = len(data) >= room
        return max(min(room, len(data)), 0)


class Link:
    """One connection through the proxy."""

    def __init__(self, client, server):
        self.sockets = {UP: server, DOWN: client}  # where a way leads
        self.waiting = {UP: bytearray(), DOWN: bytearray()}
        self.held = collections.deque()  # answers under way: when, bytes
        self.silent = set()  # ways on which nothing passes
        self.ended = set()  # ways whose sender has ended
        self.told = set()  # ways whose receiver knows
        self.last = DOWN  # the way of the last bytes
        for each in (client, server):
            each.setblocking(False)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def sender(self, way):
        return self.sockets[DOWN if way == UP else UP]

    def readable(self):
        return [self.sender(way) for way in (UP, DOWN)
                if way not in self.ended | self.silent
                and len(self.waiting[way]) < CHUNK]

    def writable(self):
        return [self.sockets[way] for way in (UP, DOWN) if self.waiting[way]]

    def read(self, way):
        """The bytes that have come, or None."""
        try:
            data = self.sender(way).recv(CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            self.ended.add(way)
        return data

    def write(self, way):
        data = self.waiting[way]
        try:
            while data:
                del data[:self.sockets[way].send(data)]
        except BlockingIOError:
            return
        except OSError:
            data.clear()
            self.ended.update((UP, DOWN))
        if way == DOWN and self.held:
            return
        if way in self.ended - self.told - self.silent:
            self.told.add(way)
            try:
                self.sockets[way].shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def over(self):
        return self.told == {UP, DOWN}

    def close(self, reset=False):
        for each in self.sockets.values():
            if reset:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            each.close()


class Proxy:
    """In front of the server at `port`, whose answers take `distance` seconds
    on their way."""

    def __init__(self, port, distance=0):
        self.server_port, self.distance = port, distance
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.links, self.unserved = [], []
        self.fault = None
        self.closed = None  # the kind of fault that new connections meet
        self.passed = {UP: 0, DOWN: 0}
        self.round_trips = 0  # answers that came after bytes up
        self.sessions = 0
        self.ending = False
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ending = True
        self.thread.join()
        self._drop_all()
        self.listener.close()

    def url(self, end):
        """The URL of `end`, through this proxy."""
        return end.url().replace(f":{self.server_port}/", f":{self.port}/")

    def connection(self, end, connect="10s", silence="60s"):
        """The config's connection of `end`, through this proxy. A test that
        arms a stall gives shorter limits."""
        return {**password_connection(self.url(end)),
                "timeout": {"connect": connect, "silence": silence}}

    def arm(self, fault):
        """Bytes are counted from now on; returns the fault."""
        with self.lock:
            self.fault = fault
        return fault

    def strike(self, kind, lasting=False):
        """Now, on all that is open."""
        with self.lock:
            for link in list(self.links):
                self._strike(link, Fault(kind, DOWN, lasting=lasting))

    def refuse(self, kind="close"):
        """Whoever connects from now on gets nowhere."""
        with self.lock:
            self.closed = kind

    def heal(self):
        """As after the network has come back: what was spoilt is gone."""
        with self.lock:
            self.fault = self.closed = None
            self._drop_all()

    def _drop_all(self):
        for link in self.links:
            link.close()
        for client in self.unserved:
            client.close()
        self.links, self.unserved = [], []

    def _strike(self, link, fault):
        if fault.kind in ("cut", "close"):
            if fault.kind == "close":
                for way in (UP, DOWN):
                    link.write(way)
            link.close(reset=fault.kind == "cut")
            self.links.remove(link)
        else:
            link.silent |= ({UP, DOWN} if fault.kind == "stall"
                            else {fault.way})
        if fault.lasting:
            self.closed = fault.kind

    def _accept(self):
        client = self.listener.accept()[0]
        if self.closed in ("cut", "close"):
            client.close()
        elif self.closed:
            self.unserved.append(client)
        else:
            try:
                server = socket.create_connection(
                    ("127.0.0.1", self.server_port))
            except OSError:
                client.close()
                return
            self.links.append(Link(client, server))
            self.sessions += 1

    def _pass_on(self, link, way):
        """False: the link is gone."""
        data = link.read(way)
        if data is None:
            return True
        n = self.fault.admits(way, data) if self.fault and data else len(data)
        strikes = self.fault is not None and self.fault.struck
        passed = self.change(way, data[:n])
        self.passed[way] += n
        if way == DOWN and data:
            link.held.append((time.monotonic() + self.distance, passed))
            self._deliver(link)
        else:
            link.waiting[way] += passed
        if way == UP and data:
            link.last = UP
        link.write(way)
        if strikes:
            fault, self.fault = self.fault, None
            self._strike(link, fault)
        return link in self.links

    def _deliver(self, link):
        while link.held and link.held[0][0] <= time.monotonic():
            self.round_trips += link.last == UP
            link.last = DOWN
            link.waiting[DOWN] += link.held.popleft()[1]

    def change(self, way, data):
        """For those who want to say something else."""
        return data

    def _serve(self, link, ready, free):
        if link.held:
            self._deliver(link)
            link.write(DOWN)
        for way in (UP, DOWN):
            if link.sockets[way] in free:
                link.write(way)
            if link.sender(way) in ready and not self._pass_on(link, way):
                return
        if link.over():
            link.close()
            self.links.remove(link)

    def _work(self):
        while not self.ending:
            with self.lock:
                reads = [self.listener]
                writes = []
                held = any(link.held for link in self.links)
                for link in self.links:
                    reads += link.readable()
                    writes += link.writable()
            try:
                ready, free, _ = select.select(reads, writes, [],
                                               0.001 if held else 0.02)
            except (OSError, ValueError):  # healed meanwhile
                continue
            with self.lock:
                for link in list(self.links):
                    self._serve(link, ready, free)
                if self.listener in ready:
                    self._accept()


class Meddler(Proxy):
    """Between us and the server: it says something else."""

    def __init__(self, port, asked, given):
        assert len(given) <= len(asked)
        self.asked, self.given = asked, given.ljust(len(asked))
        self.meddled = 0
        super().__init__(port)

    def change(self, way, data):
        if way == UP:
            self.meddled += data.count(self.asked)
            data = data.replace(self.asked, self.given)
        return data

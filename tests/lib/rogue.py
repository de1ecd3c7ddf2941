"""Servers that lie. Each one stands in front of a real server, passes on the
client's requests, and alters the server's answers.

A function of the test alters them. It gets the answers in whole pieces of the
protocol, so that its results are well framed, and wrong all the same. `heard`
keeps the client's words.
"""

import http.client
import http.server
import random
import socket
import struct
import threading

PG_ASKS_FOR_TLS = (80877103, 80877104)
COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + b"\0" * 8
COM_QUERY = 3


def at_once(sock):
    """Small pieces are sent as they come: waiting for the receiver's word that
    it has the one before takes 40 ms each time."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def exactly(stream, n):
    """The next n bytes, or an EOFError."""
    data = stream.read(n)
    if data is None or len(data) < n:
        raise EOFError
    return data


class Rogue:
    """In front of the server at `server_port`, a thread for each way."""

    def __init__(self, server_port, lie):
        self.server_port, self.lie = server_port, lie
        self.heard = bytearray()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def url(self, end):
        return end.url().replace(f":{self.server_port}/", f":{self.port}/")

    def _accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,),
                             daemon=True).start()

    def _serve(self, client):
        with client, socket.create_connection(
                ("127.0.0.1", self.server_port)) as server:
            at_once(client)
            at_once(server)
            talk = self.talk(client)
            up = threading.Thread(target=self._pump, daemon=True, args=(
                client, server, talk.up))
            up.start()
            self._pump(server, client, talk.down)
            up.join(5)

    def _pump(self, sender, receiver, pieces):
        try:
            for piece in pieces(sender.makefile("rb")):
                receiver.sendall(piece)
        except (OSError, EOFError):
            pass
        for each in (sender, receiver):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class PostgresTalk:
    def __init__(self, rogue, client):
        self.rogue, self.client = rogue, client

    def up(self, stream):
        while True:
            head = exactly(stream, 8)
            n, code = struct.unpack("!ii", head)
            if code not in PG_ASKS_FOR_TLS:
                break
            self.client.sendall(b"N")
        yield head + exactly(stream, n - 8)
        while data := stream.read1(65536):
            self.rogue.heard += data
            yield data

    def down(self, stream):
        while True:
            kind = exactly(stream, 1)
            n, = struct.unpack("!i", exactly(stream, 4))
            for k, body in self.rogue.lie(kind, exactly(stream, n - 4)):
                yield k + struct.pack("!i", len(body) + 4) + body


class RoguePostgres(Rogue):
    """`lie(kind, body)` gives the messages to send instead."""

    def talk(self, client):
        return PostgresTalk(self, client)


def pg_fields(body):
    """The fields of a DataRow, or of a row of a binary COPY."""
    n, at, fields = struct.unpack_from("!h", body)[0], 2, []
    for _ in range(n):
        size, = struct.unpack_from("!i", body, at)
        at += 4 + max(size, 0)
        fields.append(body[at - max(size, 0):at] if size >= 0 else None)
    return fields


def pg_row(fields):
    return struct.pack("!h", len(fields)) + b"".join(
        struct.pack("!i", -1) if each is None
        else struct.pack("!i", len(each)) + each for each in fields)


def pg_columns(body):
    """The descriptions of the columns of a RowDescription."""
    n, at, columns = struct.unpack_from("!h", body)[0], 2, []
    for _ in range(n):
        end = body.index(b"\0", at) + 1 + 18
        columns.append(body[at:end])
        at = end
    return columns


class MysqlTalk:
    """Text results are altered, all else passes. The client is told that the
    server ends results in the old way, so that they are told apart."""

    def __init__(self, rogue):
        self.rogue = rogue
        self.asked = threading.Semaphore(0)
        self.queries = 0

    @staticmethod
    def packet(stream):
        head = exactly(stream, 4)
        n = int.from_bytes(head[:3], "little")
        return head[3], exactly(stream, n)

    @staticmethod
    def framed(number, body):
        return len(body).to_bytes(3, "little") + bytes([number & 255]) + body

    def up(self, stream):
        while True:
            number, body = self.packet(stream)
            self.rogue.heard += body
            if number == 0 and body[:1] == bytes([COM_QUERY]):
                self.queries += 1
            yield self.framed(number, body)

    def down(self, stream):
        seen = 0
        while True:
            number, body = self.packet(stream)
            if self.queries == seen or number != 1 or body[0] in (0, 255, 251):
                seen = self.queries
                yield self.framed(number, self.rogue.alter(body))
                continue
            seen = self.queries
            yield from self.result(stream, number, body)

    def result(self, stream, number, head):
        columns = [self.packet(stream)[1] for _ in range(head[0])]
        ends, rows = [], []
        last = self.packet(stream)[1]
        old = last[0] == 254 and len(last) == 5
        if old:
            ends.append(last)
            last = self.packet(stream)[1]
        while not (last[0] in (254, 255) and len(last) < 60):
            rows.append(mysql_values(last))
            last = self.packet(stream)[1]
        columns, rows = self.rogue.lie(columns, rows)
        for body in [bytes([len(columns)]), *columns, *ends,
                     *map(mysql_row, rows), last]:
            yield self.framed(number, body)
            number += 1


class RogueMysql(Rogue):
    """`lie(columns, rows)` gives the text result to send instead."""

    def talk(self, client):
        return MysqlTalk(self)

    def alter(self, body):
        return body


def mysql_values(row):
    at, values = 0, []
    while at < len(row):
        n = row[at]
        at += 1
        if n == 251:
            values.append(None)
            continue
        if n >= 252:
            size = {252: 2, 253: 3, 254: 8}[n]
            n = int.from_bytes(row[at:at + size], "little")
            at += size
        values.append(row[at:at + n])
        at += n
    return values


def mysql_row(values):
    out = b""
    for each in values:
        if each is None:
            out += b"\xfb"
        elif len(each) < 251:
            out += bytes([len(each)]) + each
        else:
            out += b"\xfd" + len(each).to_bytes(3, "little") + each
    return out


class RogueHttp:
    """In front of an HTTP server: `lie(sent, body)` gives the body to answer
    with instead; None closes the connection without a word."""

    def __init__(self, server_port, lie):
        rogue = self
        self.server_port, self.lie, self.heard = server_port, lie, bytearray()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def sent(self):
                if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                    return self.rfile.read(
                        int(self.headers.get("Content-Length", 0)))
                data = b""
                while n := int(self.rfile.readline(), 16):
                    data += self.rfile.read(n)
                    self.rfile.readline()
                self.rfile.readline()
                return data

            def answer(self):
                rogue.answer(self, self.sent())

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,),
                         daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def url(self, end):
        return end.url().replace(f":{self.server_port}/", f":{self.port}/")

    def answer(self, handler, sent):
        self.heard += handler.path.encode() + b"\n" + sent
        real = http.client.HTTPConnection("127.0.0.1", self.server_port)
        headers = {k: v for k, v in handler.headers.items()
                   if k.lower() not in ("transfer-encoding", "content-length",
                                        "host", "connection")}
        real.request(handler.command, handler.path, sent, headers)
        got = real.getresponse()
        body = self.lie(sent, got.read())
        if body is None:
            handler.close_connection = True
            return
        handler.send_response(got.status)
        for name, value in got.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length",
                                    "connection", "date", "server"):
                handler.send_header(name, value.replace(
                    f":{self.server_port}", f":{self.port}"))
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        real.close()


ROGUES = {"postgres": RoguePostgres, "mariadb": RogueMysql,
          "mysql": RogueMysql, "clickhouse": RogueHttp, "bigquery": RogueHttp}


def in_front_of(end, lie):
    """A server that lies, in front of that of an end."""
    server = next(getattr(end, name) for name in
                  ("cluster", "server", "front") if hasattr(end, name))
    return ROGUES[end.engine](server.port, lie)


class Mutations:
    """A few bytes of what is said are others: which ones says the seed, so
    that a finding can be had again."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.wait = self.random.randrange(1, 60)  # pieces until the next
        self.left = self.random.randrange(1, 12)

    def __call__(self, body):
        self.wait -= 1
        if self.wait > 0 or not self.left or not body:
            return body
        self.wait = self.random.randrange(1, 20)
        self.left -= 1
        body = bytearray(body)
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(body))
            kind = self.random.randrange(4)
            if kind == 0:
                body[at] ^= 1 << self.random.randrange(8)
            elif kind == 1:
                body[at] = self.random.choice((0, 1, 127, 128, 254, 255))
            elif kind == 2:
                del body[at:at + self.random.randrange(1, 9)]
                body = body or bytearray(b"\0")
            else:
                body[at:at] = body[at:at + self.random.randrange(1, 9)]
        return bytes(body)

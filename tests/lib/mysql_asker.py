"""A server that speaks just enough of MySQL's protocol to let a client sign in.
It asks for the password in the way that it is told to, and keeps the answer."""

import socket
import ssl
import struct
import threading

CLIENT_SSL = 0x800
# LONG_PASSWORD, LONG_FLAG, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS,
# SECURE_CONNECTION, MULTI_STATEMENTS, PLUGIN_AUTH, CONNECT_ATTRS
CAPABILITIES = 0x1 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x10000 | 0x80000 \
    | 0x100000
SCRAMBLE = b"abcdefghijklmnopqrst"
REFUSAL = b"\xff" + struct.pack("<H", 1045) + b"#28000Access denied"
# The first question of each way of signing in.
QUESTIONS = {"dialog": b"\x04Password: "}


class Asker:
    """`greets`: it names the way at once, without a switch. With `tls`, a
    directory and the name of a certificate in it, it takes TLS."""

    def __init__(self, plugin, greets=False, tls=None):
        self.plugin, self.greets, self.sent = plugin, greets, b""
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(tls[0] / f"{tls[1]}.pem",
                                         tls[0] / f"{tls[1]}.key")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            client.settimeout(10)
            try:
                self.serve(client)
            except (OSError, EOFError):
                pass
            client.close()

    @staticmethod
    def exactly(client, n):
        data = b""
        while len(data) < n:
            more = client.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def read(self, client):
        head = self.exactly(client, 4)
        body = self.exactly(client, int.from_bytes(head[:3], "little"))
        return head[3], body

    @staticmethod
    def write(client, number, body):
        client.sendall(struct.pack("<I", len(body))[:3] + bytes([number])
                       + body)

    def greeting(self):
        plugin = self.plugin if self.greets else "mysql_native_password"
        can = CAPABILITIES | (CLIENT_SSL if self.context else 0)
        return (b"\x0a8.0.36\0" + struct.pack("<I", 7) + SCRAMBLE[:8] + b"\0"
                + struct.pack("<H", can & 0xffff) + b"\x2d\x02\0"
                + struct.pack("<H", can >> 16) + bytes([len(SCRAMBLE) + 1])
                + bytes(10) + SCRAMBLE[8:] + b"\0" + plugin.encode() + b"\0")

    def serve(self, client):
        self.write(client, 0, self.greeting())
        number, body = self.read(client)
        if self.context and len(body) == 32:
            client = self.context.wrap_socket(client, server_side=True)
            number, body = self.read(client)
        self.sent += body
        self.write(client, number + 1, b"\xfe" + self.plugin.encode() + b"\0"
                   + QUESTIONS.get(self.plugin, SCRAMBLE + b"\0"))
        number, body = self.read(client)
        self.sent += body
        self.write(client, number + 1, REFUSAL)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
